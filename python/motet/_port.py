"""Ports, and parts of joins; public as `motet.ports.Port`, `Part` and `PortSet`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any, Generic, TypeVar

from motet import _motet
from motet._awaiting import Wait
from motet._motet import Closed
from motet._parameters import called, limit, whole

__all__ = ["Part", "Port", "PortSet", "inner"]

T = TypeVar("T")


def inner(given: Any, kind: type, attribute: str, said: str) -> Any:
    """Give what an object stands for in the extension; `said` is what else is told."""
    if not isinstance(given, kind):
        name = "an Arbiter" if kind.__name__ == "Arbiter" else f"a {kind.__name__}"
        raise TypeError(f"{name} is expected, not {type(given).__name__}{said}")
    return getattr(given, attribute)


class Part(Generic[T]):
    """What a join takes of a port: made by `port.times(2)`, `port.when(guard)`."""

    def __init__(
        self, port: Port[T], count: int | None = None, guard: Callable[[T], Any] | None = None
    ) -> None:
        if count is not None:
            count = whole("count", count, 1)
        if guard is not None:
            called("guard", guard)
        self._port, self._guard = port, guard
        self._part = _motet.Part(inner(port, Port, "_port", ""), count, guard)

    def times(self, count: int) -> Part[T]:
        """Take so many items at a time, as a list."""
        return Part(self._port, count, self._guard)


class Port(Generic[T]):
    """Takes items from anyone and keeps each until a receiver takes it.

    >>> port = Port()
    >>> port.post(10)
    >>> port.post(20)
    >>> len(port), port.test(), port.test(), port.test()
    (2, 10, 20, None)
    """

    __slots__ = ("__weakref__", "_port")

    def __init__(self) -> None:
        self._port = _motet.Port()

    @classmethod
    def _of(cls, port: _motet.Port) -> Port[T]:
        made = cls.__new__(cls)
        made._port = port
        return made

    def __repr__(self) -> str:
        closed = ", closed" if self.is_closed else ""
        return f"<Port {self._port.id()}: {len(self)} items{closed}>"

    def __len__(self) -> int:
        return self._port.item_count()

    def __bool__(self) -> bool:
        return True

    def post(self, item: T) -> None:
        """Post an item; never waits. Raises `Closed` when the port is closed."""
        self._port.post(item)

    def test(self, default: Any = None) -> T | Any:
        """Take the oldest item, or give the default when there is none."""
        came = self._port.test()
        return default if came is None else came[0]

    async def get(self) -> T:
        """Wait for an item and take it, on a loop of asyncio or in an `async` handler.

        Raises `Closed` when the port is closed and empty. A wait that is cancelled takes nothing.
        """
        return await Wait(self._port.taking())

    def get_blocking(self, timeout: float | None = None) -> T:
        """Block the thread until there is an item, and take it.

        Raises `TimeoutError` when so many seconds have passed, `Closed` when the port is closed and
        empty, and `MotetError` on a thread of a dispatcher: a handler that waits is `async` there.
        """
        return self._port.taking().block(limit("timeout", timeout))

    async def __aiter__(self) -> AsyncIterator[T]:
        while True:
            try:
                item = await self.get()
            except Closed:
                return
            yield item

    def close(self) -> None:
        """Take nothing more; what is there may still be taken."""
        self._port.close()

    @property
    def is_closed(self) -> bool:
        """Whether the port has been closed."""
        return self._port.is_closed()

    def times(self, count: int) -> Part[T]:
        """Make a part of a join that takes so many items at a time, as a list."""
        return Part(self, count)

    def when(self, guard: Callable[[T], Any]) -> Part[T]:
        """Make a part of a join that takes the oldest item that the guard wants.

        The guard runs on the poster's thread and must not use ports.
        """
        return Part(self, None, guard)


class PortSet:
    """Items of several types, addressed by type: each goes to the port of its type.

    >>> both = PortSet(int, str)
    >>> both.post(7)
    >>> both.post("seven")
    >>> both[int].test(), both[str].test()
    (7, 'seven')
    """

    def __init__(self, *types: type) -> None:
        if not types or len(set(types)) < len(types):
            raise ValueError("a set has at least one type, and none twice")
        self._ports: dict[type, Port[Any]] = {kind: Port() for kind in types}

    def __getitem__(self, kind: type) -> Port[Any]:
        return self._ports[kind]

    def __iter__(self) -> Any:
        return iter(self._ports.values())

    def __len__(self) -> int:
        return len(self._ports)

    def post(self, item: Any) -> None:
        """Post to the port of the item's type, else of its nearest base type that has one."""
        for kind in type(item).__mro__:
            if kind in self._ports:
                return self._ports[kind].post(item)
        known = ", ".join(kind.__name__ for kind in self._ports)
        raise TypeError(f"no port takes a {type(item).__name__}; there are ports for {known}")
