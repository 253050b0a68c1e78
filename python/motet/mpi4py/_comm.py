"""Communicators."""

from __future__ import annotations

import os
import sys
from typing import Any, NoReturn

from motet import _motet
from motet.mpi4py import _constants as constants
from motet.mpi4py import _handles
from motet.mpi4py._attributes import Attributes
from motet.mpi4py._collectives import Collectives
from motet.mpi4py._errhandlers import ERRORS_RETURN, Errhandler
from motet.mpi4py._errors import fail, lacks, not_there
from motet.mpi4py._groups import Group
from motet.mpi4py._handles import Ranks
from motet.mpi4py._info import INFO_NULL, Info
from motet.mpi4py._objects import Objects
from motet.mpi4py._point_to_point import PointToPoint
from motet.mpi4py._requests import Request, ended

# Of which class communicators of a kind are.
KINDS: dict[str, type[Comm]] = {}


class Comm(PointToPoint, Objects, Collectives, Attributes):
    """Ranks that send each other messages, as one of them sees them."""

    # The kinds of communicator that a handle of this class may be of.
    _of_kinds: tuple[str, ...] = ("intra", "cart", "graph", "dist", "inter")

    def __new__(cls, comm: Comm | None = None) -> Any:
        """Make another handle on a communicator, or one of none."""
        made = object.__new__(cls)
        if comm is not None and not isinstance(comm, Comm):
            raise TypeError(f"a Comm is expected, not {type(comm).__name__}")
        ranks = None if comm is None else comm._ranks
        if ranks is not None and ranks.kind not in cls._of_kinds:
            raise TypeError(f"the communicator is no {cls.__name__}")
        made._hold(ranks)
        return made

    def _hold(self, ranks: Ranks | None) -> None:
        self._ranks = ranks
        self._h = _handles.NULL if ranks is None else ranks.handle

    @classmethod
    def _of(cls, ranks: Ranks) -> Any:
        made = object.__new__(cls)
        made._hold(ranks)
        return made

    def _valid(self) -> Ranks:
        if self._ranks is None:
            fail("ERR_COMM", "the communicator is null")
        return self._ranks

    def _attributes(self) -> dict[int, Any]:
        return self._valid().noted.attributes

    def _made(self, handle: Any, kind: str = "intra", topology: Any = None) -> Ranks | None:
        """Give what a new communicator stands for; none for the ranks that are not in it."""
        alone = self._valid().alone
        return None if handle is None else Ranks(handle, kind, alone=alone, topology=topology)

    def __eq__(self, other: object) -> bool:
        return self._ranks is other._ranks if isinstance(other, Comm) else NotImplemented

    def __ne__(self, other: object) -> bool:
        return self._ranks is not other._ranks if isinstance(other, Comm) else NotImplemented

    def __hash__(self) -> int:
        return id(self._ranks)

    def __bool__(self) -> bool:
        return self._ranks is not None

    def __repr__(self) -> str:
        name = "null" if self._ranks is None else self._ranks.noted.name
        return f"<{type(self).__name__} {name}>"

    def __reduce__(self) -> Any:
        for name, comm in PREDEFINED.items():
            if self._ranks is comm._ranks:
                return name if self is comm else (type(self), (comm,))
        raise ValueError("a communicator is not pickled")

    # Who is in it.

    def Get_rank(self) -> int:
        """Give the number of the calling rank, from 0."""
        return self._h.rank

    def Get_size(self) -> int:
        """Give the number of ranks."""
        return self._h.size

    def Get_group(self) -> Group:
        """Give the ranks as a group."""
        if self._valid().alone:
            world = _motet.MpiComm.world()
            return Group._of(world.group().incl([world.rank]))
        return Group._of(self._h.group())

    rank = property(Get_rank, doc="The number of the calling rank, from 0.")
    size = property(Get_size, doc="The number of ranks.")
    group = property(Get_group, doc="The ranks as a group.")

    def Compare(self, comm: Comm) -> int:
        """Say whether two communicators are the same, or have the same ranks."""
        if self._valid() is comm._valid():
            return constants.IDENT
        compared = self.Get_group().Compare(comm.Get_group())
        return constants.CONGRUENT if compared == constants.IDENT else compared

    def Is_inter(self) -> bool:
        """Whether it joins two groups: never, motet has no such communicators."""
        self._valid()
        return False

    def Is_intra(self) -> bool:
        """Whether it is of one group."""
        self._valid()
        return True

    def Get_topology(self) -> int:
        """Say which topology it has; `UNDEFINED` if none."""
        kinds = {
            "cart": constants.CART,
            "graph": constants.GRAPH,
            "dist": constants.DIST_GRAPH,
        }
        return kinds.get(self._valid().kind, constants.UNDEFINED)

    is_inter = property(Is_inter, doc="Whether it joins two groups.")
    is_intra = property(Is_intra, doc="Whether it is of one group.")
    topology = property(Get_topology, doc="Which topology it has.")

    @property
    def is_topo(self) -> bool:
        """Whether it has a topology."""
        return self.Get_topology() != constants.UNDEFINED

    def Get_name(self) -> str:
        """Give its name."""
        return self._valid().noted.name

    def Set_name(self, name: str) -> None:
        """Name it."""
        self._valid().noted.name = name

    name = property(Get_name, Set_name, doc="Its name.")

    def Get_info(self) -> Info:
        """Give its hints."""
        return Info.Create(self._valid().noted.info)

    def Set_info(self, info: Info) -> None:
        """Set its hints. motet has no use for them."""
        self._valid().noted.info = dict(info.items())

    info = property(Get_info, Set_info, doc="Its hints.")

    # Others made of it.

    def Dup(self, info: Info | None = None) -> Any:
        """Make a communicator of the same ranks, whose messages never meet those of this one."""
        own = self._valid()
        if own.kind == "cart":
            handle = self._h.cartesian(*self._h.grid())
        elif own.kind in ("graph", "dist"):
            handle = self._h.graph(*self._h.neighbours())
        else:
            handle = self._h.dup()
        made = self._made(handle, own.kind, own.topology)
        assert made is not None
        made.noted.attributes = self._copied()
        made.noted.errors = own.noted.errors
        made.noted.info = dict(own.noted.info if info is None else info.items())
        return type(self)._of(made)

    Clone = Dup

    def Dup_with_info(self, info: Info) -> Any:
        """Make a communicator of the same ranks, with hints."""
        return self.Dup(info)

    def Idup(self, info: Info | None = None) -> tuple[Any, Request]:
        """Make a communicator of the same ranks. It waits for them; the request has ended."""
        return self.Dup(info), ended()

    Idup_with_info = Idup

    def Create(self, group: Group) -> Any:
        """Make a communicator of these of its ranks; `COMM_NULL` for the others."""
        places = group.Translate_ranks(group=self.Get_group())
        if constants.UNDEFINED in places:
            fail("ERR_GROUP", "a rank of the group is not in the communicator")
        made = self._made(self._h.create(places))
        return COMM_NULL if made is None else KINDS["intra"]._of(made)

    def Split(self, color: int = 0, key: int = 0) -> Any:
        """Make a communicator of the ranks with the same color, in the order of their keys.

        It is `COMM_NULL` where the color is `UNDEFINED`.
        """
        if color < 0 and color != constants.UNDEFINED:
            fail("ERR_ARG", f"color is {color}: it is not negative, or UNDEFINED")
        made = self._made(self._h.split(None if color == constants.UNDEFINED else color, key))
        return COMM_NULL if made is None else KINDS["intra"]._of(made)

    def Split_type(self, split_type: int, key: int = 0, info: Info = INFO_NULL) -> Any:
        """Make a communicator of the ranks on this machine.

        It is `COMM_NULL` where the type is `UNDEFINED`.
        """
        if split_type not in (constants.UNDEFINED, constants.COMM_TYPE_SHARED):
            raise lacks(f"split of type {split_type}", "use COMM_TYPE_SHARED")
        from motet.mpi4py._environment import Get_processor_name

        # All ranks make the same calls, whatever their types are.
        names = self.allgather(Get_processor_name())
        first = names.index(names[self.Get_rank()])
        return self.Split(first if split_type != constants.UNDEFINED else split_type, key)

    def Free(self) -> None:
        """Give the communicator up."""
        own = self._valid()
        if own.predefined:
            fail("ERR_COMM", f"{own.noted.name} is not freed")
        self._forget()
        if own.noted.beside is not None:
            own.noted.beside.free()
        own.handle.free()
        self._hold(None)

    Disconnect = Free

    def free(self) -> None:
        """Give the communicator up, if it may be."""
        if self._ranks is not None and not self._ranks.predefined:
            self.Free()

    # Errors.

    def Get_errhandler(self) -> Errhandler:
        """Give what happens at an error."""
        return Errhandler(self._valid().noted.errors or ERRORS_RETURN)

    def Set_errhandler(self, errhandler: Errhandler) -> None:
        """Say what happens at an error. Calls raise, whatever it is."""
        self._valid().noted.errors = Errhandler(errhandler)

    def Call_errhandler(self, errorcode: int) -> None:
        """Have what is to happen at an error."""
        handler = self.Get_errhandler()
        if handler.function is not None:
            handler.function(self, errorcode)

    @classmethod
    def Create_errhandler(cls, errhandler_fn: Any) -> Errhandler:
        """Make an error handler of a function."""
        return Errhandler.of(errhandler_fn)

    def Abort(self, errorcode: int = 0) -> NoReturn:
        """End all processes at once."""
        from motet.mpi4py._world import give_up

        give_up(f"MPI_Abort was called with {errorcode}")
        sys.stderr.flush()
        sys.stdout.flush()
        os._exit(errorcode if 0 < errorcode < 256 else 1)

    # Buffers of the program, which no message needs.

    def Attach_buffer(self, buf: Any) -> None:
        """Keep a buffer for messages; they need none."""
        self._valid().noted.attached = buf

    def Detach_buffer(self) -> Any:
        """Give the buffer back."""
        noted = self._valid().noted
        buf, noted.attached = noted.attached, None
        return buf

    def Flush_buffer(self) -> None:
        """Do nothing: nothing waits in a buffer."""
        self._valid()

    def Iflush_buffer(self) -> Request:
        """Do nothing: nothing waits in a buffer."""
        self._valid()
        return ended()

    # Numbers of handles.

    def toint(self) -> int:
        """Give a number of the handle, for this process."""
        return 0 if self._ranks is None else self._ranks.number

    py2f = toint
    handle = property(toint, doc="A number of the handle, for this process.")

    @classmethod
    def fromint(cls, arg: int) -> Any:
        """Give the communicator with a number."""
        ranks = _handles.of_number(arg)
        return Comm() if ranks is None else KINDS[ranks.kind]._of(ranks)

    f2py = fromhandle = fromint

    @classmethod
    def Get_parent(cls) -> Any:
        """Give the processes that have started this one: there are none."""
        return COMM_NULL

    Revoke = Is_revoked = Get_failed = Ack_failed = Agree = Iagree = Shrink = Ishrink = not_there(
        "communicators that outlive a process", "a process that fails ends the job"
    )
    Psend_init = Precv_init = not_there(
        "messages in partitions", "use Send_init and Recv_init for each part"
    )

    @classmethod
    def Join(cls, fd: int) -> NoReturn:
        """Not there."""
        raise lacks("communicators between programs", "use motet.service or a mesh topic")


COMM_NULL = Comm()
PREDEFINED: dict[str, Comm] = {"COMM_NULL": COMM_NULL}
