//! Searches by the workers of a dispatcher: one process, no ranks.
//!
//! ```text
//!   one task for each worker
//!     └─► visits some nodes ─► looks at what all share ─► lets other tasks run ─► visits some nodes …
//!                              (pieces, the best value, a reason to stop)
//! ```
//!
//! A task lets other tasks of the dispatcher run between two slices of at most 4096 nodes. What
//! tasks share is in `shared.rs`.

mod shared;

use self::shared::{Part, Shared};
use crate::best::Maximum;
use crate::deepen::DeepeningRound;
use crate::fold::{Fold, combine};
use crate::job::NodeWork;
use crate::outcome::Report;
use crate::tally::EarlierRounds;
use crate::wanted::{AcceptedNode, Downwards};
use crate::worker::{
    JOIN, MAKE, SearchStop, VALUES, ZERO, guarded, guarded_call, panicked_in, shown, total,
};
use crate::{
    Best, Bounded, Limit, Order, Outcome, Search, SearchError, SearchFault, Tree, balance,
};
use motet_comm::Value;
use motet_dispatch::{Dispatcher, Enqueue, JoinError, QueueConfig, spawn_with_handle};
use std::cmp::Reverse;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Searches by the workers of a dispatcher. Made by [`Search::on`].
///
/// A tree goes to the workers: give an `Arc` of it, or a tree that can be copied. A dropped search
/// ends: its tasks visit no more than the nodes of the slice that they are in.
pub struct OnDispatcher {
    search: Search,
    queue: Arc<dyn Enqueue>,
    tasks: usize,
}

type Solution<P> = Option<Best<<P as Bounded>::Value, <P as Tree>::Node>>;

/// What all tasks have come to.
struct SearchEnd<J: NodeWork> {
    parts: Vec<Part<J>>,
    report: Report,
    stopped: Option<Limit>,
    /// When progress was told last.
    shown_at: Duration,
}

impl Search {
    /// The same searches by the workers of a dispatcher, in one process and without a communicator.
    ///
    /// Results are those of ranks, for any number of workers. [`Order::Replicable`] and
    /// [`Search::play`] need ranks. Async handlers await the searches. A thread of the program's,
    /// as that of `fn main`, waits for them by `block_on`, or by `wait_blocking` of the facade.
    ///
    /// ```
    /// use motet_dispatch::Dispatcher;
    /// use motet_search::{Search, Tree};
    /// use motet_sync::block_on;
    ///
    /// /// Numbers of so many digits, each 0 or 1.
    /// #[derive(Clone)]
    /// struct Digits(usize);
    ///
    /// impl Tree for Digits {
    ///     type Node = String;
    ///     fn root(&self) -> String {
    ///         String::new()
    ///     }
    ///     fn children(&self, number: &String, out: &mut Vec<String>) {
    ///         if number.len() < self.0 {
    ///             out.extend(["0", "1"].map(|digit| number.clone() + digit));
    ///         }
    ///     }
    /// }
    ///
    /// let dispatcher = Dispatcher::new(2);
    /// let search = Search::default().on(&dispatcher);
    /// let count = |sum: &mut u32, number: &String| *sum += u32::from(number.len() == 10);
    /// let counted = block_on(search.fold(Digits(10), || 0, count, |a, b| a + b)).unwrap();
    /// assert_eq!(counted.result, 1024);
    /// ```
    #[must_use]
    pub fn on(&self, dispatcher: &Dispatcher) -> OnDispatcher {
        OnDispatcher {
            search: self.clone(),
            queue: dispatcher.queue(QueueConfig::named("search")).handle(),
            tasks: dispatcher.workers().max(1),
        }
    }
}

