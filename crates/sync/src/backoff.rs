//! How a thread waits for something that should come within microseconds.
//!
//! First it only pauses, for [`Backoff::SPIN`]: an answer from another core takes a fraction of that,
//! and giving up the core may cost a time slice of milliseconds. What has not come by then comes from
//! someone who does not run now, so from then on every round offers the core to whoever wants it
//! (`sched_yield`). When the budget is spent the caller should sleep.

use crate::{spin_loop, thread};
use std::ops::RangeInclusive;
use std::time::{Duration, Instant};

/// Measures one wait. It is small: everything that may wait has one.
#[derive(Debug)]
pub struct Backoff {
    since: Option<Instant>,
    /// In ns.
    budget: u32,
    /// What others have had of the core meanwhile, in ns.
    given: u32,
}

impl Backoff {
    /// How long a wait keeps the core to itself.
    pub const SPIN: Duration = Duration::from_micros(5);

    /// So many budgets may others have of the core in [`Backoff::go_on_beside`].
    pub const GIVEN: u32 = 16;

    /// Who has offered the core and is back sooner has found nobody who wants it; who is back later, a busy one.
    const TURN: RangeInclusive<Duration> = Duration::from_micros(2)..=Duration::from_micros(300);

    /// Pauses between two looks at the clock.
    const PAUSES: u32 = 4;

    /// A wait that begins at the first call and should end in sleep after `budget`, four seconds at most.
    #[must_use]
    pub const fn new(budget: Duration) -> Self {
        let nanos = budget.as_nanos();
        let budget = if nanos < u32::MAX as u128 {
            nanos as u32
        } else {
            u32::MAX
        };
        Backoff {
            since: None,
            budget: if cfg!(any(motet_loom, motet_shuttle)) {
                0
            } else {
                budget
            },
            given: 0,
        }
    }

    /// Whether a wait has begun that has not ended.
    #[must_use]
    #[inline]
    pub const fn has_begun(&self) -> bool {
        self.since.is_some()
    }

    /// The next call begins a wait anew.
    #[inline]
    pub const fn restart(&mut self) {
        self.since = None;
    }

    /// Waits one round, a tenth of a microsecond or so. `false` when the budget is spent and the
    /// caller should sleep.
    #[inline]
    pub fn snooze(&mut self) -> bool {
        for _ in 0..Self::PAUSES {
            spin_loop();
        }
        self.go_on()
    }

    /// Between two rounds of the caller's own waiting: offers the core to others if the wait has
    /// lasted. `false` when the budget is spent and the caller should sleep.
    pub fn go_on(&mut self) -> bool {
        let waited = self.since.get_or_insert_with(Instant::now).elapsed();
        if waited > Self::SPIN {
            thread::yield_now();
        }
        waited < self.budget()
    }

    /// As [`Backoff::go_on`], for who waits for somebody that may want this core: the turns that others take on it
    /// while it is offered are not the wait's own time, up to [`Backoff::GIVEN`] budgets of them. A turn is short, as those
    /// of waits that offer the core too; beside a program that keeps it one should sleep.
    pub fn go_on_beside(&mut self) -> bool {
        let now = Instant::now();
        if self.since.is_none() {
            self.given = 0;
        }
        let waited = now.duration_since(*self.since.get_or_insert(now));
        if waited > Self::SPIN {
            thread::yield_now();
            let away = now.elapsed();
            if Self::TURN.contains(&away) && self.given < self.budget.saturating_mul(Self::GIVEN) {
                self.given = self.given.saturating_add(away.subsec_nanos());
            }
        }
        waited.saturating_sub(Duration::from_nanos(self.given.into())) < self.budget()
    }

    /// Whether the wait may go on; offers nothing to anyone.
    pub fn within_budget(&mut self) -> bool {
        self.since.get_or_insert_with(Instant::now).elapsed() < self.budget()
    }

    const fn budget(&self) -> Duration {
        Duration::from_nanos(self.budget as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_when_the_budget_is_spent() {
        const BUDGET: Duration = Duration::from_micros(200);
        let started = Instant::now();
        let mut backoff = Backoff::new(BUDGET);
        while backoff.snooze() {}
        assert!(started.elapsed() >= BUDGET);
        let (started, mut beside) = (Instant::now(), Backoff::new(BUDGET));
        while beside.go_on_beside() {}
        assert!(started.elapsed() >= BUDGET);
        assert!(Duration::from_nanos(beside.given.into()) <= started.elapsed());
        beside.restart();
        assert!(!beside.has_begun() && beside.go_on_beside() && beside.given == 0);
        assert!(beside.has_begun());
        // What does not fit is as long as can be.
        let mut long = Backoff::new(Duration::from_secs(3600));
        assert!(long.budget() > Duration::from_secs(4) && long.go_on());
    }
}
