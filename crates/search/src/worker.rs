//! One rank's visits, slice by slice, within the limits.
//!
//! Between two slices the rank looks for messages. A slice is to take some ten microseconds,
//! whatever a node takes, and has at most 4096 nodes.

use crate::job::NodeWork;
use crate::outcome::{RankReport, Report};
use crate::walk::{Pause, Piece, Walk};
use crate::{Limit, Limits, SearchFault};
use motet_comm::Communicator;
use motet_dispatch::{Causality, Exception};
use serde::{Deserialize, Serialize};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

/// The most nodes of a slice.
const MOST: u32 = 4096;
/// A slice of all its nodes that is shorter doubles the next one; one that is four times as long
/// halves it.
const SHORT: Duration = Duration::from_micros(20);

/// What a piece is said to cost for each edge of the path in hand, since its path is copied. All
/// pieces that a rank gives cost no more time than it has visited nodes for. Else the last branch
/// of a narrow tree would go from rank to rank at each node.
const COST_OF_EDGE: Duration = Duration::from_nanos(8);

/// Why all ranks end before the tree does.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum SearchStop {
    Limit(Limit),
    Fault(SearchFault),
}

pub(crate) struct SearchWorker<'s, N> {
    rank: usize,
    limits: &'s Limits,
    /// When the search began.
    began: Instant,
    pub(crate) walk: Walk<N>,
    budget: u32,
    /// The rank is alone, so that its nodes are all.
    alone: bool,
    /// Nodes that the rank has visited by another walk, or all ranks in rounds before.
    pub(crate) beside: u64,
    /// Its nodes are those that it has looked at, also those that were left out by their bound.
    pub(crate) done: RankReport,
    /// Of the time for which it has visited nodes: what the pieces have cost that it has given.
    spent: Duration,
}

impl<'s, N> SearchWorker<'s, N> {
    pub(crate) fn new(comm: &Communicator, limits: &'s Limits, began: Instant) -> Self {
        SearchWorker::of(comm.rank(), comm.size(), limits, began)
    }

    /// One of so many.
    pub(crate) fn of(rank: usize, size: usize, limits: &'s Limits, began: Instant) -> Self {
        SearchWorker {
            rank,
            limits,
            began,
            walk: Walk::new(),
            // Nobody knows yet how long a node takes.
            budget: 1,
            alone: size == 1,
            beside: 0,
            done: RankReport::default(),
            spent: Duration::ZERO,
        }
    }

