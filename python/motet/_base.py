"""What the estimators share.

With scikit-learn they are its estimators; without it they have their parameters, and no more.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from typing import Any

import numpy

from motet import _motet

try:
    from sklearn.base import (
        BaseEstimator,
        ClassNamePrefixFeaturesOutMixin,
        ClusterMixin,
        DensityMixin,
        TransformerMixin,
    )
    from sklearn.exceptions import ConvergenceWarning, NotFittedError
    from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

    SKLEARN = True
except ImportError:
    SKLEARN = False

    class ConvergenceWarning(UserWarning):  # type: ignore[no-redef]
        """Fewer clusters than were asked for, or no end within the iterations."""

    class NotFittedError(ValueError, AttributeError):  # type: ignore[no-redef]
        """The estimator has not been fitted."""

    class BaseEstimator:  # type: ignore[no-redef]
        """Parameters by name."""

        @classmethod
        def _names(cls) -> list[str]:
            return sorted(name for name in inspect.signature(cls).parameters)

        def get_params(self, deep: bool = True) -> dict[str, Any]:
            """All parameters."""
            return {name: getattr(self, name) for name in self._names()}

        def set_params(self, **params: Any) -> BaseEstimator:
            """Change some parameters."""
            for name, value in params.items():
                if name not in self._names():
                    raise ValueError(f"{type(self).__name__} has no parameter {name!r}")
                setattr(self, name, value)
            return self

        def __repr__(self) -> str:
            words = ", ".join(f"{name}={value!r}" for name, value in self.get_params().items())
            return f"{type(self).__name__}({words})"

    class ClusterMixin:  # type: ignore[no-redef]
        """Labels at once."""

        def fit_predict(self, X: Any, y: Any = None, **kwargs: Any) -> numpy.ndarray:
            """Fit, and give the labels."""
            return self.fit(X, **kwargs).labels_  # type: ignore[attr-defined]

    class TransformerMixin:  # type: ignore[no-redef]
        """Distances at once."""

        def fit_transform(self, X: Any, y: Any = None, **kwargs: Any) -> numpy.ndarray:
            """Fit, and give the distances."""
            return self.fit(X, **kwargs).transform(X)  # type: ignore[attr-defined]

    class DensityMixin:  # type: ignore[no-redef]
        """Nothing without scikit-learn."""

    class ClassNamePrefixFeaturesOutMixin:  # type: ignore[no-redef]
        """Nothing without scikit-learn."""


__all__ = [
    "TRACE",
    "BaseEstimator",
    "ClassNamePrefixFeaturesOutMixin",
    "ClusterMixin",
    "ConvergenceWarning",
    "DensityMixin",
    "NotFittedError",
    "TransformerMixin",
    "Watched",
    "checked",
    "enough",
    "fitted",
    "ranks",
    "square",
    "squares",
    "weights",
]


TRACE = numpy.dtype(
    [
        ("temperature", "f8"),
        ("free_energy", "f8"),
        ("clusters", "i8"),
        ("iterations", "i8"),
    ]
)


def enough(clusters: Any, X: numpy.ndarray) -> int:
    """Give the number of clusters, if there are as many rows."""
    if not isinstance(clusters, (int, numpy.integer)) or clusters < 1:
        raise ValueError(f"n_clusters is {clusters!r}: it must be a positive whole number")
    if len(X) < clusters:
        raise ValueError(f"n_samples={len(X)} should be >= n_clusters={clusters}")
    return int(clusters)


def squares(X: numpy.ndarray) -> numpy.ndarray:
    """Squared distances of rows, the same for a pair in both orders."""
    pairs = numpy.zeros((len(X), len(X)))
    for column in X.T:
        pairs += (column[:, None] - column) ** 2
    return pairs


def square(X: numpy.ndarray) -> numpy.ndarray:
    """`X` as a matrix of dissimilarities."""
    if X.shape[0] != X.shape[1]:
        raise ValueError(f"a matrix of dissimilarities is square, not {X.shape[0]} by {X.shape[1]}")
    return X


def checked(estimator: Any, X: Any, *, reset: bool) -> numpy.ndarray:
    """`X` as a matrix of finite numbers.

    `reset` says that the estimator is fitted to it, else it must have the columns of the fit.
    """
    if SKLEARN:
        X = validate_data(
            estimator, X, reset=reset, dtype=[numpy.float64, numpy.float32], accept_sparse=False
        )
        return numpy.ascontiguousarray(X, dtype=numpy.float64)
    X = numpy.ascontiguousarray(X, dtype=numpy.float64)
    if X.ndim != 2:
        raise ValueError(f"expected a matrix, got an array with {X.ndim} dimensions")
    if reset:
        estimator.n_features_in_ = X.shape[1]
    elif X.shape[1] != estimator.n_features_in_:
        raise ValueError(
            f"X has {X.shape[1]} columns, and there were {estimator.n_features_in_} at the fit"
        )
    return X


def fitted(estimator: Any, attribute: str) -> None:
    """Raise `NotFittedError` unless the estimator has been fitted."""
    if SKLEARN:
        check_is_fitted(estimator, attribute)
    elif not hasattr(estimator, attribute):
        raise NotFittedError(f"this {type(estimator).__name__} has not been fitted: call fit")


def weights(sample_weight: Any, X: numpy.ndarray) -> numpy.ndarray | None:
    """The weights of rows, if there are any."""
    if sample_weight is None:
        return None
    if SKLEARN:
        return _check_sample_weight(sample_weight, X, dtype=numpy.float64, ensure_non_negative=True)
    return numpy.ascontiguousarray(sample_weight, dtype=numpy.float64)


def ranks(n_jobs: int | None) -> int:
    """How many ranks `n_jobs` asks for; they change no bit of a result.

    `None` is 1, or what `joblib.parallel_config` says; -1 all cores that the process may use. A
    process that joblib has started has one.
    """
    if n_jobs is None:
        try:
            from joblib.parallel import get_active_backend
        except ImportError:
            return 1
        n_jobs = get_active_backend()[1]
        if n_jobs is None or "LOKY_WORKER" in os.environ:
            return 1
    if n_jobs == 0:
        raise ValueError("n_jobs is 0: it must be positive, or negative to count from all cores")
    if n_jobs < 0:
        return max(1, _motet.cores() + 1 + n_jobs)
    return int(n_jobs)


class Watched:
    """Hears of a fit: calls what the caller gave, and shows a bar if that is asked for."""

    def __init__(
        self,
        callback: Callable[[dict[str, Any]], Any] | None,
        verbose: int,
        name: str,
    ) -> None:
        self._callback, self._bar, self._done = callback, None, 0.0
        if verbose:
            try:
                from tqdm.auto import tqdm
            except ImportError:
                return
            form = "{desc}: {percentage:3.0f}%|{bar}| {elapsed}<{remaining}{postfix}"
            self._bar = tqdm(total=1.0, desc=name, bar_format=form)

    def __enter__(self) -> Callable[[dict[str, Any]], Any] | None:
        return self._hear if self._callback or self._bar is not None else None

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def _hear(self, now: dict[str, Any]) -> Any:
        if self._bar is not None:
            self._bar.update(now["done"] - self._done)
            self._done = now["done"]
            self._bar.set_postfix(clusters=now["clusters"], T=f"{now['temperature']:.3g}")
        return self._callback(now) if self._callback else None
