"""Groups: ordered sets of ranks of the world."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from motet import _motet
from motet.mpi4py import _constants as constants
from motet.mpi4py._errors import fail


class Group:
    """An ordered set of ranks. A rank's place in it is its rank in the group."""

    def __init__(self, group: Group | None = None) -> None:
        self._ranks: _motet.MpiGroup | None = None if group is None else group._ranks

    @classmethod
    def _of(cls, ranks: _motet.MpiGroup) -> Group:
        made = cls()
        made._ranks = ranks
        return made

    def _valid(self) -> _motet.MpiGroup:
        if self._ranks is None:
            fail("ERR_GROUP", "the group is null")
        return self._ranks

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Group):
            return NotImplemented
        if self._ranks is other._ranks:
            return True
        # There is one empty group.
        mine, theirs = self._ranks, other._ranks
        return mine is not None and theirs is not None and not mine.ranks and not theirs.ranks

    def __hash__(self) -> int:
        return id(self._ranks) if self._ranks is not None and self._ranks.ranks else 0

    def __bool__(self) -> bool:
        return self._ranks is not None

    def __repr__(self) -> str:
        return f"<Group {'null' if self._ranks is None else self._ranks.ranks}>"

    def __reduce__(self) -> Any:
        for name, group in (("GROUP_NULL", GROUP_NULL), ("GROUP_EMPTY", GROUP_EMPTY)):
            if self == group:
                return name if self is group else (Group, (group,))
        raise ValueError("a group is not pickled; send its ranks")

    def Get_size(self) -> int:
        """Give the number of ranks."""
        return len(self._valid().ranks)

    def Get_rank(self) -> int:
        """Give the place of the calling rank; `UNDEFINED` if it is not in the group."""
        ranks = self._valid().ranks
        own = _motet.MpiComm.world().rank
        return ranks.index(own) if own in ranks else constants.UNDEFINED

    size = property(Get_size, doc="The number of ranks.")
    rank = property(Get_rank, doc="The place of the calling rank.")

    def Translate_ranks(
        self, ranks: Sequence[int] | None = None, group: Group | None = None
    ) -> list[int]:
        """Give the places in another group, or the world, of ranks of this one."""
        own = self._valid()
        other = _motet.MpiComm.world().group() if group is None else group._valid()
        asked = range(len(own.ranks)) if ranks is None else ranks
        size = len(own.ranks)
        for rank in asked:
            if rank != constants.PROC_NULL and not 0 <= rank < size:
                fail("ERR_RANK", f"there is no rank {rank} in a group of {size}")
        found = own.translate([rank for rank in asked if rank >= 0], other)
        places = iter(constants.UNDEFINED if place is None else place for place in found)
        null = constants.PROC_NULL
        return [null if rank == null else next(places) for rank in asked]

    def Compare(self, group: Group) -> int:
        """Say whether two groups are the same, or hold the same ranks in another order."""
        own, other = self._valid(), group._valid()
        if own.is_same(other):
            return constants.IDENT
        return constants.SIMILAR if own.is_similar(other) else constants.UNEQUAL

    def Dup(self) -> Group:
        """Make a group of the same ranks."""
        return type(self)._of(self._valid().excl([]))

    @classmethod
    def Union(cls, group1: Group, group2: Group) -> Group:
        """Make a group of the ranks of both."""
        return cls._of(group1._valid().union(group2._valid()))

    @classmethod
    def Intersection(cls, group1: Group, group2: Group) -> Group:
        """Make a group of the ranks that are in both."""
        return cls._of(group1._valid().intersection(group2._valid()))

    Intersect = Intersection

    @classmethod
    def Difference(cls, group1: Group, group2: Group) -> Group:
        """Make a group of the ranks of the first that are not in the second."""
        return cls._of(group1._valid().difference(group2._valid()))

    def Incl(self, ranks: Sequence[int]) -> Group:
        """Make a group of these ranks, in this order."""
        return type(self)._of(self._valid().incl(self._checked(ranks)))

    def Excl(self, ranks: Sequence[int]) -> Group:
        """Make a group of all but these ranks."""
        return type(self)._of(self._valid().excl(self._checked(ranks)))

    def Range_incl(self, ranks: Sequence[tuple[int, int, int]]) -> Group:
        """Make a group of the ranks of ranges: first, last, step."""
        return self.Incl(_in_ranges(ranks))

    def Range_excl(self, ranks: Sequence[tuple[int, int, int]]) -> Group:
        """Make a group of all but the ranks of ranges: first, last, step."""
        return self.Excl(_in_ranges(ranks))

    def _checked(self, ranks: Sequence[int]) -> list[int]:
        size, asked = self.Get_size(), list(ranks)
        for rank in asked:
            if not 0 <= rank < size:
                fail("ERR_RANK", f"there is no rank {rank} in a group of {size}")
        if len(set(asked)) < len(asked):
            fail("ERR_RANK", f"a rank is named twice in {asked}")
        return asked

    def Free(self) -> None:
        """Give the handle up."""
        self._valid()
        self._ranks = None

    def free(self) -> None:
        """Give the handle up."""
        self._ranks = None


def _in_ranges(ranks: Sequence[tuple[int, int, int]]) -> list[int]:
    found: list[int] = []
    for first, last, step in ranks:
        if step == 0:
            fail("ERR_ARG", "the step of a range is 0")
        found.extend(range(first, last + (1 if step > 0 else -1), step))
    return found


GROUP_NULL = Group()
GROUP_EMPTY = Group._of(_motet.MpiGroup())
