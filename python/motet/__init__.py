"""Messages, ranks and data mining: one runtime for every way of being parallel.

| you have … | you want |
|---|---|
| points to cluster | :mod:`motet.cluster`: `DeterministicAnnealing`, `KMeans` |
| clusters that overlap, or have shapes | :mod:`motet.mixture`: `GaussianMixture` |
| sequences that hidden states show | :mod:`motet.hmm`: `GaussianHMM`, `CategoricalHMM` |
| pictures | :mod:`motet.plot` |

>>> import numpy
>>> from motet.cluster import DeterministicAnnealing
>>> points = numpy.repeat([[0.0, 0.0], [9.0, 1.0]], 50, axis=0)
>>> points += numpy.linspace(0.0, 0.1, 100)[:, None]
>>> found = DeterministicAnnealing(n_clusters=2).fit(points)
>>> found.sizes_.tolist()
[50, 50]
"""

from motet._motet import Cancelled, MotetError, Profile, __version__

__all__ = ["Cancelled", "MotetError", "Profile", "__version__"]
