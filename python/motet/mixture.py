"""Mixtures of normal distributions."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from os import PathLike
from typing import Any

import numpy

from motet import _motet
from motet._base import BaseEstimator, ConvergenceWarning, DensityMixin, fitted
from motet._callbacks import told
from motet._input import checked, unmasked, wide
from motet._parameters import check, of_rows, randoms, seed, whole
from motet._shown import Shown, span
from motet._watched import Watched

__all__ = ["GaussianMixture"]


class GaussianMixture(Shown, DensityMixin, BaseEstimator):
    """A mixture of normal distributions, by expectation and maximisation.

    The first run starts from clusters of annealing, so that no random number enters; further runs
    start from K-means.

    Parameters
    ----------
    n_components : int, default=1
        The number of components.
    covariance_type : {'full', 'tied', 'diag', 'spherical'}, default='full'
        The shape of the covariances.
    tol : float, default=1e-3
        A run ends when the mean of ln p grows by less than this.
    reg_covar : float, default=1e-6
        What is added to each variance.
    max_iter : int, default=100
        The most steps of a run.
    n_init : int, default=1
        The number of runs; the one of the largest likelihood counts.
    random_state, n_jobs, callback, verbose, profile, checkpoint, checkpoint_every :
        As those of :class:`motet.cluster.KMeans`. With `None` a fit repeats, and `sample` does not.

    Attributes
    ----------
    weights_, means_, covariances_, precisions_, precisions_cholesky_ : ndarray
        As those of scikit-learn's GaussianMixture.
    converged_, n_iter_, lower_bound_ :
        As those of scikit-learn's GaussianMixture.
    labels_ : ndarray of shape (n_samples,)
        The most probable component of each row.
    trace_ : ndarray
        The mean of ln p before each step.
    profile_, n_features_in_, feature_names_in_ :
        As those of :class:`motet.cluster.KMeans`.

    Examples
    --------
    >>> import numpy
    >>> from motet.mixture import GaussianMixture
    >>> X = numpy.array([[1.0, 2], [1, 4], [1, 0], [10, 2], [10, 4], [10, 0]])
    >>> found = GaussianMixture(n_components=2).fit(X)
    >>> found.means_.round(6)
    array([[ 1.,  2.],
           [10.,  2.]])
    """

    def __init__(
        self,
        n_components: int = 1,
        *,
        covariance_type: str = "full",
        tol: float = 1e-3,
        reg_covar: float = 1e-6,
        max_iter: int = 100,
        n_init: int = 1,
        random_state: Any = None,
        n_jobs: int | None = None,
        callback: Callable[[dict[str, Any]], Any] | None = None,
        verbose: int = 0,
        profile: bool = False,
        checkpoint: str | PathLike[str] | None = None,
        checkpoint_every: float = 10.0,
    ) -> None:
        self.n_components = n_components
        self.covariance_type = covariance_type
        self.tol = tol
        self.reg_covar = reg_covar
        self.max_iter = max_iter
        self.n_init = n_init
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.callback = callback
        self.verbose = verbose
        self.profile = profile
        self.checkpoint = checkpoint
        self.checkpoint_every = checkpoint_every

    @told
    def fit(self, X: Any, y: Any = None) -> GaussianMixture:
        """Fit the mixture to the rows of `X`."""
        check(self, words={"covariance_type": ("full", "tied", "diag", "spherical")})
        X = wide(checked(self, X, reset=True))
        of_rows("n_components", self.n_components, X)
        found = self._found(X)
        shape = _shape(self.covariance_type, (self.n_components, X.shape[1]))
        # What was found stays of this kind, whatever the parameter is set to later.
        self._kind = self.covariance_type
        self.weights_ = found.weights
        self.means_ = found.means
        self.covariances_ = found.covariances.reshape(shape)
        self.labels_ = found.labels
        self.converged_ = found.converged
        self.trace_ = found.trace
        self.n_iter_ = len(found.trace)
        self.lower_bound_ = found.log_likelihood
        self._bic, self._aic = found.bic, found.aic
        inverses = _inverted(self._kind, self.means_.shape, self.covariances_)
        self._kept = self.covariances_.copy(), inverses
        if not self.converged_:
            warnings.warn(
                f"the mixture has not converged in max_iter={self.max_iter} steps: give it more, "
                "or a larger tol",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def _found(self, X: numpy.ndarray) -> Any:
        try:
            with Watched(self) as watched:
                return _motet.mixture(
                    X,
                    self.n_components,
                    self.covariance_type,
                    self.reg_covar,
                    self.tol,
                    self.max_iter,
                    self.n_init,
                    seed(self.random_state),
                    watched,
                )
        except _motet.FewDistinct as error:
            raise ValueError(
                f"there are {error.distinct} different rows, fewer than n_components="
                f"{self.n_components}: give n_components={error.distinct} or less"
            ) from None

    def _of_kind(self) -> str:
        """The kind of the covariances: without a fit, that of the parameter."""
        return getattr(self, "_kind", self.covariance_type)

    def _factors(self) -> numpy.ndarray:
        """What probabilities are computed by: see `_inverted`. Covariances may be set by hand."""
        fitted(self, "weights_", "means_", "covariances_")
        for name in ("weights_", "means_", "covariances_"):
            unmasked(name, getattr(self, name))
        _check_parts(self.weights_, self.means_)
        kept = getattr(self, "_kept", None)
        if kept is not None and numpy.array_equal(kept[0], self.covariances_):
            return kept[1]
        return _inverted(self._of_kind(), numpy.shape(self.means_), self.covariances_)

    @property
    def precisions_cholesky_(self) -> numpy.ndarray:
        """The roots of the precisions, in the shape of `covariances_`."""
        inverses, kind = self._factors(), self._of_kind()
        if kind == "full":
            return numpy.swapaxes(inverses, 1, 2).copy()
        if kind == "tied":
            return inverses[0].T.copy()
        return inverses.copy() if kind == "diag" else inverses[:, 0].copy()

    @property
    def precisions_(self) -> numpy.ndarray:
        """The inverses of the covariances, in the shape of `covariances_`."""
        roots = self.precisions_cholesky_
        if self._of_kind() in ("full", "tied"):
            return roots @ numpy.swapaxes(roots, -1, -2)
        return roots**2

    def sample(self, n_samples: int = 1) -> tuple[numpy.ndarray, numpy.ndarray]:
        """Draw rows from the mixture, by `random_state`: rows, and the component of each.

        Those of one component follow each other, as with scikit-learn. As there, `None` draws
        others each time: that a run repeats holds for the fit.
        """
        inverses, weights = self._factors(), numpy.asarray(self.weights_)
        n_samples = whole("n_samples", n_samples, 1)
        draws = randoms(self.random_state)
        counts = draws.multinomial(n_samples, weights / weights.sum())
        labels = numpy.repeat(numpy.arange(len(counts)), counts)
        rows = draws.standard_normal((n_samples, inverses.shape[-1]))
        parts = numpy.split(rows, numpy.cumsum(counts)[:-1])
        for own, mean, inverse in zip(parts, self.means_, inverses, strict=True):
            away = own / inverse if inverse.ndim == 1 else numpy.linalg.solve(inverse, own.T).T
            own[:] = mean + away
        return rows, labels

    def _log_joint(self, X: Any) -> numpy.ndarray:
        inverses, means = self._factors(), numpy.asarray(self.means_)
        X = wide(checked(self, X, reset=False))
        if X.shape[1] != means.shape[1]:
            raise ValueError(f"X has {X.shape[1]} columns, and means_ has {means.shape[1]}")
        logs = numpy.empty((len(X), len(means)))
        for place, (mean, inverse) in enumerate(zip(means, inverses, strict=True)):
            is_row = inverse.ndim == 1
            away = (X - mean) * inverse if is_row else (X - mean) @ inverse.T
            scale = numpy.log(numpy.abs(inverse if is_row else numpy.diag(inverse))).sum()
            constant = scale - 0.5 * X.shape[1] * numpy.log(2 * numpy.pi)
            logs[:, place] = constant - 0.5 * numpy.einsum("ij,ij->i", away, away)
        return logs + numpy.log(self.weights_)

    def score_samples(self, X: Any) -> numpy.ndarray:
        """Give ln p of each row."""
        logs = self._log_joint(X)
        most = logs.max(axis=1, keepdims=True)
        return most[:, 0] + numpy.log(numpy.exp(logs - most).sum(axis=1))

    def score(self, X: Any, y: Any = None) -> float:
        """Give the mean of ln p."""
        return float(self.score_samples(X).mean())

    def predict_proba(self, X: Any) -> numpy.ndarray:
        """Give the probability of each component for each row."""
        logs = self._log_joint(X)
        shares = numpy.exp(logs - logs.max(axis=1, keepdims=True))
        return shares / shares.sum(axis=1, keepdims=True)

    def predict(self, X: Any) -> numpy.ndarray:
        """Give the most probable component of each row."""
        return self._log_joint(X).argmax(axis=1)

    def fit_predict(self, X: Any, y: Any = None) -> numpy.ndarray:
        """Fit, and give the most probable component of each row."""
        return self.fit(X).predict(X)

    def _parameters(self) -> int:
        components, columns = numpy.shape(self.means_)
        triangle = columns * (columns + 1) // 2
        shapes = {
            "full": components * triangle,
            "tied": triangle,
            "diag": components * columns,
            "spherical": components,
        }
        return shapes[self._of_kind()] + components * columns + components - 1

    def bic(self, X: Any) -> float:
        """Give the Bayesian information criterion of the rows."""
        logs = self.score_samples(X)
        return float(-2 * logs.sum() + self._parameters() * numpy.log(len(logs)))

    def aic(self, X: Any) -> float:
        """Give Akaike's information criterion of the rows."""
        return float(-2 * self.score_samples(X).sum() + 2 * self._parameters())

    def _results(self) -> Any:
        if not hasattr(self, "labels_") or len(self.weights_) != len(self.means_):
            return None
        sizes = numpy.bincount(self.labels_, minlength=len(self.means_))
        columns = zip(self.weights_, sizes, self.means_, strict=True)
        rows = [
            (place, f"{weight:.4g}", f"{size:,}", span(mean))
            for place, (weight, size, mean) in enumerate(columns)
        ]
        head = ("component", "weight", "rows", "mean")
        return head, rows, f"mean of ln p {self.lower_bound_:.6g}, BIC {self._bic:.6g}"


