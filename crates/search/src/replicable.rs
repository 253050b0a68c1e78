//! A search whose visited nodes depend on nothing but the tree.
//!
//! Rank 0 walks the tree down to the split depth and numbers the subtrees it meets there. Number i
//! is handed out when all up to i − w have been committed, with the best value of these. What
//! others have found since, it does not hear. So each subtree is searched the same way whenever and
//! wherever that happens (B. Archibald and others, Replicable parallel branch and bound search,
//! 2018).

use crate::best::Maximum;
use crate::job::NodeWork;
use crate::link::{SearchLink, yield_now};
use crate::outcome::Report;
use crate::path::Path;
use crate::settings::Progress;
use crate::walk::Piece;
use crate::worker::{SearchStop, SearchWorker, sum_up};
use crate::{Best, Bounded, Limit, Search, SearchError};
use motet_comm::{CommError, Communicator};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};
use std::time::Instant;

#[derive(Serialize, Deserialize)]
enum Message<V, N> {
    /// From rank 0: search this, with what is known.
    Task { piece: Piece<N>, known: Option<V> },
    /// To rank 0: what the subtree has, and the nodes that were visited.
    Done {
        number: u64,
        best: Option<Best<V, N>>,
        nodes: u64,
    },
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

/// Searches for the first best node with the other ranks; rank 0 gets it.
pub(crate) async fn run<P: Bounded>(
    comm: &Communicator,
    search: &Search,
    began: Instant,
    problem: &P,
    (window, split): (usize, u32),
) -> Result<Found<P>, SearchError> {
    let mut rank = Rank {
        link: SearchLink::new(comm),
        worker: SearchWorker::new(comm, &search.limits, began),
        job: Maximum::new(problem, true),
        report: Report::default(),
        stop: None,
    };
    let mut best = None;
    if comm.rank() > 0 {
        rank.serve().await?;
    } else {
        let upper = Upper {
            job: Maximum::new(problem, true),
            split: split as usize,
            found: None,
        };
        let mut master = Master {
            search,
            rank,
            upper,
            walker: SearchWorker::new(comm, &search.limits, began),
            window: window as u64,
            ended: false,
            numbered: 0,
            committed: 0,
            known: VecDeque::from([None]),
            upper_known: None,
            waiting: BTreeMap::new(),
            free: (1..comm.size()).collect(),
            nodes: 0,
            best: None,
        };
        master.all(problem).await?;
        let done = master.walker.done;
        (rank, best) = (master.rank, master.best);
        rank.worker.done.nodes += done.nodes;
        rank.worker.done.busy += done.busy;
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

/// What searches subtrees.
struct Rank<'s, 'c, 'p, P: Bounded> {
    link: SearchLink<'c, MessageOf<P>>,
    worker: SearchWorker<'s, P::Node>,
    job: Maximum<&'p P>,
    report: Report,
    stop: Option<SearchStop>,
}

/// What rank 0 has besides.
struct Master<'s, 'c, 'p, P: Bounded> {
    search: &'s Search,
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
    nodes: u64,
    best: Option<BestOf<P>>,
}

/// Visits what is above the split depth.
struct Upper<'p, P: Bounded> {
    job: Maximum<&'p P>,
    split: usize,
    /// A node at the split depth.
    found: Option<(Vec<u32>, P::Node)>,
}

