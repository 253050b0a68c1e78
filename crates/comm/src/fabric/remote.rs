//! The fabric of ranks in several processes: inside a process as [`Threads`](super::Threads), between them over a
//! [`Transport`](crate::Transport).

use super::processes::Processes;
use super::{Closer, Fabric, Farewells, Posted, Ticket};
use crate::CommError;
use crate::envelope::{Envelope, Receipt, Wanted};
use crate::mailbox::Mailbox;
use crate::rank_slot::RankSlot;
use motet_sync::atomic::{Ordering, fence};
use std::rc::Rc;
use std::sync::Arc;

/// One rank among others in this process and others.
#[derive(Clone)]
pub(crate) struct Remote {
    processes: Arc<Processes>,
    /// The place here of the rank.
    place: usize,
    farewells: Rc<Farewells>,
}

impl Remote {
    pub(crate) fn new(processes: Arc<Processes>, place: usize, farewells: Rc<Farewells>) -> Self {
        Remote {
            processes,
            place,
            farewells,
        }
    }

    #[inline]
    fn mailbox(&self) -> &Mailbox {
        self.processes.hall.mailbox(self.place)
    }

    /// Whether a rank lives in this process.
    pub(crate) fn is_here(&self, rank: usize) -> bool {
        self.processes.place_of(rank).is_some()
    }

    /// Carries an envelope to a rank of another process.
    pub(crate) fn send_away(&self, to: usize, envelope: &Envelope) -> Result<(), CommError> {
        let type_name = envelope.type_name();
        let sent = self.processes.send(to, envelope);
        sent.map_err(|reason| CommError::Unportable { type_name, reason })
    }

    /// Takes the oldest message that is wanted, if it is there.
    pub(crate) fn take(&self, wanted: &Wanted) -> Option<Envelope> {
        self.mailbox().take(wanted).or_else(|| {
            self.processes.poll();
            self.mailbox().take(wanted)
        })
    }

    /// Sends an envelope to a rank of another process when it is called.
    pub(crate) fn later(&self, to: usize, envelope: Envelope) -> Closer {
        let processes = Arc::clone(&self.processes);
        Box::new(move || {
            let sent = processes.send(to, &envelope);
            debug_assert!(sent.is_ok(), "what the runtime itself sends can be written");
        })
    }
}

impl Fabric for Remote {
    #[inline]
    fn world_rank(&self) -> usize {
        self.processes.first() + self.place
    }

    #[inline]
    fn slot(&self) -> &RankSlot {
        &self.processes.hall.slots[self.place]
    }

    fn share_thread(&self, one: usize, other: usize) -> bool {
        let hall = &self.processes.hall;
        match [one, other].map(|rank| self.processes.place_of(rank)) {
            [Some(one), Some(other)] => hall.home(one) == hall.home(other),
            _ => false,
        }
    }

    fn slot_of(&self, rank: usize) -> &RankSlot {
        let place = self.processes.place_of(rank);
        &self.processes.hall.slots[place.expect("only ranks of one process see each other's slots")]
    }

    fn wake_if_sleeping(&self, rank: usize) {
        if let Some(place) = self.processes.place_of(rank) {
            self.processes.hall.slots[place].wake_if_sleeping();
        }
    }

    fn send(&self, to: usize, envelope: Envelope) -> Result<(), CommError> {
        let Some(place) = self.processes.place_of(to) else {
            return self.send_away(to, &envelope);
        };
        let hall = &self.processes.hall;
        let signed = hall.mailbox(place).push(envelope);
        if hall.home(place) != hall.home(self.place) {
            fence(Ordering::SeqCst);
        }
        hall.slots[place].wake_if_sleeping();
        self.sign_all(signed);
        Ok(())
    }

    fn sign(&self, receipt: &Receipt) {
        self.processes.sign(receipt);
    }

    fn poll(&self) {
        self.processes.poll();
    }

    fn arrivals(&self) -> u32 {
        self.processes.poll();
        self.mailbox().arrivals()
    }

    fn post(&self, wanted: &Wanted) -> Posted {
        self.mailbox().post(wanted).map_err(Ticket::Mail)
    }

    fn request(&self, wanted: &Wanted) -> Ticket {
        let (ticket, signed) = self.mailbox().request(wanted);
        self.sign_all(signed);
        Ticket::Mail(ticket)
    }

    fn collect(&self, ticket: &mut Ticket) -> Option<Envelope> {
        let Ticket::Mail(ticket) = ticket else {
            return None;
        };
        self.mailbox().collect(ticket).or_else(|| {
            self.processes.poll();
            self.mailbox().collect(ticket)
        })
    }

    fn withdraw(&self, ticket: Ticket) -> bool {
        let Ticket::Mail(ticket) = ticket else {
            return true;
        };
        let Some(signed) = self.mailbox().withdraw(&ticket) else {
            return true;
        };
        self.sign_all(signed);
        self.slot().wake_if_sleeping();
        false
    }

    fn farewell(&self, peer: usize, closer: Closer) {
        // Whose neighbour lives elsewhere has nobody to wake but itself.
        let place = self.processes.place_of(peer).unwrap_or(self.place);
        self.farewells.add(place, closer);
    }

    fn put_back(&self, envelope: Envelope) {
        self.sign_all(self.mailbox().put_back(envelope));
        self.slot().wake_if_sleeping();
    }

    fn peek<R>(&self, wanted: &Wanted, look: impl FnOnce(&Envelope) -> R) -> Option<R> {
        self.processes.poll();
        self.mailbox().peek(wanted, look)
    }

    fn new_communicators(&self, count: u32) -> u32 {
        // Relaxed: the numbers need only differ.
        let numbers = &self.processes.hall.communicators;
        let first = numbers.fetch_add(count, Ordering::Relaxed);
        self.processes.check_numbers(first, count);
        first
    }
}
