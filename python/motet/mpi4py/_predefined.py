"""The datatypes of MPI's own, by their names and by the codes of numpy and `struct`."""

from __future__ import annotations

import struct
from typing import Any

import numpy

from motet.mpi4py._datatypes import BY_CODE, BY_NAME, DATATYPE_NULL, Datatype, Layout

_PAIRS = {
    "SHORT_INT": "h",
    "TWOINT": "i",
    "INT_INT": "i",
    "LONG_INT": "l",
    "FLOAT_INT": "f",
    "DOUBLE_INT": "d",
    "LONG_DOUBLE_INT": "g",
}

# The code of each by `numpy.dtype`.
_NUMBERS = {
    "CHAR": "S1",
    "WCHAR": "U1",
    "SIGNED_CHAR": "b",
    "SHORT": "h",
    "INT": "i",
    "LONG": "l",
    "LONG_LONG": "q",
    "UNSIGNED_CHAR": "B",
    "UNSIGNED_SHORT": "H",
    "UNSIGNED": "I",
    "UNSIGNED_LONG": "L",
    "UNSIGNED_LONG_LONG": "Q",
    "FLOAT": "f",
    "DOUBLE": "d",
    "LONG_DOUBLE": "g",
    "C_BOOL": "?",
    "INT8_T": "i1",
    "INT16_T": "i2",
    "INT32_T": "i4",
    "INT64_T": "i8",
    "UINT8_T": "u1",
    "UINT16_T": "u2",
    "UINT32_T": "u4",
    "UINT64_T": "u8",
    "FLOAT16_T": "f2",
    "FLOAT32_T": "f4",
    "FLOAT64_T": "f8",
    "C_COMPLEX": "F",
    "C_FLOAT_COMPLEX": "F",
    "C_DOUBLE_COMPLEX": "D",
    "C_LONG_DOUBLE_COMPLEX": "G",
    "CXX_BOOL": "?",
    "CXX_FLOAT_COMPLEX": "F",
    "CXX_DOUBLE_COMPLEX": "D",
    "CXX_LONG_DOUBLE_COMPLEX": "G",
    "AINT": "p",
    "OFFSET": "i8",
    "COUNT": "i8",
    "CHARACTER": "S1",
    "LOGICAL": "i",
    "INTEGER": "i",
    "REAL": "f",
    "DOUBLE_PRECISION": "d",
    "COMPLEX": "F",
    "DOUBLE_COMPLEX": "D",
    "LOGICAL1": "i1",
    "LOGICAL2": "i2",
    "LOGICAL4": "i4",
    "LOGICAL8": "i8",
    "INTEGER1": "i1",
    "INTEGER2": "i2",
    "INTEGER4": "i4",
    "INTEGER8": "i8",
    "REAL2": "f2",
    "REAL4": "f4",
    "REAL8": "f8",
    "REAL16": "g",
    "COMPLEX8": "F",
    "COMPLEX16": "D",
    "COMPLEX32": "G",
}

# What other names these have.
_ALSO = {
    "UNSIGNED_INT": "UNSIGNED",
    "SIGNED_SHORT": "SHORT",
    "SIGNED_INT": "INT",
    "SIGNED_LONG": "LONG",
    "SIGNED_LONG_LONG": "LONG_LONG",
    "BOOL": "C_BOOL",
    "SINT8_T": "INT8_T",
    "SINT16_T": "INT16_T",
    "SINT32_T": "INT32_T",
    "SINT64_T": "INT64_T",
    "F_BOOL": "LOGICAL",
    "F_INT": "INTEGER",
    "F_FLOAT": "REAL",
    "F_DOUBLE": "DOUBLE_PRECISION",
    "F_COMPLEX": "COMPLEX",
    "F_FLOAT_COMPLEX": "COMPLEX",
    "F_DOUBLE_COMPLEX": "DOUBLE_COMPLEX",
}

# What is not there; a program may ask whether it is.
_UNSUPPORTED = ("LOGICAL16", "INTEGER16", "COMPLEX4", "BFLOAT16_T")

PREDEFINED = BY_NAME


