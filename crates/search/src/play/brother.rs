//! Principal variation search on one rank.

use super::{HIGHEST, LOWEST, Message, Player, in_range};
use crate::settings::Progress;
use crate::table::Bound;
use crate::worker::{SearchStop, TELL, guarded_call};
use crate::{Game, Limit, SearchFault};
use motet_comm::CommError;
use motet_dispatch::Causality;
use std::time::Duration;

/// Nodes after which a rank looks for messages.
const LOOK: u64 = 1024;

/// A position whose moves are looked at, one after the other.
struct OpenPosition<N> {
    moves: Vec<N>,
    /// The move in hand.
    number: usize,
    /// It is better than the best before it, which is all that a window without room can tell: it
    /// is searched with the whole window.
    again: bool,
    key: u64,
    depth: u32,
    alpha: i32,
    /// The window that is left, and the best value so far.
    low: i32,
    high: i32,
    best: i32,
}

impl<N> OpenPosition<N> {
    fn has_more(&self) -> bool {
        self.number < self.moves.len()
    }

    /// The move in hand, and the window for the one who is to move after it; `None` when all that
    /// are wanted have been looked at.
    fn wanted(&self) -> Option<(&N, [i32; 2])> {
        let child = self.moves.get(self.number);
        let child = child.filter(|_| self.low < self.high)?;
        let beta = match self.number == 0 || self.again {
            true => self.high,
            // Is it better than the best so far at all? Most are not.
            false => self.low + 1,
        };
        Some((child, [-beta, -self.low]))
    }

    /// The move in hand is worth so much; whether the next one begins.
    fn learn(&mut self, value: i32) -> bool {
        let is_whole = self.number == 0 || self.again;
        if !is_whole && self.low < value && value < self.high {
            self.again = true;
            return false;
        }
        self.best = self.best.max(value);
        self.low = self.low.max(self.best);
        (self.number, self.again) = (self.number + 1, false);
        true
    }
}

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
            let value = self.value(node, depth, beta - 1, beta);
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
            return self.value(node, depth, LOWEST, -self.best.value);
        }
    }

    /// The value of a position for the one who is to move, if it lies between `alpha` and `beta`;
    /// else a bound on that side. Others may lower `beta` meanwhile.
    ///
    /// The positions below it lie in a vector: a line may be longer than a stack has room for.
    fn value(&mut self, node: &G::Node, depth: u32, alpha: i32, beta: i32) -> i32 {
        let line = self.path.len();
        let mut open: Vec<OpenPosition<G::Node>> = Vec::new();
        let mut met = self.meet(node, depth, [alpha, beta]);
        let value = loop {
            let value = match met {
                Ok(position) => {
                    open.push(position);
                    None
                }
                Err(value) => Some(value),
            };
            if self.stop.is_some() {
                break 0;
            }
            let is_top = open.len() == 1;
            let Some(here) = open.last_mut() else {
                break value.unwrap_or_default();
            };
            let mut begins = true;
            if let Some(value) = value {
                self.path.pop();
                begins = here.learn(-value);
            }
            if is_top && begins && here.has_more() && -self.best.value < here.high {
                if alpha > LOWEST {
                    // Moves were compared with a bound that does not count any more.
                    self.given_up = true;
                    break 0;
                }
                here.high = -self.best.value;
            }
            met = match here.wanted() {
                Some((child, window)) => {
                    self.path.push(here.number as u32);
                    self.meet(child, here.depth - 1, window)
                }
                None => Err(open.pop().map_or(0, |position| self.leave(position))),
            };
        };
        self.path.truncate(line);
        for position in open {
            self.reuse(position.moves);
        }
        value
    }

    /// A position whose moves are to be looked at.
    ///
    /// # Errors
    /// Its value, or a bound, where that is known without.
    fn meet(
        &mut self,
        node: &G::Node,
        depth: u32,
        [alpha, beta]: [i32; 2],
    ) -> Result<OpenPosition<G::Node>, i32> {
        if let Some(value) = self.leaf(node, depth) {
            return Err(value);
        }
        let key = self.game.key(node);
        if let Some(value) = self.table.value(key, depth, alpha, beta) {
            return Err(value);
        }
        let mut moves = self.spare.pop().unwrap_or_default();
        self.game.children(node, &mut moves);
        if moves.is_empty() {
            self.no_leaf();
        }
        if moves.is_empty() || self.is_deepest(self.path.len()) {
            self.reuse(moves);
            return Err(0);
        }
        Ok(OpenPosition {
            moves,
            number: 0,
            again: false,
            key,
            depth,
            alpha,
            low: alpha,
            high: beta,
            best: LOWEST,
        })
    }

    /// What a position is worth whose moves have been looked at.
    fn leave(&mut self, position: OpenPosition<G::Node>) -> i32 {
        let best = position.best;
        let bound = match best {
            // First: where no window was left, not all moves were looked at.
            _ if best >= position.high => Bound::AtLeast,
            _ if best <= position.alpha => Bound::AtMost,
            _ => Bound::Exact,
        };
        self.table.keep(position.key, position.depth, best, bound);
        self.reuse(position.moves);
        best
    }

    /// Keeps the room of some moves.
    fn reuse(&mut self, mut moves: Vec<G::Node>) {
        moves.clear();
        self.spare.push(moves);
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
        } else if self.done.nodes > limits.nodes / self.link.size() as u64 {
            self.stop = Some(SearchStop::Limit(Limit::Nodes));
        } else if limits.time < Duration::MAX && self.began.elapsed() > limits.time {
            self.stop = Some(SearchStop::Limit(Limit::Time));
        }
        // What cannot be sent or received now cannot be either when the rank waits next, and is
        // told there.
        let _ = self.tell_nodes();
        let _ = self.look();
    }

    /// Tells rank 0 of the nodes visited, if somebody hears of the progress and it is time.
    pub(super) fn tell_nodes(&mut self) -> Result<(), CommError> {
        let (nodes, began) = (self.done.nodes, self.began);
        let new = nodes - self.tally.told;
        let is_heard = self.search.progress.is_some() && new > 0;
        if !is_heard || !self.tally.is_due(new, || began.elapsed()) {
            return Ok(());
        }
        self.tally.told = nodes;
        if self.link.rank() > 0 {
            return self.link.send(0, Message::Tally(new));
        }
        self.count(new);
        Ok(())
    }

    /// Rank 0: so many nodes more were visited, on any rank.
    pub(super) fn count(&mut self, more: u64) {
        self.tally.total += more;
        let (nodes, elapsed) = (self.tally.total, self.began.elapsed());
        let shown = guarded_call(0, TELL, || self.tally.show(Progress { nodes, elapsed }));
        if let Err(fault) = shown {
            self.stop = Some(SearchStop::Fault(fault));
        }
    }
}