def _check_parts(weights: Any, means: Any) -> None:
    """Check weights and means that may have been set by hand."""
    weights, means = numpy.asarray(weights), numpy.asarray(means)
    if means.ndim != 2 or not numpy.isfinite(means).all():
        raise ValueError("means_ must be a row of finite numbers for each component")
    if weights.shape != means.shape[:1]:
        raise ValueError(
            f"weights_ is of shape {weights.shape}, and means_ has {len(means)} components"
        )
    if not ((weights >= 0).all() and abs(weights.sum() - 1) <= 1e-6):
        raise ValueError(
            f"weights_ is {weights.tolist()}: it must be probabilities that add up to 1, not "
            f"{weights.sum()}"
        )


def _shape(kind: str, of: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of the covariances of so many components of so many columns."""
    components, columns = of
    shapes: dict[str, tuple[int, ...]] = {
        "full": (components, columns, columns),
        "tied": (columns, columns),
        "diag": (components, columns),
        "spherical": (components,),
    }
    return shapes[kind]


def _inverted(kind: str, of: tuple[int, ...], covariances: Any) -> numpy.ndarray:
    """Inverses of the roots of the covariances.

    Of each component a matrix, or a row where the columns do not vary together.
    """
    covariances = numpy.asarray(covariances, dtype=numpy.float64)
    if covariances.shape != (shape := _shape(kind, of)):
        raise ValueError(
            f"covariances_ is of shape {covariances.shape}: that of {kind!r} is {shape}"
        )
    if not numpy.isfinite(covariances).all():
        raise ValueError("covariances_ has a number that is not finite")
    if kind in ("full", "tied"):
        if not numpy.allclose(covariances, numpy.swapaxes(covariances, -1, -2)):
            raise ValueError("covariances_ is not symmetric")
        try:
            roots = numpy.linalg.cholesky(covariances)
        except numpy.linalg.LinAlgError:
            raise ValueError("covariances_ is not positive definite: it has no root") from None
        return numpy.broadcast_to(numpy.linalg.inv(roots), (*of, of[1]))
    if not (covariances > 0).all():
        raise ValueError(f"covariances_ has {covariances.min()}: a variance is positive")
    variances = covariances if kind == "diag" else covariances[:, None]
    return numpy.broadcast_to(1.0 / numpy.sqrt(variances), of)
