"""Services: classes that a node serves, and the services of other nodes.

>>> import asyncio
>>> from motet.service import Node, connect, query, service, update
>>> @service
... class Till:
...     def __init__(self):
...         self.state = {"cents": 0}
...     @query
...     def euros(self):
...         return self.state["cents"] / 100
...     @update
...     def deposit(self, cents):
...         self.state["cents"] += cents
...         return self.state["cents"]
>>> async def main(url):
...     till = connect(url)["/till"]
...     print(await till.deposit(40), await till.euros(), (await till.get()).state)
...     async for told in till.subscribe(sync=True):
...         return told.event, told.body
>>> with Node() as node:
...     node.add("/till", Till())
...     asyncio.run(main(node.url))
40 0.4 {'cents': 40}
('replace', {'cents': 40})

Verbs are awaited, or block the thread: `till.deposit(40).blocking()`. Notifications come by `async
for`. A call that the service does not carry out raises `Fault`, whose `code` says why.
"""

from __future__ import annotations

import inspect
import json
import logging
import math
import warnings
from collections.abc import AsyncIterator, Callable, Generator
from dataclasses import dataclass
from os import PathLike
from typing import Any, NamedTuple, TypeVar

from motet import _motet
from motet._awaiting import Wait
from motet._closing import closed_at_exit
from motet._json import written
from motet._motet import MotetError
from motet._operations import arguments, operations
from motet._parameters import at_most, limit, slashed, whole

__all__ = [
    "Call",
    "Fault",
    "Node",
    "Notification",
    "Peer",
    "Service",
    "Snapshot",
    "connect",
    "query",
    "service",
    "update",
]

C = TypeVar("C", bound=type)
F = TypeVar("F", bound=Callable[..., Any])

_CODES = (
    "ActionNotSupported MessageNotSupported UnknownEntry DuplicateEntry PermissionDenied "
    "InsufficientResources QueuingLimitExceeded OperationCanceled OperationFailed ResponseTimeout "
    "Gone UnknownService PreconditionFailed Unavailable SelfCall NoAnswer Unauthenticated"
).split()


class Fault(MotetError):
    """Why an operation was not carried out to its end: a code to act on, a reason to read."""

    def __init__(
        self,
        code: str,
        reason: str,
        service: str | None = None,
        retry_after: float | None = None,
    ) -> None:
        if code not in _CODES:
            raise ValueError(f"there is no fault {code!r}; there are {', '.join(_CODES)}")
        # What travels is text and seconds.
        reason = str(reason)
        if retry_after is not None and not 0 <= retry_after < math.inf:
            raise ValueError(f"retry_after is {retry_after}: it is seconds, 0 or more")
        super().__init__(code, reason, service, retry_after)
        self.code, self.reason = code, reason
        self.service, self.retry_after = service, retry_after

    def __str__(self) -> str:
        of = f" of {self.service}" if self.service else ""
        return f"{self.code}{of}: {self.reason}"


class Snapshot(NamedTuple):
    """A state, and its version."""

    state: Any
    version: int


@dataclass(frozen=True)
class Notification:
    """What a service tells its subscribers.

    `event` is the name of the operation, `replace`, `lost` or `gone`; `body` is that of the
    operation, the state, or how many were lost. `reinstated`: some were missed before this.
    """

    version: int
    event: str
    body: Any
    reinstated: bool


def _answer(came: tuple[bool, str]) -> Any:
    is_well, text = came
    answer = json.loads(text)
    if is_well:
        return answer
    after = answer.get("retry_after_ms")
    raise Fault(
        answer["code"],
        answer["reason"],
        answer.get("service"),
        None if after is None else after / 1000,
    )


class Call:
    """A call that is on its way: await it, or block the thread for it, once.

    One that nobody waits for may not be carried out, and warns. `asyncio.gather`, `wait_for` and
    `ensure_future` take calls; `create_task` and `TaskGroup` take coroutines alone.
    """

    def __init__(self, waiting: _motet.Waiting, read: Callable[[Any], Any]) -> None:
        self._waiting, self._read, self._waited = waiting, read, False

    def __del__(self) -> None:
        if not self._waited:
            said = "a call was neither awaited nor blocked for: it may not be carried out"
            warnings.warn(said, RuntimeWarning, stacklevel=2)

    def __await__(self) -> Generator[Any, Any, Any]:
        self._waited = True
        return self._read(_answer((yield from Wait(self._waiting).__await__())))

    def blocking(self, timeout: float | None = None) -> Any:
        """Block the thread until the answer is there."""
        self._waited = True
        return self._read(_answer(self._waiting.block(limit("timeout", timeout))))


