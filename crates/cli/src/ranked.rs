//! What commands on ranks have in common: the world they run on, and what all processes agree on.

use std::marker::PhantomData;
use std::path::Path;
use std::pin::Pin;
use std::time::Instant;

use motet::{Current, World};
use motet_comm::{CommError, Communicator, Profile, Value};
use motet_mining::MiningError;

use crate::any_part::AnyPart;
use crate::error::{CliError, OptionError, refusal};
use crate::keep::KeepArgs;
use crate::processes;
use crate::read;
use crate::spread::SpreadArgs;
use crate::summary::ThreadScaling;

/// What a command needs before it can begin.
pub(crate) struct Start<'a> {
    /// Where to run.
    pub(crate) spread: &'a SpreadArgs,
    /// Threads of each process, if somebody says how many.
    pub(crate) threads: Option<usize>,
    /// The file that is read.
    pub(crate) file: &'a Path,
    /// Whether the run can go on after an end that nobody wanted.
    pub(crate) keep: &'a KeepArgs,
}

impl Start<'_> {
    /// The world to run on, and what `prepare` makes in each process. It is `None` in a process
    /// that has nothing more to do because another one has refused.
    ///
    /// # Errors
    /// In the first process: its own, else the first of another one.
    pub(crate) fn begin<R>(
        &self,
        prepare: impl FnOnce(&World) -> Result<R, CliError>,
    ) -> Result<Option<(World, R)>, CliError> {
        let (world, ready) = self.world()?;
        let ready = ready.and_then(|()| prepare(&world));
        let ready = ready.and_then(|ready| match world.process().0 {
            0 => self.keep.check().map(|()| ready),
            _ => Ok(ready),
        });
        let ready = processes::agree(&world, ready)?;
        Ok(ready.map(|ready| (world, ready)))
    }

    /// The world, and whether the command can run on it.
    fn world(&self) -> Result<(World, Result<(), CliError>), CliError> {
        let world = if World::is_one_of_several() {
            processes::current(self.spread, self.threads)?
        } else {
            if self.spread.total() > 1 {
                // What would fail in every process fails here.
                one_reader(self.file, self.spread.total())?;
                read::open_file(self.file)?;
            }
            processes::start(self.spread.clone(), self.threads)?
        };
        let ready = processes::check(self.spread, &world).map_err(CliError::from);
        let ready = ready.and_then(|()| one_reader(self.file, world.process().1));
        Ok((world, ready))
    }
}

fn one_reader(file: &Path, processes: usize) -> Result<(), CliError> {
    match processes > 1 && file.as_os_str() == "-" {
        false => Ok(()),
        true => Err(CliError::Options(OptionError::Value {
            option: "FILE",
            value: "-".to_owned(),
            advice: "several processes cannot share standard input: name a file",
        })),
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
    let found = gathered(world, everywhere, &RankJob::new(job))?;
    found.map(|(parts, _)| AnyPart::all(parts)).transpose()
}

/// A result of all ranks, and how long it took.
#[derive(Debug)]
pub(crate) struct Measured<R> {
    pub(crate) found: R,
    /// Seconds from the start of the ranks to their end.
    pub(crate) seconds: f64,
    /// The ranks it ran on.
    pub(crate) threads: usize,
    /// The comparison with one rank, if it is wanted.
    pub(crate) scaling: Option<ThreadScaling>,
    /// Where the time went, if it is wanted.
    pub(crate) profile: Option<Profile>,
}

/// Runs `job` on all ranks and joins their parts, in the first process; `None` in others. With
/// `scaling` it runs once more on one rank, with `profile` it says where the time went.
///
/// # Errors
/// What the ranks find alike, in the first process.
pub(crate) fn measured<T: Value + Clone + Sync, R: PartialEq>(
    world: &World,
    (scaling, profile): (bool, bool),
    job: impl AsyncFn(&Communicator) -> Result<T, MiningError> + Sync,
    join: impl Fn(Vec<T>) -> Option<R>,
) -> Result<Option<Measured<R>>, CliError> {
    let job = RankJob::new(job);
    let once = |world: &World| -> Result<_, CliError> {
        let start = Instant::now();
        let Some((parts, profile)) = gathered(world, false, &job)? else {
            return Ok(None);
        };
        let (seconds, threads) = (start.elapsed().as_secs_f64(), parts.len());
        let found = join(AnyPart::all(parts)?);
        let found = found
            .ok_or_else(|| CliError::Run("the parts of the ranks do not fit together".into()))?;
        Ok(Some((found, seconds, threads, profile)))
    };
    let parallel = match profile {
        true => once(&world.clone().profile())?,
        false => once(world)?,
    };
    let Some((found, seconds, threads, profile)) = parallel else {
        return Ok(None);
    };
    // The first process alone: the others have nothing more to do.
    let single = match scaling {
        true => once(&World::threads(1))?,
        false => None,
    };
    let scaling =
        single.map(|(one, t1, ..)| ThreadScaling::new(threads, t1, seconds, one == found));
    Ok(Some(Measured {
        found,
        seconds,
        threads,
        scaling,
        profile,
    }))
}

/// What a rank does, whatever the type of its part: how it is run is compiled once for all of them.
trait AnyJob: Sync {
    fn begin<'a>(&'a self, comm: &'a Communicator) -> AnyRunning<'a>;
}

type AnyRunning<'a> = Pin<Box<dyn Future<Output = Result<AnyPart, MiningError>> + 'a>>;

/// A job whose parts are `T`.
struct RankJob<J, T>(J, PhantomData<fn() -> T>);

impl<T, J: AsyncFn(&Communicator) -> Result<T, MiningError>> RankJob<J, T> {
    fn new(job: J) -> RankJob<J, T> {
        RankJob(job, PhantomData)
    }
}

impl<T, J> AnyJob for RankJob<J, T>
where
    T: Value + Clone + Sync,
    J: AsyncFn(&Communicator) -> Result<T, MiningError> + Sync,
{
    fn begin<'a>(&'a self, comm: &'a Communicator) -> AnyRunning<'a> {
        Box::pin(async { (self.0)(comm).await.map(AnyPart::new) })
    }
}

/// The parts of all ranks, where they are wanted, and the profile of the run.
type Gathered = Option<(Vec<AnyPart>, Option<Profile>)>;

fn gathered(world: &World, everywhere: bool, job: &dyn AnyJob) -> Result<Gathered, CliError> {
    let all = everywhere && world.process().1 > 1;
    let run = world.run_outcome(async |comm| -> Result<_, CommError> {
        match job.begin(&comm).await {
            Ok(part) if all => Ok(Ok(Some(comm.allgather(part).await?))),
            Ok(part) => Ok(Ok(comm.gather(0, part).await?)),
            Err(MiningError::Comm(error)) => Err(error),
            Err(alike) => Ok(Err(alike)),
        }
    });
    let (first, profile) = match run {
        Ok(mut outcome) => (outcome.results.swap_remove(0), outcome.profile),
        Err(error) if processes::speaks(world, &error) => {
            return Err(CliError::Run(error.to_string()));
        }
        Err(_) => return Ok(None),
    };
    match first {
        Err(error) if world.process().0 == 0 => Err(refusal(error)),
        Ok(parts) => Ok(parts.map(|parts| (parts, profile))),
        Err(_) => Ok(None),
    }
}
