"""What a communicator stands for. Several handles may share it."""

from __future__ import annotations

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


class Ranks:
    """A communicator with its name, its attributes and its topology."""

    def __init__(
        self,
        handle: Any,
        kind: str = "intra",
        *,
        alone: bool = False,
        predefined: bool = False,
        name: str = "",
        topology: Any = None,
    ) -> None:
        self.handle, self.kind, self.alone, self.predefined = handle, kind, alone, predefined
        # `topology` is what the program has given of a graph.
        self.name, self.topology = name, topology
        self.attributes: dict[int, Any] = {}
        self.errors: Any = None
        self.info: dict[str, str] = {}
        self.attached: Any = None
        self.locks: dict[Hashable, threading.Lock] = {}
        # A communicator for messages of libraries, and the next tag on it.
        self.beside: Any = None
        self.tag = 0
        Ranks.last += 1
        self.number = Ranks.last
        _known[self.number] = self

    last = 1000


_known: weakref.WeakValueDictionary[int, Ranks] = weakref.WeakValueDictionary()


def of_number(number: int) -> Ranks | None:
    """Give the communicator with a number of this process."""
    return _known.get(number)


NULL = Null()
WORLD = Ranks(_motet.MpiComm.world(), predefined=True, name="MPI_COMM_WORLD")
SELF = Ranks(_motet.MpiComm.alone(), predefined=True, alone=True, name="MPI_COMM_SELF")
