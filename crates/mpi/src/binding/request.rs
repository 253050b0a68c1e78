//! What is under way, and how it ended.

use super::abi;
use super::running::Running;
use crate::error::MpiError;
use motet_sync::thread;
use std::mem;
use std::sync::Arc;

/// A send, receive or barrier that was started (MPI 5.0, section 3.7).
///
/// It owns the bytes that MPI reads or writes. One that is dropped before it has ended goes on or
/// is cancelled. A receive that nothing has matched is cancelled. The bytes of any other are never
/// given back to the system.
#[derive(Debug)]
#[must_use = "what was started has not ended"]
pub struct Request {
    running: Arc<Running>,
    handle: abi::Request,
    /// What MPI reads, or the room that it writes to.
    bytes: Vec<u8>,
    kind: Pending,
}

/// What kind of operation is under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pending {
    Send,
    Receive,
    /// A receive whose message has been matched.
    Matched,
    Collective,
}

/// Who sent what was received, and how much (`MPI_Status`). Of a send or a barrier it says nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Status {
    source: usize,
    tag: i32,
    length: usize,
    cancelled: bool,
}

impl Request {
    pub(super) fn new(
        running: &Arc<Running>,
        handle: abi::Request,
        bytes: Vec<u8>,
        kind: Pending,
    ) -> Request {
        Request {
            running: Arc::clone(running),
            handle,
            bytes,
            kind,
        }
    }

    /// Whether it has ended; then how. Asking again gives the same question to MPI, which says that
    /// nothing was received.
    ///
    /// # Errors
    /// [`MpiError::Call`] when the operation failed: it has ended then. [`MpiError::WrongThread`].
    #[inline]
    pub fn test(&mut self) -> Result<Option<Status>, MpiError> {
        let (mut flag, mut status) = (0, abi::Status::default());
        self.running.call("MPI_Test", |symbols| {
            // SAFETY: the handle is a live request or null, the places are valid.
            unsafe { (symbols.test)(&raw mut self.handle, &raw mut flag, &raw mut status) }
        })?;
        if flag == 0 {
            return Ok(None);
        }
        self.ended(&status).map(Some)
    }

    /// Waits until it has ended; how, and the bytes: those received, or those that were sent.
    ///
    /// # Errors
    /// As [`Request::test`].
    pub fn wait(mut self) -> Result<(Status, Vec<u8>), MpiError> {
        let status = self.end()?;
        Ok((status, mem::take(&mut self.bytes)))
    }

    /// Waits: in MPI, where that keeps no other thread from calling it.
    fn end(&mut self) -> Result<Status, MpiError> {
        if self.running.takes_turns() {
            loop {
                if let Some(status) = self.test()? {
                    return Ok(status);
                }
                thread::yield_now();
            }
        }
        let mut status = abi::Status::default();
        self.running.call("MPI_Wait", |symbols| {
            // SAFETY: the handle is a live request or null, the place is valid.
            unsafe { (symbols.wait)(&raw mut self.handle, &raw mut status) }
        })?;
        self.ended(&status)
    }

    /// Asks for a receive to end without having happened (`MPI_Cancel`). It has to be waited for
    /// all the same; [`Status::cancelled`] says whether it came in time.
    ///
    /// A send, a barrier and a receive whose message has been matched go on to their end: for them
    /// this does nothing. MPI 5.0, section 3.8.4, has no cancelling of the latter two, and advises
    /// against that of the first.
    ///
    /// # Errors
    /// As [`Request::test`].
    pub fn cancel(&mut self) -> Result<(), MpiError> {
        if self.handle == abi::REQUEST_NULL || self.kind != Pending::Receive {
            return Ok(());
        }
        self.running.call("MPI_Cancel", |symbols| {
            // SAFETY: the handle is a live request.
            unsafe { (symbols.cancel)(&raw mut self.handle) }
        })
    }

