"""How many clusters there are, when the data are asked; public as `motet.cluster.Choice`."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Choice", "choice", "most"]


class Choice(NamedTuple):
    """Why there are so many clusters.

    Clusters appear while the temperature falls. A number of clusters lasts from the temperature at
    which so many are first there to the one at which the next appears. The number that lasts over
    the largest factor is chosen, the first of equals. If none lasts over a factor of 3, it is 1.
    """

    clusters: int
    """The number of clusters."""

    lasts: float
    """The factor of the temperature over which it lasts; 1 if there is one cluster."""

    appear: tuple[float, ...]
    """The temperatures at which two clusters are first there, then three, and so on."""


def choice(clusters: int, reason: tuple[float, list[float]] | None) -> Choice | None:
    """Give the choice of a fit, if it made one."""
    if reason is None:
        return None
    lasts, appear = reason
    return Choice(clusters, lasts, tuple(appear))


def most(max_clusters: int | None, t_min: float | None) -> int:
    """Give the most clusters that may be found: those of the program, unless said."""
    if max_clusters is not None:
        return max_clusters
    return 20 if t_min is None else 100
