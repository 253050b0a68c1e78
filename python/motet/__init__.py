"""Messages, ranks and data mining: one runtime for every way of being parallel.

| you have … | you want |
|---|---|
| points to cluster | :mod:`motet.cluster`: `DeterministicAnnealing`, `KMeans` |
| clusters that overlap, or have shapes | :mod:`motet.mixture`: `GaussianMixture` |
| sequences that hidden states show | :mod:`motet.hmm`: `GaussianHMM`, `CategoricalHMM` |
| dissimilarities of pairs | :mod:`motet.cluster`: `PairwiseAnnealing`; :mod:`motet.manifold` |
| pictures | :mod:`motet.plot` |
| a program of ranks, or one for mpi4py | :mod:`motet.comm`, :mod:`motet.mpi4py` |
| messages and handlers, also under asyncio | :mod:`motet.ports` |
| services to call or to serve | :mod:`motet.service` |

>>> import numpy
>>> from motet.cluster import DeterministicAnnealing
>>> points = numpy.repeat([[0.0, 0.0], [9.0, 1.0]], 50, axis=0)
>>> points += numpy.linspace(0.0, 0.1, 100)[:, None]
>>> found = DeterministicAnnealing(n_clusters=2).fit(points)
>>> found.sizes_.tolist()
[50, 50]
"""

from __future__ import annotations

import importlib
from typing import Any

from motet._motet import Cancelled, MotetError, Profile, __version__

__all__ = ["Cancelled", "MotetError", "Profile", "__version__"]

_MODULES = (
    "cluster",
    "comm",
    "hmm",
    "manifold",
    "mixture",
    "mpi4py",
    "plot",
    "ports",
    "service",
)


def __getattr__(name: str) -> Any:
    # Late: who wants ports does not wait for scikit-learn.
    if name in _MODULES:
        return importlib.import_module(f"motet.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
