//! Worlds: the ranks that one program runs on.

mod limited;
mod profiled;
mod replayed;
mod workers;

use crate::fabric::Later;
use crate::limit::SendLimit;
use crate::outcome::Outcome;
use crate::run::{Entered, On, ProcessRoute, ThreadsConfig, run_solo, run_threads};
use crate::transport::Transport;
use crate::watch::WatchedRuns;
use crate::{Communicator, RunError, RunWatch};
use motet_sync::{Mutex, MutexGuard, thread};
use profiled::Profiled;
use std::fmt;
use std::sync::{Arc, Weak};
use std::time::Duration;

/// A set of ranks that run the same program.
///
/// ```
/// use motet_comm::{CommError, World};
///
/// let squares = World::threads(4)
///     .run(async |comm| -> Result<_, CommError> { comm.allgather(comm.rank() * comm.rank()).await })
///     .unwrap();
/// assert_eq!(squares, vec![vec![0, 1, 4, 9]; 4]);
/// ```
#[derive(Debug, Clone)]
#[must_use = "a world does nothing until it is run"]
pub struct World {
    place: WorldKind,
    /// Those of all copies.
    runs: Arc<WatchedRuns>,
    profiled: Profiled,
    limit: Option<SendLimit>,
}

#[derive(Debug, Clone)]
enum WorldKind {
    Solo,
    Threads {
        ranks: usize,
        workers: Option<usize>,
        /// The most workers, where neither `workers` nor `cores` says how many.
        most: usize,
        pin: Option<bool>,
        cores: Vec<usize>,
        patience: Duration,
        over: Over,
    },
}

/// What carries the messages of ranks on threads.
#[derive(Debug, Clone)]
enum Over {
    Memory,
    Ports,
    Processes(Arc<TransportedRuns>),
}

/// The way to other processes, of all worlds that are copies of one.
struct TransportedRuns {
    transport: Arc<dyn Transport>,
    /// Runs so far. One at a time: all processes number them alike.
    runs: Mutex<u16>,
    later: Later,
}

/// How long other processes are waited for, if the program does not say.
const PATIENCE: Duration = Duration::from_secs(60);

impl World {
    /// One rank, on the calling thread.
    pub fn solo() -> Self {
        World {
            place: WorldKind::Solo,
            runs: Arc::default(),
            profiled: Profiled::default(),
            limit: None,
        }
    }

    /// `ranks` ranks that share memory, on threads of their own; 0 means one per available core.
    ///
    /// There are as many threads as ranks, but no more than cores. Ranks take turns on them: a rank
    /// that waits holds no thread, so there may be many more ranks than cores.
    pub fn threads(ranks: usize) -> Self {
        let ranks = if ranks == 0 { thread::cores() } else { ranks };
        World {
            place: WorldKind::Threads {
                ranks,
                workers: None,
                most: usize::MAX,
                pin: None,
                cores: Vec::new(),
                patience: PATIENCE,
                over: Over::Memory,
            },
            runs: Arc::default(),
            profiled: Profiled::default(),
            limit: None,
        }
    }

    /// As [`World::threads`], on another fabric: ranks that post to each other's
    /// [ports](motet_ports), as the papers have it. The same programs run on it and get the same;
    /// it is to be read and measured against, and several times slower.
    ///
    /// ```
    /// use motet_comm::World;
    ///
    /// let got = World::ports(2)
    ///     .run(async |comm| comm.sendrecv(1 - comm.rank(), comm.rank(), 1 - comm.rank(), 0).await)
    ///     .unwrap();
    /// assert_eq!(got, [1, 0]);
    /// ```
    pub fn ports(ranks: usize) -> Self {
        let mut world = World::threads(ranks);
        if let WorldKind::Threads { over, .. } = &mut world.place {
            *over = Over::Ports;
        }
        world
    }

    /// A world over several processes, of which this one has `ranks` ranks on threads, as
    /// [`World::threads`]. Every process makes such a world and runs the same program on it, as
    /// often as the others; the ranks are numbered process by process.
    ///
    /// [`World::run`] gives the results of the ranks of this process, and ends when the ranks of
    /// all have ended. A rank that fails ends it everywhere, with [`RunError::Elsewhere`] in the
    /// other processes; so does a process that is gone, with [`RunError::Lost`].
    ///
    /// `motet-mpi` has a [`Transport`] over MPI. A transport has one world and its copies; their
    /// runs take turns.
    pub fn over(transport: Arc<dyn Transport>, ranks: usize) -> Self {
        let mut world = World::threads(ranks);
        if let WorldKind::Threads { over, .. } = &mut world.place {
            *over = Over::Processes(Arc::new(TransportedRuns {
                transport,
                runs: Mutex::new(0),
                later: Later::default(),
            }));
        }
        world
    }

