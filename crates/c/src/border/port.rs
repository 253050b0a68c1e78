//! Ports.

use super::calls::{call, free, limit, quietly};
use crate::error::{Code, Failure};
use crate::foreign::{AlignedBytes, ReleaseBytes};
use crate::rank;
use motet::{BlockingError, Overflow, Port, PostError, wait_blocking, wait_blocking_for};
use std::ffi::{c_int, c_void};
use std::time::Duration;

/// As `motet_counters` in the header.
#[repr(C)]
pub(crate) struct Counters {
    posted: u64,
    taken: u64,
    waiting: u64,
    dropped: u64,
    refused: u64,
}

/// Makes a port.
///
/// # Safety
/// As the header says, which holds for all functions here.
#[unsafe(no_mangle)]
unsafe extern "C" fn motet_port_new(port: *mut *mut Port<AlignedBytes>) -> Code {
    call("motet_port_new", |call| {
        // SAFETY: as the caller promises.
        unsafe { call.out(port, "port") }?.give(Port::new());
        Ok(())
    })
}

/// Makes a port in which so many items may wait.
///
/// # Safety
/// As [`motet_port_new`].
#[unsafe(no_mangle)]
unsafe extern "C" fn motet_port_bounded(
    capacity: usize,
    overflow: c_int,
    port: *mut *mut Port<AlignedBytes>,
) -> Code {
    call("motet_port_bounded", |call| {
        // SAFETY: as the caller promises.
        let out = unsafe { call.out(port, "port") }?;
        let overflow = match overflow {
            0 => Overflow::Reject,
            1 => Overflow::DropOldest,
            2 => Overflow::DropNewest,
            3 => Overflow::Wait,
            other => {
                let said = format!("`overflow` is {other}, no motet_overflow: use one of 0 to 3");
                return Err(Failure::argument(said));
            }
        };
        if capacity == 0 {
            let said = "`capacity` is 0: such a port would take nothing; give it 1 at least";
            return Err(Failure::argument(said));
        }
        out.give(Port::bounded(capacity, overflow));
        Ok(())
    })
}

/// Gives a handle of a port back.
///
/// # Safety
/// As [`motet_port_new`].
#[unsafe(no_mangle)]
unsafe extern "C" fn motet_port_free(port: *mut Port<AlignedBytes>) {
    // SAFETY: as the caller promises.
    unsafe { free(port) };
}

/// Posts a copy of bytes.
///
/// # Safety
/// As [`motet_port_new`].
#[unsafe(no_mangle)]
unsafe extern "C" fn motet_port_post(
    port: *const Port<AlignedBytes>,
    data: *const c_void,
    size: usize,
) -> Code {
    call("motet_port_post", |call| {
        // SAFETY: as the caller promises.
        let (port, bytes) =
            unsafe { (call.handle(port, "port")?, call.bytes(data, size, "data")?) };
        port.post(AlignedBytes::copied(bytes))
            .map_err(|refused| refused.reason.into())
    })
}

/// Posts memory of the caller.
///
/// # Safety
/// As [`motet_port_new`].
#[unsafe(no_mangle)]
unsafe extern "C" fn motet_port_post_owned(
    port: *const Port<AlignedBytes>,
    data: *mut c_void,
    size: usize,
    release: Option<ReleaseBytes>,
) -> Code {
    call("motet_port_post_owned", |call| {
        // SAFETY: as the caller promises.
        let port = unsafe { call.handle(port, "port") }?;
        if data.is_null() {
            // There is no item at NULL, not even an empty one.
            let said = "the argument `data` is NULL; an empty item is posted by motet_port_post";
            return Err(Failure::new(Code::Null, said));
        }
        // SAFETY: as the caller promises; also of the size.
        let item = unsafe {
            let _ = call.bytes(data, size, "data")?;
            AlignedBytes::owned(data, size, release)
        };
        port.post(item).map_err(|PostError { item, reason }| {
            item.disown();
            reason.into()
        })
    })
}

