"""mpi4py's names over motet's ranks: `from motet.mpi4py import MPI`.

A script that was written for mpi4py runs as it is when that line takes the place of
`from mpi4py import MPI`. It is a world of one by itself, and one of several ranks under
`motet run -m 2 -- python script.py`. Inside `World.run` each rank has its own
`MPI.COMM_WORLD`. What motet lacks raises `NotImplementedError`, which says what it is.

>>> from motet.comm import World
>>> from motet.mpi4py import MPI
>>> def main(_):
...     comm = MPI.COMM_WORLD
...     return comm.allreduce(comm.Get_rank() + 1, op=MPI.SUM)
>>> World.threads(3).run(main)
[6, 6, 6]
"""

from __future__ import annotations

from typing import Any

__all__ = ["MPI", "rc"]


class Rc:
    """What may be set before `MPI` is first used."""

    def __init__(self) -> None:
        self.initialize = True
        self.threads = True
        self.thread_level = "funneled"
        self.finalize: bool | None = None
        self.fast_reduce = True
        self.recv_mprobe = False
        self.irecv_bufsz = 32768
        self.errors = "exception"

    def __call__(self, **options: Any) -> None:
        """Set several options."""
        for name, value in options.items():
            setattr(self, name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in _OPTIONS:
            raise TypeError(f"rc has no option {name!r}; it has {', '.join(_OPTIONS)}")
        super().__setattr__(name, value)


_OPTIONS = (
    "initialize",
    "threads",
    "thread_level",
    "finalize",
    "fast_reduce",
    "recv_mprobe",
    "irecv_bufsz",
    "errors",
)

rc = Rc()


def get_config() -> dict[str, str]:
    """Give how the package was built: by no compiler of MPI."""
    return {}


def __getattr__(name: str) -> Any:
    # Late: a program that only sets `rc` begins nothing.
    if name == "MPI":
        import importlib

        return importlib.import_module("motet.mpi4py.MPI")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
