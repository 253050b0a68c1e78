//! Ranks whose program is a function of Python. Each has a thread of its own, on which the function
//! runs.
//!
//! ```text
//!  World.run(main) ─► a thread: motet::World::run ─► a thread for each rank: main(comm)
//!        │ each 50 ms: signals                          comm.bcast(…) ─► mpi_comm.rs ─► own.rs: polled until it has ended
//! ```

use crate::errors::MotetError;
use crate::forked::{Maker, leave};
use crate::mpi_comm::object;
use crate::mpi_handle::CommHandle;
use crate::mpi_world::is_entered;
use crate::own::{OWN, Own, RankCommunicator, WorldRun};
use crate::stuck::{self, StuckCheck};
use crate::waiting::{hear, in_no_task};
use motet::comm::SendOverflow;
use motet::{Communicator, Current, Port, RunError};
use motet_sync::atomic::{AtomicBool, Ordering};
use motet_sync::thread::{self, JoinHandle};
use motet_sync::{Arc, Mutex};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use std::rc::Rc;

/// Ranks that run together.
#[pyclass(frozen, module = "motet._motet")]
pub(crate) struct World {
    world: Mutex<Option<motet::World>>,
    /// A send waits when too many messages were not received.
    sends_wait: AtomicBool,
    /// How the last run has ended.
    ended: Mutex<Option<EndedRun>>,
    maker: Maker,
}

/// How a run has ended that has not ended well.
#[derive(Clone, Copy)]
enum EndedRun {
    /// By a rank of this process.
    Here,
    /// By another process, or by all.
    Elsewhere,
}

impl World {
    fn new(world: motet::World) -> World {
        World {
            world: Mutex::new(Some(world)),
            sends_wait: AtomicBool::new(false),
            ended: Mutex::new(None),
            maker: Maker::new(),
        }
    }

    fn open(&self) -> PyResult<motet::World> {
        self.maker.check("World")?;
        let world = self.world.lock().clone();
        world.ok_or_else(|| MotetError::new_err("the world has been closed"))
    }

    /// A run that begins.
    fn begin(&self) -> Arc<WorldRun> {
        Arc::new(WorldRun {
            // Relaxed: nothing else hangs on it.
            sends_wait: self.sends_wait.load(Ordering::Relaxed),
            ..WorldRun::default()
        })
    }
}

#[pymethods]
impl World {
    /// A world of so many ranks in this process, each with a thread of its own.
    #[staticmethod]
    fn threads(ranks: usize) -> World {
        let ranks = if ranks == 0 { thread::cores() } else { ranks };
        World::new(motet::World::threads(ranks).workers(ranks).pin(false))
    }

    /// The world that the process was started in.
    #[staticmethod]
    fn current(py: Python<'_>) -> PyResult<World> {
        let world = py.detach(motet::World::current);
        let world = world.map_err(|error| MotetError::new_err(error.to_string()))?;
        let ranks = world.size();
        Ok(World::new(world.workers(ranks).pin(false)))
    }

    /// From the next run on, at most so many messages of one rank to another wait there.
    fn limit(&self, messages: usize, waits: bool) -> PyResult<()> {
        let overflow = match waits {
            true => SendOverflow::Wait,
            false => SendOverflow::Reject,
        };
        let limited = self.open()?.limit(messages, overflow);
        *self.world.lock() = Some(limited);
        // Relaxed: nothing else hangs on it.
        self.sends_wait.store(waits, Ordering::Relaxed);
        Ok(())
    }

    /// Whether a launcher has started this process beside others.
    #[staticmethod]
    fn is_one_of_several() -> bool {
        motet::World::is_one_of_several()
    }

    /// The number of ranks of this process.
    #[getter]
    fn size(&self) -> PyResult<usize> {
        Ok(self.open()?.size())
    }

    /// The number of this process, and of all.
    #[getter]
    fn process(&self) -> PyResult<(usize, usize)> {
        Ok(self.open()?.process())
    }

    /// Whether the last run has ended with an error, of which the other processes know.
    fn has_failed(&self) -> bool {
        self.ended.lock().is_some()
    }

    /// Whether it has ended so and no rank of this process was the first.
    fn has_failed_elsewhere(&self) -> bool {
        matches!(*self.ended.lock(), Some(EndedRun::Elsewhere))
    }

    /// Leaves the other processes. The interpreter drops no object for certain before the process
    /// ends.
    fn close(&self, py: Python<'_>) {
        if self.maker.is_here() {
            let world = self.world.lock().take();
            py.detach(|| drop(world));
        }
    }

