"""Fits that are watched: their ranks, what hears of them, and where their time went."""

from __future__ import annotations

import os
import tempfile
from typing import Any

import numpy

from motet import _motet
from motet._callbacks import Hundredths
from motet._parameters import called

__all__ = ["Watched", "kept", "ranks"]

# The most ranks of a fit.
_MOST = 65_536


def ranks(n_jobs: Any) -> int:
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
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, (int, numpy.integer)):
        raise TypeError(f"n_jobs is {n_jobs!r}: it must be a whole number, or None")
    if n_jobs == 0:
        raise ValueError("n_jobs is 0: it must be positive, or negative to count from all cores")
    if n_jobs > _MOST:
        raise ValueError(f"n_jobs is {n_jobs!r}: it must be at most {_MOST}")
    if n_jobs < 0:
        return max(1, _motet.cores() + 1 + n_jobs)
    return int(n_jobs)


def kept(estimator: Any) -> tuple[str, str, float] | None:
    """Where a fit keeps what it has done: the folder, the name, the seconds between two times."""
    if estimator.checkpoint is None:
        return None
    seconds = float(estimator.checkpoint_every)
    try:
        folder = os.fsdecode(estimator.checkpoint)
    except TypeError:
        raise TypeError(
            f"checkpoint is {estimator.checkpoint!r}: it must be the path of a folder"
        ) from None
    if os.path.exists(folder) and not os.path.isdir(folder):
        raise ValueError(
            f"checkpoint is {folder!r}: it is a file, and must be the path of a folder"
        )
    try:
        # A fit may take long before it keeps anything.
        os.makedirs(folder or ".", exist_ok=True)
        tempfile.TemporaryFile(dir=folder or ".").close()
    except (OSError, ValueError) as error:
        raise ValueError(
            f"checkpoint is {folder!r}, and nothing can be kept there: "
            f"{getattr(error, 'strerror', None) or error}: name another folder"
        ) from None
    return folder, type(estimator).__name__, seconds


class Watched:
    """Hears of the fit of an estimator.

    It calls the estimator's `callback` and scikit-learn's callbacks, shows a bar if `verbose` asks
    for one, and keeps the profile of the run as `profile_` if `profile` does. The run keeps
    checkpoints if the estimator has a folder for them.
    """

    def __init__(self, estimator: Any) -> None:
        self._estimator, self._bar, self._done = estimator, None, 0.0
        # What is wrong is said before a bar is shown.
        jobs, folder = ranks(estimator.n_jobs), kept(estimator)
        if estimator.callback is not None:
            called("callback", estimator.callback)
        if estimator.verbose:
            try:
                from tqdm.auto import tqdm
            except ImportError:
                tqdm = None
            if tqdm is not None:
                form = "{desc}: {percentage:3.0f}%|{bar}| {elapsed}<{remaining}{postfix}"
                self._bar = tqdm(total=1.0, desc=type(estimator).__name__, bar_format=form)
        self._hundredths = Hundredths(estimator)
        heard = estimator.callback is not None or self._bar is not None or self._hundredths
        hear = self._hear if heard else None
        self._run = _motet.Run(jobs, hear, bool(estimator.profile), folder)

    def __enter__(self) -> _motet.Run:
        return self._run

    def __exit__(self, failed: Any, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()
        if failed is None:
            # That of an earlier fit says nothing of this one.
            self._estimator.__dict__.pop("profile_", None)
            if self._estimator.profile:
                self._estimator.profile_ = self._run.profile
        # It has what hears, which is of this: nothing is kept until the collector comes.
        del self._run

    def _hear(self, now: dict[str, Any]) -> Any:
        if self._bar is not None:
            self._bar.update(now["done"] - self._done)
            self._done = now["done"]
            self._bar.set_postfix(clusters=now["clusters"], T=f"{now['temperature']:.3g}")
        ends = bool(self._hundredths) and self._hundredths.hear(now)
        callback = self._estimator.callback
        answer = None if callback is None else callback(now)
        return False if ends else answer
