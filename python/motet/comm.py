"""Ranks that send each other messages: threads of a process, or processes that `motet run` starts.

The names are mpi4py's. Lower-case calls take any object that can be pickled, upper-case ones
buffers of numbers. What mpi4py has beside them (requests, probes, topologies, groups) is there too:
a :class:`Comm` is a communicator of :mod:`motet.mpi4py`.

>>> from motet.comm import World
>>> def main(comm):
...     right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
...     came = comm.sendrecv({"from": comm.rank}, dest=right, source=left)
...     return came["from"], comm.allreduce(comm.rank)
>>> World.threads(3).run(main)
[(2, 3), (0, 3), (1, 3)]
"""

from __future__ import annotations

import atexit
import inspect
from collections.abc import Callable
from typing import Any, Literal

from motet import _clash, _ending, _motet
from motet._parameters import called, whole
from motet.mpi4py import _handles
from motet.mpi4py._constants import ANY_SOURCE, ANY_TAG, UNDEFINED
from motet.mpi4py._intracomm import Intracomm
from motet.mpi4py._ops import MAX, MIN, PROD, SUM, Op
from motet.mpi4py._requests import Request
from motet.mpi4py._status import Status
from motet.mpi4py._topology import Cartcomm, Distgraphcomm, Graphcomm

__all__ = [
    "ANY_SOURCE",
    "ANY_TAG",
    "MAX",
    "MIN",
    "PROD",
    "SUM",
    "UNDEFINED",
    "Cartcomm",
    "Comm",
    "Distgraphcomm",
    "Graphcomm",
    "Op",
    "Request",
    "Status",
    "World",
]


class Comm(Intracomm):
    """One rank's handle on the ranks that it belongs to; for the thread of that rank alone."""

    def __repr__(self) -> str:
        return f"<rank {self.rank} of {self.size}>"

    def recv(  # type: ignore[override]
        self, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Status | None = None
    ) -> Any:
        """Receive an object, from any rank and with any tag unless they are named."""
        return super().recv(None, source, tag, status)

    def irecv(self, source: int = ANY_SOURCE, tag: int = ANY_TAG) -> Request:  # type: ignore[override]
        """Post a receive of an object; the request gives it."""
        return super().irecv(None, source, tag)

    def sendrecv(  # type: ignore[override]
        self,
        sendobj: Any,
        dest: int,
        sendtag: int = 0,
        source: int = ANY_SOURCE,
        recvtag: int = ANY_TAG,
        status: Status | None = None,
    ) -> Any:
        """Send an object, and receive one meanwhile."""
        return super().sendrecv(sendobj, dest, sendtag, None, source, recvtag, status)

    def Split(self, color: int = 0, key: int = 0) -> Comm | None:
        """Give the ranks with the same color a communicator of their own, in the order of keys.

        `None` where the color is `UNDEFINED`.
        """
        made = super().Split(color, key)
        return Comm(made) if made else None


def _of_world(handle: _motet.MpiComm) -> Comm:
    """Give a rank its handle on all ranks, which is of no use elsewhere."""
    return Comm._of(_handles.Ranks(handle, predefined=True, name="MPI_COMM_WORLD"))


def _leave(world: _motet.World) -> None:
    """Leave the other processes, which wait for that; one that has failed waits for none."""
    failure = _ending.failure() if _motet.World.is_one_of_several() else None
    if failure is not None and not world.has_failed():
        # The others do not know, and would wait for it.
        _ending.end_at_once()
    world.close()
    if failure is not None and _ending.has_status_of_another():
        _ending.end_at_once()


class World:
    """Ranks that run together."""

    def __init__(self, world: Any) -> None:
        self._world = world

    @staticmethod
    def threads(ranks: int = 0) -> World:
        """So many ranks in this process, each on a thread of its own; 0: one for each core."""
        return World(_motet.World.threads(whole("ranks", ranks, 0, most=65_536)))

    @staticmethod
    def current() -> World:
        """The world that the process was started in, alone or by `motet run`."""
        _clash.refuse_second_library()
        world = _motet.World.current()
        _clash.refuse_later_mpi4py()
        _ending.watch()
        atexit.register(_leave, world)
        return World(world)

    @property
    def size(self) -> int:
        """The number of ranks of this process."""
        return self._world.size

    @property
    def process(self) -> tuple[int, int]:
        """The number of this process, and how many there are."""
        return self._world.process

    def limit(self, messages: int, overflow: Literal["reject", "wait"] = "reject") -> World:
        """Let at most so many messages of one rank to another wait there to be received.

        It holds for the runs that begin later; there is no limit before. With one message more
        `send` raises ``MPI.Exception`` and has sent nothing, or waits until one has been received.
        `sendrecv` and `isend` do not wait, and send all the same with ``overflow="wait"``; the
        request of an `isend` ends when its message has room, or has been received. Collectives have
        bounds of their own.

        >>> from motet.mpi4py import MPI
        >>> def main(comm):
        ...     sent = 0
        ...     while comm.rank == 0:
        ...         try:
        ...             comm.send(sent, dest=1)
        ...         except MPI.Exception:
        ...             break
        ...         sent += 1
        ...     comm.barrier()
        ...     return sent
        >>> World.threads(2).limit(3).run(main)
        [3, 0]
        """
        messages = whole("messages", messages, 1)
        if overflow not in ("reject", "wait"):
            raise ValueError(f"overflow is {overflow!r}; it is 'reject' or 'wait'")
        self._world.limit(messages, overflow == "wait")
        return self

    def run(self, main: Callable[..., Any], *args: Any) -> list[Any]:
        """Call `main(comm, *args)` on each rank.

        Gives what it gives back on the ranks of this process. What a rank raises ends the run in
        all processes, and is raised here; what one of another process has raised is a
        `MotetError` here. `SystemExit` is no exception: `sys.exit` ends the run, too.
        """
        called("main", main)
        if inspect.iscoroutinefunction(main):
            raise TypeError("main is async, and a rank is a thread, which runs no loop: write def")
        try:
            return self._world.run(_of_world, main, args)
        except _motet.MotetError as error:
            if self._world.has_failed_elsewhere():
                _ending.told(str(error))
            raise
