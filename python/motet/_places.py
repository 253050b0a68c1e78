"""Centres that were set by hand: which is nearest, and how far all are."""

from __future__ import annotations

from typing import Any

import numpy

from motet._input import unmasked

__all__ = ["Places"]


class Places:
    """Centres, one in each row. What it is asked for is what a `Clustering` gives."""

    def __init__(self, given: Any) -> None:
        said = "it must be an array with one centre in each row"
        given = unmasked("cluster_centers_", given)
        try:
            self._places = numpy.asarray(given, dtype=numpy.float64)
        except (TypeError, ValueError):
            raise ValueError(f"cluster_centers_ is {given!r}: {said}") from None
        if self._places.ndim != 2 or not self._places.size:
            raise ValueError(f"cluster_centers_ is of shape {self._places.shape}: {said}")
        if not numpy.isfinite(self._places).all():
            row, column = numpy.argwhere(~numpy.isfinite(self._places))[0]
            raise ValueError(
                f"cluster_centers_ is {self._places[row, column]} at row {row}, column {column}: "
                "it must be finite"
            )

    def transform(self, X: numpy.ndarray) -> numpy.ndarray:
        """Give the distance of each row from each centre."""
        columns = self._places.shape[1]
        if X.shape[1] != columns:
            raise ValueError(f"X has {X.shape[1]} columns, and cluster_centers_ has {columns}")
        found = numpy.zeros((len(X), len(self._places)))
        for place, centre in enumerate(self._places):
            for column in range(columns):
                # The root of a sum of squares, also where no number holds a square.
                numpy.hypot(found[:, place], X[:, column] - centre[column], out=found[:, place])
        return found

    def predict(self, X: numpy.ndarray) -> numpy.ndarray:
        """Give the nearest centre of each row, the first of equals."""
        return self.transform(X).argmin(axis=1).astype(numpy.int32)
