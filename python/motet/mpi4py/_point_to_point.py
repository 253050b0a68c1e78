"""Messages between two ranks, of buffers and of objects."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from numpy import ndarray

from motet.mpi4py._calls import Call
from motet.mpi4py._constants import _MOST_TAG, ANY_SOURCE, ANY_TAG, PROC_NULL
from motet.mpi4py._errors import fail
from motet.mpi4py._messages import NOTHING, simple
from motet.mpi4py._peers import an_object, from_nobody, into, nobody, somebody, wanted
from motet.mpi4py._pickled import pickle
from motet.mpi4py._requests import Prequest, Request
from motet.mpi4py._status import Status


class PointToPoint:
    """The calls of a communicator for messages between two ranks."""

    _h: Any

    # Buffers.

    def Send(self, buf: Any, dest: int, tag: int = 0) -> None:
        """Send the items of a buffer. It does not wait for the receiver."""
        if not somebody(dest, tag):
            return
        if type(buf) is not ndarray or not self._h.send_array(buf, dest, tag):
            self._h.send(simple(buf).pack(), dest, tag)

    Bsend = Rsend = Send

    def Ssend(self, buf: Any, dest: int, tag: int = 0) -> None:
        """Send the items of a buffer, and wait until a receive has got them."""
        if somebody(dest, tag):
            self._h.send(simple(buf).pack(), dest, tag, True)

    def Recv(
        self,
        buf: Any,
        source: int = ANY_SOURCE,
        tag: int = ANY_TAG,
        status: Status | None = None,
    ) -> None:
        """Receive into a buffer. The message may be shorter than the buffer."""
        if source == PROC_NULL:
            nobody(status)
            return
        if type(buf) is ndarray:
            came = self._h.recv_array(buf, *wanted(source, tag))
            if came is not None:
                if status is not None:
                    nbytes, sender, with_tag = came
                    status._set(sender, with_tag, nbytes)
                return
        part = simple(buf)
        room = part.room()
        if room is not None:
            nbytes, sender, with_tag = self._h.recv_into(room, *wanted(source, tag))
        else:
            part.check_writable()
            data, sender, with_tag = self._h.recv(*wanted(source, tag))
            nbytes = len(data)
            part.unpack(data)
        if status is not None:
            status._set(sender, with_tag, nbytes)

    def Sendrecv(
        self,
        sendbuf: Any,
        dest: int,
        sendtag: int = 0,
        recvbuf: Any = None,
        source: int = ANY_SOURCE,
        recvtag: int = ANY_TAG,
        status: Status | None = None,
    ) -> None:
        """Send the items of a buffer, and receive into another meanwhile."""
        self._sent_at_once(sendbuf, dest, sendtag)
        self.Recv(recvbuf, source, recvtag, status)

    def Sendrecv_replace(
        self,
        buf: Any,
        dest: int,
        sendtag: int = 0,
        source: int = ANY_SOURCE,
        recvtag: int = ANY_TAG,
        status: Status | None = None,
    ) -> None:
        """Send the items of a buffer, and receive into it after that."""
        self._sent_at_once(buf, dest, sendtag)
        self.Recv(buf, source, recvtag, status)

    def _sent(self, buf: Any, dest: int, tag: int, sync: bool = False) -> Call:
        if not somebody(dest, tag):
            return Call(None)
        return Call(self._h.send(simple(buf).pack(), dest, tag, sync, True))

    def _sent_at_once(self, buf: Any, dest: int, tag: int) -> None:
        # Also where a limit has a send wait: the receiver may wait for this rank to receive.
        if not somebody(dest, tag):
            return
        if type(buf) is not ndarray or not self._h.send_array(buf, dest, tag, True):
            self._sent(buf, dest, tag).leave()

    def _posted(self, buf: Any, source: int, tag: int) -> Call:
        if source == PROC_NULL:
            return Call(None, from_nobody)
        part = simple(buf)
        part.check_writable()
        return Call(self._h.irecv(*wanted(source, tag)), into(part))

    def Isend(self, buf: Any, dest: int, tag: int = 0) -> Request:
        """Start to send the items of a buffer. It may be changed at once."""
        return Request._of(self._sent(buf, dest, tag))

    Ibsend = Irsend = Isend

    def Issend(self, buf: Any, dest: int, tag: int = 0) -> Request:
        """Start to send the items of a buffer; it ends when a receive has got them."""
        return Request._of(self._sent(buf, dest, tag, True))

    def Irecv(self, buf: Any, source: int = ANY_SOURCE, tag: int = ANY_TAG) -> Request:
        """Post a receive into a buffer, which is filled when the request is waited for."""
        return Request._of(self._posted(buf, source, tag))

    def Isendrecv(
        self,
        sendbuf: Any,
        dest: int,
        sendtag: int = 0,
        recvbuf: Any = None,
        source: int = ANY_SOURCE,
        recvtag: int = ANY_TAG,
    ) -> Request:
        """Send the items of a buffer, and post a receive into another."""
        self._sent_at_once(sendbuf, dest, sendtag)
        return self.Irecv(recvbuf, source, recvtag)

    def Isendrecv_replace(
        self,
        buf: Any,
        dest: int,
        sendtag: int = 0,
        source: int = ANY_SOURCE,
        recvtag: int = ANY_TAG,
    ) -> Request:
        """Send the items of a buffer, and post a receive into it."""
        self._sent_at_once(buf, dest, sendtag)
        return self.Irecv(buf, source, recvtag)

    def Send_init(self, buf: Any, dest: int, tag: int = 0) -> Prequest:
        """Describe a send, which is started later, as often as one likes."""
        return Prequest._of(None, lambda: self._sent(buf, dest, tag))

    Bsend_init = Rsend_init = Send_init

    def Ssend_init(self, buf: Any, dest: int, tag: int = 0) -> Prequest:
        """Describe a synchronous send, which is started later."""
        return Prequest._of(None, lambda: self._sent(buf, dest, tag, True))

    def Recv_init(self, buf: Any, source: int = ANY_SOURCE, tag: int = ANY_TAG) -> Prequest:
        """Describe a receive, which is started later."""
        return Prequest._of(None, lambda: self._posted(buf, source, tag))

    # Probes.

    def _probe(self, source: int, tag: int, status: Status | None, wait: bool) -> bool:
        if source == PROC_NULL:
            nobody(status)
            return True
        found = self._h.probe(*wanted(source, tag), wait)
        if found is not None and status is not None:
            status._set(*found)
        return found is not None

    def Probe(
        self, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Status | None = None
    ) -> bool:
        """Wait until a message is there; it stays there."""
        return self._probe(source, tag, status, True)

    def Iprobe(
        self, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Status | None = None
    ) -> bool:
        """Whether a message is there; it stays there."""
        return self._probe(source, tag, status, False)

    probe, iprobe = Probe, Iprobe

    def _mprobe(self, source: int, tag: int, status: Status | None, wait: bool) -> Message | None:
        if source == PROC_NULL:
            nobody(status)
            return Message(MESSAGE_NO_PROC)
        found = self._h.mprobe(*wanted(source, tag), wait)
        if found is None:
            return None
        data, sender, with_tag = found
        if status is not None:
            status._set(sender, with_tag, len(data))
        return Message._of((data, sender, with_tag))

    def Mprobe(
        self, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Status | None = None
    ) -> Message:
        """Wait until a message is there, and take it."""
        found = self._mprobe(source, tag, status, True)
        assert found is not None
        return found

    def Improbe(
        self, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Status | None = None
    ) -> Message | None:
        """Take a message, if one is there."""
        return self._mprobe(source, tag, status, False)

    mprobe, improbe = Mprobe, Improbe

    # Objects.

    def send(self, obj: Any, dest: int, tag: int = 0) -> None:
        """Send an object. It does not wait for the receiver."""
        # `somebody` and `pickle.dumps` are asked without a call: a message takes few as long.
        if (dest >= 0 and 0 <= tag <= _MOST_TAG) or somebody(dest, tag):
            protocol = pickle._protocol
            data = pickle._dumps(obj) if protocol is None else pickle._dumps(obj, protocol)
            self._h.send(data, dest, tag)

    bsend = send

    def ssend(self, obj: Any, dest: int, tag: int = 0) -> None:
        """Send an object, and wait until a receive has got it."""
        if somebody(dest, tag):
            self._h.send(pickle.dumps(obj), dest, tag, True)

    def recv(
        self,
        buf: Any = None,
        source: int = ANY_SOURCE,
        tag: int = ANY_TAG,
        status: Status | None = None,
    ) -> Any:
        """Receive an object. `buf` is not needed."""
        if buf is not None:
            warnings.warn("recv needs no `buf`: leave it out", UserWarning, stacklevel=2)
        if source >= 0 and tag == ANY_TAG:
            data, sender, with_tag = self._h.recv(source, None)
        elif source == PROC_NULL:
            nobody(status)
            return None
        else:
            data, sender, with_tag = self._h.recv(*wanted(source, tag))
        if status is not None:
            status._set(sender, with_tag, len(data))
        return pickle._loads(data) if data else None

    def sendrecv(
        self,
        sendobj: Any,
        dest: int,
        sendtag: int = 0,
        recvbuf: Any = None,
        source: int = ANY_SOURCE,
        recvtag: int = ANY_TAG,
        status: Status | None = None,
    ) -> Any:
        """Send an object, and receive one meanwhile."""
        if (dest >= 0 and 0 <= sendtag <= _MOST_TAG) or somebody(dest, sendtag):
            pending = self._h.send(pickle.dumps(sendobj), dest, sendtag, False, True)
            # None: it has been sent.
            if pending is not None:
                Call(pending).leave()
        return PointToPoint.recv(self, recvbuf, source, recvtag, status)

    def _sent_object(self, obj: Any, dest: int, tag: int, sync: bool = False) -> Request:
        if not somebody(dest, tag):
            return Request._of(Call(None))
        return Request._of(Call(self._h.send(pickle.dumps(obj), dest, tag, sync, True)))

    def isend(self, obj: Any, dest: int, tag: int = 0) -> Request:
        """Start to send an object."""
        return self._sent_object(obj, dest, tag)

    ibsend = isend

    def issend(self, obj: Any, dest: int, tag: int = 0) -> Request:
        """Start to send an object; it ends when a receive has got it."""
        return self._sent_object(obj, dest, tag, True)

    def irecv(self, buf: Any = None, source: int = ANY_SOURCE, tag: int = ANY_TAG) -> Request:
        """Post a receive of an object. `buf` is not needed."""
        if source == PROC_NULL:
            return Request._of(Call(None, from_nobody))
        return Request._of(Call(self._h.irecv(*wanted(source, tag)), an_object))


class Message:
    """A message that was taken by a probe, to be received."""

    def __init__(self, message: Message | None = None) -> None:
        if message is not None and not isinstance(message, Message):
            raise TypeError(f"a Message is expected, not {type(message).__name__}")
        self._held: Any = None if message is None else message._held

    @classmethod
    def _of(cls, held: Any) -> Message:
        made = cls()
        made._held = held
        return made

    def __eq__(self, other: object) -> bool:
        return self._held is other._held if isinstance(other, Message) else NotImplemented

    def __hash__(self) -> int:
        return id(self._held)

    def __bool__(self) -> bool:
        return self._held is not None

    def __reduce__(self) -> Any:
        if self._held is None:
            return "MESSAGE_NULL" if self is MESSAGE_NULL else (Message, ())
        if self._held == "nobody":
            return "MESSAGE_NO_PROC" if self is MESSAGE_NO_PROC else (Message, (MESSAGE_NO_PROC,))
        raise ValueError("a message is not pickled")

    def free(self) -> None:
        """Give the handle up."""
        self._held = None

    @classmethod
    def Probe(
        cls,
        comm: Any,
        source: int = ANY_SOURCE,
        tag: int = ANY_TAG,
        status: Status | None = None,
    ) -> Message:
        """Wait until a message is there, and take it."""
        return cls(PointToPoint.Mprobe(comm, source, tag, status))

    @classmethod
    def Iprobe(
        cls,
        comm: Any,
        source: int = ANY_SOURCE,
        tag: int = ANY_TAG,
        status: Status | None = None,
    ) -> Message | None:
        """Take a message, if one is there."""
        found = PointToPoint.Improbe(comm, source, tag, status)
        return None if found is None else cls(found)

    probe, iprobe = Probe, Iprobe

    def _taken(self) -> Any:
        """Give what it holds; a message is received once."""
        held = self._held
        if held is None:
            fail("ERR_REQUEST", "the message is null, or was received")
        if self is not MESSAGE_NO_PROC:
            self._held = None
        return None if held == "nobody" else held

    def _received(self, finish: Callable[[Call, Any], None]) -> Call:
        held = self._taken()
        return Call(None, from_nobody) if held is None else Call(held, finish)

    def Recv(self, buf: Any, status: Status | None = None) -> None:
        """Receive it into a buffer."""
        part = NOTHING if self._held == "nobody" else simple(buf)
        self._received(into(part)).tell(status)

    def Irecv(self, buf: Any) -> Request:
        """Receive it into a buffer; the request has ended."""
        part = NOTHING if self._held == "nobody" else simple(buf)
        return Request._of(self._received(into(part)))

    def recv(self, status: Status | None = None) -> Any:
        """Receive the object in it."""
        call = self._received(an_object)
        call.tell(status)
        return call.result

    def irecv(self) -> Request:
        """Receive the object in it; the request has ended."""
        return Request._of(self._received(an_object))


MESSAGE_NULL = Message()
MESSAGE_NO_PROC = Message._of("nobody")
