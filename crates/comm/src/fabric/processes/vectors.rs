//! Long slices on their way from one rank to another, beside a collective of both. They go piece by
//! piece, so that one writes while the other reads, and neither has to hold what is under way.
//!
//! Pieces for a rank that has left its collective, or for which that has failed, are dropped at
//! once, also when the rank has given up the communicator. An empty piece says that its sender has
//! left the collective: nothing more comes from there.

use super::crossing::Crossing;
use super::{CrossingSite, RunProcesses, VECTOR, context_of, number};
use crate::transport::Header;
use motet_dispatch::keep_looking;
use motet_sync::atomic::Ordering;
use std::collections::{HashMap, VecDeque};
use std::mem;

/// Pieces that have come and that nobody has taken.
#[derive(Default)]
pub(super) struct Pieces {
    /// By the rank that they are for and the rank that has sent them.
    lines: HashMap<[usize; 2], Line>,
    /// The last collective that a rank has left before it had everything. It reads nothing more of
    /// that one, and of those before.
    left: HashMap<usize, u32>,
    /// Memory of pieces that were used.
    spare: Vec<Vec<u8>>,
}

/// Each piece with the number of the collective that it is for.
type Line = VecDeque<(u32, Vec<u8>)>;

/// The two ranks of a piece, in the world, and its collective.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PieceRoute {
    pub(crate) communicator: u32,
    pub(crate) collective: u32,
    pub(crate) from: usize,
    pub(crate) to: usize,
}

/// So many used pieces are kept, of so many bytes at most: a transport delivers about as much at
/// once.
const SPARE: usize = 64;
const KEPT: usize = 32 * 1024;

/// So many pieces lie at most between two ranks of a process, unless their sender leaves.
const AHEAD: usize = 16;

/// A rank that has left a collective has left so many before it, too: numbers go round.
const BEFORE: u32 = 1 << 16;

impl Pieces {
    fn push(&mut self, ranks: [usize; 2], collective: u32, piece: Vec<u8>) {
        let left = self.left.get(&ranks[0]);
        if left.is_some_and(|&left| is_over(left, collective)) {
            return self.keep(piece);
        }
        let line = self.lines.entry(ranks).or_default();
        line.push_back((collective, piece));
    }

    /// A copy of a piece, in memory that was used before.
    fn push_copy(&mut self, ranks: [usize; 2], collective: u32, bytes: &[u8]) {
        let mut piece = self.spare.pop().unwrap_or_default();
        piece.clear();
        piece.extend_from_slice(bytes);
        self.push(ranks, collective, piece);
    }

    /// Takes the next one of a collective, and gives up those of collectives before.
    fn take(&mut self, ranks: [usize; 2], collective: u32) -> Option<Vec<u8>> {
        if !self.left.is_empty() {
            // All ranks have come to the collective that this one reads: nobody is in those before.
            self.left.remove(&ranks[0]);
        }
        let line = self.lines.get_mut(&ranks)?;
        loop {
            // Numbers go round.
            let ahead = line.front()?.0.wrapping_sub(collective) as i32;
            if ahead > 0 {
                return None;
            }
            let piece = line.pop_front().map(|(_, piece)| piece);
            if ahead == 0 {
                return piece;
            }
        }
    }

    fn waiting(&self, ranks: [usize; 2]) -> usize {
        self.lines.get(&ranks).map_or(0, VecDeque::len)
    }

    fn keep(&mut self, used: Vec<u8>) {
        if used.capacity() <= KEPT && self.spare.len() < SPARE {
            self.spare.push(used);
        }
    }

    /// A rank reads nothing more of a collective: its senders need no room.
    fn leave(&mut self, rank: usize, collective: u32) {
        self.left.insert(rank, collective);
        let lines = self.lines.iter_mut().filter(|(ranks, _)| ranks[0] == rank);
        for (_, line) in lines {
            line.retain(|(of, _)| !is_over(collective, *of));
        }
    }

    /// Whether more may come for a rank that has left its collective.
    pub(super) fn are_left(&self) -> bool {
        !self.left.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.lines.clear();
        self.left.clear();
    }
}

