//! Commands that run on several processes: they start themselves again by the launcher of an MPI
//! library, and one of the processes speaks for all.

use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::process;

use motet::{CommError, Current, CurrentConfig, RunError, World, tell_why};

use crate::amount::check_threads;
use crate::error::{CliError, OptionError, not_started};
use crate::own;
use crate::run::{self, RunArgs};
use crate::spread::SpreadArgs;

/// The world that a launcher has started this process in, with so many ranks in each process.
///
/// # Errors
/// [`CliError::World`].
pub(crate) fn current(spread: &SpreadArgs, threads: Option<usize>) -> Result<World, CliError> {
    check_threads(threads)?;
    let library = spread.library().map(Path::to_owned);
    Ok(World::current_with(&CurrentConfig { threads, library })?)
}

/// The world to run on where no launcher has started this process. Where several are asked for this
/// process becomes their launcher, and does not come back.
///
/// # Errors
/// [`CliError::Mpi`], [`CliError::Start`].
pub(crate) fn start(spread: SpreadArgs, threads: Option<usize>) -> Result<World, CliError> {
    check_threads(threads)?;
    let threads = threads.unwrap_or_else(|| spread.share());
    if spread.total() == 1 {
        let world = World::threads(threads);
        // Without it the command does the same.
        let _ = tell_why(&world, None);
        return Ok(world);
    }
    let program = own::program();
    let program = program.map_err(|source| not_started(PathBuf::from("motet"), source))?;
    let program = [program.into_os_string()]
        .into_iter()
        .chain(own::arguments());
    run::run(&RunArgs {
        threads,
        spread,
        slurm: false,
        dry_run: false,
        why: None,
        balance: None,
        quiet: true,
        mesh: None,
        no_mesh: true,
        program: program.collect(),
    })?;
    process::exit(0)
}

/// A launcher may have started another number of processes than the options name.
///
/// # Errors
/// [`OptionError::Value`] when it has.
pub(crate) fn check(spread: &SpreadArgs, world: &World) -> Result<(), OptionError> {
    let (asked, there) = (spread.total(), world.process().1);
    if asked == 1 || asked == there {
        return Ok(());
    }
    Err(OptionError::Value {
        option: "--processes times --nodes",
        value: format!("{asked}, and the launcher has started {there}"),
        advice: "leave both options out under a launcher",
    })
}

/// What this process has prepared, when all have; `None` when one has not, and the first process
/// says so.
///
/// # Errors
/// In the first process: its own, else the first of another one.
pub(crate) fn agree<T>(world: &World, mine: Result<T, CliError>) -> Result<Option<T>, CliError> {
    let (own, processes) = world.process();
    if processes == 1 {
        return mine.map(Some);
    }
    let said = mine.as_ref().err().map(|error| (own, error.to_string()));
    let first = match first_said(world, &said) {
        Ok(first) => first,
        Err(error) if speaks(world, &error) => return Err(CliError::Run(error.to_string())),
        Err(_) => return Ok(None),
    };
    match (mine, first) {
        (Ok(mine), None) => Ok(Some(mine)),
        _ if own > 0 => Ok(None),
        (Ok(_), Some((process, message))) => Err(CliError::Elsewhere { process, message }),
        (Err(error), _) => Err(error),
    }
}

/// The first process that refuses, and why.
type FirstRefusal = Option<(usize, String)>;

/// The first of all that the processes say.
fn first_said(world: &World, said: &FirstRefusal) -> Result<FirstRefusal, RunError<CommError>> {
    let told = world.run(async |comm| {
        let all = comm.allgather(said.clone()).await?;
        Ok(all.into_iter().flatten().next())
    });
    told.map(|mut first| first.swap_remove(0))
}

/// Whether this process says why a run has failed: the first does, and all when that one is gone.
pub(crate) fn speaks<E: Debug>(world: &World, error: &RunError<E>) -> bool {
    let first_is_gone = match error {
        RunError::Lost { process, .. } => *process == 0,
        RunError::Silent { processes, .. } => processes.contains(&0),
        _ => false,
    };
    first_is_gone || world.process().0 == 0
}
