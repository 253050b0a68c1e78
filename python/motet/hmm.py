"""Hidden Markov models, with the words of hmmlearn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy

from motet import _motet
from motet._base import BaseEstimator, Watched, fitted, ranks
from motet.cluster import DeterministicAnnealing

__all__ = ["CategoricalHMM", "GaussianHMM"]


class _Markov(BaseEstimator):
    """What both kinds have: sequences in a row, cut by `lengths`."""

    def __init__(
        self,
        n_components: int = 1,
        *,
        n_iter: int = 100,
        tol: float = 1e-2,
        min_covar: float = 1e-3,
        n_jobs: int | None = None,
        callback: Callable[[dict[str, Any]], Any] | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.n_iter = n_iter
        self.tol = tol
        self.min_covar = min_covar
        self.n_jobs = n_jobs
        self.callback = callback
        self.verbose = verbose

    def _shown(self, X: Any) -> numpy.ndarray:
        X = numpy.ascontiguousarray(X, dtype=numpy.float64)
        if X.ndim == 1:
            X = X[:, None]
        if X.ndim != 2:
            raise ValueError(f"expected a matrix, got an array with {X.ndim} dimensions")
        return X

    def _start(self, X: numpy.ndarray) -> Any:
        raise NotImplementedError

    def _keep(self, model: Any) -> None:
        raise NotImplementedError

    def fit(self, X: Any, lengths: Sequence[int] | None = None) -> _Markov:
        """Fit the model to sequences by the rule of Baum and Welch.

        `X` holds all places of all sequences, `lengths` how many each sequence has.
        """
        if self.n_components < 1:
            raise ValueError(f"n_components is {self.n_components}: it must be positive")
        X = self._shown(X)
        with Watched(self.callback, self.verbose, type(self).__name__) as hear:
            model, trace, converged = _motet.fit_markov(
                self._start(X),
                X,
                _lengths(X, lengths),
                self.tol,
                self.n_iter,
                self.min_covar,
                ranks(self.n_jobs),
                hear,
            )
        self._model = model
        self.startprob_, self.transmat_ = model.start, model.transitions
        self.trace_, self.converged_ = numpy.array(trace), converged
        self._keep(model)
        return self

    def score(self, X: Any, lengths: Sequence[int] | None = None) -> float:
        """Give ln p of all sequences together."""
        return float(self.score_sequences(X, lengths).sum())

    def score_sequences(self, X: Any, lengths: Sequence[int] | None = None) -> numpy.ndarray:
        """Give ln p of each sequence."""
        fitted(self, "transmat_")
        X = self._shown(X)
        return self._model.score(X, _lengths(X, lengths), ranks(self.n_jobs))

    def decode(self, X: Any, lengths: Sequence[int] | None = None) -> tuple[float, numpy.ndarray]:
        """Give ln p of the most probable states (Viterbi), and those states."""
        fitted(self, "transmat_")
        X = self._shown(X)
        logs, states = self._model.decode(X, _lengths(X, lengths), ranks(self.n_jobs))
        return float(logs.sum()), states

    def predict(self, X: Any, lengths: Sequence[int] | None = None) -> numpy.ndarray:
        """Give the most probable states."""
        return self.decode(X, lengths)[1]

    def predict_proba(self, X: Any, lengths: Sequence[int] | None = None) -> numpy.ndarray:
        """Give the probability of each state at each place."""
        fitted(self, "transmat_")
        X = self._shown(X)
        return self._model.posteriors(X, _lengths(X, lengths), ranks(self.n_jobs))


def _lengths(X: numpy.ndarray, lengths: Sequence[int] | None) -> list[int]:
    return [len(X)] if lengths is None else [int(length) for length in lengths]


def _even(states: int) -> tuple[list[float], numpy.ndarray]:
    return [1.0 / states] * states, numpy.full((states, states), 1.0 / states)


class GaussianHMM(_Markov):
    """States that show rows of numbers from normal distributions without correlations.

    Parameters
    ----------
    n_components : int, default=1
        The number of states.
    n_iter : int, default=100
        The most steps.
    tol : float, default=1e-2
        The fit ends when ln p of all sequences grows by less than this.
    min_covar : float, default=1e-3
        The least variance.
    n_jobs, callback, verbose :
        As those of :class:`motet.cluster.DeterministicAnnealing`.

    Attributes
    ----------
    startprob_, transmat_, means_, covars_ : ndarray
        Of the model; `covars_` holds variances.
    trace_ : ndarray
        ln p before each step; it never falls.

    Notes
    -----
    The fit starts from clusters of annealing: no random number enters.

    Examples
    --------
    >>> import numpy
    >>> from motet.hmm import GaussianHMM
    >>> X = numpy.repeat([0.0, 5.0, 0.0, 5.0], 20) + numpy.tile([0.1, -0.1], 40)
    >>> found = GaussianHMM(n_components=2).fit(X)
    >>> (found.means_.round(3) + 0.0).tolist()
    [[0.0], [5.0]]
    >>> found.predict(X)[[0, 25, 45, 65]].tolist()
    [0, 1, 0, 1]
    """

    def _start(self, X: numpy.ndarray) -> Any:
        found = DeterministicAnnealing(self.n_components, n_jobs=self.n_jobs).fit(X)
        means = found.cluster_centers_
        if len(means) < self.n_components:
            # States that nothing tells apart begin alike.
            means = numpy.resize(means, (self.n_components, X.shape[1]))
        variances = numpy.maximum(X.var(axis=0), self.min_covar)
        variances = numpy.tile(variances, (self.n_components, 1))
        start, transitions = _even(self.n_components)
        return _motet.Markov.gaussian(start, transitions, numpy.ascontiguousarray(means), variances)

    def _keep(self, model: Any) -> None:
        self.means_, self.covars_ = model.emissions


class CategoricalHMM(_Markov):
    """States that show symbols 0, 1, 2, …

    Parameters are those of :class:`GaussianHMM`; `min_covar` does not count.

    Attributes
    ----------
    startprob_, transmat_, emissionprob_ : ndarray
        Of the model.
    trace_ : ndarray
        ln p before each step; it never falls.

    Examples
    --------
    >>> import numpy
    >>> from motet.hmm import CategoricalHMM
    >>> X = numpy.repeat([0, 1, 0, 1, 0, 1], 20)
    >>> found = CategoricalHMM(n_components=2).fit(X)
    >>> bool((numpy.diff(found.trace_) >= 0).all())
    True
    """

    def _shown(self, X: Any) -> numpy.ndarray:
        shown = super()._shown(X)
        if shown.shape[1] != 1:
            raise ValueError(f"symbols have one column, not {shown.shape[1]}")
        if len(shown) and not ((shown >= 0) & (shown == shown.round())).all():
            raise ValueError("symbols are whole numbers from 0 on")
        return shown

    def _start(self, X: numpy.ndarray) -> Any:
        symbols = int(X.max()) + 1
        shares = numpy.bincount(X[:, 0].astype(int), minlength=symbols) / len(X)
        # States begin apart: each prefers some of the symbols.
        states = self.n_components
        liked = numpy.arange(symbols)[None, :] % states == numpy.arange(states)[:, None]
        shown = shares * numpy.where(liked, 2.0, 1.0)
        shown /= shown.sum(axis=1, keepdims=True)
        start, transitions = _even(states)
        transitions = transitions + numpy.eye(states)
        transitions /= transitions.sum(axis=1, keepdims=True)
        return _motet.Markov.categorical(start, transitions, shown)

    def _keep(self, model: Any) -> None:
        self.emissionprob_ = model.emissions[0]
