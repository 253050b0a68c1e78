//! How a thread waits for something that should come within microseconds.
//!
//! First the processor is told to take it easy (`pause`), for about a microsecond; after that every
//! round offers the core to whoever else wants it (`sched_yield`), so that a spinning thread never
//! keeps another thread or process from its work; after [`Backoff::BUDGET`] the caller should sleep.
//! The budget is about what waking a sleeper costs (20 to 40 µs on a virtual machine): a wait is
//! then never more than twice as dear as the better of spinning and sleeping.

use crate::{spin_loop, thread};
use std::time::{Duration, Instant};

/// Counts the rounds of one wait.
#[derive(Debug, Default)]
pub struct Backoff {
    round: u32,
    since: Option<Instant>,
}

impl Backoff {
    /// How long a wait spins before the caller should sleep.
    pub const BUDGET: Duration = Duration::from_micros(if cfg!(motet_loom) { 0 } else { 60 });

    /// Rounds that only pause: together about one microsecond.
    const PAUSE_ROUNDS: u32 = 32;

    /// A wait that begins now.
    #[must_use]
    pub fn new() -> Self {
        Backoff::default()
    }

    /// Waits one round. `false` when the budget is spent and the caller should sleep.
    #[inline]
    pub fn snooze(&mut self) -> bool {
        self.round += 1;
        if self.round <= Self::PAUSE_ROUNDS {
            spin_loop();
            return true;
        }
        self.give_way()
    }

    /// Offers the core to whoever wants it. `false` when the budget is spent.
    #[cold]
    pub fn give_way(&mut self) -> bool {
        thread::yield_now();
        self.within_budget()
    }

    /// Whether the wait may go on; the clock starts at the first call.
    pub fn within_budget(&mut self) -> bool {
        self.since.get_or_insert_with(Instant::now).elapsed() < Self::BUDGET
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_when_the_budget_is_spent() {
        let started = Instant::now();
        let mut backoff = Backoff::new();
        while backoff.snooze() {}
        assert!(started.elapsed() >= Backoff::BUDGET);
        assert!(backoff.round > Backoff::PAUSE_ROUNDS);
    }
}
