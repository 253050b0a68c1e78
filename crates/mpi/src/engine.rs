//! Messages between processes: of any length, in order, moved on by whoever has time.
//!
//! ```text
//!  send ─► Isend ─► [under way] ─┐                     ┌─► Improbe ─► Imrecv ─► [arriving] ─► deliver
//!                                └── progress() tests ──┘
//! ```
//!
//! A message is one message of MPI, whatever its length: the receiver asks for the length before it
//! makes room (matched probe, MPI 5.0 section 3.8.2), so short ones go at once and long ones as the
//! library sends long messages. MPI keeps the order between two processes; the engine keeps it where
//! a long message is still arriving when a short one is there.
//!
//! No call here waits, but [`Engine::close`]: a worker with nothing else to do calls
//! [`Engine::progress`], and so does a busy one from time to time.

mod envelope;
mod peers;
mod sides;

pub use envelope::{Envelope, Header};

use crate::binding::{Comm, Request, RequestSet};
use crate::engine::envelope::{Kind, pack, unpack};
use crate::engine::peers::Peers;
use crate::engine::sides::{Side, Sides};
use crate::error::MpiError;
use motet_sync::{Mutex, thread};
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// How an engine works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineConfig {
    /// How many messages one call of [`Engine::progress`] takes in at most, so that its caller gets
    /// back to other work.
    pub at_once: usize,
    /// How often the other processes of the machine are looked at.
    pub look_every: Duration,
}

/// Moves messages between this process and the others of a communicator.
///
/// Any number of threads may use it: sends do not wait for each other but for the library's own
/// locks, and one thread at a time takes messages in.
#[derive(Debug)]
pub struct Engine {
    comm: Comm,
    config: EngineConfig,
    peers: Peers,
    sides: Sides,
    sending: Mutex<RequestSet<usize>>,
    receiving: Mutex<Receiving>,
}

/// What one thread at a time does.
#[derive(Debug)]
struct Receiving {
    /// By process: messages that are matched, in order, and not all here.
    arriving: Vec<VecDeque<Request>>,
    /// The processes whose messages are arriving.
    busy: Vec<usize>,
    /// When the other processes were last looked at.
    looked: Instant,
    /// Calls until the clock is asked again.
    patience: u32,
}

/// All messages have one tag of MPI: only so does it keep their order.
const TAG: i32 = 1;

/// So many calls without a message until the clock is asked, which costs a tenth of a call.
const CALLS: u32 = 64;

