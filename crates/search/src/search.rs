//! The searches.

use crate::best::Maximum;
use crate::deepen::DeepeningRound;
use crate::fold::{Fold, combine};
use crate::outcome::Report;
use crate::tally::EarlierRounds;
use crate::wanted::{AcceptedNode, Downwards};
use crate::worker::{JOIN, VALUES, ZERO, guarded, guarded_call, shown};
use crate::{
    Best, Bounded, Game, Limit, Order, Outcome, Play, Search, SearchError, Tree, balance, play,
    replicable,
};
use motet_comm::{Communicator, Value};
use std::cmp::Reverse;
use std::time::Instant;

/// What a search for the best node has found.
type Solution<P> = Option<Best<<P as Bounded>::Value, <P as Tree>::Node>>;

impl Search {
    /// Combines what `visit` makes of all nodes, in the order of the tree: parents before children,
    /// children in their order.
    ///
    /// `zero` is neutral to `combine`, which is associative; it need not be commutative. The result
    /// is that of one rank, bit for bit if `combine` is exactly associative.
    ///
    /// # Errors
    /// [`SearchError::Fault`], the same on all ranks:
    /// - a panic of the program's code;
    /// - a tree deeper than the limit;
    /// - more nodes than the limit;
    /// - a cancelled causality.
    ///
    /// [`SearchError::Comm`] when ranks cannot reach each other.
    pub async fn fold<T: Tree, A: Value + Clone + Sync>(
        &self,
        comm: &Communicator,
        tree: &T,
        zero: impl Fn() -> A,
        mut visit: impl FnMut(&mut A, &T::Node),
        join: impl FnMut(A, A) -> A,
    ) -> Result<Outcome<A>, SearchError> {
        let visit = move |value: &mut A, node: &T::Node| {
            visit(value, node);
            true
        };
        self.fold_pruned(comm, tree, zero, visit, join).await
    }

    /// As [`Search::fold`] of a part of the tree: it looks below a node if `visit` says so.
    ///
    /// `visit` returns false for a subtree that is not wanted, or that it has taken in whole. The
    /// second pays where a node takes some nanoseconds. A recursion is faster than a walk that can
    /// give half of its nodes away at any time. Some thousand subtrees are enough to share.
    ///
    /// # Errors
    /// As [`Search::fold`].
    ///
    /// ```
    /// use motet_comm::World;
    /// use motet_search::{Search, SearchError, Tree};
    ///
    /// /// Words of the letters a and b, by their lengths.
    /// struct Words(u32);
    ///
    /// impl Tree for Words {
    ///     type Node = u32;
    ///     fn root(&self) -> u32 {
    ///         0
    ///     }
    ///     fn children(&self, length: &u32, out: &mut Vec<u32>) {
    ///         if *length < self.0 {
    ///             out.extend([length + 1; 2]);
    ///         }
    ///     }
    /// }
    ///
    /// let counts = World::threads(2).run(async |comm| -> Result<u64, SearchError> {
    ///     let words = Words(10);
    ///     // Those of three letters stand for all words that begin with them.
    ///     let count = |sum: &mut u64, length: &u32| {
    ///         let whole = *length == 3;
    ///         *sum += if whole { (1 << 8) - 1 } else { 1 };
    ///         !whole
    ///     };
    ///     let search = Search::default();
    ///     let counted = search.fold_pruned(&comm, &words, || 0, count, |a, b| a + b);
    ///     Ok(counted.await?.result)
    /// });
    /// assert_eq!(counts.unwrap(), [(1 << 11) - 1; 2]);
    /// ```
    pub async fn fold_pruned<T: Tree, A: Value + Clone + Sync>(
        &self,
        comm: &Communicator,
        tree: &T,
        zero: impl Fn() -> A,
        visit: impl FnMut(&mut A, &T::Node) -> bool,
        join: impl FnMut(A, A) -> A,
    ) -> Result<Outcome<A>, SearchError> {
        let (comm, began) = (comm.dup().await?, Instant::now());
        let mut fold = guarded_call(comm.rank(), ZERO, &zero).map(|value| Fold {
            tree,
            value,
            zero: &zero,
            visit,
        });
        let begin = (began, EarlierRounds::default());
        let job = fold.as_mut().map_err(|fault| fault.clone());
        let ended = balance::run(&comm, self, begin, || tree.root(), job).await?;
        let segments = comm.gather(0, ended.segments).await?;
        let total = segments.map(|all| {
            let segments = all.into_iter().flatten();
            let joined = |zero| combine(balance::WHOLE, segments, zero, join);
            guarded_call(0, ZERO, &zero).and_then(|zero| guarded_call(0, JOIN, || joined(zero)))
        });
        let result = comm.broadcast(0, total).await??;
        Ok(outcome(result, ended.report, ended.stopped))
    }

