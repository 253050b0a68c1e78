"""Files that several ranks have open: opening, closing, and what they see."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy

from motet import _motet
from motet.mpi4py import _constants as constants
from motet.mpi4py._comm import Comm
from motet.mpi4py._datatypes import Datatype
from motet.mpi4py._errhandlers import ERRORS_RETURN, Errhandler
from motet.mpi4py._errors import fail, lacks
from motet.mpi4py._held import Held, Shared
from motet.mpi4py._info import INFO_NULL, Info
from motet.mpi4py._places import Place, runs
from motet.mpi4py._predefined import BYTE
from motet.mpi4py._transfers import Transfers

# The kinds of access, one of which a file is opened for.
_ACCESS = constants.MODE_RDONLY, constants.MODE_WRONLY, constants.MODE_RDWR


class _View:
    """Which bytes of a file a rank sees: those of a datatype, again and again."""

    def __init__(self, disp: int, etype: Datatype, filetype: Datatype, datarep: str) -> None:
        layout = filetype._valid()
        if not etype.size or layout.size % etype.size:
            fail("ERR_ARG", f"{layout.size} bytes of the filetype are no whole etypes")
        # Handles of its own: the program may free its.
        self.disp, self.datarep = disp, datarep
        self.etype, self.filetype = Datatype(etype), Datatype(filetype)
        self.unit, self.extent = etype.size, layout.extent
        # The part of a rank may have no byte.
        self.is_empty = not layout.size
        dense = layout.places is None and layout.extent == layout.size
        self.places = None if dense or self.is_empty else layout.all_places()
        if self.places is not None and len(self.places) and int(self.places.min()) < 0:
            fail("ERR_ARG", "the filetype begins before its first byte")

    @property
    def blocks(self) -> list[tuple[int, int]] | None:
        return None if self.places is None else runs(self.places)

    def seen(self, size: int) -> int:
        """How many bytes of a file of this size are seen."""
        rest = 0 if self.is_empty else max(0, size - self.disp)
        if self.places is None:
            return rest
        whole, part = divmod(rest, self.extent)
        return whole * len(self.places) + int((self.places < part).sum())

    def byte(self, at: int) -> int:
        """Where a byte of the view lies in the file."""
        if self.is_empty:
            fail("ERR_ARG", "the view of this rank shows nothing of the file")
        if self.places is None:
            return self.disp + at
        tile, place = divmod(at, len(self.places))
        return self.disp + tile * self.extent + int(self.places[place])


class _File(Shared):
    """What handles on one file share."""

    def __init__(self, comm: Comm, path: str, amode: int, anew: bool, info: Info) -> None:
        super().__init__(comm.Get_group(), info)
        self.comm, self.path, self.amode, self.atomic = comm, path, amode, False
        self.handle: Any = _motet.MpiFile.open(
            comm._h, path, not amode & constants.MODE_RDONLY, anew
        )
        self.view = _View(0, BYTE, BYTE, "native")
        # Where this rank is, in bytes of its view; where all are, in a window of the first rank.
        self.at = 0
        self.room = numpy.zeros(8 if comm.Get_rank() == 0 else 0, numpy.uint8)
        self.common: Any = _motet.MpiWindow.create(comm._h, self.room)
        # What was begun and not ended, and how many bytes it has moved.
        self.begun: tuple[str, int] | None = None
        if amode & constants.MODE_APPEND:
            self.at = self.handle.size()
            self.move(self.at)

    def advance(self, by: int) -> int:
        """Move the common place by some bytes; where it was."""
        by_bytes = numpy.array([by], numpy.int64).tobytes()
        there = self.common.combine(Place(0, 0, 8), by_bytes, ("sum", "i8"))
        return int(numpy.frombuffer(there, numpy.int64)[0])

    def draw(self, by: int) -> tuple[int, int]:
        """Move the common place by some bytes, not past the end; where it was, and by how many."""
        end = self.view.seen(self.handle.size())
        at = self.advance(0)
        while True:
            nbytes = max(0, min(by, end - at))
            new, old = (numpy.array([it], numpy.int64).tobytes() for it in (at + nbytes, at))
            there = self.common.swap(Place(0, 0, 8), new, old)
            found = int(numpy.frombuffer(there, numpy.int64)[0])
            if found == at:
                return at, nbytes
            # Another rank has moved it meanwhile.
            at = found

    def move(self, to: int) -> None:
        """Set the common place, with all ranks."""
        self.comm.Barrier()
        if self.comm.Get_rank() == 0:
            self.advance(to - self.advance(0))
        self.comm.Barrier()

    @contextmanager
    def apart(self) -> Iterator[None]:
        """Keep accesses of other ranks away, if the file is atomic."""
        if not self.atomic:
            yield
            return
        self.common.lock(0, False)
        try:
            yield
        finally:
            self.common.unlock(0)


class File(Transfers, Held):
    """A file that several ranks have open.

    What is written becomes the file when all ranks close it: until then, and when a run fails, what
    had the name has it. The ranks of the file see what they have written before that.
    """

    def __init__(self, file: File | None = None) -> None:
        if file is not None and not isinstance(file, File):
            raise TypeError(f"a File is expected, not {type(file).__name__}")
        self._file: _File | None = None if file is None else file._file

    @classmethod
    def Open(
        cls,
        comm: Comm,
        filename: Any,
        amode: int = constants.MODE_RDONLY,
        info: Info = INFO_NULL,
    ) -> Any:
        """Open a file, with all ranks of a communicator."""
        path = os.fsdecode(filename)
        if sum(bool(amode & access) for access in _ACCESS) != 1:
            fail("ERR_AMODE", "one of MODE_RDONLY, MODE_WRONLY and MODE_RDWR is expected")
        makes = amode & (constants.MODE_CREATE | constants.MODE_EXCL)
        if amode & constants.MODE_RDONLY and makes:
            fail("ERR_AMODE", "MODE_CREATE and MODE_EXCL do not go with MODE_RDONLY")
        if amode & constants.MODE_SEQUENTIAL:
            raise lacks("files that are only read or written in a row", "leave MODE_SEQUENTIAL out")
        # One rank looks, for all.
        known = None
        if comm.Get_rank() == 0:
            known = os.path.exists(path), os.path.isdir(path), os.access(path, os.W_OK)
        there, is_folder, may_write = comm.bcast(known)
        if is_folder:
            fail("ERR_BAD_FILE", f"{path} is a folder")
        if not there and not amode & constants.MODE_CREATE:
            fail("ERR_NO_SUCH_FILE", f"{path}: MODE_CREATE makes it")
        if there and amode & constants.MODE_EXCL and amode & constants.MODE_CREATE:
            fail("ERR_FILE_EXISTS", f"{path}: without MODE_EXCL it is changed")
        if there and not may_write and not amode & constants.MODE_RDONLY:
            fail("ERR_ACCESS", f"{path} may not be written")
        made = cls()
        made._file = _File(comm.Dup(), path, amode, not there, info)
        return made

    def Close(self) -> None:
        """Close the file, with all ranks. What was written is the file then, and on the disk."""
        file = self._valid()
        deletes = bool(file.amode & constants.MODE_DELETE_ON_CLOSE)
        self._file = None
        file.common.free(file.room)
        file.handle.close(deletes)
        if deletes and file.comm.Get_rank() == 0 and os.path.exists(file.path):
            os.unlink(file.path)
        file.comm.Barrier()
        file.comm.Free()

    def free(self) -> None:
        """Close the file, if there is one."""
        if self._file is not None:
            self.Close()

    @classmethod
    def Delete(cls, filename: Any, info: Info = INFO_NULL) -> None:
        """Remove a file."""
        try:
            os.unlink(filename)
        except FileNotFoundError as error:
            fail("ERR_NO_SUCH_FILE", str(error))
        except PermissionError as error:
            fail("ERR_ACCESS", str(error))
        except OSError as error:
            fail("ERR_IO", str(error))

    def _valid(self) -> _File:
        if self._file is None:
            fail("ERR_FILE", "the file is null")
        return self._file

    _shared = _valid

    def __eq__(self, other: object) -> bool:
        return self._file is other._file if isinstance(other, File) else NotImplemented

    def __hash__(self) -> int:
        return id(self._file)

    def __bool__(self) -> bool:
        return self._file is not None

    def __repr__(self) -> str:
        return f"<File {'null' if self._file is None else self._file.path}>"

    def __reduce__(self) -> Any:
        if self._file is None:
            return "FILE_NULL" if self is FILE_NULL else (File, ())
        raise ValueError("a file is not pickled")

    # Of what was never opened: how files begin.

    def Get_errhandler(self) -> Errhandler:
        """Give what happens at an error; of `FILE_NULL` that of files that are opened."""
        own = _null_errors if self._file is None else self._file
        return Errhandler(own.errors or _null_errors.errors or ERRORS_RETURN)

    def Set_errhandler(self, errhandler: Errhandler) -> None:
        """Say what happens at an error. Calls raise, whatever it is."""
        own = _null_errors if self._file is None else self._file
        own.errors = Errhandler(errhandler)

    # What it is.

    def Get_size(self) -> int:
        """Give the number of its bytes."""
        return self._valid().handle.size()

    def Set_size(self, size: int) -> None:
        """Make it so long, with all ranks: longer, with zeros, or shorter."""
        self._valid().handle.resize(_length(size))

    def Preallocate(self, size: int) -> None:
        """Make it at least so long, with all ranks."""
        file = self._valid()
        size = _length(size)
        # Nobody makes it longer before all have looked.
        now = file.comm.bcast(file.handle.size())
        file.comm.Barrier()
        if size > now:
            file.handle.resize(size)

    def Get_amode(self) -> int:
        """Give what it was opened for."""
        return self._valid().amode

    size = property(Get_size, doc="The number of its bytes.")
    amode = property(Get_amode, doc="What it was opened for.")

    def Set_view(
        self,
        disp: int = 0,
        etype: Datatype = BYTE,
        filetype: Datatype | None = None,
        datarep: str = "native",
        info: Info = INFO_NULL,
    ) -> None:
        """Say which bytes this rank sees, with all ranks. Both places are the first again."""
        file = self._valid()
        if datarep.lower() != "native":
            fail("ERR_UNSUPPORTED_DATAREP", f"{datarep}: motet writes 'native' only")
        if disp < 0:
            fail("ERR_ARG", f"disp is {disp}: it cannot be negative")
        view = _View(disp, etype, etype if filetype is None else filetype, datarep)
        file.handle.set_view(disp, view.blocks, view.extent)
        file.view, file.at = view, 0
        file.move(0)

    def Get_view(self) -> tuple[int, Datatype, Datatype, str]:
        """Give which bytes this rank sees."""
        view = self._valid().view
        return view.disp, Datatype(view.etype), Datatype(view.filetype), view.datarep

    def Get_byte_offset(self, offset: int) -> int:
        """Give where an item of the view lies in the file."""
        view = self._valid().view
        return view.byte(offset * view.unit)

    def Get_type_extent(self, datatype: Datatype) -> int:
        """Give how far apart two items of a datatype are in the file."""
        self._valid()
        return datatype.extent

    # Where the next call begins.

    def _sought(self, file: _File, now: Callable[[], int], offset: int, whence: int) -> int:
        begins = {
            constants.SEEK_SET: lambda: 0,
            constants.SEEK_CUR: now,
            constants.SEEK_END: lambda: file.view.seen(file.handle.size()),
        }
        if whence not in begins:
            fail("ERR_ARG", f"whence is {whence}: SEEK_SET, SEEK_CUR or SEEK_END")
        at = begins[whence]() + offset * file.view.unit
        if at < 0:
            fail("ERR_ARG", "no place lies before the begin of the file")
        return at

    def Seek(self, offset: int, whence: int = constants.SEEK_SET) -> None:
        """Move the place of this rank."""
        file = self._valid()
        file.at = self._sought(file, lambda: file.at, offset, whence)

    def Get_position(self) -> int:
        """Give the place of this rank, in items of the view."""
        file = self._valid()
        return file.at // file.view.unit

    def Seek_shared(self, offset: int, whence: int = constants.SEEK_SET) -> None:
        """Move the common place, with all ranks."""
        file = self._valid()
        at = self._sought(file, lambda: file.advance(0), offset, whence)
        file.move(at)

    def Get_position_shared(self) -> int:
        """Give the common place, in items of the view."""
        file = self._valid()
        return file.advance(0) // file.view.unit

    # What others see, and when.

    def Sync(self) -> None:
        """Wait for all ranks: what they have written before can be read. It is no file yet."""
        self._valid().comm.Barrier()

    def Set_atomicity(self, flag: bool) -> None:
        """Say, with all ranks, whether an access keeps those of other ranks away."""
        file = self._valid()
        file.comm.Barrier()
        file.atomic = bool(flag)

    def Get_atomicity(self) -> bool:
        """Whether an access keeps those of other ranks away."""
        return self._valid().atomic

    atomicity = property(
        Get_atomicity, Set_atomicity, doc="Whether an access keeps those of other ranks away."
    )


def _length(size: int) -> int:
    if size < 0:
        fail("ERR_ARG", f"the size is {size}: a file has no negative length")
    return size


class _Errors:
    """The error handler that files begin with."""

    errors: Errhandler | None = None


_null_errors = _Errors()
FILE_NULL = File()
