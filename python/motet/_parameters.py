"""Parameters, checked by their names before they are used: what is refused says which, and why."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

import numpy

__all__ = [
    "at_most",
    "called",
    "check",
    "limit",
    "named",
    "of_rows",
    "randoms",
    "seed",
    "slashed",
    "span",
    "whole",
]

# The largest number of anything that is counted.
_MOST = 2**31 - 1

# Seconds from which on a time has no end: thirty thousand years.
_LONGEST = 1e12

# The least that each whole number may be.
_WHOLE = {
    "n_clusters": 1,
    "n_components": 1,
    "n_init": 1,
    "max_iter": 1,
    "n_iter": 1,
    "max_clusters": 1,
    "search": 0,
}

# What each real number must be, in words, and whether it is.
_REAL: dict[str, tuple[str, Callable[[float], bool]]] = {
    "cooling": ("at least 0.1 and below 1", lambda x: 0.1 <= x < 1),
    "tol": ("0 or more, and finite", lambda x: 0 <= x < math.inf),
    "reg_covar": ("0 or more, and finite", lambda x: 0 <= x < math.inf),
    "min_covar": ("above 0, and finite", lambda x: 0 < x < math.inf),
    "t_min": ("above 0, and finite", lambda x: 0 < x < math.inf),
    "checkpoint_every": ("seconds, 0 or more", lambda x: 0 <= x < math.inf),
}

_OPTIONAL = ("t_min", "max_clusters")

# The names of the parameters of each class. To read its signature takes longer than the checks.
_NAMES: WeakKeyDictionary[type, tuple[str, ...]] = WeakKeyDictionary()


def _names(estimator: Any) -> tuple[str, ...]:
    """The names of the parameters of an estimator."""
    kind = type(estimator)
    names = _NAMES.get(kind)
    if names is None:
        names = _NAMES[kind] = tuple(estimator.get_params(deep=False))
    return names


def whole(name: str, value: Any, least: int, most: int = _MOST) -> int:
    """Give a whole number that is not below `least`."""
    said = "a positive whole number" if least == 1 else f"a whole number, {least} or more"
    if isinstance(value, bool) or not isinstance(value, (int, numpy.integer)):
        raise TypeError(f"{name} is {value!r}: it must be {said}")
    if value < least:
        raise ValueError(f"{name} is {value!r}: it must be {said}")
    if value > most:
        raise ValueError(f"{name} is {value!r}: it must be at most {most}")
    return int(value)


def _of_time(name: str, value: Any) -> float:
    if isinstance(value, (bool, numpy.bool_)) or not hasattr(value, "__float__"):
        raise TypeError(f"{name} is {value!r}: it must be a number of seconds")
    if not value >= 0:
        raise ValueError(f"{name} is {value!r}: it must be seconds, 0 or more")
    return _LONGEST if value > _LONGEST else float(value)


def limit(name: str, value: Any) -> float | None:
    """Give the seconds that something may take; infinitely many are no limit, as `None`."""
    found = at_most(name, value)
    return None if found is None or found >= _LONGEST else found


def at_most(name: str, value: Any) -> float | None:
    """Give the seconds that something may take, where `None` is another limit than none."""
    return None if value is None else _of_time(name, value)


def span(name: str, value: Any) -> float:
    """Give the seconds that something takes."""
    found = _of_time(name, value)
    if found >= _LONGEST:
        raise ValueError(f"{name} is {value!r}: it must be seconds, below {_LONGEST:.0e}")
    return found


def named(name: str, value: Any) -> str:
    """Give a name that threads may have."""
    if not isinstance(value, str):
        raise TypeError(f"{name} is {value!r}: it must be a text")
    if "\0" in value:
        raise ValueError(f"{name} is {value!r}: a name has no zero byte")
    return value


def slashed(path: Any) -> str:
    """Give the path of a service."""
    if not isinstance(path, str):
        raise TypeError(f"the path is {path!r}: it must be a text, as '/till'")
    if not path.startswith("/"):
        raise ValueError(f"the path is {path!r}: it begins with a slash, as {'/' + path!r}")
    return path


def called(name: str, given: Any) -> None:
    """Check that something is a function."""
    if not callable(given):
        raise TypeError(f"{name} is {given!r}: it must be a function, or what can be called")


def _real(name: str, value: Any, said: str, holds: Callable[[float], bool]) -> None:
    numbers = (int, float, numpy.integer, numpy.floating)
    if isinstance(value, (bool, numpy.bool_)) or not isinstance(value, numbers):
        raise TypeError(f"{name} is {value!r}: it must be a number, {said}")
    if not holds(float(value)):
        raise ValueError(f"{name} is {value!r}: it must be {said}")


def check(
    estimator: Any,
    *,
    or_else: dict[str, Any] | None = None,
    words: dict[str, tuple[str, ...]] | None = None,
    ranges: dict[str, tuple[str, Callable[[float], bool]]] | None = None,
) -> None:
    """Check the parameters of an estimator.

    `or_else`: what a number may be that is none. `words`: what is one of several words. `ranges`:
    what numbers must be that have another range here than elsewhere.
    """
    ranges = {**_REAL, **(ranges or {})}
    for name in _names(estimator):
        value = getattr(estimator, name)
        if or_else and name in or_else and _is_the(value, or_else[name]):
            continue
        if name in _OPTIONAL and value is None:
            continue
        if words and name in words:
            _word(name, value, words[name])
        elif name in _WHOLE:
            whole(name, value, _WHOLE[name])
        elif name in ranges:
            _real(name, value, *ranges[name])


def _is_the(value: Any, other: Any) -> bool:
    # A word that was unpickled, or read from a file, equals another and is not the same object.
    return value is other or (isinstance(value, str) and value == other)


def _word(name: str, value: Any, words: tuple[str, ...]) -> None:
    *first, last = (repr(word) for word in words)
    said = f"{', '.join(first)} or {last}"
    if not isinstance(value, str):
        shape = getattr(value, "shape", None)
        shown = repr(value) if shape is None else f"an array of shape {shape}"
        raise TypeError(f"{name} is {shown}: it must be {said}")
    if value not in words:
        raise ValueError(f"{name} is {value!r}: it must be {said}")


def of_rows(name: str, count: Any, X: numpy.ndarray) -> int:
    """Give how many groups of rows are asked for, if there are as many rows."""
    count = whole(name, count, 1, most=max(_MOST, len(X)))
    if len(X) < count:
        raise ValueError(f"n_samples={len(X)} should be >= {name}={count}")
    return count


def seed(random_state: Any) -> int:
    """Give the seed that a `random_state` of scikit-learn stands for."""
    if random_state is None:
        return 0
    if random_state is numpy.random:
        # All of numpy's own functions draw from this one.
        random_state = numpy.random.mtrand._rand
    if isinstance(random_state, numpy.random.RandomState):
        return int(random_state.randint(numpy.iinfo(numpy.int32).max))
    if isinstance(random_state, numpy.random.Generator):
        return int(random_state.integers(numpy.iinfo(numpy.int64).max))
    if isinstance(random_state, bool) or not isinstance(random_state, (int, numpy.integer)):
        raise TypeError(
            f"random_state is {random_state!r}: it must be None, a whole number, 0 or more, "
            "a RandomState, a Generator, or numpy.random"
        )
    return whole("random_state", random_state, 0, most=2**64 - 1)


def randoms(random_state: Any) -> numpy.random.RandomState:
    """Give what draws for a `random_state`: new for `None`, of a seed, or what was given."""
    if random_state is numpy.random:
        random_state = numpy.random.mtrand._rand
    if isinstance(random_state, numpy.random.RandomState):
        return random_state
    if isinstance(random_state, numpy.random.Generator):
        return numpy.random.RandomState(random_state.bit_generator)
    if random_state is None:
        return numpy.random.RandomState()
    # More than numpy's own takes.
    return numpy.random.RandomState(seed(random_state) % 2**32)
