"""Attributes: what programs remember of communicators and datatypes, by keys."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from motet.mpi4py import _constants as constants
from motet.mpi4py._errors import fail


class _Key:
    def __init__(self, copy_fn: Any, delete_fn: Any) -> None:
        self.copy, self.delete = copy_fn, delete_fn


_keys: dict[int, _Key] = {}
# Several ranks may make some at once.
_numbers = itertools.count(601)

_PREDEFINED = {
    constants.TAG_UB: constants._MOST_TAG,
    constants.IO: constants.ANY_SOURCE,
    constants.HOST: constants.PROC_NULL,
    constants.WTIME_IS_GLOBAL: False,
    constants.LASTUSEDCODE: 0x3FFFFFFF,
}


class Attributes:
    """The calls for the attributes of an object."""

    def _attributes(self) -> dict[int, Any]:
        raise NotImplementedError

    @classmethod
    def Create_keyval(
        cls,
        copy_fn: Callable[..., Any] | None = None,
        delete_fn: Callable[..., None] | None = None,
        nopython: bool = False,
    ) -> int:
        """Make a key. `copy_fn` says what a duplicate gets: nothing without it."""
        keyval = next(_numbers)
        _keys[keyval] = _Key(copy_fn, delete_fn)
        return keyval

    @classmethod
    def Free_keyval(cls, keyval: int) -> int:
        """Give a key up."""
        if _keys.pop(keyval, None) is None:
            fail("ERR_KEYVAL", f"there is no key {keyval}")
        return constants.KEYVAL_INVALID

    def Get_attr(self, keyval: int) -> Any:
        """Give what was remembered by a key; `None` if nothing was."""
        if keyval in _PREDEFINED:
            return _PREDEFINED[keyval]
        if keyval in (constants.APPNUM, constants.UNIVERSE_SIZE):
            return None
        if keyval not in _keys and keyval not in self._attributes():
            fail("ERR_KEYVAL", f"there is no key {keyval}")
        return self._attributes().get(keyval)

    def Set_attr(self, keyval: int, attrval: Any) -> None:
        """Remember something by a key."""
        if keyval not in _keys:
            fail("ERR_KEYVAL", f"there is no key {keyval} of the program")
        attributes = self._attributes()
        if keyval in attributes:
            self.Delete_attr(keyval)
        attributes[keyval] = attrval

    def Delete_attr(self, keyval: int) -> None:
        """Forget what was remembered by a key."""
        attributes = self._attributes()
        if keyval not in attributes:
            fail("ERR_KEYVAL", f"nothing is remembered by the key {keyval}")
        value = attributes.pop(keyval)
        key = _keys.get(keyval)
        if key is not None and key.delete is not None:
            key.delete(self, keyval, value)

    def _copied(self) -> dict[int, Any]:
        """Give what a duplicate remembers."""
        copied: dict[int, Any] = {}
        for keyval, value in self._attributes().items():
            key = _keys.get(keyval)
            if key is None or not key.copy:
                continue
            given = value if key.copy is True else key.copy(self, keyval, value)
            if given is not NotImplemented:
                copied[keyval] = given
        return copied

    def _forget(self) -> None:
        for keyval in list(self._attributes()):
            self.Delete_attr(keyval)
