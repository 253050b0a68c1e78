"""Whom a message goes to or comes from, and what ends its receive."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from motet.mpi4py._calls import Call
from motet.mpi4py._constants import _MOST_TAG, ANY_SOURCE, ANY_TAG, PROC_NULL
from motet.mpi4py._errors import fail
from motet.mpi4py._parts import Part
from motet.mpi4py._pickled import pickle
from motet.mpi4py._status import Status


def dest_of(rank: int) -> int:
    """Refuse a receiver that is no rank."""
    if rank < 0:
        fail("ERR_RANK", f"dest is {rank}")
    return rank


def tag_of(tag: int) -> int:
    """Refuse what is no tag."""
    if not 0 <= tag <= _MOST_TAG:
        fail("ERR_TAG", f"tag is {tag}")
    return tag


def somebody(dest: int, tag: int) -> bool:
    """Whether there is a receiver. Refuse what is no rank and what is no tag."""
    if dest == PROC_NULL:
        return False
    if dest < 0 or not 0 <= tag <= _MOST_TAG:
        dest_of(dest), tag_of(tag)
    return True


def wanted(source: int, tag: int) -> tuple[int | None, int | None]:
    """Give the source and the tag that are wanted; `None` is any."""
    if source >= 0 and 0 <= tag <= _MOST_TAG:
        return source, tag
    if source != ANY_SOURCE and source < 0:
        fail("ERR_RANK", f"source is {source}")
    return None if source == ANY_SOURCE else source, None if tag == ANY_TAG else tag_of(tag)


def nobody(status: Status | None) -> None:
    """Write down that nothing has come, from nobody."""
    if status is not None:
        status._set(PROC_NULL, ANY_TAG, 0)


def from_nobody(call: Call, _: Any) -> None:
    """End a receive from nobody."""
    call.source = PROC_NULL


def into(part: Part) -> Callable[[Call, Any], None]:
    """Give what fills a buffer with a message."""

    def fill(call: Call, given: Any) -> None:
        data, call.source, call.tag = given
        call.nbytes = len(data)
        part.unpack(data)

    return fill


def an_object(call: Call, given: Any) -> None:
    """End a receive of an object."""
    data, call.source, call.tag = given
    call.nbytes = len(data)
    call.result = pickle.loads(data)
