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
    pub(crate) done: RankReport,
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

    fn pace(&mut self, took: Duration) {
        if took < SHORT {
            self.budget = (self.budget * 2).min(MOST);
        } else if took > SHORT * 4 {
            self.budget = (self.budget / 2).max(1);
        }
    }
}

/// Calls the program's code at the root, or at no node.
///
/// # Errors
/// Its panic.
pub(crate) fn guarded<R>(rank: usize, call: impl FnOnce() -> R) -> Result<R, SearchFault> {
    caught(call).map_err(|message| panicked(rank, Vec::new(), message))
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
    done: RankReport,
    stop: Option<SearchStop>,
) -> Result<(Report, Option<Limit>), crate::SearchError> {
    own.nodes = done.nodes - own.pruned.min(done.nodes);
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
