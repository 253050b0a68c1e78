"""Errors, as MPI numbers them."""

from __future__ import annotations

import itertools
from typing import Any, NoReturn

from motet import _motet

# By number: the name, and what is said when nothing better is known.
_CLASSES = [
    ("SUCCESS", "no error"),
    ("ERR_BUFFER", "invalid buffer"),
    ("ERR_COUNT", "invalid count"),
    ("ERR_TYPE", "invalid datatype"),
    ("ERR_TAG", "invalid tag"),
    ("ERR_COMM", "invalid communicator"),
    ("ERR_RANK", "invalid rank"),
    ("ERR_REQUEST", "invalid request"),
    ("ERR_ROOT", "invalid root"),
    ("ERR_GROUP", "invalid group"),
    ("ERR_OP", "invalid operator"),
    ("ERR_TOPOLOGY", "invalid topology"),
    ("ERR_DIMS", "invalid dimensions"),
    ("ERR_ARG", "invalid argument"),
    ("ERR_UNKNOWN", "unknown error"),
    ("ERR_TRUNCATE", "the message is longer than its room"),
    ("ERR_OTHER", "other error"),
    ("ERR_INTERN", "internal error"),
    ("ERR_PENDING", "the request has not ended"),
    ("ERR_IN_STATUS", "the error is in the status"),
    ("ERR_ACCESS", "permission denied"),
    ("ERR_AMODE", "invalid mode of access"),
    ("ERR_ASSERT", "invalid assertion"),
    ("ERR_BAD_FILE", "invalid name of a file"),
    ("ERR_BASE", "invalid base address"),
    ("ERR_CONVERSION", "error in a conversion"),
    ("ERR_DISP", "invalid displacement"),
    ("ERR_DUP_DATAREP", "the data representation is there already"),
    ("ERR_FILE_EXISTS", "the file exists"),
    ("ERR_FILE_IN_USE", "the file is in use"),
    ("ERR_FILE", "invalid file"),
    ("ERR_INFO_KEY", "invalid key of an info"),
    ("ERR_INFO_NOKEY", "no such key in the info"),
    ("ERR_INFO_VALUE", "invalid value of an info"),
    ("ERR_INFO", "invalid info"),
    ("ERR_IO", "error of input or output"),
    ("ERR_KEYVAL", "invalid key of an attribute"),
    ("ERR_LOCKTYPE", "invalid type of lock"),
    ("ERR_NAME", "the name of a service was not published"),
    ("ERR_NO_MEM", "no memory"),
    ("ERR_NOT_SAME", "the arguments of the ranks differ"),
    ("ERR_NO_SPACE", "no space"),
    ("ERR_NO_SUCH_FILE", "no such file"),
    ("ERR_PORT", "invalid port"),
    ("ERR_QUOTA", "quota exceeded"),
    ("ERR_READ_ONLY", "read only"),
    ("ERR_RMA_CONFLICT", "conflicting accesses to a window"),
    ("ERR_RMA_SYNC", "wrong synchronization of a window"),
    ("ERR_SERVICE", "invalid service"),
    ("ERR_SIZE", "invalid size"),
    ("ERR_SPAWN", "processes cannot be started"),
    ("ERR_UNSUPPORTED_DATAREP", "unsupported data representation"),
    ("ERR_UNSUPPORTED_OPERATION", "unsupported operation"),
    ("ERR_WIN", "invalid window"),
    ("ERR_RMA_RANGE", "not in the window"),
    ("ERR_RMA_ATTACH", "memory cannot be attached"),
    ("ERR_RMA_SHARED", "memory cannot be shared"),
    ("ERR_RMA_FLAVOR", "wrong flavor of a window"),
    ("ERR_ERRHANDLER", "invalid error handler"),
    ("ERR_SESSION", "invalid session"),
    ("ERR_PROC_ABORTED", "a process has aborted"),
    ("ERR_VALUE_TOO_LARGE", "the value is too large"),
    ("ERR_ABI", "another ABI"),
    ("ERR_REVOKED", "the communicator was revoked"),
    ("ERR_PROC_FAILED", "a process has failed"),
    ("ERR_PROC_FAILED_PENDING", "a process has failed that might have sent"),
]

CODES: dict[str, int] = {name: number for number, (name, _) in enumerate(_CLASSES)}
globals().update(CODES)
SUCCESS = CODES["SUCCESS"]
ERR_LASTCODE = 0x3FFFFFFF

