"""Datatypes that are made of others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy

from motet.mpi4py import _constants as constants
from motet.mpi4py._attributes import Attributes
from motet.mpi4py._errors import fail

if TYPE_CHECKING:
    from typing_extensions import Self


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
        parts: tuple[int, ...] = (),
    ) -> None:
        self.name, self.size, self.lb = name, size, lb
        self.extent = size if extent is None else extent
        # Where the bytes of an item lie; `None`: one after the other from its begin.
        self.places = places
        # What operators combine.
        self.number, self.code, self.predefined, self.made = number, code, predefined, made
        # The sizes of the numbers that follow each other, again and again.
        self.parts = parts or (size if number is None else number.itemsize,)
        self.attributes: dict[int, Any] = {}

    def all_places(self) -> numpy.ndarray:
        return numpy.arange(self.size) if self.places is None else self.places


class Derived(Attributes):
    """The calls of a datatype that make others."""

    _layout: Layout | None = None

    def _valid(self) -> Layout:
        if self._layout is None:
            fail("ERR_TYPE", "the datatype is null")
        return self._layout

    def _attributes(self) -> dict[int, Any]:
        return self._valid().attributes

    @classmethod
    def _of(cls, layout: Layout) -> Self:
        made = cls()
        made._layout = layout
        return made

    def _derived(
        self,
        combiner: int,
        places: numpy.ndarray,
        lb: int,
        ub: int,
        arguments: dict[str, Any],
    ) -> Self:
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
            parts=base.parts,
        )
        return type(self)._of(layout)

    def _at(self, combiner: int, begins: numpy.ndarray, arguments: dict[str, Any]) -> Self:
        """Make a datatype of items that begin at these bytes."""
        base = self._valid()
        begins = numpy.asarray(begins, dtype=numpy.int64)
        places = (begins[:, None] + base.all_places()[None, :]).reshape(-1)
        lb = int(begins.min()) + base.lb if len(begins) else 0
        ub = int(begins.max()) + base.lb + base.extent if len(begins) else 0
        return self._derived(combiner, places, lb, ub, arguments)

    def Dup(self) -> Self:
        """Make another datatype of the same items."""
        layout = self._valid()
        made = self._derived(
            constants.COMBINER_DUP, layout.all_places(), layout.lb, layout.lb + layout.extent, {}
        )
        assert made._layout is not None
        made._layout.attributes = self._copied()
        return made

    Create_dup = Dup

    def Create_contiguous(self, count: int) -> Self:
        """Make a datatype of several items in a row."""
        begins = numpy.arange(_natural("count", count)) * self._valid().extent
        return self._at(constants.COMBINER_CONTIGUOUS, begins, {"count": count})

    def Create_vector(self, count: int, blocklength: int, stride: int) -> Self:
        """Make a datatype of blocks that begin `stride` items apart."""
        arguments = {"count": count, "blocklength": blocklength, "stride": stride}
        step = stride * self._valid().extent
        return self._blocks(
            constants.COMBINER_VECTOR,
            [blocklength] * _natural("count", count),
            [number * step for number in range(count)],
            arguments,
        )

    def Create_hvector(self, count: int, blocklength: int, stride: int) -> Self:
        """Make a datatype of blocks that begin `stride` bytes apart."""
        arguments = {"count": count, "blocklength": blocklength, "stride": stride}
        return self._blocks(
            constants.COMBINER_HVECTOR,
            [blocklength] * _natural("count", count),
            [number * stride for number in range(count)],
            arguments,
        )

    def Create_indexed(self, blocklengths: Sequence[int], displacements: Sequence[int]) -> Self:
        """Make a datatype of blocks that begin at these items."""
        arguments = {"blocklengths": list(blocklengths), "displacements": list(displacements)}
        extent = self._valid().extent
        begins = [displacement * extent for displacement in displacements]
        return self._blocks(constants.COMBINER_INDEXED, blocklengths, begins, arguments)

    def Create_hindexed(self, blocklengths: Sequence[int], displacements: Sequence[int]) -> Self:
        """Make a datatype of blocks that begin at these bytes."""
        arguments = {"blocklengths": list(blocklengths), "displacements": list(displacements)}
        return self._blocks(constants.COMBINER_HINDEXED, blocklengths, displacements, arguments)

    def Create_indexed_block(self, blocklength: int, displacements: Sequence[int]) -> Self:
        """Make a datatype of blocks of one length that begin at these items."""
        arguments = {"blocklength": blocklength, "displacements": list(displacements)}
        extent = self._valid().extent
        begins = [displacement * extent for displacement in displacements]
        lengths = [blocklength] * len(begins)
        return self._blocks(constants.COMBINER_INDEXED_BLOCK, lengths, begins, arguments)

    def Create_hindexed_block(self, blocklength: int, displacements: Sequence[int]) -> Self:
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
    ) -> Self:
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
        datatypes: Sequence[Self],
    ) -> Self:
        """Make a datatype of blocks of several datatypes that begin at these bytes."""
        if not len(blocklengths) == len(displacements) == len(datatypes):
            raise ValueError("there are as many lengths as displacements and datatypes")
        places, bounds, numbers = [numpy.empty(0, dtype=numpy.int64)], [], set()
        parts: list[int] = []
        for length, begin, datatype in zip(blocklengths, displacements, datatypes, strict=True):
            layout = datatype._valid()
            numbers.add(layout.number)
            if layout.size:
                parts += layout.parts * (layout.size // sum(layout.parts) * length)
            for item in range(_natural("blocklength", length)):
                at = begin + item * layout.extent
                places.append(at + layout.all_places())
                bounds.append((at + layout.lb, at + layout.lb + layout.extent))
        lb = min((low for low, _ in bounds), default=0)
        ub = max((high for _, high in bounds), default=0)
        all_places = numpy.concatenate(places)
        number = numbers.pop() if len(numbers) == 1 else None
        layout = Layout(
            "",
            len(all_places),
            lb=lb,
            extent=ub - lb,
            places=all_places,
            number=number,
            made=(
                constants.COMBINER_STRUCT,
                cls(),
                {
                    "blocklengths": list(blocklengths),
                    "displacements": list(displacements),
                    "datatypes": list(datatypes),
                },
            ),
            parts=tuple(parts) if number is None else (),
        )
        return cls._of(layout)

    def Create_subarray(
        self,
        sizes: Sequence[int],
        subsizes: Sequence[int],
        starts: Sequence[int],
        order: int = constants.ORDER_C,
    ) -> Self:
        """Make a datatype of a part of an array."""
        if not len(sizes) == len(subsizes) == len(starts):
            raise ValueError("there are as many sizes as subsizes and starts")
        for size, length, start in zip(sizes, subsizes, starts, strict=True):
            if not 0 <= start <= start + length <= size:
                fail("ERR_ARG", f"{length} items from {start} are no part of {size} items")
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
        return self._derived(constants.COMBINER_SUBARRAY, places, 0, items.size * extent, arguments)

    def Create_darray(
        self,
        size: int,
        rank: int,
        gsizes: Sequence[int],
        distribs: Sequence[int],
        dargs: Sequence[int],
        psizes: Sequence[int],
        order: int = constants.ORDER_C,
    ) -> Self:
        """Make a datatype of the part of an array that a rank of a grid has."""
        if not len(gsizes) == len(distribs) == len(dargs) == len(psizes):
            raise ValueError("there are as many gsizes as distribs, dargs and psizes")
        if int(numpy.prod(psizes)) != size or not 0 <= rank < size:
            fail("ERR_ARG", f"rank {rank} of {size} is in no grid of {list(psizes)}")
        # The ranks of a grid are always in the order of C.
        places = numpy.unravel_index(rank, tuple(psizes))
        owned = [
            _owned(length, kind, block, parts, int(place))
            for length, kind, block, parts, place in zip(
                gsizes, distribs, dargs, psizes, places, strict=True
            )
        ]
        kept = "C" if order == constants.ORDER_C else "F"
        items = numpy.arange(int(numpy.prod(gsizes))).reshape(gsizes, order=kept)  # type: ignore[call-overload]
        extent = self._valid().extent
        begins = items[numpy.ix_(*owned)].flatten(order=kept) * extent  # type: ignore[call-overload]
        arguments = {
            "size": size,
            "rank": rank,
            "gsizes": list(gsizes),
            "distribs": list(distribs),
            "dargs": list(dargs),
            "psizes": list(psizes),
            "order": order,
        }
        made = self._at(constants.COMBINER_DARRAY, begins, arguments)
        assert made._layout is not None
        all_places = made._layout.all_places()
        end = items.size * extent
        return self._derived(constants.COMBINER_DARRAY, all_places, 0, end, arguments)

    def Create_resized(self, lb: int, extent: int) -> Self:
        """Make a datatype of the same items, which are that far apart in memory."""
        places = self._valid().all_places()
        arguments = {"lb": lb, "extent": extent}
        return self._derived(constants.COMBINER_RESIZED, places, lb, lb + extent, arguments)

    Resized = Create_resized


def _natural(name: str, count: int) -> int:
    if count < 0:
        raise ValueError(f"{name} is {count}: it cannot be negative")
    return count


def _owned(length: int, kind: int, block: int, parts: int, place: int) -> numpy.ndarray:
    """Give which places of a dimension the part with this number has."""
    every = numpy.arange(length)
    default = block == constants.DISTRIBUTE_DFLT_DARG
    if kind == constants.DISTRIBUTE_NONE and parts == 1:
        return every
    if kind == constants.DISTRIBUTE_BLOCK:
        block = -(-length // parts) if default else block
        if block >= 1 and block * parts >= length:
            return every[place * block : (place + 1) * block]
    if kind == constants.DISTRIBUTE_CYCLIC:
        block = 1 if default else block
        if block >= 1:
            return every[every // block % parts == place]
    fail("ERR_ARG", f"{length} items are not distributed so ({kind}, {block}) on {parts} ranks")
