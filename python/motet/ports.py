"""Ports, arbiters and dispatchers: handlers of Python run when their items are there.

>>> from motet.ports import Dispatcher, Port, join
>>> names, ages, people = Port(), Port(), Port()
>>> with Dispatcher() as dispatcher:
...     pairs = join([names, ages], lambda name, age: people.post((name, age)))
...     active = pairs.activate(dispatcher.queue())
...     names.post("Ada")
...     ages.post(36)
...     people.get_blocking(timeout=10)
('Ada', 36)

With asyncio a port is awaited, and holds no thread:

>>> import asyncio
>>> async def main():
...     port = Port()
...     port.post("here")
...     port.close()
...     return [item async for item in port]
>>> asyncio.run(main())
['here']

A handler may be `async`: the dispatcher drives it, and it may await ports and `sleep`. What a
handler raises is posted to the exception port of its queue, and else logged by the logger `motet`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any, Generic, TypeVar

from motet import _motet
from motet._awaiting import Wait
from motet._closing import closed_at_exit
from motet._motet import Closed
from motet._parameters import called, whole

__all__ = [
    "Activation",
    "Arbiter",
    "Closed",
    "Dispatcher",
    "DispatcherQueue",
    "Part",
    "Port",
    "PortSet",
    "after",
    "choice",
    "interleave",
    "join",
    "receive",
    "receive_several",
    "sleep",
]

T = TypeVar("T")


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
        self._part = _motet.Part(port._port, count, guard)

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
        return self._port.taking().block(timeout)

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


class Activation:
    """An arbiter at work, or done. Dropping it changes nothing."""

    def __init__(self, activation: _motet.Activation) -> None:
        self._activation = activation

    def cleanup(self) -> None:
        """Take the arbiter off its ports: nothing new starts."""
        self._activation.cleanup()

    @property
    def is_active(self) -> bool:
        """Whether it can still take items."""
        return self._activation.is_active()


class Arbiter:
    """What takes items and runs a handler, once it is activated on a queue.

    Python's garbage collector sees its functions until then. At work it keeps them and is kept by
    its ports, which the collector does not see. Where a handler keeps its port in turn, as a
    method of an object that has the port does, call `Activation.cleanup` or `Port.close`.
    """

    def __init__(self, arbiter: _motet.Arbiter) -> None:
        self._arbiter = arbiter

    def activate(self, queue: DispatcherQueue) -> Activation:
        """Put it to work; its handlers run on the queue's dispatcher."""
        return Activation(self._arbiter.activate(queue._queue))


def receive(
    port: Port[T],
    handler: Callable[[T], Any],
    *,
    once: bool = False,
    at_most: int | None = None,
    when: Callable[[T], Any] | None = None,
) -> Arbiter:
    """Handle each item of a port, or one; `at_most` so many at a time; those that a guard wants."""
    called("handler", handler)
    if when is not None:
        called("when", when)
    if at_most is not None:
        at_most = whole("at_most", at_most, 1)
    return Arbiter(_motet.receive(port._port, handler, once, at_most, when))


def receive_several(
    port: Port[T],
    count: int,
    handler: Callable[[list[T]], Any],
    *,
    once: bool = False,
    or_after: float | None = None,
) -> Arbiter:
    """Handle `count` items of a port at a time; after so many seconds, what is there."""
    called("handler", handler)
    count = whole("count", count, 1)
    return Arbiter(_motet.several(port._port, count, handler, once, or_after))


def join(
    parts: Iterable[Port[Any] | Part[Any]],
    handler: Callable[..., Any],
    *,
    once: bool = False,
) -> Arbiter:
    """Handle an item of each port together: all or none are taken, in one step.

    The handler gets an argument for each part, a list for `port.times(n)`.
    """
    called("handler", handler)
    made = [part if isinstance(part, Part) else Part(part) for part in parts]
    return Arbiter(_motet.join([part._part for part in made], handler, once))


