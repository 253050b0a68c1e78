"""Requests: what was started and is waited for later."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from motet import _motet
from motet.mpi4py._calls import Call
from motet.mpi4py._constants import ANY_SOURCE, ANY_TAG, UNDEFINED
from motet.mpi4py._errors import fail, not_there
from motet.mpi4py._status import Status


class _State:
    """What handles on one request share."""

    __slots__ = ("__weakref__", "begin", "call", "number")

    def __init__(self, call: Call | None, begin: Callable[[], Call] | None = None) -> None:
        self.call, self.begin, self.number = call, begin, 0


_numbered: weakref.WeakValueDictionary[int, _State] = weakref.WeakValueDictionary()
_numbers = itertools.count(1)


def _clear(status: Status | None) -> None:
    if status is not None:
        status._set(ANY_SOURCE, ANY_TAG, 0)


class Request:
    """A call that was started and has not been waited for."""

    def __init__(self, request: Request | None = None) -> None:
        if request is not None and not isinstance(request, Request):
            raise TypeError(f"a Request is expected, not {type(request).__name__}")
        self._state: _State | None = None if request is None else request._state

    @classmethod
    def _of(cls, call: Call | None, begin: Callable[[], Call] | None = None) -> Any:
        made = cls()
        made._state = _State(call, begin)
        return made

    def __eq__(self, other: object) -> bool:
        return self._state is other._state if isinstance(other, Request) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._state)

    def __bool__(self) -> bool:
        return self._state is not None

    def __repr__(self) -> str:
        return f"<{type(self).__name__}{'' if self else ' null'}>"

    def __reduce__(self) -> Any:
        if self._state is None:
            return type(self), ()
        raise ValueError("a request is not pickled")

    def toint(self) -> int:
        """Give a number of the handle, for this process."""
        state = self._state
        if state is None:
            return 0
        if not state.number:
            state.number = next(_numbers)
            _numbered[state.number] = state
        return state.number

    py2f = toint
    handle = property(toint, doc="A number of the handle, for this process.")

    @classmethod
    def fromint(cls, arg: int) -> Any:
        """Give the request with a number."""
        made = cls()
        made._state = _numbered.get(arg)
        return made

    f2py = fromhandle = fromint

    def _call(self) -> Call | None:
        return None if self._state is None else self._state.call

    def _over(self, status: Status | None) -> Any:
        """Note that it has ended; what it has ended with."""
        state = self._state
        assert state is not None and state.call is not None
        call, state.call = state.call, None
        if state.begin is None:
            # Others may hold it still.
            state.call = call
            self._state = None
        call.tell(status)
        return call.result

    def _wait(self, status: Status | None) -> Any:
        call = self._call()
        if call is None:
            _clear(status)
            return None
        try:
            call.wait()
        except BaseException:
            self._failed(call)
            raise
        return self._over(status)

    def _failed(self, call: Call) -> None:
        """Note that it is over, unless it goes on."""
        if call.has_ended:
            self._over(None)

    def _has_ended(self) -> bool:
        """Whether it has been started and has ended. One that has failed is over, and raises."""
        call = self._call()
        if call is None:
            return False
        try:
            return call.test()
        except BaseException:
            self._failed(call)
            raise

    def _test(self, status: Status | None) -> tuple[bool, Any]:
        call = self._call()
        if call is None:
            _clear(status)
            return True, None
        if not self._has_ended():
            return False, None
        return True, self._over(status)

    def Wait(self, status: Status | None = None) -> bool:
        """Wait until it has ended."""
        self._wait(status)
        return True

    def Test(self, status: Status | None = None) -> bool:
        """Whether it has ended; then it is over."""
        return self._test(status)[0]

    def wait(self, status: Status | None = None) -> Any:
        """Wait until it has ended; the object that has come."""
        return self._wait(status)

    def test(self, status: Status | None = None) -> tuple[bool, Any]:
        """Whether it has ended, and the object that has come."""
        return self._test(status)

    def Get_status(self, status: Status | None = None) -> bool:
        """Whether it has ended; it is not over by that."""
        call = self._call()
        if call is None:
            _clear(status)
            return True
        ended = self._has_ended()
        if ended:
            call.tell(status)
        return ended

    get_status = Get_status

    def Cancel(self) -> None:
        """Give a receive up, if it has not ended. What was sent is not taken back."""
        call = self._call()
        if call is None:
            fail("ERR_REQUEST", "the request is null or inactive")
        call.cancel()

    cancel = Cancel

    def Free(self) -> None:
        """Give the handle up; what was started takes place all the same.

        A receive fills its buffer in a later call of this rank that waits or tests.
        """
        if self._state is None:
            fail("ERR_REQUEST", "the request is null")
        self.free()

    def free(self) -> None:
        """Give the handle up."""
        state = self._state
        if state is not None and state.call is not None:
            state.call.leave()
            state.call = None
        self._state = None

    # Several.

    @classmethod
    def waitany(cls, requests: Sequence[Request], status: Status | None = None) -> tuple[int, Any]:
        """Wait until one has ended; its number, and the object that has come."""
        number = _first(requests)
        if number is None:
            active = [(n, c) for n, r in enumerate(requests) if (c := r._call()) is not None]
            if not active:
                _clear(status)
                return UNDEFINED, None
            which = _motet.MpiRequest.wait_any([call._pending for _, call in active])
            number = active[which][0]
        return number, requests[number]._wait(status)

    @classmethod
    def Waitany(cls, requests: Sequence[Request], status: Status | None = None) -> int:
        """Wait until one has ended; its number."""
        return Request.waitany(requests, status)[0]

    @classmethod
    def testany(
        cls, requests: Sequence[Request], status: Status | None = None
    ) -> tuple[int, bool, Any]:
        """Give the number of one that has ended, whether there is one, and what has come."""
        number = _first(requests)
        if number is not None:
            return number, True, requests[number]._over(status)
        none = all(request._call() is None for request in requests)
        if none:
            _clear(status)
        return UNDEFINED, none, None

    @classmethod
    def Testany(cls, requests: Sequence[Request], status: Status | None = None) -> tuple[int, bool]:
        """Give the number of one that has ended, and whether there is one."""
        return Request.testany(requests, status)[:2]

    @classmethod
    def Get_status_any(
        cls, requests: Sequence[Request], status: Status | None = None
    ) -> tuple[int, bool]:
        """As `Testany`, but none is over by that."""
        number = _first(requests)
        if number is not None:
            requests[number].Get_status(status)
            return number, True
        none = all(request._call() is None for request in requests)
        if none:
            _clear(status)
        return UNDEFINED, none

    get_status_any = Get_status_any

    @classmethod
    def waitall(cls, requests: Sequence[Request], statuses: Any = None) -> list[Any]:
        """Wait for all; the objects that have come."""
        told = _statuses(statuses, len(requests))
        return [request._wait(told(number)) for number, request in enumerate(requests)]

    @classmethod
    def Waitall(cls, requests: Sequence[Request], statuses: Any = None) -> bool:
        """Wait for all."""
        Request.waitall(requests, statuses)
        return True

    @classmethod
    def testall(
        cls, requests: Sequence[Request], statuses: Any = None
    ) -> tuple[bool, list[Any] | None]:
        """Whether all have ended, and the objects that have come; none is over before all are."""
        ended = [request.Get_status() for request in requests]
        told = _statuses(statuses, len(requests))
        if not all(ended):
            return False, None
        return True, [request._test(told(number))[1] for number, request in enumerate(requests)]

    @classmethod
    def Testall(cls, requests: Sequence[Request], statuses: Any = None) -> bool:
        """Whether all have ended; none is over before all are."""
        return Request.testall(requests, statuses)[0]

    @classmethod
    def Get_status_all(cls, requests: Sequence[Request], statuses: Any = None) -> bool:
        """As `Testall`, but none is over by that."""
        told = _statuses(statuses, len(requests))
        ended = [request.Get_status(told(number)) for number, request in enumerate(requests)]
        return all(ended)

    get_status_all = Get_status_all

    @classmethod
    def testsome(
        cls, requests: Sequence[Request], statuses: Any = None
    ) -> tuple[list[int] | None, list[Any] | None]:
        """Give the numbers of those that have ended, and the objects that have come."""
        if all(request._call() is None for request in requests):
            return None, None
        ended = _all_ended(requests)
        told = _statuses(statuses, len(ended))
        return ended, [requests[n]._over(told(place)) for place, n in enumerate(ended)]

    @classmethod
    def Testsome(cls, requests: Sequence[Request], statuses: Any = None) -> list[int] | None:
        """Give the numbers of those that have ended."""
        return Request.testsome(requests, statuses)[0]

    @classmethod
    def waitsome(
        cls, requests: Sequence[Request], statuses: Any = None
    ) -> tuple[list[int] | None, list[Any] | None]:
        """Wait until some have ended; their numbers, and the objects that have come."""
        active = [(n, c) for n, r in enumerate(requests) if (c := r._call()) is not None]
        if active and _first(requests) is None:
            _motet.MpiRequest.wait_any([call._pending for _, call in active])
        return Request.testsome(requests, statuses)

    @classmethod
    def Waitsome(cls, requests: Sequence[Request], statuses: Any = None) -> list[int] | None:
        """Wait until some have ended; their numbers."""
        return Request.waitsome(requests, statuses)[0]

    @classmethod
    def Get_status_some(cls, requests: Sequence[Request], statuses: Any = None) -> list[int] | None:
        """As `Testsome`, but none is over by that."""
        if all(request._call() is None for request in requests):
            return None
        ended = _all_ended(requests)
        told = _statuses(statuses, len(ended))
        for place, number in enumerate(ended):
            requests[number].Get_status(told(place))
        return ended

    get_status_some = Get_status_some


def _first(requests: Sequence[Request]) -> int | None:
    """Give the number of the first that has ended."""
    for number, request in enumerate(requests):
        if request._has_ended():
            return number
    return None


def _all_ended(requests: Sequence[Request]) -> list[int]:
    """Give the numbers of those that have ended and are not over."""
    return [number for number, request in enumerate(requests) if request._has_ended()]


def _statuses(statuses: Any, count: int) -> Callable[[int], Status | None]:
    """Give the status of each of so many; a list that is too short gets more."""
    if statuses is None:
        return lambda number: None
    if isinstance(statuses, list):
        statuses.extend(Status() for _ in range(count - len(statuses)))
    return lambda number: statuses[number] if number < len(statuses) else None


class Prequest(Request):
    """A call that is described once and started many times."""

    def __init__(self, request: Request | None = None) -> None:
        super().__init__(request)
        if self._state is not None and self._state.begin is None:
            raise TypeError("the request is not persistent")

    def Start(self) -> None:
        """Start it."""
        state = self._state
        if state is None or state.begin is None:
            fail("ERR_REQUEST", "the request is null")
        if state.call is not None:
            fail("ERR_REQUEST", "the request was started and not waited for")
        state.call = state.begin()

    @classmethod
    def Startall(cls, requests: Sequence[Prequest]) -> None:
        """Start several."""
        for request in requests:
            request.Start()

    Pready = Pready_range = Pready_list = Parrived = not_there(
        "messages in partitions", "use Send_init and Recv_init for each part"
    )


REQUEST_NULL = Request()


def ended(result: Any = None) -> Any:
    """Make a request that has ended."""
    request = Request._of(Call(None))
    request._state.call.result = result
    return request
