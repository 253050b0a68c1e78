"""Collectives of objects."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from motet.mpi4py._combining import Combining
from motet.mpi4py._errors import fail
from motet.mpi4py._ops import SUM, Op, call_of
from motet.mpi4py._pickled import pickle


def check_root(handle: Any, root: int) -> int:
    """Refuse a root that is no rank."""
    if not 0 <= root < handle.size:
        fail("ERR_ROOT", f"root is {root}: there are ranks 0 to {handle.size - 1}")
    return root


def _listed(sendobj: Sequence[Any] | None, size: int) -> list[bytes]:
    objects = [None] * size if sendobj is None else list(sendobj)
    if len(objects) != size:
        raise ValueError(f"expecting {size} items, got {len(objects)}")
    return [pickle.dumps(one) for one in objects]


class Objects:
    """The collectives of a communicator for objects."""

    _h: Any

    def barrier(self) -> None:
        """Wait for all ranks."""
        self._h.barrier()

    Barrier = barrier

    def bcast(self, obj: Any = None, root: int = 0) -> Any:
        """Give every rank the object of `root`."""
        handle = self._h
        is_root = handle.rank == check_root(handle, root)
        came = handle.bcast(pickle.dumps(obj) if is_root else None, root)
        return pickle.loads(came)

    def gather(self, sendobj: Any, root: int = 0) -> list[Any] | None:
        """Give `root` the objects of all ranks; the others `None`."""
        handle = self._h
        all_of = handle.gather(pickle.dumps(sendobj), check_root(handle, root))
        return None if all_of is None else [pickle.loads(one) for one in all_of]

    def scatter(self, sendobj: Sequence[Any] | None = None, root: int = 0) -> Any:
        """Give each rank its object of those of `root`."""
        handle = self._h
        is_root = handle.rank == check_root(handle, root)
        return pickle.loads(
            handle.scatter(_listed(sendobj, handle.size) if is_root else None, root)
        )

    def allgather(self, sendobj: Any) -> list[Any]:
        """Give every rank the objects of all."""
        return [pickle.loads(one) for one in self._h.allgather(pickle.dumps(sendobj))]

    def alltoall(self, sendobj: Sequence[Any] | None = None) -> list[Any]:
        """Give each rank an object of each."""
        handle = self._h
        return [pickle.loads(one) for one in handle.alltoall(_listed(sendobj, handle.size))]

    def reduce(self, sendobj: Any, op: Op | Callable[[Any, Any], Any] = SUM, root: int = 0) -> Any:
        """Combine the objects of all ranks, in their order, on `root`."""
        handle, how = self._h, _Combining(op)
        given = handle.reduce(how.pickled(sendobj), how, check_root(handle, root))
        return how.unpickled(given)

    def allreduce(self, sendobj: Any, op: Op | Callable[[Any, Any], Any] = SUM) -> Any:
        """Combine the objects of all ranks, in their order, on every rank."""
        how = _Combining(op)
        return how.unpickled(self._h.allreduce(how.pickled(sendobj), how))

    def scan(self, sendobj: Any, op: Op | Callable[[Any, Any], Any] = SUM) -> Any:
        """Combine the objects of the ranks up to this one."""
        how = _Combining(op)
        return how.unpickled(self._h.scan(how.pickled(sendobj), how))

    def exscan(self, sendobj: Any, op: Op | Callable[[Any, Any], Any] = SUM) -> Any:
        """Combine the objects of the ranks before this one; `None` on the first."""
        how = _Combining(op)
        return how.unpickled(self._h.exscan(how.pickled(sendobj), how))


class _Combining(Combining):
    """Combines objects."""

    def __init__(self, op: Op | Callable[[Any, Any], Any]) -> None:
        combine = call_of(op)
        super().__init__(lambda a, b: pickle.dumps(combine(pickle.loads(a), pickle.loads(b))))

    def pickled(self, sendobj: Any) -> bytes:
        """Give what is sent for the object of this rank."""
        return self.sent(pickle.dumps(sendobj))

    def unpickled(self, data: bytes | None) -> Any:
        """Give the object that has come, if one has."""
        came = self.result(data)
        return None if came is None else pickle.loads(came)
