//! What commands on ranks have in common: the world they run on, and what all processes agree on.

use std::path::Path;

use motet::{Current, World};
use motet_comm::{CommError, Communicator, Value};
use motet_mining::MiningError;

use crate::error::{CliError, refusal};
use crate::processes;
use crate::read;
use crate::spread::SpreadArgs;

/// What a command needs before it can begin.
pub(crate) struct Start<'a> {
    /// Where to run.
    pub(crate) spread: &'a SpreadArgs,
    /// Threads of each process, if somebody says how many.
    pub(crate) threads: Option<usize>,
    /// The file that is read.
    pub(crate) file: &'a Path,
}

impl Start<'_> {
    /// The world to run on, and what `prepare` makes in each process; `None` in a process that
    /// has nothing more to do because another one has refused.
    ///
    /// # Errors
    /// In the first process: its own, else the first of another one.
    pub(crate) fn begin<R>(
        &self,
        prepare: impl FnOnce(&World) -> Result<R, CliError>,
    ) -> Result<Option<(World, R)>, CliError> {
        let world = if World::is_one_of_several() {
            processes::current(self.spread, self.threads)?
        } else {
            if self.spread.total() > 1 {
                // What would fail in every process fails here.
                read::open_file(self.file)?;
            }
            processes::start(self.spread.clone(), self.threads)?
        };
        let ready = processes::check(self.spread, &world).map_err(CliError::from);
        let ready = ready.and_then(|()| prepare(&world));
        let ready = processes::agree(&world, ready)?;
        Ok(ready.map(|ready| (world, ready)))
    }
}

/// Runs `job` on all ranks; the parts of all, in the first process or, if `everywhere`, in each.
/// `None` in processes that get none.
///
/// # Errors
/// What the ranks find alike, in the first process.
pub(crate) fn parts<T: Value + Clone + Sync>(
    world: &World,
    everywhere: bool,
    job: impl AsyncFn(&Communicator) -> Result<T, MiningError> + Sync,
) -> Result<Option<Vec<T>>, CliError> {
    let all = everywhere && world.process().1 > 1;
    let job = &job;
    let run = world.run(async |comm| -> Result<_, CommError> {
        match job(&comm).await {
            Ok(part) if all => Ok(Ok(Some(comm.allgather(part).await?))),
            Ok(part) => Ok(Ok(comm.gather(0, part).await?)),
            Err(MiningError::Comm(error)) => Err(error),
            Err(alike) => Ok(Err(alike)),
        }
    });
    let first = match run {
        Ok(mut results) => results.swap_remove(0),
        Err(error) if processes::speaks(world, &error) => {
            return Err(CliError::Run(error.to_string()));
        }
        Err(_) => return Ok(None),
    };
    match first {
        Err(error) if world.process().0 == 0 => Err(refusal(error)),
        Ok(parts) => Ok(parts),
        Err(_) => Ok(None),
    }
}
