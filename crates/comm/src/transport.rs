//! What carries bytes between the processes of a world.

use motet_sync::thread;
use motet_values::shared_numbers::SharedMemory;
use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Bytes between processes, for [`World::over`](crate::World::over). `motet-mpi` has one over MPI.
///
/// All processes of a world are numbered from 0. No call waits, but [`Transport::wait`].
pub trait Transport: Send + Sync {
    /// This process's number.
    fn process(&self) -> usize;

    /// How many processes there are.
    fn processes(&self) -> usize;

    /// Sends a message to another process. It goes on in the background; messages from here to one
    /// process come in the order in which they were sent. The bytes are taken away or copied: what
    /// `payload` holds afterwards means nothing, and its memory may be used again. (A payload with
    /// room for a few bytes more may be taken as it is.)
    ///
    /// # Errors
    /// [`TransportError`]; the message is then lost. That a process is gone
    /// [`Transport::progress`] tells first, since what came from it comes before. Until then a
    /// message to it may be lost without an error.
    fn send(
        &self,
        process: usize,
        header: Header,
        payload: &mut Vec<u8>,
    ) -> Result<(), TransportError>;

    /// As [`Transport::send`], with a payload in several pieces. A transport that has to copy them
    /// anyway copies them from where they are.
    ///
    /// # Errors
    /// As [`Transport::send`].
    fn send_pieces(
        &self,
        process: usize,
        header: Header,
        pieces: &[&[u8]],
    ) -> Result<(), TransportError> {
        // With room for what a transport may append.
        let bytes = pieces.iter().map(|piece| piece.len()).sum::<usize>();
        let mut payload = Vec::with_capacity(bytes + 64);
        pieces
            .iter()
            .for_each(|piece| payload.extend_from_slice(piece));
        self.send(process, header, &mut payload)
    }

    /// Sends as much of these bytes, from the first on, as goes at once without a copy that waits;
    /// how much that was. They go as messages with this header, cut where it suits the transport,
    /// but only at multiples of 64 bytes. Who has more to send calls it again, after
    /// [`Transport::progress`]. (A transport that knows nothing better sends all of them as one.)
    ///
    /// # Errors
    /// As [`Transport::send`].
    fn send_some(
        &self,
        process: usize,
        header: Header,
        bytes: &[u8],
    ) -> Result<Gone, TransportError> {
        self.send_pieces(process, header, &[bytes])?;
        Ok(Gone {
            bytes: bytes.len(),
            messages: 1,
        })
    }

    /// Takes in what has come and gives it to `deliver`, with the process it comes from. Also goes
    /// on with sends. The number of messages that were given, and of parts of long ones that came
    /// or went: while there are some, who waits looks on. Any thread may call it, and several at
    /// once: whoever finds another at it gets 0.
    ///
    /// `deliver` may take the payload away, and it may send; it does not wait.
    ///
    /// # Errors
    /// [`TransportError::Lost`] once for each process that is found to be gone, after all that came
    /// from it was delivered; [`TransportError::Failed`].
    fn progress(
        &self,
        deliver: &mut dyn FnMut(usize, Header, &mut Vec<u8>),
    ) -> Result<usize, TransportError>;

    /// As [`Transport::progress`], but asks `leave` about the next message from each process. Where
    /// `leave` says so, that one and those behind it from there stay where they are, for
    /// [`Transport::read_next`]. (A transport that makes room for what comes leaves nothing.)
    ///
    /// # Errors
    /// As [`Transport::progress`].
    fn progress_but(
        &self,
        leave: &mut dyn FnMut(&Header) -> bool,
        deliver: &mut dyn FnMut(usize, Header, &mut Vec<u8>),
    ) -> Result<usize, TransportError> {
        let _ = leave;
        self.progress(deliver)
    }

    /// Takes the next message from `process` in, if it has come with this header and `wanted` says
    /// so. `read` gets its bytes in order, a block of a multiple of 64 after the other. It gets
    /// each block before the next have left where they are, and with it how many bytes follow.
    /// Whether one was taken in. `wanted` is called while no other thread takes anything in; `read`
    /// does not wait. (A transport that makes room for what comes takes nothing in this way: it
    /// comes by [`Transport::progress`].)
    fn read_next(
        &self,
        process: usize,
        header: &Header,
        wanted: &mut dyn FnMut() -> bool,
        read: &mut dyn FnMut(&[u8], usize),
    ) -> bool {
        let _ = (process, header, wanted, read);
        false
    }

    /// Messages that were sent and need further calls of [`Transport::progress`] to leave this
    /// process.
    fn under_way(&self) -> usize {
        0
    }

    /// Waits until there may be something for [`Transport::progress`] to take in or to finish, but
    /// not longer than `limit`. [`Transport::rouse`] ends the wait, also when it was called before.
    /// One thread at a time calls it. (A transport that nobody can wake waits for a fraction of a
    /// millisecond.)
    fn wait(&self, limit: Duration) {
        thread::park_timeout(limit.min(NAP));
    }

    /// Ends the wait of another thread, or its next one.
    fn rouse(&self) {}

    /// Whether [`Transport::progress`] tells within seconds when this process is gone. Of one that
    /// is not seen a run makes sure by itself, by messages that say from time to time that it is
    /// there.
    fn sees(&self, process: usize) -> bool {
        let _ = process;
        false
    }

    /// New memory of so many words that other processes of this machine can open, as long as the
    /// offer is kept. `None`: there is none. (A transport that knows of no such memory says so.)
    fn offer(&self, words: usize) -> Option<MemoryOffer> {
        let _ = words;
        None
    }

    /// The memory of so many words that a process offers and that is found by these numbers. It is
    /// there as long as anybody has it, also when that process is gone. `None`: it cannot be opened
    /// from here.
    fn open(
        &self,
        process: usize,
        found_by: [u64; 2],
        words: usize,
    ) -> Option<Arc<dyn SharedMemory>> {
        let _ = (process, found_by, words);
        None
    }
}

/// Memory that other processes of this machine can open.
pub struct MemoryOffer {
    /// What they find it by.
    pub found_by: [u64; 2],
    /// The memory.
    pub memory: Arc<dyn SharedMemory>,
    /// What keeps it open to them.
    pub kept: Box<dyn Any>,
}

impl fmt::Debug for MemoryOffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut offer = f.debug_struct("MemoryOffer");
        offer.field("found_by", &self.found_by);
        offer.finish_non_exhaustive()
    }
}

/// How long is waited for what comes where it wakes nobody.
const NAP: Duration = Duration::from_micros(200);

/// What stands on a message between processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Header {
    /// What keeps apart messages that must not meet.
    pub context: u64,
    /// Who sends.
    pub source: u32,
    /// Who is to receive.
    pub destination: u32,
    /// What it is about.
    pub tag: u32,
}

/// What [`Transport::send_some`] has sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Gone {
    /// So many of the bytes.
    pub bytes: usize,
    /// In so many messages.
    pub messages: usize,
}

/// Why a transport cannot go on.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum TransportError {
    /// A process is gone that should be there.
    Lost {
        /// The process.
        process: usize,
        /// How that was found.
        reason: String,
    },
    /// The transport itself has failed.
    Failed {
        /// What it says.
        reason: String,
    },
}

impl fmt::Display for TransportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TransportError::Lost { process, reason } => {
                write!(f, "process {process} is lost: {reason}")
            }
            TransportError::Failed { reason } => f.write_str(reason),
        }
    }
}

impl std::error::Error for TransportError {}
