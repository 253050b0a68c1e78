"""Datatypes: how the items of a message lie in the memory of a buffer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from motet.mpi4py import _constants as constants
from motet.mpi4py._errors import fail, lacks
from motet.mpi4py._memory import memory
from motet.mpi4py._parts import Part


class Layout:
    """What a datatype stands for. Several handles may share it."""

    def __init__(
        self,
        name: str,
        size: int,
        *,
        lb: int = 0,
        extent: int | None = None,
        places: numpy.ndarray | None = None,
        number: numpy.dtype | None = None,
        code: str = "",
        predefined: bool = False,
        made: tuple[int, Any, dict[str, Any]] | None = None,
    ) -> None:
        self.name, self.size, self.lb = name, size, lb
        self.extent = size if extent is None else extent
        # Where the bytes of an item lie; `None`: one after the other from its begin.
        self.places = places
        # What operators combine.
        self.number, self.code, self.predefined, self.made = number, code, predefined, made
        self.attributes: dict[int, Any] = {}

    def all_places(self) -> numpy.ndarray:
        return numpy.arange(self.size) if self.places is None else self.places


class Datatype:
    """A type of what messages hold."""

    def __init__(self, datatype: Datatype | None = None) -> None:
        self._layout: Layout | None = None if datatype is None else datatype._layout

    @classmethod
    def _of(cls, layout: Layout) -> Datatype:
        made = cls()
        made._layout = layout
        return made

    def _valid(self) -> Layout:
        if self._layout is None:
            fail("ERR_TYPE", "the datatype is null")
        return self._layout

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

    # Others made of it.

    def _derived(
        self,
        combiner: int,
        places: numpy.ndarray,
        lb: int,
        ub: int,
        arguments: dict[str, Any],
    ) -> Datatype:
        base = self._valid()
        size, extent = len(places), ub - lb
        dense = lb == 0 and extent == size and bool((places == numpy.arange(size)).all())
        layout = Layout(
            "",
            size,
            lb=lb,
            extent=extent,
            places=None if dense else places,
            number=base.number,
            made=(combiner, self, arguments),
        )
        return type(self)._of(layout)

    def _at(
        self, combiner: int, begins: numpy.ndarray, arguments: dict[str, Any]
    ) -> Datatype:
        """Make a datatype of items that begin at these bytes."""
        base = self._valid()
        begins = numpy.asarray(begins, dtype=numpy.int64)
        places = (begins[:, None] + base.all_places()[None, :]).reshape(-1)
        lb = int(begins.min()) + base.lb if len(begins) else 0
        ub = int(begins.max()) + base.lb + base.extent if len(begins) else 0
        return self._derived(combiner, places, lb, ub, arguments)

    def Dup(self) -> Datatype:
        """Make another datatype of the same items."""
        layout = self._valid()
        made = self._derived(
            constants.COMBINER_DUP, layout.all_places(), layout.lb, layout.lb + layout.extent, {}
        )
        assert made._layout is not None
        made._layout.attributes = dict(layout.attributes)
        return made

    Create_dup = Dup

    def Create_contiguous(self, count: int) -> Datatype:
        """Make a datatype of several items in a row."""
        begins = numpy.arange(_natural("count", count)) * self._valid().extent
        return self._at(constants.COMBINER_CONTIGUOUS, begins, {"count": count})

    def Create_vector(self, count: int, blocklength: int, stride: int) -> Datatype:
        """Make a datatype of blocks that begin `stride` items apart."""
        arguments = {"count": count, "blocklength": blocklength, "stride": stride}
        step = stride * self._valid().extent
        return self._blocks(
            constants.COMBINER_VECTOR,
            [blocklength] * _natural("count", count),
            [number * step for number in range(count)],
            arguments,
        )

    def Create_hvector(self, count: int, blocklength: int, stride: int) -> Datatype:
        """Make a datatype of blocks that begin `stride` bytes apart."""
        arguments = {"count": count, "blocklength": blocklength, "stride": stride}
        return self._blocks(
            constants.COMBINER_HVECTOR,
            [blocklength] * _natural("count", count),
            [number * stride for number in range(count)],
            arguments,
        )

    def Create_indexed(
        self, blocklengths: Sequence[int], displacements: Sequence[int]
    ) -> Datatype:
        """Make a datatype of blocks that begin at these items."""
        arguments = {"blocklengths": list(blocklengths), "displacements": list(displacements)}
        extent = self._valid().extent
        begins = [displacement * extent for displacement in displacements]
        return self._blocks(constants.COMBINER_INDEXED, blocklengths, begins, arguments)

    def Create_hindexed(
        self, blocklengths: Sequence[int], displacements: Sequence[int]
    ) -> Datatype:
        """Make a datatype of blocks that begin at these bytes."""
        arguments = {"blocklengths": list(blocklengths), "displacements": list(displacements)}
        return self._blocks(constants.COMBINER_HINDEXED, blocklengths, displacements, arguments)

    def Create_indexed_block(self, blocklength: int, displacements: Sequence[int]) -> Datatype:
        """Make a datatype of blocks of one length that begin at these items."""
        arguments = {"blocklength": blocklength, "displacements": list(displacements)}
        extent = self._valid().extent
        begins = [displacement * extent for displacement in displacements]
        lengths = [blocklength] * len(begins)
        return self._blocks(constants.COMBINER_INDEXED_BLOCK, lengths, begins, arguments)

    def Create_hindexed_block(self, blocklength: int, displacements: Sequence[int]) -> Datatype:
        """Make a datatype of blocks of one length that begin at these bytes."""
        arguments = {"blocklength": blocklength, "displacements": list(displacements)}
        lengths = [blocklength] * len(displacements)
        return self._blocks(
            constants.COMBINER_HINDEXED_BLOCK, lengths, list(displacements), arguments
        )

    def _blocks(
        self,
        combiner: int,
        lengths: Sequence[int],
        begins: Sequence[int],
        arguments: dict[str, Any],
    ) -> Datatype:
        if len(lengths) != len(begins):
            raise ValueError(f"{len(lengths)} lengths do not fit {len(begins)} displacements")
        extent = self._valid().extent
        blocks = [
            begin + numpy.arange(_natural("blocklength", length)) * extent
            for length, begin in zip(lengths, begins, strict=True)
        ]
        at = numpy.concatenate(blocks) if blocks else numpy.empty(0, dtype=numpy.int64)
        return self._at(combiner, at, arguments)

    @classmethod
    def Create_struct(
        cls,
        blocklengths: Sequence[int],
        displacements: Sequence[int],
        datatypes: Sequence[Datatype],
    ) -> Datatype:
        """Make a datatype of blocks of several datatypes that begin at these bytes."""
        if not len(blocklengths) == len(displacements) == len(datatypes):
            raise ValueError("there are as many lengths as displacements and datatypes")
        places, bounds, numbers = [numpy.empty(0, dtype=numpy.int64)], [], set()
        for length, begin, datatype in zip(blocklengths, displacements, datatypes, strict=True):
            layout = datatype._valid()
            numbers.add(layout.number)
            for item in range(_natural("blocklength", length)):
                at = begin + item * layout.extent
                places.append(at + layout.all_places())
                bounds.append((at + layout.lb, at + layout.lb + layout.extent))
        lb = min((low for low, _ in bounds), default=0)
        ub = max((high for _, high in bounds), default=0)
        all_places = numpy.concatenate(places)
        layout = Layout(
            "",
            len(all_places),
            lb=lb,
            extent=ub - lb,
            places=all_places,
            number=numbers.pop() if len(numbers) == 1 else None,
            made=(
                constants.COMBINER_STRUCT,
                DATATYPE_NULL,
                {
                    "blocklengths": list(blocklengths),
                    "displacements": list(displacements),
                    "datatypes": list(datatypes),
                },
            ),
        )
        return cls._of(layout)

    def Create_subarray(
        self,
        sizes: Sequence[int],
        subsizes: Sequence[int],
        starts: Sequence[int],
        order: int = constants.ORDER_C,
    ) -> Datatype:
        """Make a datatype of a part of an array."""
        if not len(sizes) == len(subsizes) == len(starts):
            raise ValueError("there are as many sizes as subsizes and starts")
        items = numpy.arange(int(numpy.prod(sizes)))
        c_order = order == constants.ORDER_C
        items = items.reshape(sizes, order="C" if c_order else "F")
        cut = tuple(slice(s, s + n) for s, n in zip(starts, subsizes, strict=True))
        extent = self._valid().extent
        begins = items[cut].flatten(order="C" if c_order else "F") * extent
        arguments = {
            "sizes": list(sizes),
            "subsizes": list(subsizes),
            "starts": list(starts),
            "order": order,
        }
        made = self._at(constants.COMBINER_SUBARRAY, begins, arguments)
        assert made._layout is not None
        places = made._layout.all_places()
        return self._derived(
            constants.COMBINER_SUBARRAY, places, 0, items.size * extent, arguments
        )

    def Create_darray(self, *_: Any, **__: Any) -> Datatype:
        """Not there."""
        raise lacks("datatype of a distributed array", "make one by Create_subarray")

    def Create_resized(self, lb: int, extent: int) -> Datatype:
        """Make a datatype of the same items, which are that far apart in memory."""
        places = self._valid().all_places()
        arguments = {"lb": lb, "extent": extent}
        return self._derived(constants.COMBINER_RESIZED, places, lb, lb + extent, arguments)

    Resized = Create_resized

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
        self._layout = None

    def free(self) -> None:
        """Give the handle up, if it may be."""
        if self._layout is not None and not self._layout.predefined:
            self._layout = None

    # Packing.

    def Pack(self, inbuf: Any, outbuf: Any, position: int, comm: Any) -> int:
        """Write items into a buffer at a position; the position after them."""
        mem, out = memory(inbuf), memory(outbuf)
        data = Part(mem, 0, len(mem) // self.extent, self).pack()
        if position + len(data) > len(out):
            fail("ERR_TRUNCATE", f"{len(data)} bytes do not fit after {position} of {len(out)}")
        out[position : position + len(data)] = data
        return position + len(data)

    def Unpack(self, inbuf: Any, position: int, outbuf: Any, comm: Any) -> int:
        """Read items from a buffer at a position; the position after them."""
        mem = memory(outbuf)
        part = Part(mem, 0, len(mem) // self.extent, self)
        data = memory(inbuf)[position : position + part.nbytes]
        part.unpack(data)
        return position + part.nbytes

    def Pack_size(self, count: int, comm: Any) -> int:
        """Give the number of bytes that so many items take."""
        return count * self._valid().size


def _natural(name: str, count: int) -> int:
    if count < 0:
        raise ValueError(f"{name} is {count}: it cannot be negative")
    return count


DATATYPE_NULL = Datatype()

# Those of MPI's own, by name and by code.
BY_NAME: dict[str, Datatype] = {"": DATATYPE_NULL}
BY_CODE: dict[str, Datatype] = {}


def _named(name: str) -> Datatype:
    return BY_NAME[name]
