//! The fabric of one rank: messages to itself, on the calling thread.

use super::{Fabric, Posted, Team, Ticket};
use crate::CommError;
use crate::envelope::{Envelope, Wanted};
use crate::mailbox::Mailbox;
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
        Team::world(1, super::PlaceKind::Tree)
    }

    pub(crate) fn mailbox(&self) -> &Mailbox {
        &self.0.mailbox
    }
}

impl Fabric for Solo {
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

    fn send(&self, _: usize, envelope: Envelope) -> Result<(), CommError> {
        self.sign_all(self.0.mailbox.push(envelope));
        self.0.slot.wake_if_sleeping();
        Ok(())
    }

    fn arrivals(&self) -> u32 {
        self.0.mailbox.arrivals()
    }

    fn post(&self, wanted: &Wanted) -> Posted {
        self.0.mailbox.post(wanted).map_err(Ticket::Mail)
    }

    fn request(&self, wanted: &Wanted) -> Ticket {
        let (ticket, signed) = self.0.mailbox.request(wanted);
        self.sign_all(signed);
        Ticket::Mail(ticket)
    }

    fn collect(&self, ticket: &mut Ticket) -> Option<Envelope> {
        match ticket {
            Ticket::Mail(ticket) => self.0.mailbox.collect(ticket),
            Ticket::Port(_) => None,
        }
    }

    fn withdraw(&self, ticket: Ticket) -> bool {
        let Ticket::Mail(ticket) = ticket else {
            return true;
        };
        let Some(signed) = self.0.mailbox.withdraw(&ticket) else {
            return true;
        };
        self.sign_all(signed);
        self.slot().wake_if_sleeping();
        false
    }

    fn put_back(&self, envelope: Envelope) {
        self.sign_all(self.0.mailbox.put_back(envelope));
        self.slot().wake_if_sleeping();
    }

    fn peek<R>(&self, wanted: &Wanted, look: impl FnOnce(&Envelope) -> R) -> Option<R> {
        self.0.mailbox.peek(wanted, look)
    }

    fn new_communicators(&self, count: u32) -> u32 {
        self.0
            .communicators
            .replace(self.0.communicators.get() + count)
    }
}
