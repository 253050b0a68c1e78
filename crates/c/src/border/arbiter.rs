//! Arbiters: receives, joins, choices.

use super::calls::{call, free, limit, quietly};
use crate::error::{Code, Failure};
use crate::foreign::{AlignedBytes, Callback, Function, Handler, JoinHandler};
use crate::plan::{Arbiter, ArbiterPlan};
use motet::{After, Choice, DispatcherQueue, MultiplePortReceive, Port, Receive};
use std::ffi::{c_int, c_void};

/// Handles items of a port.
///
/// # Safety
/// As the header says, which holds for all functions here.
#[unsafe(no_mangle)]
unsafe extern "C" fn motet_receive(
    port: *const Port<AlignedBytes>,
    once: c_int,
    handler: Option<Handler>,
    context: *mut c_void,
    release: Option<Function>,
    arbiter: *mut *mut Arbiter,
) -> Code {
    call("motet_receive", |call| {
        // SAFETY: as the caller promises.
        let (out, port) = unsafe { (call.out(arbiter, "arbiter")?, call.handle(port, "port")?) };
        let handler = call.function(handler, "handler")?;
        // SAFETY: as the caller promises. The context is taken over: nothing fails from here on.
        let callback = unsafe { Callback::new(handler, context, release) };
        let receive = match once {
            0 => Receive::persistent(port, move |item| callback.handle(&item)),
            _ => Receive::once(port, move |item| callback.handle(&item)),
        };
        out.give(Arbiter::new(ArbiterPlan::Receive(receive)));
        Ok(())
    })
}

/// Handles one item of each of several ports, all or none.
///
/// # Safety
/// As [`motet_receive`].
#[unsafe(no_mangle)]
unsafe extern "C" fn motet_join(
    ports: *const *const Port<AlignedBytes>,
    count: usize,
    once: c_int,
    handler: Option<JoinHandler>,
    context: *mut c_void,
    release: Option<Function>,
    arbiter: *mut *mut Arbiter,
) -> Code {
    call("motet_join", |call| {
        // SAFETY: as the caller promises.
        let (out, ports) = unsafe {
            (
                call.out(arbiter, "arbiter")?,
                call.handles(ports, count, "ports")?,
            )
        };
        let handler = call.function(handler, "handler")?;
        let mut ids: Vec<u64> = ports.iter().map(|port| port.id()).collect();
        ids.sort_unstable();
        if ids.is_empty() || ids.windows(2).any(|pair| pair[0] == pair[1]) {
            let said = "a join names at least one port, and none twice";
            return Err(Failure::argument(said));
        }
        // SAFETY: as in `motet_receive`.
        let callback = unsafe { Callback::new(handler, context, release) };
        let handle = move |items: Vec<AlignedBytes>| callback.handle_all(&items);
        let join = match once {
            0 => MultiplePortReceive::persistent(ports, handle),
            _ => MultiplePortReceive::once(ports, handle),
        };
        out.give(Arbiter::new(ArbiterPlan::Join(join)));
        Ok(())
    })
}

/// Handles the end of a time.
///
/// # Safety
/// As [`motet_receive`].
#[unsafe(no_mangle)]
unsafe extern "C" fn motet_after(
    milliseconds: i64,
    function: Option<Function>,
    context: *mut c_void,
    release: Option<Function>,
    arbiter: *mut *mut Arbiter,
) -> Code {
    call("motet_after", |call| {
        // SAFETY: as the caller promises.
        let out = unsafe { call.out(arbiter, "arbiter") }?;
        let function = call.function(function, "function")?;
        let Some(span) = limit(milliseconds) else {
            let said = format!("`milliseconds` is {milliseconds}: it is at least 0");
            return Err(Failure::argument(said));
        };
        // SAFETY: as in `motet_receive`.
        let callback = unsafe { Callback::new(function, context, release) };
        let after = After::new(span, move || callback.run());
        out.give(Arbiter::new(ArbiterPlan::After(after)));
        Ok(())
    })
}

/// The first of several arbiters that can run.
///
/// # Safety
/// As [`motet_receive`].
#[unsafe(no_mangle)]
unsafe extern "C" fn motet_choice(
    branches: *const *const Arbiter,
    count: usize,
    arbiter: *mut *mut Arbiter,
) -> Code {
    call("motet_choice", |call| {
        // SAFETY: as the caller promises.
        let (out, branches) = unsafe {
            (
                call.out(arbiter, "arbiter")?,
                call.handles(branches, count, "branches")?,
            )
        };
        if branches.is_empty() {
            return Err(Failure::argument("a choice has at least one branch"));
        }
        let mut plans = Vec::with_capacity(branches.len());
        for branch in &branches {
            match branch.take_once("a choice") {
                Ok(plan) => plans.push(plan),
                Err(failure) => {
                    let taken = branches.iter().zip(plans);
                    taken.for_each(|(branch, plan)| branch.put_back(plan));
                    return Err(failure);
                }
            }
        }
        out.give(Arbiter::new(ArbiterPlan::Choice(Choice::any(plans))));
        Ok(())
    })
}

/// Puts an arbiter to work.
///
/// # Safety
/// As [`motet_receive`].
#[unsafe(no_mangle)]
unsafe extern "C" fn motet_arbiter_activate(
    arbiter: *const Arbiter,
    queue: *const DispatcherQueue,
) -> Code {
    call("motet_arbiter_activate", |call| {
        // SAFETY: as the caller promises.
        let (arbiter, queue) = unsafe {
            (
                call.handle(arbiter, "arbiter")?,
                call.handle(queue, "queue")?,
            )
        };
        arbiter.activate(queue)
    })
}

/// Takes an arbiter off its ports.
///
/// # Safety
/// As [`motet_receive`].
#[unsafe(no_mangle)]
unsafe extern "C" fn motet_arbiter_deactivate(arbiter: *const Arbiter) -> Code {
    call("motet_arbiter_deactivate", |call| {
        // SAFETY: as the caller promises.
        unsafe { call.handle(arbiter, "arbiter") }?.deactivate()
    })
}

/// Whether an arbiter can still take items.
///
/// # Safety
/// As [`motet_receive`].
#[unsafe(no_mangle)]
unsafe extern "C" fn motet_arbiter_is_active(arbiter: *const Arbiter) -> c_int {
    // SAFETY: as the caller promises.
    let arbiter = unsafe { arbiter.as_ref() };
    quietly(0, || {
        arbiter.map_or(0, |arbiter| c_int::from(arbiter.is_active()))
    })
}

/// Gives a handle of an arbiter back.
///
/// # Safety
/// As [`motet_receive`].
#[unsafe(no_mangle)]
unsafe extern "C" fn motet_arbiter_free(arbiter: *mut Arbiter) {
    // SAFETY: as the caller promises.
    unsafe { free(arbiter) };
}
