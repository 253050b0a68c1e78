"""What is known of a message that was received."""

from __future__ import annotations

from array import array
from typing import Any

from motet.mpi4py._constants import ANY_SOURCE, ANY_TAG, UNDEFINED
from motet.mpi4py._datatypes import Datatype
from motet.mpi4py._errors import SUCCESS
from motet.mpi4py._predefined import BYTE


class Status:
    """Who has sent a message, with which tag, and how long it is."""

    def __init__(self, status: Status | None = None) -> None:
        if status is not None and not isinstance(status, Status):
            raise TypeError(f"a Status is expected, not {type(status).__name__}")
        # Source, tag, error, whether it was cancelled, bytes.
        self._fields = array("q", [ANY_SOURCE, ANY_TAG, SUCCESS, 0, 0])
        if status is not None:
            self._fields[:] = status._fields

    def _set(self, source: int, tag: int, nbytes: int, cancelled: bool = False) -> None:
        fields = self._fields
        fields[0], fields[1], fields[2], fields[3] = source, tag, SUCCESS, cancelled
        fields[4] = nbytes

    def __eq__(self, other: object) -> bool:
        return self._fields == other._fields if isinstance(other, Status) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        source, tag, _, _, nbytes = self._fields
        return f"<Status of {nbytes} bytes from {source} with tag {tag}>"

    def __reduce__(self) -> Any:
        return type(self), (), self.__getstate__()

    def __getstate__(self) -> dict[str, int]:
        names = ("source", "tag", "error", "cancelled", "count")
        return dict(zip(names, self._fields, strict=True))

    def __setstate__(self, state: dict[str, int]) -> None:
        self._fields[:] = array("q", list(state.values()))

    def Get_source(self) -> int:
        """Give the rank that has sent the message."""
        return self._fields[0]

    def Set_source(self, source: int) -> None:
        """Set the rank that has sent the message."""
        self._fields[0] = source

    def Get_tag(self) -> int:
        """Give the tag of the message."""
        return self._fields[1]

    def Set_tag(self, tag: int) -> None:
        """Set the tag of the message."""
        self._fields[1] = tag

    def Get_error(self) -> int:
        """Give the number of the error."""
        return self._fields[2]

    def Set_error(self, error: int) -> None:
        """Set the number of the error."""
        self._fields[2] = error

    def Get_count(self, datatype: Datatype = BYTE) -> int:
        """Give the number of items; `UNDEFINED` when the message holds no whole ones."""
        return _whole(self._fields[4], datatype.Get_size())

    def Get_elements(self, datatype: Datatype) -> int:
        """Give the number of numbers; `UNDEFINED` when the message holds no whole ones."""
        parts = datatype._valid().parts
        rounds, rest = divmod(self._fields[4], sum(parts)) if any(parts) else (0, self._fields[4])
        count = rounds * len(parts)
        for part in parts:
            if rest <= 0:
                break
            count, rest = count + 1, rest - part
        return count if rest == 0 else UNDEFINED

    def Set_elements(self, datatype: Datatype, count: int) -> None:
        """Set the length of the message, as so many numbers of the datatype."""
        parts = datatype._valid().parts
        rounds, rest = divmod(count, len(parts))
        self._fields[4] = rounds * sum(parts) + sum(parts[:rest])

    def Is_cancelled(self) -> bool:
        """Whether the request was given up."""
        return bool(self._fields[3])

    def Set_cancelled(self, flag: bool) -> None:
        """Set whether the request was given up."""
        self._fields[3] = bool(flag)

    def tomemory(self) -> memoryview:
        """Show the numbers of the status."""
        return memoryview(self._fields)

    def py2f(self) -> list[int]:
        """Give the numbers of the status."""
        return list(self._fields)

    @classmethod
    def f2py(cls, arg: list[int]) -> Status:
        """Make a status of its numbers."""
        status = cls()
        status._fields[:] = array("q", arg)
        return status

    source = property(Get_source, Set_source, doc="The rank that has sent the message.")
    tag = property(Get_tag, Set_tag, doc="The tag of the message.")
    error = property(Get_error, Set_error, doc="The number of the error.")
    cancelled = property(Is_cancelled, Set_cancelled, doc="Whether the request was given up.")
    count = property(
        lambda self: self.Get_count(BYTE),
        lambda self, count: self.Set_elements(BYTE, count),
        doc="The number of bytes.",
    )


def _whole(nbytes: int, size: int) -> int:
    if size == 0:
        return 0 if nbytes == 0 else UNDEFINED
    return nbytes // size if nbytes % size == 0 else UNDEFINED
