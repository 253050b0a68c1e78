//! Someone in the line.

use super::{ClaimedRoom, Line, RoomLine};
use crate::QueueError;
use crate::waiting::{Awaited, WaitPart, Waiter, watch_here};
use motet_sync::{Mutex, renew_waker};
use std::fmt;
use std::future::Future;
use std::panic::Location;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Waker};

/// The future of [`RoomLine::wait`].
#[must_use = "a wait that is not awaited does not wait"]
pub struct RoomWait {
    line: RoomLine,
    /// There once it has joined the line.
    waiter: Option<Arc<InLine>>,
    /// As whom the waiting list shows it, if it does, and where the wait was written.
    listed: Option<(&'static str, &'static Location<'static>)>,
}

/// What the line knows of someone who waits.
pub(super) struct InLine {
    line: Weak<Line>,
    who: &'static str,
    slot: Mutex<WaitState>,
}

#[derive(Default)]
struct WaitState {
    outcome: Option<Result<(), QueueError>>,
    waker: Option<Waker>,
}

impl RoomWait {
    pub(super) fn new(
        line: &RoomLine,
        listed: Option<(&'static str, &'static Location<'static>)>,
    ) -> Self {
        RoomWait {
            line: line.clone(),
            waiter: None,
            listed,
        }
    }

    /// Says how the waiting list shows the wait: by the name of the function that waits, and the
    /// place where it was called. `None` keeps it out of the list. To be called before the wait
    /// begins.
    pub fn listed(self, listed: Option<(&'static str, &'static Location<'static>)>) -> Self {
        RoomWait::new(&self.line, listed)
    }

    /// Joins the line.
    fn begin(&mut self, cx: &Context<'_>) -> Poll<Result<ClaimedRoom, QueueError>> {
        let waiter = Arc::new(InLine {
            line: Arc::downgrade(&self.line.0),
            who: self.listed.map_or("room", |(who, _)| who),
            slot: Mutex::default(),
        });
        Line::join(&self.line.0, &waiter);
        self.waiter = Some(Arc::clone(&waiter));
        let outcome = waiter.outcome(&self.line, cx);
        if outcome.is_pending() {
            if let Some(throttled) = &self.line.0.throttled {
                throttled.throttle();
            }
            if let Some((_, created)) = self.listed {
                watch_here(Arc::downgrade(&waiter) as Weak<dyn Waiter>, created);
            }
        }
        outcome
    }
}

impl Future for RoomWait {
    type Output = Result<ClaimedRoom, QueueError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let outcome = match &self.waiter {
            Some(waiter) => waiter.outcome(&self.line, cx),
            None => self.begin(cx),
        };
        if outcome.is_ready() {
            // The room is in the outcome now.
            self.waiter = None;
        }
        outcome
    }
}

impl Drop for RoomWait {
    fn drop(&mut self) {
        if let Some(waiter) = self.waiter.take()
            && !self.line.0.remove(&waiter)
            && waiter.slot.lock().outcome == Some(Ok(()))
        {
            self.line.give_up();
        }
    }
}

impl InLine {
    /// Says how the wait has ended; returns who is to be woken.
    pub(super) fn settle(&self, outcome: Result<(), QueueError>) -> Option<Waker> {
        let mut slot = self.slot.lock();
        slot.outcome = Some(outcome);
        slot.waker.take()
    }

    fn outcome(&self, line: &RoomLine, cx: &Context<'_>) -> Poll<Result<ClaimedRoom, QueueError>> {
        let mut slot = self.slot.lock();
        match slot.outcome {
            Some(Ok(())) => Poll::Ready(Ok(ClaimedRoom {
                line: Some(line.clone()),
            })),
            Some(Err(error)) => Poll::Ready(Err(error)),
            None => {
                let before = match &mut slot.waker {
                    Some(waker) => renew_waker(waker, cx.waker()),
                    none => none.replace(cx.waker().clone()),
                };
                drop(slot);
                drop(before);
                Poll::Pending
            }
        }
    }
}

impl Waiter for InLine {
    fn awaits(&self) -> Option<Awaited> {
        let line = self.line.upgrade()?;
        let waits = self.slot.lock().outcome.is_none();
        waits.then(|| Awaited {
            who: self.who,
            queue: None,
            parts: vec![WaitPart {
                port: format!("room in queue '{}'", line.routes.queue()),
                there: 0,
                needed: 1,
            }],
        })
    }

    fn dispatcher_ended(&self) {
        let waker = self.slot.lock().waker.clone();
        // Outside the lock: the task may be dropped at once, and this wait with it.
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl fmt::Debug for RoomWait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RoomWait")
            .field("line", &self.line)
            .field("waits", &self.waiter.is_some())
            .finish_non_exhaustive()
    }
}
