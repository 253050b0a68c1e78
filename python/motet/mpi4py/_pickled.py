"""Objects as the bytes of a message."""

from __future__ import annotations

import pickle as _pickle
from collections.abc import Callable, Iterable
from typing import Any

from motet.mpi4py._memory import buffer, memory


class Pickle:
    """How objects become messages. A program may give functions of its own."""

    def __init__(
        self,
        dumps: Callable[..., bytes] | None = None,
        loads: Callable[..., Any] | None = None,
        protocol: int | None = None,
        threshold: int | None = None,
    ) -> None:
        self._dumps = _pickle.dumps if dumps is None else dumps
        self._loads = _pickle.loads if loads is None else loads
        self.PROTOCOL = protocol
        self.THRESHOLD = threshold

    @property
    def PROTOCOL(self) -> int | None:
        """The protocol; `None` when the functions of the program know it."""
        return self._protocol

    @PROTOCOL.setter
    def PROTOCOL(self, protocol: int | None) -> None:
        if protocol is None and self._dumps is _pickle.dumps:
            protocol = _pickle.HIGHEST_PROTOCOL
        self._protocol = protocol

    @property
    def THRESHOLD(self) -> int:
        """Buffers of so many bytes and more go beside the pickle."""
        return self._threshold

    @THRESHOLD.setter
    def THRESHOLD(self, threshold: int | None) -> None:
        self._threshold = 1 << 18 if threshold is None else threshold

    def dumps(self, obj: Any) -> bytes:
        """Give the bytes of an object."""
        protocol = self._protocol
        return self._dumps(obj) if protocol is None else self._dumps(obj, protocol)

    def loads(self, data: Any) -> Any:
        """Give the object of bytes; `None` of an empty message."""
        return self._loads(data) if len(data) else None

    def dumps_oob(self, obj: Any) -> tuple[bytes, list[buffer]]:
        """Give the bytes of an object, and the large buffers in it by themselves."""
        buffers: list[buffer] = []

        def keep(part: _pickle.PickleBuffer) -> bool:
            raw = part.raw()
            if raw.nbytes < self.THRESHOLD:
                return True
            buffers.append(memory(raw).view(buffer))
            return False

        protocol = 5 if self.PROTOCOL is None else max(5, self.PROTOCOL)
        return self._dumps(obj, protocol, buffer_callback=keep), buffers

    def loads_oob(self, data: Any, buffers: Iterable[Any]) -> Any:
        """Give the object of bytes and buffers."""
        return self._loads(data, buffers=buffers)


pickle = Pickle()
