//! Worlds, and functions of the caller that run on their ranks.

use super::calls::{call, free, quietly, thread_count};
use super::comm::with_comm;
use super::requests::until_end;
use crate::error::{Code, Failure, in_handler};
use crate::foreign::{BodyFunction, Callback};
use crate::rank::{Comm, Rank, is_here};
use crate::run::SharedRun;
use motet::comm::SendOverflow;
use motet::dispatch::inside_task;
use motet::{Communicator, Current, RunError, World};
use motet_sync::Mutex;
use std::ffi::{c_int, c_void};
use std::future::pending;
use std::rc::Rc;
use std::sync::Arc;

/// `motet_world`: its runs take turns, so that it is known which one is looked at.
pub(crate) struct SerialWorld {
    /// Locked for as long as a run takes.
    world: Mutex<World>,
    /// Its ranks in this process.
    size: usize,
}

impl SerialWorld {
    fn threads(ranks: usize) -> SerialWorld {
        SerialWorld::of(World::threads(ranks))
    }

    fn current() -> Result<SerialWorld, Failure> {
        let world = World::current();
        let world = world.map_err(|error| Failure::new(Code::Start, error.to_string()))?;
        Ok(SerialWorld::of(world))
    }

    /// Each rank has a thread for itself, since it blocks it. The threads are bound to no core:
    /// what the program starts on them would be bound, too.
    fn of(world: World) -> SerialWorld {
        let size = world.size();
        SerialWorld {
            world: Mutex::new(world.workers(size).pin(false)),
            size,
        }
    }

    fn limit(&self, messages: usize, overflow: SendOverflow) -> Result<(), Failure> {
        let Some(mut world) = self.world.try_lock() else {
            let said = "the world runs: set its limit before motet_world_run, or behind it";
            return Err(Failure::argument(said));
        };
        *world = world.clone().limit(messages, overflow);
        Ok(())
    }

    fn run(&self, body: &Callback<BodyFunction<Comm>>) -> Result<(), Failure> {
        // On a rank the lock would be that of its own run.
        if inside_task() || is_here() {
            return Err(in_handler());
        }
        let world = self.world.lock();
        let is_whole = world.process().1 == 1;
        let watch = is_whole.then(|| world.watch());
        let run = Arc::new(SharedRun::new(world.size(), watch));
        let ended = if world.size() == 1 && !is_whole {
            enter(&world, &run, body)
        } else {
            let rank = async |comm: Communicator| {
                let comm = Rc::new(comm);
                let (ended, follows) = one(&run, &comm, body);
                if ended.is_err() && (follows || comm.run_is_over()) {
                    // Another rank or process ends the run, and says why: this one is dropped here.
                    pending::<()>().await;
                }
                ended
            };
            world.run(rank).map(drop)
        };
        // The first reason; what the runtime has heard first may follow from it.
        match run.reason() {
            Some(reason) => Err(reason),
            None => ended.map_err(|error| of_run(&error)),
        }
    }
}

/// One rank: calls the function of the caller on the thread that polls this. How it has ended, and
/// whether another rank here has failed before.
fn one(
    run: &Arc<SharedRun>,
    comm: &Rc<Communicator>,
    body: &Callback<BodyFunction<Comm>>,
) -> (Result<(), String>, bool) {
    let number = comm.rank();
    let (rank, ending) = Rank::begin(Arc::clone(run), number, None);
    // Where all ranks are here, the run itself tells them.
    rank.hear((!run.is_watched()).then(|| Rc::clone(comm)));
    let code = with_comm(&rank, Rc::clone(comm), |comm| until_end(|| body.body(comm)));
    rank.hear(None);
    let (ended, mut follows) = (result(code), false);
    if let Err(text) = &ended
        && !comm.run_is_over()
    {
        follows = run.stop(Failure::new(Code::Rank, format!("rank {number}: {text}")));
    }
    drop(ending);
    (ended, follows)
}

/// The only rank of this process, beside others: the calling thread.
fn enter(
    world: &World,
    run: &Arc<SharedRun>,
    body: &Callback<BodyFunction<Comm>>,
) -> Result<(), RunError<String>> {
    let entered = world.enter()?;
    let comm = entered.communicator();
    let (rank, ending) = Rank::begin(Arc::clone(run), comm.rank(), Some(entered));
    let code = with_comm(&rank, comm, |comm| until_end(|| body.body(comm)));
    drop(ending);
    match rank.take_entered() {
        Some(entered) => entered.finish(result(code)),
        None => Ok(()),
    }
}

fn result(code: c_int) -> Result<(), String> {
    match code {
        0 => Ok(()),
        code => Err(format!("its body has returned {code}")),
    }
}