impl<P: Bounded> Rank<'_, '_, '_, P> {
    /// Searches subtrees for rank 0 until there are no more.
    async fn serve(&mut self) -> Result<(), CommError> {
        let mut next = Some(self.link.wait().await?.1);
        loop {
            let message = match next.take() {
                Some(message) => message,
                None => self.link.wait().await?.1,
            };
            match message {
                Message::Task { piece, known } => self.begin(piece, known),
                Message::End(_) => return Ok(()),
                Message::Done { .. } | Message::Failed(_) => continue,
            }
            while next.is_none() {
                match self.worker.slice(&mut self.job) {
                    Ok(true) => {
                        let done = self.done();
                        self.link.send(0, done)?;
                        break;
                    }
                    Ok(false) => next = self.link.next()?.map(|(_, message)| message),
                    Err(stop) => {
                        self.report.pruned += self.job.pruned();
                        self.stop = Some(stop.clone());
                        self.link.send(0, Message::Failed(stop))?;
                        break;
                    }
                }
                yield_now().await;
            }
        }
    }

    fn begin(&mut self, piece: Piece<P::Node>, known: Option<P::Value>) {
        self.job.known(known);
        self.worker.begin(piece);
    }

    fn done(&mut self) -> MessageOf<P> {
        self.report.pruned += self.job.pruned();
        Message::Done {
            number: self.worker.walk.number(),
            best: self.job.take_own(),
            nodes: self.worker.done.nodes,
        }
    }
}

impl<P: Bounded> Master<'_, '_, '_, P> {
    async fn all(&mut self, problem: &P) -> Result<(), CommError> {
        match crate::worker::guarded(0, || problem.root()) {
            Ok(root) => self.walker.begin(Piece::root(0, root)),
            Err(fault) => self.rank.stop = Some(SearchStop::Fault(fault)),
        }
        let mut busy = false;
        while self.rank.stop.is_none() {
            while let Some((from, message)) = self.rank.link.next()? {
                self.hear(from, message);
            }
            self.hand_out()?;
            if !busy && let Some((piece, known)) = self.next() {
                self.rank.begin(piece, known);
                busy = true;
            }
            if busy {
                match self.rank.worker.slice(&mut self.rank.job) {
                    Ok(false) => {}
                    Ok(true) => {
                        busy = false;
                        let done = self.rank.done();
                        self.hear(0, done);
                    }
                    Err(stop) => self.rank.stop = Some(stop),
                }
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

    fn hear(&mut self, from: usize, message: MessageOf<P>) {
        match message {
            Message::Done {
                number,
                best,
                nodes,
            } => {
                self.waiting.insert(number, best);
                if from > 0 {
                    self.free.push_back(from);
                    self.nodes = self.nodes.max(nodes);
                }
                self.commit();
                self.show();
            }
            Message::Failed(stop) => self.rank.stop = Some(stop),
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
            if self.known.len() as u64 > self.window + 1 {
                self.known.pop_front();
            }
            self.take(best);
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
        if self.ended || self.numbered >= self.committed + self.window {
            return None;
        }
        // Those that it knows; the last of `known` are those that are committed.
        let seen = (self.numbered + 1).saturating_sub(self.window);
        let back = (self.committed - seen) as usize;
        let below = self.known[self.known.len() - 1 - back];
        while self.upper.found.is_none() && self.rank.stop.is_none() {
            self.upper.job.known(below.max(self.upper_known));
            match self.walker.slice_of(&mut self.upper, 1) {
                Ok(ended) => {
                    self.rank.report.pruned += self.upper.job.pruned();
                    let own = self.upper.job.take_own();
                    self.upper_known = self.upper_known.max(own.as_ref().map(|own| own.value));
                    self.take(own);
                    if ended {
                        self.ended = true;
                        return None;
                    }
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

    fn show(&self) {
        if let Some(progress) = &self.search.progress {
            let (nodes, elapsed) = (self.nodes, self.walker.elapsed());
            (progress.tell)(Progress { nodes, elapsed });
        }
    }
}

impl<P: Bounded> NodeWork for Upper<'_, P> {
    type Node = P::Node;
    type News = ();
    type Part = ();

    fn visit(&mut self, node: &P::Node, path: &Path<'_, P::Node>) -> bool {
        if path.depth() == self.split {
            self.found = Some((path.to_vec(), node.clone()));
            return false;
        }
        self.job.visit(node, path)
    }

    fn children(&self, node: &P::Node, out: &mut Vec<P::Node>) {
        self.job.children(node, out);
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
        self.job.pruned()
    }
}
