//! The fabric of one rank: messages to itself, on the calling thread.

use super::mailbox::Mailbox;
use super::{Fabric, Mail, Team};
use crate::CommError;
use crate::envelope::Envelope;
use crate::rank_slot::RankSlot;
use std::cell::Cell;
use std::rc::Rc;

/// One rank alone, run by [`run_solo`](crate::run::run_solo).
#[derive(Clone)]
pub(crate) struct Solo(Rc<Shared>);

struct Shared {
    slot: RankSlot,
    mailbox: Mailbox,
    communicators: Cell<u32>,
}

impl Solo {
    pub(crate) fn new() -> Self {
        Solo(Rc::new(Shared {
            slot: RankSlot::new(),
            mailbox: Mailbox::new(),
            communicators: Cell::new(1),
        }))
    }

    /// The world of this rank.
    pub(crate) fn team() -> Team {
        Team::world(1, super::MeetingPointKind::Tree)
    }
}

impl Fabric for Solo {
    type Mail = Mailbox;

    fn world_rank(&self) -> usize {
        0
    }

    fn slot(&self) -> &RankSlot {
        &self.0.slot
    }

    fn share_thread(&self, _: usize, _: usize) -> bool {
        true
    }

    fn slot_of(&self, _: usize) -> &RankSlot {
        &self.0.slot
    }

    fn mail(&self) -> &Mailbox {
        &self.0.mailbox
    }

    #[inline]
    fn send(&self, _: usize, message: impl FnOnce() -> Envelope) -> Result<(), CommError> {
        self.signing(|mail, signed| mail.push(message, signed));
        self.0.slot.wake_if_sleeping();
        Ok(())
    }

    fn new_communicators(&self, count: u32) -> u32 {
        let first = self.0.communicators.get();
        let next = first.checked_add(count);
        let next = next.expect("a run has no number for more than 2^32 communicators");
        self.0.communicators.replace(next)
    }
}