fn of_run(error: &RunError<String>) -> Failure {
    let code = match error {
        RunError::Rank { .. } | RunError::Elsewhere { .. } => Code::Rank,
        RunError::Stuck(_) => Code::Stuck,
        RunError::Start(_) | RunError::Silent { .. } => Code::Start,
        RunError::Panicked { .. } => Code::Panicked,
        _ => Code::Comm,
    };
    Failure::new(code, error.to_string())
}

/// A world of so many ranks on threads of this process.
///
/// # Safety
/// As the header says, which holds for all functions here.
#[unsafe(no_mangle)]
unsafe extern "C" fn motet_world_threads(ranks: usize, world: *mut *mut SerialWorld) -> Code {
    call("motet_world_threads", |call| {
        // SAFETY: as the caller promises.
        let out = unsafe { call.out(world, "world") }?;
        out.give(SerialWorld::threads(thread_count(ranks, "ranks")?));
        Ok(())
    })
}

/// The world that the program was started in.
///
/// # Safety
/// As [`motet_world_threads`].
#[unsafe(no_mangle)]
unsafe extern "C" fn motet_world_current(world: *mut *mut SerialWorld) -> Code {
    call("motet_world_current", |call| {
        // SAFETY: as the caller promises.
        let out = unsafe { call.out(world, "world") }?;
        out.give(SerialWorld::current()?);
        Ok(())
    })
}

/// Limits the messages of one rank to another that were not received.
///
/// # Safety
/// As [`motet_world_threads`].
#[unsafe(no_mangle)]
unsafe extern "C" fn motet_world_limit(
    world: *const SerialWorld,
    messages: usize,
    overflow: c_int,
) -> Code {
    call("motet_world_limit", |call| {
        // SAFETY: as the caller promises.
        let world = unsafe { call.handle(world, "world") }?;
        if messages == 0 {
            let said = "`messages` is 0: at least one must have room";
            return Err(Failure::argument(said));
        }
        let overflow = match overflow {
            0 => SendOverflow::Reject,
            3 => SendOverflow::Wait,
            other => {
                let said = format!(
                    "`overflow` is {other}: ranks have MOTET_REJECT and MOTET_WAIT_FOR_ROOM"
                );
                return Err(Failure::argument(said));
            }
        };
        world.limit(messages, overflow)
    })
}

/// The number of ranks of this process.
///
/// # Safety
/// As [`motet_world_threads`].
#[unsafe(no_mangle)]
unsafe extern "C" fn motet_world_size(world: *const SerialWorld) -> usize {
    // SAFETY: as the caller promises.
    let world = unsafe { world.as_ref() };
    quietly(0, || world.map_or(0, |world| world.size))
}

/// Runs a function on all ranks.
///
/// # Safety
/// As [`motet_world_threads`].
#[unsafe(no_mangle)]
unsafe extern "C" fn motet_world_run(
    world: *const SerialWorld,
    body: Option<BodyFunction<Comm>>,
    context: *mut c_void,
) -> Code {
    call("motet_world_run", |call| {
        // SAFETY: as the caller promises.
        let world = unsafe { call.handle(world, "world") }?;
        let body = call.function(body, "body")?;
        // SAFETY: as the caller promises; it is called on all ranks at once.
        world.run(&unsafe { Callback::new(body, context, None) })
    })
}

/// Gives a world up.
///
/// # Safety
/// As [`motet_world_threads`].
#[unsafe(no_mangle)]
unsafe extern "C" fn motet_world_free(world: *mut SerialWorld) {
    // SAFETY: as the caller promises.
    unsafe { free(world) };
}

/// Runs a function on so many ranks, each on a thread of its own.
///
/// # Safety
/// As [`motet_world_threads`].
#[unsafe(no_mangle)]
unsafe extern "C" fn motet_run_threads(
    ranks: usize,
    body: Option<BodyFunction<Comm>>,
    context: *mut c_void,
) -> Code {
    call("motet_run_threads", |call| {
        let body = call.function(body, "body")?;
        let world = SerialWorld::threads(thread_count(ranks, "ranks")?);
        // SAFETY: as in `motet_world_run`.
        world.run(&unsafe { Callback::new(body, context, None) })
    })
}

/// Runs a function on the ranks of the world that the program was started in.
///
/// # Safety
/// As [`motet_world_threads`].
#[unsafe(no_mangle)]
unsafe extern "C" fn motet_run_current(
    body: Option<BodyFunction<Comm>>,
    context: *mut c_void,
) -> Code {
    call("motet_run_current", |call| {
        let body = call.function(body, "body")?;
        // SAFETY: as in `motet_world_run`.
        SerialWorld::current()?.run(&unsafe { Callback::new(body, context, None) })
    })
}
