"""How futures of Rust are awaited: on a loop of asyncio, or on a dispatcher, which drives them."""

from __future__ import annotations

import asyncio
import itertools
import weakref
from collections.abc import Coroutine, Generator
from typing import Any

from motet import _motet

# What tasks of each loop wait by. They keep it, and it keeps their loop: none outlives the other.
_waits: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, weakref.ref[_Waits]]
_waits = weakref.WeakKeyDictionary()


class _Waits:
    """What tasks of a loop wait for: one call of the loop for all that is ready."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._pending: dict[int, tuple[asyncio.Future[None], _motet.Waiting]] = {}
        self._numbers = itertools.count()
        self._given_up = False
        own = weakref.ref(self)

        def ring() -> None:
            waits = own()
            if waits is not None:
                waits._ring()

        self._alarm = _motet.Alarm(ring)

    def _ring(self) -> None:
        try:
            self._loop.call_soon_threadsafe(_Turn(self))
        except RuntimeError:
            if not self._loop.is_closed():
                raise
        if self._loop.is_closed():
            # Also where it was closed between its own look and now: then it keeps the turn.
            self.give_up()

    @property
    def is_over(self) -> bool:
        """Whether the loop is closed."""
        return self._loop.is_closed()

    def give_up(self) -> None:
        """The loop is closed, and its tasks never go on: what was meant for them is for others."""
        if self._given_up:
            return
        self._given_up = True
        # The last first: each item goes back to the front of its port.
        for _, waiting in reversed(list(self._pending.values())):
            waiting.cancel()

    def wake(self) -> None:
        told = False
        for number in self._alarm.take():
            future, _ = self._pending.get(number, (None, None))
            if future is not None and not future.done():
                future.set_result(None)
                told = True
        if told:
            self._loop.call_soon(_AfterTurn(self))

    async def given(self, waiting: _motet.Waiting) -> Any:
        waiting.begin()
        number = next(self._numbers)
        try:
            while True:
                ready = waiting.poll(self._alarm, number)
                if ready is not None:
                    return ready[0]
                future = self._loop.create_future()
                self._pending[number] = future, waiting
                await future
        finally:
            if self._loop.is_closed():
                # Of tasks that nobody keeps it drops the first one first.
                self.give_up()
            self._pending.pop(number, None)
            waiting.cancel()


class _Turn:
    """What a loop calls for all that is ready; one that is closed drops it."""

    __slots__ = ("_waits",)

    def __init__(self, waits: _Waits) -> None:
        self._waits: _Waits | None = waits

    def __call__(self) -> None:
        waits, self._waits = self._waits, None
        if waits is not None:
            waits.wake()

    def __del__(self) -> None:
        if self._waits is not None and self._waits.is_over:
            self._waits.give_up()


class _AfterTurn(_Turn):
    """What a loop calls after the tasks that go on; one that is closed before drops it, too."""

    __slots__ = ()

    def __call__(self) -> None:
        self._waits = None


def _on_loop(waiting: _motet.Waiting, loop: asyncio.AbstractEventLoop) -> Coroutine[Any, Any, Any]:
    known = _waits.get(loop)
    waits = None if known is None else known()
    if waits is None:
        waits = _Waits(loop)
        _waits[loop] = weakref.ref(waits)
    return waits.given(waiting)


class Wait:
    """Awaits a future of Rust."""

    def __init__(self, waiting: _motet.Waiting) -> None:
        self._waiting = waiting

    def __await__(self) -> Generator[Any, Any, Any]:
        loop = asyncio._get_running_loop()
        if loop is None:
            # A dispatcher drives this coroutine, and polls what it is given.
            return (yield self._waiting)
        return (yield from _on_loop(self._waiting, loop).__await__())