    /// The bytes, when it has ended: those received, or those that were sent.
    ///
    /// # Errors
    /// The request itself while it has not ended.
    pub fn into_bytes(mut self) -> Result<Vec<u8>, Request> {
        if self.handle == abi::REQUEST_NULL {
            Ok(mem::take(&mut self.bytes))
        } else {
            Err(self)
        }
    }

    fn ended(&mut self, status: &abi::Status) -> Result<Status, MpiError> {
        let status = match self.kind {
            Pending::Send | Pending::Collective => {
                return Ok(Status {
                    source: 0,
                    tag: 0,
                    length: self.bytes.len(),
                    cancelled: false,
                });
            }
            // Of one that was cancelled the status says that and nothing else.
            Pending::Receive if is_cancelled(&self.running, status)? => {
                return Ok(Status {
                    source: 0,
                    tag: 0,
                    length: 0,
                    cancelled: true,
                });
            }
            Pending::Receive | Pending::Matched => Status::of(&self.running, status)?,
        };
        let length = status.length.min(self.bytes.capacity());
        // A second test finds nothing new and must not take back what came.
        if length > self.bytes.len() {
            // SAFETY: MPI has written so many bytes into the room, and the receive has ended.
            unsafe { self.bytes.set_len(length) };
        }
        Ok(status)
    }

    pub(super) fn is_send(&self) -> bool {
        self.kind == Pending::Send
    }

    /// Hands the operation to a set that waits for several.
    pub(super) fn into_parts(mut self) -> (Arc<Running>, abi::Request, Vec<u8>) {
        let handle = mem::replace(&mut self.handle, abi::REQUEST_NULL);
        let bytes = mem::take(&mut self.bytes);
        (Arc::clone(&self.running), handle, bytes)
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        if self.handle == abi::REQUEST_NULL {
            return;
        }
        if self.kind == Pending::Receive {
            // One that is cancelled ends without its peer.
            let ended = self.cancel().and_then(|()| self.end());
            if ended.is_ok() {
                return;
            }
        }
        if self.kind == Pending::Send {
            // An error changes nothing: the bytes stay where they are.
            let _ = self.running.call("MPI_Request_free", |symbols| {
                // SAFETY: a live request of a send; its bytes are never freed (below).
                unsafe { (symbols.request_free)(&raw mut self.handle) }
            });
        }
        // MPI may still read or write them.
        let _leaked = mem::take(&mut self.bytes).leak();
    }
}

impl Status {
    #[inline]
    pub(super) fn of(running: &Running, status: &abi::Status) -> Result<Status, MpiError> {
        let mut length = 0;
        running.call("MPI_Get_count", |symbols| {
            // SAFETY: the status came from the library, the place is valid.
            unsafe { (symbols.get_count)(status, abi::BYTE, &raw mut length) }
        })?;
        // A status of nothing has no sender and no length.
        Ok(Status {
            source: usize::try_from(status.source).unwrap_or(0),
            tag: status.tag,
            length: usize::try_from(length).unwrap_or(0),
            cancelled: false,
        })
    }

    /// The process that sent the message.
    #[must_use]
    pub fn source(&self) -> usize {
        self.source
    }

    /// The tag it was sent with.
    #[must_use]
    pub fn tag(&self) -> i32 {
        self.tag
    }

    /// How many bytes came: also more than 2³¹.
    #[must_use]
    pub fn length(&self) -> usize {
        self.length
    }

    /// Whether the receive was cancelled before anything had come.
    #[must_use]
    pub fn cancelled(&self) -> bool {
        self.cancelled
    }
}

fn is_cancelled(running: &Running, status: &abi::Status) -> Result<bool, MpiError> {
    let mut cancelled = 0;
    running.call("MPI_Test_cancelled", |symbols| {
        // SAFETY: the status came from the library, the place is valid.
        unsafe { (symbols.test_cancelled)(status, &raw mut cancelled) }
    })?;
    Ok(cancelled != 0)
}
