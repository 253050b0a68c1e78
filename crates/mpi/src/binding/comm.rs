//! Who meets whom, and the calls between them.

use super::abi;
use super::element::{Element, Reduction};
use super::request::{Pending, Request, Status};
use super::running::Running;
use crate::error::MpiError;
use std::ffi::c_int;
use std::sync::Arc;

/// A communicator (MPI 5.0, chapter 7): processes numbered from 0, whose messages meet no others.
///
/// Ranks here are processes. Threads may take turns
/// ([`Environment::level`](super::Environment::level)). A thread in a collective with values, in
/// [`dup`](Comm::dup), [`split_shared`](Comm::split_shared) or [`free`](Comm::free) then keeps the
/// others of its process from MPI. It does so until the other processes are there too. No process
/// may then need another thread's message to come there.
///
/// The library's own memory for a communicator is given back when MPI ends,
/// or by [`Comm::free`].
#[derive(Debug)]
pub struct Comm {
    running: Arc<Running>,
    handle: abi::Comm,
    rank: usize,
    size: usize,
}

/// A message that is about to be received: nobody else can match it (`MPI_Message`).
///
/// One that is dropped is never received.
#[derive(Debug)]
#[must_use = "a matched message that is not received is lost"]
pub struct Matched {
    running: Arc<Running>,
    handle: abi::Message,
    source: usize,
    tag: i32,
    length: usize,
}

impl Comm {
    pub(super) fn of(running: &Arc<Running>, handle: abi::Comm) -> Result<Comm, MpiError> {
        let (mut rank, mut size) = (0, 0);
        running.call("MPI_Comm_rank", |symbols| {
            // SAFETY: the handle is a live communicator, the place is valid.
            unsafe { (symbols.comm_rank)(handle, &raw mut rank) }
        })?;
        running.call("MPI_Comm_size", |symbols| {
            // SAFETY: as above.
            unsafe { (symbols.comm_size)(handle, &raw mut size) }
        })?;
        Ok(Comm {
            running: Arc::clone(running),
            handle,
            rank: number(rank),
            size: number(size),
        })
    }

    /// This process's number.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// How many processes there are.
    #[must_use]
    pub fn size(&self) -> usize {
        self.size
    }

    /// The same processes, with messages of their own. All processes call it.
    ///
    /// # Errors
    /// [`MpiError::WrongThread`], [`MpiError::Call`], as all calls here.
    pub fn dup(&self) -> Result<Comm, MpiError> {
        let mut copy = abi::COMM_NULL;
        self.running.call("MPI_Comm_dup", |symbols| {
            // SAFETY: the handle is a live communicator, the place is valid.
            unsafe { (symbols.comm_dup)(self.handle, &raw mut copy) }
        })?;
        Comm::of(&self.running, copy)
    }

    /// The processes that share memory with this one (`MPI_COMM_TYPE_SHARED`), in their order here.
    /// All processes call it.
    ///
    /// # Errors
    /// As [`Comm::dup`].
    pub fn split_shared(&self) -> Result<Comm, MpiError> {
        let mut part = abi::COMM_NULL;
        self.running.call("MPI_Comm_split_type", |symbols| {
            let (shared, none) = (abi::COMM_TYPE_SHARED, abi::INFO_NULL);
            // SAFETY: the handle is a live communicator, the constants are predefined.
            unsafe { (symbols.comm_split_type)(self.handle, shared, 0, none, &raw mut part) }
        })?;
        Comm::of(&self.running, part)
    }

    /// Gives the library's memory for the communicator back; the world itself stays. All processes
    /// call it.
    ///
    /// # Errors
    /// As [`Comm::dup`].
    pub fn free(self) -> Result<(), MpiError> {
        let mut handle = self.handle;
        if handle == abi::COMM_WORLD {
            return Ok(());
        }
        self.running.call("MPI_Comm_free", |symbols| {
            // SAFETY: the handle is a live communicator and this its only owner. Requests on it go
            // on.
            unsafe { (symbols.comm_free)(&raw mut handle) }
        })
    }

