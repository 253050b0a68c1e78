//! A model: its processes, its links, and how it is run.

use crate::outcome::Outcome;
use crate::rules::{ProcessLinks, Rules};
use crate::saved::{self, RankEnd, RankStart, Saved};
use crate::share::ProcessLayout;
use crate::time_warp::{Copies, Reversed};
use crate::{
    Logical, ModelError, Options, Reversible, SimError, Time, null_messages, sequential, time_warp,
    windows,
};
use motet_comm::{Communicator, Value};
use std::ops::Range;

/// How a run is spread over ranks. The committed events are the same in every mode and layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Mode {
    /// Rank 0 handles all events, one after the other.
    Sequential,
    /// All ranks handle what lies before the least next event plus the lookahead, then exchange
    /// events, and so on. This is YAWNS (D. Nicol, The cost of conservative synchronization in
    /// parallel discrete event simulations, 1993).
    Windows,
    /// Ranks promise each other, link by link, until when they send nothing (K. Chandy and J. Misra
    /// 1979, R. Bryant 1977). For models with declared links of which each process has few, and
    /// with an [end](crate::Options::end).
    NullMessages,
    /// All ranks handle events as if nothing were to come, and take back what was too early (D.
    /// Jefferson, Virtual time, 1985).
    TimeWarp,
}

impl Mode {
    /// The processes of this rank.
    fn own(self, comm: &Communicator, rules: &Rules) -> Range<usize> {
        match (self, comm.rank()) {
            (Mode::Sequential, 0) => 0..rules.processes,
            (Mode::Sequential, _) => 0..0,
            (_, rank) => ProcessLayout::new(rules.processes, comm.size()).of(rank),
        }
    }

    async fn run<P: Logical + Clone>(
        self,
        comm: &Communicator,
        rules: &Rules,
        begin: RankStart<P>,
    ) -> Result<RankEnd<P>, SimError> {
        let ended = match self {
            Mode::Sequential => sequential::run(comm, rules, begin).await,
            Mode::Windows => windows::run(comm, rules, begin).await,
            Mode::NullMessages => null_messages::run(comm, rules, begin).await,
            Mode::TimeWarp => time_warp::run::<P, Copies>(comm, rules, begin).await,
        };
        Ok(ended?.within_limits(rules)?)
    }
}

/// Logical processes that simulate something together.
///
/// Two processes throw a ball to each other, once in ten ticks.
///
/// ```
/// use motet_comm::World;
/// use motet_sim::{Logical, Mode, Model, Options, Out, SimError, Time};
///
/// #[derive(Clone, Default)]
/// struct Player {
///     caught: u32,
/// }
///
/// impl Logical for Player {
///     type Event = ();
///     fn start(&mut self, out: &mut Out<'_, ()>) {
///         if out.process() == 0 {
///             out.schedule(1, 10, ());
///         }
///     }
///     fn handle(&mut self, _: Time, (): (), out: &mut Out<'_, ()>) {
///         self.caught += 1;
///         out.schedule(1 - out.process(), 10, ());
///     }
/// }
///
/// let options = Options { end: 1_000, lookahead: 10, ..Options::default() };
/// let model = Model::new(2, |_| Player::default(), options);
/// let caught = World::threads(2)
///     .run(async |comm| -> Result<_, SimError> {
///         let outcome = model.run(&comm, Mode::Windows).await?;
///         assert_eq!(outcome.report.committed, 99);
///         Ok(outcome.processes[0].caught)
///     })
///     .unwrap();
/// assert_eq!(caught, [49, 50]);
/// ```
pub struct Model<F> {
    processes: usize,
    make: F,
    options: Options,
    links: Option<Vec<(usize, usize, Time)>>,
}

impl<F> std::fmt::Debug for Model<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Model")
            .field("processes", &self.processes)
            .field("options", &self.options)
            .field("links", &self.links.as_ref().map(Vec::len))
            .finish_non_exhaustive()
    }
}

impl<P: Logical, F: Fn(usize) -> P> Model<F> {
    /// A model of so many processes; `make` makes each of them of its number, on the rank where it
    /// lives.
    pub fn new(processes: usize, make: F, options: Options) -> Self {
        Model {
            processes,
            make,
            options,
            links: None,
        }
    }

    /// Declares who schedules events for whom, and with which least delay:
    /// `(from, to, least delay)`. Nobody then schedules an event for another process without a
    /// link. [`Options::lookahead`] does not count any more.
    #[must_use]
    pub fn linked(self, links: impl IntoIterator<Item = (usize, usize, Time)>) -> Self {
        Model {
            links: Some(links.into_iter().collect()),
            ..self
        }
    }

