//! Messages between processes: of any length, in order, moved on by whoever has time.
//!
//! ```text
//!        to a process that shares memory          ring ──────────────────────────────────► deliver
//!  send ─┤
//!        └─► Isend ─► [under way] ─┐                     ┌─► Improbe ─► Imrecv ─► [arriving] ─► deliver
//!                                  └── progress() tests ──┘
//! ```
//!
//! Processes of one machine share memory, and messages between them go through it (`shared.rs`). To
//! others a message is one message of MPI, whatever its length. The receiver asks for the length
//! before it makes room (matched probe, MPI 5.0 section 3.8.2). So short ones go at once and long
//! ones as the library sends long messages. MPI keeps the order between two processes; the engine
//! keeps it where a long message is still arriving when a short one is there.
//!
//! No call here waits, but [`Engine::close`]: a worker with nothing else to do calls
//! [`Engine::progress`], and so does a busy one from time to time.

mod arrivals;
mod closing;
mod connections;
mod envelope;
mod losing;
mod peer_states;
mod peers;
mod receiving;
mod sending;
mod shared;
mod under_way;
mod waiting;

pub use envelope::ReceivedMessage;

use crate::binding::{Comm, Request};
use crate::engine::closing::Closing;
use crate::engine::envelope::{Kind, unpack};
use crate::engine::losing::DYING;
use crate::engine::peer_states::{PeerState, PeerStates};
use crate::engine::peers::Peers;
use crate::engine::receiving::Receiving;
use crate::engine::shared::{Bedroom, RingOutput, Senders, offered, open_ways};
use crate::engine::under_way::UnderWay;
use crate::error::MpiError;
use motet_comm::{Header, MemoryOffer, SharedMemory};
use motet_sync::Mutex;
use std::sync::Arc;
use std::time::Duration;

/// How an engine works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineConfig {
    /// How many messages one call of [`Engine::progress`] takes in at most, so that its caller gets
    /// back to other work.
    pub at_once: usize,
    /// How often the other processes of the machine are looked at.
    pub look_every: Duration,
    /// Whether messages between processes of a machine go through memory that they share. They go
    /// over MPI where one of the two says no, or the machine does not let them.
    pub share_memory: bool,
}

/// Moves messages between this process and the others of a communicator.
///
/// Any number of threads may use it. Sends do not wait for each other but for the library's own
/// locks, and one thread at a time takes messages in.
#[derive(Debug)]
pub struct Engine {
    comm: Comm,
    config: EngineConfig,
    peers: Peers,
    peer_states: PeerStates,
    shared: Senders,
    /// Whether there are processes that MPI must be asked about.
    asks_mpi: bool,
    closing: Mutex<Closing>,
    receiving: Mutex<Receiving>,
    bedroom: Bedroom,
    /// Locked under the others, never the other way round.
    sending: Mutex<UnderWay>,
}

impl Engine {
    /// An engine on a communicator of its own with the processes of `comm`. All processes call it.
    ///
    /// # Errors
    /// [`MpiError::WrongThread`], [`MpiError::Call`].
    pub fn new(comm: &Comm, config: EngineConfig) -> Result<Engine, MpiError> {
        let comm = comm.dup()?;
        let processes = comm.size();
        let peers = Peers::meet(&comm)?;
        let (senders, receivers, bedroom) = open_ways(&comm, &peers, config.share_memory)?;
        Ok(Engine {
            peers,
            peer_states: PeerStates::new(processes, comm.rank()),
            asks_mpi: !senders.reach_all(),
            shared: senders,
            closing: Mutex::new(Closing::new(processes)),
            sending: Mutex::new(UnderWay::new(processes)),
            receiving: Mutex::new(Receiving::new(processes, receivers)),
            bedroom,
            comm,
            config,
        })
    }

    /// This process's number.
    #[must_use]
    pub fn process(&self) -> usize {
        self.comm.rank()
    }

