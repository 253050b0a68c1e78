//! What the tasks of one search share, and what each of them does.
//!
//! A task looks at two counters after each slice of nodes: whether somebody waits for work, and
//! whether anything was told. Only then it takes the lock.

use crate::fold::Segment;
use crate::job::NodeWork;
use crate::link::yield_now;
use crate::outcome::{RankReport, Report};
use crate::settings::Progress;
use crate::tally::EarlierRounds;
use crate::walk::Piece;
use crate::worker::{SearchStop, SearchWorker, TELL, ZERO, guarded_call};
use crate::{Limit, Search, SearchFault, balance};
use motet_dispatch::Causality;
use motet_sync::Mutex;
use motet_sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

pub(super) struct Shared<J: NodeWork> {
    search: Search,
    tasks: usize,
    began: Instant,
    /// Tasks that wait for work, beyond the pieces that lie ready. Written under the lock.
    wanted: AtomicUsize,
    /// How often something was told to all tasks. Written under the lock.
    told: AtomicU64,
    /// Nodes of rounds before.
    earlier: u64,
    /// Nodes that all tasks have looked at, also in rounds before.
    nodes: AtomicU64,
    state: Mutex<State<J>>,
    /// When progress was told last.
    shown_at: Mutex<Duration>,
}

struct State<J: NodeWork> {
    pieces: VecDeque<Piece<J::Node>>,
    /// Tasks that have a piece.
    at_work: usize,
    /// By task: it waits for a piece.
    waiting: Vec<Option<Waker>>,
    /// No task gets another piece.
    ended: bool,
    stop: Option<SearchStop>,
    /// The best that was told.
    news: Option<J::News>,
}

/// What one task has done.
pub(super) struct Part<J: NodeWork> {
    pub(super) job: J,
    pub(super) segments: Vec<Segment<J::Part>>,
    report: Report,
    /// As that of [`SearchWorker`].
    done: RankReport,
}

impl<J: NodeWork> Part<J> {
    pub(super) fn done(
        &self,
        stop: Option<SearchStop>,
    ) -> (Report, RankReport, Option<SearchStop>) {
        let mut report = self.report.clone();
        report.pruned = self.job.pruned();
        let mut done = self.done;
        done.nodes -= report.pruned.min(done.nodes);
        report.nodes = done.nodes;
        (report, done, stop)
    }
}

/// Searches pieces until there are none.
pub(super) async fn task<J: NodeWork>(shared: Arc<Shared<J>>, number: usize, job: J) -> Part<J> {
    let mut leave = Leave {
        shared: &shared,
        ended: false,
    };
    let limits = &shared.search.limits;
    let mut worker = SearchWorker::of(number, shared.tasks, limits, shared.began);
    worker.beside = shared.earlier;
    let mut part = Part {
        job,
        segments: Vec::new(),
        report: Report::default(),
        done: RankReport::default(),
    };
    let (mut heard, mut numbered, mut at_work) = (0, (number as u64) << 40, false);
    while let Some(piece) = shared.next(number, &mut at_work).await {
        let (piece_number, mut given) = (piece.number, Vec::new());
        worker.begin(piece);
        loop {
            let before = worker.done.nodes;
            let ended = worker.slice(&mut part.job).unwrap_or_else(|stop| {
                shared.stop(stop);
                true
            });
            shared.visited(number, worker.done.nodes - before);
            if shared.tell_and_hear(&mut part, &mut heard) || ended {
                break;
            }
            while shared.is_work_wanted() {
                let piece = worker.give(|| {
                    numbered += 1;
                    numbered
                });
                let Some(piece) = piece else { break };
                given.push(piece.number);
                part.report.steals += 1;
                shared.give(piece);
            }
            yield_now().await;
        }
        worker.walk.stop();
        match guarded_call(number, ZERO, || part.job.part()) {
            Ok(Some(value)) => part.segments.push(Segment {
                number: piece_number,
                given,
                part: value,
            }),
            Ok(None) => {}
            Err(fault) => shared.stop(SearchStop::Fault(fault)),
        }
    }
    leave.ended = true;
    part.done = worker.done;
    part
}

impl<J: NodeWork> Shared<J> {
    pub(super) fn new(
        search: &Search,
        tasks: usize,
        (began, earlier): (Instant, EarlierRounds),
        root: J::Node,
    ) -> Self {
        Shared {
            search: search.clone(),
            tasks,
            began,
            wanted: AtomicUsize::new(0),
            told: AtomicU64::new(0),
            earlier: earlier.nodes,
            nodes: AtomicU64::new(earlier.nodes),
            state: Mutex::new(State {
                pieces: VecDeque::from([Piece::root(balance::WHOLE, root)]),
                at_work: 0,
                waiting: (0..tasks).map(|_| None).collect(),
                ended: false,
                stop: None,
                news: None,
            }),
            shown_at: Mutex::new(earlier.shown_at),
        }
    }

