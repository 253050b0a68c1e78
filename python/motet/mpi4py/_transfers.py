"""The calls of a file that read and write."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from motet.mpi4py import _constants as constants
from motet.mpi4py._calls import Call
from motet.mpi4py._errors import fail
from motet.mpi4py._messages import simple
from motet.mpi4py._parts import Part
from motet.mpi4py._requests import Request
from motet.mpi4py._status import Status


class Transfers:
    """Reads and writes: at an offset, at the place of the rank, or at that of all.

    Calls that start something do it at once; their requests have ended.
    """

    def _valid(self) -> Any:
        raise NotImplementedError

    def _readable(self, part: Part) -> Any:
        """Give the file, if it may be read into this part."""
        file = self._valid()
        if file.amode & constants.MODE_WRONLY:
            fail("ERR_ACCESS", "the file was opened with MODE_WRONLY")
        part.check_writable()
        return file

    def _writable(self, part: Part) -> Any:
        """Give the file, if this part may be written to it."""
        file = self._valid()
        if file.amode & constants.MODE_RDONLY:
            fail("ERR_READ_ONLY", "the file was opened with MODE_RDONLY")
        if part.nbytes and file.view.is_empty:
            fail("ERR_ARG", "the view of this rank shows nothing of the file: it writes no item")
        return file

    def _read(self, at: int, part: Part, together: bool, most: int | None = None) -> int:
        """Read from a byte of the view on, as much as there is; how many bytes."""
        file = self._readable(part)
        if at < 0:
            fail("ERR_ARG", f"the offset is {at} bytes: it cannot be negative")
        most = part.nbytes if most is None else most
        with file.apart():
            nbytes = max(0, min(most, file.view.seen(file.handle.size()) - at))
            room = part.room()
            data = numpy.empty(nbytes, numpy.uint8) if room is None else room[:nbytes]
            file.handle.read(at, data, together and not file.atomic)
        if room is None:
            part.unpack(data)
        return nbytes

    def _write(self, at: int, part: Part, together: bool) -> int:
        file = self._writable(part)
        if at < 0:
            fail("ERR_ARG", f"the offset is {at} bytes: it cannot be negative")
        with file.apart():
            file.handle.write(at, part.pack(), together and not file.atomic)
        return part.nbytes

    def _at(self, does: Any, offset: int, buf: Any, together: bool) -> int:
        return does(offset * self._valid().view.unit, simple(buf), together)

    def _next(self, does: Any, buf: Any, together: bool) -> int:
        file = self._valid()
        done = does(file.at, simple(buf), together)
        file.at += done
        return done

    def _common(self, does: Any, buf: Any) -> int:
        part = simple(buf)
        if does == self._read:
            at, nbytes = self._readable(part).draw(part.nbytes)
            return self._read(at, part, False, nbytes)
        return does(self._writable(part).advance(part.nbytes), part, False)

    def _ordered(self, does: Any, buf: Any) -> int:
        part = simple(buf)
        reads = does == self._read
        file = self._readable(part) if reads else self._writable(part)
        lengths = file.comm.allgather(part.nbytes)
        rank, total = file.comm.Get_rank(), sum(lengths)
        drawn: Any = None
        if rank == 0:
            drawn = file.draw(total) if reads else (file.advance(total), total)
        base, nbytes = file.comm.bcast(drawn)
        before = sum(lengths[:rank])
        if reads:
            # What others write behind the common place meanwhile is for the next call.
            return self._read(base + before, part, True, min(part.nbytes, nbytes - before))
        return self._write(base + before, part, True)

    def _begin(self, name: str, call: Callable[[], int]) -> None:
        """Carry a call out that is to be ended by its name, if no other was begun."""
        file = self._valid()
        if file.begun is not None:
            fail("ERR_OTHER", f"{file.begun[0]}_begin was called before and has not been ended")
        file.begun = name, call()

    def _end(self, name: str, status: Status | None) -> None:
        file = self._valid()
        if file.begun is None or file.begun[0] != name:
            fail("ERR_OTHER", f"{name}_begin was not called before")
        _tell(status, file.begun[1])
        file.begun = None

    # At an offset.

    def Read_at(self, offset: int, buf: Any, status: Status | None = None) -> None:
        """Read items from an offset of the view on."""
        _tell(status, self._at(self._read, offset, buf, False))

    def Read_at_all(self, offset: int, buf: Any, status: Status | None = None) -> None:
        """Read items from an offset of the view on, with all ranks."""
        _tell(status, self._at(self._read, offset, buf, True))

    def Write_at(self, offset: int, buf: Any, status: Status | None = None) -> None:
        """Write items from an offset of the view on."""
        _tell(status, self._at(self._write, offset, buf, False))

    def Write_at_all(self, offset: int, buf: Any, status: Status | None = None) -> None:
        """Write items from an offset of the view on, with all ranks."""
        _tell(status, self._at(self._write, offset, buf, True))

    def Iread_at(self, offset: int, buf: Any) -> Request:
        """Read items from an offset of the view on."""
        return _ended(self._at(self._read, offset, buf, False))

    def Iwrite_at(self, offset: int, buf: Any) -> Request:
        """Write items from an offset of the view on."""
        return _ended(self._at(self._write, offset, buf, False))

    # What is started with all ranks does not wait for them.
    Iread_at_all, Iwrite_at_all = Iread_at, Iwrite_at

    def Read_at_all_begin(self, offset: int, buf: Any) -> None:
        """Begin to read with all ranks."""
        self._begin("Read_at_all", lambda: self._at(self._read, offset, buf, True))

    def Read_at_all_end(self, buf: Any, status: Status | None = None) -> None:
        """End what was begun."""
        self._end("Read_at_all", status)

    def Write_at_all_begin(self, offset: int, buf: Any) -> None:
        """Begin to write with all ranks."""
        self._begin("Write_at_all", lambda: self._at(self._write, offset, buf, True))

    def Write_at_all_end(self, buf: Any, status: Status | None = None) -> None:
        """End what was begun."""
        self._end("Write_at_all", status)

    # At the place of the rank.

    def Read(self, buf: Any, status: Status | None = None) -> None:
        """Read the next items."""
        _tell(status, self._next(self._read, buf, False))

    def Read_all(self, buf: Any, status: Status | None = None) -> None:
        """Read the next items, with all ranks."""
        _tell(status, self._next(self._read, buf, True))

    def Write(self, buf: Any, status: Status | None = None) -> None:
        """Write the next items."""
        _tell(status, self._next(self._write, buf, False))

    def Write_all(self, buf: Any, status: Status | None = None) -> None:
        """Write the next items, with all ranks."""
        _tell(status, self._next(self._write, buf, True))

    def Iread(self, buf: Any) -> Request:
        """Read the next items."""
        return _ended(self._next(self._read, buf, False))

    def Iwrite(self, buf: Any) -> Request:
        """Write the next items."""
        return _ended(self._next(self._write, buf, False))

    Iread_all, Iwrite_all = Iread, Iwrite

    def Read_all_begin(self, buf: Any) -> None:
        """Begin to read with all ranks."""
        self._begin("Read_all", lambda: self._next(self._read, buf, True))

    def Read_all_end(self, buf: Any, status: Status | None = None) -> None:
        """End what was begun."""
        self._end("Read_all", status)

    def Write_all_begin(self, buf: Any) -> None:
        """Begin to write with all ranks."""
        self._begin("Write_all", lambda: self._next(self._write, buf, True))

    def Write_all_end(self, buf: Any, status: Status | None = None) -> None:
        """End what was begun."""
        self._end("Write_all", status)

    # At the place of all ranks.

    def Read_shared(self, buf: Any, status: Status | None = None) -> None:
        """Read the items that are next for all ranks."""
        _tell(status, self._common(self._read, buf))

    def Write_shared(self, buf: Any, status: Status | None = None) -> None:
        """Write where it is next for all ranks."""
        _tell(status, self._common(self._write, buf))

    def Iread_shared(self, buf: Any) -> Request:
        """Read the items that are next for all ranks."""
        return _ended(self._common(self._read, buf))

    def Iwrite_shared(self, buf: Any) -> Request:
        """Write where it is next for all ranks."""
        return _ended(self._common(self._write, buf))

    def Read_ordered(self, buf: Any, status: Status | None = None) -> None:
        """Read what is next for all ranks, in their order."""
        _tell(status, self._ordered(self._read, buf))

    def Write_ordered(self, buf: Any, status: Status | None = None) -> None:
        """Write where it is next for all ranks, in their order."""
        _tell(status, self._ordered(self._write, buf))

    def Read_ordered_begin(self, buf: Any) -> None:
        """Begin to read in the order of the ranks."""
        self._begin("Read_ordered", lambda: self._ordered(self._read, buf))

    def Read_ordered_end(self, buf: Any, status: Status | None = None) -> None:
        """End what was begun."""
        self._end("Read_ordered", status)

    def Write_ordered_begin(self, buf: Any) -> None:
        """Begin to write in the order of the ranks."""
        self._begin("Write_ordered", lambda: self._ordered(self._write, buf))

    def Write_ordered_end(self, buf: Any, status: Status | None = None) -> None:
        """End what was begun."""
        self._end("Write_ordered", status)


def _tell(status: Status | None, nbytes: int) -> None:
    if status is not None:
        status._set(constants.ANY_SOURCE, constants.ANY_TAG, nbytes)


def _ended(nbytes: int) -> Request:
    """Make a request that has ended, of so many bytes."""

    def finish(call: Call, _: Any) -> None:
        call.nbytes = nbytes

    return Request._of(Call(None, finish))