    /// How many processes there are.
    #[must_use]
    pub fn processes(&self) -> usize {
        self.comm.size()
    }

    /// New memory of so many words that other processes of this machine can open. `None` where
    /// there is none, or the engine shares none.
    #[must_use]
    pub fn offer(&self, words: usize) -> Option<MemoryOffer> {
        let own = self.peers.whole_number(self.process());
        self.config
            .share_memory
            .then(|| offered::offer(own, words))?
    }

    /// The memory that a process offers, if it is on this machine. `found_by` is of its offer.
    #[must_use]
    pub fn open(
        &self,
        process: usize,
        found_by: [u64; 2],
        words: usize,
    ) -> Option<Arc<dyn SharedMemory>> {
        let number = self.sees(process).then(|| self.peers.number(process))?;
        let own = self.peers.whole_number(self.process());
        offered::open(own, number, found_by, words)
    }

    /// Whether the other process is on this machine, so that [`Engine::progress`] sees its end.
    #[must_use]
    pub fn sees(&self, process: usize) -> bool {
        self.peers.sees(process)
    }

    /// Messages that were sent and are not gone yet: the memory they hold grows while the others do
    /// not take them in.
    #[must_use]
    pub fn under_way(&self) -> usize {
        self.sending.lock().len() + self.shared.waiting()
    }

