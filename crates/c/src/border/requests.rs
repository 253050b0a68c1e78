//! Receives that go on while the rank does something else.

use super::calls::{Call, call};
use super::comm::{MessageStatus, NOTHING, here, source, status, tags};
use crate::error::{Code, Failure};
use crate::rank::{Comm, Rank};
use motet::Communicator;
use motet::comm::{Request, Source, Status};
use std::cell::RefCell;
use std::collections::HashSet;
use std::ffi::{c_int, c_void};
use std::mem;
use std::rc::Rc;

/// A receive that was posted, on the thread of its rank.
pub(crate) struct RankReceive {
    /// Nothing comes from nobody. Dropped before the communicator from which it borrows.
    request: Option<Request<'static, (usize, Status)>>,
    _comm: Rc<Communicator>,
    rank: Rc<Rank>,
}

motet_sync::thread_local! {
    /// Those of the rank on this thread.
    static POSTED: RefCell<HashSet<*mut RankReceive>> = RefCell::new(HashSet::new());
}

/// Calls the body of a rank, and gives up the receives that it leaves: their rooms may be on its
/// stack.
pub(super) fn until_end<R>(body: impl FnOnce() -> R) -> R {
    /// Those of the rank in whose body this one runs come back when it is dropped.
    struct Before(HashSet<*mut RankReceive>);
    impl Drop for Before {
        fn drop(&mut self) {
            let before = mem::take(&mut self.0);
            for receive in POSTED.with(|posted| posted.replace(before)) {
                // SAFETY: it came from a box, and was in the set, so it has not been freed.
                drop(unsafe { Box::from_raw(receive) });
            }
        }
    }
    let _before = Before(POSTED.with(RefCell::take));
    body()
}

/// Takes a receive out of the set.
///
/// # Errors
/// [`Code::Thread`] when it is not there.
fn taken(receive: *mut RankReceive) -> Result<Box<RankReceive>, Failure> {
    match POSTED.with(|posted| posted.borrow_mut().remove(&receive)) {
        // SAFETY: it came from a box, and was in the set, so it has not been freed.
        true => Ok(unsafe { Box::from_raw(receive) }),
        false => Err(Failure::new(
            Code::Thread,
            "the request is of another thread, or has ended",
        )),
    }
}

/// Puts a receive into the set.
fn keep(receive: *mut RankReceive) {
    POSTED.with(|posted| posted.borrow_mut().insert(receive));
}

/// Posts a receive.
///
/// # Safety
/// As the header says, which holds for all functions here: nobody else uses the room until the
/// request has ended or been freed.
#[unsafe(no_mangle)]
unsafe extern "C" fn motet_irecv(
    comm: *const Comm,
    room: *mut c_void,
    size: usize,
    source: c_int,
    tag: c_int,
    request: *mut *mut RankReceive,
) -> Code {
    call("motet_irecv", |call| {
        // SAFETY: as the caller promises.
        let out = unsafe { call.out(request, "request") }?;
        // SAFETY: as the caller promises, until the request has ended or been freed.
        let (comm, room) = unsafe { (here(call, comm)?, call.room(room, size, "room")?) };
        let (source, tag) = (self::source(source)?, tags(tag)?);
        let own = Rc::clone(&comm.comm);
        // SAFETY: the counted communicator lives as long as the request: it is dropped after it.
        let borrowed: &'static Communicator = unsafe { &*Rc::as_ptr(&own) };
        let posted = (source != Source::Null).then(|| borrowed.irecv_into(room, source, tag));
        let receive = Box::into_raw(Box::new(RankReceive {
            request: posted,
            _comm: own,
            rank: Rc::clone(&comm.rank),
        }));
        keep(receive);
        out.give_kept(receive);
        Ok(())
    })
}

/// Waits for the message.
///
/// # Safety
/// As [`motet_irecv`].
#[unsafe(no_mangle)]
unsafe extern "C" fn motet_wait(
    request: *mut *mut RankReceive,
    status: *mut MessageStatus,
) -> Code {
    call("motet_wait", |call| {
        // SAFETY: as the caller promises.
        let came = unsafe { wait(call, request) }?;
        // SAFETY: as the caller promises.
        unsafe { call.leave(status, came) };
        Ok(())
    })
}

/// # Safety
/// As [`motet_irecv`].
unsafe fn wait(call: Call, request: *mut *mut RankReceive) -> Result<MessageStatus, Failure> {
    // SAFETY: as the caller promises.
    let receive = unsafe { *call.handle(request, "request")? };
    if receive.is_null() {
        return Ok(NOTHING);
    }
    let mut receive = taken(receive)?;
    // SAFETY: as the caller promises; it is not NULL.
    unsafe { request.write(std::ptr::null_mut()) };
    receive.rank.check()?;
    match receive.request.take() {
        Some(request) => {
            let (size, of) = receive.rank.wait(request.wait())?;
            Ok(status(of, size))
        }
        None => Ok(NOTHING),
    }
}

/// Waits for the messages of several receives.
///
/// # Safety
/// As [`motet_irecv`].
#[unsafe(no_mangle)]
unsafe extern "C" fn motet_waitall(requests: *mut *mut RankReceive, count: usize) -> Code {
    call("motet_waitall", |call| {
        // SAFETY: as the caller promises.
        let requests = unsafe { call.numbers_mut(requests.cast(), count, "requests") }?;
        let mut first = Ok(());
        for request in requests {
            // SAFETY: as the caller promises.
            let ended = unsafe { wait(call, request) };
            first = first.and(ended.map(drop));
        }
        first
    })
}

/// Looks whether the message is there.
///
/// # Safety
/// As [`motet_irecv`].
#[unsafe(no_mangle)]
unsafe extern "C" fn motet_test(
    request: *mut *mut RankReceive,
    status: *mut MessageStatus,
) -> Code {
    call("motet_test", |call| {
        // SAFETY: as the caller promises.
        let handle = unsafe { *call.handle(request, "request")? };
        let mut came = NOTHING;
        if !handle.is_null() {
            let mut receive = taken(handle)?;
            // SAFETY: as the caller promises; it is not NULL.
            unsafe { request.write(std::ptr::null_mut()) };
            receive.rank.check()?;
            match receive.request.take().map(Request::test) {
                Some(Err(waiting)) => {
                    receive.request = Some(waiting);
                    let kept = Box::into_raw(receive);
                    keep(kept);
                    // SAFETY: as above.
                    unsafe { request.write(kept) };
                    return Err(Failure::new(Code::Empty, "the message has not come"));
                }
                Some(Ok(ended)) => {
                    let (size, of) = ended?;
                    came = self::status(of, size);
                }
                None => {}
            }
        }
        // SAFETY: as the caller promises.
        unsafe { call.leave(status, came) };
        Ok(())
    })
}

/// Gives a receive up.
///
/// # Safety
/// As [`motet_irecv`].
#[unsafe(no_mangle)]
unsafe extern "C" fn motet_request_free(request: *mut RankReceive) -> Code {
    call("motet_request_free", |_| match request.is_null() {
        true => Ok(()),
        false => taken(request).map(drop),
    })
}
