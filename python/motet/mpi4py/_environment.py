"""The calls about MPI itself: its begin and end, versions, clocks, memory, ports."""

from __future__ import annotations

import socket
import threading
import time
from typing import Any, NoReturn

from motet import _motet
from motet.mpi4py import _constants as constants
from motet.mpi4py import _world
from motet.mpi4py._errors import lacks
from motet.mpi4py._info import INFO_NULL, Info
from motet.mpi4py._memory import BOTTOM, buffer, memory
from motet.mpi4py._requests import Request, ended

__all__ = [
    "Aint_add",
    "Aint_diff",
    "Alloc_mem",
    "Attach_buffer",
    "Close_port",
    "Detach_buffer",
    "Finalize",
    "Flush_buffer",
    "Free_mem",
    "Get_address",
    "Get_library_version",
    "Get_processor_name",
    "Get_version",
    "Iflush_buffer",
    "Init",
    "Init_thread",
    "Is_finalized",
    "Is_initialized",
    "Is_thread_main",
    "Lookup_name",
    "Open_port",
    "Pcontrol",
    "Publish_name",
    "Query_thread",
    "Register_datarep",
    "Unpublish_name",
    "Wtick",
    "Wtime",
    "get_vendor",
]

# Of each rank.
_attached = threading.local()


def Init() -> None:
    """Begin the world; the first call of another kind does so too."""
    _world.init()


def Init_thread(required: int = constants.THREAD_MULTIPLE) -> int:
    """Begin the world; which threads may call."""
    _world.init()
    return constants.THREAD_FUNNELED


def Finalize() -> None:
    """End the world, and wait until all ranks have."""
    _world.finish()


def Is_initialized() -> bool:
    """Whether the world has begun; the first call begins it."""
    return _world.is_initialized() or _begins_by_itself()


def _begins_by_itself() -> bool:
    from motet.mpi4py import rc

    return rc.initialize


def Is_finalized() -> bool:
    """Whether the world has ended."""
    return _world.is_finalized()


def Query_thread() -> int:
    """Say which threads may call: that of the rank."""
    return constants.THREAD_FUNNELED


def Is_thread_main() -> bool:
    """Whether the calling thread is that of a rank."""
    return _motet.is_rank() or threading.current_thread() is threading.main_thread()


def Get_version() -> tuple[int, int]:
    """Give the version of the standard whose calls these are."""
    return constants.VERSION, constants.SUBVERSION


def Get_library_version() -> str:
    """Give the name and the version of the library."""
    return f"motet {_motet.__version__}"


def get_vendor() -> tuple[str, tuple[int, int, int]]:
    """Give the name and the version of the library."""
    major, minor, patch = (int(part) for part in _motet.__version__.split("-")[0].split(".")[:3])
    return "motet", (major, minor, patch)


def Get_processor_name() -> str:
    """Give the name of the machine."""
    return socket.gethostname()


def Wtime() -> float:
    """Give the time in seconds since some moment."""
    return time.perf_counter()


def Wtick() -> float:
    """Give how fine the time is, in seconds."""
    return time.get_clock_info("perf_counter").resolution


def Pcontrol(level: int) -> None:
    """Do nothing: profiles are asked for when a world is run."""


# Memory.


def Alloc_mem(size: int, info: Info = INFO_NULL) -> buffer:
    """Allocate memory."""
    return buffer.allocate(size)


def Free_mem(mem: buffer) -> None:
    """Do nothing: memory goes with its last user."""


def Get_address(location: Any) -> int:
    """Give the address of a buffer."""
    return 0 if location is BOTTOM else memory(location).ctypes.data


def Aint_add(base: int, disp: int) -> int:
    """Add to an address."""
    return base + disp


def Aint_diff(addr1: int, addr2: int) -> int:
    """Subtract two addresses."""
    return addr1 - addr2


def Attach_buffer(buf: Any) -> None:
    """Keep a buffer for messages; they need none."""
    _attached.buf = buf


def Detach_buffer() -> Any:
    """Give the buffer back."""
    buf, _attached.buf = getattr(_attached, "buf", None), None
    return buf


def Flush_buffer() -> None:
    """Do nothing: nothing waits in a buffer."""


def Iflush_buffer() -> Request:
    """Do nothing: nothing waits in a buffer."""
    return ended()


# What is not there.


def Open_port(info: Info = INFO_NULL) -> NoReturn:
    """Not there."""
    raise lacks("ports between programs", "use motet.service")


def Close_port(port_name: str) -> NoReturn:
    """Not there."""
    raise lacks("ports between programs", "use motet.service")


def Publish_name(service_name: str, port_name: str, info: Info = INFO_NULL) -> NoReturn:
    """Not there."""
    raise lacks("published names", "use the directory of motet.service")


def Unpublish_name(service_name: str, port_name: str, info: Info = INFO_NULL) -> NoReturn:
    """Not there."""
    raise lacks("published names", "use the directory of motet.service")


def Lookup_name(service_name: str, info: Info = INFO_NULL) -> NoReturn:
    """Not there."""
    raise lacks("published names", "use the directory of motet.service")


def Register_datarep(*_: Any, **__: Any) -> NoReturn:
    """Not there."""
    raise lacks("data representations", "convert before Write and after Read")