    /// Looks for a node that `wanted` accepts; the first in the order of the tree, unless the order
    /// is [`Order::Any`].
    ///
    /// # Errors
    /// As [`Search::fold`].
    pub async fn find<T: Tree>(
        &self,
        comm: &Communicator,
        tree: &T,
        wanted: impl Fn(&T::Node) -> bool,
    ) -> Result<Outcome<Option<Best<(), T::Node>>>, SearchError> {
        self.maximise(comm, &AcceptedNode { tree, wanted }).await
    }

    /// Looks for the solution of the greatest value; `None` if there is none.
    ///
    /// # Errors
    /// As [`Search::fold`].
    pub async fn maximise<P: Bounded>(
        &self,
        comm: &Communicator,
        problem: &P,
    ) -> Result<Outcome<Solution<P>>, SearchError> {
        self.order.check()?;
        let (comm, began) = (comm.dup().await?, Instant::now());
        if let Order::Replicable { window, split } = self.order {
            let parts = (window, split);
            let (best, report, stopped) =
                replicable::run(&comm, self, began, problem, parts).await?;
            let best = greatest(&comm, best).await?;
            return Ok(outcome(best, report, stopped));
        }
        let mut job = Maximum::new(problem, self.order.is_first());
        let begin = (began, EarlierRounds::default());
        let ended = balance::run(&comm, self, begin, || problem.root(), Ok(&mut job)).await?;
        let best = greatest(&comm, job.take_own()).await?;
        Ok(outcome(best, ended.report, ended.stopped))
    }

    /// Looks for the solution of the least value; `None` if there is none.
    ///
    /// # Errors
    /// As [`Search::fold`].
    pub async fn minimise<P: Bounded>(
        &self,
        comm: &Communicator,
        problem: &P,
    ) -> Result<Outcome<Solution<P>>, SearchError> {
        let found = self.maximise(comm, &Downwards(problem)).await?;
        let result = found.result.map(|best| best.map(|Reverse(value)| value));
        Ok(outcome(result, found.report, found.stopped))
    }

    /// Looks for the solution of the least value by iterative deepening (IDA*; R. Korf, Depth-first
    /// iterative-deepening, 1985). It searches the nodes whose bound is at most that of the root.
    /// Then come those up to the least bound that was too great, and so on.
    ///
    /// Memory is that of one path. A tree may be infinite, as long as bounds grow along its paths
    /// and it has a solution. Rounds without a solution visit the same nodes on any ranks. With
    /// [`Order::Replicable`] it is as with [`Order::First`].
    ///
    /// # Errors
    /// As [`Search::fold`].
    pub async fn deepen<P: Bounded>(
        &self,
        comm: &Communicator,
        problem: &P,
    ) -> Result<Outcome<Solution<P>>, SearchError> {
        self.order.check()?;
        let (comm, began) = (comm.dup().await?, Instant::now());
        let (mut report, mut earlier) = (Report::default(), EarlierRounds::default());
        // Every rank finds the same; a panic here is told by the first round.
        let mut limit = guarded(comm.rank(), || problem.bound(&problem.root()));
        loop {
            let round = |limit| DeepeningRound::new(problem, self.order.is_first(), limit);
            let mut round = limit.map(round);
            let job = round.as_mut().map_err(|fault| fault.clone());
            let begin = (began, earlier);
            let ended = balance::run(&comm, self, begin, || problem.root(), job).await?;
            report.add_round(&ended.report);
            earlier = earlier.with(&ended.report, ended.shown_at);
            let generated = ended.report.nodes + ended.report.pruned;
            let (beyond, own) = round?.into_parts();
            // The least value is the greatest of the reversed ones.
            let own = own.map(|own| own.map(Reverse));
            if let Some(best) = greatest(&comm, own).await? {
                let best = best.map(|Reverse(value)| value);
                return Ok(outcome(Some(best), report, ended.stopped));
            }
            let least = |a: Option<P::Value>, b: Option<P::Value>| a.into_iter().chain(b).min();
            // Limits hold for all rounds together; short rounds do not look at the time.
            let met = (beyond, self.limits.is_late(began));
            let join = |a: (_, bool), b: (_, bool)| (least(a.0, b.0), a.1 || b.1);
            let (next, late) = comm.allreduce(met, join).await?;
            let limit_of_rounds = match late {
                true => Some(Limit::Time),
                false => (earlier.nodes >= self.limits.nodes).then_some(Limit::Nodes),
            };
            let stopped = ended.stopped.or(limit_of_rounds.filter(|_| next.is_some()));
            match next {
                Some(next) if stopped.is_none() => {
                    report.before_last_round += generated;
                    limit = Ok(next);
                }
                _ => return Ok(outcome(None, report, stopped)),
            }
        }
    }
}

