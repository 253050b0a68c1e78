//! Something that a rank waits for: the one way in which calls of this crate wait.

use crate::rank_slot::{RankSlot, RankWait};
use crate::report::Why;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Something that has begun, or begins at the first look, and will end.
pub(crate) trait Pending {
    /// What it ends with.
    type Output;

    /// Begins what has not begun; its outcome when it has ended. Not to be called again after that.
    fn look(&mut self) -> Option<Self::Output>;

    /// Called before the rank sleeps for it, ahead of the last look; says what the rank waits for.
    fn why(&self) -> Whys;

    /// Gives it up; `false` when it cannot be given up, or has ended.
    fn cancel(&mut self) -> bool {
        false
    }
}

impl<P: Pending + ?Sized> Pending for Box<P> {
    type Output = P::Output;

    fn look(&mut self) -> Option<P::Output> {
        (**self).look()
    }

    fn why(&self) -> Whys {
        (**self).why()
    }

    fn cancel(&mut self) -> bool {
        (**self).cancel()
    }
}

/// What a rank waits for: one thing, or one of several.
pub(crate) type Whys = Vec<Why>;

/// Something that has ended: its outcome.
pub(crate) struct Ended<T>(pub(crate) Option<T>);

impl<T> Pending for Ended<T> {
    type Output = T;

    fn look(&mut self) -> Option<T> {
        self.0.take()
    }

    fn why(&self) -> Whys {
        Vec::new()
    }
}

/// The future that waits for it.
pub(crate) struct Waiting<'c, P> {
    slot: &'c RankSlot,
    pending: P,
    wait: RankWait,
}

impl<'c, P: Pending> Waiting<'c, P> {
    #[inline]
    pub(crate) fn new(slot: &'c RankSlot, pending: P) -> Self {
        Waiting {
            slot,
            pending,
            wait: RankWait::default(),
        }
    }
}

// Nothing in it is pinned.
impl<P> Unpin for Waiting<'_, P> {}

impl<P: Pending> Future for Waiting<'_, P> {
    type Output = P::Output;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<P::Output> {
        let Waiting {
            slot,
            pending,
            wait,
        } = self.get_mut();
        let mut outcome = pending.look();
        if outcome.is_none() {
            let pending = std::cell::RefCell::new(pending);
            let ready = || {
                if outcome.is_none() {
                    outcome = pending.borrow_mut().look();
                }
                outcome.is_some()
            };
            if wait
                .poll(slot, cx, ready, || pending.borrow().why())
                .is_pending()
            {
                return Poll::Pending;
            }
        }
        wait.end(slot);
        outcome.map_or(Poll::Pending, Poll::Ready)
    }
}

impl<P> Drop for Waiting<'_, P> {
    /// Takes the wait off the slot's list also when the future is dropped.
    #[inline]
    fn drop(&mut self) {
        self.wait.give_up(self.slot);
    }
}
