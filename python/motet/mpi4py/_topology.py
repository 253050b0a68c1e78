"""Communicators whose ranks have neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from motet import _motet
from motet.mpi4py import _constants as constants
from motet.mpi4py._comm import COMM_NULL, KINDS
from motet.mpi4py._errors import fail
from motet.mpi4py._intracomm import Intracomm
from motet.mpi4py._neighbours import NeighbourCollectives
from motet.mpi4py._pickled import pickle


def _rank(rank: int | None) -> int:
    return constants.PROC_NULL if rank is None else rank


class Topocomm(Intracomm, NeighbourCollectives):
    """A communicator with a topology."""

    _of_kinds: tuple[str, ...] = ("cart", "graph", "dist")

    @property
    def inoutedges(self) -> tuple[list[int], list[int]]:
        """The neighbours that this rank hears from, and those that it tells."""
        sources, destinations = self._h.neighbours()
        return [_rank(rank) for rank in sources], [_rank(rank) for rank in destinations]

    @property
    def inedges(self) -> list[int]:
        """The neighbours that this rank hears from."""
        return self.inoutedges[0]

    @property
    def outedges(self) -> list[int]:
        """The neighbours that this rank tells."""
        return self.inoutedges[1]

    @property
    def degrees(self) -> tuple[int, int]:
        """How many neighbours this rank hears from, and how many it tells."""
        heard, told = self.inoutedges
        return len(heard), len(told)

    @property
    def indegree(self) -> int:
        """How many neighbours this rank hears from."""
        return self.degrees[0]

    @property
    def outdegree(self) -> int:
        """How many neighbours this rank tells."""
        return self.degrees[1]

    def neighbor_allgather(self, sendobj: Any) -> list[Any]:
        """Give each neighbour an object, and get one from each."""
        data = pickle.dumps(sendobj)
        return self._exchanged([data] * self.outdegree)

    def neighbor_alltoall(self, sendobj: list[Any]) -> list[Any]:
        """Give each neighbour an object of its own, and get one from each."""
        degree = self.outdegree
        objects = [None] * degree if sendobj is None else list(sendobj)
        if len(objects) != degree:
            raise ValueError(f"expecting {degree} items, got {len(objects)}")
        return self._exchanged([pickle.dumps(one) for one in objects])

    def _exchanged(self, data: list[bytes]) -> list[Any]:
        given = self._h.neighbour_alltoall(data)
        return [None if one is None else pickle.loads(one) for one in given]


class Cartcomm(Topocomm):
    """A grid of ranks."""

    _of_kinds = ("cart",)

    def Get_dim(self) -> int:
        """Give the number of dimensions."""
        return len(self.dims)

    def Get_topo(self) -> tuple[list[int], list[bool], list[int]]:
        """Give the lengths of the dimensions, whether they are rings, and where this rank is."""
        dims, periods = self._h.grid()
        return dims, periods, self.coords

    def Get_cart_rank(self, coords: Sequence[int]) -> int:
        """Give the rank at a place."""
        at = list(coords)
        found = self._h.rank_at(at)
        if found is None:
            fail("ERR_ARG", f"{at} is not on the grid of {self.dims}")
        return found

    def Get_coords(self, rank: int) -> list[int]:
        """Give the place of a rank."""
        if not 0 <= rank < self.Get_size():
            fail("ERR_RANK", f"there is no rank {rank}")
        return self._h.coords(rank)

    def Shift(self, direction: int, disp: int) -> tuple[int, int]:
        """Give the ranks that this one hears from and tells, that far away."""
        if not 0 <= direction < self.Get_dim():
            fail("ERR_DIMS", f"there is no dimension {direction}")
        source, dest = self._h.shift(direction, disp)
        return _rank(source), _rank(dest)

    def Sub(self, remain_dims: Sequence[bool]) -> Any:
        """Make the part of the grid that keeps these dimensions."""
        made = self._made(self._h.sub([bool(keep) for keep in remain_dims]), "cart")
        return COMM_NULL if made is None else Cartcomm._of(made)

    dim = ndim = property(Get_dim, doc="The number of dimensions.")
    topo = property(Get_topo, doc="The dimensions, whether they are rings, and the own place.")

    @property
    def dims(self) -> list[int]:
        """The lengths of the dimensions."""
        return self._h.grid()[0]

    @property
    def periods(self) -> list[bool]:
        """Whether the dimensions are rings."""
        return self._h.grid()[1]

    @property
    def coords(self) -> list[int]:
        """Where this rank is."""
        return self._h.coords(self._h.rank)


class Graphcomm(Topocomm):
    """A graph of ranks that every rank knows."""

    _of_kinds = ("graph",)

    def _graph(self) -> tuple[list[int], list[int]]:
        return self._valid().topology

    def Get_dims(self) -> tuple[int, int]:
        """Give the number of ranks and of edges."""
        ends, edges = self._graph()
        return len(ends), len(edges)

    def Get_topo(self) -> tuple[list[int], list[int]]:
        """Give where the edges of each rank end, and the edges."""
        ends, edges = self._graph()
        return list(ends), list(edges)

    def Get_neighbors(self, rank: int) -> list[int]:
        """Give the neighbours of a rank."""
        ends, edges = self._graph()
        if not 0 <= rank < len(ends):
            fail("ERR_RANK", f"there is no rank {rank}")
        return edges[(ends[rank - 1] if rank else 0) : ends[rank]]

    def Get_neighbors_count(self, rank: int) -> int:
        """Give the number of neighbours of a rank."""
        return len(self.Get_neighbors(rank))

    dims = property(Get_dims, doc="The number of ranks and of edges.")
    topo = property(Get_topo, doc="Where the edges of each rank end, and the edges.")
    nnodes = property(lambda self: self.Get_dims()[0], doc="The number of ranks.")
    nedges = property(lambda self: self.Get_dims()[1], doc="The number of edges.")
    index = property(lambda self: self.Get_topo()[0], doc="Where the edges of each rank end.")
    edges = property(lambda self: self.Get_topo()[1], doc="The edges.")

    @property
    def neighbors(self) -> list[int]:
        """The neighbours of this rank."""
        return self.Get_neighbors(self.Get_rank())

    @property
    def nneighbors(self) -> int:
        """The number of neighbours of this rank."""
        return len(self.neighbors)


class Distgraphcomm(Topocomm):
    """A graph of ranks, each of which knows its own neighbours."""

    _of_kinds = ("dist",)

    def Get_dist_neighbors_count(self) -> tuple[int, int, bool]:
        """Give how many neighbours this rank hears from and tells; whether they have weights."""
        heard, told, weights = self._valid().topology
        return len(heard), len(told), weights != (None, None)

    def Get_dist_neighbors(self) -> tuple[list[int], list[int], Any]:
        """Give the neighbours that this rank hears from, those that it tells, and the weights."""
        heard, told, weights = self._valid().topology
        return list(heard), list(told), None if weights == (None, None) else weights


KINDS.update(cart=Cartcomm, graph=Graphcomm, dist=Distgraphcomm)


def Compute_dims(nnodes: int, dims: int | Sequence[int]) -> list[int]:
    """Cut a number of ranks into dimensions; 0 is a free one."""
    asked = [0] * int(dims) if isinstance(dims, (int, numpy.integer)) else list(dims)
    if any(length < 0 for length in asked):
        fail("ERR_DIMS", f"dims are {asked}")
    return _motet.dims_create(nnodes, asked)
