//! The processes of MPI as one world of ranks.

mod failed_sends;

use crate::ReceivedMessage;
use crate::binding::{Environment, Library, ThreadLevel};
use crate::engine::{Engine, EngineConfig};
use crate::error::MpiError;
use failed_sends::FailedSends;
use motet_comm::{Gone, Header, MemoryOffer, SharedMemory, Transport, TransportError};
use motet_sync::atomic::{AtomicBool, Ordering};
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// The processes that were started together, as a [`Transport`] between them.
///
/// Dropping it ends MPI when all processes have come to that, however long they take. A process
/// that is not lost is waited for, at next to no cost. A process that has lost another does not
/// wait for it.
///
/// ```no_run
/// use motet_comm::{CommError, World};
/// use motet_mpi::{Library, Processes, LibrarySearch};
///
/// let processes = Processes::start(&Library::open(&LibrarySearch::default().find()?)?)?;
/// // Four ranks in each process.
/// let world = World::over(processes, 4);
/// let sums = world.run(async |comm| -> Result<_, CommError> {
///     comm.allreduce(comm.rank(), |a, b| a + b).await
/// });
/// # drop(sums);
/// # Ok::<(), motet_mpi::MpiError>(())
/// ```
pub struct Processes {
    /// `None` when it has been dropped or left as it is.
    started: Option<Started>,
    /// A process is lost, or MPI fails: its end would wait for ever.
    broken: AtomicBool,
    /// Why sends have failed, until a look for messages tells it. A loss behind that is told in its
    /// place, after what has come from the one that is lost. `broken` is set then.
    refused: FailedSends,
    /// Where this process notes that it belongs to a run.
    note: OnceLock<PathBuf>,
}

/// In the order in which they end.
struct Started {
    engine: Engine,
    _mpi: Environment,
}

/// How long a process that leaves waits before it asks whether another one is lost.
const STEP: Duration = Duration::from_secs(1);

impl Processes {
    /// Starts MPI in this process, with the others that `mpiexec` has started. Any thread may use
    /// it. They take turns in calls of MPI, which costs less than the lock of a library that is
    /// started for calls from many threads.
    ///
    /// # Errors
    /// [`MpiError::Started`] the second time in a process; [`MpiError::Call`].
    pub fn start(library: &Library) -> Result<Arc<Processes>, MpiError> {
        Processes::new(library.start_at(ThreadLevel::Serialized)?)
    }

    /// As [`Processes::start`], where MPI was started already.
    ///
    /// # Errors
    /// [`MpiError::WrongThread`], [`MpiError::Call`].
    pub fn new(mpi: Environment) -> Result<Arc<Processes>, MpiError> {
        Processes::with(mpi, EngineConfig::default())
    }

    /// As [`Processes::new`], with an engine that works in this way.
    ///
    /// # Errors
    /// As [`Processes::new`].
    pub fn with(mpi: Environment, config: EngineConfig) -> Result<Arc<Processes>, MpiError> {
        let engine = Engine::new(&mpi.world()?, config)?;
        Ok(Arc::new(Processes {
            started: Some(Started { engine, _mpi: mpi }),
            broken: AtomicBool::new(false),
            refused: FailedSends::new(),
            note: OnceLock::new(),
        }))
    }

    /// Notes in a file that this process belongs to a run, `begun`. When it has left the others it
    /// notes `ended`, or `lost` if it has lost one of them. Whoever waits for the end of this
    /// process can tell by it whether the others still counted on it. The second call does nothing.
    pub fn note_at(&self, file: PathBuf) {
        if self.note.set(file).is_ok() {
            self.note("begun");
        }
    }

    /// What cannot be written is not: the run goes on without it.
    fn note(&self, word: &str) {
        if let Some(file) = self.note.get() {
            let _ = std::fs::write(file, word);
        }
    }

    fn engine(&self) -> &Engine {
        let started = self.started.as_ref();
        &started.expect("it is there until it is dropped").engine
    }

    /// Sends its close message, and waits until all others have sent theirs, however long they
    /// work. Were this process to end while they do, without MPI_Finalize, its launcher would end
    /// them. Who has lost another waits for nobody: one that is not seen from here may be gone too.
    fn leave(&self) -> Result<(), MpiError> {
        // Relaxed: nobody else is left.
        let limit = match self.broken.load(Ordering::Relaxed) {
            true => Duration::ZERO,
            false => STEP,
        };
        loop {
            // What comes now nobody wants; whoever is lost now need not be told.
            match self.engine().close(limit, |_| ()) {
                Err(MpiError::Silent { .. }) if !limit.is_zero() && !self.engine().has_lost() => {}
                ended => return ended,
            }
        }
    }

