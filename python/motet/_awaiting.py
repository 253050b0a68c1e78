"""How futures of Rust are awaited: on a loop of asyncio, or on a dispatcher, which drives them."""

from __future__ import annotations

import asyncio
import itertools
import weakref
from collections.abc import Coroutine, Generator
from typing import Any

from motet import _motet

_waits: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _Waits]
_waits = weakref.WeakKeyDictionary()


class _Waits:
    """What tasks of a loop wait for: one call of the loop for all that is ready."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = weakref.ref(loop)
        self._futures: dict[int, asyncio.Future[None]] = {}
        self._numbers = itertools.count()
        own = weakref.ref(self)

        def ring() -> None:
            waits = own()
            if waits is not None:
                waits._ring()

        self._alarm = _motet.Alarm(ring)

    def _ring(self) -> None:
        loop = self._loop()
        # A loop that has been closed wants nothing any more.
        if loop is not None and not loop.is_closed():
            try:
                loop.call_soon_threadsafe(self._wake)
            except RuntimeError:
                if not loop.is_closed():
                    raise

    def _wake(self) -> None:
        for number in self._alarm.take():
            future = self._futures.get(number)
            if future is not None and not future.done():
                future.set_result(None)

    async def given(self, waiting: _motet.Waiting, loop: asyncio.AbstractEventLoop) -> Any:
        number = next(self._numbers)
        try:
            while True:
                ready = waiting.poll(self._alarm, number)
                if ready is not None:
                    return ready[0]
                future = loop.create_future()
                self._futures[number] = future
                await future
        finally:
            self._futures.pop(number, None)
            waiting.cancel()


def _on_loop(waiting: _motet.Waiting, loop: asyncio.AbstractEventLoop) -> Coroutine[Any, Any, Any]:
    waits = _waits.get(loop)
    if waits is None:
        waits = _waits[loop] = _Waits(loop)
    return waits.given(waiting, loop)


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
