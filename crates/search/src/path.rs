//! The levels of a walk, and the path to the node that is looked at.

use std::cmp::Ordering;

#[derive(Debug)]
pub(crate) struct WalkLevel<N> {
    pub(crate) nodes: Vec<N>,
    /// The first that is not begun.
    pub(crate) next: usize,
    /// The child number of the first.
    pub(crate) first: u32,
}

/// The path of the node that is looked at.
pub(crate) struct Path<'a, N> {
    pub(crate) prefix: &'a [u32],
    /// The levels of its ancestors in the piece.
    pub(crate) above: &'a [WalkLevel<N>],
    /// Its child number.
    pub(crate) number: u32,
}

impl<N> WalkLevel<N> {
    pub(crate) fn new() -> Self {
        WalkLevel {
            nodes: Vec::new(),
            next: 0,
            first: 0,
        }
    }

    pub(crate) fn clear(&mut self) {
        self.nodes.clear();
        (self.next, self.first) = (0, 0);
    }

    pub(crate) fn open(&self) -> usize {
        self.nodes.len() - self.next
    }

    /// The child number of the node that was begun last.
    pub(crate) fn number(&self) -> u32 {
        self.first + self.next as u32 - 1
    }
}

impl<N> Path<'_, N> {
    fn numbers(&self) -> impl Iterator<Item = u32> {
        let prefix = self.prefix.iter().copied();
        let above = self.above.iter().map(WalkLevel::number);
        prefix.chain(above).chain([self.number])
    }

    pub(crate) fn to_vec(&self) -> Vec<u32> {
        self.numbers().collect()
    }

    /// How many edges it has.
    pub(crate) fn depth(&self) -> usize {
        self.prefix.len() + self.above.len()
    }

    /// Which node comes first: parents before children, children in their order.
    pub(crate) fn cmp(&self, other: &[u32]) -> Ordering {
        self.numbers().cmp(other.iter().copied())
    }
}
