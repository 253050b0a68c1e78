"""scikit-learn's callbacks, from its version 1.9 on: `estimator.set_callbacks(ProgressBar())`.

A fit is a task of a hundred subtasks, each a hundredth of the way. A hook that returns `True` at
the end of a subtask ends the fit, as `callback` does with `False`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """There are no callbacks before scikit-learn 1.9."""

    def with_callbacks(method: Any) -> Any:
        """There is nothing to tear down."""
        return method


__all__ = ["CallbackSupportMixin", "Hundredths", "told"]

HUNDREDTHS = 100
Fit = TypeVar("Fit", bound=Callable[..., Any])


def _whole_or_nothing(fit: Fit) -> Any:
    """A fit that leaves its estimator as it was when it fails."""

    @functools.wraps(fit)
    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        before = dict(vars(self))
        try:
            return fit(self, *args, **kwargs)
        except BaseException:
            own = vars(self)
            # A parameter that a callback has changed stays so.
            before.update((name, own[name]) for name in self.get_params(deep=False) if name in own)
            for name in own.keys() - before.keys():
                del own[name]
            own.update(before)
            raise

    return run


def told(method: Fit) -> Fit:
    """A fit whose begin and end are told to the callbacks that the estimator has.

    One that fails leaves the estimator as it was.
    """

    @functools.wraps(method)
    def run(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
        has_callbacks = bool(getattr(self, "_skl_callbacks", None))
        if not has_callbacks and not hasattr(self, "_parent_callback_ctx"):
            return method(self, X, *args, **kwargs)
        task = self._init_callback_context(max_subtasks=HUNDREDTHS)
        task.call_on_fit_task_begin(estimator=self, X=X)
        fitted = method(self, X, *args, **kwargs)
        task.call_on_fit_task_end(estimator=self, X=X)
        return fitted

    # A callback may fail at the end, too.
    return _whole_or_nothing(with_callbacks(run))


class Hundredths:
    """Tells the callbacks of an estimator how far its fit is."""

    def __init__(self, estimator: Any) -> None:
        self._estimator = estimator
        has_callbacks = bool(getattr(estimator, "_skl_callbacks", None))
        task = getattr(estimator, "_callback_fit_ctx", None)
        self._task: Any = task if has_callbacks else None
        self._told = 0

    def __bool__(self) -> bool:
        return self._task is not None

    def hear(self, now: dict[str, Any]) -> bool:
        """Tells what has been done since the last time; whether a callback ends the fit."""
        ends = False
        while self._told < min(HUNDREDTHS, int(now["done"] * HUNDREDTHS)):
            self._told += 1
            step = self._task.subcontext(task_name="hundredth")
            step.call_on_fit_task_begin(estimator=self._estimator, metadata=now)
            ends |= step.call_on_fit_task_end(estimator=self._estimator, metadata=now)
        return ends
