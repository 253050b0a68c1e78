//! A search whose visited nodes depend on nothing but the tree.
//!
//! Rank 0 walks the tree down to the split depth and numbers the subtrees it meets there. Number i
//! is handed out when all up to i − w have been committed, with the best value of these. What
//! others have found since, it does not hear. So each subtree is searched the same way whenever and
//! wherever that happens (B. Archibald and others, Replicable parallel branch and bound search,
//! 2018).

mod rank;
mod upper;

use self::rank::Rank;
use self::upper::Upper;
use crate::best::Maximum;
use crate::job::NodeWork;
use crate::link::yield_now;
use crate::outcome::Report;
use crate::settings::Progress;
use crate::walk::Piece;
use crate::worker::{SearchStop, SearchWorker, TELL, VALUES, guarded, guarded_call, sum_up};
use crate::{Best, Bounded, Limit, Search, SearchError};
use motet_comm::{CommError, Communicator};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};
use std::time::Instant;

#[derive(Serialize, Deserialize)]
enum Message<V, N> {
    /// From rank 0: search this, with what is known.
    Task { piece: Piece<N>, known: Option<V> },
    /// To rank 0: what the subtree has, and the nodes that were visited and not told of.
    Done {
        number: u64,
        best: Option<Best<V, N>>,
        nodes: u64,
    },
    /// To rank 0: so many nodes more were visited.
    Tally(u64),
    /// To rank 0: the search cannot go on.
    Failed(SearchStop),
    /// From rank 0: nothing more comes.
    End(Option<SearchStop>),
}

type MessageOf<P> = Message<<P as Bounded>::Value, <P as crate::Tree>::Node>;
type BestOf<P> = Best<<P as Bounded>::Value, <P as crate::Tree>::Node>;
/// A subtree, and the best value that it knows.
type TaskOf<P> = (
    Piece<<P as crate::Tree>::Node>,
    Option<<P as Bounded>::Value>,
);
type Found<P> = (Option<BestOf<P>>, Report, Option<Limit>);

/// Searches for the first best node with the other ranks; rank 0 gets it. If a limit has ended the
/// search, others have what they have found in subtrees that are not done.
pub(crate) async fn run<P: Bounded>(
    comm: &Communicator,
    search: &Search,
    began: Instant,
    problem: &P,
    (window, split): (usize, u32),
) -> Result<Found<P>, SearchError> {
    let mut rank = Rank::new(comm, search, began, problem);
    let best;
    if comm.rank() > 0 {
        rank.serve().await?;
        best = rank.job.take_own();
    } else {
        let walker = SearchWorker::new(comm, &search.limits, began);
        let mut master = Master::new(rank, walker, problem, (window, split));
        master.all(problem).await?;
        master.guarded(VALUES, Master::take_open);
        let done = master.walker.done;
        (rank, best) = (master.rank, master.best);
        rank.worker.done.nodes += done.nodes;
        rank.worker.done.busy += done.busy;
    }
    if rank.busy {
        rank.report.pruned += rank.job.pruned();
    }
    let Rank {
        link,
        worker,
        report,
        stop,
        ..
    } = rank;
    link.drain().await?;
    let (report, stopped) = sum_up(comm, report, worker.done, stop).await?;
    Ok((best, report, stopped))
}

/// What rank 0 has besides.
struct Master<'s, 'c, 'p, P: Bounded> {
    rank: Rank<'s, 'c, 'p, P>,
    upper: Upper<'p, P>,
    walker: SearchWorker<'s, P::Node>,
    window: u64,
    /// All subtrees have been numbered.
    ended: bool,
    /// Subtrees that have a number.
    numbered: u64,
    /// Those of them that are done, as all before them are.
    committed: u64,
    /// The best value of the first subtrees, for the last few numbers of committed ones.
    known: VecDeque<Option<P::Value>>,
    /// The best value above the split depth.
    upper_known: Option<P::Value>,
    /// What was found in subtrees that were done too early.
    waiting: BTreeMap<u64, Option<BestOf<P>>>,
    /// Ranks without a subtree.
    free: VecDeque<usize>,
    best: Option<BestOf<P>>,
}

