//! The world that a program was started in.

use crate::why::tell_why;
use motet_comm::{Imbalance, Transport, WeakWorld, World};
use motet_mpi::{Library, LibrarySearch, MpiError, Processes};
use motet_sync::Mutex;
use std::env;
use std::fmt;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

/// Gives a program the world that it was started in.
///
/// Under `motet run`, `mpiexec` or `srun` with several processes that is all of them; a program
/// that was started by itself has this process alone. The program is the same. How many ranks there
/// are in each process says `MOTET_THREADS`; without it there is one per core where a process is
/// alone, and otherwise one.
///
/// `SIGUSR1` to any of the processes makes the first one print who waits for whom, on standard
/// error. `MOTET_WHY` makes it do so every so many seconds: see [`tell_why`].
///
/// With `MOTET_BALANCE=10%` a run that ends well speaks on standard error. It does so if it loses
/// at least 10 % of its time to ranks that compute longer than the others in some stage. See
/// [`World::on_imbalance`].
///
/// Several processes need an MPI library with the MPI-5 standard ABI. It is looked for where
/// `MOTET_MPI_LIB` says, else in the active environment of Python and where systems put libraries.
/// A variable that is empty says nothing.
///
/// ```
/// use motet::{CommError, Current, World};
///
/// let world = World::current()?;
/// let sums = world.run(async |comm| -> Result<_, CommError> { comm.allreduce(1, |a, b| a + b).await });
/// assert!(sums.unwrap()[0] >= 1);
/// # Ok::<(), motet::CurrentError>(())
/// ```
pub trait Current: Sized {
    /// The world that this program was started in: the same each time, as MPI can be started once.
    /// MPI ends when the last copy is dropped; after that there is none any more.
    ///
    /// # Errors
    /// [`CurrentError`].
    fn current() -> Result<Self, CurrentError> {
        Self::current_with(&CurrentConfig::default())
    }

    /// The same, by what the program says of it. Where there is a current world already it is that
    /// one, whatever it was started with.
    ///
    /// ```
    /// use motet::{Current, CurrentConfig, World};
    ///
    /// let config = CurrentConfig { threads: Some(3), ..CurrentConfig::default() };
    /// assert_eq!(World::current_with(&config)?.size(), 3);
    /// # Ok::<(), motet::CurrentError>(())
    /// ```
    ///
    /// # Errors
    /// [`CurrentError`].
    fn current_with(config: &CurrentConfig) -> Result<Self, CurrentError>;

    /// Whether a launcher has started this process beside others.
    #[must_use]
    fn is_one_of_several() -> bool;
}

/// What a program says of its current world; what it leaves open the environment says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CurrentConfig {
    /// Ranks in each process, from 1; `None`: as `MOTET_THREADS` says.
    pub threads: Option<usize>,
    /// The MPI library, a file or a folder that holds it; `None`: as `MOTET_MPI_LIB` says, else it
    /// is looked for.
    pub library: Option<PathBuf>,
}

/// Why there is no current world.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum CurrentError {
    /// What `MOTET_THREADS` or [`CurrentConfig::threads`] says is no number of ranks.
    Threads(String),
    /// The processes cannot talk to each other.
    Mpi(MpiError),
    /// The launcher has started another number of processes than the MPI library knows of: it is
    /// not the library's.
    Launcher {
        /// How many the launcher says there are.
        launched: usize,
        /// How many the library says there are.
        found: usize,
        /// The library.
        library: PathBuf,
    },
    /// `MOTET_WHY` is no time.
    Why(String),
    /// `MOTET_PROGRAM` is no number of a program.
    Program(String),
    /// `MOTET_BALANCE` is no share of the time.
    Balance(String),
    /// Nobody could print reports, for this reason.
    Reports(String),
}

/// What launchers set in the processes that they start: how many there are, or which one this is.
const SIZES: [&str; 4] = [
    "PMI_SIZE",
    "OMPI_COMM_WORLD_SIZE",
    "PALS_SIZE",
    "SLURM_STEP_NUM_TASKS",
];
const RANKS: [&str; 2] = ["PMI_RANK", "PMIX_RANK"];

