//! Seats of one type: any number of them, or one alone.

use super::join_core::{AnySeat, Seats};
use super::join_gate::Stop;
use super::join_seat::{Attempt, Held, Rule, Seat};
use motet_sync::atomic::{AtomicUsize, Ordering};

/// One seat.
pub(super) struct Solo<R: Rule>(pub(super) Seat<R>);

/// Any number of seats.
pub(super) struct Row<R: Rule> {
    seats: Vec<Seat<R>>,
    /// The seat at which something was missing the last time. It is asked first: so the items of a
    /// long row cost one look each, not one look at each port.
    lacking: AtomicUsize,
}

impl<R: Rule> Seats for Solo<R> {
    type Items = R::Given;
    type Taken = R::Taken;

    fn count(&self) -> usize {
        1
    }

    fn seat(&self, _at: usize) -> &dyn AnySeat<Self> {
        &self.0
    }

    #[inline]
    fn attempt(&self, attempt: &mut Attempt<'_>) -> Result<R::Taken, Stop> {
        // Its one port is the caller's.
        let mut planned = self.0.plan(&None, attempt)?;
        attempt.decide()?;
        Ok(self.0.take(&mut planned, attempt))
    }

    #[inline]
    fn give(taken: R::Taken) -> R::Given {
        R::give(taken)
    }

    fn put_back(&self, taken: R::Taken) {
        self.0.put_back(taken);
    }
}

impl<R: Rule> Row<R> {
    pub(super) fn new(seats: Vec<Seat<R>>) -> Self {
        Row {
            seats,
            lacking: AtomicUsize::new(0),
        }
    }

    /// The first seat at which something is missing, if there is one: from the one that lacked it the
    /// last time on. Other threads may take waiting items meanwhile.
    fn look(&self, attempt: &mut Attempt<'_>) -> Result<(), Stop> {
        // Relaxed: the domain's lock orders attempts, and another start would be right too.
        let first = self.lacking.load(Ordering::Relaxed);
        let (before, after) = self.seats.split_at(first);
        let (left, right) = (before.iter().enumerate(), after.iter().enumerate());
        let round = right.map(|(at, seat)| (at + first, seat)).chain(left);
        for (at, seat) in round {
            let looked = seat.look(at, attempt);
            if looked.is_err() {
                self.lacking.store(at, Ordering::Relaxed);
                return looked;
            }
        }
        Ok(())
    }

    /// Takes from all ports, all locked.
    fn take(
        &self,
        held: &[Held<R::Item>],
        attempt: &mut Attempt<'_>,
    ) -> Result<Vec<R::Taken>, Stop> {
        let seats = self.seats.iter().zip(held);
        let planned = seats.map(|(seat, held)| seat.plan(held, attempt));
        let mut planned: Vec<_> = planned.collect::<Result<_, _>>()?;
        attempt.decide()?;
        let seats = self.seats.iter().zip(&mut planned);
        Ok(seats
            .map(|(seat, planned)| seat.take(planned, attempt))
            .collect())
    }
}

impl<R: Rule> Seats for Row<R> {
    type Items = Vec<R::Given>;
    type Taken = Vec<R::Taken>;

    fn count(&self) -> usize {
        self.seats.len()
    }

    fn seat(&self, at: usize) -> &dyn AnySeat<Self> {
        &self.seats[at]
    }

    fn attempt(&self, attempt: &mut Attempt<'_>) -> Result<Self::Taken, Stop> {
        self.look(attempt)?;
        let mut held = Vec::with_capacity(self.seats.len());
        let mut all = Ok(());
        for (at, seat) in self.seats.iter().enumerate() {
            match seat.hold(at, attempt) {
                Ok(port) => held.push(port),
                Err(stop) => all = Err(stop),
            }
        }
        let taken = all.and_then(|()| self.take(&held, attempt));
        held.into_iter().for_each(|held| attempt.let_go(held));
        taken
    }

    fn give(taken: Vec<R::Taken>) -> Vec<R::Given> {
        taken.into_iter().map(R::give).collect()
    }

    fn put_back(&self, taken: Vec<R::Taken>) {
        let seats = self.seats.iter().zip(taken);
        seats.for_each(|(seat, taken)| seat.put_back(taken));
    }
}