    /// What finds this world again as long as some copy of it is there.
    #[must_use]
    pub fn downgrade(&self) -> WeakWorld {
        let mut world = self.clone();
        let mut processes = None;
        if let WorldKind::Threads { over, .. } = &mut world.place
            && let Over::Processes(there) = over
        {
            processes = Some(Arc::downgrade(there));
            *over = Over::Memory;
        }
        WeakWorld { world, processes }
    }

    /// Whether each thread of [`World::threads`] is bound to a core. By default they are if there
    /// is a thread for every core. A scheduler that sees one core busy with something else may put
    /// two ranks that wait for each other on the other core. It may leave them there.
    pub fn pin(mut self, yes: bool) -> Self {
        if let WorldKind::Threads { pin, .. } = &mut self.place {
            *pin = Some(yes);
        }
        self
    }

    /// Binds the threads of [`World::threads`] to these cores in turn, by the system's numbers of
    /// them. If [`World::workers`] says nothing there is one thread for each. Components of a
    /// program get cores of their own by it: a world here, another or a dispatcher there. A run
    /// ends with [`RunError::Start`] when the process may not use one.
    pub fn cores(mut self, ids: &[usize]) -> Self {
        if let WorldKind::Threads { cores, .. } = &mut self.place {
            *cores = ids.to_vec();
        }
        self
    }

    /// How long a [`World::over`] several waits for another process that says nothing. A process
    /// that does not come to a run ends it with [`RunError::Silent`]. One that the transport does
    /// not see, because it is on another machine, ends it with [`RunError::Lost`]. By default a
    /// minute; all processes should say the same.
    ///
    /// A process that only computes does not count as silent: it has a thread that answers.
    pub fn patience(mut self, limit: Duration) -> Self {
        if let WorldKind::Threads { patience, .. } = &mut self.place {
            *patience = limit;
        }
        self
    }

    /// What looks at the runs of this world and its copies from outside: who waits for whom, while
    /// they go on.
    #[must_use]
    pub fn watch(&self) -> RunWatch {
        RunWatch::new(&self.runs)
    }

    /// The number of ranks in this process.
    #[must_use]
    pub fn size(&self) -> usize {
        match self.place {
            WorldKind::Solo => 1,
            WorldKind::Threads { ranks, .. } => ranks,
        }
    }

    /// This process's number, and how many there are: 0 and 1 but in a [`World::over`] several.
    #[must_use]
    pub fn process(&self) -> (usize, usize) {
        match &self.place {
            WorldKind::Threads {
                over: Over::Processes(processes),
                ..
            } => (
                processes.transport.process(),
                processes.transport.processes(),
            ),
            _ => (0, 1),
        }
    }

    /// Runs `body` on every rank and waits for all of them; results in rank order.
    ///
    /// `body` is called once per rank with that rank's communicator. It may borrow from the caller,
    /// and what it holds across an `await` need not be `Send`: a rank stays on one thread. It must
    /// not block its thread for long, because other ranks may share it.
    ///
    /// This blocks the calling thread: do not call it in a handler.
    ///
    /// # Errors
    /// The first of these ends the whole run: a rank returns an error ([`RunError::Rank`]) or
    /// panics ([`RunError::Panicked`]), or all ranks wait for each other ([`RunError::Stuck`]). The
    /// other ranks are dropped where they wait. A rank that waits for something else than ranks (a
    /// port, a timer) is not stuck. Nor is one that waits inside a combinator with wakers of its
    /// own.
    pub fn run<R: Send, E: Send + fmt::Display>(
        &self,
        body: impl AsyncFn(Communicator) -> Result<R, E> + Sync,
    ) -> Result<Vec<R>, RunError<E>> {
        self.run_outcome(body).map(|outcome| outcome.results)
    }

