"""Clustering: annealing without random numbers, and K-means.

Results have the same bits for any `n_jobs`, and those of the Rust library and the program `motet`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from os import PathLike
from typing import Any

import numpy

from motet import _motet
from motet._base import (
    TRACE,
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    ConvergenceWarning,
    TransformerMixin,
    fitted,
)
from motet._callbacks import told
from motet._choice import Choice, choice, most
from motet._input import centres, checked, weights, wide
from motet._pairwise import PairwiseAnnealing
from motet._parameters import check, of_rows, seed
from motet._places import Places
from motet._shown import Shown, span
from motet._watched import Watched

__all__ = ["Choice", "DeterministicAnnealing", "KMeans", "PairwiseAnnealing"]


class _Clusters(
    Shown, ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator
):
    """What both methods have: centres, and the rows that are nearest to them."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _keep(self, X: numpy.ndarray, found: Any) -> Any:
        self._found = found
        self.labels_ = found.labels
        self.cluster_centers_ = found.centers.astype(X.dtype, copy=False)
        self.inertia_ = found.inertia
        self.sizes_ = numpy.asarray(found.sizes)
        self.masses_ = found.masses
        self.spread_ = found.spread
        self.n_iter_ = max(1, round(found.work / len(self.cluster_centers_)))
        return self

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)

    def _nearest(self) -> Any:
        """What predicts: what the fit has found, or centres that were set by hand since."""
        fitted(self, "cluster_centers_")
        given, found = self.cluster_centers_, getattr(self, "_found", None)
        if type(given) is numpy.ndarray and found is not None:
            own = found.centers.astype(given.dtype, copy=False)
            if given.shape == own.shape and given.tobytes() == own.tobytes():
                return found
        return Places(given)

    def predict(self, X: Any) -> numpy.ndarray:
        """Give the nearest centre of each row; rows of the fit get their `labels_`."""
        return self._nearest().predict(wide(checked(self, X, reset=False)))

    def transform(self, X: Any) -> numpy.ndarray:
        """Give the distance of each row from each centre."""
        nearest = self._nearest()
        X = checked(self, X, reset=False)
        return nearest.transform(wide(X)).astype(X.dtype, copy=False)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Give minus the weighted sum of the squared distances from the nearest centres."""
        nearest = self._nearest()
        X = checked(self, X, reset=False)
        square = nearest.transform(wide(X)).min(axis=1) ** 2
        sample_weight = weights(sample_weight, X)
        return -float((square if sample_weight is None else square * sample_weight).sum())

    def _results(self) -> Any:
        if not hasattr(self, "sizes_") or len(self.sizes_) != len(self.cluster_centers_):
            return None
        columns = zip(self.sizes_, self.spread_, self.cluster_centers_, strict=True)
        rows = [
            (place, f"{size:,}", f"{spread:.4g}", span(centre))
            for place, (size, spread, centre) in enumerate(columns)
        ]
        return ("cluster", "size", "spread", "centre"), rows, f"inertia {self.inertia_:.6g}"


_THEN = "there will be {} clusters"


def _with_fewer(
    run: Callable[[int], Any], clusters: int, name: str = "n_clusters", then: str = _THEN
) -> Any:
    """Run a fit; where there are fewer different rows than clusters, with as many as there are."""
    try:
        return run(clusters)
    except _motet.FewDistinct as error:
        distinct = error.distinct
        warnings.warn(
            f"there are {distinct} different rows, fewer than {name}={clusters}: "
            f"{then.format(distinct)}",
            ConvergenceWarning,
            stacklevel=3,
        )
        return run(distinct)


class DeterministicAnnealing(_Clusters):
    """Clusters that appear one after the other while a temperature falls.

    No random number enters: the result is a function of the rows and the parameters. A search at
    temperature zero then improves the solution where it can.

    Parameters
    ----------
    n_clusters : int or None, default=8
        How many clusters. `None`: as many as there are at `t_min`; without that, as many as the
        rows speak for: `choice_` says why.
    t_min : float, optional
        The temperature at which splitting stops, in the units of the data squared. A cluster stays
        whole if its largest variance along a line is below half of it.
    max_clusters : int, optional
        The most clusters that are found without `n_clusters`: 100 with `t_min`, else 20. To choose
        among many takes long.
    cooling : float, default=0.9
        The factor from one temperature to the next, at least 0.1 and below 1.
    search : int, default=50
        Attempts in a row that may fail before the search at temperature zero ends; 0 leaves it out.
    n_jobs : int, optional
        Ranks that share the work; they change no bit. -1: all cores.
    callback : callable, optional
        Called with a dictionary (`temperature`, `clusters`, `target`, `free_energy`, `done`)
        after each temperature. `False` stops the fit with :class:`motet.Cancelled`; what it raises
        stops it, too.
    verbose : int, default=0
        1 shows a bar, if tqdm is there.
    profile : bool, default=False
        Tell where the time went: see `profile_`.
    checkpoint : path, optional
        A folder in which the fit keeps what it has done. After a kill the same fit goes on from
        there, to the same bits, for any `n_jobs`. What is kept of other rows or parameters raises
        :class:`motet.MotetError`. It goes when the fit ends. Each fit needs a folder of its own.
    checkpoint_every : float, default=10.0
        The seconds between two checkpoints; 0 keeps each step.

    Attributes
    ----------
    labels_, cluster_centers_, inertia_ :
        As those of scikit-learn's KMeans. Centres are in ascending order of their first column.
    n_iter_ : int
        Passes over the rows, of all runs together.
    sizes_, masses_, spread_ : ndarray of shape (n_clusters,)
        Rows, share of the weight, and root of the mean squared distance from the centre.
    trace_ : structured ndarray
        `temperature`, `free_energy`, `clusters`, `iterations` of each temperature.
    choice_ : Choice or None
        Why there are so many clusters, if their number was chosen.
    profile_ : Profile
        Seconds of computing, messaging and waiting of each rank, with `profile`. Printed, it shows
        the stages and the overhead.
    n_features_in_, feature_names_in_ :
        The columns of the fit, and their names if all are strings.

    Notes
    -----
    `X` is an array, a list, or a frame of pandas, polars or pyarrow, without missing values.

    Examples
    --------
    >>> import numpy
    >>> from motet.cluster import DeterministicAnnealing
    >>> X = numpy.array([[1.0, 2], [1, 4], [1, 0], [10, 2], [10, 4], [10, 0]])
    >>> found = DeterministicAnnealing(n_clusters=2).fit(X)
    >>> found.labels_
    array([0, 0, 0, 1, 1, 1], dtype=int32)
    >>> found.predict([[0.0, 0.0], [12.0, 3.0]])
    array([0, 1], dtype=int32)

    Without a number the rows are asked for it:

    >>> X = numpy.repeat([0.0, 50.0, 100.0], 20) + numpy.tile([-0.1, 0.1], 30)
    >>> DeterministicAnnealing(None).fit(X.reshape(-1, 1)).choice_.clusters
    3
    """

    def __init__(
        self,
        n_clusters: int | None = 8,
        *,
        t_min: float | None = None,
        max_clusters: int | None = None,
        cooling: float = 0.9,
        search: int = 50,
        n_jobs: int | None = None,
        callback: Callable[[dict[str, Any]], Any] | None = None,
        verbose: int = 0,
        profile: bool = False,
        checkpoint: str | PathLike[str] | None = None,
        checkpoint_every: float = 10.0,
    ) -> None:
        self.n_clusters = n_clusters
        self.t_min = t_min
        self.max_clusters = max_clusters
        self.cooling = cooling
        self.search = search
        self.n_jobs = n_jobs
        self.callback = callback
        self.verbose = verbose
        self.profile = profile
        self.checkpoint = checkpoint
        self.checkpoint_every = checkpoint_every

    # What the number of clusters is called, and what there is if the rows have fewer.
    _asked, _then = "n_clusters", _THEN

    @told
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> DeterministicAnnealing:
        """Cluster the rows of `X`."""
        check(self, or_else={"n_clusters": None})
        X = checked(self, X, reset=True)
        sample_weight = weights(sample_weight, X)

        def run(clusters: int | None) -> Any:
            with Watched(self) as watched:
                return _motet.anneal(
                    wide(X),
                    sample_weight,
                    clusters,
                    self.t_min,
                    most(self.max_clusters, self.t_min),
                    self.cooling,
                    self.search,
                    watched,
                )

        if self.n_clusters is None:
            found, reason = run(None)
        else:
            clusters = of_rows(self._asked, self.n_clusters, X)
            found, reason = _with_fewer(run, clusters, self._asked, self._then)
        self.choice_ = choice(len(found.sizes), reason)
        self.trace_ = numpy.frombuffer(found.trace, TRACE).copy()
        return self._keep(X, found)


# How K-means chooses its first centres, where it is not given them.
_INIT: dict[str, tuple[str, ...]] = {"init": ("k-means++", "random")}


class KMeans(_Clusters):
    """K-means: Lloyd's iteration from random starts, the best of some.

    Parameters
    ----------
    n_clusters : int, default=8
        How many clusters.
    init : {'k-means++', 'random'} or array of shape (n_clusters, n_features), default='k-means++'
        How the first centres are chosen, or where they are. 'k-means++' draws 2 + log(n_clusters)
        points for each centre but the first, and takes the best of them.
    n_init : int or 'auto', default='auto'
        Runs; the one of least inertia counts. 'auto': 1 with 'k-means++', 10 with 'random'. From
        an array there is one run: all would be the same.
    max_iter : int, default=300
        The most iterations of a run. One that has made so many ends where it is.
    tol : float, default=1e-4
        A run ends when no coordinate of a centre moves by more than this, in units of the largest
        half-width of the data. 0: at the fixed point.
    random_state : int, RandomState, Generator, numpy.random or None, default=None
        Where the random numbers come from. `None`: 0, so that a run repeats.
    n_jobs, callback, verbose, profile, checkpoint, checkpoint_every :
        As those of :class:`DeterministicAnnealing`.

    Attributes
    ----------
    labels_, cluster_centers_, inertia_, sizes_, masses_, spread_, profile_ :
        As those of :class:`DeterministicAnnealing`.
    n_iter_ : int
        Iterations of the run that counts.
    n_features_in_, feature_names_in_ :
        The columns of the fit, and their names if all are strings.

    Examples
    --------
    >>> import numpy
    >>> from motet.cluster import KMeans
    >>> X = numpy.array([[1.0, 2], [1, 4], [1, 0], [10, 2], [10, 4], [10, 0]])
    >>> KMeans(n_clusters=2).fit(X).cluster_centers_
    array([[ 1.,  2.],
           [10.,  2.]])
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        init: Any = "k-means++",
        n_init: int | str = "auto",
        max_iter: int = 300,
        tol: float = 1e-4,
        random_state: Any = None,
        n_jobs: int | None = None,
        callback: Callable[[dict[str, Any]], Any] | None = None,
        verbose: int = 0,
        profile: bool = False,
        checkpoint: str | PathLike[str] | None = None,
        checkpoint_every: float = 10.0,
    ) -> None:
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.callback = callback
        self.verbose = verbose
        self.profile = profile
        self.checkpoint = checkpoint
        self.checkpoint_every = checkpoint_every

    @told
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> KMeans:
        """Cluster the rows of `X`."""
        given = not isinstance(self.init, str)
        check(self, or_else={"n_init": "auto"}, words=None if given else _INIT)
        X = checked(self, X, reset=True)
        clusters = of_rows("n_clusters", self.n_clusters, X)
        first = centres(self.init, clusters, X) if given else self.init == "k-means++"
        automatic = 10 if not given and self.init == "random" else 1
        starts = int(automatic if given or self.n_init == "auto" else self.n_init)
        sample_weight = weights(sample_weight, X)

        def run(clusters: int) -> Any:
            with Watched(self) as watched:
                return _motet.kmeans(
                    wide(X),
                    sample_weight,
                    clusters,
                    first[:clusters] if isinstance(first, numpy.ndarray) else first,
                    seed(self.random_state),
                    starts,
                    self.max_iter,
                    self.tol,
                    watched,
                )

        found = _with_fewer(run, clusters)
        self._keep(X, found)
        self.n_iter_ = found.iterations
        return self
