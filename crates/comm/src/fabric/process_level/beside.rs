//! The ways of long slices beside a collective between processes.

use super::ProcessLevel;
use crate::fabric::Closer;
use crate::fabric::processes::PieceRoute;
use std::sync::Arc;

/// The ways to and from one rank.
#[derive(Clone, Copy)]
pub(crate) struct Beside<'b> {
    process_level: &'b ProcessLevel,
    collective: u32,
    own: usize,
}

impl ProcessLevel {
    /// The ways of long slices beside a collective to which rank `own` of the world has come.
    pub(crate) fn beside(&self, collective: u32, own: usize) -> Beside<'_> {
        Beside {
            process_level: self,
            collective,
            own,
        }
    }
}

impl Beside<'_> {
    /// Sends as much of the bytes to a rank of the world as goes at once; how many.
    pub(crate) fn send(&self, to: usize, bytes: &[u8]) -> usize {
        let processes = &self.process_level.processes;
        processes.send_vector(self.way(self.own, to), self.process_level.crossing(), bytes)
    }

    /// Sends all of them, whether there is room or not.
    pub(crate) fn send_rest(&self, to: usize, bytes: &[u8]) {
        let processes = &self.process_level.processes;
        processes.send_rest(self.way(self.own, to), self.process_level.crossing(), bytes);
    }

    /// The rank reads nothing more: what comes here for it is dropped.
    pub(crate) fn leave(&self) {
        let (processes, crossing) = (&self.process_level.processes, self.process_level.crossing());
        processes.leave_vectors(self.own, self.collective, crossing);
    }

    /// Says to a rank of the world, when it is called, that nothing more comes to it from here.
    pub(crate) fn end_later(&self, to: usize) -> Closer {
        let way = self.way(self.own, to);
        let processes = Arc::clone(&self.process_level.processes);
        let crossing = Arc::clone(self.process_level.crossing());
        Box::new(move || processes.send_rest(way, &crossing, &[]))
    }

    /// Reads the next piece from a rank of the world, block by block, if it has come; whether it
    /// has. Nothing to read: the other rank has left.
    pub(crate) fn read(&self, from: usize, read: &mut dyn FnMut(&[u8])) -> bool {
        let processes = &self.process_level.processes;
        processes.read_vector(
            self.way(from, self.own),
            self.process_level.crossing(),
            read,
        )
    }

    /// The rank is about to sleep and has more to send: it is woken when there may be room.
    pub(crate) fn wait_for_room(&self) {
        self.process_level.processes.wait_for_room(self.own);
    }

    /// The rank begins to read what comes to it, or goes on, or ends.
    pub(crate) fn reads(&self, goes_on: bool) {
        self.process_level.processes.reads(self.own, goes_on);
    }

    /// Looks for messages, but for those that this rank reads: what comes here from ranks of the
    /// world that `reads` says so of.
    pub(crate) fn poll(&self, reads: impl Fn(usize) -> bool) {
        let processes = &self.process_level.processes;
        processes.poll_beside(self.way(self.own, self.own), reads);
    }

    fn way(&self, from: usize, to: usize) -> PieceRoute {
        PieceRoute {
            communicator: self.process_level.site.communicator,
            collective: self.collective,
            from,
            to,
        }
    }
}
