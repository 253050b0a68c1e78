"""Hints: texts by their keys. motet has no use for them and keeps them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from motet.mpi4py._errors import fail


class Info:
    """Texts by their keys."""

    def __init__(self, info: Info | None = None) -> None:
        self._items: dict[str, str] | None = None if info is None else info._items

    @classmethod
    def Create(
        cls, items: Info | Mapping[str, str] | Iterable[tuple[str, str]] | None = None
    ) -> Info:
        """Make an info of these texts."""
        made = cls()
        made._items = {}
        if items is not None:
            made.update(items)
        return made

    def _valid(self) -> dict[str, str]:
        if self._items is None:
            fail("ERR_INFO", "the info is null")
        return self._items

    def __eq__(self, other: object) -> bool:
        return self._items is other._items if isinstance(other, Info) else NotImplemented

    def __hash__(self) -> int:
        return id(self._items)

    def __bool__(self) -> bool:
        return self._items is not None

    def __len__(self) -> int:
        return len(self._items or {})

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._items or {}))

    def __contains__(self, key: object) -> bool:
        return key in (self._items or {})

    def __getitem__(self, key: str) -> str:
        return self._valid()[key]

    def __setitem__(self, key: str, value: str) -> None:
        self.Set(key, value)

    def __delitem__(self, key: str) -> None:
        del self._valid()[key]

    def __reduce__(self) -> Any:
        if self._items is None:
            return "INFO_NULL" if self is INFO_NULL else (Info, ())
        return Info.Create, (dict(self._items),)

    def Free(self) -> None:
        """Give the handle up."""
        self._valid()
        self._items = None

    def free(self) -> None:
        """Give the handle up."""
        self._items = None

    def Dup(self) -> Info:
        """Make an info of the same texts."""
        return type(self).Create(self._valid())

    copy = Dup

    def Get(self, key: str) -> str | None:
        """Give the text of a key, if there is one."""
        return self._valid().get(key)

    def Set(self, key: str, value: str) -> None:
        """Set the text of a key."""
        self._valid()[str(key)] = str(value)

    def Delete(self, key: str) -> None:
        """Remove a key."""
        if self._valid().pop(key, None) is None:
            fail("ERR_INFO_NOKEY", key)

    def Get_nkeys(self) -> int:
        """Give the number of keys."""
        return len(self._valid())

    def Get_nthkey(self, n: int) -> str:
        """Give a key by its place."""
        return list(self._valid())[n]

    def get(self, key: str, default: str | None = None) -> str | None:
        """Give the text of a key, or another."""
        return (self._items or {}).get(key, default)

    def keys(self) -> list[str]:
        """Give the keys."""
        return list(self._items or {})

    def values(self) -> list[str]:
        """Give the texts."""
        return list((self._items or {}).values())

    def items(self) -> list[tuple[str, str]]:
        """Give the keys with their texts."""
        return list((self._items or {}).items())

    def update(self, items: Any = (), **more: str) -> None:
        """Set the texts of several keys."""
        pairs = items.items() if hasattr(items, "items") else items
        for key, value in [*pairs, *more.items()]:
            self.Set(key, value)

    def pop(self, key: str, *default: str) -> str:
        """Remove a key; its text."""
        return self._valid().pop(key, *default)

    def popitem(self) -> tuple[str, str]:
        """Remove some key; it and its text."""
        return self._valid().popitem()

    def clear(self) -> None:
        """Remove all keys."""
        self._valid().clear()


INFO_NULL = Info()
INFO_ENV = Info.Create()
