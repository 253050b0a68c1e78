//! Time at ports: instants that arrive at a port, and waits that end.
//!
//! ```text
//!   enqueue_timer(queue, span, port) ──(span later)──> port.post(time)      timeout_port: with a port of its own
//!   port.recv().within(span)         ──> Ok(item), or Err(Elapsed) and the item stays in the port
//!   sleep(span).await                ──> goes on span later
//! ```
//!
//! Time is that of the queue concerned: virtual in a [`Replay`](motet_dispatch::Replay), multiplied
//! by the queue's [`Timescale`](motet_dispatch::Timescale). An alternative "or after a time" of any
//! arbiter is a receive on a [`timeout_port`], or a [`Timer`] that calls a closure
//! ([`Clock::after`](motet_dispatch::Clock::after)).

mod deadline;
mod sleep;

pub use deadline::{Deadline, Elapsed, Within};
pub use sleep::{Sleep, sleep};

use crate::port::Port;
use motet_dispatch::{Enqueue, Timer};
use std::time::{Duration, Instant};

/// Posts the time to `port` once, `span` from now by the clock of `queue` (CCR's `EnqueueTimer`).
/// The time is the one for which the timer was set.
///
/// The timer posts by itself; no task of `queue` is needed, so it also comes when `queue` is
/// suspended. A time that the queue of a receiver refuses, because it is full, stays in the port.
///
/// # Panics
/// When the operating system refuses the real clock its thread.
///
/// ```
/// use motet_dispatch::{QueueConfig, Replay};
/// use motet_ports::{Port, timer};
/// use std::time::Duration;
///
/// let replay = Replay::new(1);
/// let queue = replay.queue(QueueConfig::named("clock"));
/// let (noon, never) = (Port::new(), Port::new());
/// let begun = replay.clock().now();
/// timer::enqueue_timer(&queue, Duration::from_secs(60), &noon);
/// timer::enqueue_timer(&queue, Duration::from_secs(30), &never).cancel();
/// replay.run();
/// assert_eq!(noon.test(), Some(begun + Duration::from_secs(60)));
/// assert_eq!(never.test(), None);
/// ```
#[allow(
    clippy::must_use_candidate,
    reason = "a timer may be set and forgotten"
)]
pub fn enqueue_timer(
    queue: &(impl Enqueue + ?Sized),
    span: Duration,
    port: &Port<Instant>,
) -> Timer {
    let port = port.clone();
    queue.clock().after(span, move |due| deliver(&port, due))
}

/// Posts the time to `port` every `period`, until the timer is [cancelled](Timer::cancel);
/// otherwise like [`enqueue_timer`]. The times are whole periods apart, see
/// [`Clock::every`](motet_dispatch::Clock::every).
///
/// # Panics
/// When the period is zero, and as [`enqueue_timer`].
///
/// ```
/// use motet_dispatch::{QueueConfig, Replay};
/// use motet_ports::{Port, timer};
/// use std::time::Duration;
///
/// let replay = Replay::new(1);
/// let queue = replay.queue(QueueConfig::named("clock"));
/// let ticks = Port::new();
/// let timer = timer::enqueue_periodic_timer(&queue, Duration::from_secs(1), &ticks);
/// replay.run_for(Duration::from_secs(10));
/// assert_eq!(ticks.item_count(), 10);
/// assert!(timer.cancel());
/// ```
#[allow(
    clippy::must_use_candidate,
    reason = "a timer may be left to tick for as long as its port is there"
)]
pub fn enqueue_periodic_timer(
    queue: &(impl Enqueue + ?Sized),
    period: Duration,
    port: &Port<Instant>,
) -> Timer {
    let port = port.clone();
    queue.clock().every(period, move |due| deliver(&port, due))
}

/// A new port at which the time arrives once, `span` from now (CCR's `TimeoutPort`): for a receive,
/// or as one of several alternatives. To be able to cancel it, make the port and call
/// [`enqueue_timer`].
///
/// # Panics
/// As [`enqueue_timer`].
///
/// ```
/// use motet_dispatch::{QueueConfig, Replay};
/// use motet_ports::{Receive, timer};
/// use std::time::Duration;
///
/// let replay = Replay::new(1);
/// let queue = replay.queue(QueueConfig::named("clock"));
/// let (tell, told) = std::sync::mpsc::channel();
/// let timeout = timer::timeout_port(&queue, Duration::from_millis(50));
/// Receive::once(&timeout, move |time| tell.send(time).unwrap()).activate(&queue).unwrap();
/// drop(timeout);
/// replay.run();
/// assert_eq!(told.try_recv(), Ok(replay.clock().now()));
/// ```
#[must_use = "nobody else has the port"]
pub fn timeout_port(queue: &(impl Enqueue + ?Sized), span: Duration) -> Port<Instant> {
    let port = Port::new();
    enqueue_timer(queue, span, &port);
    port
}

/// Posts a time. Its poster cannot take it back, so it stays in the port when it is refused.
fn deliver(port: &Port<Instant>, due: Instant) {
    port.core().post_or_keep(due);
}
