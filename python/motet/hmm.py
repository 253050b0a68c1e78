"""Hidden Markov models, with the words of hmmlearn.

What an attribute of a model is set to by hand counts, and no fit need come before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any

import numpy

from motet import _motet
from motet._base import BaseEstimator, fitted
from motet._callbacks import told
from motet._input import checked, table, unmasked, wide
from motet._markov import categorical, even, gaussian, lengths_of, reach, spread
from motet._parameters import check, of_rows, randoms, whole
from motet._shown import Shown, span
from motet._watched import Watched, ranks
from motet.cluster import DeterministicAnnealing

__all__ = ["CategoricalHMM", "GaussianHMM"]


# Attributes that both kinds have.
_STEPS = ["startprob_", "transmat_"]


class _Markov(Shown, BaseEstimator):
    """What both kinds have: sequences in a row, cut by `lengths`."""

    # The attributes that a model has, and what makes one of them.
    _parts: list[str]
    _build: Callable[[Any], _motet.Markov]

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
        profile: bool = False,
        checkpoint: str | PathLike[str] | None = None,
        checkpoint_every: float = 10.0,
    ) -> None:
        self.n_components = n_components
        self.n_iter = n_iter
        self.tol = tol
        self.min_covar = min_covar
        self.n_jobs = n_jobs
        self.callback = callback
        self.verbose = verbose
        self.profile = profile
        self.checkpoint = checkpoint
        self.checkpoint_every = checkpoint_every

    def _shown(self, X: Any, *, reset: bool) -> numpy.ndarray:
        return wide(checked(self, X, reset=reset))

    def _start(self, X: numpy.ndarray) -> Any:
        raise NotImplementedError

    def _keep(self, model: Any) -> None:
        raise NotImplementedError

    def _built(self) -> Any:
        """The model that the attributes are: they may have been set by hand."""
        fitted(self, *self._parts)
        return self._build(self)

    @told
    def fit(self, X: Any, y: Any = None, lengths: Sequence[int] | None = None) -> _Markov:
        """Fit the model to sequences by the rule of Baum and Welch.

        `X` holds all places of all sequences, `lengths` how many each sequence has. As in hmmlearn
        the lengths may be the second argument; what adds up to another number than that of the
        rows, and has an entry for each row, is the `y` of scikit-learn, which does not count.
        """
        check(self)
        X = self._shown(X, reset=True)
        of_rows("n_components", self.n_components, X)
        lengths = lengths_of(X, y, lengths)
        with Watched(self) as watched:
            model, trace, converged = _motet.fit_markov(
                self._start(X),
                X,
                lengths,
                self.tol,
                self.n_iter,
                self.min_covar,
                watched,
            )
        self.startprob_, self.transmat_ = model.start, model.transitions
        self.trace_, self.converged_ = numpy.array(trace), converged
        self.n_iter_ = max(1, len(self.trace_))
        self._keep(model)
        return self

    def score(self, X: Any, y: Any = None, lengths: Sequence[int] | None = None) -> float:
        """Give ln p of all sequences together; the arguments are those of `fit`."""
        model, X = self._built(), self._shown(X, reset=False)
        return float(model.score(X, lengths_of(X, y, lengths), self._run()).sum())

    def score_sequences(self, X: Any, lengths: Sequence[int] | None = None) -> numpy.ndarray:
        """Give ln p of each sequence."""
        model, X = self._built(), self._shown(X, reset=False)
        return model.score(X, lengths_of(X, None, lengths), self._run())

    def decode(self, X: Any, lengths: Sequence[int] | None = None) -> tuple[float, numpy.ndarray]:
        """Give ln p of the most probable states (Viterbi), and those states."""
        model, X = self._built(), self._shown(X, reset=False)
        logs, states = model.decode(X, lengths_of(X, None, lengths), self._run())
        return float(logs.sum()), states

    def predict(self, X: Any, lengths: Sequence[int] | None = None) -> numpy.ndarray:
        """Give the most probable states."""
        return self.decode(X, lengths)[1]

    def predict_proba(self, X: Any, lengths: Sequence[int] | None = None) -> numpy.ndarray:
        """Give the probability of each state at each place."""
        model, X = self._built(), self._shown(X, reset=False)
        return model.posteriors(X, lengths_of(X, None, lengths), self._run())

    def aic(self, X: Any, lengths: Sequence[int] | None = None) -> float:
        """Give Akaike's information criterion of the sequences."""
        return 2 * self._free(self._built()) - 2 * self.score(X, lengths=lengths)

    def bic(self, X: Any, lengths: Sequence[int] | None = None) -> float:
        """Give the Bayesian information criterion of the sequences."""
        free = self._free(self._built())
        rows = len(self._shown(X, reset=False))
        return float(free * numpy.log(rows)) - 2 * self.score(X, lengths=lengths)

    def get_stationary_distribution(self) -> numpy.ndarray:
        """Give the share of each state after many steps: a solution of p = p A."""
        steps = self._built().transitions
        states = len(steps)
        equations = numpy.vstack([steps.T - numpy.eye(states), numpy.ones(states)])
        shares = numpy.linalg.lstsq(equations, numpy.eye(states + 1)[-1], rcond=None)[0]
        shares = shares.clip(0.0)
        return shares / shares.sum()

    def sample(
        self, n_samples: int = 1, random_state: Any = None, currstate: int | None = None
    ) -> tuple[numpy.ndarray, numpy.ndarray]:
        """Draw a sequence: what it shows, and its states, of which `currstate` may be the first.

        A `random_state` of `None` draws another each time.
        """
        model = self._built()
        n_samples = whole("n_samples", n_samples, 1)
        if currstate is not None:
            currstate = whole("currstate", currstate, 0)
            if currstate >= len(model.start):
                last = len(model.start) - 1
                raise ValueError(f"currstate is {currstate}: states are numbered from 0 to {last}")
        draws = randoms(random_state)
        first, steps = reach([model.start])[0], reach(model.transitions)
        states = numpy.empty(n_samples, dtype=numpy.int64)
        for place, chance in enumerate(draws.random_sample(n_samples)):
            if place == 0 and currstate is not None:
                states[0] = currstate
                continue
            to = steps[states[place - 1]] if place else first
            states[place] = numpy.searchsorted(to, chance, "right")
        return self._draw(model, states, draws), states

    def _draw(self, model: Any, states: numpy.ndarray, draws: Any) -> numpy.ndarray:
        """Draw what such states show."""
        raise NotImplementedError

    def _free(self, model: Any) -> int:
        """How many numbers of the model are free."""
        states = len(model.start)
        return states - 1 + states * (states - 1)

    def _run(self) -> _motet.Run:
        return _motet.Run(ranks(self.n_jobs))

    def _results(self) -> Any:
        try:
            model = self._built()
        except ValueError:
            return None
        columns = zip(model.start, model.transitions, self._emitted(model), strict=True)
        rows = [
            (state, f"{start:.4g}", span(to), shown)
            for state, (start, to, shown) in enumerate(columns)
        ]
        head = ("state", "start", "transitions", "shows")
        trace: Any = getattr(self, "trace_", ())
        foot = f"ln p {trace[-1]:.6g}" if len(trace) else "no step"
        return head, rows, foot

    def _emitted(self, model: Any) -> list[str]:
        """What each state shows, in words."""
        raise NotImplementedError


