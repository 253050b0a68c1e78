"""Datatypes: how the items of a message lie in the memory of a buffer."""

from __future__ import annotations

from typing import Any

from motet.mpi4py import _constants as constants
from motet.mpi4py._derived import Derived, Layout
from motet.mpi4py._errors import fail, lacks, not_there
from motet.mpi4py._memory import memory
from motet.mpi4py._parts import Part


class Datatype(Derived):
    """A type of what messages hold."""

    def __init__(self, datatype: Datatype | None = None) -> None:
        self._layout: Layout | None = None if datatype is None else datatype._layout

    def __eq__(self, other: object) -> bool:
        return self._layout is other._layout if isinstance(other, Datatype) else NotImplemented

    def __hash__(self) -> int:
        return id(self._layout)

    def __bool__(self) -> bool:
        return self._layout is not None

    def __repr__(self) -> str:
        return f"<Datatype {'null' if self._layout is None else self._layout.name or 'derived'}>"

    def __reduce__(self) -> Any:
        if self._layout is None or self._layout.predefined:
            return _named, (self._layout.name if self._layout else "",)
        raise ValueError("a datatype that the program has made is not pickled")

    # What it is.

    def Get_size(self) -> int:
        """Give the number of bytes of an item in a message."""
        return self._valid().size

    def Get_extent(self) -> tuple[int, int]:
        """Give the lower bound of an item in memory, and how far apart two items are, in bytes."""
        layout = self._valid()
        return layout.lb, layout.extent

    def Get_true_extent(self) -> tuple[int, int]:
        """Give where the bytes of an item begin, and how far they reach."""
        places = self._valid().all_places()
        if not len(places):
            return 0, 0
        return int(places.min()), int(places.max() - places.min()) + 1

    def Get_name(self) -> str:
        """Give the name of the datatype."""
        layout = self._valid()
        return f"MPI_{layout.name}" if layout.predefined else layout.name

    def Set_name(self, name: str) -> None:
        """Name the datatype."""
        self._valid().name = name

    def Get_envelope(self) -> tuple[int, int, int, int, int]:
        """Give how many arguments the datatype was made of, and how it was made."""
        made = self._valid().made
        if made is None:
            return 0, 0, 0, 0, constants.COMBINER_NAMED
        raise lacks("record of how a datatype was made", "keep the arguments in the program")

    def decode(self) -> tuple[Datatype, str, dict[str, Any]]:
        """Give how the datatype was made."""
        layout = self._valid()
        if layout.made is None:
            return self, "NAMED", {}
        combiner, base, arguments = layout.made
        names = {v: k[9:] for k, v in vars(constants).items() if k.startswith("COMBINER_")}
        return base, names[combiner], arguments

    def tocode(self) -> str:
        """Give the code of the type, as numpy and `struct` have it."""
        code = self._valid().code
        if not code:
            raise ValueError(f"{self!r} has no code")
        return code

    @classmethod
    def fromcode(cls, code: str) -> Datatype:
        """Give the datatype with a code of numpy or `struct`."""
        return BY_CODE[code]

    size = property(Get_size, doc="The number of bytes of an item in a message.")
    extent = property(lambda self: self.Get_extent()[1], doc="How far apart two items are.")
    lb = property(lambda self: self.Get_extent()[0], doc="The lower bound.")
    ub = property(lambda self: sum(self.Get_extent()), doc="The upper bound.")
    true_lb = property(lambda self: self.Get_true_extent()[0], doc="Where the bytes begin.")
    true_extent = property(lambda self: self.Get_true_extent()[1], doc="How far they reach.")
    true_ub = property(lambda self: sum(self.Get_true_extent()), doc="Where the bytes end.")
    name = property(lambda self: self.Get_name(), Set_name, doc="The name.")

    @property
    def typechar(self) -> str:
        """The code of the type, `V` if it has none."""
        return self._valid().code or "V"

    @property
    def typestr(self) -> str:
        """The type as numpy writes it."""
        number = self._valid().number
        return f"V{self.size}" if number is None else number.str[1:]

    @property
    def is_named(self) -> bool:
        """Whether it was not made of another."""
        return self._valid().made is None

    @property
    def is_predefined(self) -> bool:
        """Whether it is one of MPI's own."""
        return self._layout is None or self._layout.predefined

    @property
    def combiner(self) -> int:
        """How it was made."""
        made = self._valid().made
        return constants.COMBINER_NAMED if made is None else made[0]

    @classmethod
    def Match_size(cls, typeclass: int, size: int) -> Datatype:
        """Give the datatype of a class of numbers with a size in bytes."""
        kind = {
            constants.TYPECLASS_INTEGER: "i",
            constants.TYPECLASS_REAL: "f",
            constants.TYPECLASS_COMPLEX: "c",
        }.get(typeclass)
        if kind is None:
            fail("ERR_ARG", f"there is no class of numbers {typeclass}")
        found = BY_CODE.get(f"{kind}{size}")
        return found or fail("ERR_ARG", f"there is no such number of {size} bytes")

    def Commit(self) -> Datatype:
        """Do nothing: a datatype can be used at once."""
        self._valid()
        return self

    def Free(self) -> None:
        """Give the handle up."""
        if self._valid().predefined:
            fail("ERR_TYPE", f"{self._valid().name} is MPI's own")
        self._forget()
        self._layout = None

    def free(self) -> None:
        """Give the handle up, if it may be."""
        if self._layout is not None and not self._layout.predefined:
            self.Free()

    # Packing.

    def Pack(self, inbuf: Any, outbuf: Any, position: int, comm: Any) -> int:
        """Write items into a buffer at a position; the position after them."""
        out, data = memory(outbuf), self._items(memory(inbuf)).pack()
        _check_place(position, len(data), len(out))
        out[position : position + len(data)] = data
        return position + len(data)

    def Unpack(self, inbuf: Any, position: int, outbuf: Any, comm: Any) -> int:
        """Read items from a buffer at a position; the position after them."""
        part, data = self._items(memory(outbuf)), memory(inbuf)
        _check_place(position, part.nbytes, len(data))
        part.unpack(data[position : position + part.nbytes])
        return position + part.nbytes

    def _items(self, mem: Any) -> Part:
        """Give the whole items that a buffer holds."""
        extent = self._valid().extent
        if extent <= 0:
            fail("ERR_TYPE", f"the extent of the datatype is {extent}: no buffer holds its items")
        return Part(mem, 0, len(mem) // extent, self)

    def Pack_size(self, count: int, comm: Any) -> int:
        """Give the number of bytes that so many items take."""
        return count * self._valid().size

    # What is not there.

    Pack_external = Unpack_external = Pack_external_size = not_there(
        "external data representation", "use Pack, whose bytes are those of memory"
    )
    Create_f90_integer = Create_f90_real = Create_f90_complex = not_there(
        "datatypes by their decimal digits", "name the datatype, or use Match_size"
    )
    Get_contents = not_there(
        "numbers of how a datatype was made", "use decode, which gives the arguments by name"
    )
    Get_value_index = not_there(
        "pairs of datatypes by their parts", "name the pair, such as DOUBLE_INT"
    )


def _check_place(position: int, nbytes: int, length: int) -> None:
    """Refuse bytes that do not lie in a buffer."""
    if not 0 <= position <= length - nbytes:
        fail("ERR_TRUNCATE", f"{nbytes} bytes from {position} on do not lie in one of {length}")


DATATYPE_NULL = Datatype()

# Those of MPI's own, by name and by code.
BY_NAME: dict[str, Datatype] = {"": DATATYPE_NULL}
BY_CODE: dict[str, Datatype] = {}


def _named(name: str) -> Datatype:
    return BY_NAME[name]
