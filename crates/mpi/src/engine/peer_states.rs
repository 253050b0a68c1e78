//! Who may still be sent to, and who is sending.
//!
//! ```text
//!  Open ─► Closed      it has said that it will send nothing more
//!    └───────┴─► Lost  it ended before all had closed; from there no way back
//! ```

use crate::error::MpiError;
use motet_sync::atomic::{AtomicU8, AtomicUsize, Ordering};

/// How a process stands to the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PeerState {
    /// It may send and be sent to.
    Open,
    /// It has said that it will send nothing more.
    Closed,
    /// It ended before all had closed.
    Lost,
}

/// The side of every process, this one's too.
#[derive(Debug)]
pub(super) struct PeerStates {
    all: Box<[AtomicU8]>,
    here: usize,
    /// Threads that are sending, but for those that send through memory.
    senders: AtomicUsize,
}

/// A thread that is sending over MPI, or to its own process: as long as there is one, this process
/// sends no close message.
#[derive(Debug)]
pub(super) struct Sender<'a>(&'a AtomicUsize);

impl PeerStates {
    pub(super) fn new(processes: usize, here: usize) -> PeerStates {
        PeerStates {
            all: (0..processes).map(|_| AtomicU8::new(OPEN)).collect(),
            here,
            senders: AtomicUsize::new(0),
        }
    }

    // Relaxed for the states of the peers of others: they only say what to answer; messages carry
    // everything else.

    pub(super) fn get(&self, process: usize) -> PeerState {
        match self.all[process].load(Ordering::Relaxed) {
            OPEN => PeerState::Open,
            CLOSED => PeerState::Closed,
            _ => PeerState::Lost,
        }
    }

    /// Another process has sent its close message: one that was lost stays so.
    pub(super) fn close(&self, process: usize) {
        // It fails where it was closed or lost before.
        let _ =
            self.all[process].compare_exchange(OPEN, CLOSED, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Another process is gone; whether that is new.
    pub(super) fn lose(&self, process: usize) -> bool {
        self.all[process].swap(LOST, Ordering::Relaxed) != LOST
    }

    /// This process sends no more. Threads that had begun before may still be at it.
    pub(super) fn close_here(&self) {
        // SeqCst with `enter`: a sender that comes after this sees it, and one that has not seen it
        // is counted for whoever asks after this.
        self.all[self.here].store(CLOSED, Ordering::SeqCst);
    }

    /// Whether no thread is sending: after `close_here` none will be.
    pub(super) fn is_quiet(&self) -> bool {
        // SeqCst: above. It also takes in what the senders did before they left.
        self.senders.load(Ordering::SeqCst) == 0
    }

    /// The processes on this side.
    pub(super) fn all_in(&self, side: PeerState) -> Vec<usize> {
        (0..self.all.len())
            .filter(|&process| self.get(process) == side)
            .collect()
    }

    /// Begins to send to `process`, if that may be.
    pub(super) fn enter(&self, process: usize) -> Result<Sender<'_>, MpiError> {
        // SeqCst, first the count and then the look: as `close_here` says.
        self.senders.fetch_add(1, Ordering::SeqCst);
        let sender = Sender(&self.senders);
        self.check(process)?;
        Ok(sender)
    }

    /// Whether this process may send to `process`, as it looks now.
    #[inline]
    pub(super) fn check(&self, process: usize) -> Result<(), MpiError> {
        if process >= self.all.len() {
            return Err(MpiError::NoSuchProcess {
                process,
                processes: self.all.len(),
            });
        }
        // SeqCst: as `enter` says.
        if self.all[self.here].load(Ordering::SeqCst) != OPEN {
            return Err(MpiError::Closed);
        }
        match self.get(process) {
            PeerState::Lost => Err(MpiError::PeerLost {
                process,
                reason: "it was lost before".to_owned(),
            }),
            // One that has closed takes in what comes until all have.
            PeerState::Open | PeerState::Closed => Ok(()),
        }
    }
}

impl Drop for Sender<'_> {
    fn drop(&mut self) {
        // Release is part of SeqCst: what was started is seen by who finds nobody sending.
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

const OPEN: u8 = 0;
const CLOSED: u8 = 1;
const LOST: u8 = 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_open_side_sends_and_none_to_who_is_lost() {
        let peer_states = PeerStates::new(4, 0);
        peer_states.close(1);
        assert!(peer_states.lose(2) && !peer_states.lose(2));
        assert!(
            peer_states.enter(3).is_ok()
                && peer_states.enter(1).is_ok()
                && peer_states.enter(0).is_ok()
        );
        assert!(matches!(
            peer_states.enter(2),
            Err(MpiError::PeerLost { process: 2, .. })
        ));
        let nobody = MpiError::NoSuchProcess {
            process: 4,
            processes: 4,
        };
        assert_eq!(peer_states.enter(4).err(), Some(nobody));
        assert_eq!(peer_states.all_in(PeerState::Open), [0, 3]);
        peer_states.close_here();
        assert_eq!(peer_states.enter(3).err(), Some(MpiError::Closed));
        assert!(peer_states.is_quiet(), "who is refused is not sending");
    }

    #[test]
    fn who_is_lost_is_so_for_ever_and_who_has_closed_can_be_lost() {
        let peer_states = PeerStates::new(3, 0);
        peer_states.lose(1);
        peer_states.close(1);
        assert_eq!(peer_states.get(1), PeerState::Lost);
        peer_states.close(2);
        assert!(peer_states.lose(2));
        assert_eq!(peer_states.all_in(PeerState::Lost), [1, 2]);
    }

    #[test]
    fn who_began_to_send_before_the_close_is_waited_for() {
        let peer_states = PeerStates::new(2, 0);
        let sender = peer_states.enter(1).unwrap();
        peer_states.close_here();
        assert!(!peer_states.is_quiet());
        drop(sender);
        assert!(peer_states.is_quiet());
    }
}
