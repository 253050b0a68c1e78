//! Waiting until one of several causalities is cancelled.

use super::{Cancelled, Causalities, DeadlineAlarm};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// The future of [`Causality::cancelled`](super::Causality::cancelled) and
/// [`Causalities::cancelled`]: ends when one of them is cancelled.
pub struct UntilCancelled {
    causalities: Causalities,
    /// By causality: where its waker is.
    keys: Vec<Option<u64>>,
    /// Of those with a deadline; there from the first poll.
    alarms: Option<Vec<DeadlineAlarm>>,
}

impl UntilCancelled {
    pub(super) fn new(causalities: Causalities) -> Self {
        let keys = causalities.iter().map(|_| None).collect();
        UntilCancelled {
            causalities,
            keys,
            alarms: None,
        }
    }

    /// Sees to it that whoever waits is woken when a deadline passes.
    fn set_alarms(causalities: &Causalities) -> Vec<DeadlineAlarm> {
        let alarms = causalities.iter().filter_map(|causality| {
            let expires = causality.clone();
            let ring = Box::new(move || expires.0.fate.expire());
            causality.0.fate.alarm(ring)
        });
        alarms.collect()
    }
}

impl Future for UntilCancelled {
    type Output = Cancelled;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Cancelled> {
        let UntilCancelled {
            causalities,
            keys,
            alarms,
        } = &mut *self;
        // Wakers first, then the look: whoever cancels after the look finds the waker.
        for (causality, key) in causalities.iter().zip(keys) {
            causality.0.fate.wait(key, cx.waker());
        }
        if let Err(cancelled) = causalities.check() {
            return Poll::Ready(cancelled);
        }
        alarms.get_or_insert_with(|| Self::set_alarms(causalities));
        Poll::Pending
    }
}

impl Drop for UntilCancelled {
    fn drop(&mut self) {
        for (causality, key) in self.causalities.iter().zip(&self.keys) {
            key.iter().for_each(|&key| causality.0.fate.give_up(key));
        }
    }
}

impl fmt::Debug for UntilCancelled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UntilCancelled")
            .field("causalities", &self.causalities)
            .finish_non_exhaustive()
    }
}
