//! The depth-first walk of one rank through a piece of the tree.
//!
//! ```text
//!   level 0   ● ● ◉ ○ ○     ● done   ◉ on the path   ○ not begun
//!   level 1       ● ◉ ○
//!   level 2         ◉ ○ ○   the children of the last ◉ come into level 3
//! ```
//!
//! Each level is one vector that is used again. The path of child numbers is where each level
//! stands. Who asks for work gets the last half of what is not begun in the first level that has
//! any. It comes after all that stays, in the order of the tree.

use crate::job::NodeWork;
use crate::path::{Path, WalkLevel};
use serde::{Deserialize, Serialize};

/// Neighbouring siblings whose subtrees nobody has begun.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Piece<N> {
    /// No other piece of the search has it.
    pub(crate) number: u64,
    /// The path of their parent. A path begins with 0, for the root.
    pub(crate) prefix: Vec<u32>,
    /// The child number of the first of them.
    pub(crate) first: u32,
    pub(crate) nodes: Vec<N>,
}

/// Why a walk has paused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pause {
    /// It has looked at as many nodes as it was to.
    Budget,
    /// All of the piece was looked at.
    Done,
    /// A node has children deeper than the limit.
    TooDeep,
}

/// Where a rank is in its piece.
#[derive(Debug)]
pub(crate) struct Walk<N> {
    /// Of the piece.
    number: u64,
    prefix: Vec<u32>,
    /// Those below `depth` are empty; there is always one.
    levels: Vec<WalkLevel<N>>,
    depth: usize,
    /// The greatest number of levels below the first that the depth limit allows.
    deepest: usize,
}

impl<N> Piece<N> {
    /// The whole tree.
    pub(crate) fn root(number: u64, root: N) -> Self {
        Piece {
            number,
            prefix: Vec::new(),
            first: 0,
            nodes: vec![root],
        }
    }
}

impl<N> Walk<N> {
    /// A walk with nothing to do.
    pub(crate) fn new() -> Self {
        Walk {
            number: 0,
            prefix: Vec::new(),
            levels: vec![WalkLevel::new(), WalkLevel::new()],
            depth: 0,
            deepest: 0,
        }
    }

    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// The nodes that it holds.
    pub(crate) fn held(&self) -> usize {
        let levels = self.levels[..=self.depth].iter();
        levels.map(|level| level.nodes.len()).sum()
    }

    /// Begins a piece, after the last one is done. No node is to be deeper than `limit`.
    pub(crate) fn begin(&mut self, piece: Piece<N>, limit: u32) {
        self.stop();
        self.number = piece.number;
        self.deepest = (limit as usize).saturating_sub(piece.prefix.len());
        self.prefix = piece.prefix;
        self.levels[0] = WalkLevel {
            nodes: piece.nodes,
            next: 0,
            first: piece.first,
        };
    }

    /// Gives up what is not begun.
    pub(crate) fn stop(&mut self) {
        self.levels.iter_mut().for_each(WalkLevel::clear);
        self.depth = 0;
    }

    /// Looks at up to `budget` nodes; how many it were, and why it has paused.
    pub(crate) fn run<J: NodeWork<Node = N>>(&mut self, job: &mut J, budget: u32) -> (u32, Pause) {
        let mut left = budget;
        loop {
            let (upper, lower) = self.levels.split_at_mut(self.depth + 1);
            let Some((level, above)) = upper.split_last_mut() else {
                return (budget - left, Pause::Done);
            };
            let below = &mut lower[0].nodes;
            loop {
                if left == 0 {
                    let is_open = |level: &WalkLevel<N>| level.open() > 0;
                    if is_open(&*level) || above.iter().any(is_open) {
                        return (budget, Pause::Budget);
                    }
                    self.stop();
                    return (budget, Pause::Done);
                }
                let Some(node) = level.nodes.get(level.next) else {
                    level.nodes.clear();
                    level.next = 0;
                    if self.depth == 0 {
                        return (budget - left, Pause::Done);
                    }
                    self.depth -= 1;
                    break;
                };
                let path = Path {
                    prefix: &self.prefix,
                    above,
                    number: level.first + level.next as u32,
                };
                // Before the program's code: a panic there names this node.
                level.next += 1;
                left -= 1;
                if !job.visit(node, &path) {
                    continue;
                }
                job.children(node, below);
                if below.is_empty() {
                    continue;
                }
                self.depth += 1;
                if lower.len() == 1 {
                    self.levels.push(WalkLevel::new());
                }
                if self.depth > self.deepest {
                    return (budget - left, Pause::TooDeep);
                }
                break;
            }
        }
    }

    /// Hands over the last half of the siblings that are not begun, nearest to the root; `None` if
    /// nothing would be left.
    pub(crate) fn give(&mut self, number: impl FnOnce() -> u64) -> Option<Piece<N>> {
        let levels = &mut self.levels[..=self.depth];
        let top = levels.iter().position(|level| level.open() > 0)?;
        let (above, below) = levels.split_at_mut(top);
        let (level, deeper) = below.split_first_mut()?;
        let open = level.open();
        if open == 1 && deeper.iter().all(|level| level.open() == 0) {
            return None;
        }
        let keep = level.nodes.len() - open.div_ceil(2);
        let nodes = level.nodes.split_off(keep);
        let mut prefix = self.prefix.clone();
        prefix.extend(above.iter().map(WalkLevel::number));
        Some(Piece {
            number: number(),
            prefix,
            first: level.first + keep as u32,
            nodes,
        })
    }

    /// The path of the node that was looked at last.
    pub(crate) fn path(&self) -> Vec<u32> {
        // A node whose children are deeper than the limit has them in its level already.
        let levels = &self.levels[..=self.depth];
        let begun = levels.iter().take_while(|level| level.next > 0);
        let prefix = self.prefix.iter().copied();
        prefix.chain(begun.map(WalkLevel::number)).collect()
    }
}