impl Engine {
    /// An engine on a communicator of its own with the processes of `comm`. All processes call it.
    ///
    /// # Errors
    /// [`MpiError::WrongThread`], [`MpiError::Call`].
    pub fn new(comm: &Comm, config: EngineConfig) -> Result<Engine, MpiError> {
        let comm = comm.dup()?;
        let processes = comm.size();
        Ok(Engine {
            peers: Peers::meet(&comm)?,
            sides: Sides::new(processes),
            sending: Mutex::new(RequestSet::new()),
            receiving: Mutex::new(Receiving {
                arriving: (0..processes).map(|_| VecDeque::new()).collect(),
                busy: Vec::new(),
                looked: Instant::now(),
                patience: CALLS,
            }),
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

    /// Messages that were sent and are not gone yet: the memory they hold grows while the others do
    /// not take them in.
    #[must_use]
    pub fn under_way(&self) -> usize {
        self.sending.lock().len()
    }

    /// Sends a message. It goes on in the background; messages from here to one process come in the
    /// order in which they were sent. (A payload with room for 24 bytes more is not copied here.)
    ///
    /// # Errors
    /// [`MpiError::NoSuchProcess`]; [`MpiError::Closed`] when this process has closed;
    /// [`MpiError::PeerLost`] when the other is gone; [`MpiError::Call`].
    pub fn send(&self, process: usize, header: Header, payload: Vec<u8>) -> Result<(), MpiError> {
        self.sides.check(process, self.process())?;
        self.start(process, Kind::Message, header, payload)
    }

    /// Takes in what has come, at most so much as the configuration says, and finishes sends. Gives
    /// the number of messages it delivered: 0 also when another thread is at it. Never waits.
    ///
    /// `deliver` gets the messages of each process in order. It may send; it must not wait.
    ///
    /// # Errors
    /// [`MpiError::PeerLost`] once for each process that is found to be gone, after all that came
    /// from it was delivered; [`MpiError::Malformed`]; [`MpiError::Call`].
    pub fn progress(&self, mut deliver: impl FnMut(Envelope)) -> Result<usize, MpiError> {
        self.finish_sends()?;
        let Some(mut receiving) = self.receiving.try_lock() else {
            return Ok(0);
        };
        match self.take_in(&mut receiving, &mut deliver) {
            Ok(0) => self.look(&mut receiving, &mut deliver).map(|()| 0),
            Ok(delivered) => Ok(delivered),
            // A library that notices a loss does not say whose.
            Err(error) => match self.find_lost(&mut receiving, &mut deliver) {
                Ok(()) => Err(error),
                Err(lost) => Err(lost),
            },
        }
    }

    /// Ends the sending of this process and waits until all others have ended theirs and all messages
    /// have been delivered, or until `limit` has passed. All processes call it, from one thread.
    ///
    /// # Errors
    /// [`MpiError::PeerLost`] when a process was lost, now or before, after the others have closed;
    /// [`MpiError::Silent`] with the processes that have not closed within the limit; as
    /// [`Engine::progress`].
    pub fn close(
        &self,
        limit: Duration,
        mut deliver: impl FnMut(Envelope),
    ) -> Result<(), MpiError> {
        self.sides.set(self.process(), Side::Closed);
        let nobody = Header {
            context: 0,
            source: 0,
            destination: 0,
            tag: 0,
        };
        for process in (0..self.processes()).filter(|&process| process != self.process()) {
            if self.sides.get(process) != Side::Lost {
                self.start(process, Kind::Farewell, nobody, Vec::new())?;
            }
        }
        let begun = Instant::now();
        // A long message has left here only when the other side says so, and libraries say it while they
        // are called: nobody may go before all have seen theirs leave.
        let mut all_done: Option<Request> = None;
        loop {
            match self.progress(&mut deliver) {
                Ok(0) => thread::yield_now(),
                // A loss is told below, when the others are done.
                Ok(_) | Err(MpiError::PeerLost { .. }) => continue,
                Err(error) => return Err(error),
            }
            let open = self.sides.all_in(Side::Open);
            if open.is_empty() && self.under_way() == 0 {
                if !self.sides.all_in(Side::Lost).is_empty() {
                    break;
                }
                let done = match &mut all_done {
                    Some(done) => done,
                    None => all_done.insert(self.comm.ibarrier()?),
                };
                if done.test()?.is_some() {
                    break;
                }
            }
            let waited = begun.elapsed();
            if waited >= limit {
                return Err(MpiError::Silent {
                    processes: open,
                    waited,
                });
            }
        }
        match self.sides.all_in(Side::Lost).first() {
            None => Ok(()),
            Some(&process) => Err(MpiError::PeerLost {
                process,
                reason: "it did not close".to_owned(),
            }),
        }
    }

    fn start(
        &self,
        process: usize,
        kind: Kind,
        header: Header,
        payload: Vec<u8>,
    ) -> Result<(), MpiError> {
        let mut request = self.comm.isend(pack(kind, header, payload), process, TAG)?;
        // Most short messages are gone at once.
        if request.test()?.is_none() {
            self.sending.lock().push(request, process);
        }
        Ok(())
    }

    fn finish_sends(&self) -> Result<(), MpiError> {
        // Who holds the lock is doing it.
        let Some(mut sending) = self.sending.try_lock() else {
            return Ok(());
        };
        if sending.is_empty() {
            return Ok(());
        }
        let mut failed = None;
        sending.test(|process, _, fine| {
            if !fine {
                failed = Some(process);
            }
        })?;
        match failed {
            Some(process) if self.sides.get(process) == Side::Open => {
                self.sides.set(process, Side::Lost);
                sending.abandon(|&to| to == process);
                Err(MpiError::PeerLost {
                    process,
                    reason: "MPI could not send to it".to_owned(),
                })
            }
            _ => Ok(()),
        }
    }

    /// Matches what has come and delivers what is here.
    fn take_in(
        &self,
        receiving: &mut Receiving,
        deliver: &mut impl FnMut(Envelope),
    ) -> Result<usize, MpiError> {
        let mut delivered = self.deliver_arrived(receiving, deliver)?;
        while delivered < self.config.at_once {
            let Some(matched) = self.comm.improbe(TAG)? else {
                break;
            };
            let process = matched.source();
            let mut request = matched.receive()?;
            let first = receiving.arriving[process].is_empty();
            if first && request.test()?.is_some() {
                delivered += self.hand_over(process, request, deliver)?;
                continue;
            }
            if first {
                receiving.busy.push(process);
            }
            receiving.arriving[process].push_back(request);
        }
        Ok(delivered)
    }

    /// Delivers the oldest messages of each process as far as they are here.
    fn deliver_arrived(
        &self,
        receiving: &mut Receiving,
        deliver: &mut impl FnMut(Envelope),
    ) -> Result<usize, MpiError> {
        let (mut at, mut delivered) = (0, 0);
        while let Some(&process) = receiving.busy.get(at) {
            let arriving = &mut receiving.arriving[process];
            while let Some(first) = arriving.front_mut() {
                if first.test()?.is_none() {
                    break;
                }
                let request = arriving.pop_front().expect("the first was just tested");
                delivered += self.hand_over(process, request, deliver)?;
            }
            if arriving.is_empty() {
                receiving.busy.swap_remove(at);
            } else {
                at += 1;
            }
        }
        Ok(delivered)
    }

    /// Delivers one message that is here.
    fn hand_over(
        &self,
        process: usize,
        request: Request,
        deliver: &mut impl FnMut(Envelope),
    ) -> Result<usize, MpiError> {
        let bytes = request.into_bytes().expect("it has ended");
        let length = bytes.len();
        let Some((kind, header, payload)) = unpack(bytes) else {
            return Err(MpiError::Malformed {
                process,
                bytes: length,
            });
        };
        match kind {
            Kind::Message => deliver(Envelope {
                process,
                header,
                payload,
            }),
            Kind::Farewell => self.sides.set(process, Side::Closed),
        }
        Ok(1)
    }

    /// Looks from time to time whether the processes that have not closed are still there.
    fn look(
        &self,
        receiving: &mut Receiving,
        deliver: &mut impl FnMut(Envelope),
    ) -> Result<(), MpiError> {
        receiving.patience = receiving.patience.saturating_sub(1);
        if receiving.patience > 0 {
            return Ok(());
        }
        receiving.patience = CALLS;
        if receiving.looked.elapsed() < self.config.look_every {
            return Ok(());
        }
        receiving.looked = Instant::now();
        self.find_lost(receiving, deliver)
    }

    /// The first process that is gone without having closed, as an error.
    fn find_lost(
        &self,
        receiving: &mut Receiving,
        deliver: &mut impl FnMut(Envelope),
    ) -> Result<(), MpiError> {
        for process in self.sides.all_in(Side::Open) {
            if process == self.process() {
                continue;
            }
            let Some(reason) = self.peers.gone(process) else {
                continue;
            };
            // What it had sent before it went is still there, its farewell perhaps.
            while self
                .take_in(receiving, deliver)
                .is_ok_and(|taken| taken > 0)
            {}
            if self.sides.get(process) == Side::Open {
                self.sides.set(process, Side::Lost);
                self.sending.lock().abandon(|&to| to == process);
                receiving.arriving[process].clear();
                receiving.busy.retain(|&from| from != process);
                return Err(MpiError::PeerLost { process, reason });
            }
        }
        Ok(())
    }
}

impl Default for EngineConfig {
    fn default() -> Self {
        EngineConfig {
            at_once: 64,
            look_every: Duration::from_millis(100),
        }
    }
}