/// The environment variable by which `motet run` names the file where a process notes that its run
/// has begun, and that it has ended ([`Processes::note_at`]).
pub const RUN_NOTE: &str = "MOTET_RUN_NOTE";

impl Current for World {
    fn current_with(config: &CurrentConfig) -> Result<World, CurrentError> {
        static CURRENT: OnceLock<Mutex<Option<WeakWorld>>> = OnceLock::new();
        let mut current = CURRENT.get_or_init(Mutex::default).lock();
        if let Some(world) = current.as_ref().and_then(WeakWorld::upgrade) {
            return Ok(world);
        }
        let every = said("MOTET_WHY").map(|text| seconds(&text)).transpose()?;
        let balance = said("MOTET_BALANCE").map(|text| share(&text)).transpose()?;
        let mut world = start(config)?;
        if let Some(least_share) = balance {
            world = world.on_imbalance(least_share, warn);
        }
        tell_why(&world, every).map_err(|error| CurrentError::Reports(error.to_string()))?;
        *current = Some(world.downgrade());
        Ok(world)
    }

    fn is_one_of_several() -> bool {
        match launched().first() {
            Some(&size) => size > 1,
            None => RANKS.iter().any(|name| env::var_os(name).is_some()),
        }
    }
}

/// What launchers say of how many processes there are: a launcher that was started by another
/// leaves that one's word.
fn launched() -> Vec<usize> {
    let said = SIZES.iter().filter_map(|name| env::var(name).ok());
    said.filter_map(|text| text.parse().ok()).collect()
}

/// What a variable of the environment says; one that is empty says nothing.
pub(crate) fn said(name: &str) -> Option<String> {
    // What is no text is told as what it looks like.
    path_said(name).map(|text| text.to_string_lossy().into_owned())
}

fn path_said(name: &str) -> Option<PathBuf> {
    let text = env::var_os(name).filter(|text| !text.is_empty());
    text.map(PathBuf::from)
}

fn start(config: &CurrentConfig) -> Result<World, CurrentError> {
    let threads = config.threads.map(|threads| threads.to_string());
    let threads = threads.or_else(|| said("MOTET_THREADS"));
    let threads = threads.map(|text| ranks(&text)).transpose()?;
    if !World::is_one_of_several() {
        return Ok(World::threads(threads.unwrap_or(0)));
    }
    let named = path_said("MOTET_MPI_LIB");
    let named = config.library.clone().or(named);
    let search = LibrarySearch::usual(named, |name| env::var_os(name));
    let path = search.find().map_err(CurrentError::Mpi)?;
    let processes = Library::open(&path).and_then(|library| Processes::start(&library));
    let processes = processes.map_err(CurrentError::Mpi)?;
    belongs(&launched(), processes.processes(), &path)?;
    if let Some(note) = path_said(RUN_NOTE) {
        processes.note_at(note);
    }
    Ok(World::over(processes, threads.unwrap_or(1)))
}

/// A library that was started by another launcher than its own finds each process alone.
fn belongs(launched: &[usize], found: usize, library: &Path) -> Result<(), CurrentError> {
    let several = launched.iter().find(|&&size| size > 1);
    match several {
        Some(&several) if !launched.contains(&found) => Err(CurrentError::Launcher {
            launched: several,
            found,
            library: library.to_owned(),
        }),
        _ => Ok(()),
    }
}

/// Says what a run has lost to ranks that compute longer than others.
fn warn(found: &[Imbalance]) {
    let lines: String = found.iter().map(|one| format!("motet: {one}\n")).collect();
    // Where nobody reads it, nothing is lost.
    let _ = io::stderr().lock().write_all(lines.as_bytes());
}

