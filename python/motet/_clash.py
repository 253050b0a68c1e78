"""Two MPI libraries in one process: the second one's start would abort it, so it is refused before.

The wheel of mpi4py opens `libmpi.so.12`, motet `libmpi_abi.so.1`.
"""

from __future__ import annotations

import importlib.machinery
import re
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from motet import _motet

_REAL = "mpi4py.MPI"
_INSTEAD = (
    "write `from motet.mpi4py import MPI` instead of `from mpi4py import MPI`, "
    "or use an mpi4py that was built for the MPI standard ABI"
)


def _real() -> Any:
    """Give mpi4py's own module, if it was imported."""
    module = sys.modules.get(_REAL)
    return None if module is None or hasattr(module, "__motet__") else module


def _libraries() -> list[str]:
    """Give the MPI libraries that this process has loaded."""
    try:
        with open("/proc/self/maps", encoding="utf-8") as maps:
            paths = {line.split(maxsplit=5)[-1].strip() for line in maps if "/" in line}
    except OSError:
        return []
    named = re.compile(r"lib(mpi|mpich|mpi_abi|open-pal|msmpi)\.so[.0-9]*$")
    return sorted(path for path in paths if named.search(path))


def refuse_second_library() -> None:
    """Raise an error if mpi4py has opened an MPI library, before motet starts another."""
    if _real() is None or not _motet.World.is_one_of_several():
        return
    loaded = _libraries()
    if loaded and all("libmpi_abi" in path for path in loaded):
        # The same standard ABI. If mpi4py has started the library, its start says so.
        return
    raise _motet.MotetError(
        f"mpi4py has opened an MPI library ({', '.join(loaded) or 'its own'}), and motet cannot "
        f"start another beside it: {_INSTEAD}"
    )


class _Guard:
    """Refuses to import mpi4py's own module once motet has started MPI."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Raise an error for mpi4py's own module."""
        if name != _REAL:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and isinstance(spec.loader, importlib.machinery.SourceFileLoader):
            # A file of Python opens no library: it stands for this module.
            return None
        raise ImportError(
            f"motet has started MPI in this process, and mpi4py would start another library: "
            f"{_INSTEAD}",
            name=name,
            path=None if spec is None else spec.origin,
        )


def refuse_later_mpi4py() -> None:
    """Have imports of mpi4py's own module raise an error from now on."""
    if _motet.World.is_one_of_several() and not any(isinstance(f, _Guard) for f in sys.meta_path):
        sys.meta_path.insert(0, _Guard())  # type: ignore[arg-type]
