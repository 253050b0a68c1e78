"""What a program says of its buffers, as parts of memory: `buf`, `[buf, count, datatype]` …"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import index
from typing import Any

import numpy

from motet.mpi4py._datatypes import Datatype
from motet.mpi4py._memory import BOTTOM, at_address, is_buffer, shown
from motet.mpi4py._parts import Part
from motet.mpi4py._predefined import BYTE, of_code


def _absolute(first: int, count: int, datatype: Datatype) -> Part:
    """Give items by the address of the first, as `BOTTOM` means it."""
    layout = datatype._valid()
    places = layout.all_places()
    if not count or not len(places):
        return NOTHING
    begins = first, first + (count - 1) * layout.extent
    low = min(begins) + int(places.min())
    high = max(begins) + int(places.max()) + 1
    return Part(at_address(low, high - low, False, None), first - low, count, datatype)


NOTHING = Part(numpy.empty(0, dtype=numpy.uint8), 0, 0, BYTE)


def as_datatype(datatype: Any) -> Datatype:
    """Give the datatype that is meant by itself or by its code."""
    return datatype if isinstance(datatype, Datatype) else of_code(datatype)


def _is_datatype(given: Any) -> bool:
    return isinstance(given, (Datatype, str))


def _is_many(given: Any) -> bool:
    return isinstance(given, (tuple, list))


def _whole(buf: Any, datatype: Any) -> tuple[numpy.ndarray, Datatype]:
    """Give the memory of a buffer, and what it holds."""
    if buf is None or buf is BOTTOM:
        return NOTHING.mem, BYTE if datatype is None else as_datatype(datatype)
    mem, code = shown(buf)
    return mem, of_code(code) if datatype is None else as_datatype(datatype)


def _taken_apart(msg: Any, lists: bool) -> tuple[Any, Any, Any, Any]:
    """Give the buffer, the count or counts, the displacement or displacements, the datatype."""
    if isinstance(msg, (list, tuple)):
        many = _is_many if lists else (lambda given: isinstance(given, tuple))
        if len(msg) == 2:
            buf, counts = msg
            if _is_datatype(counts):
                return buf, None, None, counts
            if many(counts):
                return buf, *_two(counts), None
            return buf, counts, None, None
        if len(msg) == 3:
            buf, counts, datatype = msg
            if many(counts):
                return buf, *_two(counts), datatype
            return buf, counts, None, datatype
        if len(msg) == 4:
            return msg[0], msg[1], msg[2], msg[3]
        raise ValueError(f"message: a list of 2 to 4 items is expected, not of {len(msg)}")
    if is_buffer(msg):
        return msg, None, None, None
    raise TypeError(
        f"message: a buffer or a list is expected, not {type(msg).__name__}; "
        "the lower-case calls take any object"
    )


def _two(counts: Sequence[Any]) -> tuple[Any, Any]:
    first, second = counts
    return first, second


def simple(msg: Any, blocks: int = 0) -> Part:
    """Give what a message holds; with `blocks` it is cut into so many equal parts: the first."""
    if type(msg) is numpy.ndarray and blocks < 2:
        mem, code = shown(msg)
        datatype = of_code(code)
        return Part(mem, 0, len(mem) // datatype._valid().extent, datatype)
    buf, count, first, given = _taken_apart(msg, lists=True)
    mem, datatype = _whole(buf, given)
    offset, length = 0, len(mem)
    if first is not None:
        first = index(first)
        if first < 0:
            raise ValueError(f"message: negative displacement {first}")
        if first:
            extent = _extent(datatype, "displacement")
            if first * extent > length:
                raise ValueError(
                    f"message: displacement {first} out of bounds of {length // extent} items"
                )
            offset = first * extent
            length -= offset
    if count is not None:
        count = index(count)
        if count < 0:
            raise ValueError(f"message: negative count {count}")
        if count > 0 and buf is None:
            raise ValueError(f"message: buffer is None but count is {count}")
        if buf is BOTTOM:
            return _absolute(offset, count, datatype)
    elif length:
        items = _items(length, datatype)
        if blocks > 1 and items % blocks:
            raise ValueError(
                f"message: cannot infer count: {items} items are not {blocks} equal blocks"
            )
        count = items // max(blocks, 1)
    else:
        count = 0
    return Part(mem, offset, count, datatype)


def _extent(datatype: Datatype, what: str) -> int:
    if not datatype:
        raise ValueError(f"message: cannot handle {what}: the datatype is null")
    extent = datatype._valid().extent
    if extent <= 0:
        raise ValueError(f"message: cannot handle {what}: the extent of the datatype is {extent}")
    return extent


def _items(length: int, datatype: Datatype) -> int:
    extent = _extent(datatype, "a message without a count")
    if length % extent:
        raise ValueError(
            f"message: cannot infer count: {length} bytes are no whole items of {extent} bytes"
        )
    return length // extent


def vector(msg: Any, blocks: int) -> list[Part]:
    """Give so many parts of a buffer, each with its count and displacement."""
    buf, counts, firsts, given = _taken_apart(msg, lists=False)
    mem, datatype = _whole(buf, given)
    if counts is None:
        items = _items(len(mem), datatype) if len(mem) else 0
        counts = [items // blocks + (items % blocks > number) for number in range(blocks)]
    else:
        counts = _each(counts, blocks, "counts")
    if firsts is None:
        firsts, at = [], 0
        for count in counts:
            firsts.append(at)
            at += count
    elif isinstance(firsts, Iterable):
        firsts = _each(firsts, blocks, "displacements")
    else:
        firsts = [index(firsts) * number for number in range(blocks)]
    extent = datatype._valid().extent if any(counts) else 0
    return [
        Part(mem, first * extent, count, datatype)
        for count, first in zip(counts, firsts, strict=True)
    ]


def _each(given: Any, blocks: int, what: str) -> list[int]:
    if not isinstance(given, Iterable):
        return [index(given)] * blocks
    numbers = [index(one) for one in given]
    if len(numbers) != blocks:
        raise ValueError(f"message: {blocks} {what} are expected, not {len(numbers)}")
    if what == "counts" and min(numbers, default=0) < 0:
        raise ValueError(f"message: negative count {min(numbers)}")
    return numbers


def vector_w(msg: Any, blocks: int) -> list[Part]:
    """Give so many parts of a buffer, each with its datatype, its count and its first byte."""
    if not isinstance(msg, (list, tuple)):
        raise TypeError("message: a list of a buffer, counts, firsts and datatypes is expected")
    counts: Any
    firsts: Any
    if len(msg) == 2:
        (buf, datatypes), counts, firsts = msg, None, None
    elif len(msg) == 3:
        buf, (counts, firsts), datatypes = msg
    elif len(msg) == 4:
        buf, counts, firsts, datatypes = msg
    else:
        raise ValueError(f"message: a list of 2 to 4 items is expected, not of {len(msg)}")
    datatypes = [as_datatype(one) for one in datatypes]
    if len(datatypes) != blocks:
        raise ValueError(f"message: {blocks} datatypes are expected, not {len(datatypes)}")
    mem = NOTHING.mem if buf is None or buf is BOTTOM else shown(buf)[0]
    make = (lambda _, *items: _absolute(*items)) if buf is BOTTOM else Part
    counts = [1] * blocks if counts is None else _each(counts, blocks, "counts")
    firsts = [0] * blocks if firsts is None else _each(firsts, blocks, "displacements")
    return [
        make(mem, first, count, datatype)
        for count, first, datatype in zip(counts, firsts, datatypes, strict=True)
    ]
