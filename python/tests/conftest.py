"""Points that several tests cluster."""

import numpy
import pytest


@pytest.fixture
def groups():
    """Three groups of rows, 50, 100 and 150, in the plane."""
    random = numpy.random.default_rng(5)
    sizes, middles = [50, 100, 150], [[0.0, 0.0], [9.0, 0.0], [4.0, 8.0]]
    parts = [random.normal(m, 0.5, (n, 2)) for n, m in zip(sizes, middles, strict=True)]
    return numpy.concatenate(parts)
