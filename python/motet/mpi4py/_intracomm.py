"""Communicators of one group of ranks, and how grids and graphs are made of them."""

from __future__ import annotations

import threading
from collections.abc import Hashable, Iterable, Sequence
from operator import index as whole
from typing import Any, NoReturn

import numpy

from motet.mpi4py import _constants as constants
from motet.mpi4py import _handles
from motet.mpi4py._comm import COMM_NULL, KINDS, PREDEFINED, Comm
from motet.mpi4py._errors import fail, lacks, not_there
from motet.mpi4py._groups import Group
from motet.mpi4py._info import INFO_NULL, Info


class Intracomm(Comm):
    """A communicator of one group of ranks."""

    _of_kinds: tuple[str, ...] = ("intra", "cart", "graph", "dist")

    def Create_group(self, group: Group, tag: int = 0) -> NoReturn:
        """Not there."""
        raise lacks(
            "communicator that only its own ranks make", "all ranks of this one call Create"
        )

    @classmethod
    def Create_from_group(cls, *_: Any, **__: Any) -> NoReturn:
        """Not there."""
        raise lacks("communicator without a parent", "use Create of COMM_WORLD")

    def Create_intercomm(self, *_: Any, **__: Any) -> NoReturn:
        """Not there."""
        raise lacks("intercommunicators", "Split a communicator that holds both groups")

    def Spawn(self, *_: Any, **__: Any) -> NoReturn:
        """Not there."""
        raise lacks("processes started by a program", "start them by `motet run -m`")

    Spawn_multiple = Accept = Connect = Spawn

    def Create_cart(self, dims: Sequence[int], periods: Any = None, reorder: bool = False) -> Any:
        """Make a grid of ranks; `COMM_NULL` for the ranks beyond it. Ranks keep their numbers."""
        handle = self._h.cartesian(*_grid(dims, periods))
        made = self._made(handle, "cart")
        return COMM_NULL if made is None else KINDS["cart"]._of(made)

    def Create_graph(
        self, index: Sequence[int], edges: Sequence[int], reorder: bool = False
    ) -> Any:
        """Make a graph of ranks, which every rank gives as a whole."""
        index, edges = _ranks(index), _ranks(edges)
        # The first entry may be the 0 before the first rank.
        ends = index[1:] if index and index[0] == 0 and len(index) > 1 else index
        size, rank = self.Get_size(), self.Get_rank()
        if len(ends) > size:
            fail("ERR_ARG", f"a graph of {len(ends)} ranks does not fit {size}")
        if (ends[-1] if ends else 0) != len(edges):
            fail("ERR_ARG", f"the index ends at {ends[-1:]}: there are {len(edges)} edges")
        neighbours = _of_rank(ends, edges, rank) if rank < len(ends) else []
        # An edge is of the rank that names it; who is named hears nothing of it.
        sources = [r for r in range(len(ends)) for e in _of_rank(ends, edges, r) if e == rank]
        if sorted(sources) == sorted(neighbours):
            sources = neighbours
        own = self.Split(0 if rank < len(ends) else constants.UNDEFINED)
        if not own:
            return COMM_NULL
        made = self._made(own._h.graph(sources, neighbours), "graph", (ends, edges))
        own.Free()
        assert made is not None
        return KINDS["graph"]._of(made)

    def Create_dist_graph_adjacent(
        self,
        sources: Sequence[int] | None,
        destinations: Sequence[int] | None,
        sourceweights: Any = None,
        destweights: Any = None,
        info: Info = INFO_NULL,
        reorder: bool = False,
    ) -> Any:
        """Make a graph of ranks, of which each names its own neighbours."""
        heard, told = _ranks(sources), _ranks(destinations)
        weights = _weights(sourceweights, len(heard)), _weights(destweights, len(told))
        return self._dist_graph(heard, told, weights)

    def Create_dist_graph(
        self,
        sources: Sequence[int],
        degrees: int | Sequence[int],
        destinations: Sequence[int],
        weights: Any = None,
        info: Info = INFO_NULL,
        reorder: bool = False,
    ) -> Any:
        """Make a graph of ranks, of which any rank may name edges."""
        if isinstance(degrees, (int, numpy.integer)):
            counts = [int(degrees)] * len(sources)
        else:
            counts = [int(n) for n in degrees]
        if len(counts) != len(sources):
            raise ValueError(f"{len(counts)} degrees do not fit {len(sources)} sources")
        begins = [rank for rank, n in zip(sources, counts, strict=True) for _ in range(n)]
        if len(begins) != len(destinations):
            raise ValueError(f"{len(destinations)} destinations do not fit degrees {counts}")
        named = _weights(weights, len(begins))
        edges = [
            (begin, end, named[n] if named else None)
            for n, (begin, end) in enumerate(zip(_ranks(begins), _ranks(destinations), strict=True))
        ]
        rank, given = self.Get_rank(), self.allgather((edges, named is not None))
        every = [edge for part, _ in given for edge in part]
        weighted = any(has for _, has in given)
        heard = [edge for edge in every if edge[1] == rank]
        told = [edge for edge in every if edge[0] == rank]
        both = (
            ([edge[2] for edge in heard], [edge[2] for edge in told]) if weighted else (None, None)
        )
        return self._dist_graph([edge[0] for edge in heard], [edge[1] for edge in told], both)

    def _dist_graph(self, heard: list[int], told: list[int], weights: Any) -> Any:
        for rank in (*heard, *told):
            if not 0 <= rank < self.Get_size():
                fail("ERR_RANK", f"there is no rank {rank}")
        made = self._made(self._h.graph(heard, told), "dist", (heard, told, weights))
        assert made is not None
        return KINDS["dist"]._of(made)

    def Cart_map(self, dims: Sequence[int], periods: Any = None) -> int:
        """Give the rank that this one would have in a grid: the same."""
        size = 1
        for length in _grid(dims, periods)[0]:
            size *= length
        rank = self.Get_rank()
        return rank if rank < size else constants.UNDEFINED

    def Graph_map(self, index: Sequence[int], edges: Sequence[int]) -> int:
        """Give the rank that this one would have in a graph: the same."""
        ranks = len(index) - (len(index) > 1 and index[0] == 0)
        rank = self.Get_rank()
        return rank if rank < ranks else constants.UNDEFINED


