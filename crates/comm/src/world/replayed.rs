//! Runs in a replay.

use crate::outcome::Outcome;
use crate::run::run_replayed;
use crate::{Communicator, RunError, World};
use motet_dispatch::Replay;
use std::fmt;
use std::io;

impl World {
    /// As [`World::run_outcome`], on the calling thread, in an order that a seed decides. The ranks
    /// take turns as tasks of `replay`. Each message between two of them is under way until the
    /// replay brings it. Messages of one rank to another arrive in order, those of several in any.
    /// The same seed gives the same run, so a race between ranks or a wait that never ends comes
    /// back from its number. Time is the replay's.
    ///
    /// When nothing is left to run and some rank has not ended, the run ends with
    /// [`RunError::Stuck`]. It does so also if that rank waits for something else than ranks.
    /// Collectives and the neighbours of a topology share memory as on [`World::threads`]: there
    /// the seed decides who comes first, and nothing is under way.
    ///
    /// # Errors
    /// As [`World::run`]; [`RunError::Start`] of a world over processes.
    ///
    /// # Panics
    /// As [`Replay::run`].
    ///
    /// ```
    /// use motet_comm::{ANY_SOURCE, CommError, World};
    /// use motet_dispatch::Replay;
    ///
    /// // Which of two messages comes first?
    /// let first = |seed| {
    ///     let outcome = World::threads(3).replayed(&Replay::new(seed), async |comm| {
    ///         if comm.rank() > 0 {
    ///             comm.send(0, 0, comm.rank()).await?;
    ///             return Ok(0);
    ///         }
    ///         let first = comm.recv::<usize>(ANY_SOURCE, 0).await?;
    ///         comm.recv::<usize>(ANY_SOURCE, 0).await?;
    ///         Ok::<_, CommError>(first)
    ///     });
    ///     outcome.unwrap().results[0]
    /// };
    /// let all: Vec<usize> = (0..20).map(first).collect();
    /// assert!(all.contains(&1) && all.contains(&2));
    /// assert_eq!(first(7), first(7));
    /// ```
    pub fn replayed<R: Send, E: Send + fmt::Display>(
        &self,
        replay: &Replay,
        body: impl AsyncFn(Communicator) -> Result<R, E> + Sync,
    ) -> Result<Outcome<R>, RunError<E>> {
        if self.process().1 > 1 {
            let problem = "a replay has one process; replay World::threads";
            return Err(RunError::Start(io::Error::other(problem)));
        }
        let (ranks, given) = (self.size(), (self.profiled.clock(), self.limit));
        let outcome = run_replayed(replay, ranks, &self.runs, given, body).map(Outcome::new)?;
        self.profiled.tell(outcome.profile.as_ref());
        Ok(outcome)
    }
}