/// # Games
impl Search {
    /// The value of a game for the one who is to move at the root: that of plain minimax at this
    /// depth, for any ranks.
    ///
    /// A table must tell positions apart by [`Game::key`], and values are used for exactly the
    /// depth that they were searched with. `None` if a limit has ended the search.
    /// [`Limits::nodes`](crate::Limits::nodes) is shared out evenly here; the order says nothing.
    ///
    /// ```
    /// use motet_comm::World;
    /// use motet_search::{Game, Search, SearchError, Tree};
    ///
    /// /// Whoever takes the last of some matches, one or two at a time, wins.
    /// struct Matches(u64);
    ///
    /// impl Tree for Matches {
    ///     type Node = u64;
    ///     fn root(&self) -> u64 {
    ///         self.0
    ///     }
    ///     fn children(&self, left: &u64, out: &mut Vec<u64>) {
    ///         out.extend((1..=2).filter(|taken| taken <= left).map(|taken| left - taken));
    ///     }
    /// }
    ///
    /// impl Game for Matches {
    ///     fn leaf(&self, left: &u64, depth: u32) -> Option<i32> {
    ///         match left {
    ///             0 => Some(-1), // the other one has taken the last
    ///             _ => (depth == 0).then_some(0),
    ///         }
    ///     }
    ///     fn key(&self, left: &u64) -> u64 {
    ///         *left
    ///     }
    /// }
    ///
    /// let search = Search { table: 64, ..Search::default() };
    /// let values = World::threads(2)
    ///     .run(async |comm| -> Result<_, SearchError> {
    ///         let won = search.play(&comm, &Matches(10), 20).await?.result.unwrap();
    ///         let lost = search.play(&comm, &Matches(9), 20).await?.result.unwrap();
    ///         assert_eq!(won.child, Some(0)); // takes one, and leaves nine
    ///         Ok([won.value, lost.value])
    ///     })
    ///     .unwrap();
    /// assert_eq!(values[0], [1, -1]);
    /// ```
    ///
    /// # Errors
    /// As [`Search::fold`]; [`SearchFault::NoLeaf`](crate::SearchFault::NoLeaf).
    pub async fn play<G: Game>(
        &self,
        comm: &Communicator,
        game: &G,
        depth: u32,
    ) -> Result<Outcome<Option<Play>>, SearchError> {
        play::run(&comm.dup().await?, self, game, depth).await
    }
}

/// The greatest of what the ranks have found; of equals the first in the tree.
async fn greatest<V: Ord + Copy + Value + Sync, N: Value + Clone + Sync>(
    comm: &Communicator,
    own: Option<Best<V, N>>,
) -> Result<Option<Best<V, N>>, SearchError> {
    let place = own.as_ref().map(|own| (own.value, own.path.clone()));
    let places = comm.allgather(place).await?;
    let ranked = (0..)
        .zip(places)
        .filter_map(|(rank, place)| Some((place?, rank)));
    let greatest = || {
        ranked.max_by(|((value, path), _), ((other, others), _)| {
            value.cmp(other).then_with(|| others.cmp(path))
        })
    };
    // Every rank compares the same, and finds the same.
    let best = guarded_call(0, VALUES, greatest)?;
    let Some(((value, path), rank)) = best else {
        return Ok(None);
    };
    let node = own.filter(|_| comm.rank() == rank).map(|own| own.node);
    let node = comm.broadcast(rank, node).await?;
    Ok(Some(seen(Best { value, path, node })))
}

fn seen<V, N>(best: Best<V, N>) -> Best<V, N> {
    let path = shown(&best.path);
    Best { path, ..best }
}

fn outcome<R>(result: R, report: Report, stopped: Option<Limit>) -> Outcome<R> {
    Outcome {
        result,
        stopped,
        report,
    }
}
