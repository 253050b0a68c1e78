"""Clustering by the dissimilarities of pairs; public as `motet.cluster.PairwiseAnnealing`."""

from __future__ import annotations

import html
from collections.abc import Callable
from typing import Any

import numpy

from motet import _motet
from motet._base import (
    TRACE,
    BaseEstimator,
    ClusterMixin,
    Watched,
    checked,
    enough,
    ranks,
    square,
    squares,
    weights,
)


class PairwiseAnnealing(ClusterMixin, BaseEstimator):
    """Clusters of rows of which only the dissimilarities of pairs are known, by annealing.

    No coordinates are needed, and the dissimilarities need not be metric. No random number enters.

    Parameters
    ----------
    n_clusters : int or None, default=8
        How many clusters. `None`: as many as there are at `t_min`.
    metric : {'sqeuclidean', 'precomputed'}, default='sqeuclidean'
        'precomputed': `X` is the square matrix of dissimilarities; of `D[i, j]` and `D[j, i]` the
        mean counts. 'sqeuclidean': the squared distances of the rows of `X`.
    t_min : float, optional
        The temperature at which splitting stops, in the units of the dissimilarities.
    max_clusters : int, default=100
        The most clusters that are found without `n_clusters`.
    cooling : float, default=0.9
        The factor from one temperature to the next, at least 0.1 and below 1.
    n_jobs, callback, verbose :
        As those of :class:`motet.cluster.DeterministicAnnealing`.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        The cluster of each row; clusters are numbered by their first rows.
    medoid_indices_ : ndarray of shape (n_clusters,)
        Of each cluster the row with the least mean dissimilarity to its members.
    sizes_, masses_, mean_costs_ : ndarray of shape (n_clusters,)
        Rows, share of the weight, and half the mean dissimilarity of the pairs.
    cost_ : float
        The mean of `mean_costs_` by mass.
    n_iter_ : int
        Steps of all temperatures.
    trace_ : structured ndarray
        As that of :class:`motet.cluster.DeterministicAnnealing`.

    Examples
    --------
    >>> import numpy
    >>> from motet.cluster import PairwiseAnnealing
    >>> at = numpy.array([0.0, 1, 10, 11, 12])
    >>> pairs = (at[:, None] - at) ** 2
    >>> found = PairwiseAnnealing(2, metric="precomputed").fit(pairs)
    >>> found.labels_, found.medoid_indices_
    (array([0, 0, 1, 1, 1], dtype=int32), array([0, 3]))
    """

    def __init__(
        self,
        n_clusters: int | None = 8,
        *,
        metric: str = "sqeuclidean",
        t_min: float | None = None,
        max_clusters: int = 100,
        cooling: float = 0.9,
        n_jobs: int | None = None,
        callback: Callable[[dict[str, Any]], Any] | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.metric = metric
        self.t_min = t_min
        self.max_clusters = max_clusters
        self.cooling = cooling
        self.n_jobs = n_jobs
        self.callback = callback
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.metric == "precomputed"
        return tags

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> PairwiseAnnealing:
        """Cluster the rows of `X`, which is a matrix of dissimilarities or of rows."""
        X = checked(self, X, reset=True)
        if self.metric not in ("precomputed", "sqeuclidean"):
            raise ValueError(
                f"metric is {self.metric!r}: it must be 'sqeuclidean' or 'precomputed'"
            )
        pairs = square(X) if self.metric == "precomputed" else squares(X)
        sample_weight = weights(sample_weight, X)
        clusters = None if self.n_clusters is None else enough(self.n_clusters, X)
        with Watched(self.callback, self.verbose, type(self).__name__) as hear:
            found = _motet.anneal_pairs(
                pairs,
                sample_weight,
                clusters,
                self.t_min,
                self.max_clusters,
                self.cooling,
                ranks(self.n_jobs),
                hear,
            )
        self._found = found
        self.labels_ = found.labels
        self.medoid_indices_ = numpy.asarray(found.medoids)
        self.sizes_ = numpy.asarray(found.sizes)
        self.masses_ = found.masses
        self.mean_costs_ = found.mean_costs
        self.cost_ = found.cost
        self.trace_ = numpy.array(found.trace, dtype=TRACE)
        self.n_iter_ = max(1, int(self.trace_["iterations"].sum()))
        return self

    def _repr_html_(self) -> str:
        if not hasattr(self, "labels_"):
            return f"<pre>{html.escape(repr(self))}</pre>"
        rows = zip(self.sizes_, self.medoid_indices_, self.mean_costs_, strict=True)
        body = "".join(
            f"<tr><td>{place}</td><td>{size:,}</td><td>{medoid}</td><td>{cost:.4g}</td></tr>"
            for place, (size, medoid, cost) in enumerate(rows)
        )
        head = "<tr><th>cluster</th><th>size</th><th>medoid</th><th>mean cost</th></tr>"
        return (
            f"<pre>{html.escape(repr(self))}</pre>"
            f"<table>{head}{body}</table><p>cost {self.cost_:.6g}</p>"
        )
