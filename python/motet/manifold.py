"""Places in a few dimensions for rows of which the distances are known."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from typing import Any

import numpy

from motet import _motet
from motet._base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from motet._callbacks import told
from motet._input import checked, distances, square, wide
from motet._parameters import check
from motet._shown import Shown
from motet._watched import Watched

__all__ = ["AnnealedMDS"]

_TRACE = numpy.dtype([("temperature", "f8"), ("stress", "f8"), ("iterations", "i8")])


class AnnealedMDS(Shown, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Multidimensional scaling: places whose distances are those of the pairs.

    The stress is the sum of the squared differences of both. At a high temperature only the large
    distances count; as it falls the others come in, so that the result hangs less on the start.
    No random number enters.

    Parameters
    ----------
    n_components : int, default=2
        The number of dimensions of the places.
    metric : {'euclidean', 'precomputed'}, default='euclidean'
        'precomputed': `X` is the square matrix of distances; of `D[i, j]` and `D[j, i]` the mean
        counts. 'euclidean': the distances of the rows of `X`.
    method : {'annealed', 'majorised', 'classical'}, default='annealed'
        'majorised' stays at temperature zero, from the places of 'classical', which has no steps.
    cooling : float, default=0.9
        The factor from one temperature to the next, at least 0.1 and below 1.
    tol : float, default=1e-6
        A temperature ends when a step lowers the stress by less than this share of it.
    max_iter : int, default=300
        The most steps of a temperature.
    n_jobs, callback, verbose, profile, checkpoint, checkpoint_every :
        As those of :class:`motet.cluster.DeterministicAnnealing`.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        The places; their mean is zero.
    stress_, relative_stress_ : float
        The stress, and its share of the sum of the squared distances.
    eigenvalues_ : ndarray
        The leading ones of the classical start.
    n_iter_ : int
        Steps of all temperatures.
    trace_ : structured ndarray
        `temperature`, `stress`, `iterations` of each temperature.
    profile_, n_features_in_, feature_names_in_ :
        As those of :class:`motet.cluster.DeterministicAnnealing`.

    Examples
    --------
    >>> import numpy
    >>> from motet.manifold import AnnealedMDS
    >>> corners = numpy.array([[0.0, 0, 5], [0, 1, 5], [1, 1, 5], [1, 0, 5]])
    >>> bool(AnnealedMDS().fit(corners).stress_ < 1e-6)
    True
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        metric: str = "euclidean",
        method: str = "annealed",
        cooling: float = 0.9,
        tol: float = 1e-6,
        max_iter: int = 300,
        n_jobs: int | None = None,
        callback: Callable[[dict[str, Any]], Any] | None = None,
        verbose: int = 0,
        profile: bool = False,
        checkpoint: str | PathLike[str] | None = None,
        checkpoint_every: float = 10.0,
    ) -> None:
        self.n_components = n_components
        self.metric = metric
        self.method = method
        self.cooling = cooling
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.callback = callback
        self.verbose = verbose
        self.profile = profile
        self.checkpoint = checkpoint
        self.checkpoint_every = checkpoint_every

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.metric == "precomputed"
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @told
    def fit(self, X: Any, y: Any = None) -> AnnealedMDS:
        """Find places for the rows of `X`, which is a matrix of distances or of rows."""
        check(
            self,
            words={
                "metric": ("euclidean", "precomputed"),
                "method": ("annealed", "majorised", "classical"),
            },
            ranges={"tol": ("at least 0 and below 1", lambda x: 0 <= x < 1)},
        )
        X = checked(self, X, reset=True)
        if len(X) < 2:
            raise ValueError(f"n_samples={len(X)}: distances need at least two rows")
        if self.n_components > len(X):
            raise ValueError(
                f"n_components={self.n_components} should be <= n_samples={len(X)}: so many rows "
                "lie in fewer dimensions"
            )
        pairs = square(wide(X)) if self.metric == "precomputed" else distances(wide(X))
        with Watched(self) as watched:
            found = _motet.scale(
                pairs,
                self.n_components,
                self.method,
                self.cooling,
                self.tol,
                self.max_iter,
                watched,
            )
        self.embedding_ = found.places.astype(X.dtype, copy=False)
        self._n_features_out = self.embedding_.shape[1]
        self.stress_, self.relative_stress_ = found.stress
        self.eigenvalues_ = found.eigenvalues
        self.trace_ = numpy.array(found.trace, dtype=_TRACE)
        self.n_iter_ = max(1, int(self.trace_["iterations"].sum()))
        return self

    def fit_transform(self, X: Any, y: Any = None) -> numpy.ndarray:
        """Find places, and give them."""
        return self.fit(X).embedding_

    def _results(self) -> Any:
        if not hasattr(self, "embedding_"):
            return None
        head = ("places", "stress", "share of the squares", "steps")
        row = (
            f"{len(self.embedding_):,}",
            f"{self.stress_:.6g}",
            f"{self.relative_stress_:.3g}",
            self.n_iter_,
        )
        return head, [row], f"{self.method} in {self.embedding_.shape[1]} dimensions"
