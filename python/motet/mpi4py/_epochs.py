"""Windows: what handles on one share, and the calls that begin and end epochs."""

from __future__ import annotations

from typing import Any

import numpy

from motet import _motet
from motet.mpi4py import _constants as constants
from motet.mpi4py._comm import Comm
from motet.mpi4py._errors import fail
from motet.mpi4py._groups import Group
from motet.mpi4py._held import Shared
from motet.mpi4py._info import Info
from motet.mpi4py._places import Place


class Window(Shared):
    """What handles on one window share."""

    def __init__(self, comm: Comm, mem: numpy.ndarray, unit: int, flavor: int, info: Info) -> None:
        super().__init__(comm.Get_group(), info)
        self.rank, self.size = comm.Get_rank(), comm.Get_size()
        self.units: list[int] = comm.allgather(unit)
        # What cannot be written is not brought up to date.
        self.memory = mem
        self.own = mem if mem.flags.writeable else mem.copy()
        self.handle: Any = _motet.MpiWindow.create(comm._h, mem)
        self.name, self.flavor = "", flavor
        # The ranks of `Post` and `Start`, as long as their epochs last.
        self.posted: list[int] | None = None
        self.started: list[int] | None = None
        self.waiting: Any = None

    def meet(self) -> None:
        """Bring the memory of the program and what others see up to date."""
        self.handle.meet(self.own)

    def meet_at(self, place: Place) -> None:
        """Bring them up to date where this rank has access to itself."""
        if place.rank == self.rank and place.nbytes:
            self.handle.meet(self.own, place.offset, place.end)


class Epochs:
    """The calls of a window that begin and end epochs."""

    def _valid(self) -> Window:
        raise NotImplementedError

    def Fence(self, assertion: int = 0) -> None:
        """Wait until all ranks have called it and all that they have done is done."""
        window = self._valid()
        window.meet()
        window.handle.fence()
        window.meet()

    def Post(self, group: Group, assertion: int = 0) -> None:
        """Open the window of this rank to these."""
        window = self._valid()
        window.meet()
        window.posted = _places(group, window)
        window.handle.post(window.posted)

    def Start(self, group: Group, assertion: int = 0) -> None:
        """Wait until these ranks have opened their windows to this one."""
        window = self._valid()
        window.started = _places(group, window)
        window.handle.start(window.started)

    def Complete(self) -> None:
        """Tell the ranks of `Start` that all is done."""
        window = self._valid()
        started, window.started = window.started, None
        if started is None:
            fail("ERR_RMA_SYNC", "no access has begun: call Start first")
        window.handle.complete(started)

    def _waited(self) -> Any:
        window = self._valid()
        if window.posted is None:
            fail("ERR_RMA_SYNC", "the window was not opened: call Post first")
        if window.waiting is None:
            window.waiting = window.handle.wait_for(window.posted)
        return window.waiting

    def Wait(self) -> bool:
        """Wait until the ranks of `Post` have completed."""
        waited, window = self._waited(), self._valid()
        waited.check()
        window.waiting = None
        waited.wait()
        window.posted = None
        window.meet()
        return True

    def Test(self) -> bool:
        """Whether the ranks of `Post` have completed; then it is as after `Wait`."""
        waited, window = self._waited(), self._valid()
        waited.check()
        window.waiting = None
        if waited.test() is None:
            window.waiting = waited
            return False
        window.posted = None
        window.meet()
        return True

    def Lock(
        self, rank: int, lock_type: int = constants.LOCK_EXCLUSIVE, assertion: int = 0
    ) -> None:
        """Wait for the lock of the window of a rank."""
        if lock_type not in (constants.LOCK_EXCLUSIVE, constants.LOCK_SHARED):
            fail("ERR_LOCKTYPE", f"there is no type {lock_type} of lock")
        self._each(rank, lambda one: one.handle.lock(rank, lock_type == constants.LOCK_SHARED))

    def Unlock(self, rank: int) -> None:
        """Give the lock of the window of a rank back, when all done under it is done."""
        self._each(rank, lambda one: one.handle.unlock(rank))

    def Lock_all(self, assertion: int = 0) -> None:
        """Wait for shared locks of the windows of all ranks."""
        for rank in range(self._valid().size):
            self.Lock(rank, constants.LOCK_SHARED)

    def Unlock_all(self) -> None:
        """Give the locks of the windows of all ranks back."""
        for rank in range(self._valid().size):
            self.Unlock(rank)

    def Flush(self, rank: int) -> None:
        """Wait until all that was done to the window of a rank is done there."""
        self._each(rank, lambda one: one.handle.flush(rank))

    def Flush_all(self) -> None:
        """Wait until all that was done to the windows of all ranks is done there."""
        window = self._valid()
        window.handle.flush()
        window.meet()

    Flush_local, Flush_local_all = Flush, Flush_all

    def Sync(self) -> None:
        """Bring the memory of this rank and its window up to date."""
        self._valid().meet()

    def _each(self, rank: int, call: Any) -> None:
        """Call, and bring the memory up to date around it if it is that of this rank."""
        window = self._valid()
        if rank == constants.PROC_NULL:
            return
        if not 0 <= rank < window.size:
            fail("ERR_RANK", f"there is no rank {rank} of {window.size}")
        if rank == window.rank:
            window.meet()
        call(window)
        if rank == window.rank:
            window.meet()


def _places(group: Group, window: Window) -> list[int]:
    places = Group.Translate_ranks(group, None, window.group)
    if constants.UNDEFINED in places:
        fail("ERR_GROUP", "a rank of the group is not in the window")
    return list(places)
