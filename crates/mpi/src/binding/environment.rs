//! The started library.

use super::abi;
use super::comm::Comm;
use super::library::{Library, ThreadLevel, text};
use super::running::Running;
use crate::error::MpiError;
use std::sync::Arc;

/// MPI, started in this process (MPI 5.0, section 11.2).
///
/// ```no_run
/// use motet_mpi::{Library, LibrarySearch};
///
/// let library = Library::open(&LibrarySearch::default().find()?)?;
/// let mpi = library.start()?;
/// let world = mpi.world()?;
/// println!("process {} of {}", world.rank(), world.size());
/// mpi.finish()?;
/// # Ok::<(), motet_mpi::MpiError>(())
/// ```
#[derive(Debug)]
pub struct Environment {
    running: Arc<Running>,
}

impl Library {
    /// Starts MPI with this library, so that any thread may call it if the library can do that.
    ///
    /// A process that was not started by `mpiexec` is a world of its own.
    ///
    /// # Errors
    /// [`MpiError::Started`] the second time in a process; [`MpiError::Call`] when it fails.
    pub fn start(&self) -> Result<Environment, MpiError> {
        self.start_at(ThreadLevel::Multiple)
    }

    /// Starts MPI for calls from no more threads than this; some libraries are faster then. They
    /// may give more or less than was asked for: [`Environment::level`] says which.
    ///
    /// # Errors
    /// As [`Library::start`].
    pub fn start_at(&self, level: ThreadLevel) -> Result<Environment, MpiError> {
        Ok(Environment {
            running: Arc::new(Running::start(self, level)?),
        })
    }
}

impl Environment {
    /// The library that was started.
    #[must_use]
    pub fn library(&self) -> &Library {
        self.running.library()
    }

    /// From how many threads it may be called. At [`ThreadLevel::Serialized`] calls take turns.
    /// Those that wait for other processes are tests again and again, each a turn of its own. The
    /// collectives with values, [`Comm::dup`], [`Comm::split_shared`] and [`Comm::free`] are not:
    /// these keep their turn to the end. Below it other threads get an error.
    #[must_use]
    pub fn level(&self) -> ThreadLevel {
        self.running.level()
    }

    /// All processes (`MPI_COMM_WORLD`). Its errors are returned, as those of all communicators
    /// made from it.
    ///
    /// # Errors
    /// [`MpiError::WrongThread`], [`MpiError::Call`].
    pub fn world(&self) -> Result<Comm, MpiError> {
        Comm::of(&self.running, abi::COMM_WORLD)
    }

    /// The name of the machine that this process runs on (`MPI_Get_processor_name`).
    ///
    /// # Errors
    /// [`MpiError::WrongThread`].
    pub fn processor_name(&self) -> Result<String, MpiError> {
        let mut name = String::new();
        self.running.call("MPI_Get_processor_name", |symbols| {
            name = text(abi::MAX_PROCESSOR_NAME, |to, length| {
                // SAFETY: MPI is started; the room is what the standard asks for.
                unsafe { (symbols.get_processor_name)(to, length) }
            });
            abi::SUCCESS
        })?;
        Ok(name)
    }

    /// Seconds since some time in the past (`MPI_Wtime`).
    #[must_use]
    pub fn wtime(&self) -> f64 {
        // SAFETY: MPI is started; the function has no arguments and may be called by any thread.
        unsafe { (self.library().symbols.wtime)() }
    }

    /// Ends all processes of the world with this exit code, without waiting for anything, a call of
    /// another thread neither (`MPI_Abort`).
    ///
    /// # Errors
    /// [`MpiError::WrongThread`]; when the library returns, which it should not.
    pub fn abort(&self, code: i32) -> Result<(), MpiError> {
        self.running.abort(code)
    }

    /// Ends MPI (`MPI_Finalize`): waits for all processes. Dropping the last user does the same,
    /// and nobody hears of an error then: below [`ThreadLevel::Serialized`] that must be on the
    /// thread that started MPI.
    ///
    /// # Errors
    /// [`MpiError::InUse`] while communicators or requests are there: MPI then ends with the last
    /// of them. When this is the last user, MPI has ended, or it never will. The error is then
    /// [`MpiError::NotEnded`] on a thread that panics, which must not wait for others,
    /// [`MpiError::WrongThread`] or [`MpiError::Call`].
    pub fn finish(self) -> Result<(), MpiError> {
        match Arc::into_inner(self.running) {
            Some(last) => last.end(),
            None => Err(MpiError::InUse),
        }
    }
}
