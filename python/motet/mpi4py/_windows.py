"""Windows: memory of a rank that the others read, write and combine."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy

from motet.mpi4py import _constants as constants
from motet.mpi4py._attributes import Attributes
from motet.mpi4py._comm import Comm
from motet.mpi4py._datatypes import Datatype
from motet.mpi4py._epochs import Epochs, Window
from motet.mpi4py._errors import fail, lacks
from motet.mpi4py._held import Held
from motet.mpi4py._info import INFO_NULL, Info
from motet.mpi4py._intracomm import COMM_SELF
from motet.mpi4py._memory import BOTTOM, buffer, memory
from motet.mpi4py._messages import as_datatype, simple
from motet.mpi4py._ops import NO_OP, SUM, Op
from motet.mpi4py._parts import Part
from motet.mpi4py._places import Place
from motet.mpi4py._requests import Request, ended


class Win(Epochs, Held, Attributes):
    """A window: memory of each rank that the others have access to.

    The model is `WIN_SEPARATE`. What others do is in the memory of a rank, and what the rank has
    stored there is seen by others, after a call of the rank that synchronizes its part: `Fence`,
    `Post`, `Wait`, `Lock` and `Unlock` of its own rank or of all, `Flush` of them, `Sync`. That
    takes a pass over the memory. Operations go at once, in any epoch.
    """

    def __init__(self, win: Win | None = None) -> None:
        if win is not None and not isinstance(win, Win):
            raise TypeError(f"a Win is expected, not {type(win).__name__}")
        self._window: Window | None = None if win is None else win._window

    @classmethod
    def _made(cls, comm: Comm, mem: numpy.ndarray, unit: int, flavor: int, info: Info) -> Any:
        if unit < 1:
            fail("ERR_DISP", f"disp_unit is {unit}: it must be positive")
        made = cls()
        made._window = Window(comm, mem, unit, flavor, info)
        return made

    @classmethod
    def Create(
        cls, memory: Any, disp_unit: int = 1, info: Info = INFO_NULL, comm: Comm = COMM_SELF
    ) -> Any:
        """Make a window of memory of the program, with all ranks of a communicator."""
        mem = numpy.empty(0, numpy.uint8) if memory is None or memory is BOTTOM else _of(memory)
        return cls._made(comm, mem, disp_unit, constants.WIN_FLAVOR_CREATE, info)

    @classmethod
    def Allocate(
        cls, size: int, disp_unit: int = 1, info: Info = INFO_NULL, comm: Comm = COMM_SELF
    ) -> Any:
        """Make a window of new memory, which holds zeros: `tomemory` shows it."""
        mem = numpy.asarray(buffer.allocate(size, clear=True))
        return cls._made(comm, mem, disp_unit, constants.WIN_FLAVOR_ALLOCATE, info)

    @classmethod
    def Allocate_shared(cls, *_: Any, **__: Any) -> NoReturn:
        """Not there."""
        raise lacks("memory that processes share", "use Win.Allocate, Put and Get")

    @classmethod
    def Create_dynamic(cls, *_: Any, **__: Any) -> NoReturn:
        """Not there."""
        raise lacks("window without memory", "make a window of the memory by Win.Create")

    def Attach(self, memory: Any) -> NoReturn:
        """Not there."""
        raise lacks("window without memory", "make a window of the memory by Win.Create")

    Detach = Attach

    def Shared_query(self, rank: int) -> NoReturn:
        """Not there."""
        raise lacks("memory that processes share", "use Get")

    def _valid(self) -> Window:
        if self._window is None:
            fail("ERR_WIN", "the window is null")
        return self._window

    _shared = _valid

    def _attributes(self) -> dict[int, Any]:
        return self._valid().attributes

    def __eq__(self, other: object) -> bool:
        return self._window is other._window if isinstance(other, Win) else NotImplemented

    def __hash__(self) -> int:
        return id(self._window)

    def __bool__(self) -> bool:
        return self._window is not None

    def __repr__(self) -> str:
        return f"<Win {'null' if self._window is None else self.Get_name()}>"

    def __reduce__(self) -> Any:
        if self._window is None:
            return "WIN_NULL" if self is WIN_NULL else (Win, ())
        raise ValueError("a window is not pickled")

    def Free(self) -> None:
        """End the window, with all ranks. What others have done is in the memory then."""
        window = self._valid()
        if window.waiting is not None:
            fail("ERR_RMA_SYNC", "ranks of Post have not completed: call Wait, or Test until it is")
        self._forget()
        window.handle.free(window.own)
        self._window = None

    def free(self) -> None:
        """End the window, if there is one."""
        if self._window is not None:
            self.Free()

    # What it is.

    def Get_name(self) -> str:
        """Give its name."""
        return "MPI_WIN_NULL" if self._window is None else self._window.name

    def Set_name(self, name: str) -> None:
        """Name it."""
        self._valid().name = name

    name = property(Get_name, Set_name, doc="Its name.")

    def tomemory(self) -> buffer:
        """Show the memory of this rank."""
        return self._valid().memory.view(buffer)

    def Get_attr(self, keyval: int) -> Any:
        """Give what is known of it by a key, or what the program remembers."""
        window = self._valid()
        known = {
            constants.WIN_BASE: window.memory.ctypes.data,
            constants.WIN_SIZE: len(window.memory),
            constants.WIN_DISP_UNIT: window.units[window.rank],
            constants.WIN_CREATE_FLAVOR: window.flavor,
            constants.WIN_MODEL: constants.WIN_SEPARATE,
        }
        return known[keyval] if keyval in known else super().Get_attr(keyval)

    @property
    def attrs(self) -> tuple[int, int, int]:
        """The address, the length and the unit of displacements of the memory of this rank."""
        keys = constants.WIN_BASE, constants.WIN_SIZE, constants.WIN_DISP_UNIT
        base, size, unit = (self.Get_attr(key) for key in keys)
        return base, size, unit

    flavor = property(lambda self: self._valid().flavor, doc="How it was made.")
    model = property(lambda self: self.Get_attr(constants.WIN_MODEL), doc="WIN_SEPARATE.")

    # Access.

    def _place(self, rank: int, target: Any, origin: Part) -> Place:
        """Give where an access goes; without more words as many items as at the origin."""
        window = self._valid()
        if not 0 <= rank < window.size:
            fail("ERR_RANK", f"there is no rank {rank} of {window.size}")
        disp, count, datatype = 0, origin.count, origin.datatype
        if isinstance(target, (tuple, list)):
            if len(target) > 3:
                raise ValueError(f"target: up to 3 items are expected, not {len(target)}")
            disp = target[0] if target else 0
            if len(target) > 1:
                count = target[1]
            if len(target) > 2:
                datatype = as_datatype(target[2])
        elif target is not None:
            disp = int(target)
        if disp < 0:
            fail("ERR_DISP", f"the displacement is {disp}: it cannot be negative")
        if count < 0:
            raise ValueError(f"target: negative count {count}")
        at = disp * window.units[rank]
        place = Place.of(rank, at, count, datatype) if count else Place(rank, at, 0)
        if place.nbytes != origin.nbytes:
            raise ValueError(f"target: {place.nbytes} bytes for {origin.nbytes} at the origin")
        if place.offset < 0:
            fail("ERR_RMA_RANGE", f"the first byte would be {place.offset} of the window")
        return place

    def Put(self, origin: Any, target_rank: int, target: Any = None) -> None:
        """Write items of a buffer into the window of a rank."""
        if target_rank == constants.PROC_NULL:
            return
        part, window = simple(origin), self._valid()
        place = self._place(target_rank, target, part)
        window.meet_at(place)
        window.handle.put(place, part.pack())
        window.meet_at(place)

    def Get(self, origin: Any, target_rank: int, target: Any = None) -> None:
        """Read items of the window of a rank into a buffer. They are there at once."""
        if target_rank == constants.PROC_NULL:
            return
        part, window = simple(origin), self._valid()
        place = self._place(target_rank, target, part)
        part.check_writable()
        window.meet_at(place)
        room = part.room() if place.blocks is None else None
        if room is None or numpy.shares_memory(room, window.own):
            part.unpack(window.handle.get(place))
        else:
            window.handle.get_into(place, room)

    def Accumulate(self, origin: Any, target_rank: int, target: Any = None, op: Op = SUM) -> None:
        """Combine items of a buffer with those of the window of a rank."""
        if target_rank != constants.PROC_NULL:
            self._combine(simple(origin), target_rank, target, op)

    def Get_accumulate(
        self, origin: Any, result: Any, target_rank: int, target: Any = None, op: Op = SUM
    ) -> None:
        """Combine, and give what was there before."""
        if target_rank == constants.PROC_NULL:
            return
        room = simple(result)
        room.check_writable()
        part = room if op == NO_OP else simple(origin)
        if room.nbytes < part.nbytes:
            # Said before anything is combined.
            fail("ERR_TRUNCATE", f"result: {part.nbytes} bytes come for {room.nbytes}")
        room.unpack(self._combine(part, target_rank, target, op))

    def Fetch_and_op(
        self,
        origin: Any,
        result: Any,
        target_rank: int,
        target_disp: int = 0,
        op: Op = SUM,
    ) -> None:
        """Combine one item, and give what was there before."""
        room, part = simple(result), simple(origin)
        _one(("result", room), ("origin", part))
        if target_rank != constants.PROC_NULL:
            room.check_writable()
            room.unpack(self._combine(part, target_rank, target_disp, op))

    def Compare_and_swap(
        self,
        origin: Any,
        compare: Any,
        result: Any,
        target_rank: int,
        target_disp: int = 0,
    ) -> None:
        """Write one item if what is there equals another, and give what was there before."""
        room, part, expected = simple(result), simple(origin), simple(compare)
        _one(("result", room), ("origin", part), ("compare", expected))
        if target_rank == constants.PROC_NULL:
            return
        window, place = self._valid(), self._place(target_rank, target_disp, part)
        room.check_writable()
        window.meet_at(place)
        there = window.handle.swap(place, part.pack(), expected.pack())
        window.meet_at(place)
        room.unpack(there)

    def _combine(self, part: Part, rank: int, target: Any, op: Op) -> bytes:
        window, place = self._valid(), self._place(rank, target, part)
        how = _how(op, part.datatype)
        window.meet_at(place)
        there = window.handle.combine(place, part.pack(), how)
        window.meet_at(place)
        return there

    def Rput(self, origin: Any, target_rank: int, target: Any = None) -> Request:
        """As `Put`; the request has ended."""
        self.Put(origin, target_rank, target)
        return ended()

    def Rget(self, origin: Any, target_rank: int, target: Any = None) -> Request:
        """As `Get`; the request has ended."""
        self.Get(origin, target_rank, target)
        return ended()

    def Raccumulate(
        self, origin: Any, target_rank: int, target: Any = None, op: Op = SUM
    ) -> Request:
        """As `Accumulate`; the request has ended."""
        self.Accumulate(origin, target_rank, target, op)
        return ended()

    def Rget_accumulate(
        self, origin: Any, result: Any, target_rank: int, target: Any = None, op: Op = SUM
    ) -> Request:
        """As `Get_accumulate`; the request has ended."""
        self.Get_accumulate(origin, result, target_rank, target, op)
        return ended()


def _of(given: Any) -> numpy.ndarray:
    return memory(given[0] if isinstance(given, (list, tuple)) else given)


def _how(op: Op, datatype: Datatype) -> Any:
    name = op._valid().name
    if not name:
        fail("ERR_OP", "windows combine by MPI's own operators only")
    return (name.lower(), "") if name in ("REPLACE", "NO_OP") else op.of_bytes(datatype)


def _one(*parts: tuple[str, Part]) -> None:
    """Refuse what is not one item of the datatype of the first."""
    _, first = parts[0]
    for name, part in parts:
        if part.count != 1:
            raise ValueError(f"{name}: a single item is expected, not {part.count}")
        if part.datatype != first.datatype:
            raise ValueError(f"{name}: {part.datatype!r} is not {first.datatype!r} of the result")


WIN_NULL = Win()
