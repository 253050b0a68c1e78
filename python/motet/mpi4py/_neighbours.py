"""Collectives of buffers among the neighbours of a topology."""

from __future__ import annotations

from typing import Any

from motet.mpi4py._collectives import Plan, cut, forms
from motet.mpi4py._messages import simple, vector, vector_w
from motet.mpi4py._parts import Part


def _neighbours(self: Any) -> tuple[list[Any], list[Any]]:
    return self._h.neighbours()


def _neighbour_exchange(handle: Any, sent: list[Part], parts: list[Part]) -> Plan:
    def call(start: bool) -> Any:
        return handle.neighbour_alltoall([part.pack() for part in sent], start)

    def use(given: Any) -> None:
        for part, data in zip(parts, given, strict=True):
            # Beyond the end of a grid there is nobody, and the room stays as it is.
            if data is not None:
                part.unpack(data)

    return call, use


def _neighbour_allgather(self: Any, sendbuf: Any, recvbuf: Any) -> Plan:
    sources, destinations = _neighbours(self)
    sent = [simple(sendbuf)] * len(destinations)
    return _neighbour_exchange(self._h, sent, cut(recvbuf, len(sources)))


def _neighbour_allgatherv(self: Any, sendbuf: Any, recvbuf: Any) -> Plan:
    sources, destinations = _neighbours(self)
    sent = [simple(sendbuf)] * len(destinations)
    return _neighbour_exchange(self._h, sent, vector(recvbuf, len(sources)))


def _neighbour_alltoalling(self: Any, sendbuf: Any, recvbuf: Any, cut: Any) -> Plan:
    sources, destinations = _neighbours(self)
    sent, parts = cut(sendbuf, len(destinations)), cut(recvbuf, len(sources))
    return _neighbour_exchange(self._h, sent, parts)


def _neighbour_alltoall(self: Any, sendbuf: Any, recvbuf: Any) -> Plan:
    return _neighbour_alltoalling(self, sendbuf, recvbuf, cut)


def _neighbour_alltoallv(self: Any, sendbuf: Any, recvbuf: Any) -> Plan:
    return _neighbour_alltoalling(self, sendbuf, recvbuf, vector)


def _neighbour_alltoallw(self: Any, sendbuf: Any, recvbuf: Any) -> Plan:
    return _neighbour_alltoalling(self, sendbuf, recvbuf, vector_w)


class NeighbourCollectives:
    """The collectives of a topology for buffers."""

    _h: Any

    Neighbor_allgather, Ineighbor_allgather, Neighbor_allgather_init = forms(
        _neighbour_allgather, "give each neighbour the same items."
    )
    Neighbor_allgatherv, Ineighbor_allgatherv, Neighbor_allgatherv_init = forms(
        _neighbour_allgatherv, "give each neighbour the same items, of different lengths."
    )
    Neighbor_alltoall, Ineighbor_alltoall, Neighbor_alltoall_init = forms(
        _neighbour_alltoall, "give each neighbour items of its own."
    )
    Neighbor_alltoallv, Ineighbor_alltoallv, Neighbor_alltoallv_init = forms(
        _neighbour_alltoallv, "give each neighbour items of its own, of different lengths."
    )
    Neighbor_alltoallw, Ineighbor_alltoallw, Neighbor_alltoallw_init = forms(
        _neighbour_alltoallw, "give each neighbour items of its own, of different datatypes."
    )
