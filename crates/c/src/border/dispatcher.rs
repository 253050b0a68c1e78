//! Dispatchers and queues.

use super::calls::{call, free, quietly, thread_count};
use crate::error::{Code, Failure, in_handler};
use crate::foreign::{AlignedBytes, Callback, Function};
use motet::dispatch::inside_task;
use motet::{
    Dispatcher, DispatcherConfig, DispatcherQueue, ExecutionPolicy, FromHandler, QueueConfig, Task,
};
use std::ffi::{c_char, c_void};

/// Starts the threads of a dispatcher.
///
/// # Safety
/// As the header says, which holds for all functions here.
#[unsafe(no_mangle)]
unsafe extern "C" fn motet_dispatcher_new(
    threads: usize,
    dispatcher: *mut *mut Dispatcher,
) -> Code {
    call("motet_dispatcher_new", |call| {
        // SAFETY: as the caller promises.
        let out = unsafe { call.out(dispatcher, "dispatcher") }?;
        let config = DispatcherConfig {
            threads: thread_count(threads, "threads")?,
            ..DispatcherConfig::default()
        };
        let started = Dispatcher::with(config);
        out.give(started.map_err(|error| {
            let said = format!("the threads could not be started: {error}; ask for fewer");
            Failure::new(Code::Start, said)
        })?);
        Ok(())
    })
}

/// The number of threads.
///
/// # Safety
/// As [`motet_dispatcher_new`].
#[unsafe(no_mangle)]
unsafe extern "C" fn motet_dispatcher_threads(dispatcher: *const Dispatcher) -> usize {
    // SAFETY: as the caller promises.
    let dispatcher = unsafe { dispatcher.as_ref() };
    quietly(0, || dispatcher.map_or(0, Dispatcher::workers))
}

/// Waits until nothing is queued and nothing runs.
///
/// # Safety
/// As [`motet_dispatcher_new`].
#[unsafe(no_mangle)]
unsafe extern "C" fn motet_dispatcher_wait_idle(dispatcher: *const Dispatcher) -> Code {
    call("motet_dispatcher_wait_idle", |call| {
        // SAFETY: as the caller promises.
        let dispatcher = unsafe { call.handle(dispatcher, "dispatcher") }?;
        if inside_task() && !crate::rank::is_here() {
            return Err(in_handler());
        }
        dispatcher.wait_idle();
        Ok(())
    })
}

/// Who waits for what, in words.
///
/// # Safety
/// As [`motet_dispatcher_new`].
#[unsafe(no_mangle)]
unsafe extern "C" fn motet_dispatcher_waiting(
    dispatcher: *const Dispatcher,
    text: *mut *mut AlignedBytes,
) -> Code {
    call("motet_dispatcher_waiting", |call| {
        // SAFETY: as the caller promises.
        let out = unsafe { call.out(text, "text") }?;
        // SAFETY: as the caller promises.
        let dispatcher = unsafe { call.handle(dispatcher, "dispatcher") }?;
        let mut said = dispatcher.waiting().to_string().into_bytes();
        said.push(0);
        out.give(AlignedBytes::copied(&said));
        Ok(())
    })
}

/// Runs what is queued, and ends the threads.
///
/// # Safety
/// As [`motet_dispatcher_new`].
#[unsafe(no_mangle)]
unsafe extern "C" fn motet_dispatcher_free(dispatcher: *mut Dispatcher) -> Code {
    call("motet_dispatcher_free", |_| {
        if dispatcher.is_null() {
            return Ok(());
        }
        if inside_task() && !crate::rank::is_here() {
            return Err(in_handler());
        }
        // SAFETY: as the caller promises; it came from a box, and is used no more.
        let dispatcher = unsafe { Box::from_raw(dispatcher) };
        dispatcher.drain().into_iter().for_each(Task::cleanup);
        Ok(())
    })
}

/// Makes a queue of a dispatcher.
///
/// # Safety
/// As [`motet_dispatcher_new`].
#[unsafe(no_mangle)]
unsafe extern "C" fn motet_queue_new(
    dispatcher: *const Dispatcher,
    name: *const c_char,
    depth: usize,
    queue: *mut *mut DispatcherQueue,
) -> Code {
    call("motet_queue_new", |call| {
        // SAFETY: as the caller promises.
        let (out, dispatcher, name) = unsafe {
            (
                call.out(queue, "queue")?,
                call.handle(dispatcher, "dispatcher")?,
                call.text(name, "name")?,
            )
        };
        let policy = match depth {
            0 => ExecutionPolicy::Unconstrained,
            depth => ExecutionPolicy::RejectTasks { depth },
        };
        out.give(dispatcher.queue(QueueConfig {
            policy,
            ..QueueConfig::named(name)
        }));
        Ok(())
    })
}

/// Has a function called on a thread of the dispatcher.
///
/// # Safety
/// As [`motet_dispatcher_new`].
#[unsafe(no_mangle)]
unsafe extern "C" fn motet_queue_enqueue(
    queue: *const DispatcherQueue,
    function: Option<Function>,
    context: *mut c_void,
    release: Option<Function>,
) -> Code {
    call("motet_queue_enqueue", |call| {
        // SAFETY: as the caller promises.
        let queue = unsafe { call.handle(queue, "queue") }?;
        let function = call.function(function, "function")?;
        // SAFETY: as the caller promises. Released once: by the task, or as that is refused.
        let callback = unsafe { Callback::new(function, context, release) };
        let queued = FromHandler::new(move || callback.run()).activate(queue);
        queued.map_err(Failure::from)
    })
}

/// Starts nothing more until the queue is resumed.
///
/// # Safety
/// As [`motet_dispatcher_new`].
#[unsafe(no_mangle)]
unsafe extern "C" fn motet_queue_suspend(queue: *const DispatcherQueue) -> Code {
    call("motet_queue_suspend", |call| {
        // SAFETY: as the caller promises.
        unsafe { call.handle(queue, "queue") }?.suspend();
        Ok(())
    })
}

/// Goes on.
///
/// # Safety
/// As [`motet_dispatcher_new`].
#[unsafe(no_mangle)]
unsafe extern "C" fn motet_queue_resume(queue: *const DispatcherQueue) -> Code {
    call("motet_queue_resume", |call| {
        // SAFETY: as the caller promises.
        unsafe { call.handle(queue, "queue") }?.resume();
        Ok(())
    })
}

/// Gives a handle of a queue back.
///
/// # Safety
/// As [`motet_dispatcher_new`].
#[unsafe(no_mangle)]
unsafe extern "C" fn motet_queue_free(queue: *mut DispatcherQueue) {
    // SAFETY: as the caller promises.
    unsafe { free(queue) };
}
