"""Random numbers of a `random_state`."""

from __future__ import annotations

from typing import Any

import numpy


def randoms(random_state: Any) -> numpy.random.RandomState:
    """Give what draws: new for `None`, of a seed, or what was given."""
    if isinstance(random_state, numpy.random.RandomState):
        return random_state
    if isinstance(random_state, numpy.random.Generator):
        return numpy.random.RandomState(random_state.bit_generator)
    return numpy.random.RandomState(random_state)