def after(seconds: float, handler: Callable[[], Any]) -> Arbiter:
    """Handle the end of a time: for a branch of a choice."""
    called("handler", handler)
    return Arbiter(_motet.after(seconds, handler))


def choice(*branches: Arbiter) -> Arbiter:
    """Run the first of several branches that can; each takes items once.

    >>> replies, said = Port(), Port()
    >>> with Dispatcher() as dispatcher:
    ...     first = choice(
    ...         receive(replies, said.post, once=True),
    ...         after(0.01, lambda: said.post("too late")),
    ...     )
    ...     active = first.activate(dispatcher.queue())
    ...     said.get_blocking(timeout=10)
    'too late'
    """
    return Arbiter(_motet.choice([branch._arbiter for branch in branches]))


def interleave(
    *,
    concurrent: Iterable[Arbiter] = (),
    exclusive: Iterable[Arbiter] = (),
    teardown: Iterable[Arbiter] = (),
) -> Arbiter:
    """Run handlers in groups: concurrent ones together, exclusive ones alone, one teardown last."""
    groups = [
        [arbiter._arbiter for arbiter in group] for group in (concurrent, exclusive, teardown)
    ]
    return Arbiter(_motet.interleave(*groups))


class DispatcherQueue:
    """Where handlers wait for a thread of the dispatcher."""

    def __init__(self, queue: _motet.Queue) -> None:
        self._queue = queue

    def enqueue(self, function: Callable[..., Any], *args: Any) -> None:
        """Call a function on the dispatcher."""
        called("function", function)
        self._queue.enqueue(function, args)

    def suspend(self) -> None:
        """Start nothing more until `resume`."""
        self._queue.suspend()

    def resume(self) -> None:
        """Go on after `suspend`."""
        self._queue.resume()

    def exception_port(self) -> Port[BaseException]:
        """Make the port that gets from now on what the handlers of this queue raise."""
        return Port._of(self._queue.exception_port())


_open = closed_at_exit()


def _log(queue: str, raised: BaseException) -> None:
    log = logging.getLogger("motet")
    log.error("a handler of queue %r has raised", queue, exc_info=raised)


class Dispatcher:
    """Threads that run handlers; a context manager, which ends when all that is queued has run.

    One thread by default: with the interpreter's lock more of them help only handlers that give it
    away, as numpy does.

    >>> with Dispatcher(2) as dispatcher:
    ...     port, queue = Port(), dispatcher.queue("sums")
    ...     queue.enqueue(lambda a, b: port.post(a + b), 40, 2)
    >>> port.test()
    42
    """

    def __init__(self, threads: int = 1, *, name: str = "motet") -> None:
        # 0: one for each core.
        threads = whole("threads", threads, 0, most=65_536)
        self._dispatcher = _motet.Dispatcher(threads, name, _log)
        _open.add(self)

    def __enter__(self) -> Dispatcher:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Dispatcher of {self.threads} threads>"

    @property
    def threads(self) -> int:
        """The number of threads."""
        return self._dispatcher.workers

    def queue(self, name: str = "queue", *, depth: int | None = None) -> DispatcherQueue:
        """Make a queue; one with a depth refuses what comes when so many handlers wait."""
        if depth is not None:
            depth = whole("depth", depth, 1)
        return DispatcherQueue(self._dispatcher.queue(name, depth))

    def wait_idle(self, timeout: float | None = None) -> None:
        """Wait until nothing is queued and nothing runs."""
        self._dispatcher.wait_idle(timeout)

    def close(self, timeout: float | None = None) -> None:
        """Run what is queued, and end the threads; after `TimeoutError` another call waits on."""
        self._dispatcher.close(timeout)
        _open.discard(self)

    def why(self) -> str:
        """Say who waits for what."""
        return self._dispatcher.why()


async def sleep(seconds: float) -> None:
    """Wait for a time, on a loop of asyncio or in an `async` handler."""
    if asyncio._get_running_loop() is None:
        await Wait(_motet.sleeping(seconds))
    else:
        await asyncio.sleep(seconds)