    /// Starts to send bytes to a process (`MPI_Isend`); the request owns them until they are sent.
    ///
    /// # Errors
    /// [`MpiError::NoSuchProcess`]; as [`Comm::dup`].
    pub fn isend(&self, bytes: Vec<u8>, to: usize, tag: i32) -> Result<Request, MpiError> {
        let to = self.process(to)?;
        let (from, length) = (bytes.as_ptr(), count(bytes.len()));
        let mut handle = abi::REQUEST_NULL;
        self.running.call("MPI_Isend", |symbols| {
            // SAFETY: the bytes are valid and stay in place until the request has ended: it owns
            // them, and gives them up only then.
            unsafe {
                (symbols.isend)(
                    from.cast(),
                    length,
                    abi::BYTE,
                    to,
                    tag,
                    self.handle,
                    &raw mut handle,
                )
            }
        })?;
        Ok(Request::new(&self.running, handle, bytes, Pending::Send))
    }

    /// Starts to receive at most `room` bytes (`MPI_Irecv`).
    ///
    /// # Errors
    /// [`MpiError::NoSuchProcess`]; as [`Comm::dup`]. A longer message is an error of the request.
    pub fn irecv(&self, room: usize, from: usize, tag: i32) -> Result<Request, MpiError> {
        let from = self.process(from)?;
        let mut bytes: Vec<u8> = Vec::with_capacity(room);
        let to = bytes.as_mut_ptr();
        let mut handle = abi::REQUEST_NULL;
        self.running.call("MPI_Irecv", |symbols| {
            // SAFETY: there is room for so many bytes, which the request owns until it has ended.
            unsafe {
                (symbols.irecv)(
                    to.cast(),
                    count(room),
                    abi::BYTE,
                    from,
                    tag,
                    self.handle,
                    &raw mut handle,
                )
            }
        })?;
        Ok(Request::new(&self.running, handle, bytes, Pending::Receive))
    }

    /// Whether a message with this tag waits, from anyone (`MPI_Iprobe`).
    ///
    /// # Errors
    /// As [`Comm::dup`].
    pub fn iprobe(&self, tag: i32) -> Result<Option<Status>, MpiError> {
        let (mut flag, mut status) = (0, abi::Status::default());
        self.running.call("MPI_Iprobe", |symbols| {
            // SAFETY: the handle is a live communicator, the places are valid.
            unsafe {
                (symbols.iprobe)(ANY_SOURCE, tag, self.handle, &raw mut flag, &raw mut status)
            }
        })?;
        (flag != 0)
            .then(|| Status::of(&self.running, &status))
            .transpose()
    }

    /// Takes the next message with this tag, from anyone, out of the queue, if there is one
    /// (`MPI_Improbe`).
    ///
    /// # Errors
    /// As [`Comm::dup`].
    #[inline]
    pub fn improbe(&self, tag: i32) -> Result<Option<Matched>, MpiError> {
        self.matched(ANY_SOURCE, tag)
    }

    /// Takes the next message with this tag from this process out of the queue, if there is one
    /// (`MPI_Improbe`).
    ///
    /// # Errors
    /// [`MpiError::NoSuchProcess`]; as [`Comm::dup`].
    pub fn improbe_from(&self, from: usize, tag: i32) -> Result<Option<Matched>, MpiError> {
        self.matched(self.process(from)?, tag)
    }

    #[inline]
    fn matched(&self, from: c_int, tag: i32) -> Result<Option<Matched>, MpiError> {
        let (mut flag, mut status) = (0, abi::Status::default());
        let mut handle = abi::MESSAGE_NULL;
        self.running.call("MPI_Improbe", |symbols| {
            // SAFETY: the handle is a live communicator, the places are valid.
            unsafe {
                (symbols.improbe)(
                    from,
                    tag,
                    self.handle,
                    &raw mut flag,
                    &raw mut handle,
                    &raw mut status,
                )
            }
        })?;
        if flag == 0 {
            return Ok(None);
        }
        let status = Status::of(&self.running, &status)?;
        Ok(Some(Matched {
            running: Arc::clone(&self.running),
            handle,
            source: status.source(),
            tag: status.tag(),
            length: status.length(),
        }))
    }

    /// Waits until all processes are here.
    ///
    /// # Errors
    /// As [`Comm::dup`].
    pub fn barrier(&self) -> Result<(), MpiError> {
        if self.running.takes_turns() {
            return self.ibarrier()?.wait().map(|_| ());
        }
        self.running.call("MPI_Barrier", |symbols| {
            // SAFETY: the handle is a live communicator.
            unsafe { (symbols.barrier)(self.handle) }
        })
    }

    /// Says that this process is here; the request ends when all are (`MPI_Ibarrier`).
    ///
    /// # Errors
    /// As [`Comm::dup`].
    pub fn ibarrier(&self) -> Result<Request, MpiError> {
        let mut handle = abi::REQUEST_NULL;
        self.running.call("MPI_Ibarrier", |symbols| {
            // SAFETY: the handle is a live communicator, the place is valid.
            unsafe { (symbols.ibarrier)(self.handle, &raw mut handle) }
        })?;
        let kind = Pending::Collective;
        Ok(Request::new(&self.running, handle, Vec::new(), kind))
    }

