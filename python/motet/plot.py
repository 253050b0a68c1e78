"""Pictures of results, with matplotlib, which is imported when the first is drawn."""

from __future__ import annotations

from typing import Any

import numpy

__all__ = ["clusters", "trace"]


def clusters(estimator: Any, X: Any, ax: Any = None) -> Any:
    """Draw rows in the colours of their clusters, and the centres; gives the axes.

    Two columns are drawn as they are, more by their two directions of largest variance.
    """
    from matplotlib import pyplot

    X = numpy.asarray(X, dtype=float)
    ax = ax or pyplot.gca()
    centres = getattr(estimator, "cluster_centers_", None)
    if centres is None:
        centres = estimator.means_
    if X.shape[1] > 2:
        middle = X.mean(axis=0)
        plane = numpy.linalg.svd(X - middle, full_matrices=False)[2][:2].T
        X, centres = (X - middle) @ plane, (centres - middle) @ plane
    if X.shape[1] == 1:
        X = numpy.column_stack([X, numpy.zeros(len(X))])
        centres = numpy.column_stack([centres, numpy.zeros(len(centres))])
    ax.scatter(X[:, 0], X[:, 1], c=estimator.labels_, s=4, cmap="tab20", linewidths=0)
    ax.scatter(centres[:, 0], centres[:, 1], marker="+", c="black", s=60)
    return ax


def trace(estimator: Any, ax: Any = None) -> Any:
    """Draw the number of clusters over the temperature of an annealing; gives the axes."""
    from matplotlib import pyplot

    ax = ax or pyplot.gca()
    ax.step(estimator.trace_["temperature"], estimator.trace_["clusters"], where="post")
    ax.set_xscale("log")
    ax.invert_xaxis()
    ax.set_xlabel("temperature")
    ax.set_ylabel("clusters")
    return ax
