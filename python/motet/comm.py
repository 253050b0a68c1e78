"""Ranks that send each other messages: threads of a process, or processes that `motet run` starts.

The names are mpi4py's. Lower-case calls take any object that can be pickled, upper-case ones
arrays of numbers.

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
import operator
import pickle
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy

from motet import _motet

__all__ = [
    "ANY_SOURCE",
    "ANY_TAG",
    "MAX",
    "MIN",
    "PROD",
    "SUM",
    "UNDEFINED",
    "Comm",
    "Op",
    "Status",
    "World",
]

ANY_SOURCE = -1
ANY_TAG = -1
UNDEFINED = -32766


class Op:
    """How values are combined: those of ranks one after the other, in the order of the ranks."""

    def __init__(self, name: str, combine: Callable[[Any, Any], Any]) -> None:
        self.name, self._combine = name, combine

    def __call__(self, one: Any, other: Any) -> Any:
        """Combine two values."""
        return self._combine(one, other)

    def __repr__(self) -> str:
        return self.name.upper()


SUM = Op("sum", operator.add)
PROD = Op("prod", operator.mul)
MIN = Op("min", min)
MAX = Op("max", max)


class Status:
    """Who has sent a message that was received, and with which tag."""

    def __init__(self) -> None:
        self.source, self.tag = ANY_SOURCE, ANY_TAG

    def Get_source(self) -> int:
        """Give the rank that has sent the message."""
        return self.source

    def Get_tag(self) -> int:
        """Give the tag of the message."""
        return self.tag


def _bytes(value: Any) -> bytes:
    return pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)


class Comm:
    """One rank's handle on the ranks that it belongs to; for the thread of that rank alone."""

    def __init__(self, comm: Any) -> None:
        self._comm = comm
        self.rank: int = comm.rank
        self.size: int = comm.size

    def __repr__(self) -> str:
        return f"<rank {self.rank} of {self.size}>"

    def Get_rank(self) -> int:
        """Give the number of this rank, from 0."""
        return self.rank

    def Get_size(self) -> int:
        """Give the number of ranks."""
        return self.size

    def _rank(self, rank: int, what: str) -> int:
        if not 0 <= rank < self.size:
            raise ValueError(f"{what} is {rank}: there are ranks 0 to {self.size - 1}")
        return rank

    # Messages.

    def send(self, obj: Any, dest: int, tag: int = 0) -> None:
        """Send an object to a rank."""
        self._comm.send(self._rank(dest, "dest"), tag, _bytes(obj))

    def recv(
        self, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Status | None = None
    ) -> Any:
        """Receive an object, from any rank and with any tag unless they are named."""
        came, sender, with_tag = self._comm.recv(*self._wanted(source, tag))
        if status is not None:
            status.source, status.tag = sender, with_tag
        return pickle.loads(came)

    def sendrecv(
        self,
        sendobj: Any,
        dest: int,
        sendtag: int = 0,
        source: int = ANY_SOURCE,
        recvtag: int = ANY_TAG,
    ) -> Any:
        """Send an object, and receive one meanwhile."""
        to = (self._rank(dest, "dest"), sendtag)
        came = self._comm.sendrecv(to, _bytes(sendobj), self._wanted(source, recvtag))
        return pickle.loads(came)

    def Send(self, buf: Any, dest: int, tag: int = 0) -> None:
        """Send the bytes of an array."""
        self._comm.send(self._rank(dest, "dest"), tag, _flat(buf).tobytes())

    def Recv(
        self,
        buf: Any,
        source: int = ANY_SOURCE,
        tag: int = ANY_TAG,
        status: Status | None = None,
    ) -> None:
        """Receive into an array."""
        came, sender, with_tag = self._comm.recv(*self._wanted(source, tag))
        if status is not None:
            status.source, status.tag = sender, with_tag
        _fill(buf, came)

    def _wanted(self, source: int, tag: int) -> tuple[int | None, int | None]:
        rank = None if source == ANY_SOURCE else self._rank(source, "source")
        return rank, None if tag == ANY_TAG else tag

    # Collectives.

    def barrier(self) -> None:
        """Wait for all ranks."""
        self._comm.barrier()

    Barrier = barrier

    def bcast(self, obj: Any, root: int = 0) -> Any:
        """Give every rank the object of `root`."""
        own = _bytes(obj) if self.rank == root else None
        came = self._comm.bcast(own, self._rank(root, "root"))
        return obj if self.rank == root else pickle.loads(came)

    def gather(self, sendobj: Any, root: int = 0) -> list[Any] | None:
        """Give `root` the objects of all ranks; the others `None`."""
        all_of = self._comm.gather(_bytes(sendobj), self._rank(root, "root"))
        return None if all_of is None else [pickle.loads(one) for one in all_of]

    def allgather(self, sendobj: Any) -> list[Any]:
        """Give every rank the objects of all."""
        return [pickle.loads(one) for one in self._comm.allgather(_bytes(sendobj))]

    def scatter(self, sendobj: Sequence[Any] | None, root: int = 0) -> Any:
        """Give each rank its object of those of `root`."""
        own = None
        if self.rank == root:
            if sendobj is None or len(sendobj) != self.size:
                raise ValueError(f"the root gives one object to each of the {self.size} ranks")
            own = [_bytes(one) for one in sendobj]
        return pickle.loads(self._comm.scatter(own, self._rank(root, "root")))

    def alltoall(self, sendobj: Sequence[Any]) -> list[Any]:
        """Give each rank an object of each."""
        if len(sendobj) != self.size:
            raise ValueError(f"each rank gives one object to each of the {self.size} ranks")
        return [pickle.loads(one) for one in self._comm.alltoall([_bytes(one) for one in sendobj])]

    def reduce(self, sendobj: Any, op: Callable[[Any, Any], Any] = SUM, root: int = 0) -> Any:
        """Combine the objects of all ranks, in their order, on `root`."""
        all_of = self.gather(sendobj, root)
        return None if all_of is None else reduce(op, all_of)

    def allreduce(self, sendobj: Any, op: Callable[[Any, Any], Any] = SUM) -> Any:
        """Combine the objects of all ranks, in their order, on every rank."""
        return reduce(op, self.allgather(sendobj))

    def scan(self, sendobj: Any, op: Callable[[Any, Any], Any] = SUM) -> Any:
        """Combine the objects of the ranks up to this one."""
        return reduce(op, self.allgather(sendobj)[: self.rank + 1])

    def Bcast(self, buf: Any, root: int = 0) -> None:
        """Fill the arrays of all ranks with that of `root`."""
        own = _flat(buf).tobytes() if self.rank == root else None
        came = self._comm.bcast(own, self._rank(root, "root"))
        if self.rank != root:
            _fill(buf, came)

    def Allreduce(self, sendbuf: Any, recvbuf: Any, op: Op = SUM) -> None:
        """Combine the numbers of all ranks, place by place, into an array of every rank."""
        numbers = _flat(sendbuf)
        if not isinstance(op, Op) or op.name not in ("sum", "prod", "min", "max"):
            raise ValueError("Allreduce takes SUM, PROD, MIN or MAX; allreduce takes any function")
        if numpy.issubdtype(numbers.dtype, numpy.integer):
            totals = self._comm.allreduce_integers(numbers.astype(numpy.int64), op.name)
        elif numpy.issubdtype(numbers.dtype, numpy.floating):
            totals = self._comm.allreduce_floats(numbers.astype(numpy.float64), op.name)
        else:
            raise TypeError(f"numbers of type {numbers.dtype} are not combined here")
        target = numpy.asarray(recvbuf)
        if target.size != totals.size:
            raise ValueError(f"{totals.size} numbers do not fit an array of {target.size}")
        target[...] = totals.reshape(target.shape)

    def Allgather(self, sendbuf: Any, recvbuf: Any) -> None:
        """Fill an array of every rank with those of all, one after the other."""
        _fill(recvbuf, b"".join(self._comm.allgather(_flat(sendbuf).tobytes())))

    # Communicators.

    def Split(self, color: int = 0, key: int = 0) -> Comm | None:
        """Give the ranks with the same color a communicator of their own, in the order of keys."""
        made = self._comm.split(None if color == UNDEFINED else color, key)
        return None if made is None else Comm(made)

    def Dup(self) -> Comm:
        """Give the same ranks another communicator, whose messages never meet those of this one."""
        return Comm(self._comm.dup())


