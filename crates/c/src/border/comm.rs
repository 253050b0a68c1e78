//! Communicators, and messages between two ranks.

use super::calls::{Call, call, quietly};
use crate::error::{Code, Failure};
use crate::rank::{Comm, Rank};
use motet::Communicator;
use motet::comm::{Dest, Source, Status, TagMatch};
use std::cell::RefCell;
use std::ffi::{c_int, c_void};
use std::rc::Rc;

/// `MOTET_ANY_SOURCE` and `MOTET_ANY_TAG`
const ANY: c_int = -1;
/// `MOTET_NOBODY`
const NOBODY: c_int = -2;

/// As `motet_status` in the header.
#[repr(C)]
pub(crate) struct MessageStatus {
    source: c_int,
    tag: c_int,
    size: usize,
}

/// The communicators that a rank has given to its body; the first is that of all ranks. What has
/// not been freed is freed at the end of the rank.
pub(super) struct GivenComms(RefCell<Vec<*mut Comm>>);

motet_sync::thread_local! {
    static GIVEN: GivenComms = const { GivenComms(RefCell::new(Vec::new())) };
}

/// Calls `body` with the communicator of all ranks, and frees all communicators after that.
pub(super) fn with_comm<R>(
    rank: &Rc<Rank>,
    comm: Rc<Communicator>,
    body: impl FnOnce(*mut Comm) -> R,
) -> R {
    /// Frees the communicators from this place of the list on.
    struct From(usize);
    impl Drop for From {
        fn drop(&mut self) {
            let made = GIVEN.with(|given| given.0.borrow_mut().split_off(self.0));
            for comm in made {
                // SAFETY: it came from a box, and was in the list, so it has not been freed.
                drop(unsafe { Box::from_raw(comm) });
            }
        }
    }
    let _from = From(GIVEN.with(|given| given.0.borrow().len()));
    body(keep(rank, comm))
}

/// A new handle, in the list of the thread.
fn keep(rank: &Rc<Rank>, comm: Rc<Communicator>) -> *mut Comm {
    let rank = Rc::clone(rank);
    let handle = Box::into_raw(Box::new(Comm { rank, comm }));
    GIVEN.with(|given| given.0.borrow_mut().push(handle));
    handle
}

/// The communicator, on the thread of its rank while the run goes on.
///
/// # Safety
/// `comm` is NULL, or a communicator that has not been freed.
pub(super) unsafe fn here<'a>(call: Call, comm: *const Comm) -> Result<&'a Comm, Failure> {
    // SAFETY: as the caller promises. On another thread only the number of its own is read.
    let comm = unsafe { call.handle(comm, "comm") }?;
    comm.rank.check()?;
    Ok(comm)
}

/// A rank as a number of C.
fn number(rank: usize) -> c_int {
    c_int::try_from(rank).unwrap_or(c_int::MAX)
}

/// The number of a rank.
pub(super) fn rank(number: c_int, name: &str) -> Result<usize, Failure> {
    usize::try_from(number)
        .map_err(|_| Failure::argument(format!("`{name}` is {number}: ranks begin at 0")))
}

fn dest(number: c_int) -> Result<Dest, Failure> {
    match number {
        NOBODY => Ok(Dest::Null),
        number => rank(number, "dest").map(Dest::Rank),
    }
}

pub(super) fn source(number: c_int) -> Result<Source, Failure> {
    match number {
        ANY => Ok(Source::Any),
        NOBODY => Ok(Source::Null),
        number => rank(number, "source").map(Source::Rank),
    }
}

fn tag(number: c_int) -> Result<u32, Failure> {
    u32::try_from(number)
        .map_err(|_| Failure::argument(format!("`tag` is {number}: tags begin at 0")))
}

pub(super) fn tags(number: c_int) -> Result<TagMatch, Failure> {
    match number {
        ANY => Ok(TagMatch::Any),
        number => tag(number).map(TagMatch::Only),
    }
}

/// The status of a message.
pub(super) fn status(of: Status, size: usize) -> MessageStatus {
    MessageStatus {
        source: of.rank().map_or(NOBODY, number),
        tag: c_int::try_from(of.tag).unwrap_or(c_int::MAX),
        size,
    }
}