def _as_it_is(answer: Any) -> Any:
    return answer


class Service:
    """A service of another node; its operations are methods: `till.deposit(40)`.

    The body of an operation is one argument, as a dictionary is, or fields by their names:
    `place(**fields)`. One with the name of something else here is called by `call("path")`.
    """

    def __init__(self, peer: _motet.Peer, path: str) -> None:
        self._peer, self.path = peer, path

    def __repr__(self) -> str:
        return f"<Service {self.path}>"

    def call(
        self,
        operation: str,
        body: Any = None,
        *,
        within: float | None = None,
        key: str | None = None,
        if_version: int | None = None,
    ) -> Call:
        """Call an operation by its name, with the body of a plain request.

        `within`: the seconds that it may take, 30 unless said. `key`: what tells a repeated request
        from a new one; such a call is tried again when its connection fails. `if_version`: the
        version that the state must have.
        """
        return self._call(operation, body, within, key, if_version, _as_it_is)

    def _call(
        self,
        operation: str,
        body: Any = None,
        within: float | None = None,
        key: str | None = None,
        if_version: int | None = None,
        read: Callable[[Any], Any] = _as_it_is,
        named: bool | None = None,
    ) -> Call:
        if if_version is not None:
            if_version = whole("if_version", if_version, 0, most=2**64 - 1)
        asked = operation, written(body), at_most("within", within), key, if_version, named
        return Call(self._peer.call(self.path, *asked), read)

    def __getattr__(self, operation: str) -> Callable[..., Call]:
        if operation.startswith("_"):
            raise AttributeError(operation)

        def called(*bodies: Any, **fields: Any) -> Call:
            if len(bodies) + bool(fields) > 1:
                raise TypeError(
                    f"{operation} takes one body, or fields by their names, and got "
                    f"{len(bodies)} bodies and {len(fields)} fields: write "
                    f"{operation}(name=value, other=value), or {operation}(**fields)"
                )
            # Services of Python are told: their argument may be a dictionary.
            named = bool(fields) if bodies or fields else None
            return self._call(operation, bodies[0] if bodies else fields or None, named=named)

        called.__name__ = operation
        return called

    def get(self) -> Call:
        """Get: the state and its version, a `Snapshot`."""
        return self._call("get", read=lambda came: Snapshot(came["state"], came["version"]))

    def lookup(self) -> Call:
        """Lookup: what the service is, and its operations."""
        return self._call("lookup")

    def replace(self, state: Any) -> Call:
        """Set the whole state, if the contract allows it."""
        return self._call("replace", state)

    def patch(self, patch: Any) -> Call:
        """Change the state by a merge patch (RFC 7396), if the contract allows it."""
        return self._call("patch", patch)

    async def subscribe(
        self, only: str | None = None, *, sync: bool = False
    ) -> AsyncIterator[Notification]:
        """Give what the service tells: of the operation `only`, or of all of a verb as `"update"`.

        First the state, if `sync`. Ends when the service is gone. A word of which the service never
        tells is a `Fault`.
        """
        watch = self._peer.watch(self.path, only, sync)
        try:
            while True:
                came = await Wait(watch.next())
                if came is None:
                    return
                yield Notification(**_answer(came))
        finally:
            watch.close()


class Peer:
    """Another node, by its address; `peer["/till"]` is a service of it."""

    def __init__(
        self, url: str, *, token: str | None = None, ca: str | PathLike[str] | None = None
    ) -> None:
        self.url, self._peer = url, _motet.Peer(url, token, ca)

    def __repr__(self) -> str:
        return f"<Peer {self.url}>"

    def __getitem__(self, path: str) -> Service:
        return Service(self._peer, slashed(path))


