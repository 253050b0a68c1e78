"""Operators of reductions."""

from __future__ import annotations

import operator as _operator
import threading
from collections.abc import Callable
from typing import Any

import numpy

from motet import _motet
from motet.mpi4py._datatypes import Datatype
from motet.mpi4py._errors import fail
from motet.mpi4py._memory import buffer
from motet.mpi4py._messages import simple


def _max(x: Any, y: Any) -> Any:
    return y if y > x else x


def _min(x: Any, y: Any) -> Any:
    return y if y < x else x


def _maxloc(x: Any, y: Any) -> Any:
    (u, i), (v, j) = x, y
    if u == v:
        return (v, j) if j < i else (u, i)
    return (v, j) if v > u else (u, i)


def _minloc(x: Any, y: Any) -> Any:
    (u, i), (v, j) = x, y
    if u == v:
        return (v, j) if j < i else (u, i)
    return (v, j) if v < u else (u, i)


def _pairs(better: Any) -> Callable[[Any, Any], Any]:
    def combine(a: Any, b: Any) -> Any:
        u, v = a["value"], b["value"]
        second = better(v, u) | ((u == v) & (b["index"] < a["index"]))
        return numpy.where(second, b, a)

    return combine


# Of objects, and of arrays where Rust has nothing.
_FUNCTIONS: dict[str, tuple[Callable[[Any, Any], Any], Any]] = {
    "MAX": (_max, numpy.maximum),
    "MIN": (_min, numpy.minimum),
    "SUM": (_operator.add, numpy.add),
    "PROD": (_operator.mul, numpy.multiply),
    "LAND": (lambda x, y: bool(x) and bool(y), numpy.logical_and),
    "BAND": (_operator.and_, numpy.bitwise_and),
    "LOR": (lambda x, y: bool(x) or bool(y), numpy.logical_or),
    "BOR": (_operator.or_, numpy.bitwise_or),
    "LXOR": (lambda x, y: bool(x) ^ bool(y), numpy.logical_xor),
    "BXOR": (_operator.xor, numpy.bitwise_xor),
    "MAXLOC": (_maxloc, _pairs(numpy.greater)),
    "MINLOC": (_minloc, _pairs(numpy.less)),
    "REPLACE": (lambda x, y: y, lambda a, b: b),
    "NO_OP": (lambda x, y: x, lambda a, b: a),
}

# So many operators of the program there may be at a time, as in mpi4py.
_AT_MOST = 32


class _Function:
    """What an operator does. Several handles may share it."""

    def __init__(self, name: str, function: Any, commute: bool) -> None:
        self.name, self.function, self.commute = name, function, commute


class _Live(threading.local):
    """The operators of the program of each rank."""

    def __init__(self) -> None:
        self.all: set[_Function] = set()


_live = _Live()


