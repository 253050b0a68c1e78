//! Worlds whose runs say where their time went.

use super::World;
use crate::profile::ProfileClock;
use crate::{Imbalance, Profile};
use std::time::{Duration, Instant};

/// What a world wants to know of the time of its runs.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Profiled {
    clock: Option<Clock>,
    /// The share of a run from which a loss is told, and to whom.
    told: Option<(f64, Tell)>,
}

/// Hears what a run has lost.
type Tell = fn(&[Imbalance]);

/// What tells the time of profiles.
#[derive(Debug, Clone, Copy)]
enum Clock {
    Real,
    Own(fn() -> Duration),
}

impl Profiled {
    /// What tells the time of a run that begins; `None` when nobody asks.
    pub(super) fn clock(self) -> Option<ProfileClock> {
        match (self.clock, self.told) {
            (Some(Clock::Own(now)), _) => Some(ProfileClock::Own(now)),
            (Some(Clock::Real), _) | (None, Some(_)) => Some(ProfileClock::Real(Instant::now())),
            (None, None) => None,
        }
    }

    /// A run has ended, with this profile if there is one here.
    pub(super) fn tell(self, profile: Option<&Profile>) {
        if let (Some((least_share, tell)), Some(profile)) = (self.told, profile) {
            let found = profile.imbalances(least_share);
            if !found.is_empty() {
                tell(&found);
            }
        }
    }
}

impl World {
    /// Has every run say where its time went, in [`Outcome::profile`](crate::Outcome::profile):
    /// computing, waiting and messaging of every rank and stage, the overhead and its parts.
    ///
    /// Over several processes all of them ask for it, and process 0 gets the profile of all ranks.
    /// Each call that communicates then costs some looks at the clock more: two, or three when it
    /// waits. The cost was measured on a busy virtual machine, where a look takes up to 80 ns. It
    /// was 80 ns more for a send or a receive of what is there. It was 100 to 280 ns for an
    /// exchange of neighbours on one thread.
    ///
    /// ```
    /// use motet_comm::{CommError, World};
    ///
    /// let outcome = World::threads(2)
    ///     .profile()
    ///     .run_outcome(async |comm| -> Result<_, CommError> {
    ///         let mine: f64 = (0..100_000).map(|i| f64::from(i).sqrt()).sum();
    ///         comm.allreduce(mine, |a, b| a + b).await
    ///     })
    ///     .unwrap();
    /// let profile = outcome.profile.unwrap();
    /// println!("{profile}");
    /// let f = profile.overhead();
    /// let parts = f.messaging + f.imbalance + f.jitter + f.waiting;
    /// assert!((f.overhead - parts).abs() < 1e-9);
    /// assert_eq!(profile.ranks[1].stages[0].call, "allreduce");
    /// ```
    pub fn profile(mut self) -> Self {
        self.profiled.clock = Some(Clock::Real);
        self
    }

    /// As [`World::profile`], by another clock: `now` is called on the threads of the ranks, and
    /// gives the time since any moment. The time that a thread has had the processor leaves other
    /// programs out; one that a test sets itself is the same on every machine.
    pub fn profile_by(mut self, now: fn() -> Duration) -> Self {
        self.profiled.clock = Some(Clock::Own(now));
        self
    }

    /// Has every run that ends well tell in which stages one thread computes longer than the others
    /// ([`Profile::imbalances`]). It tells if the imbalance loses at least this share of the run.
    /// `tell` is called on the thread that called [`World::run`], over several processes in process
    /// 0; runs that lose less do not call it.
    ///
    /// It costs what [`World::profile`] does, and [`Outcome::profile`](crate::Outcome::profile) is
    /// there, too.
    ///
    /// ```
    /// use motet_comm::{CommError, World};
    ///
    /// World::threads(4)
    ///     .on_imbalance(0.1, |found| found.iter().for_each(|one| eprintln!("{one}")))
    ///     .run(async |comm| -> Result<_, CommError> { comm.barrier().await })
    ///     .unwrap();
    /// ```
    pub fn on_imbalance(mut self, least_share: f64, tell: fn(&[Imbalance])) -> Self {
        self.profiled.told = Some((least_share, tell));
        self
    }
}