    pub(crate) fn begin(&mut self, piece: Piece<N>) {
        self.walk.begin(piece, self.limits.depth);
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// Visits some nodes; whether the piece is done.
    ///
    /// # Errors
    /// Why the search is to end. The walk stays where it is.
    pub(crate) fn slice<J: NodeWork<Node = N>>(&mut self, job: &mut J) -> Result<bool, SearchStop> {
        self.slice_of(job, self.budget)
    }

    /// As [`SearchWorker::slice`], of so many nodes at most.
    pub(crate) fn slice_of<J: NodeWork<Node = N>>(
        &mut self,
        job: &mut J,
        budget: u32,
    ) -> Result<bool, SearchStop> {
        let left = match self.alone {
            true => {
                let visited = self.done.nodes + self.beside;
                self.limits.nodes.saturating_sub(visited)
            }
            false => u64::MAX,
        };
        let budget = u64::from(budget).min(left) as u32;
        let begin = Instant::now();
        let ran = caught(|| self.walk.run(job, budget));
        let took = begin.elapsed();
        self.done.busy += took;
        let (rank, path) = (self.rank, || shown(&self.walk.path()));
        let (nodes, pause) =
            ran.map_err(|message| SearchStop::Fault(panicked(rank, path(), message)))?;
        self.done.nodes += u64::from(nodes);
        if pause == Pause::TooDeep {
            let limit = self.limits.depth;
            let path = path();
            return Err(SearchStop::Fault(SearchFault::TooDeep {
                rank,
                path,
                limit,
            }));
        }
        let limit = self.limits.held;
        if limit < usize::MAX && self.walk.held() > limit {
            let (held, path) = (self.walk.held(), path());
            return Err(SearchStop::Fault(SearchFault::TooManyHeld {
                rank,
                path,
                held,
                limit,
            }));
        }
        Causality::check().map_err(|cancelled| {
            let reason = cancelled.to_string();
            SearchStop::Fault(SearchFault::Cancelled { rank, reason })
        })?;
        if pause == Pause::Done {
            return Ok(true);
        }
        if u64::from(budget) == left {
            return Err(SearchStop::Limit(Limit::Nodes));
        }
        if self.limits.is_late(self.began) {
            return Err(SearchStop::Limit(Limit::Time));
        }
        self.pace(took);
        Ok(false)
    }

    /// Cuts off a piece for another rank. `None` if there is none, or if it is too early for one so
    /// deep. Neither is found by a look at all levels.
    pub(crate) fn give(&mut self, number: impl FnOnce() -> u64) -> Option<Piece<N>> {
        let spent = spent_with(self.spent, self.walk.depth(), self.done.busy)?;
        let piece = self.walk.give(number)?;
        self.spent = spent;
        Some(piece)
    }

    fn pace(&mut self, took: Duration) {
        if took < SHORT {
            self.budget = (self.budget * 2).min(MOST);
        } else if took > SHORT * 4 {
            self.budget = (self.budget / 2).max(1);
        }
    }
}

/// What pieces have cost with one more at this depth, if that is no more than the time for which
/// nodes were visited.
fn spent_with(spent: Duration, depth: usize, busy: Duration) -> Option<Duration> {
    let edges = u32::try_from(depth).unwrap_or(u32::MAX);
    let spent = spent + COST_OF_EDGE * edges;
    (spent <= busy).then_some(spent)
}

/// Calls the program's code at the root.
///
/// # Errors
/// Its panic.
pub(crate) fn guarded<R>(rank: usize, call: impl FnOnce() -> R) -> Result<R, SearchFault> {
    caught(call).map_err(|message| panicked(rank, Vec::new(), message))
}

/// Names of the program's functions that run at no node, for [`guarded_call`].
pub(crate) const ZERO: &str = "`zero`";
pub(crate) const JOIN: &str = "`join`";
pub(crate) const TELL: &str = "`progress.tell`";
pub(crate) const VALUES: &str = "a comparison or a clone of what was found";
pub(crate) const MAKE: &str = "`zero`, or a clone of what the search was given";

/// Calls the program's code at no node.
///
/// # Errors
/// Its panic, with this name of the function.
pub(crate) fn guarded_call<R>(
    rank: usize,
    name: &str,
    call: impl FnOnce() -> R,
) -> Result<R, SearchFault> {
    caught(call).map_err(|message| panicked_in(rank, name, message))
}

/// The fault of a panic at no node.
pub(crate) fn panicked_in(rank: usize, name: &str, message: String) -> SearchFault {
    SearchFault::Panicked {
        rank,
        path: Vec::new(),
        call: Some(name.to_owned()),
        message,
    }
}

/// Calls the program's code.
///
/// # Errors
/// What its panic says.
pub(crate) fn caught<R>(call: impl FnOnce() -> R) -> Result<R, String> {
    let caught = catch_unwind(AssertUnwindSafe(call));
    caught.map_err(|payload| Exception::new(payload, "search").message().to_owned())
}

fn panicked(rank: usize, path: Vec<u32>, message: String) -> SearchFault {
    SearchFault::Panicked {
        rank,
        path,
        call: None,
        message,
    }
}

/// A path as programs see it: without the root.
pub(crate) fn shown(path: &[u32]) -> Vec<u32> {
    path.get(1..).unwrap_or_default().to_vec()
}

/// What all ranks have done together, and which limit has ended it.
///
/// # Errors
/// The first rank's fault.
pub(crate) async fn sum_up(
    comm: &Communicator,
    mut own: Report,
    mut done: RankReport,
    stop: Option<SearchStop>,
) -> Result<(Report, Option<Limit>), crate::SearchError> {
    done.nodes -= own.pruned.min(done.nodes);
    own.nodes = done.nodes;
    total(comm.allgather((own, done, stop)).await?)
}

/// What all have done together, and which limit has ended it.
///
/// # Errors
/// The first fault.
pub(crate) fn total(
    all: impl IntoIterator<Item = (Report, RankReport, Option<SearchStop>)>,
) -> Result<(Report, Option<Limit>), crate::SearchError> {
    let (mut total, mut limit) = (Report::default(), None);
    total.rounds = 1;
    for (report, done, stop) in all {
        match stop {
            Some(SearchStop::Fault(fault)) => return Err(fault.into()),
            Some(SearchStop::Limit(which)) => limit = limit.or(Some(which)),
            None => {}
        }
        total.add(&report);
        total.ranks.push(done);
    }
    Ok((total, limit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_a_narrow_tree_cost_no_more_than_a_share_of_the_time() {
        // A chain, of which a node takes 20 nanoseconds; somebody asks after each.
        let node = Duration::from_nanos(20);
        let (mut spent, mut busy, mut given) = (Duration::ZERO, Duration::ZERO, 0);
        for depth in 0..100_000 {
            busy += node;
            if let Some(with) = spent_with(spent, depth, busy) {
                (spent, given) = (with, given + 1);
            }
        }
        assert!(spent <= busy);
        assert!((1..100).contains(&given), "{given}");
    }

    #[test]
    fn a_rank_gives_at_once_where_nodes_take_long_or_the_tree_is_wide() {
        let second = Duration::from_secs(1);
        let slow = spent_with(Duration::ZERO, 1 << 18, second);
        assert!(slow.is_some_and(|spent| spent < second));
        let shallow = spent_with(Duration::ZERO, 10, Duration::from_nanos(100));
        assert!(shallow.is_some());
    }
}