    /// Runs the model to its end. All ranks of the communicator call this, with the same model.
    ///
    /// The processes lie in blocks of neighbours on the ranks; each rank gets its own back. In
    /// [`Mode::Sequential`] rank 0 has all of them.
    ///
    /// # Errors
    /// [`SimError::Model`] for what the model does that it must not; every rank gets the same.
    /// [`SimError::Comm`] when ranks cannot reach each other.
    ///
    /// # Panics
    /// As the handlers of processes do. Under Time Warp only a handler of a committed event panics.
    ///
    /// # Cancellation
    /// A rank that drops the future leaves the others waiting for it, as in any collective.
    pub async fn run(&self, comm: &Communicator, mode: Mode) -> Result<Outcome<P>, SimError>
    where
        P: Clone,
    {
        let rules = self.rules()?;
        let begin = RankStart::start(&rules, mode.own(comm, &rules), &self.make);
        Ok(mode.run(comm, &rules, begin).await?.outcome())
    }

    /// Runs the model until a time, and says what the next part of the run goes on from. All ranks
    /// call this.
    ///
    /// `saved` holds what this rank has of the part before: any rank may have any of it, and one
    /// may have all. Nobody has anything where the run begins. A run in parts handles the same
    /// events as a run at once, whatever the mode and the number of ranks of each part. Report and
    /// trace are those of this part. A time before that of the parts changes nothing.
    ///
    /// ```
    /// use motet_comm::World;
    /// use motet_sim::{Logical, Mode, Model, Options, Out, SimError, Time};
    ///
    /// #[derive(Clone, serde::Serialize, serde::Deserialize)]
    /// struct Clock(u32);
    ///
    /// impl Logical for Clock {
    ///     type Event = ();
    ///     fn start(&mut self, out: &mut Out<'_, ()>) {
    ///         out.schedule(0, 10, ());
    ///     }
    ///     fn handle(&mut self, _: Time, (): (), out: &mut Out<'_, ()>) {
    ///         self.0 += 1;
    ///         out.schedule(0, 10, ());
    ///     }
    /// }
    ///
    /// let options = Options { end: 1_000, ..Options::default() };
    /// let model = Model::new(1, |_| Clock(0), options);
    /// let ticks = World::threads(1)
    ///     .run(async |comm| -> Result<_, SimError> {
    ///         let (_, saved) = model.run_part(&comm, Mode::Sequential, vec![], 500).await?;
    ///         // Here `saved` may be written to a file, and read by another program.
    ///         let (all, _) = model.run_part(&comm, Mode::Sequential, vec![saved], 1_000).await?;
    ///         assert_eq!(all.report.committed, 50);
    ///         Ok(all.processes[0].0)
    ///     })
    ///     .unwrap();
    /// assert_eq!(ticks, [99]);
    /// ```
    ///
    /// # Errors
    /// As [`Model::run`]; [`ModelError::NotSaved`] if the parts are of another run, or not all of
    /// it.
    ///
    /// # Panics
    /// As [`Model::run`].
    pub async fn run_part(
        &self,
        comm: &Communicator,
        mode: Mode,
        saved: Vec<Saved<P>>,
        until: Time,
    ) -> Result<(Outcome<P>, Saved<P>), SimError>
    where
        P: Clone + Value,
    {
        let mut rules = self.rules()?;
        rules.stop = until.min(rules.end);
        let layout = ProcessLayout::new(rules.processes, comm.size());
        let rank_of = |process| match mode {
            Mode::Sequential => 0,
            _ => layout.rank_of(process),
        };
        let own = mode.own(comm, &rules);
        let begin = saved::go_on(comm, &rules, saved, (own, rank_of), &self.make).await?;
        let time = rules.stop.max(begin.time);
        let mut ended = mode.run(comm, &rules, begin).await?;
        let saved = ended.saved(&rules, time);
        Ok((ended.outcome(), saved))
    }

    /// As [`Model::run`] with [`Mode::TimeWarp`], but handlers are undone and nothing is copied.
    ///
    /// # Errors
    /// As [`Model::run`].
    ///
    /// # Panics
    /// As the handlers do; also one whose event would have been taken back, since nobody can undo
    /// half a handler.
    pub async fn run_reversibly(&self, comm: &Communicator) -> Result<Outcome<P>, SimError>
    where
        P: Reversible,
    {
        let rules = self.rules()?;
        let begin = RankStart::start(&rules, Mode::TimeWarp.own(comm, &rules), &self.make);
        let ended = time_warp::run::<P, Reversed>(comm, &rules, begin).await?;
        Ok(ended.within_limits(&rules)?.outcome())
    }

    /// Runs the model on this rank alone, and undoes and repeats each handler. So it finds those
    /// that do not take back all that they have done.
    ///
    /// # Errors
    /// [`ModelError::NotUndone`] at the first of them; else as [`Model::run`].
    pub fn check_undo(&self) -> Result<(), SimError>
    where
        P: Reversible + Clone + PartialEq,
    {
        Ok(sequential::check_undo(&self.rules()?, &self.make)?)
    }

    fn rules(&self) -> Result<Rules, ModelError> {
        let links = self
            .links
            .as_ref()
            .map(|links| ProcessLinks::new(self.processes, links.iter().copied()));
        Rules::new(self.processes, &self.options, links.transpose()?)
    }
}
