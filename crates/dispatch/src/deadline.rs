//! Deadlines of causalities, by a clock.

use crate::causality::{Causality, DeadlineAlarm, WorkDeadline};
use crate::clock::{Clock, Timer};
use std::time::Instant;

/// # Deadlines
impl Causality {
    /// The causality counts as cancelled from `deadline` on, by the clock of the queue whose task
    /// calls this; the real one elsewhere. Whoever asks sees it at once, and waits are woken.
    ///
    /// # Panics
    /// When the causality has been cloned or entered already. A wait panics at its first poll when
    /// the operating system refuses the real clock its thread.
    ///
    /// ```
    /// use motet_dispatch::Causality;
    /// use std::time::Instant;
    ///
    /// let late = Causality::new("order 17").with_deadline(Instant::now());
    /// assert!(late.run(Causality::check).is_err());
    /// ```
    #[must_use]
    pub fn with_deadline(self, deadline: Instant) -> Self {
        self.with_deadline_of(&Clock::current(), deadline)
    }

    /// As [`Causality::with_deadline`], by `clock`.
    ///
    /// # Panics
    /// As there.
    #[must_use]
    pub fn with_deadline_of(self, clock: &Clock, deadline: Instant) -> Self {
        self.set_deadline(Passing {
            clock: clock.clone(),
            deadline,
        })
    }
}

/// A time on a clock.
struct Passing {
    clock: Clock,
    deadline: Instant,
}

/// A timer that is cancelled when nobody waits for it any more.
struct Armed(Timer);

impl WorkDeadline for Passing {
    fn is_over(&self) -> bool {
        self.deadline <= self.clock.now()
    }

    fn alarm(&self, ring: Box<dyn FnOnce() + Send>) -> DeadlineAlarm {
        Box::new(Armed(self.clock.at(self.deadline, |_| ring())))
    }
}

impl Drop for Armed {
    fn drop(&mut self) {
        self.0.cancel();
    }
}