def _define() -> None:
    for name, code in _NUMBERS.items():
        number: Any = numpy.dtype(code)
        layout = Layout(name, number.itemsize, number=number, code=number.char, predefined=True)
        PREDEFINED[name] = Datatype._of(layout)
    for name in ("BYTE", "PACKED"):
        layout = Layout(name, 1, number=numpy.dtype("u1"), code="B", predefined=True)
        PREDEFINED[name] = Datatype._of(layout)
    for name, code in _PAIRS.items():
        number = numpy.dtype([("value", code), ("index", "i")], align=True)
        places = numpy.concatenate(
            [
                offset + numpy.arange(part.itemsize)
                for part, offset in (number.fields[f][:2] for f in ("value", "index"))
            ]
        )
        dense = len(places) == number.itemsize
        layout = Layout(
            name,
            len(places),
            extent=number.itemsize,
            places=None if dense else places,
            number=numpy.dtype([("value", code), ("index", "i")]),
            predefined=True,
        )
        PREDEFINED[name] = Datatype._of(layout)
    for name, other in _ALSO.items():
        PREDEFINED[name] = PREDEFINED[other]
    for name in _UNSUPPORTED:
        PREDEFINED[name] = DATATYPE_NULL


_define()
BYTE = PREDEFINED["BYTE"]

CODES = BY_CODE
CODES_C: dict[str, Datatype] = {}
CODES_F: dict[str, Datatype] = {}


def _tables() -> None:
    by_code = {
        "c": "CHAR",
        "S": "CHAR",
        "S1": "CHAR",
        "s": "CHAR",
        "u": "WCHAR",
        "b": "SIGNED_CHAR",
        "h": "SHORT",
        "i": "INT",
        "l": "LONG",
        "q": "LONG_LONG",
        "B": "UNSIGNED_CHAR",
        "H": "UNSIGNED_SHORT",
        "I": "UNSIGNED",
        "L": "UNSIGNED_LONG",
        "Q": "UNSIGNED_LONG_LONG",
        "f": "FLOAT",
        "d": "DOUBLE",
        "g": "LONG_DOUBLE",
        "?": "C_BOOL",
        "F": "C_FLOAT_COMPLEX",
        "D": "C_DOUBLE_COMPLEX",
        "G": "C_LONG_DOUBLE_COMPLEX",
        "e": "FLOAT16_T",
        "p": "AINT",
        "n": "AINT",
    }
    for code, name in by_code.items():
        CODES[code] = CODES_C[code] = PREDEFINED[name]
    for code in "fdg":
        CODES[f"Z{code}"] = CODES_C[f"Z{code}"] = CODES[code.upper()]
    for code in "bhilqBHILQfdgFDG?e":
        text = numpy.dtype(code).str[1:]
        # `long` and `long long` have one size: the shorter name goes first.
        CODES.setdefault(text, CODES[code])
    CODES["f2"] = PREDEFINED["FLOAT16_T"]
    for name in ("LOGICAL", "INTEGER", "REAL", "DOUBLE_PRECISION", "COMPLEX", "DOUBLE_COMPLEX"):
        CODES_F[PREDEFINED[name].tocode()] = PREDEFINED[name]


_tables()


def of_code(code: str) -> Datatype:
    """Give the datatype with a code of numpy or `struct`.

    Raises `KeyError` when there is none, and `ValueError` for another byte order.
    """
    key = code
    if key[:1] in "@=<>|":
        other = ">" if struct.pack("=H", 1) == struct.pack("<H", 1) else "<"
        if key[0] == other:
            raise ValueError(
                f"the buffer holds {code!r}, numbers in the byte order of another machine, which "
                "would be read wrongly: give x.astype(x.dtype.newbyteorder('='))"
            )
        key = key[1:]
    try:
        return CODES[key]
    except KeyError:
        raise KeyError(
            f"no datatype of MPI has the code {code!r}: give the bytes as [x, MPI.BYTE], or the "
            "object to a lower-case call"
        ) from None


def typecode(datatype: Datatype) -> str | None:
    """Give the code of a datatype, if it has one."""
    return datatype._valid().code or None


def typealign(datatype: Datatype) -> int | None:
    """Give what the address of a number is a multiple of."""
    number = datatype._valid().number
    return None if number is None else number.alignment
