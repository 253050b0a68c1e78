//! Interleaves.

use super::calls::{call, free, quietly};
use crate::error::Code;
use crate::plan::{Arbiter, InterleaveGroup, Interleaved};
use motet::DispatcherQueue;
use std::ffi::c_int;

/// Makes an interleave without parts.
///
/// # Safety
/// As the header says, which holds for all functions here.
#[unsafe(no_mangle)]
unsafe extern "C" fn motet_interleave_new(interleave: *mut *mut Interleaved) -> Code {
    call("motet_interleave_new", |call| {
        // SAFETY: as the caller promises.
        unsafe { call.out(interleave, "interleave") }?.give(Interleaved::new());
        Ok(())
    })
}

/// Adds a part whose handlers run together with those of the group.
///
/// # Safety
/// As [`motet_interleave_new`].
#[unsafe(no_mangle)]
unsafe extern "C" fn motet_interleave_concurrent(
    interleave: *const Interleaved,
    arbiter: *const Arbiter,
) -> Code {
    // SAFETY: as the caller promises.
    unsafe {
        add(
            "motet_interleave_concurrent",
            InterleaveGroup::Concurrent,
            interleave,
            arbiter,
        )
    }
}

/// Adds a part whose handlers run alone.
///
/// # Safety
/// As [`motet_interleave_new`].
#[unsafe(no_mangle)]
unsafe extern "C" fn motet_interleave_exclusive(
    interleave: *const Interleaved,
    arbiter: *const Arbiter,
) -> Code {
    // SAFETY: as the caller promises.
    unsafe {
        add(
            "motet_interleave_exclusive",
            InterleaveGroup::Exclusive,
            interleave,
            arbiter,
        )
    }
}

/// Adds a part whose handler runs last, alone.
///
/// # Safety
/// As [`motet_interleave_new`].
#[unsafe(no_mangle)]
unsafe extern "C" fn motet_interleave_teardown(
    interleave: *const Interleaved,
    arbiter: *const Arbiter,
) -> Code {
    // SAFETY: as the caller promises.
    unsafe {
        add(
            "motet_interleave_teardown",
            InterleaveGroup::Teardown,
            interleave,
            arbiter,
        )
    }
}

/// # Safety
/// As [`motet_interleave_new`].
unsafe fn add(
    name: &'static str,
    group: InterleaveGroup,
    interleave: *const Interleaved,
    arbiter: *const Arbiter,
) -> Code {
    call(name, |call| {
        // SAFETY: as the caller promises.
        let (interleave, arbiter) = unsafe {
            (
                call.handle(interleave, "interleave")?,
                call.handle(arbiter, "arbiter")?,
            )
        };
        interleave.add(group, arbiter)
    })
}

/// Puts an interleave to work.
///
/// # Safety
/// As [`motet_interleave_new`].
#[unsafe(no_mangle)]
unsafe extern "C" fn motet_interleave_activate(
    interleave: *const Interleaved,
    queue: *const DispatcherQueue,
) -> Code {
    call("motet_interleave_activate", |call| {
        // SAFETY: as the caller promises.
        let (interleave, queue) = unsafe {
            (
                call.handle(interleave, "interleave")?,
                call.handle(queue, "queue")?,
            )
        };
        interleave.activate(queue)
    })
}

/// Takes the parts of an interleave off their ports.
///
/// # Safety
/// As [`motet_interleave_new`].
#[unsafe(no_mangle)]
unsafe extern "C" fn motet_interleave_deactivate(interleave: *const Interleaved) -> Code {
    call("motet_interleave_deactivate", |call| {
        // SAFETY: as the caller promises.
        unsafe { call.handle(interleave, "interleave") }?.deactivate()
    })
}

/// Whether an interleave can still take items.
///
/// # Safety
/// As [`motet_interleave_new`].
#[unsafe(no_mangle)]
unsafe extern "C" fn motet_interleave_is_active(interleave: *const Interleaved) -> c_int {
    // SAFETY: as the caller promises.
    let interleave = unsafe { interleave.as_ref() };
    quietly(0, || {
        interleave.map_or(0, |active| c_int::from(active.is_active()))
    })
}

/// Gives a handle of an interleave back.
///
/// # Safety
/// As [`motet_interleave_new`].
#[unsafe(no_mangle)]
unsafe extern "C" fn motet_interleave_free(interleave: *mut Interleaved) {
    // SAFETY: as the caller promises.
    unsafe { free(interleave) };
}
