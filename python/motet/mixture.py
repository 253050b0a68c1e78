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
from motet._input import checked, wide
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
        As those of :class:`motet.cluster.KMeans`.

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
        columns = X.shape[1]
        shapes = {
            "full": (self.n_components, columns, columns),
            "tied": (columns, columns),
            "diag": (self.n_components, columns),
            "spherical": (self.n_components,),
        }
        # What was found stays of this kind, whatever the parameter is set to later.
        self._kind = self.covariance_type
        self.weights_ = found.weights
        self.means_ = found.means
        self.covariances_ = found.covariances.reshape(shapes[self._kind])
        self.labels_ = found.labels
        self.converged_ = found.converged
        self.trace_ = found.trace
        self.n_iter_ = len(found.trace)
        self.lower_bound_ = found.log_likelihood
        self._bic, self._aic = found.bic, found.aic
        self._factor()
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

    def _factor(self) -> None:
        """Keep what probabilities are computed by: inverses of the roots of the covariances.

        Of each component a matrix, or a row where the columns do not vary together.
        """
        components, columns = self.means_.shape
        kind, covariances = self._kind, self.covariances_
        if kind in ("full", "tied"):
            roots = numpy.linalg.cholesky(covariances)
            inverses = numpy.linalg.inv(roots)
            self._inverses = numpy.broadcast_to(inverses, (components, columns, columns))
        else:
            variances = covariances if kind == "diag" else covariances[:, None]
            self._inverses = numpy.broadcast_to(1.0 / numpy.sqrt(variances), (components, columns))

    @property
    def precisions_cholesky_(self) -> numpy.ndarray:
        """The roots of the precisions, in the shape of `covariances_`."""
        fitted(self, "means_")
        if self._kind == "full":
            return numpy.swapaxes(self._inverses, 1, 2).copy()
        if self._kind == "tied":
            return self._inverses[0].T.copy()
        return self._inverses.copy() if self._kind == "diag" else self._inverses[:, 0].copy()

    @property
    def precisions_(self) -> numpy.ndarray:
        """The inverses of the covariances, in the shape of `covariances_`."""
        roots = self.precisions_cholesky_
        if self._kind in ("full", "tied"):
            return roots @ numpy.swapaxes(roots, -1, -2)
        return roots**2

    def sample(self, n_samples: int = 1) -> tuple[numpy.ndarray, numpy.ndarray]:
        """Draw rows from the mixture, by `random_state`: rows, and the component of each.

        Those of one component follow each other, as with scikit-learn.
        """
        fitted(self, "means_")
        n_samples = whole("n_samples", n_samples, 1)
        draws = randoms(self.random_state)
        counts = draws.multinomial(n_samples, self.weights_ / self.weights_.sum())
        labels = numpy.repeat(numpy.arange(len(counts)), counts)
        rows = draws.standard_normal((n_samples, self.means_.shape[1]))
        parts = numpy.split(rows, numpy.cumsum(counts)[:-1])
        for own, mean, inverse in zip(parts, self.means_, self._inverses, strict=True):
            away = own / inverse if inverse.ndim == 1 else numpy.linalg.solve(inverse, own.T).T
            own[:] = mean + away
        return rows, labels

    def _log_joint(self, X: Any) -> numpy.ndarray:
        fitted(self, "means_")
        X = wide(checked(self, X, reset=False))
        logs = numpy.empty((len(X), len(self.means_)))
        for place, (mean, inverse) in enumerate(zip(self.means_, self._inverses, strict=True)):
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
        components, columns = self.means_.shape
        triangle = columns * (columns + 1) // 2
        shapes = {
            "full": components * triangle,
            "tied": triangle,
            "diag": components * columns,
            "spherical": components,
        }
        return shapes[self._kind] + components * columns + components - 1

    def bic(self, X: Any) -> float:
        """Give the Bayesian information criterion of the rows."""
        logs = self.score_samples(X)
        return float(-2 * logs.sum() + self._parameters() * numpy.log(len(logs)))

    def aic(self, X: Any) -> float:
        """Give Akaike's information criterion of the rows."""
        return float(-2 * self.score_samples(X).sum() + 2 * self._parameters())

    def _results(self) -> Any:
        if not hasattr(self, "means_"):
            return None
        sizes = numpy.bincount(self.labels_, minlength=len(self.means_))
        columns = zip(self.weights_, sizes, self.means_, strict=True)
        rows = [
            (place, f"{weight:.4g}", f"{size:,}", span(mean))
            for place, (weight, size, mean) in enumerate(columns)
        ]
        head = ("component", "weight", "rows", "mean")
        return head, rows, f"mean of ln p {self.lower_bound_:.6g}, BIC {self._bic:.6g}"
