"""Where bytes of a datatype lie in a window or a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy

if TYPE_CHECKING:
    from motet.mpi4py._datatypes import Datatype


class Place:
    """Bytes of a rank's window: blocks by begin and length from an offset on, or all in a row."""

    __slots__ = ("blocks", "nbytes", "offset", "rank")

    def __init__(
        self,
        rank: int,
        offset: int,
        nbytes: int,
        blocks: list[tuple[int, int]] | None = None,
    ) -> None:
        self.rank, self.offset, self.nbytes, self.blocks = rank, offset, nbytes, blocks

    @classmethod
    def of(cls, rank: int, offset: int, count: int, datatype: Datatype) -> Place:
        """Give where so many items of a datatype lie that begin at an offset."""
        layout = datatype._valid()
        nbytes = count * layout.size
        if layout.places is None or not nbytes:
            return cls(rank, offset, nbytes)
        begins = numpy.arange(count) * layout.extent
        at = (begins[:, None] + layout.places[None, :]).reshape(-1)
        first = int(at.min())
        return cls(rank, offset + first, nbytes, runs(at - first))

    @property
    def end(self) -> int:
        """Where the bytes end."""
        if self.blocks is None:
            return self.offset + self.nbytes
        return self.offset + max(begin + length for begin, length in self.blocks)


def runs(at: numpy.ndarray) -> list[tuple[int, int]]:
    """Give bytes by their places as blocks: the begin and the length of each."""
    cuts = numpy.flatnonzero(numpy.diff(at) != 1) + 1
    begins = numpy.concatenate(([0], cuts)) if len(at) else cuts
    lengths = numpy.diff(numpy.concatenate((begins, [len(at)])))
    return list(zip(at[begins].tolist(), lengths.tolist(), strict=True))
