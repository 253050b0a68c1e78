"""What windows and files have alike: their ranks, hints and error handlers."""

from __future__ import annotations

from typing import Any

from motet.mpi4py import _constants as constants
from motet.mpi4py._errhandlers import ERRORS_RETURN, Errhandler
from motet.mpi4py._groups import Group
from motet.mpi4py._info import Info


class Shared:
    """What handles on one window or file share."""

    def __init__(self, group: Group, info: Any) -> None:
        self.group = group
        self.info: dict[str, str] = dict(info.items()) if info else {}
        self.errors: Errhandler | None = None
        self.attributes: dict[int, Any] = {}


class Held:
    """The calls for the ranks, the hints and the error handler of a window or a file."""

    def _shared(self) -> Shared:
        raise NotImplementedError

    def Get_group(self) -> Group:
        """Give its ranks as a group."""
        return Group(self._shared().group)

    def Get_info(self) -> Info:
        """Give its hints."""
        return Info.Create(self._shared().info)

    def Set_info(self, info: Info) -> None:
        """Set its hints. motet has no use for them."""
        self._shared().info = dict(info.items())

    def Get_errhandler(self) -> Errhandler:
        """Give what happens at an error."""
        return Errhandler(self._shared().errors or ERRORS_RETURN)

    def Set_errhandler(self, errhandler: Errhandler) -> None:
        """Say what happens at an error. Calls raise, whatever it is."""
        self._shared().errors = Errhandler(errhandler)

    def Call_errhandler(self, errorcode: int) -> None:
        """Have what is to happen at an error."""
        handler = self.Get_errhandler()
        if handler.function is not None:
            handler.function(self, errorcode)

    @classmethod
    def Create_errhandler(cls, errhandler_fn: Any) -> Errhandler:
        """Make an error handler of a function."""
        return Errhandler.of(errhandler_fn)

    group = property(Get_group, doc="Its ranks as a group.")
    info = property(Get_info, Set_info, doc="Its hints.")

    @property
    def group_size(self) -> int:
        """The number of its ranks."""
        return self._shared().group.Get_size()

    @property
    def group_rank(self) -> int:
        """The number of the calling rank in it."""
        rank = self._shared().group.Get_rank()
        return constants.UNDEFINED if rank is None else rank
