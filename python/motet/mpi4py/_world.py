"""A script that is a rank without saying so: its first call begins the world, its end ends it."""

from __future__ import annotations

import atexit
import os
import sys
import threading
from typing import Any

from motet import _clash, _ending, _motet
from motet.mpi4py import rc

# What this process has done: begun by itself, and ended.
_begun = False
_finished = False
_forked = False


def begin() -> None:
    """Make the calling thread the rank of this process, in the world that it was started in."""
    global _begun
    if _motet.is_rank():
        return
    if _forked:
        raise _motet.MotetError(
            "this process was forked from a rank and is none: make calls in the rank itself"
        )
    if _finished:
        raise _motet.MotetError("MPI has been finalized: no call is possible any more")
    if not rc.initialize and not _begun:
        raise _motet.MotetError("rc.initialize is False: call MPI.Init() before other calls")
    if threading.current_thread() is not threading.main_thread():
        raise RuntimeError(
            "this thread is no rank, and only the main thread becomes one by itself: "
            "a communicator belongs to the thread of its rank"
        )
    _clash.refuse_second_library()
    _check_threads()
    _motet.enter()
    _clash.refuse_later_mpi4py()
    _begun = True
    atexit.register(_end)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_forget)
    _ending.watch()


def init() -> None:
    """Begin the world, whatever `rc` says."""
    global _begun
    was, _begun = _begun, True
    try:
        begin()
    except BaseException:
        _begun = was
        raise


def _check_threads() -> None:
    ranks = os.environ.get("MOTET_THREADS", "1")
    if _motet.World.is_one_of_several() and ranks not in ("", "1"):
        raise _motet.MotetError(
            f"MOTET_THREADS is {ranks}, and a script is one rank: start it with `motet run -t 1`, "
            "or give its main function to World.current().run"
        )


def is_initialized() -> bool:
    """Whether the world has begun."""
    return _motet.is_rank() or _begun


def is_finalized() -> bool:
    """Whether the world has ended."""
    return _finished


def finish() -> None:
    """End the rank, and wait until all have ended."""
    global _finished
    if not _begun or _finished:
        return
    _finished = True
    _motet.leave(None)


def _end() -> None:
    """End the rank at the end of the program, which tells the others if it has failed."""
    global _finished
    if not _begun or _finished:
        return
    _finished = True
    failure = _ending.failure()
    try:
        _motet.leave(failure)
    except _motet.MotetError as error:
        print(f"motet: {error}", file=sys.stderr, flush=True)
        _ending.told(str(error))
        # Too late to raise: the interpreter is ending.
        _ending.end_at_once()


def _forget() -> None:
    """Be no rank: the process was forked from one, which goes on."""
    global _finished, _forked
    if _begun and not _finished:
        _finished = _forked = True
        _motet.forget()


def give_up(reason: Any) -> None:
    """End the rank with an error, which ends the other processes too."""
    global _finished
    if _begun and not _finished:
        _finished = True
        _motet.leave(str(reason))


_motet.set_mpi_begin(begin)
