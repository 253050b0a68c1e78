//! Waiting for a time without holding a thread.

use motet_dispatch::{Awaited, Clock, Timer, WaitPart, Waiter, watch_here};
use motet_sync::{Mutex, renew_waker};
use std::fmt;
use std::future::Future;
use std::panic::Location;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// The future of [`sleep`].
#[must_use = "a sleep that is not awaited does not wait"]
pub struct Sleep {
    span: Duration,
    created: &'static Location<'static>,
    /// There from the first poll on.
    alarm: Option<Alarm>,
}

struct Alarm {
    timer: Timer,
    bell: Arc<Bell>,
}

/// What the timer and the future share.
#[derive(Default)]
struct Bell(Mutex<Ring>);

#[derive(Default)]
struct Ring {
    rung: bool,
    waker: Option<Waker>,
}

/// Goes on after `span`, counted from the first poll. The clock is that of the queue on which it is
/// polled (the real one outside of queues).
///
/// # Panics
/// At its first poll, when the operating system refuses the real clock its thread.
///
/// # Cancellation
/// Dropping the future cancels its timer.
///
/// ```
/// use motet_dispatch::{Enqueue, QueueConfig, Replay, spawn};
/// use motet_ports::timer;
/// use std::time::Duration;
///
/// let replay = Replay::new(1);
/// let queue = replay.queue(QueueConfig::named("night"));
/// spawn(&queue.handle(), async {
///     timer::sleep(Duration::from_secs(8 * 3600)).await;
/// }).unwrap();
/// replay.run();
/// assert_eq!(replay.elapsed(), Duration::from_secs(8 * 3600));
/// ```
#[track_caller]
pub fn sleep(span: Duration) -> Sleep {
    Sleep {
        span,
        created: Location::caller(),
        alarm: None,
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let span = self.span;
        let alarm = self.alarm.get_or_insert_with(|| Alarm::set(span));
        let mut ring = alarm.bell.0.lock();
        if ring.rung {
            return Poll::Ready(());
        }
        if let Some(waker) = &mut ring.waker {
            let before = renew_waker(waker, cx.waker());
            drop(ring);
            drop(before);
            return Poll::Pending;
        }
        ring.waker = Some(cx.waker().clone());
        drop(ring);
        let waiter = Arc::downgrade(&alarm.bell) as Weak<dyn Waiter>;
        watch_here(waiter, self.created);
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if let Some(alarm) = &self.alarm {
            alarm.timer.cancel();
        }
    }
}

impl Alarm {
    fn set(span: Duration) -> Self {
        let bell = Arc::new(Bell::default());
        let ringer = Arc::clone(&bell);
        let timer = Clock::current().after(span, move |_| ringer.ring());
        Alarm { timer, bell }
    }
}

impl Bell {
    fn ring(&self) {
        let waker = {
            let mut ring = self.0.lock();
            ring.rung = true;
            ring.waker.take()
        };
        // Outside the lock: on an inline queue this polls.
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl Waiter for Bell {
    fn awaits(&self) -> Option<Awaited> {
        let waits = !self.0.lock().rung;
        waits.then(|| Awaited {
            who: "sleep",
            queue: None,
            parts: vec![WaitPart {
                port: "the time of its timer".to_owned(),
                there: 0,
                needed: 1,
            }],
        })
    }

    fn dispatcher_ended(&self) {
        let waker = self.0.lock().waker.clone();
        // Outside the lock: the task may be dropped at once, and this wait with it.
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl fmt::Debug for Sleep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sleep")
            .field("span", &self.span)
            .finish_non_exhaustive()
    }
}
