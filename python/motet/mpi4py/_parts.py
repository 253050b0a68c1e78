"""Parts of memory that hold items of a datatype."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy

from motet.mpi4py._errors import fail

if TYPE_CHECKING:
    from motet.mpi4py._datatypes import Datatype


class Part:
    """Items of a datatype in memory, one after the other from a byte on."""

    __slots__ = ("_places", "count", "datatype", "extent", "mem", "nbytes", "offset")

    def __init__(self, mem: numpy.ndarray, offset: int, count: int, datatype: Datatype) -> None:
        layout = datatype._valid() if count else datatype._layout
        self.mem, self.offset, self.count, self.datatype = mem, offset, count, datatype
        self.nbytes = count * layout.size if layout is not None else 0
        self.extent = layout.extent if layout is not None else 0
        self._places = layout.places if layout is not None else None
        if count:
            self._check(layout)

    def _check(self, layout: Any) -> None:
        if layout.places is None:
            first, end = 0, self.nbytes
        elif len(layout.places):
            first = int(layout.places.min()) + min(0, (self.count - 1) * self.extent)
            end = int(layout.places.max()) + 1 + max(0, (self.count - 1) * self.extent)
        else:
            first = end = 0
        if self.offset + first < 0 or self.offset + end > len(self.mem):
            raise ValueError(
                f"message: {self.count} items from byte {self.offset} on do not fit a buffer "
                f"of {len(self.mem)} bytes"
            )

    def _at(self) -> numpy.ndarray:
        assert self._places is not None
        begins = self.offset + numpy.arange(self.count) * self.extent
        return (begins[:, None] + self._places[None, :]).reshape(-1)

    def pack(self) -> numpy.ndarray:
        """Give the bytes of the items in a row."""
        if self._places is None:
            return self.mem[self.offset : self.offset + self.nbytes]
        return self.mem[self._at()]

    def unpack(self, data: Any) -> None:
        """Put bytes where the items are. There may be fewer than fit."""
        length = len(data)
        if length > self.nbytes:
            fail("ERR_TRUNCATE", f"{length} bytes have come for {self.nbytes}")
        if not length:
            return
        self.check_writable()
        if not isinstance(data, numpy.ndarray):
            data = numpy.frombuffer(data, dtype=numpy.uint8)
        if self._places is None:
            self.mem[self.offset : self.offset + length] = data
        else:
            self.mem[self._at()[:length]] = data

    def check_writable(self) -> None:
        """Refuse to receive into what cannot be written."""
        if not self.mem.flags.writeable and self.nbytes:
            raise BufferError("message: the buffer is read-only; nothing can be received into it")

    def room(self) -> numpy.ndarray | None:
        """Give the memory itself, if the items are in a row there and it may be written."""
        if not self.nbytes:
            # Several ranks may wait for nothing in the same memory.
            return numpy.empty(0, dtype=numpy.uint8)
        if self._places is not None or not self.mem.flags.writeable:
            return None
        return self.mem[self.offset : self.offset + self.nbytes]

    def block(self, number: int, count: int | None = None) -> Part:
        """Give a part of as many items, so many parts further on."""
        count = self.count if count is None else count
        return Part(self.mem, self.offset + number * self.count * self.extent, count, self.datatype)

    def cut(self, first: int, count: int) -> Part:
        """Give some of the items."""
        return Part(self.mem, self.offset + first * self.extent, count, self.datatype)
