//! The end of an engine: close messages, the last messages, and a barrier.
//!
//! ```text
//!  nobody is sending ─► close message to each ─► all others' close messages, all sent ─► barrier ─► closed
//! ```

use super::envelope::{Kind, NOTHING};
use super::peer_states::PeerState;
use super::shared::Load;
use super::{Engine, ReceivedMessage};
use crate::binding::Request;
use crate::error::MpiError;
use motet_sync::thread;
use std::time::{Duration, Instant};

/// How far the close has come: a later call goes on from there.
#[derive(Debug)]
pub(super) struct Closing {
    /// By process: whether it has this one's close message.
    told: Vec<bool>,
    /// A long message has left here only when the other side says so, and libraries say it while
    /// they are called. So nobody may go before all have seen theirs leave.
    barrier: Option<Request>,
    /// By process: how often it was looked for since it closed, one time after the other, and was
    /// gone.
    absent: Vec<u32>,
    looked: Instant,
}

/// One that has closed may end when the barrier is over, which others may notice later. Looks
/// rather than time: this process may have been stopped meanwhile.
const ABSENCES: u32 = 10;

/// So many looks in a row find nothing before this process rests between them.
const FRUITLESS: u32 = 200;
/// How long it rests. The others may work for hours, and want the processor.
const REST: Duration = Duration::from_millis(1);

impl Closing {
    pub(super) fn new(processes: usize) -> Closing {
        Closing {
            told: vec![false; processes],
            barrier: None,
            absent: vec![0; processes],
            looked: Instant::now(),
        }
    }
}

impl Engine {
    /// Ends the sending of this process and waits until all others have ended theirs and all
    /// messages have been delivered, or until `limit` has passed. All processes call it, from one
    /// thread; after [`MpiError::Silent`] a further call goes on where this one stopped.
    ///
    /// # Errors
    /// - [`MpiError::PeerLost`] when a process was lost, now or before, after the others have
    ///   closed: the first one.
    /// - [`MpiError::Silent`] with the processes that have not closed within the limit.
    /// - What MPI said when a process could not be told that this one closes, after all others have
    ///   been.
    /// - As [`Engine::progress`].
    pub fn close(
        &self,
        limit: Duration,
        mut deliver: impl FnMut(ReceivedMessage<'_>),
    ) -> Result<(), MpiError> {
        let begun = Instant::now();
        let mut closing = self.closing.lock();
        self.peer_states.close_here();
        let mut told: Option<Result<(), MpiError>> = None;
        let mut fruitless = 0_u32;
        loop {
            // What a counted sender has left for this process itself is taken in before the end.
            let quiet = told.is_some();
            let idle = match self.progress(&mut deliver) {
                Ok(taken) => taken == 0,
                // A loss is told below, when the others are done.
                Err(MpiError::PeerLost { .. }) => false,
                Err(error) => return Err(error),
            };
            // Nothing may come after a close message, and a thread that found this side open may be
            // sending (through memory it is refused then).
            if told.is_none() && self.peer_states.is_quiet() {
                told = Some(self.send_finish(&mut closing));
            }
            let open = self.peer_states.all_in(PeerState::Open);
            if quiet && idle && open.is_empty() && self.is_over(&mut closing)? {
                break;
            }
            self.look_for_closed(&mut closing, &mut deliver);
            let waited = begun.elapsed();
            if waited >= limit {
                // Who could not be told waits, and so does everybody else.
                told.transpose()?;
                return Err(MpiError::Silent {
                    processes: open,
                    waited,
                });
            }
            fruitless = if idle { fruitless.saturating_add(1) } else { 0 };
            self.rest(fruitless);
        }
        match self.receiving.lock().losses.first() {
            Some(lost) => Err(lost.clone()),
            None => told.transpose().map(|_| ()),
        }
    }

    /// Whether a process was lost: all have not closed then, and never will.
    pub(crate) fn has_lost(&self) -> bool {
        !self.peer_states.all_in(PeerState::Lost).is_empty()
    }

    /// Gives way to others after so many looks in a row that have found nothing.
    fn rest(&self, fruitless: u32) {
        // A long message goes on when MPI is called.
        let moves = || self.under_way() > 0 || self.receiving.lock().arrivals.is_busy();
        if fruitless >= FRUITLESS && !moves() {
            thread::park_timeout(REST);
        } else if fruitless > 0 {
            thread::yield_now();
        }
    }

    /// Tells each of the others that this process sends no more: all of them, whatever MPI says of
    /// one.
    fn send_finish(&self, closing: &mut Closing) -> Result<(), MpiError> {
        let mut refused = Ok(());
        for process in (0..self.processes()).filter(|&process| process != self.process()) {
            if closing.told[process] || self.peer_states.get(process) == PeerState::Lost {
                continue;
            }
            let said = self.start(process, Kind::Close, NOTHING, Load::Pieces(&[]));
            closing.told[process] = said.is_ok();
            refused = refused.and(said);
        }
        refused
    }

    /// Whether all have sent and taken in everything, when all have sent their close messages.
    fn is_over(&self, closing: &mut Closing) -> Result<bool, MpiError> {
        if self.under_way() > 0 {
            return Ok(false);
        }
        if self.has_lost() {
            // There is one that comes to no barrier.
            return Ok(true);
        }
        let barrier = match &mut closing.barrier {
            Some(barrier) => barrier,
            None => closing.barrier.insert(self.comm.ibarrier()?),
        };
        Ok(barrier.test()?.is_some())
    }

    /// From time to time looks whether those that have closed are there until all have.
    fn look_for_closed(
        &self,
        closing: &mut Closing,
        deliver: &mut impl FnMut(ReceivedMessage<'_>),
    ) {
        if closing.looked.elapsed() < self.config.look_every {
            return;
        }
        closing.looked = Instant::now();
        for process in self.peer_states.all_in(PeerState::Closed) {
            if process == self.process() {
                continue;
            }
            let Some(reason) = self.peers.gone(process) else {
                closing.absent[process] = 0;
                continue;
            };
            closing.absent[process] += 1;
            if closing.absent[process] >= ABSENCES {
                let mut receiving = self.receiving.lock();
                self.take_last(&mut receiving, process, deliver);
                self.lose(&mut receiving, process, reason);
            }
        }
    }
}
