"""Pictures of results, with matplotlib, which is imported when the first is drawn.

Each function draws into `ax`, or into the current axes, and gives the axes.
"""

from __future__ import annotations

from typing import Any

import numpy

from motet._input import table

__all__ = ["clusters", "profile", "trace"]


def clusters(estimator: Any, X: Any, ax: Any = None) -> Any:
    """Draw rows in the colours of their clusters, and what is in their middles.

    Parameters
    ----------
    estimator :
        One with `labels_`, that has been fitted.
    X : array or frame of shape (n_samples, n_features)
        The rows of the fit. Two columns are drawn as they are, more by their two directions of
        largest variance. Of a fit of dissimilarities, places: `AnnealedMDS(…).fit_transform(D)`.
    ax : matplotlib Axes, optional
        Where to draw.
    """
    labels = _of(estimator, "labels_", "clusters")
    X = numpy.asarray(table(X), dtype=float)
    if X.ndim != 2 or len(X) != len(labels):
        raise ValueError(f"the fit had {len(labels)} rows, and X has the shape {X.shape}")
    middles = _middles(estimator, X)
    if middles.shape[1:] != X.shape[1:]:
        raise ValueError(f"the fit had {middles.shape[1]} columns, and X has {X.shape[1]}")
    if X.shape[1] > 2:
        middle = X.mean(axis=0)
        plane = numpy.linalg.svd(X - middle, full_matrices=False)[2][:2].T
        X, middles = (X - middle) @ plane, (middles - middle) @ plane
    if X.shape[1] == 1:
        X = numpy.column_stack([X, numpy.zeros(len(X))])
        middles = numpy.column_stack([middles, numpy.zeros(len(middles))])
    ax = _axes(ax)
    ax.scatter(X[:, 0], X[:, 1], c=labels, s=4, cmap="tab20", linewidths=0)
    ax.scatter(middles[:, 0], middles[:, 1], marker="+", c="black", s=60)
    return ax


def trace(estimator: Any, ax: Any = None) -> Any:
    """Draw how a fit went.

    Of an annealing the clusters, or the stress, over the temperature; of a mixture or a hidden
    Markov model ln p over the steps.
    """
    steps = _of(estimator, "trace_", "steps")
    ax = _axes(ax)
    if steps.dtype.names is None:
        ax.plot(steps, marker=".")
        ax.set_xlabel("step")
        ax.set_ylabel("ln p")
        return ax
    what = "clusters" if "clusters" in steps.dtype.names else "stress"
    # The last steps of an annealing may be at temperature zero, which a logarithm has no place for.
    steps = steps[steps["temperature"] > 0]
    if what == "clusters":
        ax.step(steps["temperature"], steps[what], where="post")
    else:
        ax.plot(steps["temperature"], steps[what], marker=".")
    ax.set_xscale("log")
    ax.invert_xaxis()
    ax.set_xlabel("temperature")
    ax.set_ylabel(what)
    return ax


def profile(estimator: Any, ax: Any = None) -> Any:
    """Draw where the time of each rank went: computing, messaging, waiting.

    `estimator` has been fitted with `profile=True`; a :class:`motet.Profile` will do, too.
    """
    told = estimator if hasattr(estimator, "ranks") else _of(estimator, "profile_", "profile")
    shares = numpy.array([times for _, *times in told.ranks])
    ax = _axes(ax)
    ranks, below = numpy.arange(len(shares)), numpy.zeros(len(shares))
    for name, part in zip(("computing", "messaging", "waiting"), shares.T, strict=True):
        ax.bar(ranks, part, bottom=below, label=name)
        below += part
    ax.set_xticks(ranks if len(ranks) <= 32 else ranks[:: len(ranks) // 16])
    ax.set_xlabel("rank")
    ax.set_ylabel("seconds")
    ax.set_title(f"overhead {told.overhead:.3g}")
    ax.legend()
    return ax


def _of(estimator: Any, attribute: str, what: str) -> Any:
    value = getattr(estimator, attribute, None)
    if value is None:
        kind = type(estimator).__name__
        if attribute == "profile_":
            hint = "fit it with profile=True"
        elif any(name.endswith("_") and name[0] != "_" for name in vars(estimator)):
            hint = "it has been fitted, and a fit of its kind makes none"
            if attribute == "labels_" and hasattr(estimator, "predict"):
                hint += f"; draw the rows in the colours of {kind}.predict(X)"
        else:
            hint = "fit it first"
        raise ValueError(f"this {kind} has no {attribute}, no {what}: {hint}")
    return value


def _middles(estimator: Any, X: numpy.ndarray) -> numpy.ndarray:
    """The centres, means or medoids."""
    for name in ("cluster_centers_", "means_"):
        if hasattr(estimator, name):
            return numpy.asarray(getattr(estimator, name), dtype=float)
    return X[_of(estimator, "medoid_indices_", "medoids")]


def _axes(ax: Any) -> Any:
    if ax is not None:
        return ax
    from matplotlib import pyplot

    return pyplot.gca()
