"""What the estimators share.

With scikit-learn they are its estimators; without it they have their parameters, and no more.
"""

from __future__ import annotations

import inspect
from typing import Any

import numpy

try:
    from sklearn.base import (
        BaseEstimator,
        ClassNamePrefixFeaturesOutMixin,
        ClusterMixin,
        DensityMixin,
        TransformerMixin,
    )
    from sklearn.exceptions import ConvergenceWarning, NotFittedError
    from sklearn.utils.validation import check_is_fitted

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
    "SKLEARN",
    "TRACE",
    "BaseEstimator",
    "ClassNamePrefixFeaturesOutMixin",
    "ClusterMixin",
    "ConvergenceWarning",
    "DensityMixin",
    "NotFittedError",
    "TransformerMixin",
    "fitted",
]

# Of each temperature of an annealing.
TRACE = numpy.dtype(
    [
        ("temperature", "f8"),
        ("free_energy", "f8"),
        ("clusters", "i8"),
        ("iterations", "i8"),
    ]
)


def fitted(estimator: Any, *attributes: str) -> None:
    """Raise `NotFittedError` unless the estimator has these: by a fit, or set by hand."""
    if all(hasattr(estimator, attribute) for attribute in attributes):
        return
    if SKLEARN:
        check_is_fitted(estimator, attributes)
    else:
        raise NotFittedError(f"this {type(estimator).__name__} has not been fitted: call fit")
