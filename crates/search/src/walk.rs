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
//! any. It comes after all that stays, in the order of the tree. That level is kept, and so is how
//! many nodes there are: neither a piece, nor a refusal, nor a limit looks at all levels.

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
    /// The nodes of all levels that are not begun.
    open: usize,
    /// The nodes of all levels, also those that are begun.
    held: usize,
    /// No level above this one has any that is not begun.
    top: usize,
    /// Levels that were looked at for one that has some, or cleared.
    #[cfg(test)]
    looked: usize,
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
            open: 0,
            held: 0,
            top: 0,
            #[cfg(test)]
            looked: 0,
        }
    }

    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// How many edges are between the root of the tree and the level in which it is.
    pub(crate) fn depth(&self) -> usize {
        self.prefix.len() + self.depth
    }

    /// The nodes that it holds.
    pub(crate) fn held(&self) -> usize {
        self.held
    }

    /// Begins a piece, after the last one is done. No node is to be deeper than `limit`.
    pub(crate) fn begin(&mut self, piece: Piece<N>, limit: u32) {
        self.stop();
        self.number = piece.number;
        self.deepest = (limit as usize).saturating_sub(piece.prefix.len());
        self.prefix = piece.prefix;
        self.open = piece.nodes.len();
        self.held = self.open;
        self.levels[0] = WalkLevel {
            nodes: piece.nodes,
            next: 0,
            first: piece.first,
        };
    }

    /// Gives up what is not begun.
    pub(crate) fn stop(&mut self) {
        // Children of a node whose code has panicked may be in the level below.
        let used = (self.depth + 2).min(self.levels.len());
        self.levels[..used].iter_mut().for_each(WalkLevel::clear);
        #[cfg(test)]
        {
            self.looked += used;
        }
        (self.depth, self.open, self.held, self.top) = (0, 0, 0, 0);
    }

    /// Looks at up to `budget` nodes; how many it were, and why it has paused.
    pub(crate) fn run<J: NodeWork<Node = N>>(&mut self, job: &mut J, budget: u32) -> (u32, Pause) {
        let (visited, pause) = self.visit(job, budget);
        self.open -= visited as usize;
        if pause == Pause::Budget && self.open == 0 {
            self.stop();
            return (visited, Pause::Done);
        }
        (visited, pause)
    }

    /// As [`Walk::run`]; a piece that ends with its budget has paused. The nodes that it begins are
    /// still counted as open.
    fn visit<J: NodeWork<Node = N>>(&mut self, job: &mut J, budget: u32) -> (u32, Pause) {
        let mut left = budget;
        loop {
            let (upper, lower) = self.levels.split_at_mut(self.depth + 1);
            let Some((level, above)) = upper.split_last_mut() else {
                return (budget - left, Pause::Done);
            };
            let below = &mut lower[0].nodes;
            loop {
                if left == 0 {
                    return (budget, Pause::Budget);
                }
                let Some(node) = level.nodes.get(level.next) else {
                    self.held -= level.nodes.len();
                    level.nodes.clear();
                    level.next = 0;
                    if self.depth == 0 {
                        return (budget - left, Pause::Done);
                    }
                    self.depth -= 1;
                    // The level above may have open nodes.
                    self.top = self.top.min(self.depth);
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
                self.open += below.len();
                self.held += below.len();
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
        if self.open < 2 {
            return None;
        }
        let top = self.topmost()?;
        let (above, below) = self.levels.split_at_mut(top);
        let level = below.first_mut()?;
        let keep = level.nodes.len() - level.open().div_ceil(2);
        let nodes = level.nodes.split_off(keep);
        self.open -= nodes.len();
        self.held -= nodes.len();
        let mut prefix = self.prefix.clone();
        prefix.extend(above.iter().map(WalkLevel::number));
        Some(Piece {
            number: number(),
            prefix,
            first: level.first + keep as u32,
            nodes,
        })
    }

    /// The first level with a node that is not begun.
    fn topmost(&mut self) -> Option<usize> {
        while self.top <= self.depth {
            #[cfg(test)]
            {
                self.looked += 1;
            }
            if self.levels[self.top].open() > 0 {
                return Some(self.top);
            }
            self.top += 1;
        }
        None
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A tree that is given by the children of each node; what was visited.
    struct Visits<F> {
        children: F,
        count: usize,
        /// Also where.
        paths: Option<Vec<Vec<u32>>>,
    }

    impl<F: Fn(u64) -> Vec<u64>> NodeWork for Visits<F> {
        type Node = u64;
        type News = ();
        type Part = ();

        fn visit(&mut self, _: &u64, path: &Path<'_, u64>) -> bool {
            self.count += 1;
            if let Some(paths) = &mut self.paths {
                paths.push(path.to_vec());
            }
            true
        }

        fn children(&self, node: &u64, out: &mut Vec<u64>) {
            out.extend((self.children)(*node));
        }

        fn news(&mut self) -> Option<()> {
            None
        }

        fn hear(&mut self, (): ()) -> bool {
            false
        }

        fn part(&mut self) -> Option<()> {
            None
        }

        fn pruned(&self) -> u64 {
            0
        }
    }

    fn begun<F: Fn(u64) -> Vec<u64>>(children: F) -> (Walk<u64>, Visits<F>) {
        let mut walk = Walk::new();
        walk.begin(Piece::root(0, 1), u32::MAX);
        let job = Visits {
            children,
            count: 0,
            paths: None,
        };
        (walk, job)
    }

    /// A number that looks random.
    fn random(of: u64) -> u64 {
        let mixed = of.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 20
    }

    /// What a look at all levels would give: where, and how many.
    fn looked_for(walk: &Walk<u64>) -> Option<(Vec<u32>, u32, usize)> {
        let levels = &walk.levels[..=walk.depth];
        let open: usize = levels.iter().map(WalkLevel::open).sum();
        assert_eq!(open, walk.open, "all open nodes are counted");
        let held: usize = levels.iter().map(|level| level.nodes.len()).sum();
        assert_eq!(held, walk.held(), "all nodes are counted");
        let top = levels.iter().position(|level| level.open() > 0)?;
        let above = levels[..top].iter().map(WalkLevel::number);
        let prefix = walk.prefix.iter().copied().chain(above).collect();
        let (level, half) = (&levels[top], levels[top].open().div_ceil(2));
        let first = level.first + (level.nodes.len() - half) as u32;
        (open > 1).then_some((prefix, first, half))
    }

    #[test]
    fn the_piece_given_is_that_of_the_first_open_level() {
        for seed in 0..200 {
            let children = |node: u64| -> Vec<u64> {
                let deep = node >= 1 << 20;
                let count = if deep {
                    0
                } else {
                    random(node ^ (seed << 32)) % 4
                };
                (0..count).map(|child| node * 4 + child).collect()
            };
            let (mut walk, mut job) = begun(children);
            job.paths = Some(Vec::new());
            let mut pieces = Vec::new();
            for step in 0.. {
                let drawn = random((seed << 32) ^ step);
                let (_, pause) = walk.run(&mut job, (drawn % 8) as u32);
                if pause == Pause::Done {
                    assert!(walk.give(|| 1).is_none());
                    let Some(piece) = pieces.pop() else { break };
                    walk.begin(piece, u32::MAX);
                }
                for _ in 0..drawn / 8 % 4 {
                    let known = looked_for(&walk);
                    let piece = walk.give(|| 1);
                    let place =
                        |piece: &Piece<u64>| (piece.prefix.clone(), piece.first, piece.nodes.len());
                    assert_eq!(piece.as_ref().map(place), known, "of {seed}");
                    pieces.extend(piece);
                }
            }
            let (mut whole, mut all) = begun(children);
            all.paths = Some(Vec::new());
            assert_eq!(whole.run(&mut all, u32::MAX).1, Pause::Done);
            let mut paths = job.paths.unwrap_or_default();
            paths.sort_unstable();
            assert_eq!(Some(paths), all.paths, "each node is visited once");
        }
    }

    /// A chain of so many levels with a leaf beside each node: before it, or behind it. Even nodes
    /// are leaves.
    fn chain(levels: u64, leaf_first: bool) -> impl Fn(u64) -> Vec<u64> {
        move |node| match node % 2 == 1 && node < 2 * levels {
            true if leaf_first => vec![node + 1, node + 2],
            true => vec![node + 2, node + 1],
            false => Vec::new(),
        }
    }

    #[test]
    fn who_asks_a_walk_down_a_narrow_tree_has_few_levels_looked_at() {
        const LEVELS: u64 = 20_000;
        for leaf_first in [false, true] {
            let (mut walk, mut job) = begun(chain(LEVELS, leaf_first));
            let (mut asked, mut given) = (0, 0);
            loop {
                let (_, pause) = walk.run(&mut job, 1);
                if pause == Pause::Done {
                    break;
                }
                asked += 1;
                // Where the leaf comes first, the last half is the chain itself: it stays here.
                if !leaf_first || walk.open < 2 {
                    given += usize::from(walk.give(|| 1).is_some());
                }
            }
            let visited = job.count;
            assert!(visited > LEVELS as usize && asked + 1 >= visited);
            assert_eq!(given > 0, !leaf_first);
            let most = 2 * (asked + visited);
            assert!(walk.looked <= most, "{} of {most}", walk.looked);
        }
    }

    #[test]
    fn sem_g202_how_many_nodes_are_held_is_known_at_each_node_of_a_deep_narrow_tree() {
        const LEVELS: u64 = 200_000;
        for leaf_first in [false, true] {
            let (mut walk, mut job) = begun(chain(LEVELS, leaf_first));
            let mut deepest = 0;
            // A sum over all levels at each node would be 10^10 steps.
            while walk.run(&mut job, 1).1 == Pause::Budget {
                assert_eq!(walk.held(), 1 + 2 * walk.depth);
                deepest = deepest.max(walk.depth);
            }
            assert_eq!(walk.held(), 0);
            assert_eq!(job.count as u64, 2 * LEVELS + 1);
            assert_eq!(deepest as u64, LEVELS);
        }
    }

    #[test]
    fn a_path_without_siblings_ends_each_slice_without_a_look_at_its_levels() {
        let (mut walk, mut job) = begun(|node| vec![node + 1]);
        for _ in 0..10_000 {
            assert_eq!(walk.run(&mut job, 1), (1, Pause::Budget));
            assert!(walk.give(|| 1).is_none());
        }
        // Those of the beginning.
        assert!(walk.looked <= 2, "{}", walk.looked);
        walk.stop();
        // Not all that were used before: each piece is begun so.
        walk.looked = 0;
        walk.begin(Piece::root(0, 1), u32::MAX);
        assert!(walk.looked <= 2, "{}", walk.looked);
    }
}
