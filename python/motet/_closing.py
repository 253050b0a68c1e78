"""What is closed before the interpreter ends: its threads want it, and must not outlive it."""

from __future__ import annotations

import atexit
import weakref
from typing import Any


def closed_at_exit() -> weakref.WeakSet[Any]:
    """Make a set of objects that are closed at the end, if they are still there."""
    kept: weakref.WeakSet[Any] = weakref.WeakSet()

    def close_all() -> None:
        failed = None
        for one in list(kept):
            try:
                one.close()
            except Exception as error:
                # The others are closed all the same.
                failed = error
        if failed is not None:
            raise failed

    atexit.register(close_all)
    return kept
