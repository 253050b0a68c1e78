"""Calls that were started."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from motet import _motet
from motet.mpi4py._constants import ANY_SOURCE, ANY_TAG
from motet.mpi4py._status import Status


class Call:
    """A call that was started, and what it has ended with."""

    __slots__ = ("_finish", "_pending", "cancelled", "nbytes", "result", "source", "tag")

    def __init__(self, pending: Any, finish: Callable[[Call, Any], None] | None = None) -> None:
        self._finish = finish
        self.source, self.tag, self.nbytes, self.cancelled = ANY_SOURCE, ANY_TAG, 0, False
        self.result: Any = None
        if isinstance(pending, _motet.MpiRequest):
            self._pending: Any = pending
        else:
            self._pending = None
            self._end(pending)

    def __del__(self) -> None:
        # One that nobody keeps takes place all the same. On another thread nobody would finish it.
        if self._pending is not None and self._pending.is_here():
            self.leave()

    def _end(self, given: Any) -> None:
        self._pending = None
        finish, self._finish = self._finish, None
        if finish is not None:
            finish(self, given)

    def wait(self) -> None:
        """Wait until it has ended."""
        pending = self._pending
        if pending is not None:
            # On another thread nothing has been lost.
            pending.check()
            self._pending = None
            self._end(pending.wait())

    def test(self) -> bool:
        """Whether it has ended."""
        pending = self._pending
        if pending is not None:
            pending.check()
            self._pending = None
            given = pending.test()
            if given is None:
                self._pending = pending
                return False
            self._end(given[0])
        return True

    @property
    def has_ended(self) -> bool:
        """Whether it was seen to end, well or not."""
        return self._pending is None

    def cancel(self) -> None:
        """Give it up, if it is a receive that has not ended."""
        if self._pending is not None and self._pending.cancel():
            self._pending, self.cancelled, self._finish = None, True, None

    def leave(self) -> None:
        """Wait no more. It is finished by a later call of the rank that waits or tests."""
        pending = self._pending
        if pending is not None:
            # On another thread nobody would finish it.
            pending.check()
            self._pending = None
            pending.leave(self._end)

    def tell(self, status: Status | None) -> None:
        """Write down what is known of its message."""
        if status is not None:
            status._set(self.source, self.tag, self.nbytes, self.cancelled)
