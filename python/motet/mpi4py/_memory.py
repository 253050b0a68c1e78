"""The memory of what a program gives as a buffer, as an array of bytes."""

from __future__ import annotations

import ctypes
import os
import sys
from typing import Any

import numpy

from motet.mpi4py._errors import lacks


class BottomType:
    """The begin of all memory."""

    def __repr__(self) -> str:
        return "BOTTOM"

    def __bool__(self) -> bool:
        return False

    def __int__(self) -> int:
        return 0

    __index__ = __int__

    def __reduce__(self) -> str:
        return "BOTTOM"


class InPlaceType:
    """The receive buffer holds what is sent."""

    def __repr__(self) -> str:
        return "IN_PLACE"

    def __bool__(self) -> bool:
        return True

    def __reduce__(self) -> str:
        return "IN_PLACE"


BOTTOM = BottomType()
IN_PLACE = InPlaceType()


def _nothing() -> numpy.ndarray:
    """Make memory without a byte: new each time, since ranks must not share what they write."""
    return numpy.empty(0, dtype=numpy.uint8)


class buffer(numpy.ndarray):  # noqa: N801
    """Bytes of memory. It can be cut, and takes any contiguous buffer of the same length."""

    def __new__(cls, buf: Any = b"") -> buffer:
        """Show the memory of an object."""
        return memory(buf).view(cls)

    @staticmethod
    def allocate(nbytes: int, clear: bool = False) -> buffer:
        """Allocate memory, filled with zeros if `clear`."""
        if nbytes < 0:
            raise ValueError(f"nbytes is {nbytes}: memory has no negative length")
        make = numpy.zeros if clear else numpy.empty
        return make(nbytes, dtype=numpy.uint8).view(buffer)

    @staticmethod
    def frombuffer(obj: Any, readonly: bool = False) -> buffer:
        """Show the memory of an object."""
        shown = memory(obj).view(buffer)
        if readonly:
            shown.flags.writeable = False
        return shown

    @staticmethod
    def fromaddress(address: int, nbytes: int, readonly: bool = False) -> buffer:
        """Show the memory at an address. Nobody checks that it is there."""
        shown = at_address(address, nbytes, readonly, None).view(buffer)
        return shown

    def __setitem__(self, item: Any, value: Any) -> None:
        if isinstance(item, slice) and not isinstance(value, int):
            value = memory(value)
        super().__setitem__(item, value)

    def __eq__(self, other: Any) -> Any:
        if isinstance(other, (bytes, bytearray, memoryview)):
            return self.tobytes() == bytes(other)
        return super().__eq__(other)

    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        # What is compared is no memory any more.
        return len(self) > 0 if self.dtype == numpy.uint8 else super().__bool__()

    @property
    def address(self) -> int:
        """The address of the memory."""
        return self.ctypes.data

    @property
    def obj(self) -> Any:
        """What the memory belongs to."""
        return self.base

    @property
    def readonly(self) -> bool:
        """Whether it cannot be written."""
        return not self.flags.writeable

    @property
    def format(self) -> str:
        """The code of a byte."""
        return "B"

    def cast(self, format: str, shape: Any = None) -> memoryview:
        """Show the memory as numbers."""
        shown: Any = memoryview(self.data)
        return shown.cast(format) if shape is None else shown.cast(format, shape)

    def toreadonly(self) -> buffer:
        """Show the same memory, not to be written."""
        return buffer.frombuffer(self, readonly=True)

    def release(self) -> None:
        """Do nothing: the memory goes with its last user."""


def at_address(address: int, nbytes: int, readonly: bool, owner: Any) -> numpy.ndarray:
    """Show memory at an address, which `owner` keeps."""
    if nbytes == 0:
        return _nothing()
    held: Any = (ctypes.c_ubyte * nbytes).from_address(address)
    held._owner = owner
    shown = numpy.frombuffer(held, dtype=numpy.uint8)
    if readonly:
        shown.flags.writeable = False
    return shown


def _is_readable(address: int) -> bool:
    """Whether this process can read the memory at an address."""
    if not sys.platform.startswith("linux"):
        return False
    own = os.open("/proc/self/mem", os.O_RDONLY)
    try:
        return len(os.pread(own, 1, address)) == 1
    except OSError:
        return False
    finally:
        os.close(own)


def _of_array(array: numpy.ndarray) -> numpy.ndarray:
    if array.dtype.hasobject:
        raise ValueError(f"an array of {array.dtype} has no memory of its own: use send, not Send")
    # A matrix stays one when it is laid flat, and a mask is no memory of the numbers.
    array = numpy.asarray(array)
    if array.flags.c_contiguous:
        flat = array.reshape(-1)
    elif array.flags.f_contiguous:
        flat = array.T.reshape(-1)
    else:
        raise BufferError("the array is not contiguous; copy it by numpy.ascontiguousarray")
    return flat.view(numpy.uint8) if flat.size else _nothing()