/// What came from nobody.
pub(super) const NOTHING: MessageStatus = MessageStatus {
    source: NOBODY,
    tag: ANY,
    size: 0,
};

/// The number of this rank.
///
/// # Safety
/// As the header says, which holds for all functions here.
#[unsafe(no_mangle)]
unsafe extern "C" fn motet_comm_rank(comm: *const Comm) -> c_int {
    // SAFETY: as the caller promises.
    let comm = unsafe { comm.as_ref() };
    quietly(-1, || comm.map_or(-1, |comm| number(comm.comm.rank())))
}

/// The number of ranks.
///
/// # Safety
/// As [`motet_comm_rank`].
#[unsafe(no_mangle)]
unsafe extern "C" fn motet_comm_size(comm: *const Comm) -> c_int {
    // SAFETY: as the caller promises.
    let comm = unsafe { comm.as_ref() };
    quietly(-1, || comm.map_or(-1, |comm| number(comm.comm.size())))
}

/// Sends bytes.
///
/// # Safety
/// As [`motet_comm_rank`].
#[unsafe(no_mangle)]
unsafe extern "C" fn motet_send(
    comm: *const Comm,
    data: *const c_void,
    size: usize,
    dest: c_int,
    tag: c_int,
) -> Code {
    call("motet_send", |call| {
        // SAFETY: as the caller promises.
        let (comm, data) = unsafe { (here(call, comm)?, call.bytes(data, size, "data")?) };
        let sending = comm
            .comm
            .send_slice(self::dest(dest)?, self::tag(tag)?, data);
        comm.rank.wait(sending)
    })
}

/// Receives bytes.
///
/// # Safety
/// As [`motet_comm_rank`].
#[unsafe(no_mangle)]
unsafe extern "C" fn motet_recv(
    comm: *const Comm,
    room: *mut c_void,
    size: usize,
    source: c_int,
    tag: c_int,
    status: *mut MessageStatus,
) -> Code {
    call("motet_recv", |call| {
        // SAFETY: as the caller promises.
        let (comm, room) = unsafe { (here(call, comm)?, call.room(room, size, "room")?) };
        let came = receive(comm, room, self::source(source)?, tags(tag)?)?;
        // SAFETY: as the caller promises.
        unsafe { call.leave(status, came) };
        Ok(())
    })
}

fn receive(
    comm: &Comm,
    room: &mut [u8],
    from: Source,
    tag: TagMatch,
) -> Result<MessageStatus, Failure> {
    if from == Source::Null {
        return Ok(NOTHING);
    }
    let (size, of) = comm.rank.wait(comm.comm.recv_into(room, from, tag))?;
    Ok(status(of, size))
}

/// Sends bytes and receives others.
///
/// # Safety
/// As [`motet_comm_rank`].
#[unsafe(no_mangle)]
unsafe extern "C" fn motet_sendrecv(
    comm: *const Comm,
    data: *const c_void,
    size: usize,
    dest: c_int,
    send_tag: c_int,
    room: *mut c_void,
    room_size: usize,
    source: c_int,
    recv_tag: c_int,
    status: *mut MessageStatus,
) -> Code {
    call("motet_sendrecv", |call| {
        // SAFETY: as the caller promises.
        let comm = unsafe { here(call, comm) }?;
        let (dest, send_tag) = (self::dest(dest)?, tag(send_tag)?);
        let (source, recv_tag) = (self::source(source)?, tags(recv_tag)?);
        // Before anything is sent.
        // SAFETY: as the caller promises; the room is not used yet.
        unsafe { call.room(room, room_size, "room") }?;
        {
            // SAFETY: as the caller promises. The two may overlap: this one is gone before the
            // other is made.
            let data = unsafe { call.bytes(data, size, "data") }?;
            // It goes at once, also where a send would wait for room: its request may last.
            if let Ok(sent) = comm.comm.isend_slice(dest, send_tag, data).test() {
                sent?;
            }
        }
        // SAFETY: as the caller promises.
        let room = unsafe { call.room(room, room_size, "room") }?;
        let came = receive(comm, room, source, recv_tag)?;
        // SAFETY: as the caller promises.
        unsafe { call.leave(status, came) };
        Ok(())
    })
}

