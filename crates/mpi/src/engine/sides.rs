//! Who may still be sent to.

use crate::error::MpiError;
use motet_sync::atomic::{AtomicU8, Ordering};

/// How a process stands to the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    /// It may send and be sent to.
    Open,
    /// It has said that it will send nothing more.
    Closed,
    /// It ended without saying so.
    Lost,
}

/// The side of every process, this one's too.
#[derive(Debug)]
pub(super) struct Sides(Box<[AtomicU8]>);

impl Sides {
    pub(super) fn new(processes: usize) -> Sides {
        Sides((0..processes).map(|_| AtomicU8::new(OPEN)).collect())
    }

    // Relaxed everywhere: a side only says what to answer; messages carry everything else.

    pub(super) fn get(&self, process: usize) -> Side {
        match self.0[process].load(Ordering::Relaxed) {
            OPEN => Side::Open,
            CLOSED => Side::Closed,
            _ => Side::Lost,
        }
    }

    pub(super) fn set(&self, process: usize, side: Side) {
        let number = match side {
            Side::Open => OPEN,
            Side::Closed => CLOSED,
            Side::Lost => LOST,
        };
        self.0[process].store(number, Ordering::Relaxed);
    }

    /// The processes on this side.
    pub(super) fn all_in(&self, side: Side) -> Vec<usize> {
        (0..self.0.len())
            .filter(|&process| self.get(process) == side)
            .collect()
    }

    /// Whether `here` may send to `process`.
    pub(super) fn check(&self, process: usize, here: usize) -> Result<(), MpiError> {
        if process >= self.0.len() {
            return Err(MpiError::NoSuchProcess {
                process,
                processes: self.0.len(),
            });
        }
        match (self.get(here), self.get(process)) {
            (Side::Closed | Side::Lost, _) => Err(MpiError::Closed),
            (Side::Open, Side::Lost) => Err(MpiError::PeerLost {
                process,
                reason: "it was lost before".to_owned(),
            }),
            // One that has closed takes in what comes until all have.
            (Side::Open, Side::Open | Side::Closed) => Ok(()),
        }
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
        let sides = Sides::new(4);
        sides.set(1, Side::Closed);
        sides.set(2, Side::Lost);
        assert_eq!(sides.check(3, 0), Ok(()));
        assert_eq!(sides.check(1, 0), Ok(()));
        assert!(matches!(
            sides.check(2, 0),
            Err(MpiError::PeerLost { process: 2, .. })
        ));
        let nobody = MpiError::NoSuchProcess {
            process: 4,
            processes: 4,
        };
        assert_eq!(sides.check(4, 0), Err(nobody));
        assert_eq!(sides.check(3, 1), Err(MpiError::Closed));
        assert_eq!(sides.all_in(Side::Open), [0, 3]);
    }
}