impl<'s, 'c, 'p, P: Bounded> Master<'s, 'c, 'p, P> {
    fn new(
        rank: Rank<'s, 'c, 'p, P>,
        walker: SearchWorker<'s, P::Node>,
        problem: &'p P,
        (window, split): (usize, u32),
    ) -> Self {
        let upper = Upper {
            job: Maximum::new(problem, true),
            split: split as usize,
            found: None,
        };
        let free = (1..rank.link.size()).collect();
        Master {
            rank,
            upper,
            walker,
            window: window as u64,
            ended: false,
            numbered: 0,
            committed: 0,
            known: VecDeque::from([None]),
            upper_known: None,
            waiting: BTreeMap::new(),
            free,
            best: None,
        }
    }

    async fn all(&mut self, problem: &P) -> Result<(), CommError> {
        match guarded(0, || problem.root()) {
            Ok(root) => self.walker.begin(Piece::root(0, root)),
            Err(fault) => self.rank.stop = Some(SearchStop::Fault(fault)),
        }
        while self.rank.stop.is_none() {
            while let Some((from, message)) = self.rank.link.next()? {
                self.hear(from, message);
            }
            if self.rank.stop.is_none() {
                self.hand_out()?;
            }
            if self.rank.stop.is_some() {
                break;
            }
            if !self.rank.busy
                && let Some((piece, known)) = self.next()
            {
                self.rank.begin(piece, known);
            }
            if self.rank.busy {
                self.work();
                if self.rank.link.size() > 1 {
                    yield_now().await;
                }
            } else if self.rank.stop.is_some() {
                break;
            } else if self.committed < self.numbered {
                let (from, message) = self.rank.link.wait().await?;
                self.hear(from, message);
            } else if self.ended {
                break;
            }
        }
        for rank in 1..self.rank.link.size() {
            let stop = self.rank.stop.clone();
            self.rank.link.send(rank, Message::End(stop))?;
        }
        Ok(())
    }

    /// Visits some nodes of the subtree that rank 0 has itself.
    fn work(&mut self) {
        self.rank.worker.beside = self.walker.done.nodes;
        match self.rank.worker.slice(&mut self.rank.job) {
            Ok(false) => {
                if let Some(nodes) = self.rank.due() {
                    self.hear(0, Message::Tally(nodes));
                }
            }
            Ok(true) => {
                let done = self.rank.done();
                self.hear(0, done);
            }
            Err(stop) => self.rank.stop = Some(stop),
        }
    }

    fn hear(&mut self, from: usize, message: MessageOf<P>) {
        self.guarded(VALUES, |master| master.take_in(from, message));
    }

    /// Calls the program's code, of this name; its panic ends the search.
    fn guarded<R>(&mut self, name: &str, call: impl FnOnce(&mut Self) -> R) -> Option<R> {
        match guarded_call(0, name, || call(self)) {
            Ok(result) => Some(result),
            Err(fault) => {
                self.rank.stop = Some(SearchStop::Fault(fault));
                None
            }
        }
    }

    fn take_in(&mut self, from: usize, message: MessageOf<P>) {
        match message {
            Message::Done {
                number,
                best,
                nodes,
            } => {
                self.waiting.insert(number, best);
                if from > 0 {
                    self.free.push_back(from);
                }
                self.commit();
                self.count(nodes);
            }
            Message::Tally(nodes) => self.count(nodes),
            Message::Failed(stop) => {
                if !matches!(self.rank.stop, Some(SearchStop::Fault(_))) {
                    self.rank.stop = Some(stop);
                }
            }
            Message::Task { .. } | Message::End(_) => {}
        }
    }

    /// Takes in what was found, in the order of the numbers.
    fn commit(&mut self) {
        while let Some(best) = self.waiting.remove(&self.committed) {
            self.committed += 1;
            let known = self.known.back().copied().flatten();
            let value = best.as_ref().map(|best| best.value);
            self.known.push_back(known.max(value));
            if self.known.len() as u64 > self.window.saturating_add(1) {
                self.known.pop_front();
            }
            self.take(best);
        }
    }

    /// Takes in what was found in subtrees that are not committed: the search was stopped.
    fn take_open(&mut self) {
        let waiting = std::mem::take(&mut self.waiting);
        let own = self.rank.job.take_own();
        for found in waiting.into_values().chain([own]) {
            self.take(found);
        }
    }

    fn take(&mut self, found: Option<BestOf<P>>) {
        let Some(found) = found else { return };
        let better = self.best.as_ref().is_none_or(|best| {
            let before = found.value == best.value && found.path < best.path;
            found.value > best.value || before
        });
        if better {
            self.best = Some(found);
        }
    }

