"""Operators of the program: what they raise reaches all ranks that would use the result."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

from motet._motet import MotetError

# What the bytes that go from rank to rank begin with.
_WELL, _FAILED = b"\0", b"\1"


class Combining:
    """Combines the bytes of ranks by a function.

    What it raises is raised where it was called, and by all who would use its result.
    """

    def __init__(self, combine: Callable[[bytes, bytes], bytes]) -> None:
        self._combine = combine
        self._raised: BaseException | None = None

    def sent(self, data: Any) -> bytes:
        """Give what is sent for the bytes of this rank."""
        return b"".join((_WELL, data))

    def __call__(self, a: bytes, b: bytes) -> bytes:
        for data in (a, b):
            if data.startswith(_FAILED):
                return data
        try:
            return _WELL + self._combine(a[1:], b[1:])
        except BaseException as error:
            # Also an exit or Ctrl-C: else the others would go on with what is no result.
            self._raised = error
            return _FAILED + _written(error)

    def result(self, data: bytes | None) -> bytes | None:
        """Give the bytes that have come, if some have."""
        if self._raised is not None:
            try:
                raise self._raised
            finally:
                # Its traceback keeps this, which is to keep nothing in turn.
                self._raised = None
        if data is None:
            return None
        if data.startswith(_FAILED):
            raise pickle.loads(data[1:])
        return data[1:]


def _written(error: BaseException) -> bytes:
    """Give the bytes of an error; of one that does not come back from them, those of its words."""
    try:
        data = pickle.dumps(error)
        if isinstance(pickle.loads(data), BaseException):
            return data
    except Exception:
        # It is told by its words.
        pass
    try:
        words = str(error)
    except Exception:
        words = "it cannot be written"
    return pickle.dumps(MotetError(f"{type(error).__name__}: {words}"))