/// Posts a copy of bytes, and waits for room.
///
/// # Safety
/// As [`motet_port_new`].
#[unsafe(no_mangle)]
unsafe extern "C" fn motet_port_post_wait(
    port: *const Port<AlignedBytes>,
    data: *const c_void,
    size: usize,
    milliseconds: i64,
) -> Code {
    call("motet_port_post_wait", |call| {
        // SAFETY: as the caller promises.
        let (port, bytes) =
            unsafe { (call.handle(port, "port")?, call.bytes(data, size, "data")?) };
        let posting = port.post_wait(AlignedBytes::copied(bytes));
        waited(posting, limit(milliseconds))?.map_err(|refused| refused.reason.into())
    })
}

/// Takes the oldest item, if there is one.
///
/// # Safety
/// As [`motet_port_new`].
#[unsafe(no_mangle)]
unsafe extern "C" fn motet_port_test(
    port: *const Port<AlignedBytes>,
    item: *mut *mut AlignedBytes,
) -> Code {
    call("motet_port_test", |call| {
        // SAFETY: as the caller promises.
        let (port, out) = unsafe { (call.handle(port, "port")?, call.out(item, "item")?) };
        let item = port.test();
        out.give(item.ok_or_else(|| Failure::new(Code::Empty, "no item waits"))?);
        Ok(())
    })
}

/// Waits for an item, and takes it.
///
/// # Safety
/// As [`motet_port_new`].
#[unsafe(no_mangle)]
unsafe extern "C" fn motet_port_receive(
    port: *const Port<AlignedBytes>,
    milliseconds: i64,
    item: *mut *mut AlignedBytes,
) -> Code {
    call("motet_port_receive", |call| {
        // SAFETY: as the caller promises.
        let (port, out) = unsafe { (call.handle(port, "port")?, call.out(item, "item")?) };
        let came = waited(port.recv().or_closed(), limit(milliseconds))?;
        out.give(came.map_err(BlockingError::from)?);
        Ok(())
    })
}

/// Closes a port.
///
/// # Safety
/// As [`motet_port_new`].
#[unsafe(no_mangle)]
unsafe extern "C" fn motet_port_close(port: *const Port<AlignedBytes>) -> Code {
    call("motet_port_close", |call| {
        // SAFETY: as the caller promises.
        unsafe { call.handle(port, "port") }?.close();
        Ok(())
    })
}

/// Whether a port is closed.
///
/// # Safety
/// As [`motet_port_new`].
#[unsafe(no_mangle)]
unsafe extern "C" fn motet_port_is_closed(port: *const Port<AlignedBytes>) -> c_int {
    // SAFETY: as the caller promises.
    let port = unsafe { port.as_ref() };
    quietly(0, || port.map_or(0, |port| c_int::from(port.is_closed())))
}

/// What has gone through a port.
///
/// # Safety
/// As [`motet_port_new`].
#[unsafe(no_mangle)]
unsafe extern "C" fn motet_port_counters(
    port: *const Port<AlignedBytes>,
    counters: *mut Counters,
) -> Code {
    call("motet_port_counters", |call| {
        // SAFETY: as the caller promises.
        let port = unsafe { call.handle(port, "port") }?;
        let now = port.counters();
        let given = Counters {
            posted: now.posted,
            taken: now.taken,
            waiting: now.waiting,
            dropped: now.dropped,
            refused: now.refused,
        };
        // SAFETY: as the caller promises.
        unsafe { call.leave(counters, given) };
        Ok(())
    })
}

/// Waits on the calling thread. A rank has its thread to itself, and may hold it.
fn waited<F: Future>(future: F, limit: Option<Duration>) -> Result<F::Output, Failure> {
    match (rank::is_here(), limit) {
        (true, None) => Ok(motet_sync::block_on(future)),
        (true, Some(limit)) => {
            motet_sync::block_on_for(future, limit).ok_or_else(|| BlockingError::Elapsed.into())
        }
        (false, None) => wait_blocking(future).map_err(Failure::from),
        (false, Some(limit)) => wait_blocking_for(future, limit).map_err(Failure::from),
    }
}
