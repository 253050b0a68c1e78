//! What has come and waits until the node takes it.
//!
//! The peer may send as much more as the node has taken. What waits is counted also when the link
//! has ended, and when the peer has been started again: the node has it still.

use super::waiting::{WINDOW, cost};
use std::collections::VecDeque;

#[derive(Default)]
pub(crate) struct Untaken {
    /// Of each event, the oldest first: what it takes of memory, and how much of its link had come
    /// with it.
    events: VecDeque<(u64, u64)>,
    /// How many of them are of earlier links.
    earlier: usize,
    /// The memory of all.
    bytes: u64,
    /// How much of what has come by the link has been taken.
    taken: u64,
}

impl Untaken {
    /// The node is told an event of so many bytes. With it so much of the link has come.
    pub(super) fn is_told(&mut self, bytes: usize, come: u64) {
        let bytes = cost(bytes);
        self.events.push_back((bytes, come));
        self.bytes += bytes;
    }

    /// The node has taken the oldest event.
    pub(crate) fn is_taken(&mut self) {
        let Some((bytes, come)) = self.events.pop_front() else {
            return;
        };
        self.bytes -= bytes;
        match self.earlier {
            0 => self.taken = come,
            earlier => self.earlier = earlier - 1,
        }
    }

    /// So much of the link has come. Where no event of it waits all of that counts as taken: else a
    /// frame that is longer than the window would never be whole.
    pub(super) fn settle(&mut self, come: u64) {
        if self.events.len() == self.earlier {
            self.taken = come;
        }
    }

    pub(super) fn taken(&self) -> u64 {
        self.taken
    }

    /// What waits is of an earlier link from now on.
    pub(super) fn link_ends(&mut self) {
        (self.earlier, self.taken) = (self.events.len(), 0);
    }

    /// Whether no link is to begin before the node has taken some of it.
    pub(super) fn is_much(&self) -> bool {
        self.bytes > WINDOW
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.events.is_empty()
    }
}