    /// Takes in what has come, at most so much as the configuration says, and finishes sends. Gives
    /// the number of messages it delivered and of parts of long ones that it moved: 0 also when
    /// another thread is at it. Never waits.
    ///
    /// `deliver` gets the messages of each process in order. It may send; it must not wait.
    ///
    /// # Errors
    /// [`MpiError::PeerLost`] once for each process that is found to be gone, after all that came
    /// from it was delivered; [`MpiError::Malformed`]; [`MpiError::Call`].
    pub fn progress(&self, deliver: impl FnMut(ReceivedMessage<'_>)) -> Result<usize, MpiError> {
        self.progress_but(|_| false, deliver)
    }

    /// As [`Engine::progress`], but `leave` is asked of the next message from a process that has
    /// come through memory. Where it says so, that one and those behind it from there stay, for
    /// [`Engine::read_next`].
    ///
    /// # Errors
    /// As [`Engine::progress`].
    pub fn progress_but(
        &self,
        leave: impl FnMut(&Header) -> bool,
        deliver: impl FnMut(ReceivedMessage<'_>),
    ) -> Result<usize, MpiError> {
        self.look(|| None, Duration::ZERO, leave, deliver)
    }

    /// As [`Engine::progress_but`], also with an error that a send has met before, which `refused`
    /// gives. An error of MPI may come from the loss of a process: one that is dying is not there
    /// for the library any more, while the system still calls it running. Such a loss is waited
    /// for, half a second at most, and told in place of the error. That is not waited for again
    /// where a loss is known, or none was found.
    ///
    /// # Errors
    /// As [`Engine::progress`].
    pub(crate) fn progress_or_cause(
        &self,
        refused: impl FnOnce() -> Option<MpiError>,
        leave: impl FnMut(&Header) -> bool,
        deliver: impl FnMut(ReceivedMessage<'_>),
    ) -> Result<usize, MpiError> {
        self.look(refused, DYING, leave, deliver)
    }

    /// Takes in what has come, and tells who is lost. One that is dying is waited for so long when
    /// MPI says that something has failed.
    fn look(
        &self,
        refused: impl FnOnce() -> Option<MpiError>,
        dying: Duration,
        mut leave: impl FnMut(&Header) -> bool,
        mut deliver: impl FnMut(ReceivedMessage<'_>),
    ) -> Result<usize, MpiError> {
        let Some(mut receiving) = self.receiving.try_lock() else {
            return Ok(0);
        };
        let receiving = &mut *receiving;
        let gone = self.finish_sends(receiving, &mut deliver);
        // Also where that has failed: what has come may say why.
        let came = self.take_in(receiving, &mut leave, &mut deliver);
        let taken = gone
            .and_then(|gone| Ok(gone + came?))
            .and_then(|taken| refused().map_or(Ok(taken), Err));
        // A library that notices a loss does not say whose.
        if receiving.is_due(self.config.look_every) || taken.is_err() {
            self.find_lost(receiving, &mut deliver);
        }
        if matches!(taken, Err(MpiError::Call { .. })) && !dying.is_zero() {
            self.await_loss(receiving, dying, &mut leave, &mut deliver);
        }
        match receiving.untold() {
            Some(lost) => Err(lost),
            None => taken,
        }
    }

    /// Takes the next message from `process` in, if it has come through memory with this header and
    /// `wanted` says so. It gives the bytes to `read`, block by block, with each how many follow
    /// it. Whether one was taken in.
    ///
    /// `wanted` is called while no other thread takes anything in. `read` must not wait.
    pub fn read_next(
        &self,
        process: usize,
        header: &Header,
        wanted: impl FnOnce() -> bool,
        read: impl FnMut(&[u8], usize),
    ) -> bool {
        let Some(mut receiving) = self.receiving.try_lock() else {
            return false;
        };
        // What a process has sent that was lost nobody gets.
        self.peer_states.get(process) != PeerState::Lost
            && wanted()
            && receiving.shared.read_next(process, header, read)
    }

    /// Whether a process was lost: what it had sent has been delivered.
    pub(crate) fn is_lost(&self, process: usize) -> bool {
        self.peer_states.get(process) == PeerState::Lost
    }

    /// Delivers what is here, at most so much as the configuration says.
    fn take_in(
        &self,
        receiving: &mut Receiving,
        leave: &mut impl FnMut(&Header) -> bool,
        deliver: &mut impl FnMut(ReceivedMessage<'_>),
    ) -> Result<usize, MpiError> {
        let at_once = self.config.at_once;
        let mut take = |process, came: RingOutput<'_>| self.deliver_shared(process, came, deliver);
        let taken = receiving.shared.take_in(at_once, leave, &mut take)?;
        if !self.asks_mpi {
            return Ok(taken);
        }
        let arrived = receiving
            .arrivals
            .take_in(&self.comm, at_once, |process, request| {
                self.deliver_message(process, request, deliver)
            })?;
        Ok(taken + arrived)
    }

    /// Delivers what has come through shared memory.
    fn deliver_shared(
        &self,
        process: usize,
        came: RingOutput<'_>,
        deliver: &mut impl FnMut(ReceivedMessage<'_>),
    ) -> Result<(), MpiError> {
        match came {
            // Whoever waited for it has been told that it is lost.
            RingOutput::Message(..) if self.peer_states.get(process) == PeerState::Lost => {}
            RingOutput::Message(header, payload) => deliver(ReceivedMessage {
                process,
                header,
                payload,
            }),
            RingOutput::Close => self.peer_states.close(process),
            RingOutput::Nonsense => return Err(MpiError::Malformed { process, bytes: 0 }),
        }
        Ok(())
    }

    /// Delivers one message that is here.
    fn deliver_message(
        &self,
        process: usize,
        request: Request,
        deliver: &mut impl FnMut(ReceivedMessage<'_>),
    ) -> Result<(), MpiError> {
        let bytes = request.into_bytes().expect("it has ended");
        let length = bytes.len();
        let Some((kind, header, mut payload)) = unpack(bytes) else {
            return Err(MpiError::Malformed {
                process,
                bytes: length,
            });
        };
        match kind {
            Kind::Message if self.peer_states.get(process) == PeerState::Lost => {}
            Kind::Message => deliver(ReceivedMessage {
                process,
                header,
                payload: &mut payload,
            }),
            Kind::Close => self.peer_states.close(process),
        }
        Ok(())
    }
}

impl Default for EngineConfig {
    fn default() -> Self {
        EngineConfig {
            at_once: 64,
            look_every: Duration::from_millis(100),
            share_memory: true,
        }
    }
}
