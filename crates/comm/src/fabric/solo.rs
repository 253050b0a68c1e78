//! The fabric of one rank: messages to itself, on the calling thread.

use super::Fabric;
use crate::CommError;
use crate::envelope::{Arrived, Envelope, Wanted};
use crate::rank_slot::{RankSlot, wait_until};
use crate::report::Wait;
use std::cell::RefCell;
use std::rc::Rc;

/// One rank alone, run by [`run_solo`](crate::run::run_solo).
pub(crate) struct Solo(Rc<Shared>);

struct Shared {
    slot: RankSlot,
    arrived: RefCell<Arrived>,
}

impl Solo {
    pub(crate) fn new() -> Self {
        Solo(Rc::new(Shared {
            slot: RankSlot::new(),
            arrived: RefCell::default(),
        }))
    }

    /// Another handle on the same rank.
    pub(crate) fn share(&self) -> Self {
        Solo(Rc::clone(&self.0))
    }
}

impl Fabric for Solo {
    fn rank(&self) -> usize {
        0
    }

    fn size(&self) -> usize {
        1
    }

    fn slot(&self) -> &RankSlot {
        &self.0.slot
    }

    fn shares_thread_with(&self, _: usize) -> bool {
        true
    }

    fn wake_if_sleeping(&self, _: usize) {
        self.0.slot.wake_if_sleeping();
    }

    fn send(&self, _: usize, envelope: Envelope) {
        self.0.arrived.borrow_mut().push(envelope);
        self.0.slot.wake_if_sleeping();
    }

    async fn recv(&self, wanted: &Wanted, wait: Wait) -> Envelope {
        let mut found = None;
        let look = || {
            found = self.0.arrived.borrow_mut().take(wanted);
            found.is_some()
        };
        wait_until(&self.0.slot, look, || wait).await;
        found.expect("the wait ends when a message was found")
    }

    fn put_back(&self, envelope: Envelope) {
        self.0.arrived.borrow_mut().put_back(envelope);
    }

    async fn meet_all<T: Clone + Send + Sync + 'static>(
        &self,
        _: Wait,
        value: T,
        _: impl Fn(T, T) -> T,
    ) -> Result<T, CommError> {
        Ok(value)
    }

    async fn meet_at<T: Send + 'static>(
        &self,
        _: usize,
        _: Wait,
        value: T,
        _: impl Fn(T, T) -> T,
    ) -> Result<Option<T>, CommError> {
        Ok(Some(value))
    }
}
