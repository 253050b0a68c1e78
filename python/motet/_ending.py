"""How the program ends: what it has raised and not caught, or the status that it ends with.

At the end of a process the interpreter tells nobody why it ends, and the other processes of a job
want to know.
"""

from __future__ import annotations

import builtins
import opcode
import os
import re
import sys
import threading
from types import FrameType, TracebackType
from typing import Any, NoReturn

_uncaught: str | None = None
_exited: tuple[str, int] | None = None
_program: FrameType | None = None
_watching = False
_elsewhere: int | None = None


def watch() -> None:
    """Note from now on what the program raises and does not catch, and what it ends with."""
    global _watching, _program
    if _watching:
        return
    _watching = True
    before, leave = sys.excepthook, sys.exit

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        global _uncaught
        _uncaught = f"{kind.__name__}: {error}"
        before(kind, error, trace)

    def exit(status: Any = None, /) -> NoReturn:
        _note(status)
        leave(status)

    exit.__doc__ = leave.__doc__
    sys.excepthook, sys.exit = hook, exit
    for name in ("exit", "quit"):
        was = getattr(builtins, name, None)
        # Not what a console has put there.
        if type(was).__module__ == "_sitebuiltins":
            setattr(builtins, name, _Quitter(was))
    if threading.current_thread() is threading.main_thread():
        frame: FrameType | None = sys._getframe()
        while frame is not None:
            _program, frame = frame, frame.f_back


class _Quitter:
    """The built-in `exit` or `quit`, which do not call `sys.exit`."""

    def __init__(self, was: Any) -> None:
        self._was = was

    def __repr__(self) -> str:
        return repr(self._was)

    def __call__(self, code: Any = None) -> NoReturn:
        _note(code)
        self._was(code)
        raise SystemExit(code)


def _note(status: Any) -> None:
    """Note that the program is to end with this."""
    global _exited
    said = f"{status}"
    # `told` would take this for a number, and the process ends with 1.
    if not isinstance(status, int) and re.fullmatch(r"-?\d+", said):
        said = repr(said)
    _exited = f"SystemExit: {said}", _number(status)


def _number(status: Any) -> int:
    """Give the status of a process that `sys.exit` is given this."""
    if status is None:
        return 0
    return status & 0xFF if isinstance(status, int) else 1


def _has_returned() -> bool:
    """Whether the program has come to its end: then it has caught what `sys.exit` has raised."""
    if _program is None or _program.f_lasti < 0:
        return False
    return opcode.opname[_program.f_code.co_code[_program.f_lasti]].startswith("RETURN")


def failure() -> str | None:
    """Say why the program has failed, at its end."""
    if _uncaught is not None:
        return _uncaught
    if _exited is None or _exited[1] == 0 or _has_returned():
        return None
    return _exited[0]


def told(reason: str) -> None:
    """Note why another process has ended the run: its status is that of the job."""
    global _elsewhere
    found = re.search(r"SystemExit: (-?\d+)$", reason)
    _elsewhere = None if found is None else _number(int(found[1]))


def has_status_of_another() -> bool:
    """Whether another process has ended the run with a status that is not 0."""
    return bool(_elsewhere)


def end_at_once() -> NoReturn:
    """End the process, which has failed, and wait for no other."""
    own = _exited[1] if _uncaught is None and _exited is not None else 0
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    # Launchers join the statuses of several processes in ways of their own: so all have the same.
    os._exit(own or _elsewhere or 1)
