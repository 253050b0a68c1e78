"""The module `MPI` of mpi4py, over motet's ranks. See :mod:`motet.mpi4py`."""

from __future__ import annotations

from typing import Any

from motet.mpi4py import (
    _constants,
    _environment,
    _errhandlers,
    _errors,
    _groups,
    _info,
    _memory,
    _ops,
    _pickled,
    _point_to_point,
    _predefined,
    _requests,
    _status,
    _topology,
    _unsupported,
)
from motet.mpi4py._comm import COMM_NULL, Comm
from motet.mpi4py._constants import *  # noqa: F403
from motet.mpi4py._datatypes import DATATYPE_NULL, Datatype
from motet.mpi4py._environment import *  # noqa: F403
from motet.mpi4py._errhandlers import (
    ERRHANDLER_NULL,
    ERRORS_ABORT,
    ERRORS_ARE_FATAL,
    ERRORS_RETURN,
    Errhandler,
)
from motet.mpi4py._errors import (
    ERR_LASTCODE,
    SUCCESS,
    Add_error_class,
    Add_error_code,
    Add_error_string,
    Exception,  # noqa: A004
    Get_error_class,
    Get_error_string,
    Remove_error_class,
    Remove_error_code,
    Remove_error_string,
)
from motet.mpi4py._files import FILE_NULL, File
from motet.mpi4py._groups import GROUP_EMPTY, GROUP_NULL, Group
from motet.mpi4py._info import INFO_ENV, INFO_NULL, Info
from motet.mpi4py._intracomm import (
    COMM_SELF,
    COMM_WORLD,
    Intercomm,
    Intracomm,
    _comm_lock,
    _comm_lock_table,
    _commctx_intra,
)
from motet.mpi4py._memory import BOTTOM, IN_PLACE, BottomType, InPlaceType, buffer
from motet.mpi4py._ops import (
    BAND,
    BOR,
    BXOR,
    LAND,
    LOR,
    LXOR,
    MAX,
    MAXLOC,
    MIN,
    MINLOC,
    NO_OP,
    OP_NULL,
    PROD,
    REPLACE,
    SUM,
    Op,
)
from motet.mpi4py._pickled import Pickle, pickle
from motet.mpi4py._point_to_point import MESSAGE_NO_PROC, MESSAGE_NULL, Message
from motet.mpi4py._predefined import BYTE
from motet.mpi4py._predefined import typealign as _typealign
from motet.mpi4py._predefined import typecode as _typecode
from motet.mpi4py._requests import REQUEST_NULL, Prequest, Request
from motet.mpi4py._status import Status
from motet.mpi4py._topology import Cartcomm, Compute_dims, Distgraphcomm, Graphcomm, Topocomm
from motet.mpi4py._unsupported import SESSION_NULL, Grequest, Session
from motet.mpi4py._windows import WIN_NULL, Win

# Which module this is, for whoever looks for mpi4py's own.
__motet__ = True

memory = buffer
_typedict = _predefined.CODES
_typedict_c = _predefined.CODES_C
_typedict_f = _predefined.CODES_F

# Datatypes and classes of errors. The datatype without a name is `DATATYPE_NULL`.
globals().update({name: it for name, it in _predefined.PREDEFINED.items() if name})
globals().update(_errors.CODES)


class _NotThere(AttributeError, NotImplementedError):
    """A name of MPI that motet lacks. Who asks by `hasattr` is told no."""


def _commctx_inter(comm: Intercomm) -> Any:
    raise _errors.lacks("intercommunicators")


def _set_abort_status(status: int) -> None:
    """Do nothing: a script that fails ends the others by its exception."""


def __getattr__(name: str) -> Any:
    if name.isupper():
        raise _NotThere(f"motet has no MPI.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
