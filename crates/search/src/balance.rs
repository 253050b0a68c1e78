//! Ranks that share one tree. Who has no work asks for some, who finds something better tells the
//! others, and all notice when nothing is left.
//!
//! ```text
//!   a rank ─ visits some nodes ─► looks for messages ─► gives to who asks ─► visits some nodes ─► …
//!      │ nothing left
//!      └─► asks two ranks at random ─► asks its neighbours, who remember it ─► waits for a message
//! ```
//!
//! Neighbours are those in a binomial tree (`link.rs`). Asking them last is what *lifelines* do (V.
//! Saraswat and others, Lifeline-based global load balancing, 2011). Who waits disturbs nobody, and
//! work that there is anywhere comes along the tree. Better values go along the tree too. The end
//! is found by waves down and up the tree. A rank answers when it has no work, with the numbers of
//! pieces that it has sent and received. Two waves with the same numbers, as many sent as received,
//! mean that nothing is under way (F. Mattern, Algorithms for distributed termination detection,
//! 1987).

mod ending;

use crate::fold::Segment;
use crate::job::NodeWork;
use crate::link::{SearchLink, neighbours, yield_now};
use crate::outcome::Report;
use crate::tally::{EarlierRounds, NodeTally};
use crate::walk::Piece;
use crate::worker::{SearchStop, SearchWorker, VALUES, ZERO, guarded, guarded_call};
use crate::{Limit, Search, SearchError, SearchFault};
use motet_comm::{CommError, Communicator};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// The number of the piece that is the whole tree.
pub(crate) const WHOLE: u64 = 0;
/// Ranks that are asked at random before a rank waits.
const TRIES: u32 = 2;

#[derive(Serialize, Deserialize)]
enum Message<N, B> {
    /// The sender has no work; if it is to be remembered, it gets some when there is some, else an
    /// answer at once.
    Ask {
        remember: bool,
    },
    /// There is none to give.
    No,
    Give {
        piece: Piece<N>,
        remembered: bool,
    },
    Better(B),
    /// Count what you have sent and received when you have no work.
    Wave,
    /// The sender and all below it have sent and received so many pieces.
    Count([u64; 2]),
    /// Nothing is left.
    End,
    Stop(SearchStop),
    /// The sender has visited so many nodes more.
    Tally(u64),
}

/// One rank's part of a search.
struct Balance<'s, 'c, J: NodeWork> {
    link: SearchLink<'c, Message<J::Node, J::News>>,
    parent: Option<usize>,
    children: Vec<usize>,
    worker: SearchWorker<'s, J::Node>,
    has_work: bool,
    /// Pieces that have come while there was work.
    pieces: VecDeque<Piece<J::Node>>,
    /// Of the piece in hand: what was cut off.
    given: Vec<u64>,
    /// Pieces that this rank has numbered.
    numbered: u64,
    segments: Vec<Segment<J::Part>>,
    /// Who has asked, and whether to be remembered.
    askers: VecDeque<(usize, bool)>,
    seeking: Seeking,
    wave: Wave,
    tally: NodeTally<'s>,
    report: Report,
    stop: Option<SearchStop>,
    ended: bool,
}

/// How a rank without work looks for some.
#[derive(Default)]
struct Seeking {
    /// Has asked somebody who will answer at once.
    asked: bool,
    tries: u32,
    /// Neighbours that remember this rank.
    remembered_by: Vec<usize>,
    random: u64,
}

#[derive(Default)]
struct Wave {
    /// One is under way, and this rank has not answered it.
    here: bool,
    /// Children that have.
    counted: usize,
    /// Pieces that they and those below them have sent and received.
    below: [u64; 2],
    /// Pieces that this rank has.
    own: [u64; 2],
    /// What the last one has come to; on rank 0.
    last: Option<[u64; 2]>,
}

