//! Principal variation search on one rank.

use super::{HIGHEST, LOWEST, Player, in_range};
use crate::table::Bound;
use crate::worker::SearchStop;
use crate::{Game, Limit, SearchFault};
use motet_dispatch::Causality;
use std::time::Duration;

/// Nodes after which a rank looks for messages.
const LOOK: u64 = 1024;

impl<G: Game> Player<'_, '_, '_, G> {
    /// The value of a position after a move of the line, for the other one.
    pub(super) fn brother(&mut self, node: &G::Node, depth: u32) -> i32 {
        loop {
            if self.best.value == HIGHEST {
                // Nothing is better, and no window is left.
                return LOWEST;
            }
            let (beta, before) = (-self.best.value, self.done.nodes);
            // Is it better than the best at all? Most are not.
            let value = self.value(node, depth, beta - 1, beta, true);
            if self.stop.is_some() {
                return 0;
            }
            if std::mem::take(&mut self.given_up) {
                self.report.wasted += self.done.nodes - before;
                continue;
            }
            if value >= beta {
                return value;
            }
            return self.value(node, depth, LOWEST, -self.best.value, true);
        }
    }

    /// The value of a position for the one who is to move, if it lies between `alpha` and `beta`;
    /// else a bound on that side. At the `top`, others may lower `beta` meanwhile.
    fn value(&mut self, node: &G::Node, depth: u32, alpha: i32, beta: i32, top: bool) -> i32 {
        if let Some(value) = self.leaf(node, depth) {
            return value;
        }
        let key = self.game.key(node);
        if let Some(value) = self.table.value(key, depth, alpha, beta) {
            return value;
        }
        let mut moves = self.spare.pop().unwrap_or_default();
        self.game.children(node, &mut moves);
        let none = moves.is_empty();
        if !none && self.is_deepest(self.path.len()) {
            moves.clear();
        }
        let (mut best, mut low, mut high) = (LOWEST, alpha, beta);
        for (number, child) in (0..).zip(&moves) {
            if top && -self.best.value < high {
                if alpha > LOWEST {
                    // Moves were compared with a bound that does not count any more.
                    self.given_up = true;
                    break;
                }
                high = -self.best.value;
            }
            if low >= high {
                break;
            }
            self.path.push(number);
            let mut value = if number == 0 {
                -self.value(child, depth - 1, -high, -low, false)
            } else {
                -self.value(child, depth - 1, -low - 1, -low, false)
            };
            if number > 0 && low < value && value < high {
                value = -self.value(child, depth - 1, -high, -low, false);
            }
            self.path.pop();
            if self.stop.is_some() {
                break;
            }
            best = best.max(value);
            low = low.max(best);
        }
        moves.clear();
        self.spare.push(moves);
        if none {
            self.no_leaf();
        }
        if self.stop.is_some() || self.given_up {
            return 0;
        }
        let bound = match best {
            // First: where no window was left, not all moves were looked at.
            _ if best >= high => Bound::AtLeast,
            _ if best <= alpha => Bound::AtMost,
            _ => Bound::Exact,
        };
        self.table.keep(key, depth, best, bound);
        best
    }

    /// The value of a position where the search ends: for the game, or at once for all ranks.
    #[inline]
    fn leaf(&mut self, node: &G::Node, depth: u32) -> Option<i32> {
        self.done.nodes += 1;
        if self.done.nodes.is_multiple_of(LOOK) {
            self.check();
        }
        if self.stop.is_some() {
            return Some(0);
        }
        let value = self.game.leaf(node, depth);
        if value.is_none() && depth == 0 {
            self.no_leaf();
            return Some(0);
        }
        value.map(in_range)
    }

    /// Whether no position may be deeper than one of this depth: then the one in hand, which has
    /// moves, ends the search.
    pub(super) fn is_deepest(&mut self, depth: usize) -> bool {
        let limit = self.search.limits.depth;
        let is_deepest = depth >= limit as usize;
        if is_deepest {
            let (rank, path) = (self.link.rank(), self.path.clone());
            self.stop = Some(SearchStop::Fault(SearchFault::TooDeep {
                rank,
                path,
                limit,
            }));
        }
        is_deepest
    }

    fn no_leaf(&mut self) {
        let path = self.path.clone();
        self.stop = Some(SearchStop::Fault(SearchFault::NoLeaf { path }));
    }

    /// Looks at messages and limits.
    fn check(&mut self) {
        let limits = &self.search.limits;
        if let Err(cancelled) = Causality::check() {
            let (rank, reason) = (self.link.rank(), cancelled.to_string());
            self.stop = Some(SearchStop::Fault(SearchFault::Cancelled { rank, reason }));
        } else if self.done.nodes >= limits.nodes / self.link.size() as u64 {
            self.stop = Some(SearchStop::Limit(Limit::Nodes));
        } else if limits.time < Duration::MAX && self.began.elapsed() > limits.time {
            self.stop = Some(SearchStop::Limit(Limit::Time));
        }
        // What cannot be sent or received now cannot be either when the rank waits next, and is
        // told there.
        let _ = self.look();
    }
}
