"""Error handlers. Calls raise `Exception`, whatever handler a program sets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from motet.mpi4py._errors import fail


class Errhandler:
    """What happens at an error."""

    def __init__(self, errhandler: Errhandler | None = None) -> None:
        self._name: str = "" if errhandler is None else errhandler._name
        self.function: Callable[..., Any] | None = (
            None if errhandler is None else errhandler.function
        )

    @classmethod
    def of(cls, function: Callable[..., Any] | None, name: str = "function") -> Errhandler:
        """Make a handler of a function."""
        made = cls()
        made._name, made.function = name, function
        return made

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Errhandler):
            return NotImplemented
        return self._name == other._name and self.function is other.function

    def __hash__(self) -> int:
        return hash((self._name, self.function))

    def __bool__(self) -> bool:
        return bool(self._name)

    def __reduce__(self) -> Any:
        if self.function is not None:
            raise ValueError("an error handler of the program is not pickled")
        name = self._name or "ERRHANDLER_NULL"
        return name if globals()[name] is self else (Errhandler, (globals()[name],))

    def Free(self) -> None:
        """Give the handle up."""
        if not self._name:
            fail("ERR_ERRHANDLER", "the handler is null")
        self._name, self.function = "", None

    def free(self) -> None:
        """Give the handle up, if it is the program's."""
        if self.function is not None:
            self.Free()


ERRHANDLER_NULL = Errhandler()
ERRORS_RETURN = Errhandler.of(None, "ERRORS_RETURN")
ERRORS_ABORT = Errhandler.of(None, "ERRORS_ABORT")
ERRORS_ARE_FATAL = Errhandler.of(None, "ERRORS_ARE_FATAL")
