"""Interrupts of ranks that compute: signals reach the main thread alone."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable

_raise_on = ctypes.pythonapi["PyThreadState_SetAsyncExc"]
_raise_on.argtypes = [ctypes.c_ulong, ctypes.py_object]
_raise_on.restype = ctypes.c_int


def interrupt(threads: Iterable[int], kind: type[BaseException]) -> None:
    """Have threads raise an exception at their next step of Python, if they have not ended."""
    for ident in threads:
        _raise_on(ident, kind)
