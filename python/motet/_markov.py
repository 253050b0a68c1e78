"""Sequences, and hidden Markov models of them as their attributes give them.

The attributes are the model. What has been set by hand counts, also without a fit.
"""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy

from motet import _motet
from motet._input import table, unmasked

__all__ = ["categorical", "even", "gaussian", "lengths_of", "reach", "spread"]

# What a sum of float32 may miss 1 by, and what the extension takes for 1.
_NEAR, _TAKEN = 1e-6, 1e-9


def _numbers(name: str, given: Any, shape: tuple[int, ...] | None) -> numpy.ndarray:
    """`given` as numbers of 64 bits; a size of -1 may be any but 0."""
    given = unmasked(name, given)
    try:
        found = numpy.asarray(given, dtype=numpy.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} is {given!r}: it must be an array of numbers") from None
    if shape is None:
        if found.ndim != 1 or not len(found):
            raise ValueError(f"{name} is of shape {found.shape}: it has one number for each state")
        return found
    fits = found.ndim == len(shape) and all(
        size == wanted or (wanted < 0 and size)
        for size, wanted in zip(found.shape, shape, strict=True)
    )
    if not fits:
        wants = " by ".join("any number" if wanted < 0 else str(wanted) for wanted in shape)
        raise ValueError(
            f"{name} is of shape {found.shape}, and startprob_ has {shape[0]} states: it must be "
            f"{wants}"
        )
    return found


def _shares(name: str, found: numpy.ndarray) -> numpy.ndarray:
    """Rows of probabilities that add up to 1, also where less than 64 bits have been kept."""
    rows = found if found.ndim == 2 else found[None]
    sums = rows.sum(axis=1)
    wrong = ~((rows >= 0).all(axis=1) & (numpy.abs(sums - 1) <= _NEAR))
    if wrong.any():
        row = int(wrong.argmax())
        of = f", row {row}" if found.ndim == 2 else ""
        raise ValueError(
            f"{name}{of} is {rows[row].tolist()}: it must be probabilities that add up to 1, not "
            f"{sums[row]}"
        )
    return numpy.where(numpy.abs(sums - 1) > _TAKEN, 1 / sums, 1.0)[:, None] * rows


def _moments(means: numpy.ndarray, variances: numpy.ndarray) -> None:
    """Check what a normal distribution must have."""
    if not numpy.isfinite(means).all():
        row, column = numpy.argwhere(~numpy.isfinite(means))[0]
        raise ValueError(
            f"means_ is {means[row, column]} at row {row}, column {column}: it must be finite"
        )
    good = (variances > 0) & numpy.isfinite(variances)
    if not good.all():
        row, column = numpy.argwhere(~good)[0]
        raise ValueError(
            f"covars_ is {variances[row, column]} at row {row}, column {column}: a variance is "
            "positive and finite"
        )


def _steps(model: Any) -> tuple[numpy.ndarray, numpy.ndarray]:
    start = _numbers("startprob_", model.startprob_, None)
    return start, _numbers("transmat_", model.transmat_, (len(start), len(start)))


def categorical(model: Any) -> _motet.Markov:
    """The model that the attributes of a `CategoricalHMM` are; `ValueError` where they are none."""
    start, transitions = _steps(model)
    shown = _numbers("emissionprob_", model.emissionprob_, (len(start), -1))
    try:
        return _motet.Markov.categorical(start.tolist(), transitions, shown)
    except ValueError:
        # Said by the name that it has here.
        start = _shares("startprob_", start)[0]
        transitions = _shares("transmat_", transitions)
        shown = _shares("emissionprob_", shown)
        return _motet.Markov.categorical(start.tolist(), transitions, shown)


def gaussian(model: Any) -> _motet.Markov:
    """The model that the attributes of a `GaussianHMM` are; `ValueError` where they are none."""
    start, transitions = _steps(model)
    means = _numbers("means_", model.means_, (len(start), -1))
    variances = _numbers("covars_", model.covars_, means.shape)
    try:
        return _motet.Markov.gaussian(start.tolist(), transitions, means, variances)
    except ValueError:
        start = _shares("startprob_", start)[0]
        transitions = _shares("transmat_", transitions)
        _moments(means, variances)
        return _motet.Markov.gaussian(start.tolist(), transitions, means, variances)


def lengths_of(X: numpy.ndarray, second: Any, lengths: Sequence[int] | None) -> list[int]:
    """How many rows each sequence has; `second` may be those lengths, or a `y`."""
    if isinstance(second, Iterator):
        second = list(second)
    if lengths is None and second is not None:
        given = numpy.asarray(table(second))
        if given.dtype.kind in "iu" and (given > 0).all() and given.sum() == len(X):
            lengths = given.ravel().tolist()
        elif given.shape[:1] != (len(X),):
            told = (
                f"add up to {given.sum()}" if given.dtype.kind in "iu" else "are no whole numbers"
            )
            raise ValueError(f"the lengths {told}, and there are {len(X)} rows")
    if lengths is None:
        return [len(X)]
    if isinstance(lengths, str) or not isinstance(lengths, Iterable):
        raise TypeError(f"lengths is {lengths!r}: it must be a list of whole numbers")
    asked: list[Any] = list(lengths)
    for length in asked:
        if not isinstance(length, numbers.Real) or not length % 1 == 0:
            raise ValueError(f"lengths hold {length}: they are whole numbers of rows")
    lengths = [int(length) for length in asked]
    if any(length < 1 for length in lengths):
        raise ValueError(f"lengths hold {min(lengths)}: a sequence has at least one row")
    if sum(lengths) != len(X):
        raise ValueError(f"the lengths add up to {sum(lengths)}, and there are {len(X)} rows")
    return lengths


def even(states: int) -> tuple[list[float], numpy.ndarray]:
    """Give states that all begin alike, and lead to all alike."""
    return [1.0 / states] * states, numpy.full((states, states), 1.0 / states)


def reach(shares: Any) -> numpy.ndarray:
    """Give up to which number below 1 a draw is of each state or symbol, row by row.

    The last that has a share reaches 1, also where rounding leaves the sum short of it: what has no
    share is never drawn.
    """
    sums = numpy.cumsum(shares, axis=1)
    return sums / sums[:, -1:]


def spread(length: int, most: int) -> Any:
    """Give all of `length` places, or about `most` that no period of the sequence can avoid."""
    if length <= most:
        return slice(None)
    golden = (5**0.5 - 1) / 2
    return numpy.unique((numpy.arange(most) * golden % 1 * length).astype(int))