/// Waits for a message, and leaves it there.
///
/// # Safety
/// As [`motet_comm_rank`].
#[unsafe(no_mangle)]
unsafe extern "C" fn motet_probe(
    comm: *const Comm,
    source: c_int,
    tag: c_int,
    status: *mut MessageStatus,
) -> Code {
    call("motet_probe", |call| {
        // SAFETY: as the caller promises.
        let comm = unsafe { here(call, comm) }?;
        let probing = comm.comm.probe(self::source(source)?, tags(tag)?);
        let found = comm.rank.wait(probing)?;
        // SAFETY: as the caller promises.
        unsafe { call.leave(status, self::status(found.status, found.length)) };
        Ok(())
    })
}

/// Looks for a message, and leaves it there.
///
/// # Safety
/// As [`motet_comm_rank`].
#[unsafe(no_mangle)]
unsafe extern "C" fn motet_iprobe(
    comm: *const Comm,
    source: c_int,
    tag: c_int,
    status: *mut MessageStatus,
) -> Code {
    call("motet_iprobe", |call| {
        // SAFETY: as the caller promises.
        let comm = unsafe { here(call, comm) }?;
        let found = comm.comm.iprobe(self::source(source)?, tags(tag)?)?;
        let found = found.ok_or_else(|| Failure::new(Code::Empty, "no message waits"))?;
        // SAFETY: as the caller promises.
        unsafe { call.leave(status, self::status(found.status, found.length)) };
        Ok(())
    })
}

/// Makes a communicator of the ranks with the same color.
///
/// # Safety
/// As [`motet_comm_rank`].
#[unsafe(no_mangle)]
unsafe extern "C" fn motet_comm_split(
    comm: *const Comm,
    color: c_int,
    key: c_int,
    part: *mut *mut Comm,
) -> Code {
    call("motet_comm_split", |call| {
        // SAFETY: as the caller promises.
        let (out, comm) = unsafe { (call.out(part, "part")?, here(call, comm)?) };
        // Below 0: in none.
        let color = usize::try_from(color).ok();
        let made = comm.rank.wait(comm.comm.split(color, key as isize))?;
        if let Some(made) = made {
            out.give_kept(keep(&comm.rank, Rc::new(made)));
        }
        Ok(())
    })
}

/// Makes another communicator of the same ranks.
///
/// # Safety
/// As [`motet_comm_rank`].
#[unsafe(no_mangle)]
unsafe extern "C" fn motet_comm_dup(comm: *const Comm, copy: *mut *mut Comm) -> Code {
    call("motet_comm_dup", |call| {
        // SAFETY: as the caller promises.
        let (out, comm) = unsafe { (call.out(copy, "copy")?, here(call, comm)?) };
        let made = comm.rank.wait(comm.comm.dup())?;
        out.give_kept(keep(&comm.rank, Rc::new(made)));
        Ok(())
    })
}

/// Frees a communicator that was made of another.
///
/// # Safety
/// As [`motet_comm_rank`].
#[unsafe(no_mangle)]
unsafe extern "C" fn motet_comm_free(comm: *mut Comm) -> Code {
    call("motet_comm_free", |_| {
        if comm.is_null() {
            return Ok(());
        }
        let place = GIVEN.with(|given| given.0.borrow().iter().position(|&kept| kept == comm));
        match place {
            Some(0) => Err(Failure::argument(
                "the communicator of all ranks belongs to the run, which frees it",
            )),
            None => Err(Failure::new(
                Code::Thread,
                "the communicator is of another thread, or has been freed",
            )),
            Some(place) => {
                GIVEN.with(|given| given.0.borrow_mut().remove(place));
                // SAFETY: it came from a box, and was in the list, so it has not been freed.
                drop(unsafe { Box::from_raw(comm) });
                Ok(())
            }
        }
    })
}
