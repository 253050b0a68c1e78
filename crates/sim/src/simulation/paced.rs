//! Runs that keep to real time.

use super::{Simulation, Stuck};
use crate::Time;
use motet_sync::atomic::{Ordering, fence};
use std::sync::Arc;
use std::time::{Duration, Instant};

impl Simulation {
    /// As [`Simulation::run_until`], but no event takes place before its real time: a tick takes
    /// `tick`. How late the latest event was.
    ///
    /// The thread sleeps in between. Events that are [injected](Simulation::injector), and what
    /// other threads post to ports, take place at the virtual time that belongs to the real one.
    ///
    /// ```
    /// use motet_sim::Simulation;
    /// use std::time::{Duration, Instant};
    ///
    /// let simulation = Simulation::new(1);
    /// simulation.spawn("clock", async |sim| sim.sleep(20).await);
    /// let begin = Instant::now();
    /// simulation.run_paced(u64::MAX, Duration::from_millis(1)).unwrap();
    /// assert!(begin.elapsed() >= Duration::from_millis(20));
    /// ```
    ///
    /// # Errors
    /// [`Stuck`] when processes wait, nothing is scheduled, `end` is [`Time::MAX`], and there is no
    /// injector.
    ///
    /// # Panics
    /// As the processes do.
    pub fn run_paced(&self, end: Time, tick: Duration) -> Result<Duration, Stuck> {
        let core = &*self.0.0;
        let (begin, first) = (Instant::now(), core.now.get());
        if end <= first {
            return Ok(Duration::ZERO);
        }
        let due = |time: Time| real(tick, time - first);
        let mut latest = Duration::ZERO;
        loop {
            if core.outside.has_any() || core.woken.has_any() {
                let next = core.calendar.borrow_mut().time();
                let until = next.map_or(end, |time| time.min(end));
                let now = first.saturating_add(ticks(tick, begin.elapsed()));
                core.now.set(now.min(until).max(core.now.get()));
            }
            self.run_now();
            let is_open = Arc::weak_count(&core.outside) > 0;
            // Whoever has dropped the last injector may have injected, or woken, before.
            fence(Ordering::Acquire);
            if !is_open && (core.outside.has_any() || core.woken.has_any()) {
                continue;
            }
            if core.alive.get() == 0 && !is_open {
                return Ok(latest);
            }
            let next = core.calendar.borrow_mut().time();
            let until = next.map_or(end, |time| time.min(end));
            if until == Time::MAX {
                if !is_open {
                    return Err(core.stuck());
                }
                core.parker.park();
            } else {
                let left = due(until).saturating_sub(begin.elapsed());
                if left.is_zero() {
                    latest = latest.max(begin.elapsed().saturating_sub(due(until)));
                    core.now.set(until);
                    if until == end {
                        return Ok(latest);
                    }
                    continue;
                }
                let _is_woken = core.parker.park_timeout(left);
            }
        }
    }
}

/// How long so many ticks take.
fn real(tick: Duration, ticks: Time) -> Duration {
    let nanos = tick.as_nanos().saturating_mul(u128::from(ticks));
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

/// How many whole ticks have passed.
fn ticks(tick: Duration, elapsed: Duration) -> Time {
    let ticks = elapsed.as_nanos() / tick.as_nanos().max(1);
    u64::try_from(ticks).unwrap_or(u64::MAX)
}