impl OnDispatcher {
    /// As [`Search::fold`].
    ///
    /// # Errors
    /// As [`Search::fold`]; [`SearchFault::Dispatcher`] when the dispatcher has stopped.
    pub async fn fold<T: Tree + Clone + Send + 'static, A: Value>(
        &self,
        tree: T,
        zero: impl Fn() -> A + Clone + Send + 'static,
        mut visit: impl FnMut(&mut A, &T::Node) + Clone + Send + 'static,
        join: impl FnMut(A, A) -> A,
    ) -> Result<Outcome<A>, SearchError> {
        let visit = move |value: &mut A, node: &T::Node| {
            visit(value, node);
            true
        };
        self.fold_pruned(tree, zero, visit, join).await
    }

    /// As [`Search::fold_pruned`].
    ///
    /// # Errors
    /// As [`OnDispatcher::fold`].
    pub async fn fold_pruned<T: Tree + Clone + Send + 'static, A: Value>(
        &self,
        tree: T,
        zero: impl Fn() -> A + Clone + Send + 'static,
        visit: impl FnMut(&mut A, &T::Node) -> bool + Clone + Send + 'static,
        join: impl FnMut(A, A) -> A,
    ) -> Result<Outcome<A>, SearchError> {
        let make = || Fold {
            tree: tree.clone(),
            value: zero(),
            zero: zero.clone(),
            visit: visit.clone(),
        };
        let begin = (Instant::now(), EarlierRounds::default());
        let ended = self.run(begin, || tree.root(), make).await?;
        let segments = ended.parts.into_iter().flat_map(|part| part.segments);
        let zero = guarded_call(0, ZERO, &zero)?;
        Ok(Outcome {
            result: guarded_call(0, JOIN, || combine(balance::WHOLE, segments, zero, join))?,
            report: ended.report,
            stopped: ended.stopped,
        })
    }

    /// As [`Search::find`].
    ///
    /// # Errors
    /// As [`OnDispatcher::fold`]; [`SearchFault::Settings`] with [`Order::Replicable`].
    pub async fn find<T: Tree + Clone + Send + 'static>(
        &self,
        tree: T,
        wanted: impl Fn(&T::Node) -> bool + Clone + Send + 'static,
    ) -> Result<Outcome<Option<Best<(), T::Node>>>, SearchError> {
        self.maximise(AcceptedNode { tree, wanted }).await
    }

    /// As [`Search::maximise`].
    ///
    /// # Errors
    /// As [`OnDispatcher::find`].
    pub async fn maximise<P: Bounded + Clone + Send + 'static>(
        &self,
        problem: P,
    ) -> Result<Outcome<Solution<P>>, SearchError> {
        let first = self.is_first()?;
        let make = || Maximum::new(problem.clone(), first);
        let begin = (Instant::now(), EarlierRounds::default());
        let ended = self.run(begin, || problem.root(), make).await?;
        let mut parts = ended.parts;
        let own = parts.iter_mut().filter_map(|part| part.job.take_own());
        Ok(Outcome {
            result: greatest(own),
            report: ended.report,
            stopped: ended.stopped,
        })
    }

    /// As [`Search::minimise`].
    ///
    /// # Errors
    /// As [`OnDispatcher::find`].
    pub async fn minimise<P: Bounded + Clone + Send + 'static>(
        &self,
        problem: P,
    ) -> Result<Outcome<Solution<P>>, SearchError> {
        let found = self.maximise(Downwards(problem)).await?;
        Ok(Outcome {
            result: found.result.map(|best| best.map(|Reverse(value)| value)),
            report: found.report,
            stopped: found.stopped,
        })
    }

    /// As [`Search::deepen`].
    ///
    /// # Errors
    /// As [`OnDispatcher::find`].
    pub async fn deepen<P: Bounded + Clone + Send + 'static>(
        &self,
        problem: P,
    ) -> Result<Outcome<Solution<P>>, SearchError> {
        let (first, began) = (self.is_first()?, Instant::now());
        let (mut report, mut earlier) = (Report::default(), EarlierRounds::default());
        let mut limit = guarded(0, || problem.bound(&problem.root()))?;
        loop {
            let make = || DeepeningRound::new(problem.clone(), first, limit);
            let ended = self.run((began, earlier), || problem.root(), make).await?;
            report.add_round(&ended.report);
            earlier = earlier.with(&ended.report, ended.shown_at);
            let met = ended.parts.into_iter().map(|part| part.job.into_parts());
            let (beyond, own): (Vec<_>, Vec<_>) = met.unzip();
            let own = own.into_iter().flatten().map(|best| best.map(Reverse));
            let result = greatest(own).map(|best| best.map(|Reverse(value)| value));
            let next = beyond.into_iter().flatten().min();
            // A round that is short does not look at the time.
            let goes_on = next.is_some() && result.is_none();
            let is_late = goes_on && self.search.limits.is_late(began);
            let stopped = ended.stopped.or(is_late.then_some(Limit::Time));
            match next {
                Some(next) if result.is_none() && stopped.is_none() => {
                    report.before_last_round += ended.report.nodes + ended.report.pruned;
                    limit = next;
                }
                _ => {
                    return Ok(Outcome {
                        result,
                        report,
                        stopped,
                    });
                }
            }
        }
    }

    fn is_first(&self) -> Result<bool, SearchFault> {
        match self.search.order {
            Order::Replicable { .. } => {
                let problem = "Order::Replicable needs ranks: search over a communicator, or take \
                               Order::First";
                Err(SearchFault::Settings {
                    problem: problem.to_owned(),
                })
            }
            order => Ok(order.is_first()),
        }
    }

    /// Searches the tree below the root by one task for each worker, each with a job of its own.
    async fn run<J: NodeWork + Send + 'static>(
        &self,
        (began, earlier): (Instant, EarlierRounds),
        root: impl FnOnce() -> J::Node,
        make: impl Fn() -> J,
    ) -> Result<SearchEnd<J>, SearchError> {
        let root = guarded(0, root)?;
        let begin = (began, earlier);
        let shared = Arc::new(Shared::new(&self.search, self.tasks, begin, root));
        // If the caller gives up, so do the tasks.
        let _given_up = GivenUp(&shared);
        let mut tasks = Vec::new();
        for number in 0..self.tasks {
            let job = guarded_call(number, MAKE, &make)?;
            let task = shared::task(Arc::clone(&shared), number, job);
            let spawned = spawn_with_handle(&self.queue, task);
            tasks.push(spawned.map_err(|refused| not_run(&refused.reason))?);
        }
        let (mut parts, mut failed) = (Vec::new(), None);
        for (rank, task) in tasks.into_iter().enumerate() {
            match task.await {
                Ok(part) => parts.push(part),
                Err(JoinError::Panicked(exception)) => {
                    let message = exception.message().to_owned();
                    failed = Some(panicked_in(rank, VALUES, message));
                }
                Err(error) => drop(failed.get_or_insert_with(|| not_run(&error))),
            }
        }
        let stop = shared.stop_reason();
        match (failed, stop) {
            (Some(fault @ SearchFault::Panicked { .. }), _)
            | (_, Some(SearchStop::Fault(fault)))
            | (Some(fault), _) => Err(fault.into()),
            (None, stop) => {
                let mut stop = stop;
                let all = parts.iter().map(|part| part.done(stop.take()));
                let (report, stopped) = total(all)?;
                Ok(SearchEnd {
                    parts,
                    report,
                    stopped,
                    shown_at: shared.shown_at(),
                })
            }
        }
    }
}

fn not_run(reason: &dyn fmt::Display) -> SearchFault {
    SearchFault::Dispatcher {
        problem: reason.to_string(),
    }
}

/// Ends the tasks of a search whose caller has dropped it; of one that has returned there are none.
struct GivenUp<'a, J: NodeWork>(&'a Shared<J>);

impl<J: NodeWork> Drop for GivenUp<'_, J> {
    fn drop(&mut self) {
        self.0.stop(SearchStop::Fault(SearchFault::Cancelled {
            rank: 0,
            reason: "its future was dropped".to_owned(),
        }));
    }
}

/// The greatest of what the tasks have found; of equals the first in the tree.
fn greatest<V: Ord, N>(own: impl Iterator<Item = Best<V, N>>) -> Option<Best<V, N>> {
    let best = own.max_by(|one, other| {
        let value = one.value.cmp(&other.value);
        value.then_with(|| other.path.cmp(&one.path))
    });
    best.map(|best| Best {
        path: shown(&best.path),
        ..best
    })
}

impl fmt::Debug for OnDispatcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnDispatcher")
            .field("search", &self.search)
            .field("tasks", &self.tasks)
            .finish_non_exhaustive()
    }
}
