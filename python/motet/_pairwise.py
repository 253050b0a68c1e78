"""Clustering by the dissimilarities of pairs; public as `motet.cluster.PairwiseAnnealing`."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from os import PathLike
from typing import Any

import numpy

from motet import _motet
from motet._base import TRACE, BaseEstimator, ClusterMixin, ConvergenceWarning
from motet._callbacks import told
from motet._choice import choice, most
from motet._input import checked, square, squares, weights, wide
from motet._parameters import check, of_rows
from motet._shown import Shown
from motet._watched import Watched


class PairwiseAnnealing(Shown, ClusterMixin, BaseEstimator):
    """Clusters of rows of which only the dissimilarities of pairs are known, by annealing.

    No coordinates are needed, and the dissimilarities need not be metric. No random number enters.

    Parameters
    ----------
    n_clusters : int or None, default=8
        How many clusters. `None`: as many as there are at `t_min`; without that, as many as the
        pairs speak for: `choice_` says why.
    metric : {'sqeuclidean', 'precomputed'}, default='sqeuclidean'
        'precomputed': `X` is the square matrix of dissimilarities; of `D[i, j]` and `D[j, i]` the
        mean counts. 'sqeuclidean': the squared distances of the rows of `X`.
    t_min : float, optional
        The temperature at which splitting stops, in the units of the dissimilarities.
    max_clusters : int, optional
        The most clusters that are found without `n_clusters`: 100 with `t_min`, else 20. To choose
        among many takes long.
    cooling : float, default=0.9
        The factor from one temperature to the next, at least 0.1 and below 1.
    n_jobs, callback, verbose, profile, checkpoint, checkpoint_every :
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
    trace_, choice_, profile_, n_features_in_, feature_names_in_ :
        As those of :class:`motet.cluster.DeterministicAnnealing`.

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
        max_clusters: int | None = None,
        cooling: float = 0.9,
        n_jobs: int | None = None,
        callback: Callable[[dict[str, Any]], Any] | None = None,
        verbose: int = 0,
        profile: bool = False,
        checkpoint: str | PathLike[str] | None = None,
        checkpoint_every: float = 10.0,
    ) -> None:
        self.n_clusters = n_clusters
        self.metric = metric
        self.t_min = t_min
        self.max_clusters = max_clusters
        self.cooling = cooling
        self.n_jobs = n_jobs
        self.callback = callback
        self.verbose = verbose
        self.profile = profile
        self.checkpoint = checkpoint
        self.checkpoint_every = checkpoint_every

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.metric == "precomputed"
        return tags

    @told
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> PairwiseAnnealing:
        """Cluster the rows of `X`, which is a matrix of dissimilarities or of rows."""
        check(
            self,
            or_else={"n_clusters": None},
            words={"metric": ("sqeuclidean", "precomputed")},
            ranges={"t_min": ("0 or more, and finite", lambda x: 0 <= x < math.inf)},
        )
        X = checked(self, X, reset=True)
        pairs = self._pairs(wide(X))
        sample_weight = weights(sample_weight, X)
        clusters = None
        if self.n_clusters is not None:
            clusters = of_rows("n_clusters", self.n_clusters, X)
        with Watched(self) as watched:
            found, reason = _motet.anneal_pairs(
                pairs,
                sample_weight,
                clusters,
                self.t_min,
                most(self.max_clusters, self.t_min),
                self.cooling,
                watched,
            )
        if clusters is not None and len(found.sizes) < clusters:
            warnings.warn(
                f"there are {len(found.sizes)} clusters, fewer than n_clusters={clusters}: the "
                "dissimilarities tell no more of them apart",
                ConvergenceWarning,
                stacklevel=2,
            )
        self.choice_ = choice(len(found.sizes), reason)
        self._found = found
        self.labels_ = found.labels
        self.medoid_indices_ = numpy.asarray(found.medoids)
        self.sizes_ = numpy.asarray(found.sizes)
        self.masses_ = found.masses
        self.mean_costs_ = found.mean_costs
        self.cost_ = found.cost
        self.trace_ = numpy.frombuffer(found.trace, TRACE).copy()
        self.n_iter_ = max(1, int(self.trace_["iterations"].sum()))
        return self

    def _pairs(self, X: numpy.ndarray) -> numpy.ndarray:
        if self.metric == "precomputed":
            return square(X)
        with numpy.errstate(over="ignore"):
            pairs = squares(X)
        if not math.isfinite(pairs.max()):
            raise ValueError("X has squared distances beyond all numbers: divide it by a large one")
        return pairs

    def _results(self) -> Any:
        if not hasattr(self, "labels_"):
            return None
        columns = zip(self.sizes_, self.medoid_indices_, self.mean_costs_, strict=True)
        rows = [
            (place, f"{size:,}", medoid, f"{cost:.4g}")
            for place, (size, medoid, cost) in enumerate(columns)
        ]
        return ("cluster", "size", "medoid", "mean cost"), rows, f"cost {self.cost_:.6g}"
