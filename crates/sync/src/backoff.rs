//! How a thread waits for something that should come within microseconds.
//!
//! First it only pauses, for [`Backoff::SPIN`]. An answer from another core takes a fraction of
//! that, and giving up the core may cost a time slice of milliseconds. What has not come by then
//! comes from someone who does not run now. So from then on every round offers the core to whoever
//! wants it (`sched_yield`). When the budget is spent the caller should sleep.
//!
//! Who gets the core back only after a time slice has given it to a program that keeps it. Then the
//! thread offers nothing for a while and sleeps at once. A sleeper is given the core soon after it
//! has been woken, one that offers it waits its turn.

use crate::{spin_loop, thread};
use std::cell::Cell;
use std::ops::RangeInclusive;
use std::time::{Duration, Instant};

/// So many times what it has lost a thread offers nothing that has lost its core for a slice: the
/// loss is a small part.
const OVERSUBSCRIBED: u32 = 8;

crate::thread_local! {
    /// Until when this thread takes it that a program wants its core that would keep it for a
    /// slice.
    static OVERSUBSCRIBED_UNTIL: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// Offers this thread's core to whoever wants it, unless the last who took it kept it for a time
/// slice. How long it was away; `None`: it is not offered, the thread should sleep.
pub fn offer_core(now: Instant) -> Option<Duration> {
    if is_oversubscribed(now) {
        return None;
    }
    thread::yield_now();
    let back = Instant::now();
    let away = back.duration_since(now);
    if away > *Backoff::TURN.end() {
        OVERSUBSCRIBED_UNTIL.with(|until| until.set(Some(back + OVERSUBSCRIBED * away)));
    }
    Some(away)
}

/// Whether this thread has lost its core for a slice lately. In a model no time passes.
fn is_oversubscribed(now: Instant) -> bool {
    let until = OVERSUBSCRIBED_UNTIL.with(Cell::get);
    until.is_some_and(|until| now < until) && !cfg!(any(motet_loom, motet_shuttle))
}

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

    /// Who has offered the core and is back sooner has found nobody who wants it; who is back
    /// later, a busy one.
    const TURN: RangeInclusive<Duration> = Duration::from_micros(2)..=Duration::from_micros(300);

    /// Pauses between two looks at the clock.
    const PAUSES: u32 = 4;

    /// A wait that begins at the first call and should end in sleep after `budget`, four seconds at
    /// most.
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
        let now = Instant::now();
        let waited = now.duration_since(*self.since.get_or_insert(now));
        (waited <= Self::SPIN || offer_core(now).is_some()) && waited < self.budget()
    }

    /// As [`Backoff::go_on`], for who waits for somebody that may want this core. The turns that
    /// others take on it while it is offered are not the wait's own time, up to [`Backoff::GIVEN`]
    /// budgets of them. A turn is short, as those of waits that offer the core too; beside a
    /// program that keeps it one should sleep.
    pub fn go_on_beside(&mut self) -> bool {
        let now = Instant::now();
        if self.since.is_none() {
            self.given = 0;
        }
        let waited = now.duration_since(*self.since.get_or_insert(now));
        if waited > Self::SPIN {
            let Some(away) = offer_core(now) else {
                return false;
            };
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
        let spent = || started.elapsed() >= BUDGET || is_oversubscribed(Instant::now());
        let mut backoff = Backoff::new(BUDGET);
        while backoff.snooze() {}
        assert!(spent());
        let (started, mut beside) = (Instant::now(), Backoff::new(BUDGET));
        while beside.go_on_beside() {}
        assert!(started.elapsed() >= BUDGET || is_oversubscribed(Instant::now()));
        assert!(Duration::from_nanos(beside.given.into()) <= started.elapsed());
        beside.restart();
        assert!(!beside.has_begun() && beside.go_on_beside() && beside.given == 0);
        assert!(beside.has_begun());
        // What does not fit is as long as can be.
        let mut long = Backoff::new(Duration::from_secs(3600));
        assert!(long.budget() > Duration::from_secs(4) && long.go_on());
    }

    #[test]
    fn who_has_lost_the_core_for_a_slice_offers_it_to_nobody_for_a_while() {
        let now = Instant::now();
        let end = now + Duration::from_millis(100);
        OVERSUBSCRIBED_UNTIL.with(|until| until.set(Some(end)));
        assert_eq!(offer_core(now), None);
        // A wait still pauses, for what comes from another core at once; then it sleeps.
        let mut backoff = Backoff::new(Duration::from_secs(1));
        assert!(backoff.go_on() && backoff.since.is_some());
        backoff.since = now.checked_sub(2 * Backoff::SPIN);
        assert!(!backoff.go_on() && !backoff.go_on_beside());
        // The while ends.
        assert!(offer_core(end).is_some());
    }
}
