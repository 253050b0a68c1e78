"""What estimators are given: arrays, lists and frames, as matrices of finite numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy

from motet._base import SKLEARN

if SKLEARN:
    try:
        from sklearn.utils.validation import _check_sample_weight, validate_data
    except ImportError:
        import sklearn

        raise ImportError(
            "motet goes with scikit-learn 1.6 or newer, or without it, and there is "
            f"{sklearn.__version__}: pip install --upgrade scikit-learn"
        ) from None

__all__ = [
    "centres",
    "checked",
    "distances",
    "square",
    "squares",
    "table",
    "unmasked",
    "weights",
    "wide",
]


def table(X: Any) -> Any:
    """`X`, or a table of its columns where it gives them by Arrow's C stream alone."""
    if not hasattr(X, "__arrow_c_stream__") or hasattr(X, "__array__"):
        return X
    try:
        import pyarrow
    except ImportError:
        raise TypeError(
            f"{type(X).__name__} gives its columns by Arrow's C stream alone: install pyarrow, "
            "which reads it, or give an array or a frame of pandas or polars"
        ) from None
    return pyarrow.table(X)


def checked(estimator: Any, X: Any, *, reset: bool) -> numpy.ndarray:
    """`X` as a matrix of finite numbers, float32 or float64.

    `reset` says that the estimator is fitted to it, else it must have the columns of the fit.
    """
    if _ready(estimator, X, reset):
        if reset:
            estimator.n_features_in_ = X.shape[1]
            estimator.__dict__.pop("feature_names_in_", None)
        return X
    X = unmasked("X", table(X))
    if SKLEARN:
        kinds = [numpy.float64, numpy.float32]
        return validate_data(estimator, X, reset=reset, dtype=kinds, accept_sparse=False)
    return _matrix(estimator, X, reset)


def _ready(estimator: Any, X: Any, reset: bool) -> bool:
    """Whether `X` is an array of which nothing need be said, or changed.

    scikit-learn asks of all that it may be, which takes as long as a small fit.
    """
    if type(X) is not numpy.ndarray or X.ndim != 2 or X.size == 0 or X.dtype.char not in "df":
        return False
    own = vars(estimator)
    if not reset and ("feature_names_in_" in own or own.get("n_features_in_") != X.shape[1]):
        return False
    # A sum of what is finite may be infinite: then each number is looked at.
    with numpy.errstate(over="ignore", invalid="ignore"):
        return X.dtype.isnative and bool(numpy.isfinite(numpy.add.reduce(X, axis=None)))


def unmasked(name: str, X: Any) -> Any:
    """`X`, if nothing of it is masked: a mask is lost where numbers are read."""
    if numpy.ma.isMaskedArray(X) and numpy.ma.is_masked(X):
        raise ValueError(
            f"{name} has {numpy.ma.count_masked(X)} masked values: leave their rows out, or fill "
            f"them by {name}.filled(…)"
        )
    return X


def wide(X: numpy.ndarray) -> numpy.ndarray:
    """`X` as the extension reads it: float64, row after row."""
    return numpy.ascontiguousarray(X, dtype=numpy.float64)


def _matrix(estimator: Any, X: Any, reset: bool) -> numpy.ndarray:
    """As `checked`, without scikit-learn."""
    if hasattr(X, "toarray"):
        raise TypeError("a sparse matrix was given, and dense numbers are needed: use X.toarray()")
    names, X = _names(X), numpy.asarray(X)
    if numpy.iscomplexobj(X):
        raise ValueError("Complex data not supported: give real numbers")
    if X.dtype != numpy.float32:
        X = X.astype(numpy.float64, copy=False)
    if X.ndim != 2:
        raise ValueError(f"expected a matrix, got an array with {X.ndim} dimensions")
    if X.shape[0] == 0 or X.shape[1] == 0:
        raise ValueError(f"found an array of shape {X.shape}: at least one row and one column")
    if not numpy.isfinite(X).all():
        row, column = numpy.argwhere(~numpy.isfinite(X))[0]
        raise ValueError(
            f"row {row}, column {column} of X is {X[row, column]}: NaN and infinity are not allowed"
        )
    if reset:
        estimator.n_features_in_ = X.shape[1]
        estimator.__dict__.pop("feature_names_in_", None)
        if names is not None:
            estimator.feature_names_in_ = names
        return X
    # Without a fit what has been set by hand says how many.
    columns = getattr(estimator, "n_features_in_", X.shape[1])
    if X.shape[1] != columns:
        raise ValueError(f"X has {X.shape[1]} columns, and there were {columns} at the fit")
    there = getattr(estimator, "feature_names_in_", None)
    if there is not None and names is not None and list(names) != list(there):
        raise ValueError(f"X has columns {list(names)}, and there were {list(there)} at the fit")
    return X


