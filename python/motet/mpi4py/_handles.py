"""What a communicator stands for. Several handles may share it."""

from __future__ import annotations

import itertools
import threading
import weakref
from collections.abc import Hashable
from typing import Any

from motet import _motet
from motet.mpi4py._errors import fail


class Null:
    """The handle of no communicator."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        fail("ERR_COMM", "the communicator is null")


class Noted:
    """What a program and its libraries note of a communicator."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.attributes: dict[int, Any] = {}
        self.errors: Any = None
        self.info: dict[str, str] = {}
        self.attached: Any = None
        self.locks: dict[Hashable, threading.Lock] = {}
        # A communicator for messages of libraries, and the next tag on it.
        self.beside: Any = None
        self.tag = 0


class _Once:
    """Notes of a communicator of one rank."""

    def __init__(self, name: str) -> None:
        self.noted = Noted(name)


class _OfEach(threading.local):
    """Notes of each rank, which has a thread for itself."""

    def __init__(self, name: str) -> None:
        self.noted = Noted(name)


_numbers = itertools.count(1001)


class Ranks:
    """A communicator with what is noted of it, and its topology."""

    def __init__(
        self,
        handle: Any,
        kind: str = "intra",
        *,
        alone: bool = False,
        predefined: bool = False,
        shared: bool = False,
        name: str = "",
        topology: Any = None,
    ) -> None:
        self.handle, self.kind, self.alone, self.predefined = handle, kind, alone, predefined
        # `topology` is what the program has given of a graph.
        self.topology = topology
        self._notes: _Once | _OfEach = _OfEach(name) if shared else _Once(name)
        # Several ranks may make some at once.
        self.number = next(_numbers)
        _known[self.number] = self

    @property
    def noted(self) -> Noted:
        """What the calling rank has noted."""
        return self._notes.noted


_known: weakref.WeakValueDictionary[int, Ranks] = weakref.WeakValueDictionary()


def of_number(number: int) -> Ranks | None:
    """Give the communicator with a number of this process."""
    return _known.get(number)


NULL = Null()
# All ranks of the process have these objects; each stands for the communicator of who calls.
WORLD = Ranks(_motet.MpiComm.world(), predefined=True, shared=True, name="MPI_COMM_WORLD")
SELF = Ranks(_motet.MpiComm.alone(), predefined=True, shared=True, alone=True, name="MPI_COMM_SELF")