/// A share of the time, above 0 and up to 1.
fn share(text: &str) -> Result<f64, CurrentError> {
    let percent = text.trim().strip_suffix('%').map(str::trim);
    let percent = percent.and_then(|number| number.parse::<f64>().ok());
    match percent {
        Some(percent) if percent > 0.0 && percent <= 100.0 => Ok(percent / 100.0),
        _ => Err(CurrentError::Balance(text.to_owned())),
    }
}

/// A time above zero.
fn seconds(text: &str) -> Result<Duration, CurrentError> {
    let seconds = text.trim().parse().ok();
    seconds
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .filter(|time| !time.is_zero())
        .ok_or_else(|| CurrentError::Why(text.to_owned()))
}

fn ranks(text: &str) -> Result<usize, CurrentError> {
    match text.trim().parse() {
        Ok(ranks) if ranks > 0 => Ok(ranks),
        _ => Err(CurrentError::Threads(text.to_owned())),
    }
}

impl fmt::Display for CurrentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CurrentError::Threads(text) => write!(
                f,
                "MOTET_THREADS, or what the program says in its place, is {text:?}: it must be the number of ranks \
                 in each process, from 1"
            ),
            CurrentError::Why(text) => write!(
                f,
                "MOTET_WHY is {text:?}: it must be the seconds between two reports, above 0"
            ),
            CurrentError::Program(text) => write!(
                f,
                "MOTET_PROGRAM is {text:?}: it must be the number of the program in the line that started the run, \
                 from 0, or not set"
            ),
            CurrentError::Balance(text) => write!(
                f,
                "MOTET_BALANCE is {text:?}: it must be the share of a run that imbalance may take without a word, \
                 in percent, above 0, as in 10%"
            ),
            CurrentError::Reports(reason) => {
                write!(f, "nobody could tell who waits for whom: {reason}")
            }
            CurrentError::Mpi(error) => {
                write!(f, "the processes cannot talk to each other: {error}")
            }
            CurrentError::Launcher {
                launched,
                found,
                library,
            } => write!(
                f,
                "the launcher has started {launched} processes, but the MPI library {} finds {found}: they do not \
                 belong together; use the mpiexec beside the library, as `motet run` does, or name the launcher's \
                 own library by MOTET_MPI_LIB",
                library.display()
            ),
        }
    }
}

impl std::error::Error for CurrentError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sem_g332_a_launcher_and_a_library_that_differ_are_named() {
        let library = Path::new("/m/libmpi_abi.so.1");
        // Nothing is known, all is well, and a launcher inside another one.
        for (launched, found) in [(&[][..], 1), (&[1], 1), (&[4], 4), (&[2, 4], 4)] {
            assert_eq!(belongs(launched, found, library), Ok(()));
        }
        let told = belongs(&[4], 1, library).unwrap_err().to_string();
        for words in ["4 processes", "finds 1", "/m/libmpi_abi.so.1", "motet run"] {
            assert!(told.contains(words), "{words}: {told}");
        }
    }

    #[test]
    fn times_are_seconds_above_zero() {
        assert_eq!(seconds(" 0.5 "), Ok(Duration::from_millis(500)));
        for wrong in ["0", "-1", "inf", "1e99", "often", ""] {
            let error = seconds(wrong).unwrap_err();
            assert!(error.to_string().contains(&format!("{wrong:?}")), "{error}");
        }
    }

    #[test]
    fn sem_g329_a_share_is_in_percent() {
        for (text, is) in [("10%", 0.1), (" 2.5 % ", 0.025), ("100%", 1.0)] {
            assert_eq!(share(text), Ok(is));
        }
        for wrong in ["10", "0%", "-1%", "101%", "nan%", "inf%", "some", ""] {
            let error = share(wrong).unwrap_err().to_string();
            assert!(error.contains("10%"), "{error}");
        }
    }

    #[test]
    fn ranks_are_numbers_from_one() {
        assert_eq!(ranks(" 8 "), Ok(8));
        for wrong in ["0", "-1", "two", ""] {
            let error = ranks(wrong).unwrap_err();
            assert!(error.to_string().contains(&format!("{wrong:?}")), "{error}");
        }
    }
}
