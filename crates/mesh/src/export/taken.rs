//! What takers have taken: who asks again hears that it has it.

use super::Ticket;
use crate::PeerName;
use std::collections::{BTreeMap, VecDeque};

/// Of how many of its last reservations it is remembered that a taker has taken them: no other
/// taker pushes them out. One asks again after its link was broken, for each of its steps that it
/// was about to end.
const REMEMBERED: usize = 1024;

/// Of how many takers: those that have taken something last.
const TAKERS: usize = 1 << 14;

/// How many of all takers together.
const TICKETS: usize = 1 << 18;

/// Reservations that are taken of one exported port. That is 16 bytes each: at most 16 KiB of a
/// taker, and 4 MiB of all.
#[derive(Default)]
pub(super) struct TakenTickets {
    takers: BTreeMap<PeerName, TakenBy>,
    /// Takers by what they took last: first the one that has taken nothing for longest.
    idle: BTreeMap<u64, PeerName>,
    /// How many reservations are remembered.
    all: usize,
    /// How many have been taken.
    count: u64,
}

/// Reservations of one taker.
#[derive(Default)]
struct TakenBy {
    /// Oldest first.
    tickets: VecDeque<Ticket>,
    /// How many of all had been taken when it took the last one, with that.
    last: u64,
}

impl TakenTickets {
    pub(super) fn contains(&self, (taker, ticket): &(PeerName, Ticket)) -> bool {
        let taken = self.takers.get(taker);
        taken.is_some_and(|taken| taken.tickets.contains(ticket))
    }

    pub(super) fn insert(&mut self, (taker, ticket): (PeerName, Ticket)) {
        self.count += 1;
        let by = self.takers.entry(taker.clone()).or_default();
        self.idle.remove(&by.last);
        by.last = self.count;
        self.idle.insert(self.count, taker);
        if by.tickets.len() == REMEMBERED {
            by.tickets.pop_front();
        } else {
            self.all += 1;
        }
        by.tickets.push_back(ticket);
        while (self.all > TICKETS || self.takers.len() > TAKERS)
            && let Some((_, idle)) = self.idle.pop_first()
        {
            let forgotten = self.takers.remove(&idle);
            self.all -= forgotten.map_or(0, |forgotten| forgotten.tickets.len());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(taker: usize, number: u64) -> (PeerName, Ticket) {
        (PeerName::new(taker.to_string()), (1, number))
    }

    #[test]
    fn sem_g221_a_busy_taker_pushes_out_nothing_of_another_and_has_its_last_ones() {
        let mut taken = TakenTickets::default();
        taken.insert(of(0, 0));
        for number in 0..10_000 {
            taken.insert(of(1, number));
        }
        assert!(taken.contains(&of(0, 0)));
        let kept = (0..10_000).filter(|number| taken.contains(&of(1, *number)));
        assert!(kept.eq(10_000 - REMEMBERED as u64..10_000));
    }

    #[test]
    fn sem_g221_of_too_many_takers_the_one_that_has_taken_nothing_for_longest_is_forgotten() {
        let mut taken = TakenTickets::default();
        (0..TAKERS).for_each(|taker| taken.insert(of(taker, 7)));
        taken.insert(of(0, 8));
        taken.insert(of(TAKERS, 7));
        let known = (0..=TAKERS).filter(|taker| taken.contains(&of(*taker, 7)));
        assert!(known.eq((0..=TAKERS).filter(|taker| *taker != 1)));
        assert_eq!(taken.takers.len(), TAKERS);
    }

    #[test]
    fn sem_g221_what_a_taker_has_taken_is_remembered_while_many_others_take_something() {
        let mut taken = TakenTickets::default();
        (0..10_000).for_each(|taker| taken.insert(of(taker, 7)));
        assert!((0..10_000).all(|taker| taken.contains(&of(taker, 7))));
    }

    #[test]
    fn what_is_remembered_of_all_takers_has_a_limit() {
        let busy = TICKETS / REMEMBERED;
        let mut taken = TakenTickets::default();
        for taker in 0..=busy {
            (0..REMEMBERED as u64).for_each(|number| taken.insert(of(taker, number)));
        }
        let last = REMEMBERED as u64 - 1;
        let known = (0..=busy).filter(|taker| taken.contains(&of(*taker, last)));
        assert!(known.eq(1..=busy));
        assert_eq!((taken.all, taken.idle.len()), (TICKETS, busy));
    }
}
