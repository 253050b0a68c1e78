//! Waiting for a time without holding a thread.

use motet_dispatch::{Clock, Timer};
use motet_sync::Mutex;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// The future of [`sleep`].
#[must_use = "a sleep that is not awaited does not wait"]
pub struct Sleep {
    span: Duration,
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

/// Goes on after `span`, counted from the first poll, by the clock of the queue on which it is polled
/// (the real one outside of queues).
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
pub fn sleep(span: Duration) -> Sleep {
    Sleep { span, alarm: None }
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
        match &mut ring.waker {
            Some(waker) => waker.clone_from(cx.waker()),
            none => *none = Some(cx.waker().clone()),
        }
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

impl fmt::Debug for Sleep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sleep")
            .field("span", &self.span)
            .finish_non_exhaustive()
    }
}