    fn hand_out(&mut self) -> Result<(), CommError> {
        while !self.free.is_empty()
            && let Some((piece, known)) = self.next()
            && let Some(rank) = self.free.pop_front()
        {
            self.rank.report.steals += 1;
            self.rank.link.send(rank, Message::Task { piece, known })?;
        }
        Ok(())
    }

    /// The next subtree, if its turn has come, and the best value that it knows.
    fn next(&mut self) -> Option<TaskOf<P>> {
        self.guarded(VALUES, Self::cut_next).flatten()
    }

    fn cut_next(&mut self) -> Option<TaskOf<P>> {
        if self.ended || self.numbered >= self.committed.saturating_add(self.window) {
            return None;
        }
        // Those that it knows; the last of `known` are those that are committed.
        let seen = (self.numbered + 1).saturating_sub(self.window);
        let back = (self.committed - seen) as usize;
        let below = self.known[self.known.len() - 1 - back];
        while self.upper.found.is_none() && self.rank.stop.is_none() {
            self.upper.job.known(below.max(self.upper_known));
            self.walker.beside = self.rank.worker.done.nodes;
            let walked = self.walker.slice_of(&mut self.upper, 1);
            self.rank.report.pruned += self.upper.job.pruned();
            let own = self.upper.job.take_own();
            self.upper_known = self.upper_known.max(own.as_ref().map(|own| own.value));
            self.take(own);
            match walked {
                Ok(false) => self.look_at_limit(),
                // The last node may be one that was looked for.
                Ok(true) => {
                    self.ended = true;
                    self.look_at_limit();
                    break;
                }
                Err(stop) => self.rank.stop = Some(stop),
            }
        }
        let (mut prefix, node) = self.upper.found.take()?;
        // It is counted where it is searched.
        self.walker.done.nodes -= 1;
        let piece = Piece {
            number: self.numbered,
            first: prefix.pop().unwrap_or(0),
            prefix,
            nodes: vec![node],
        };
        self.numbered += 1;
        Some((piece, below.max(self.upper_known)))
    }

    /// So many nodes more were visited, on any rank.
    fn count(&mut self, more: u64) {
        self.rank.tally.total += more;
        let (nodes, elapsed) = (self.nodes(), self.walker.elapsed());
        let progress = Progress { nodes, elapsed };
        self.guarded(TELL, |master| master.rank.tally.show(progress));
        self.look_at_limit();
    }

    /// The nodes that were visited, as far as rank 0 knows.
    fn nodes(&self) -> u64 {
        self.rank.tally.total + self.walker.done.nodes
    }

    fn look_at_limit(&mut self) {
        if self.nodes() > self.rank.tally.limit && self.rank.stop.is_none() {
            self.rank.stop = Some(SearchStop::Limit(Limit::Nodes));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tree;
    use crate::worker::panicked_in;
    use motet_comm::World;

    struct OneNode;

    impl Tree for OneNode {
        type Node = ();

        fn root(&self) {}

        fn children(&self, (): &(), _: &mut Vec<()>) {}
    }

    impl Bounded for OneNode {
        type Value = u32;

        fn value(&self, (): &()) -> Option<u32> {
            None
        }

        fn bound(&self, (): &()) -> u32 {
            0
        }
    }

    #[test]
    fn sem_g202_a_limit_hides_no_panic_whichever_comes_first() {
        let are_told = World::threads(1).run(async |comm| -> Result<bool, SearchError> {
            let (search, began) = (Search::default(), Instant::now());
            let panic = || SearchStop::Fault(panicked_in(1, TELL, "nobody hears".to_owned()));
            let limit = || SearchStop::Limit(Limit::Time);
            let mut are_told = true;
            for stops in [[panic(), limit()], [limit(), panic()]] {
                let rank = Rank::new(&comm, &search, began, &OneNode);
                let walker = SearchWorker::new(&comm, &search.limits, began);
                let mut master = Master::new(rank, walker, &OneNode, (4, 1));
                for stop in stops {
                    master.take_in(1, Message::Failed(stop));
                }
                are_told &= matches!(master.rank.stop, Some(SearchStop::Fault(_)));
            }
            Ok(are_told)
        });
        assert_eq!(are_told.unwrap(), [true]);
    }
}
