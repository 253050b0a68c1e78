//! Who is gone, and what comes last from there.

use super::Engine;
use super::envelope::ReceivedMessage;
use super::peer_states::PeerState;
use super::receiving::Receiving;
use crate::error::MpiError;
use motet_comm::Header;
use motet_sync::thread;
use std::time::{Duration, Instant};

/// How long a process may take to die, that no library reaches any more.
pub(super) const DYING: Duration = Duration::from_millis(500);

/// Between two looks at whether a process has died.
const GLANCE: Duration = Duration::from_millis(1);

impl Engine {
    /// MPI says that something has failed: waits for so long at most until a loss is found from
    /// which that may come. It takes in what comes meanwhile: that may name the one that is lost.
    /// Nothing is waited for when a loss is known, or was waited for in vain.
    pub(super) fn await_loss(
        &self,
        receiving: &mut Receiving,
        dying: Duration,
        leave: &mut impl FnMut(&Header) -> bool,
        deliver: &mut impl FnMut(ReceivedMessage<'_>),
    ) {
        if receiving.has_waited {
            return;
        }
        let begun = Instant::now();
        while !self.has_lost() && begun.elapsed() < dying {
            thread::park_timeout(GLANCE);
            // What is told is why this waits.
            let _ = self.take_in(receiving, leave, deliver);
            self.find_lost(receiving, deliver);
        }
        receiving.has_waited = !self.has_lost();
    }

    /// Loses the processes that are gone without having closed.
    pub(super) fn find_lost(
        &self,
        receiving: &mut Receiving,
        deliver: &mut impl FnMut(ReceivedMessage<'_>),
    ) {
        for process in self.peer_states.all_in(PeerState::Open) {
            if process == self.process() {
                continue;
            }
            let Some(reason) = self.peers.gone(process) else {
                continue;
            };
            self.take_last(receiving, process, deliver);
            // Its close message may have been the last.
            if self.peer_states.get(process) == PeerState::Open {
                self.lose(receiving, process, reason);
            }
        }
    }

    /// Delivers what a process had sent before it went: it is still there. Among it may be what it
    /// has said of why it went.
    pub(super) fn take_last(
        &self,
        receiving: &mut Receiving,
        process: usize,
        deliver: &mut impl FnMut(ReceivedMessage<'_>),
    ) {
        if self.shared.reach(process) {
            // What cannot be received of it is lost with it.
            let _ = receiving.shared.take_last(process, &mut |process, came| {
                self.deliver_shared(process, came, deliver)
            });
            return;
        }
        receiving
            .arrivals
            .take_last(&self.comm, process, |process, request| {
                self.deliver_message(process, request, deliver)
            });
    }

    /// Gives up a process, of which the last has been taken in: nothing goes there or is waited for
    /// any more.
    pub(super) fn lose(&self, receiving: &mut Receiving, process: usize, reason: String) {
        if !self.peer_states.lose(process) {
            return;
        }
        receiving.arrivals.forget(process);
        receiving.shared.forget(process);
        self.shared.abandon(process);
        // A send that had found it there sees under this lock that it is not.
        self.sending.lock().abandon(process);
        receiving
            .losses
            .push(MpiError::PeerLost { process, reason });
    }
}
