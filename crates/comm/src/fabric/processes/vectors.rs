//! Long vectors on their way from one rank to another, beside a meeting of the two: piece by piece, so that one writes
//! while the other reads, and neither has to hold what is under way.
//!
//! What one brings to the meeting goes ahead of its pieces, so whoever gets a piece knows where it belongs. Pieces of a
//! meeting that has failed, or was left, are dropped.

use super::crossing::Crossing;
use super::{Processes, Site, VECTOR, context_of, number};
use crate::transport::Header;
use motet_sync::atomic::Ordering;
use std::collections::VecDeque;
use std::mem;

/// Pieces that have come and that nobody has taken.
#[derive(Default)]
pub(super) struct Pieces {
    /// With the number of the meeting that they are for.
    came: VecDeque<(u32, Vec<u8>)>,
    /// Memory of pieces that were used.
    spare: Vec<Vec<u8>>,
}

/// So many used pieces are kept, of so many bytes at most: a transport delivers about as much at once.
const SPARE: usize = 8;
const KEPT: usize = 32 * 1024;

impl Pieces {
    fn push(&mut self, meeting: u32, payload: &mut Vec<u8>) {
        let memory = self.spare.pop().unwrap_or_default();
        let piece = mem::replace(payload, memory);
        self.came.push_back((meeting, piece));
    }

    /// Takes those of a meeting, and gives up those of meetings before.
    fn take(&mut self, meeting: u32, to: &mut Vec<Vec<u8>>) {
        while let Some((of, _)) = self.came.front() {
            // Numbers go round.
            let ahead = of.wrapping_sub(meeting) as i32;
            if ahead > 0 {
                return;
            }
            let piece = self.came.pop_front().map(|(_, piece)| piece);
            to.extend(piece.filter(|_| ahead == 0));
        }
    }

    fn is_empty(&self) -> bool {
        self.came.is_empty()
    }

    fn keep(&mut self, used: &mut Vec<Vec<u8>>) {
        for piece in used.drain(..) {
            if piece.capacity() <= KEPT && self.spare.len() < SPARE {
                self.spare.push(piece);
            }
        }
    }

    pub(super) fn clear(&mut self) {
        self.came.clear();
    }
}

impl Crossing {
    /// Exchanges pieces that were used for those that have come to a meeting since.
    pub(crate) fn take_pieces(&self, meeting: u32, pieces: &mut Vec<Vec<u8>>) {
        let mut state = self.state();
        state.pieces.keep(pieces);
        state.pieces.take(meeting, pieces);
    }
}

impl Processes {
    /// Sends so much of a vector to a rank of another process as goes at once; how many bytes. It belongs to a meeting of a
    /// communicator, to which the sending rank has come.
    pub(crate) fn send_vector(
        &self,
        (communicator, meeting): (u32, u32),
        rank: usize,
        bytes: &[u8],
    ) -> usize {
        let header = self.vector_header(communicator, meeting, rank);
        let process = self.process_of(rank);
        let gone = self.transport.send_some(process, header, bytes);
        let gone = gone.unwrap_or_else(|error| {
            self.broken(error);
            Default::default()
        });
        // Afterwards: who sends is awake, so nobody takes the ranks for stuck meanwhile.
        self.sent.fetch_add(gone.messages as u64, Ordering::Relaxed);
        gone.bytes
    }

    /// Reads the next piece of the vector that another rank sends, block by block where it lies, if it has come; whether it has.
    /// There may be pieces before it that were taken in: then not.
    pub(crate) fn read_vector(
        &self,
        (communicator, meeting): (u32, u32),
        [own, from]: [usize; 2],
        crossing: &Crossing,
        read: &mut dyn FnMut(&[u8]),
    ) -> bool {
        let header = self.vector_header(communicator, meeting, own);
        let process = self.process_of(from);
        // Nobody takes one in between this look and the reading.
        let mut wanted = || crossing.state().pieces.is_empty();
        let was_read = self
            .transport
            .read_next(process, &header, &mut wanted, &mut |block, _| read(block));
        if was_read {
            self.received.fetch_add(1, Ordering::Release);
        }
        was_read
    }

    /// The same with all of it, which then waits for room if there is none.
    pub(crate) fn send_rest(&self, (communicator, meeting): (u32, u32), rank: usize, bytes: &[u8]) {
        let header = self.vector_header(communicator, meeting, rank);
        self.sent.fetch_add(1, Ordering::Relaxed);
        let process = self.process_of(rank);
        if let Err(error) = self.transport.send_pieces(process, header, &[bytes]) {
            self.broken(error);
        }
    }

    fn vector_header(&self, communicator: u32, meeting: u32, rank: usize) -> Header {
        Header {
            context: context_of(self.run, VECTOR, communicator),
            source: meeting,
            destination: number(rank),
            tag: 0,
        }
    }

    /// A piece of a vector has come.
    pub(super) fn vector_came(&self, communicator: u32, header: &Header, payload: &mut Vec<u8>) {
        let site = Site {
            communicator,
            started: None,
        };
        // Else nobody comes there any more.
        if let Some(crossing) = self.crossings.known(site) {
            crossing.state().pieces.push(header.source, payload);
            self.wake(header.destination as usize);
        }
    }
}

#[cfg(all(test, not(motet_loom)))]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_meetings_that_are_over_are_given_up_and_later_ones_wait() {
        let mut pieces = Pieces::default();
        for (meeting, length) in [(u32::MAX - 1, 1), (u32::MAX, 2), (u32::MAX, 3), (0, 4)] {
            pieces.push(meeting, &mut vec![7; length]);
        }
        let mut taken = Vec::new();
        pieces.take(u32::MAX, &mut taken);
        assert_eq!(taken, [vec![7; 2], vec![7; 3]]);
        pieces.keep(&mut taken);
        pieces.take(0, &mut taken);
        assert_eq!(taken, [[7; 4]]);
        pieces.keep(&mut taken);
        pieces.take(1, &mut taken);
        assert!(taken.is_empty());
        let mut payload = vec![1];
        pieces.push(1, &mut payload);
        assert!(payload.capacity() > 1, "memory is used again");
    }
}