    /// All tasks are to end. The first reason counts, and a fault more than a limit, of which there
    /// is a result.
    pub(super) fn stop(&self, stop: SearchStop) {
        let mut state = self.state.lock();
        let is_first = matches!(
            (&state.stop, &stop),
            (None, _) | (Some(SearchStop::Limit(_)), SearchStop::Fault(_))
        );
        if is_first {
            state.stop = Some(stop);
            // Relaxed: who sees it takes the lock, which orders the rest.
            self.told.fetch_add(1, Ordering::Relaxed);
        }
        let waiting = state.end();
        drop(state);
        waiting.into_iter().for_each(Waker::wake);
    }

    /// When progress was told last.
    pub(super) fn shown_at(&self) -> Duration {
        *self.shown_at.lock()
    }

    pub(super) fn stop_reason(&self) -> Option<SearchStop> {
        self.state.lock().stop.clone()
    }

    /// The next piece; `None` when nothing is left, or the search is to end.
    async fn next(&self, number: usize, at_work: &mut bool) -> Option<Piece<J::Node>> {
        poll_fn(|context| {
            let mut state = self.state.lock();
            if std::mem::take(at_work) {
                state.at_work -= 1;
            }
            state.waiting[number] = None;
            let piece = match state.ended {
                true => None,
                false => state.pieces.pop_front(),
            };
            if piece.is_some() {
                *at_work = true;
                state.at_work += 1;
            } else if state.at_work == 0 || state.ended {
                let waiting = state.end();
                drop(state);
                waiting.into_iter().for_each(Waker::wake);
                return Poll::Ready(None);
            } else {
                state.waiting[number] = Some(context.waker().clone());
            }
            self.count_wanted(&state);
            match piece {
                Some(piece) => Poll::Ready(Some(piece)),
                None => Poll::Pending,
            }
        })
        .await
    }

    fn is_work_wanted(&self) -> bool {
        // Relaxed: seen late, it costs time and nothing else.
        self.wanted.load(Ordering::Relaxed) > 0
    }

    fn give(&self, piece: Piece<J::Node>) {
        let mut state = self.state.lock();
        state.pieces.push_back(piece);
        let waiting = state.waiting.iter_mut().find_map(Option::take);
        self.count_wanted(&state);
        drop(state);
        waiting.into_iter().for_each(Waker::wake);
    }

    fn count_wanted(&self, state: &State<J>) {
        let waiting = state.waiting.iter().flatten().count();
        // Relaxed: it is a hint.
        self.wanted.store(
            waiting.saturating_sub(state.pieces.len()),
            Ordering::Relaxed,
        );
    }

    /// Tells what the task has found, and hears what others have; whether the search is to end.
    fn tell_and_hear(&self, part: &mut Part<J>, heard: &mut u64) -> bool {
        let found = part.job.news();
        // Relaxed: what is told is read under the lock.
        if found.is_none() && self.told.load(Ordering::Relaxed) == *heard {
            return false;
        }
        let mut state = self.state.lock();
        let mut better_elsewhere = false;
        if self.told.load(Ordering::Relaxed) != *heard
            && let Some(news) = state.news.clone()
        {
            better_elsewhere = part.job.hear(news);
            part.report.bounds_used += u64::from(better_elsewhere);
        }
        if let Some(found) = found
            && !better_elsewhere
        {
            state.news = Some(found);
            part.report.bounds_sent += 1;
            self.told.fetch_add(1, Ordering::Relaxed);
        }
        *heard = self.told.load(Ordering::Relaxed);
        state.stop.is_some()
    }

    /// This task has looked at so many nodes more.
    fn visited(&self, number: usize, nodes: u64) {
        // Relaxed: a sum, on which no other data depend.
        let all = self.nodes.fetch_add(nodes, Ordering::Relaxed) + nodes;
        if self.tasks > 1 && all > self.search.limits.nodes {
            self.stop(SearchStop::Limit(Limit::Nodes));
        }
        if let Some(progress) = &self.search.progress
            && let Some(mut shown_at) = self.shown_at.try_lock()
        {
            let elapsed = self.began.elapsed();
            if elapsed - *shown_at >= progress.every {
                *shown_at = elapsed;
                // Under the lock of the time: the numbers never fall.
                let nodes = self.nodes.load(Ordering::Relaxed);
                let progress = || (progress.tell)(Progress { nodes, elapsed });
                let told = guarded_call(number, TELL, progress);
                drop(shown_at);
                if let Err(fault) = told {
                    self.stop(SearchStop::Fault(fault));
                }
            }
        }
    }
}

impl<J: NodeWork> State<J> {
    /// No task gets another piece; those that wait for one are to be woken.
    fn end(&mut self) -> Vec<Waker> {
        self.ended = true;
        self.waiting.iter_mut().filter_map(Option::take).collect()
    }
}

/// Belongs to a task: if that is dropped before its end, the others do not wait for it.
struct Leave<'a, J: NodeWork> {
    shared: &'a Shared<J>,
    ended: bool,
}

impl<J: NodeWork> Drop for Leave<'_, J> {
    fn drop(&mut self) {
        if !self.ended {
            let cancelled = Causality::check().err();
            let stopped = || "its dispatcher was stopped".to_owned();
            let reason = cancelled.map_or_else(stopped, |cancelled| cancelled.to_string());
            self.shared.stop(SearchStop::Fault(SearchFault::Cancelled {
                rank: 0,
                reason,
            }));
        }
    }
}
