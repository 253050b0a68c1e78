//! A limit on how long a wait may take.

use super::sleep::{Sleep, sleep};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

/// Futures whose wait can be limited: all that may be moved. (Others are pinned first:
/// `pin!(future).within(span)`.)
pub trait Deadline: Future + Unpin + Sized {
    /// Waits at most `span`, counted from the first poll, by the clock of the queue on which it is
    /// polled. What is there when both have come is taken.
    ///
    /// # Errors
    /// Awaiting it gives [`Elapsed`] when the time is over; the wait is then dropped at the latest
    /// with this future. A wait at a port loses nothing by it: an item that was meant for it goes
    /// back.
    ///
    /// # Panics
    /// Its first poll, when the operating system refuses the real clock its thread.
    ///
    /// # Cancellation
    /// As that of the wait itself; the timer is cancelled.
    ///
    /// ```
    /// use motet_dispatch::{Enqueue, QueueConfig, Replay, spawn};
    /// use motet_ports::Port;
    /// use motet_ports::timer::{Deadline, Elapsed};
    /// use std::time::Duration;
    ///
    /// let replay = Replay::new(1);
    /// let queue = replay.queue(QueueConfig::named("patience"));
    /// let (answers, results) = (Port::<u32>::new(), Port::new());
    /// let (answer, result) = (answers.clone(), results.clone());
    /// spawn(&queue.handle(), async move {
    ///     result.post(answer.recv().within(Duration::from_secs(5)).await).unwrap();
    /// }).unwrap();
    /// replay.run();
    /// assert_eq!(results.test(), Some(Err(Elapsed)));
    /// answers.post(42).unwrap();
    /// assert_eq!(answers.test(), Some(42), "it came too late and stays");
    /// ```
    fn within(self, span: Duration) -> Within<Self> {
        Within {
            wait: self,
            sleep: sleep(span),
        }
    }
}

impl<F: Future + Unpin> Deadline for F {}

/// The future of [`Deadline::within`].
#[must_use = "a wait that is not awaited does not wait"]
pub struct Within<F> {
    wait: F,
    sleep: Sleep,
}

/// The time of a wait was over before what it waited for came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Elapsed;

impl<F: Future + Unpin> Future for Within<F> {
    type Output = Result<F::Output, Elapsed>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if let Poll::Ready(result) = Pin::new(&mut self.wait).poll(cx) {
            return Poll::Ready(Ok(result));
        }
        Pin::new(&mut self.sleep).poll(cx).map(|()| Err(Elapsed))
    }
}

impl<F> fmt::Debug for Within<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Within")
            .field("sleep", &self.sleep)
            .finish_non_exhaustive()
    }
}

impl fmt::Display for Elapsed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "the wait was given up: its time is over; allow it more, or see who should have posted",
        )
    }
}

impl std::error::Error for Elapsed {}
