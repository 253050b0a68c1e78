//! Sends over MPI that have not ended, and how many of them are pieces of long messages.

use crate::binding::{Request, RequestSet};
use crate::error::MpiError;

/// Pieces that are under way to one process, at most: each holds memory here.
const AHEAD: usize = 16;
/// Pieces that are under way to all, at most: MPI is asked about each of them at every look.
const ALL: usize = 512;

#[derive(Debug)]
pub(super) struct UnderWay {
    requests: RequestSet<Sent>,
    /// Pieces by process, also those that are about to be sent.
    pieces: Vec<usize>,
    /// Their sum.
    all: usize,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Sent {
    pub(super) process: usize,
    /// There is a place for it among the pieces.
    pub(super) is_piece: bool,
}

impl UnderWay {
    pub(super) fn new(processes: usize) -> UnderWay {
        UnderWay {
            requests: RequestSet::new(),
            pieces: vec![0; processes],
            all: 0,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.requests.len()
    }

    /// Takes a place for a piece to a process, if there is one.
    pub(super) fn reserve(&mut self, process: usize) -> bool {
        let is_free = self.pieces[process] < AHEAD && self.all < ALL;
        self.pieces[process] += usize::from(is_free);
        self.all += usize::from(is_free);
        is_free
    }

    /// One ended at once, or did not begin.
    pub(super) fn release(&mut self, sent: Sent) {
        release(&mut self.pieces, &mut self.all, sent);
    }

    pub(super) fn push(&mut self, request: Request, sent: Sent) {
        self.requests.push(request, sent);
    }

    /// Tells the processes of those that have ended since, and whether each did so without an
    /// error.
    ///
    /// # Errors
    /// As [`RequestSet::test`].
    pub(super) fn test(&mut self, mut tell: impl FnMut(usize, bool)) -> Result<(), MpiError> {
        let UnderWay {
            requests,
            pieces,
            all,
        } = self;
        requests.test(|sent, _, fine| {
            release(pieces, all, sent);
            tell(sent.process, fine);
        })
    }

    /// Gives up those to a process that is gone.
    pub(super) fn abandon(&mut self, process: usize) {
        for sent in self.requests.keys().filter(|sent| sent.process == process) {
            release(&mut self.pieces, &mut self.all, *sent);
        }
        self.requests.abandon(|sent| sent.process == process);
    }
}

fn release(pieces: &mut [usize], all: &mut usize, sent: Sent) {
    let is_piece = usize::from(sent.is_piece);
    pieces[sent.process] -= is_piece;
    *all -= is_piece;
}

#[cfg(all(test, not(motet_loom)))]
mod tests {
    use super::*;

    #[test]
    fn places_are_bounded_for_one_process_and_for_all() {
        let mut under_way = UnderWay::new(100);
        let taken = |under_way: &mut UnderWay, process| {
            (0..100).filter(|_| under_way.reserve(process)).count()
        };
        assert_eq!(taken(&mut under_way, 3), AHEAD);
        let others: usize = (4..100).map(|process| taken(&mut under_way, process)).sum();
        assert_eq!(others, ALL - AHEAD);
        let piece = |process| Sent {
            process,
            is_piece: true,
        };
        under_way.release(piece(3));
        under_way.release(Sent {
            is_piece: false,
            ..piece(4)
        });
        assert!(!under_way.reserve(4), "its places are taken");
        assert!(under_way.reserve(99) && !under_way.reserve(98));
    }
}