    fn failed(&self, error: MpiError) -> TransportError {
        // Relaxed: it is read when nobody else is left.
        self.broken.store(true, Ordering::Relaxed);
        match error {
            MpiError::PeerLost { process, reason } => TransportError::Lost { process, reason },
            error => TransportError::Failed {
                reason: error.to_string(),
            },
        }
    }

    /// A send to a process has failed. What that may come from is left to the next look for
    /// messages: it takes in first what has come, and that may name another process.
    fn refuse<T: Default>(&self, process: usize, error: MpiError) -> Result<T, TransportError> {
        let is_clear = match &error {
            MpiError::Call { .. } => false,
            MpiError::PeerLost { process, .. } => self.engine().is_lost(*process),
            _ => true,
        };
        if is_clear {
            return Err(self.failed(error));
        }
        self.refused.keep(process, error);
        // Relaxed: whoever does not see it now looks again.
        self.broken.store(true, Ordering::Relaxed);
        Ok(T::default())
    }

    /// Why a send has failed, if that was not told.
    fn refused(&self) -> Option<MpiError> {
        // Relaxed: as `refuse` says.
        let broken = self.broken.load(Ordering::Relaxed);
        let is_lost = |process| self.engine().is_lost(process);
        broken.then(|| self.refused.first(is_lost)).flatten()
    }
}

impl Transport for Processes {
    fn process(&self) -> usize {
        self.engine().process()
    }

    fn processes(&self) -> usize {
        self.engine().processes()
    }

    fn send(
        &self,
        process: usize,
        header: Header,
        payload: &mut Vec<u8>,
    ) -> Result<(), TransportError> {
        self.engine()
            .send(process, header, payload)
            .or_else(|error| self.refuse(process, error))
    }

    fn send_pieces(
        &self,
        process: usize,
        header: Header,
        pieces: &[&[u8]],
    ) -> Result<(), TransportError> {
        self.engine()
            .send_pieces(process, header, pieces)
            .or_else(|error| self.refuse(process, error))
    }

    fn send_some(
        &self,
        process: usize,
        header: Header,
        bytes: &[u8],
    ) -> Result<Gone, TransportError> {
        self.engine()
            .send_some(process, header, bytes)
            .or_else(|error| self.refuse(process, error))
    }

    fn progress(
        &self,
        deliver: &mut dyn FnMut(usize, Header, &mut Vec<u8>),
    ) -> Result<usize, TransportError> {
        self.progress_but(&mut |_| false, deliver)
    }

    fn progress_but(
        &self,
        leave: &mut dyn FnMut(&Header) -> bool,
        deliver: &mut dyn FnMut(usize, Header, &mut Vec<u8>),
    ) -> Result<usize, TransportError> {
        let deliver = |it: ReceivedMessage<'_>| deliver(it.process, it.header, it.payload);
        self.engine()
            .progress_or_cause(|| self.refused(), leave, deliver)
            .map_err(|error| {
                self.refused.told(&error);
                self.failed(error)
            })
    }

    fn read_next(
        &self,
        process: usize,
        header: &Header,
        wanted: &mut dyn FnMut() -> bool,
        read: &mut dyn FnMut(&[u8], usize),
    ) -> bool {
        self.engine().read_next(process, header, wanted, read)
    }

    fn under_way(&self) -> usize {
        self.engine().under_way()
    }

    fn wait(&self, limit: Duration) {
        self.engine().wait(limit);
    }

    fn rouse(&self) {
        self.engine().rouse();
    }

    fn sees(&self, process: usize) -> bool {
        self.engine().sees(process)
    }

    fn offer(&self, words: usize) -> Option<MemoryOffer> {
        self.engine().offer(words)
    }

    fn open(
        &self,
        process: usize,
        found_by: [u64; 2],
        words: usize,
    ) -> Option<Arc<dyn SharedMemory>> {
        self.engine().open(process, found_by, words)
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        // A thread that panics must not wait for others.
        let panics = std::thread::panicking();
        let left = !panics && self.leave().is_ok();
        if !left {
            // MPI would wait for all: it is left as it is, and ends with the process.
            Box::leak(Box::new(self.started.take()));
        }
        if !panics {
            // Who has lost another has ended its run, too. Relaxed: nobody else is left.
            let whole = left && !self.broken.load(Ordering::Relaxed);
            self.note(if whole { "ended" } else { "lost" });
        }
    }
}

impl fmt::Debug for Processes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Processes")
            .field("process", &self.engine().process())
            .field("processes", &self.engine().processes())
            .finish_non_exhaustive()
    }
}