    /// Calls `main(comm, *arguments)` on each rank; what it gives back, of the ranks of this
    /// process in their order.
    #[pyo3(signature = (wrap, main, arguments))]
    fn run<'py>(
        &self,
        py: Python<'py>,
        wrap: Py<PyAny>,
        main: Py<PyAny>,
        arguments: Py<PyTuple>,
    ) -> PyResult<Bound<'py, PyList>> {
        let world = self.open()?;
        if world.process().1 > 1 && is_entered() {
            return Err(MotetError::new_err(
                "this process is a rank by itself, since it has used MPI.COMM_WORLD outside a \
                 run: go on with that, or use it only in what World.run calls",
            ));
        }
        in_no_task(
            "World.run waits for its ranks, and a rank or a handler must not wait so: call it in \
             the main program or on a thread of its own; a rank divides its ranks by comm.Split",
        )?;
        *self.ended.lock() = None;
        let (run, ended) = (self.begin(), Port::new());
        let (process, processes) = world.process();
        // One process looks for all.
        let check = (process == 0).then(|| StuckCheck::new(world.watch(), processes));
        let (own, tell) = (Arc::clone(&run), ended.clone());
        let running = thread::spawn_named("world", move || {
            let call = Call {
                wrap,
                main,
                arguments,
            };
            let result = world.run(async |comm| {
                let comm = Rc::new(comm);
                let given = one(Rc::clone(&comm), &own, &call);
                if given.is_err() && comm.run_is_over() {
                    // Another process has ended the run, which tells why: the rank is dropped here.
                    std::future::pending::<()>().await;
                }
                given
            });
            // Before the caller goes on: the last copy leaves the other processes.
            drop(world);
            // Nobody listens once the calling thread has given up.
            let _ = tell.post(result);
        });
        let running = running.map_err(|error| MotetError::new_err(error.to_string()))?;
        let (result, interrupted) = heard(py, &ended, &running, &run, check)?;
        *self.ended.lock() = match &result {
            Ok(_) => None,
            Err(RunError::Rank { .. } | RunError::Panicked { .. }) => Some(EndedRun::Here),
            Err(_) => Some(EndedRun::Elsewhere),
        };
        let raised = interrupted.or_else(|| run.raised.lock().take());
        match (raised, result) {
            (Some(raised), _) => Err(raised),
            (None, Ok(results)) => PyList::new(py, results),
            (None, Err(error)) => Err(of_run(&error)),
        }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if !self.maker.is_here() {
            leave(self.world.lock().take());
        }
    }
}

/// What the ranks of a run have given back.
type Ended = Result<Vec<Py<PyAny>>, RunError<String>>;

/// What a run has ended with, and what a signal has raised meanwhile. It is stopped by signals, and
/// when its ranks all wait for each other.
fn heard(
    py: Python<'_>,
    ended: &Port<Ended>,
    running: &JoinHandle<()>,
    run: &WorldRun,
    mut check: Option<StuckCheck>,
) -> PyResult<(Ended, Option<PyErr>)> {
    let mut interrupted = None;
    loop {
        match hear(py, ended, running) {
            Ok(Some(result)) => return Ok((result, interrupted)),
            Ok(None) => {}
            Err(error) => return Err(MotetError::new_err(error.to_string())),
        }
        if let Err(error) = py.check_signals() {
            // Relaxed, here and below: nothing else hangs on it.
            run.stopped.store(true, Ordering::Relaxed);
            if let Err(fault) = stuck::interrupt(py, &run.threads, &error) {
                // The ranks that wait end all the same.
                fault.write_unraisable(py, None);
            }
            interrupted = Some(error);
        }
        let told = check.as_mut().and_then(|it| it.look(py, &run.threads));
        if let Some(told) = told {
            if let Some(check) = check.take() {
                py.detach(|| check.end(&run.threads, &told));
            }
            run.raised.lock().get_or_insert(MotetError::new_err(told));
            run.stopped.store(true, Ordering::Relaxed);
        }
    }
}

fn of_run(error: &RunError<String>) -> PyErr {
    MotetError::new_err(error.to_string())
}

/// What each rank calls.
struct Call {
    /// Makes the communicator that `main` gets, on the thread of the rank.
    wrap: Py<PyAny>,
    main: Py<PyAny>,
    arguments: Py<PyTuple>,
}

/// One rank: calls the function, on the thread that polls this.
fn one(comm: Rc<Communicator>, run: &Arc<WorldRun>, call: &Call) -> Result<Py<PyAny>, String> {
    let rank = comm.rank();
    let own = Own::new(Arc::clone(run), RankCommunicator::Ranks(Rc::clone(&comm)));
    let handle = CommHandle {
        owner: Some(own.number),
        ..CommHandle::WORLD
    };
    let before = OWN.replace(Some(own));
    let result = Python::attach(|py| -> PyResult<Py<PyAny>> {
        stuck::note(py, &run.threads, rank)?;
        let comm = call.wrap.call1(py, (object(py, handle)?,))?;
        let first = PyTuple::new(py, [comm])?;
        let rest = call.arguments.bind(py);
        let all = first.as_sequence().concat(rest.as_sequence())?.to_tuple()?;
        call.main.call1(py, all)
    });
    drop(OWN.replace(before));
    stuck::forget(&run.threads, rank);
    result.map_err(|error| {
        let said = error.to_string();
        // What another process has ended the run with is told by the run.
        if !comm.run_is_over() {
            run.raised.lock().get_or_insert(error);
        }
        // Relaxed: nothing else hangs on it.
        run.stopped.store(true, Ordering::Relaxed);
        said
    })
}