def _flat(buf: Any) -> numpy.ndarray:
    return numpy.ascontiguousarray(buf).reshape(-1)


def _fill(buf: Any, came: bytes) -> None:
    target = numpy.asarray(buf)
    if not isinstance(buf, numpy.ndarray):
        raise TypeError("what is received into must be an array of numpy")
    if target.nbytes != len(came):
        raise ValueError(f"{len(came)} bytes have come for an array of {target.nbytes}")
    target[...] = numpy.frombuffer(came, dtype=target.dtype).reshape(target.shape)


class World:
    """Ranks that run together."""

    def __init__(self, world: Any) -> None:
        self._world = world

    @staticmethod
    def threads(ranks: int = 0) -> World:
        """So many ranks in this process, each on a thread of its own; 0: one for each core."""
        return World(_motet.World.threads(ranks))

    @staticmethod
    def current() -> World:
        """The world that the process was started in, alone or by `motet run`."""
        world = _motet.World.current()
        # The other processes wait for this one to leave them.
        atexit.register(world.close)
        return World(world)

    @property
    def size(self) -> int:
        """The number of ranks of this process."""
        return self._world.size

    @property
    def process(self) -> tuple[int, int]:
        """The number of this process, and how many there are."""
        return self._world.process

    def run(self, main: Callable[..., Any], *args: Any) -> list[Any]:
        """Call `main(comm, *args)` on each rank.

        Gives what it gives back on the ranks of this process. What a rank raises ends the run, and
        is raised here.
        """
        return self._world.run(Comm, main, args)