    /// As [`World::run`], and lists the messages that nobody has received.
    ///
    /// # Errors
    /// As [`World::run`].
    ///
    /// ```
    /// use motet_comm::{CommError, World};
    ///
    /// let outcome = World::threads(2)
    ///     .run_outcome(async |comm| -> Result<_, CommError> {
    ///         comm.send(1 - comm.rank(), 7, comm.rank()).await?;
    ///         if comm.rank() == 0 { comm.recv(1, 7).await } else { Ok(0usize) }
    ///     })
    ///     .unwrap();
    /// assert_eq!(outcome.results, [1, 0]);
    /// assert_eq!((outcome.unmatched[0].source, outcome.unmatched[0].dest), (0, 1));
    /// ```
    pub fn run_outcome<R: Send, E: Send + fmt::Display>(
        &self,
        body: impl AsyncFn(Communicator) -> Result<R, E> + Sync,
    ) -> Result<Outcome<R>, RunError<E>> {
        let ended = match self.place {
            WorldKind::Solo => run_solo((self.profiled.clock(), self.limit), body),
            WorldKind::Threads { .. } => {
                let (config, _turn) = self.config();
                run_threads(config, body)
            }
        };
        let outcome = ended.map(Outcome::new)?;
        self.profiled.tell(outcome.profile.as_ref());
        Ok(outcome)
    }

    /// Makes the calling thread the one rank of this process, until [`Entered::finish`]: for
    /// programs that are no function.
    ///
    /// The rank waits by an executor of its own, so the run never ends with [`RunError::Stuck`].
    /// Over several processes all of them run or enter the world as often as the others.
    ///
    /// # Errors
    /// [`RunError::Start`] when the world has several ranks in this process; as [`World::run`] when
    /// the run cannot begin.
    ///
    /// ```
    /// let here = motet_comm::World::solo().enter()?;
    /// let sum = motet_sync::block_on(here.communicator().allreduce(2, |a, b| a + b));
    /// assert_eq!(sum, Ok(2));
    /// here.finish(Ok(()))?;
    /// # Ok::<(), motet_comm::RunError<String>>(())
    /// ```
    pub fn enter(&self) -> Result<Entered, RunError<String>> {
        let (ranks, world) = (self.size(), self.clone());
        match self.place {
            WorldKind::Solo => Ok(Entered::alone(self.limit)),
            WorldKind::Threads { .. } => Entered::begin(ranks, move |begin| {
                let (config, _turn) = world.config();
                begin(config)
            }),
        }
    }

    /// How ranks on threads are to be; over several processes, no other run goes on as long as the
    /// second is kept.
    fn config(&self) -> (ThreadsConfig, Option<MutexGuard<'_, u16>>) {
        let WorldKind::Threads {
            ranks,
            pin,
            cores: stated,
            patience,
            over,
            ..
        } = &self.place
        else {
            unreachable!("a world of one rank is run by itself")
        };
        let (ranks, workers, cores) = (*ranks, self.thread_count(), thread::cores());
        // Processes of one machine would be bound to the same cores.
        let pin = pin.unwrap_or(workers == cores && !matches!(over, Over::Processes(_)));
        let mut guard = None;
        let on = match over {
            Over::Memory => On::Threads,
            Over::Ports => On::Ports,
            Over::Processes(processes) => {
                let number = guard.insert(processes.runs.lock());
                **number = number.wrapping_add(1);
                On::Processes(ProcessRoute {
                    transport: Arc::clone(&processes.transport),
                    run: **number,
                    later: Arc::clone(&processes.later),
                    patience: *patience,
                })
            }
        };
        let config = ThreadsConfig {
            ranks,
            workers,
            pin,
            cores: stated.clone(),
            on,
            runs: Arc::clone(&self.runs),
            profile: self.profiled.clock(),
            limit: self.limit,
        };
        (config, guard)
    }
}

/// Finds a world again without keeping it: a world over processes ends its transport with its last
/// copy.
#[derive(Debug, Clone)]
pub struct WeakWorld {
    /// As it was, but for the processes.
    world: World,
    processes: Option<Weak<TransportedRuns>>,
}

impl WeakWorld {
    /// The world; `None` when it was over processes and all copies of it are gone.
    #[must_use]
    pub fn upgrade(&self) -> Option<World> {
        let mut world = self.world.clone();
        if let (Some(processes), WorldKind::Threads { over, .. }) =
            (&self.processes, &mut world.place)
        {
            *over = Over::Processes(processes.upgrade()?);
        }
        Some(world)
    }
}

impl fmt::Debug for TransportedRuns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (process, processes) = (self.transport.process(), self.transport.processes());
        write!(f, "Processes({process} of {processes})")
    }
}