def _grid(dims: Any, periods: Any) -> tuple[list[int], list[bool]]:
    is_one = isinstance(dims, (int, numpy.integer))
    lengths = [int(dims)] if is_one else [int(length) for length in dims]
    if any(length < 0 for length in lengths):
        fail("ERR_DIMS", f"dims are {lengths}")
    if periods is None:
        periods = False
    alike = isinstance(periods, (int, numpy.integer, numpy.bool_))
    rings = [periods] * len(lengths) if alike else list(periods)
    if len(rings) != len(lengths):
        raise ValueError(f"{len(rings)} periods do not fit {len(lengths)} dims")
    return lengths, [bool(ring) for ring in rings]


def _ranks(given: Iterable[int] | None) -> list[int]:
    """Give numbers of ranks as they are, whatever holds them; none of nothing."""
    return [] if given is None else [whole(rank) for rank in given]


def _of_rank(ends: Sequence[int], edges: Sequence[int], rank: int) -> list[int]:
    return list(edges[(ends[rank - 1] if rank else 0) : ends[rank]])


def _weights(weights: Any, count: int) -> list[int] | None:
    """Give the weights of edges; `None` when there are none."""
    if weights is None:
        return None
    if isinstance(weights, int):
        if weights == constants.UNWEIGHTED:
            return None
        if weights != constants.WEIGHTS_EMPTY or count:
            raise ValueError(f"WEIGHTS_EMPTY is given for {count} edges")
        return []
    listed = list(weights)
    if len(listed) != count:
        raise ValueError(f"{len(listed)} weights do not fit {count} edges")
    return listed


class Intercomm(Comm):
    """A communicator of two groups: motet has none."""

    _of_kinds: tuple[str, ...] = ("inter",)

    @classmethod
    def Create_from_groups(cls, *_: Any, **__: Any) -> NoReturn:
        """Not there."""
        raise lacks("intercommunicators", "Split a communicator that holds both groups")

    Get_remote_group = Get_remote_size = Merge = not_there(
        "intercommunicators", "Split a communicator that holds both groups"
    )
    remote_group = property(Get_remote_group, doc="Not there.")
    remote_size = property(Get_remote_size, doc="Not there.")


COMM_WORLD: Intracomm = Intracomm._of(_handles.WORLD)
COMM_SELF: Intracomm = Intracomm._of(_handles.SELF)
PREDEFINED.update(COMM_WORLD=COMM_WORLD, COMM_SELF=COMM_SELF)
KINDS.update(intra=Intracomm, inter=Intercomm)

# What libraries of mpi4py use.


def _comm_lock(comm: Comm, key: Hashable = None) -> threading.Lock:
    """Give a lock of a communicator."""
    return comm._valid().noted.locks.setdefault(key, threading.Lock())


def _comm_lock_table(comm: Comm) -> dict[Hashable, threading.Lock]:
    """Give the locks of a communicator."""
    return comm._valid().noted.locks


def _commctx_intra(comm: Comm) -> tuple[Comm, int]:
    """Give a communicator of the same ranks for messages of a library, and a tag."""
    own = comm._valid()
    noted = own.noted
    if noted.beside is None:
        noted.beside = Intracomm._of(own).Dup() if own.kind == "intra" else Intracomm(comm).Split()
    tag, noted.tag = noted.tag, noted.tag + 1
    return noted.beside, tag