def _of_interface(obj: Any) -> tuple[numpy.ndarray, str]:
    """Show what has the memory of a device, if the processor can read it."""
    told = obj.__cuda_array_interface__
    address, readonly = told["data"]
    code = numpy.dtype(told["typestr"])
    shape = told["shape"]
    strides = told.get("strides")
    if strides is not None and list(strides) != _packed(shape, code.itemsize):
        raise BufferError("the array is not contiguous; copy it")
    nbytes = code.itemsize * int(numpy.prod(shape, dtype=numpy.int64))
    if nbytes and not _is_readable(address):
        raise lacks(
            "way to send the memory of a device",
            "copy it into an array of numpy, or use managed memory",
        )
    return at_address(address or 0, nbytes, readonly, obj), _code(code)


def _packed(shape: Any, itemsize: int) -> list[int]:
    strides: list[int] = []
    step = itemsize
    for length in reversed(shape):
        strides.insert(0, step)
        step *= length
    return strides


class _DlDevice(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_int32), ("number", ctypes.c_int32)]


class _DlNumber(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class _DlTensor(ctypes.Structure):
    """As DLPack lays an array out."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", _DlDevice),
        ("ndim", ctypes.c_int32),
        ("number", _DlNumber),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


# By the code of DLPack: signed, unsigned, real, complex, truth.
_DL_KINDS = {0: "i", 1: "u", 2: "f", 5: "c", 6: "b"}

_pointer_in = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_in.restype = ctypes.c_void_p
_pointer_in.argtypes = [ctypes.py_object, ctypes.c_char_p]


def _of_dlpack(obj: Any) -> tuple[numpy.ndarray, str]:
    kind, _ = obj.__dlpack_device__()
    # 1 is the processor's memory, 3 and 11 what is pinned, 13 what CUDA manages.
    if kind not in (1, 3, 11, 13):
        raise lacks(
            "way to send the memory of a device", "copy it into an array of numpy before the call"
        )
    # The capsule is not used up, so it frees by itself what is in it.
    capsule = obj.__dlpack__()
    tensor = _DlTensor.from_address(_pointer_in(capsule, b"dltensor"))
    shape = [tensor.shape[place] for place in range(tensor.ndim)]
    number = tensor.number
    itemsize = number.bits * number.lanes // 8
    if tensor.strides:
        strides = [tensor.strides[place] * itemsize for place in range(tensor.ndim)]
        if strides != _packed(shape, itemsize) and 0 not in shape:
            raise BufferError("the array is not contiguous; copy it")
    nbytes = itemsize
    for length in shape:
        nbytes *= length
    address = (tensor.data or 0) + tensor.byte_offset
    code = "c" if number.lanes == 2 else _DL_KINDS.get(number.code, "V")
    return at_address(address, nbytes, False, (obj, capsule)), f"{code}{itemsize}"


def _code(kind: numpy.dtype) -> str:
    """Give the code of numbers; that of another byte order is not theirs."""
    if kind.names is not None:
        return kind.str
    return kind.char if kind.isnative else kind.byteorder + kind.char


def shown(obj: Any) -> tuple[numpy.ndarray, str]:
    """Show the memory of an object as bytes, and say which numbers it holds."""
    if isinstance(obj, numpy.ndarray):
        return _of_array(obj), _code(obj.dtype)
    if obj is None or obj is BOTTOM:
        return _nothing(), "B"
    try:
        view = memoryview(obj)
    except TypeError:
        if hasattr(obj, "__dlpack_device__"):
            return _of_dlpack(obj)
        if hasattr(obj, "__cuda_array_interface__"):
            return _of_interface(obj)
        raise TypeError(
            f"{type(obj).__name__} is no buffer; use the lower-case calls for objects"
        ) from None
    code = view.format or "B"
    if not view.c_contiguous:
        if not view.f_contiguous:
            raise BufferError("the buffer is not contiguous; copy it")
        return _of_array(numpy.asarray(view)), code
    if view.nbytes == 0:
        return _nothing(), code
    return numpy.frombuffer(view.cast("B"), dtype=numpy.uint8), code


def memory(obj: Any) -> numpy.ndarray:
    """Show the memory of an object as bytes."""
    return shown(obj)[0]


def is_buffer(obj: Any) -> bool:
    """Whether an object has memory that can be shown."""
    if isinstance(obj, numpy.ndarray):
        return True
    try:
        memoryview(obj)
    except TypeError:
        return hasattr(obj, "__dlpack_device__") or hasattr(obj, "__cuda_array_interface__")
    return True