/// What a rank has after a search.
pub(crate) struct SearchEnd<A> {
    pub(crate) segments: Vec<Segment<A>>,
    pub(crate) report: Report,
    pub(crate) stopped: Option<Limit>,
    /// When progress was told last.
    pub(crate) shown_at: Duration,
}

/// Searches the tree below `root` together with the other ranks of `comm`, which is the search's
/// own. A rank that could not make its job tells the others why.
pub(crate) async fn run<J: NodeWork>(
    comm: &Communicator,
    search: &Search,
    (began, earlier): (Instant, EarlierRounds),
    root: impl FnOnce() -> J::Node,
    job: Result<&mut J, SearchFault>,
) -> Result<SearchEnd<J::Part>, SearchError> {
    let (parent, children) = neighbours(comm.rank(), comm.size());
    let mut balance = Balance {
        link: SearchLink::new(comm),
        parent,
        children,
        worker: SearchWorker::new(comm, &search.limits, began),
        has_work: false,
        pieces: VecDeque::new(),
        given: Vec::new(),
        numbered: 0,
        segments: Vec::new(),
        askers: VecDeque::new(),
        seeking: Seeking {
            random: search.seed ^ next_random(comm.rank() as u64),
            ..Seeking::default()
        },
        wave: Wave::default(),
        tally: NodeTally::new(search, comm.size()).after(earlier),
        report: Report::default(),
        stop: None,
        ended: false,
    };
    balance.worker.beside = earlier.nodes;
    let job = match job {
        Ok(job) => job,
        Err(fault) => {
            balance.stop(&SearchStop::Fault(fault), None)?;
            return balance.finish(comm, None).await;
        }
    };
    if comm.rank() == 0 {
        match guarded(0, root) {
            Ok(root) => balance.pieces.push_back(Piece::root(WHOLE, root)),
            Err(fault) => balance.stop(&SearchStop::Fault(fault), None)?,
        }
    }
    balance.all(job).await?;
    balance.finish(comm, Some(job)).await
}

impl<J: NodeWork> Balance<'_, '_, J> {
    async fn all(&mut self, job: &mut J) -> Result<(), CommError> {
        while self.stop.is_none() {
            if self.has_work || self.begin() {
                self.work(job)?;
                if self.link.size() > 1 {
                    while let Some((from, message)) = self.link.next()? {
                        self.hear(from, message, job)?;
                    }
                    self.serve()?;
                    yield_now().await;
                }
                continue;
            }
            if self.link.size() == 1 {
                break;
            }
            self.serve()?;
            self.seek()?;
            self.count()?;
            if self.ended {
                break;
            }
            let (from, message) = self.link.wait().await?;
            self.hear(from, message, job)?;
        }
        Ok(())
    }

    fn begin(&mut self) -> bool {
        if let Some(piece) = self.pieces.pop_front() {
            self.worker.begin(piece);
            self.has_work = true;
        }
        self.has_work
    }

    /// Visits some nodes, and tells what was found.
    fn work(&mut self, job: &mut J) -> Result<(), CommError> {
        let (ended, mut stop) = match self.worker.slice(job) {
            Ok(ended) => (ended, None),
            Err(stop) => (true, Some(stop)),
        };
        if ended
            && let Err(fault) = self.end_piece(job)
            && !matches!(stop, Some(SearchStop::Fault(_)))
        {
            stop = Some(SearchStop::Fault(fault));
        }
        if let Some(stop) = stop {
            self.stop(&stop, None)?;
        }
        match guarded_call(self.link.rank(), VALUES, || job.news()) {
            Ok(Some(news)) => self.spread(None, &news)?,
            Ok(None) => {}
            Err(fault) => self.stop(&SearchStop::Fault(fault), None)?,
        }
        self.tell_nodes()
    }

