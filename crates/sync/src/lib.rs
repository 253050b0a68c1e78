//! The one place where motet touches atomics, locks and operating-system threads.
//!
//! Every other crate takes them from here, so that the same source runs in three ways:
//!
//! - on the real machine;
//! - built with `--cfg motet_loom`, under the [loom](https://docs.rs/loom) model checker (every
//!   schedule of a small model);
//! - built with `--cfg motet_shuttle`, under [shuttle](https://docs.rs/shuttle) (many random
//!   schedules of a whole program).
//!
//! Outside of both the façade costs nothing: the names are those of `std`.
//!
//! - Depends on: `crossbeam-utils` (cache-line padding), `spin` (a lock for short holds), `rustix`
//!   (on Linux, for fences of which one side pays).
//! - Used by: every crate of the core.
//!
//! ```text
//!   dispatch   ports   comm
//!       \        |      /
//!        +--- motet-sync ---+
//!        |                  |
//!       std     loom, shuttle (models only)
//! ```
//!
//! ```
//! use motet_sync::{Mutex, thread};
//! use std::sync::Arc;
//!
//! let sum = Arc::new(Mutex::new(0));
//! let adder = thread::spawn({
//!     let sum = Arc::clone(&sum);
//!     move || *sum.lock() += 2
//! });
//! adder.join().unwrap();
//! assert_eq!(*sum.lock(), 2);
//! ```
//!
//! Read next: [`Parker`] (how a thread sleeps), [`Backoff`] (how it spins before that), then
//! `motet-dispatch`, whose `sleep.md` says who wakes whom.
#![forbid(unsafe_code)]

pub mod asymmetric;
pub mod atomic;
pub mod cell;
pub mod thread;

mod backoff;
mod block_on;
mod first_panic;
mod mutex;
mod owned_thread;
mod parker;
mod renew_waker;
mod serial;
mod shared_place;
mod spin_mutex;
mod thread_number;
#[cfg(motet_loom)]
mod try_mutex;

use std::time::{Duration, Instant};

pub use backoff::{Backoff, offer_core};
pub use block_on::{block_on, block_on_for, poll_until};
pub use crossbeam_utils::CachePadded;
pub use first_panic::FirstPanic;
pub use mutex::{Condvar, Mutex, MutexGuard};
/// A mutex that is also tried, in models too.
#[cfg(not(motet_loom))]
pub use mutex::{Mutex as TryMutex, MutexGuard as TryMutexGuard};
pub use owned_thread::OwnedThread;
pub use parker::{Parker, Unparker};
pub use renew_waker::renew_waker;
pub use serial::Serial;
pub use shared_place::{HeldPlace, SharedPlace};
pub use spin_mutex::SpinMutex;
#[cfg(motet_loom)]
pub use thread_number::set_thread_number;
pub use thread_number::{thread_number, thread_number_if_asked};
#[cfg(motet_loom)]
pub use try_mutex::{TryMutex, TryMutexGuard};

/// Tells the processor that this is a spin loop.
#[inline]
pub fn spin_loop() {
    #[cfg(not(any(motet_loom, motet_shuttle)))]
    std::hint::spin_loop();
    #[cfg(any(motet_loom, motet_shuttle))]
    thread::yield_now();
}

/// Waits for so long, and looks at nothing that others write. In a model it only lets others run.
pub fn spin_for(span: Duration) {
    if cfg!(any(motet_loom, motet_shuttle)) {
        return spin_loop();
    }
    let begun = Instant::now();
    while begun.elapsed() < span {
        spin_loop();
    }
}

/// A value for each thread. Of its key only `with` may be used: the models' keys have no more.
#[cfg(not(motet_shuttle))]
pub use std::thread_local;

/// As [`thread_local`], and for each thread of a model of loom too, whose threads share those of
/// std. Its form has no `const`.
#[cfg(not(any(motet_loom, motet_shuttle)))]
pub use std::thread_local as model_thread_local;

#[cfg(motet_loom)]
pub use loom::thread_local as model_thread_local;

#[cfg(motet_shuttle)]
pub use shuttle::thread_local as model_thread_local;

#[cfg(motet_shuttle)]
pub use shuttle::thread_local;

#[cfg(not(motet_loom))]
pub use std::sync::Arc;

#[cfg(motet_loom)]
pub use loom::sync::Arc;