/// Whether a rank that has left one collective reads nothing of this one.
fn is_over(left: u32, collective: u32) -> bool {
    left.wrapping_sub(collective) < BEFORE
}

impl PieceRoute {
    fn site(&self) -> CrossingSite {
        CrossingSite {
            communicator: self.communicator,
            started: None,
        }
    }

    fn ranks(&self) -> [usize; 2] {
        [self.to, self.from]
    }
}

impl RunProcesses {
    /// Sends so much of a slice to another rank as goes at once; how many bytes. It belongs to a
    /// collective of a communicator, to which the sending rank has come.
    pub(crate) fn send_vector(&self, way: PieceRoute, crossing: &Crossing, bytes: &[u8]) -> usize {
        let process = self.process_of(way.to);
        if process == self.own() {
            let mut state = crossing.state();
            if state.pieces.waiting(way.ranks()) >= AHEAD {
                return 0;
            }
            let piece = &bytes[..bytes.len().min(KEPT)];
            state.pieces.push_copy(way.ranks(), way.collective, piece);
            drop(state);
            self.wake(way.to);
            return piece.len();
        }
        let header = self.vector_header(way);
        let gone = self.transport.send_some(process, header, bytes);
        let gone = gone.unwrap_or_else(|error| {
            self.broken(error);
            Default::default()
        });
        // Afterwards: who sends is awake, so nobody takes the ranks for stuck meanwhile.
        self.sent.fetch_add(gone.messages as u64, Ordering::Relaxed);
        if gone.messages > 0 {
            keep_looking();
        }
        gone.bytes
    }

    /// The same with all of it, which then waits for room if there is none.
    pub(crate) fn send_rest(&self, way: PieceRoute, crossing: &Crossing, bytes: &[u8]) {
        let process = self.process_of(way.to);
        if process == self.own() {
            let mut state = crossing.state();
            state.pieces.push_copy(way.ranks(), way.collective, bytes);
            drop(state);
            return self.wake(way.to);
        }
        let header = self.vector_header(way);
        self.sent.fetch_add(1, Ordering::Relaxed);
        if let Err(error) = self.transport.send_pieces(process, header, &[bytes]) {
            self.broken(error);
        }
    }

    /// Reads the next piece on this way, if it has come: one that was taken in, or block by block
    /// where it lies. Whether there was one.
    pub(crate) fn read_vector(
        &self,
        way: PieceRoute,
        crossing: &Crossing,
        read: &mut dyn FnMut(&[u8]),
    ) -> bool {
        let taken = crossing.state().pieces.take(way.ranks(), way.collective);
        if let Some(piece) = taken {
            read(&piece);
            crossing.state().pieces.keep(piece);
            // A rank here may wait for room.
            self.wake(way.from);
            return true;
        }
        let process = self.process_of(way.from);
        if process == self.own() {
            return false;
        }
        // Nobody takes one in between this look and the reading.
        let mut wanted = || crossing.state().pieces.waiting(way.ranks()) == 0;
        let header = self.vector_header(way);
        let mut is_empty = true;
        let mut read_block = |block: &[u8], _: usize| {
            is_empty = false;
            read(block);
        };
        let was_read = self
            .transport
            .read_next(process, &header, &mut wanted, &mut read_block);
        if was_read {
            if is_empty {
                read(&[]);
            }
            keep_looking();
            self.received.fetch_add(1, Ordering::Release);
        }
        was_read
    }

    /// Rank `rank` of the world, which lives here, reads nothing more of a collective.
    pub(crate) fn leave_vectors(&self, rank: usize, collective: u32, crossing: &Crossing) {
        crossing.state().pieces.leave(rank, collective);
    }

    /// Looks for messages, for a rank in a collective. The rank reads by itself what comes to it
    /// there from those ranks of which `reads` says so.
    pub(crate) fn poll_beside(&self, to: PieceRoute, reads: impl Fn(usize) -> bool) {
        self.progress.looks();
        let own = self.vector_header(to);
        self.progress_but(&mut |header| {
            let from = Header {
                tag: own.tag,
                ..*header
            };
            from == own && reads(header.tag as usize)
        });
    }

