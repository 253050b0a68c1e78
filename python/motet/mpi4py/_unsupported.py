"""Classes of MPI that motet does not have. Their names are there; what they do is not."""

from __future__ import annotations

from typing import Any, NoReturn

from motet.mpi4py._errors import lacks
from motet.mpi4py._requests import Request


class _Unsupported:
    """The handle of nothing."""

    _what = ""
    _instead = ""

    def __init__(self, other: Any = None) -> None:
        if other is not None and not isinstance(other, type(self)):
            raise TypeError(f"a {type(self).__name__} is expected, not {type(other).__name__}")

    def __eq__(self, other: object) -> bool:
        return True if isinstance(other, type(self)) else NotImplemented

    def __hash__(self) -> int:
        return 0

    def __bool__(self) -> bool:
        return False

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise lacks(self._what, self._instead)

    def free(self) -> None:
        """Do nothing."""


def _not_there(name: str) -> Any:
    def call(cls: type[_Unsupported], *_: Any, **__: Any) -> NoReturn:
        """Not there."""
        raise lacks(cls._what, cls._instead)

    call.__name__ = name
    return classmethod(call)


class Session(_Unsupported):
    """A session: not there."""

    _what, _instead = "sessions", "use COMM_WORLD"
    Init = _not_there("Init")


class Grequest(Request):
    """A request that the program completes: not there."""

    def __init__(self, request: Request | None = None) -> None:
        super().__init__(request)
        if self._state is not None:
            raise TypeError("the request is not one that the program completes")

    @classmethod
    def Start(cls, *_: Any, **__: Any) -> NoReturn:
        """Not there."""
        raise lacks("requests that the program completes", "use concurrent.futures")


SESSION_NULL = Session()