    /// # Errors
    /// The panic of what makes a part of the result.
    fn end_piece(&mut self, job: &mut J) -> Result<(), SearchFault> {
        let (number, given) = (self.worker.walk.number(), std::mem::take(&mut self.given));
        self.has_work = false;
        self.worker.walk.stop();
        if let Some(part) = guarded_call(self.link.rank(), ZERO, || job.part())? {
            self.segments.push(Segment {
                number,
                given,
                part,
            });
        }
        Ok(())
    }

    fn hear(
        &mut self,
        from: usize,
        message: Message<J::Node, J::News>,
        job: &mut J,
    ) -> Result<(), CommError> {
        match message {
            Message::Ask { remember } => self.askers.push_back((from, remember)),
            Message::No => self.seeking.asked = false,
            Message::Give { piece, remembered } => {
                self.wave.own[1] += 1;
                match remembered {
                    true => self.seeking.remembered_by.retain(|rank| *rank != from),
                    false => self.seeking.asked = false,
                }
                self.seeking.tries = 0;
                self.report.steals += 1;
                self.pieces.push_back(piece);
            }
            Message::Better(news) => {
                let heard = || job.hear(news.clone());
                match guarded_call(self.link.rank(), VALUES, heard) {
                    Ok(true) => {
                        self.report.bounds_used += 1;
                        self.spread(Some(from), &news)?;
                    }
                    Ok(false) => {}
                    Err(fault) => self.stop(&SearchStop::Fault(fault), None)?,
                }
            }
            Message::Wave => self.begin_wave()?,
            Message::Count(count) => {
                self.wave.counted += 1;
                self.wave.below = add(self.wave.below, count);
            }
            Message::End => self.end()?,
            Message::Stop(stop) => self.stop(&stop, Some(from))?,
            Message::Tally(nodes) => {
                self.tally.total += nodes;
                self.look_at_tally()?;
            }
        }
        Ok(())
    }

    /// Gives work to those who have asked, as long as there is some.
    fn serve(&mut self) -> Result<(), CommError> {
        for _ in 0..self.askers.len() {
            let Some((to, remembered)) = self.askers.pop_front() else {
                break;
            };
            if let Some(piece) = self.cut() {
                self.wave.own[0] += 1;
                self.link.send(to, Message::Give { piece, remembered })?;
            } else if remembered {
                self.askers.push_back((to, true));
            } else {
                self.link.send(to, Message::No)?;
            }
        }
        Ok(())
    }

    /// A piece for another rank.
    fn cut(&mut self) -> Option<Piece<J::Node>> {
        if self.has_work
            && let Some(piece) = self.pieces.pop_back()
        {
            return Some(piece);
        }
        if !self.has_work {
            return None;
        }
        let (rank, numbered) = (self.link.rank() as u64, &mut self.numbered);
        let piece = self.worker.give(|| {
            *numbered += 1;
            rank << 40 | *numbered
        })?;
        self.given.push(piece.number);
        Some(piece)
    }

    /// Asks for work, if nobody is asked already.
    fn seek(&mut self) -> Result<(), CommError> {
        let (rank, size) = (self.link.rank(), self.link.size());
        if self.seeking.asked {
            return Ok(());
        }
        if self.seeking.tries < TRIES {
            self.seeking.tries += 1;
            self.seeking.asked = true;
            self.seeking.random = next_random(self.seeking.random);
            // Any other rank.
            let step = 1 + (self.seeking.random >> 32) as usize % (size - 1);
            return self
                .link
                .send((rank + step) % size, Message::Ask { remember: false });
        }
        for neighbour in self.parent.into_iter().chain(self.children.clone()) {
            if !self.seeking.remembered_by.contains(&neighbour) {
                self.seeking.remembered_by.push(neighbour);
                self.link.send(neighbour, Message::Ask { remember: true })?;
            }
        }
        Ok(())
    }
}

fn add(one: [u64; 2], other: [u64; 2]) -> [u64; 2] {
    [one[0] + other[0], one[1] + other[1]]
}

/// A number that looks random beside its successor's (SplitMix64).
fn next_random(state: u64) -> u64 {
    let mut mixed = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