class Op:
    """How values are combined, those of the lower ranks first."""

    def __init__(self, op: Op | None = None) -> None:
        self._does: _Function | None = None if op is None else op._does

    @classmethod
    def _of(cls, does: _Function) -> Op:
        made = cls()
        made._does = does
        return made

    @classmethod
    def Create(cls, function: Callable[[Any, Any, Any], Any], commute: bool = False) -> Op:
        """Make an operator of a function `f(in, inout, datatype)`.

        It combines the items of two buffers in place of the second. For objects the datatype is
        `None`, and what it gives back is the result.
        """
        if len(_live.all) >= _AT_MOST:
            raise RuntimeError(f"there are {_AT_MOST} operators already; free those no longer used")
        if not callable(function):
            raise TypeError(f"a function is expected, not {type(function).__name__}")
        does = _Function("", function, bool(commute))
        _live.all.add(does)
        return cls._of(does)

    def Free(self) -> None:
        """Give the operator up."""
        if self._does is None or self._does.name:
            fail("ERR_OP", "an operator of MPI's own, or none, is not freed")
        _live.all.discard(self._does)
        self._does = None

    def free(self) -> None:
        """Give the operator up, if it may be."""
        if self._does is not None and not self._does.name:
            self.Free()

    def _valid(self) -> _Function:
        if self._does is None:
            fail("ERR_OP", "the operator is null")
        return self._does

    def __call__(self, x: Any, y: Any) -> Any:
        """Combine two objects."""
        if self._does is None:
            raise ValueError("the operator is null")
        if self._does.name:
            return _FUNCTIONS[self._does.name][0](x, y)
        return self._does.function(x, y, None)

    def __eq__(self, other: object) -> bool:
        return self._does is other._does if isinstance(other, Op) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._does)

    def __bool__(self) -> bool:
        return self._does is not None

    def __repr__(self) -> str:
        return f"<Op {'null' if self._does is None else self._does.name or 'of the program'}>"

    def __reduce__(self) -> Any:
        if self.is_predefined:
            name = "OP_NULL" if self._does is None else self._does.name
            if globals()[name] is self:
                return name
            return Op, (globals()[name],)
        assert self._does is not None
        return Op.Create, (self._does.function, self._does.commute)

    def Is_commutative(self) -> bool:
        """Whether the order of values does not matter. They are combined in order all the same."""
        return self._valid().commute

    @property
    def is_commutative(self) -> bool:
        """Whether the order of values does not matter."""
        return self.Is_commutative()

    @property
    def is_predefined(self) -> bool:
        """Whether it is one of MPI's own."""
        return self._does is None or bool(self._does.name)

    def Reduce_local(self, inbuf: Any, inoutbuf: Any) -> None:
        """Combine the items of two buffers, in place of the second."""
        a, b = simple(inbuf), simple(inoutbuf)
        if a.nbytes != b.nbytes:
            raise ValueError(f"message: {a.nbytes} bytes are not combined with {b.nbytes}")
        how = self.of_bytes(b.datatype)
        first, second = a.pack().tobytes(), b.pack().tobytes()
        if isinstance(how, tuple):
            combined = _motet.reduce_local(how[0], how[1], first, second)
        else:
            combined = how(first, second)
        b.unpack(combined)

    def toint(self) -> int:
        """Give a number of an operator of MPI's own; -1 for others, which have none."""
        if self._does is None:
            return 0
        return 1 + list(_FUNCTIONS).index(self._does.name) if self._does.name else -1

    py2f = toint
    handle = property(toint, doc="A number of an operator of MPI's own.")

    @classmethod
    def fromint(cls, arg: int) -> Op:
        """Give the operator of MPI's own with a number."""
        if not 0 <= arg <= len(PREDEFINED):
            fail("ERR_OP", f"there is no operator of MPI's own with the number {arg}")
        return list(PREDEFINED.values())[arg - 1] if arg else OP_NULL

    f2py = fromhandle = fromint

    def of_bytes(self, datatype: Datatype) -> Any:
        """Give how messages are combined: names that Rust knows, or a function of `bytes`."""
        does = self._valid()
        if not does.name:
            return _of_program(does.function, datatype)
        number = datatype._valid().number
        if number is None:
            fail("ERR_OP", f"{does.name} is not defined for {datatype!r}")
        pair = number.names is not None
        if pair != does.name.endswith("LOC") and does.name not in ("REPLACE", "NO_OP"):
            fail("ERR_OP", f"{does.name} is not defined for {datatype!r}")
        if number.kind == "c" and does.name in ("MAX", "MIN"):
            fail("ERR_OP", f"{does.name} is not defined for {datatype!r}: they have no order")
        if number.kind in "SU" and does.name not in ("REPLACE", "NO_OP"):
            # numpy would put texts one after the other.
            fail("ERR_OP", f"{does.name} is not defined for {datatype!r}: letters are no numbers")
        name, kind = does.name.lower(), number.str[1:]
        if not pair and _motet.reduce_local(name, kind, b"", b"") is not None:
            return name, kind
        combine = _FUNCTIONS[does.name][1]

        def of_arrays(a: bytes, b: bytes) -> bytes:
            _check_lengths(a, b)
            both = numpy.frombuffer(a, number), numpy.frombuffer(b, number)
            return numpy.asarray(combine(*both)).astype(number, copy=False).tobytes()

        try:
            of_arrays(bytes(number.itemsize), bytes(number.itemsize))
        except TypeError:
            fail("ERR_OP", f"{does.name} is not defined for {datatype!r}")
        return of_arrays


def _check_lengths(a: bytes, b: bytes) -> None:
    if len(a) != len(b):
        raise ValueError(f"{len(a)} and {len(b)} bytes are not combined place by place")


def _of_program(function: Any, datatype: Datatype) -> Callable[[bytes, bytes], bytes]:
    def combine(a: bytes, b: bytes) -> bytes:
        _check_lengths(a, b)
        both = bytearray(b)
        function(buffer.frombuffer(a), buffer.frombuffer(both), datatype)
        return bytes(both)

    return combine


def call_of(op: Op | Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Give how objects are combined."""
    if isinstance(op, Op):
        op._valid()
    elif not callable(op):
        raise TypeError(f"an operator or a function is expected, not {type(op).__name__}")
    return op


OP_NULL = Op()
_ORDERED = ("REPLACE", "NO_OP")
PREDEFINED = {name: Op._of(_Function(name, None, name not in _ORDERED)) for name in _FUNCTIONS}
MAX, MIN, SUM, PROD = (PREDEFINED[name] for name in ("MAX", "MIN", "SUM", "PROD"))
LAND, BAND, LOR, BOR = (PREDEFINED[name] for name in ("LAND", "BAND", "LOR", "BOR"))
LXOR, BXOR, MAXLOC = (PREDEFINED[name] for name in ("LXOR", "BXOR", "MAXLOC"))
MINLOC, REPLACE, NO_OP = (PREDEFINED[name] for name in ("MINLOC", "REPLACE", "NO_OP"))
