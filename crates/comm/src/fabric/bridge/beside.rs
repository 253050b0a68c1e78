//! The ways of long slices beside a meeting between processes.

use super::Bridge;
use crate::fabric::processes::Way;

/// The ways to and from one rank.
#[derive(Clone, Copy)]
pub(crate) struct Beside<'b> {
    bridge: &'b Bridge,
    meeting: u32,
    own: usize,
}

impl Bridge {
    /// The ways of long slices beside a meeting to which rank `own` of the world has come.
    pub(crate) fn beside(&self, meeting: u32, own: usize) -> Beside<'_> {
        Beside {
            bridge: self,
            meeting,
            own,
        }
    }
}

impl Beside<'_> {
    /// Sends as much of the bytes to a rank of the world as goes at once; how many.
    pub(crate) fn send(&self, to: usize, bytes: &[u8]) -> usize {
        let processes = &self.bridge.processes;
        processes.send_vector(self.way(self.own, to), self.bridge.crossing(), bytes)
    }

    /// Sends all of them, whether there is room or not.
    pub(crate) fn send_rest(&self, to: usize, bytes: &[u8]) {
        let processes = &self.bridge.processes;
        processes.send_rest(self.way(self.own, to), self.bridge.crossing(), bytes);
    }

    /// Reads the next piece from a rank of the world, block by block, if it has come; whether it
    /// has.
    pub(crate) fn read(&self, from: usize, read: &mut dyn FnMut(&[u8])) -> bool {
        let processes = &self.bridge.processes;
        processes.read_vector(self.way(from, self.own), self.bridge.crossing(), read)
    }

    /// The rank is about to sleep and has more to send: it is woken when there may be room.
    pub(crate) fn wait_for_room(&self) {
        self.bridge.processes.wait_for_room(self.own);
    }

    /// The rank begins to read what comes to it, or goes on, or ends.
    pub(crate) fn reads(&self, goes_on: bool) {
        self.bridge.processes.reads(self.own, goes_on);
    }

    /// Looks for messages, but for those that this rank reads: what comes here from ranks of the
    /// world that `reads` says so of.
    pub(crate) fn poll(&self, reads: impl Fn(usize) -> bool) {
        let processes = &self.bridge.processes;
        processes.poll_beside(self.way(self.own, self.own), reads);
    }

    fn way(&self, from: usize, to: usize) -> Way {
        Way {
            communicator: self.bridge.site.communicator,
            meeting: self.meeting,
            from,
            to,
        }
    }
}