    fn vector_header(&self, way: PieceRoute) -> Header {
        Header {
            context: context_of(self.run, VECTOR, way.communicator),
            source: way.collective,
            destination: number(way.to),
            tag: number(way.from),
        }
    }

    /// A piece of a slice has come. Its receiver may not have come to the collective yet.
    pub(super) fn vector_came(&self, communicator: u32, header: &Header, payload: &mut Vec<u8>) {
        let way = PieceRoute {
            communicator,
            collective: header.source,
            from: header.tag as usize,
            to: header.destination as usize,
        };
        let Some(crossing) = self.crossings.of_vector(way.site()) else {
            return;
        };
        let mut state = crossing.state();
        let memory = state.pieces.spare.pop().unwrap_or_default();
        let piece = mem::replace(payload, memory);
        state.pieces.push(way.ranks(), way.collective, piece);
        drop(state);
        keep_looking();
        self.wake(way.to);
    }
}

#[cfg(all(test, not(motet_loom)))]
mod tests {
    use super::*;
    use crate::fabric::processes::tests::first_of_two;
    use std::sync::Arc;

    #[test]
    fn pieces_of_collectives_that_are_over_are_given_up_and_later_ones_wait() {
        let mut pieces = Pieces::default();
        let ranks = [1, 0];
        for (collective, length) in [(u32::MAX - 1, 1), (u32::MAX, 2), (u32::MAX, 3), (0, 4)] {
            pieces.push(ranks, collective, vec![7; length]);
        }
        assert_eq!(pieces.take([0, 1], u32::MAX), None, "of other ranks");
        assert_eq!(pieces.take(ranks, u32::MAX), Some(vec![7; 2]));
        assert_eq!(pieces.take(ranks, u32::MAX), Some(vec![7; 3]));
        assert_eq!(pieces.take(ranks, u32::MAX), None);
        assert_eq!(pieces.waiting(ranks), 1);
        let last = pieces.take(ranks, 0).unwrap();
        let place = last.as_ptr();
        pieces.keep(last);
        pieces.push_copy(ranks, 1, &[1, 2]);
        let again = pieces.take(ranks, 1).unwrap();
        assert_eq!((&again[..], again.as_ptr()), (&[1, 2][..], place));
    }

    #[test]
    fn nothing_lies_for_a_rank_that_has_left_until_it_reads_again() {
        let mut pieces = Pieces::default();
        let (ranks, others) = ([1, 0], [0, 1]);
        for collective in [u32::MAX, 0, 1] {
            pieces.push(ranks, collective, vec![7]);
            pieces.push(others, collective, vec![7]);
        }
        pieces.leave(1, 0);
        assert_eq!((pieces.waiting(ranks), pieces.waiting(others)), (1, 3));
        pieces.push(ranks, 0, vec![8]);
        assert_eq!(pieces.waiting(ranks), 1, "nobody reads it");
        assert_eq!(pieces.take(ranks, 1), Some(vec![7]));
        pieces.push(ranks, 0, vec![9]);
        assert_eq!(pieces.waiting(ranks), 1, "what was left is forgotten");
    }

    #[test]
    fn nothing_is_kept_for_ranks_that_have_left_a_collective_and_their_communicator() {
        let run = first_of_two(Arc::default());
        for (communicator, leaves) in [(5, true), (6, false)] {
            let site = CrossingSite {
                communicator,
                started: None,
            };
            let crossing = run.crossings.of(site);
            if leaves {
                run.leave_vectors(0, 3, &crossing);
            }
            run.crossings.leave(site, crossing);
            assert_eq!(run.crossings.count(), 0);
        }
        let kept_of = |communicator| {
            let way = PieceRoute {
                communicator,
                collective: 3,
                from: 1,
                to: 0,
            };
            let header = run.vector_header(way);
            run.vector_came(communicator, &header, &mut vec![7; 100]);
            run.crossings.count()
        };
        // The other one may not have come to its first collective.
        assert_eq!([5, 6].map(kept_of), [0, 1]);
    }
}
