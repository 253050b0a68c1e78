"""Collectives of buffers. Each is carried out at once, started, or described to be started later.

A collective is one function: it cuts what is sent out of the buffers, calls Rust, and says how what
comes is put into the buffers. `forms` makes its three calls of it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from operator import index
from typing import Any

from numpy import ndarray

from motet.mpi4py._calls import Call
from motet.mpi4py._combining import Combining
from motet.mpi4py._errors import fail
from motet.mpi4py._memory import IN_PLACE
from motet.mpi4py._messages import NOTHING, simple, vector, vector_w
from motet.mpi4py._objects import check_root
from motet.mpi4py._ops import MAX, MIN, PROD, SUM, Op
from motet.mpi4py._parts import Part
from motet.mpi4py._requests import Prequest, Request

# What a collective function gives: what calls Rust, given whether to start; what uses the outcome.
Plan = tuple[Callable[[bool], Any], "Callable[[Any], None] | None"]


def _is_in_place(buf: Any) -> bool:
    """Whether what is sent is in the receive buffer, or the other way round."""
    return buf is None or buf is IN_PLACE


def forms(plan: Callable[..., Plan], said: str) -> tuple[Any, Any, Any]:
    """Make the calls that carry a collective out, start it, and describe it."""
    signature = inspect.signature(plan, eval_str=False)

    def at_once(self: Any, *args: Any, **kwargs: Any) -> None:
        call, use = plan(self, *args, **kwargs)
        given = call(False)
        if use is not None:
            use(given)

    def started(plan: Plan) -> Call:
        call, use = plan
        finish = None if use is None else (lambda _, given: use(given))
        return Call(call(True), finish)

    def start(self: Any, *args: Any, **kwargs: Any) -> Request:
        return Request._of(started(plan(self, *args, **kwargs)))

    def describe(self: Any, *args: Any, info: Any = None, **kwargs: Any) -> Prequest:
        # What is wrong with the arguments is said now.
        plan(self, *args, **kwargs)
        return Prequest._of(None, lambda: started(plan(self, *args, **kwargs)))

    forms = at_once, start, describe
    for form, how in zip(forms, ("", "Start to: ", "Describe: "), strict=True):
        form.__doc__ = f"{how}{said}"
        form.__signature__ = signature  # type: ignore[attr-defined]
    return forms


def _barrier(self: Any) -> Plan:
    return self._h.barrier, None


def _bcast(self: Any, buf: Any, root: int = 0) -> Plan:
    handle, part = self._h, simple(buf)
    is_root = handle.rank == check_root(handle, root)
    data = part.pack() if is_root else None
    return lambda start: handle.bcast(data, root, start), None if is_root else part.unpack


def _blocks(parts: Sequence[Part]) -> Callable[[Any], None]:
    """Give what puts what has come of each rank into its part."""

    def use(given: Any) -> None:
        for part, data in zip(parts, given, strict=True):
            part.unpack(data)

    return use


def cut(msg: Any, size: int) -> list[Part]:
    """Give equal parts, one for each rank."""
    first = simple(msg, size)
    return [first.block(number) for number in range(size)]


def _gathering(self: Any, sendbuf: Any, recvbuf: Any, root: int, cut: Any) -> Plan:
    handle = self._h
    rank = handle.rank
    if rank != check_root(handle, root):
        part = simple(sendbuf)
        return lambda start: handle.gather(part.pack(), root, start), None
    parts = cut(recvbuf, handle.size)
    if _is_in_place(sendbuf):
        part = parts[rank]
        use = _blocks([*parts[:rank], NOTHING, *parts[rank + 1 :]])

        def in_place(given: Any) -> None:
            use([*given[:rank], b"", *given[rank + 1 :]])

        return lambda start: handle.gather(part.pack(), root, start), in_place
    part = simple(sendbuf)
    return lambda start: handle.gather(part.pack(), root, start), _blocks(parts)


def _gather(self: Any, sendbuf: Any, recvbuf: Any, root: int = 0) -> Plan:
    return _gathering(self, sendbuf, recvbuf, root, cut)


def _gatherv(self: Any, sendbuf: Any, recvbuf: Any, root: int = 0) -> Plan:
    return _gathering(self, sendbuf, recvbuf, root, vector)


def _scattering(self: Any, sendbuf: Any, recvbuf: Any, root: int, cut: Any) -> Plan:
    handle = self._h
    is_root = handle.rank == check_root(handle, root)
    parts = cut(sendbuf, handle.size) if is_root else None
    # What the root has for itself stays where it is; the others need room.
    use = None if is_root and _is_in_place(recvbuf) else simple(recvbuf).unpack
    data = None if parts is None else [part.pack() for part in parts]
    return lambda start: handle.scatter(data, root, start), use


def _scatter(self: Any, sendbuf: Any, recvbuf: Any, root: int = 0) -> Plan:
    return _scattering(self, sendbuf, recvbuf, root, cut)


def _scatterv(self: Any, sendbuf: Any, recvbuf: Any, root: int = 0) -> Plan:
    return _scattering(self, sendbuf, recvbuf, root, vector)


def _allgathering(self: Any, sendbuf: Any, recvbuf: Any, cut: Any) -> Plan:
    handle = self._h
    parts = cut(recvbuf, handle.size)
    part = parts[handle.rank] if _is_in_place(sendbuf) else simple(sendbuf)
    return lambda start: handle.allgather(part.pack(), start), _blocks(parts)


def _allgather(self: Any, sendbuf: Any, recvbuf: Any) -> Plan:
    return _allgathering(self, sendbuf, recvbuf, cut)


def _allgatherv(self: Any, sendbuf: Any, recvbuf: Any) -> Plan:
    return _allgathering(self, sendbuf, recvbuf, vector)


def _exchanging(self: Any, sendbuf: Any, recvbuf: Any, cut: Any) -> Plan:
    handle = self._h
    size = handle.size
    parts = cut(recvbuf, size)
    sent = parts if _is_in_place(sendbuf) else cut(sendbuf, size)

    def call(start: bool) -> Any:
        return handle.alltoall([part.pack() for part in sent], start)

    return call, _blocks(parts)


def _alltoall(self: Any, sendbuf: Any, recvbuf: Any) -> Plan:
    return _exchanging(self, sendbuf, recvbuf, cut)


def _alltoallv(self: Any, sendbuf: Any, recvbuf: Any) -> Plan:
    return _exchanging(self, sendbuf, recvbuf, vector)


def _alltoallw(self: Any, sendbuf: Any, recvbuf: Any) -> Plan:
    return _exchanging(self, sendbuf, recvbuf, vector_w)


# Reductions.


def _pair(sendbuf: Any, recvbuf: Any) -> tuple[Part, Part]:
    """Give what is combined and where the result goes: as many items of one datatype."""
    room = simple(recvbuf)
    if _is_in_place(sendbuf):
        return room, room
    part = simple(sendbuf)
    if part.count and room.count and part.datatype != room.datatype:
        raise ValueError(f"message: {part.datatype!r} is combined into {room.datatype!r}")
    if part.count != room.count:
        raise ValueError(f"message: {part.count} items are combined into {room.count}")
    return part, room


def _operator(op: Op, part: Part) -> Any:
    if not isinstance(op, Op):
        raise TypeError(
            f"an Op is expected, not {type(op).__name__}; make one of a function by Op.Create"
        )
    how = op.of_bytes(part.datatype)
    # Names that Rust knows, or a function.
    return how if isinstance(how, tuple) else Combining(how)


def _sent(how: Any, part: Part) -> Any:
    """Give what is sent of a part that is combined."""
    return how.sent(part.pack()) if isinstance(how, Combining) else part.pack()


def _into(how: Any, room: Part | None) -> Callable[[Any], None]:
    """Give what puts what has come, if something has, where the result goes."""

    def use(given: Any) -> None:
        came = how.result(given) if isinstance(how, Combining) else given
        if room is not None and came is not None:
            room.unpack(came)

    return use


def _reduce(self: Any, sendbuf: Any, recvbuf: Any, op: Op = SUM, root: int = 0) -> Plan:
    handle = self._h
    if handle.rank != check_root(handle, root):
        part = simple(sendbuf)
        how = _operator(op, part)
        return lambda start: handle.reduce(_sent(how, part), how, root, start), _into(how, None)
    part, room = _pair(sendbuf, recvbuf)
    how = _operator(op, part)
    return lambda start: handle.reduce(_sent(how, part), how, root, start), _into(how, room)


def _allreduce(self: Any, sendbuf: Any, recvbuf: Any, op: Op = SUM) -> Plan:
    handle, (part, room) = self._h, _pair(sendbuf, recvbuf)
    how = _operator(op, part)
    return lambda start: handle.allreduce(_sent(how, part), how, start), _into(how, room)


def _scan(self: Any, sendbuf: Any, recvbuf: Any, op: Op = SUM) -> Plan:
    handle, (part, room) = self._h, _pair(sendbuf, recvbuf)
    how = _operator(op, part)
    return lambda start: handle.scan(_sent(how, part), how, start), _into(how, room)


def _exscan(self: Any, sendbuf: Any, recvbuf: Any, op: Op = SUM) -> Plan:
    handle, (part, room) = self._h, _pair(sendbuf, recvbuf)
    how = _operator(op, part)
    return lambda start: handle.exscan(_sent(how, part), how, start), _into(how, room)


def _scattered(self: Any, part: Part, counts: Sequence[int], room: Part, op: Op) -> Plan:
    handle, how = self._h, _operator(op, part)
    firsts = [sum(counts[:number]) for number in range(len(counts))]
    parts = [part.cut(first, count) for first, count in zip(firsts, counts, strict=True)]

    def call(start: bool) -> Any:
        return handle.reduce_scatter([_sent(how, one) for one in parts], how, start)

    return call, _into(how, room)


def _reduce_scatter_block(self: Any, sendbuf: Any, recvbuf: Any, op: Op = SUM) -> Plan:
    size = self._h.size
    if _is_in_place(sendbuf):
        room = simple(recvbuf, size)
        whole = room.cut(0, room.count)
        whole = Part(room.mem, room.offset, room.count * size, room.datatype)
        return _scattered(self, whole, [room.count] * size, room, op)
    part, room = simple(sendbuf, size), simple(recvbuf)
    if part.count != room.count:
        raise ValueError(f"message: {part.count} items for each rank, with room for {room.count}")
    whole = Part(part.mem, part.offset, part.count * size, part.datatype)
    return _scattered(self, whole, [part.count] * size, room, op)


def _reduce_scatter(
    self: Any,
    sendbuf: Any,
    recvbuf: Any,
    recvcounts: Sequence[int] | None = None,
    op: Op = SUM,
) -> Plan:
    handle = self._h
    size, rank, room = handle.size, handle.rank, simple(recvbuf)
    part = room if _is_in_place(sendbuf) else simple(sendbuf)
    if recvcounts is not None:
        counts = [index(count) for count in recvcounts]
        if len(counts) != size:
            raise ValueError(f"message: {size} counts are expected, not {len(counts)}")
    elif _is_in_place(sendbuf):
        counts = [part.count // size + (part.count % size > n) for n in range(size)]
    else:
        own = room.count.to_bytes(8, "little")
        counts = [int.from_bytes(one, "little") for one in handle.allgather(own)]
    if sum(counts) != part.count:
        raise ValueError(f"message: the counts {counts} do not add up to {part.count} items")
    if counts[rank] > room.count:
        fail("ERR_TRUNCATE", f"{counts[rank]} items do not fit {room.count}")
    return _scattered(self, part, counts, room, op)


# The operators that Rust knows for arrays where they are.
_USUAL = {SUM: "sum", PROD: "prod", MAX: "max", MIN: "min"}


class Collectives:
    """The collectives of a communicator for buffers."""

    _h: Any

    Barrier, Ibarrier, Barrier_init = forms(_barrier, "wait for all ranks.")
    Bcast, Ibcast, Bcast_init = forms(_bcast, "fill the buffers of all ranks with that of `root`.")
    Gather, Igather, Gather_init = forms(_gather, "give `root` the items of all ranks.")
    Gatherv, Igatherv, Gatherv_init = forms(
        _gatherv, "give `root` the items of all ranks, of different lengths."
    )
    Scatter, Iscatter, Scatter_init = forms(_scatter, "give each rank its items of `root`'s.")
    Scatterv, Iscatterv, Scatterv_init = forms(
        _scatterv, "give each rank its items of `root`'s, of different lengths."
    )
    Allgather, Iallgather, Allgather_init = forms(_allgather, "give every rank the items of all.")
    Allgatherv, Iallgatherv, Allgatherv_init = forms(
        _allgatherv, "give every rank the items of all, of different lengths."
    )
    Alltoall, Ialltoall, Alltoall_init = forms(_alltoall, "give each rank items of each.")
    Alltoallv, Ialltoallv, Alltoallv_init = forms(
        _alltoallv, "give each rank items of each, of different lengths."
    )
    Alltoallw, Ialltoallw, Alltoallw_init = forms(
        _alltoallw, "give each rank items of each, of different datatypes."
    )
    Reduce, Ireduce, Reduce_init = forms(
        _reduce, "combine the items of all ranks, place by place, on `root`."
    )
    _allreduce, Iallreduce, Allreduce_init = forms(
        _allreduce, "combine the items of all ranks, place by place, on every rank."
    )

    def Allreduce(self, sendbuf: Any, recvbuf: Any, op: Op = SUM) -> None:
        """Combine the items of all ranks, place by place, on every rank."""
        # Arrays of the usual numbers are used where they are. It is the same call of Rust.
        usual = type(sendbuf) is ndarray and type(recvbuf) is ndarray
        name = _USUAL.get(op) if usual else None
        if name is None or not self._h.allreduce_array(sendbuf, recvbuf, name):
            self._allreduce(sendbuf, recvbuf, op)

    Reduce_scatter_block, Ireduce_scatter_block, Reduce_scatter_block_init = forms(
        _reduce_scatter_block, "combine the items of all ranks, and give each rank a part."
    )
    Reduce_scatter, Ireduce_scatter, Reduce_scatter_init = forms(
        _reduce_scatter, "combine the items of all ranks, and give each rank its part."
    )
    Scan, Iscan, Scan_init = forms(_scan, "combine the items of the ranks up to this one.")
    Exscan, Iexscan, Exscan_init = forms(_exscan, "combine the items of the ranks before this one.")
