//! A model: its processes, its links, and how it is run.

use crate::outcome::Outcome;
use crate::rules::{Links, Rules};
use crate::time_warp::{Copies, Reversed};
use crate::{
    Logical, ModelError, Options, Reversible, SimError, Time, null_messages, sequential, time_warp,
    windows,
};
use motet_comm::Communicator;

/// How a run is spread over ranks. The committed events are the same in every mode and layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Mode {
    /// Rank 0 handles all events, one after the other.
    Sequential,
    /// All ranks handle what lies before the least next event plus the lookahead, then exchange
    /// events, and so on (YAWNS; D. Nicol, The cost of conservative synchronization in parallel
    /// discrete event simulations, 1993).
    Windows,
    /// Ranks promise each other, link by link, until when they send nothing (K. Chandy and J. Misra
    /// 1979, R. Bryant 1977). For models with declared links of which each process has few, and
    /// with an [end](crate::Options::end).
    NullMessages,
    /// All ranks handle events as if nothing were to come, and take back what was too early (D.
    /// Jefferson, Virtual time, 1985).
    TimeWarp,
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
        match mode {
            Mode::Sequential => sequential::run(comm, &rules, &self.make).await,
            Mode::Windows => windows::run(comm, &rules, &self.make).await,
            Mode::NullMessages => null_messages::run(comm, &rules, &self.make).await,
            Mode::TimeWarp => time_warp::run::<P, Copies>(comm, &rules, &self.make).await,
        }
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
        time_warp::run::<P, Reversed>(comm, &self.rules()?, &self.make).await
    }

    /// Runs the model on this rank alone, and undoes and repeats each handler, to find those that
    /// do not take back all that they have done.
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
            .map(|links| Links::new(self.processes, links.iter().copied()));
        Rules::new(self.processes, &self.options, links.transpose()?)
    }
}