class _Start(DeterministicAnnealing):
    """Clusters from which states begin; what is said of them is said of states."""

    _asked, _then = "n_components", "the states beside {} of them begin alike"


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
    n_jobs, callback, verbose, profile, checkpoint, checkpoint_every :
        As those of :class:`motet.cluster.DeterministicAnnealing`.

    Attributes
    ----------
    startprob_, transmat_, means_, covars_ : ndarray
        Of the model; `covars_` holds variances.
    trace_ : ndarray
        ln p before each step; it never falls.
    converged_, n_iter_ :
        Whether ln p stood still at the end, and after how many steps.
    profile_, n_features_in_, feature_names_in_ :
        As those of :class:`motet.cluster.DeterministicAnnealing`.

    Notes
    -----
    The fit starts from clusters that annealing finds, in a thousand of the rows if there are more:
    no random number enters.

    Examples
    --------
    >>> import numpy
    >>> from motet.hmm import GaussianHMM
    >>> X = numpy.repeat([0.0, 5.0, 0.0, 5.0], 20) + numpy.tile([0.1, -0.1], 40)
    >>> X = X.reshape(-1, 1)
    >>> found = GaussianHMM(n_components=2).fit(X)
    >>> (found.means_.round(3) + 0.0).tolist()
    [[0.0], [5.0]]
    >>> found.predict(X)[[0, 25, 45, 65]].tolist()
    [0, 1, 0, 1]
    """

    _parts, _build = [*_STEPS, "means_", "covars_"], staticmethod(gaussian)

    def _start(self, X: numpy.ndarray) -> Any:
        rows = X[spread(len(X), max(1000, 50 * self.n_components))]
        # The steps of the fit do what a slower cooling and a search would do.
        start = _Start(self.n_components, cooling=0.5, search=0, n_jobs=self.n_jobs)
        found = start.fit(rows)
        means = found.cluster_centers_
        if len(means) < self.n_components:
            # States that nothing tells apart begin alike.
            means = numpy.resize(means, (self.n_components, X.shape[1]))
        variances = numpy.maximum(X.var(axis=0), self.min_covar)
        variances = numpy.tile(variances, (self.n_components, 1))
        chances, transitions = even(self.n_components)
        means = numpy.ascontiguousarray(means)
        return _motet.Markov.gaussian(chances, transitions, means, variances)

    def _keep(self, model: Any) -> None:
        self.means_, self.covars_ = model.emissions

    def _emitted(self, model: Any) -> list[str]:
        return [f"mean {span(mean)}" for mean in model.emissions[0]]

    def _draw(self, model: Any, states: numpy.ndarray, draws: Any) -> numpy.ndarray:
        means, variances = model.emissions
        away = draws.standard_normal((len(states), means.shape[1]))
        return means[states] + away * numpy.sqrt(variances)[states]

    def _free(self, model: Any) -> int:
        return super()._free(model) + 2 * model.emissions[0].size


class CategoricalHMM(_Markov):
    """States that show symbols 0, 1, 2, …

    Parameters are those of :class:`GaussianHMM`; `min_covar` does not count. Symbols are a row of
    whole numbers, or one column of them.

    Attributes
    ----------
    startprob_, transmat_, emissionprob_ : ndarray
        Of the model.
    trace_ : ndarray
        ln p before each step; it never falls.
    converged_, n_iter_, profile_, n_features_in_, feature_names_in_ :
        As those of :class:`GaussianHMM`.

    Examples
    --------
    >>> import numpy
    >>> from motet.hmm import CategoricalHMM
    >>> X = numpy.repeat([0, 1, 0, 1, 0, 1], 20)
    >>> found = CategoricalHMM(n_components=2).fit(X)
    >>> bool((numpy.diff(found.trace_) >= 0).all())
    True
    """

    _parts, _build = [*_STEPS, "emissionprob_"], staticmethod(categorical)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.one_d_array, tags.input_tags.two_d_array = True, False
        tags.input_tags.categorical = True
        return tags

    def _shown(self, X: Any, *, reset: bool) -> numpy.ndarray:
        X = unmasked("X", table(X))
        # A series of polars has a shape and no `ndim`.
        if len(getattr(X, "shape", (0,))) == 1:
            # What is a row of symbols is made a column, as hmmlearn has it.
            X = numpy.asarray(X)
            X = X.reshape(-1, 1) if X.ndim == 1 else X
        shown = super()._shown(X, reset=reset)
        if shown.shape[1] != 1:
            raise ValueError(f"symbols have one column, not {shown.shape[1]}")
        wrong = (shown < 0) | (shown != shown.round()) | (shown >= 2**24)
        if wrong.any():
            row = int(wrong.argmax())
            raise ValueError(
                f"row {row} of X is {shown[row, 0]}: symbols are whole numbers from 0, below 2**24"
            )
        return shown

    def _start(self, X: numpy.ndarray) -> Any:
        symbols = int(X.max()) + 1
        shares = numpy.bincount(X[:, 0].astype(int), minlength=symbols) / len(X)
        # States begin apart: each prefers some of the symbols.
        states = self.n_components
        liked = numpy.arange(symbols)[None, :] % states == numpy.arange(states)[:, None]
        shown = shares * numpy.where(liked, 2.0, 1.0)
        shown /= shown.sum(axis=1, keepdims=True)
        start, transitions = even(states)
        transitions = transitions + numpy.eye(states)
        transitions /= transitions.sum(axis=1, keepdims=True)
        return _motet.Markov.categorical(start, transitions, shown)

    def _keep(self, model: Any) -> None:
        self.emissionprob_ = model.emissions[0]

    def _emitted(self, model: Any) -> list[str]:
        return [f"symbols {span(shares)}" for shares in model.emissions[0]]

    def _draw(self, model: Any, states: numpy.ndarray, draws: Any) -> numpy.ndarray:
        to = reach(model.emissions[0])[states]
        return (draws.random_sample(len(states))[:, None] >= to).sum(axis=1)[:, None]

    def _free(self, model: Any) -> int:
        states, symbols = model.emissions[0].shape
        return super()._free(model) + states * (symbols - 1)