    /// Gives the root's numbers to all. All pass slices of one length.
    ///
    /// # Errors
    /// [`MpiError::NoSuchProcess`]; as [`Comm::dup`].
    pub fn broadcast<T: Element>(&self, values: &mut [T], root: usize) -> Result<(), MpiError> {
        let root = self.process(root)?;
        self.running.call("MPI_Bcast", |symbols| {
            let (to, length) = (values.as_mut_ptr().cast(), count(values.len()));
            // SAFETY: the slice has so many numbers of this type; the call is over when it returns.
            unsafe { (symbols.bcast)(to, length, T::DATATYPE, root, self.handle) }
        })
    }

    /// Reduces place by place over all processes; all get the result. All pass slices of one
    /// length.
    ///
    /// # Errors
    /// As [`Comm::dup`].
    ///
    /// # Panics
    /// When the slices differ in length.
    pub fn allreduce<T: Element>(
        &self,
        values: &[T],
        results: &mut [T],
        by: Reduction,
    ) -> Result<(), MpiError> {
        assert_eq!(values.len(), results.len(), "a result for each value");
        self.running.call("MPI_Allreduce", |symbols| {
            let (from, to) = (values.as_ptr().cast(), results.as_mut_ptr().cast());
            let length = count(values.len());
            // SAFETY: both slices have so many numbers of this type and do not overlap; the call is
            // over when it returns.
            unsafe { (symbols.allreduce)(from, to, length, T::DATATYPE, by.handle(), self.handle) }
        })
    }

    /// The numbers of all processes one after the other, to all. All pass slices of one length.
    ///
    /// # Errors
    /// As [`Comm::dup`].
    pub fn allgather<T: Element + Default>(&self, values: &[T]) -> Result<Vec<T>, MpiError> {
        let mut all = vec![T::default(); values.len() * self.size];
        self.running.call("MPI_Allgather", |symbols| {
            let (from, to) = (values.as_ptr().cast(), all.as_mut_ptr().cast());
            let (each, data) = (count(values.len()), T::DATATYPE);
            // SAFETY: there are so many numbers to read, and room for as many from each process;
            // the call is over when it returns.
            unsafe { (symbols.allgather)(from, each, data, to, each, data, self.handle) }
        })?;
        Ok(all)
    }

    fn process(&self, process: usize) -> Result<c_int, MpiError> {
        if process < self.size {
            return Ok(process as c_int);
        }
        Err(MpiError::NoSuchProcess {
            process,
            processes: self.size,
        })
    }
}

impl Matched {
    /// The sender.
    #[must_use]
    pub fn source(&self) -> usize {
        self.source
    }

    /// The tag.
    #[must_use]
    pub fn tag(&self) -> i32 {
        self.tag
    }

    /// How many bytes it has: also more than 2³¹.
    #[must_use]
    pub fn length(&self) -> usize {
        self.length
    }

    /// Starts to receive it, whole (`MPI_Imrecv`).
    ///
    /// # Errors
    /// [`MpiError::WrongThread`], [`MpiError::Call`].
    #[inline]
    pub fn receive(self) -> Result<Request, MpiError> {
        let mut bytes: Vec<u8> = Vec::with_capacity(self.length);
        let to = bytes.as_mut_ptr();
        let (mut message, mut handle) = (self.handle, abi::REQUEST_NULL);
        self.running.call("MPI_Imrecv", |symbols| {
            // SAFETY: the message was matched by this process and is received once (self is taken).
            // There is room for all of it, which the request owns until it has ended.
            unsafe {
                (symbols.imrecv)(
                    to.cast(),
                    count(self.length),
                    abi::BYTE,
                    &raw mut message,
                    &raw mut handle,
                )
            }
        })?;
        Ok(Request::new(&self.running, handle, bytes, Pending::Matched))
    }
}

/// `MPI_ANY_SOURCE`.
const ANY_SOURCE: c_int = -1;

/// A number that the library gives and that is not negative.
fn number(value: c_int) -> usize {
    usize::try_from(value).unwrap_or(0)
}

/// A length as MPI counts. No slice of Rust is longer than `i64::MAX`.
fn count(length: usize) -> abi::Count {
    length as abi::Count
}
