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
import warnings
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from motet import _motet
from motet._awaiting import Wait
from motet._closing import closed_at_exit
from motet._motet import Closed
from motet._parameters import called, limit, named, span, whole
from motet._port import Part, Port, PortSet, inner

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
        said = ": write dispatcher.queue()" if isinstance(queue, Dispatcher) else ""
        return Activation(self._arbiter.activate(inner(queue, DispatcherQueue, "_queue", said)))


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
    return Arbiter(_motet.receive(_of_port(port), handler, once, at_most, when))


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
    return Arbiter(
        _motet.several(_of_port(port), count, handler, once, limit("or_after", or_after))
    )


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
    if isinstance(parts, (Port, Part)):
        raise TypeError("a join takes its ports in a list: write join([port, other], handler)")
    made = [part if isinstance(part, Part) else Part(part) for part in parts]
    return Arbiter(_motet.join([part._part for part in made], handler, once))


def after(seconds: float, handler: Callable[[], Any]) -> Arbiter:
    """Handle the end of a time: for a branch of a choice."""
    called("handler", handler)
    return Arbiter(_motet.after(span("seconds", seconds), handler))


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
    return Arbiter(_motet.choice(_arbiters(branches, ": write choice(*branches)")))


def interleave(
    *,
    concurrent: Iterable[Arbiter] = (),
    exclusive: Iterable[Arbiter] = (),
    teardown: Iterable[Arbiter] = (),
) -> Arbiter:
    """Run handlers in groups: concurrent ones together, exclusive ones alone, one teardown last."""
    groups = {"concurrent": concurrent, "exclusive": exclusive, "teardown": teardown}
    for name, group in groups.items():
        if isinstance(group, Arbiter):
            raise TypeError(f"{name} is a list of arbiters: write {name}=[arbiter]")
    return Arbiter(_motet.interleave(*(_arbiters(group, "") for group in groups.values())))


def _of_port(port: Any) -> _motet.Port:
    parts = ": only a join takes parts, a receive has at_most and when"
    return inner(port, Port, "_port", parts if isinstance(port, Part) else "")


def _arbiters(given: Iterable[Any], said: str) -> list[_motet.Arbiter]:
    return [
        inner(one, Arbiter, "_arbiter", said if isinstance(one, (list, tuple)) else "")
        for one in given
    ]


class DispatcherQueue:
    """Where handlers wait for a thread of the dispatcher."""

    def __init__(self, queue: _motet.Queue) -> None:
        self._queue = queue

    def enqueue(self, function: Callable[..., Any], *args: Any) -> None:
        """Call a function on the dispatcher."""
        called("function", function)
        self._queue.enqueue(function, args)

    def suspend(self) -> None:
        """Start nothing more until `resume`; what is there at the end of the dispatcher is lost."""
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

    What a suspended queue has is not run, and is warned of. 0 threads are one for each core.

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
        self._dispatcher = _motet.Dispatcher(threads, named("name", name), _log)
        _open.add(self)

    def __enter__(self) -> Dispatcher:
        return self

    def __exit__(self, *_: object) -> None:
        self._end(None, 3)

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
        """Wait until nothing is queued, but in suspended queues, and nothing runs."""
        self._dispatcher.wait_idle(limit("timeout", timeout))

    def close(self, timeout: float | None = None) -> None:
        """Run what is queued, and end the threads; after `TimeoutError` another call waits on.

        Handlers of a queue that is suspended do not run: it warns of them.
        """
        self._end(limit("timeout", timeout), 3)

    def _end(self, timeout: float | None, level: int) -> None:
        left = self._dispatcher.close(timeout)
        _open.discard(self)
        if left:
            handlers = "a handler has" if left == 1 else f"{left} handlers have"
            warnings.warn(
                f"{handlers} not run, which a queue that is suspended had, or which came during "
                "the end; items are in their ports again: call resume before close",
                RuntimeWarning,
                stacklevel=level,
            )

    def why(self) -> str:
        """Say who waits for what."""
        return self._dispatcher.why()


async def sleep(seconds: float) -> None:
    """Wait for a time, on a loop of asyncio or in an `async` handler."""
    seconds = span("seconds", seconds)
    if asyncio._get_running_loop() is None:
        await Wait(_motet.sleeping(seconds))
    else:
        await asyncio.sleep(seconds)