def connect(url: str, *, token: str | None = None, ca: str | PathLike[str] | None = None) -> Peer:
    """Make the client of the node at an address such as `http://127.0.0.1:50000`.

    A node that asks who calls has `https`: `token` says who, and `ca` is the file with the
    certificate that has signed the node's. The first call connects. Raises `ValueError` when that
    is no such address, or the others do not fit it.
    """
    return Peer(url, token=token, ca=ca)


def query(method: F) -> F:
    """Make a method an operation that only reads: it runs together with others of its kind."""
    method._motet_changes = False  # type: ignore[attr-defined]
    return method


def update(method: F) -> F:
    """Make a method an operation that may change the state: it runs alone."""
    method._motet_changes = True  # type: ignore[attr-defined]
    return method


def service(kind: C) -> C:
    """Make a class one whose objects a `Node` serves.

    `self.state` is what others see: anything that JSON has. Methods with `@query` and `@update` are
    its operations, also `async` ones. A class derived from one has its operations, and those that
    it marks itself. The body of a call is their argument, or has their arguments by name; a plain
    request says the latter by a name. They raise `Fault`; anything else that they raise is logged,
    and a fault to the caller.
    """
    kind._motet_operations = operations(kind)  # type: ignore[attr-defined]
    return kind


def _carrier(served: Any) -> Callable[[str, str, bool | None], Any]:
    """Make what carries out the operations of an object, for the node."""

    async def carried(name: str, text: str, named: bool | None) -> Any:
        method = getattr(served, name)
        try:
            bound = arguments(method, json.loads(text), named)
        except TypeError as error:
            raise Fault("MessageNotSupported", str(error)) from None
        answer = method(*bound.args, **bound.kwargs)
        return await answer if inspect.isawaitable(answer) else answer

    async def carry(name: str, text: str, named: bool | None = None) -> tuple[bool, str, str]:
        try:
            told = True, written(await carried(name, text, named))
        except Fault as fault:
            told = False, _written(fault)
        except Exception as error:
            log = logging.getLogger("motet")
            log.error("%s.%s has raised", type(served).__name__, name, exc_info=error)
            told = False, _written(Fault("OperationFailed", f"{type(error).__name__}: {error}"))
        try:
            return (*told, written(served.state))
        except (TypeError, ValueError) as error:
            unfit = Fault("OperationFailed", f"the state of the service does not fit JSON: {error}")
            return False, _written(unfit), ""

    return carry


def _written(fault: Fault) -> str:
    told: dict[str, Any] = {"code": fault.code, "reason": fault.reason}
    if fault.service is not None:
        told["service"] = fault.service
    if fault.retry_after is not None:
        told["retry_after_ms"] = min(round(fault.retry_after * 1000), 2**64 - 1)
    return json.dumps(told)


_open = closed_at_exit()


class Node:
    """Serves objects of classes that are `@service`, by HTTP; a context manager.

    `listen` is an address of this machine, such as `localhost:50000`; port 0 is any that is free,
    and `url` says which. 0 `threads` are one for each core. A node that nobody has any more ends;
    where what it serves has it, the garbage collector finds that.
    """

    def __init__(
        self, *, listen: str = "127.0.0.1:0", name: str = "python", threads: int = 1
    ) -> None:
        threads = whole("threads", threads, 0, most=65_536)
        self._node = _motet.Node(name, listen, threads)
        self.url: str = self._node.url
        _open.add(self)

    def __enter__(self) -> Node:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if hasattr(self, "_node"):
            self._node.forget()

    def __repr__(self) -> str:
        return f"<Node {self.url}>"

    def add(self, path: str, served: Any) -> None:
        """Serve an object at a path."""
        kind = type(served)
        if not hasattr(kind, "_motet_operations"):
            raise TypeError(f"{kind.__name__} is no service: mark the class with @service")
        # A class that is derived from a service is one, with its own operations.
        found = operations(kind)
        state = written(served.state)
        listed = [(name, about, changes) for name, (about, changes) in found.items()]
        self._node.add(slashed(path), _carrier(served), listed, state)

    def close(self) -> None:
        """Answer no more, and end the services. An operation of a service must not call it.

        After Ctrl-C another call waits on.
        """
        self._node.close()
        _open.discard(self)