# What the program has added: a class by its code, and texts.
_added: dict[int, int] = {}
_texts: dict[int, str] = {}
# Several ranks may add some at once.
_numbers = itertools.count(len(_CLASSES))


class Exception(_motet.MotetError, RuntimeError):  # noqa: A001, N818
    """An error of MPI. It is the number of the error, and compares as one."""

    def __init__(self, ierr: int = SUCCESS, said: str | None = None, /) -> None:
        code = int(ierr)
        super().__init__(code)
        self._code = code if code >= 0 else CODES["ERR_UNKNOWN"]
        self._said = said

    def __int__(self) -> int:
        return self._code

    def __bool__(self) -> bool:
        return self._code != SUCCESS

    def __hash__(self) -> int:
        return hash(self._code)

    def __eq__(self, other: object) -> bool:
        return int(self) == int(other) if isinstance(other, (int, Exception)) else NotImplemented

    def __ne__(self, other: object) -> bool:
        return int(self) != int(other) if isinstance(other, (int, Exception)) else NotImplemented

    def __lt__(self, other: int) -> bool:
        return int(self) < int(other)

    def __le__(self, other: int) -> bool:
        return int(self) <= int(other)

    def __gt__(self, other: int) -> bool:
        return int(self) > int(other)

    def __ge__(self, other: int) -> bool:
        return int(self) >= int(other)

    def __str__(self) -> str:
        return self.Get_error_string()

    def Get_error_code(self) -> int:
        """Give the number of the error."""
        return self._code

    def Get_error_class(self) -> int:
        """Give the class of the error."""
        return Get_error_class(self._code)

    def Get_error_string(self) -> str:
        """Say what is wrong."""
        text = Get_error_string(self._code)
        return text if self._said is None else f"{text}: {self._said}"

    error_code = property(Get_error_code, doc="The number of the error.")
    error_class = property(Get_error_class, doc="The class of the error.")
    error_string = property(Get_error_string, doc="What is wrong.")


def fail(name: str, said: str | None = None) -> NoReturn:
    """Raise an error of a class."""
    raise Exception(CODES[name], said)


def lacks(what: str, instead: str = "") -> NotImplementedError:
    """Make the error that says what motet does not have."""
    return NotImplementedError(f"motet has no {what}{'; ' if instead else ''}{instead}")


def not_there(what: str, instead: str = "") -> Any:
    """Make a call that says what motet does not have."""

    def call(*_: Any, **__: Any) -> NoReturn:
        """Not there."""
        raise lacks(what, instead)

    return call


_motet.set_mpi_exception(lambda name, said: Exception(CODES[name], said))


def _known(code: int) -> None:
    if not (0 <= code < len(_CLASSES) or code in _added):
        fail("ERR_ARG", f"there is no error {code}")


def Get_error_class(errorcode: int) -> int:
    """Give the class of an error."""
    _known(errorcode)
    return _added.get(errorcode, errorcode)


def Get_error_string(errorcode: int) -> str:
    """Say what an error means."""
    _known(errorcode)
    if errorcode in _texts or errorcode in _added:
        return _texts.get(errorcode, "")
    name, text = _CLASSES[errorcode]
    return f"MPI_{name}: {text}"


def Add_error_class() -> int:
    """Add a class of errors."""
    code = next(_numbers)
    _added[code] = code
    return code


def Remove_error_class(errorclass: int) -> None:
    """Remove a class of errors that was added."""
    if _added.pop(errorclass, None) is None:
        fail("ERR_ARG", f"{errorclass} was not added")
    _texts.pop(errorclass, None)


def Add_error_code(errorclass: int) -> int:
    """Add an error to a class."""
    _known(errorclass)
    code = next(_numbers)
    _added[code] = errorclass
    return code


def Remove_error_code(errorcode: int) -> None:
    """Remove an error that was added."""
    Remove_error_class(errorcode)


def Add_error_string(errorcode: int, string: str) -> None:
    """Say what an error that was added means."""
    if errorcode not in _added:
        fail("ERR_ARG", f"{errorcode} was not added")
    _texts[errorcode] = string


def Remove_error_string(errorcode: int) -> None:
    """Forget what an error that was added means."""
    if errorcode not in _added:
        fail("ERR_ARG", f"{errorcode} was not added")
    _texts.pop(errorcode, None)