def _names(X: Any) -> numpy.ndarray | None:
    """The names of columns, if all are strings."""
    names = getattr(X, "column_names", None)  # pyarrow
    if names is None:
        names = getattr(X, "columns", None)  # pandas, polars
    if names is None or not all(isinstance(name, str) for name in names):
        return None
    return numpy.asarray(list(names), dtype=object)


def weights(sample_weight: Any, X: numpy.ndarray) -> numpy.ndarray | None:
    """The weights of rows, if there are any."""
    if sample_weight is None:
        return None
    sample_weight = unmasked("sample_weight", table(sample_weight))
    if SKLEARN:
        return _check_sample_weight(sample_weight, X, dtype=numpy.float64, ensure_non_negative=True)
    return _weights(sample_weight, len(X))


def _weights(sample_weight: Any, rows: int) -> numpy.ndarray:
    """As `weights`, without scikit-learn."""
    given = numpy.asarray(sample_weight)
    if numpy.iscomplexobj(given):
        raise ValueError("sample_weight is complex: give real numbers")
    found = numpy.ascontiguousarray(given, dtype=numpy.float64)
    if given.ndim == 0:
        found = numpy.full(rows, found)
    if found.shape != (rows,):
        raise ValueError(f"sample_weight is of shape {found.shape}, and there are {rows} rows")
    wrong = ~((found >= 0) & numpy.isfinite(found))
    if wrong.any():
        row = int(wrong.argmax())
        raise ValueError(
            f"row {row} of sample_weight is {found[row]}: a weight is 0 or more, and finite"
        )
    return found


def centres(init: Any, clusters: int, X: numpy.ndarray) -> numpy.ndarray:
    """The centres that K-means begins with, if `init` is one for each cluster."""
    said = "it must be 'k-means++', 'random' or an array with one centre in each row"
    init = unmasked("init", init)
    try:
        found = wide(numpy.asarray(table(init)))
    except (TypeError, ValueError):
        raise TypeError(f"init is {init!r}: {said}") from None
    shape = (clusters, X.shape[1])
    if found.shape != shape:
        raise ValueError(f"init is of shape {found.shape}: {said}, of shape {shape}")
    if not numpy.isfinite(found).all():
        row, column = numpy.argwhere(~numpy.isfinite(found))[0]
        raise ValueError(
            f"init is {found[row, column]} at row {row}, column {column}: it must be finite"
        )
    return found


def squares(X: numpy.ndarray, scale: float = 1.0) -> numpy.ndarray:
    """Squared distances of rows times `scale`, the same for a pair in both orders."""
    pairs = numpy.zeros((len(X), len(X)))
    for column in X.T:
        pairs += ((column[:, None] - column) * scale) ** 2
    return pairs


def distances(X: numpy.ndarray) -> numpy.ndarray:
    """Distances of rows, however small: the squares of small ones alone would be 0."""
    reach = float(numpy.abs(X - X[0]).max())
    # A power of two changes no bit.
    power = max(-1000, min(1000, math.frexp(reach)[1])) if math.isfinite(reach) else 0
    return numpy.sqrt(squares(X, math.ldexp(1.0, -power))) * math.ldexp(1.0, power)


def square(X: numpy.ndarray) -> numpy.ndarray:
    """`X` as a matrix of dissimilarities."""
    if X.shape[0] != X.shape[1]:
        raise ValueError(f"a matrix of dissimilarities is square, not {X.shape[0]} by {X.shape[1]}")
    return X
