//! Closing a port: posts are refused, what is left is taken, and who waits for more learns that
//! none comes.
//!
//! A gate stands before the receivers of a closed port: it refuses what is posted. So an open port
//! pays nothing for it. A receiver is taken off when too few items are left for it. Who takes items
//! looks for such receivers as it lets posters in (`bound.rs`).

use super::bound::Bound;
use super::state::PortState;
use super::{Port, PortCore};
use crate::PostRefusal;
use crate::deferred::Deferred;
use crate::receiver::{Offer, Receiver, Verdict};
use motet_dispatch::QueueError;
use motet_sync::atomic::Ordering;
use std::borrow::Cow;
use std::sync::Arc;

/// The first receiver of a closed port.
struct ClosedReceiver;

impl<T: Send + 'static> Receiver<T> for ClosedReceiver {
    fn offer(&self, _: &mut Offer<'_, T>) -> Verdict {
        Verdict::Refuse(QueueError::Stopped)
    }

    fn needs(&self) -> usize {
        0
    }

    fn describe(&self) -> Cow<'static, str> {
        Cow::Borrowed("gate of a closed port")
    }
}

/// # The end
impl<T: Send + 'static> Port<T> {
    /// Closes the port: no more items come. Closing it again does nothing.
    ///
    /// | who | what happens |
    /// |---|---|
    /// | posts, [`Port::put_back`] | hand the item back, for [`PostRefusal::Closed`] |
    /// | posters that wait for room here | the same |
    /// | items that wait | stay until somebody takes them |
    /// | receivers | stay while as many items are left as they need, then leave the port |
    /// | [`recv`](Port::recv), [`ready`](Port::ready), `select`, `join` | get what is left, then the [end](crate::Closed) |
    /// | [`stream`](Port::stream) | ends after the last item |
    /// | receives of up to n items | take what is left at once |
    ///
    /// An item that a task gives back (its dispatcher has ended, or it was cancelled) returns to
    /// the port, closed or not. [`Receive::closes`](crate::Receive::closes) closes the next port of
    /// a pipeline.
    ///
    /// ```
    /// use motet_ports::{Closed, Port, PostRefusal, wait_blocking};
    ///
    /// let port = Port::new();
    /// port.post(1).unwrap();
    /// port.close();
    /// let refused = port.post(2).unwrap_err();
    /// assert_eq!((refused.item, refused.reason), (2, PostRefusal::Closed));
    /// assert_eq!(wait_blocking(port.recv().or_closed()).unwrap(), Ok(1), "what is left");
    /// assert_eq!(wait_blocking(port.recv().or_closed()).unwrap(), Err(Closed));
    /// ```
    pub fn close(&self) {
        let core = self.core();
        let mut deferred = Deferred::default();
        core.locked(|state| {
            // Relaxed: who must not miss it has, or takes, the lock.
            core.closed.store(true, Ordering::Relaxed);
            state.close(&mut deferred);
        });
        deferred.carry_out();
    }

    /// Whether the port is closed. Items may be left in it.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.core().is_closed()
    }
}

impl<T: Send + 'static> PortCore<T> {
    #[inline]
    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }

    /// A receiver has come without a look at what is left: it goes if that is too little.
    #[inline]
    pub(crate) fn end_if_closed(&self) {
        if self.is_closed() {
            self.let_in_posters();
        }
    }
}

impl<T: Send + 'static> PortState<T> {
    #[inline]
    pub(super) fn is_closed(&self) -> bool {
        self.bound.as_ref().is_some_and(|bound| bound.closed)
    }

    fn close(&mut self, deferred: &mut Deferred) {
        if self.is_closed() {
            return;
        }
        self.unpile();
        let bound = self.bound.get_or_insert_with(Bound::unlimited);
        bound.closed = true;
        let posters = std::mem::take(bound.posters_mut());
        posters.iter().for_each(|poster| poster.wake(deferred));
        self.receivers.push_front(Arc::new(ClosedReceiver));
        self.receivers_changed();
        self.end_receivers(deferred);
    }

    /// Takes those receivers of a closed port off for which too little is left.
    pub(super) fn end_receivers(&mut self, deferred: &mut Deferred) {
        if !self.is_closed() {
            return;
        }
        let (left, mut at) = (self.item_count(), 0);
        while let Some(receiver) = self.receivers.get(at) {
            if receiver.needs() <= left {
                at += 1;
            } else if let Some(receiver) = self.receivers.remove(at) {
                (self.by_type.tell_ended)(receiver, deferred);
            }
        }
    }

    /// Why a receiver's refusal of a post is one of the port.
    #[cold]
    pub(super) fn refusal_of(&self, reason: QueueError) -> PostRefusal {
        if self.is_closed() {
            PostRefusal::Closed
        } else {
            PostRefusal::Queue(reason)
        }
    }
}
