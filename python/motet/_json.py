"""Bodies and states of services as text."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy

__all__ = ["written"]

# An integer of 64 bits has 19 digits or 20.
_LONG = re.compile(r"\d{19}")


def written(value: Any) -> str:
    """Write JSON that is read as it was: services keep integers of 64 bits, and others as floats.

    Raises `ValueError` for an integer that would lose digits, and for NaN and infinities, and
    `TypeError` for what JSON has not. A number of numpy is that number.
    """
    text = json.dumps(value, allow_nan=False, default=_plain)
    if _LONG.search(text):
        json.loads(text, parse_int=_kept)
    return text


def _plain(value: Any) -> Any:
    if isinstance(value, numpy.generic):
        number = value.item()
        if isinstance(number, (bool, int, float)):
            return number
    write = ": write x.tolist()" if isinstance(value, numpy.ndarray) else ""
    raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable{write}")


def _kept(digits: str) -> int:
    number = int(digits)
    if not -(2**63) <= number < 2**64:
        raise ValueError(
            f"{number} has more than 64 bits, which no service keeps: give a float, or a text"
        )
    return number
