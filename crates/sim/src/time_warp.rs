//! Time Warp: all ranks handle events as if nothing were to come, and take back what was too early
//! (D. Jefferson, Virtual time, 1985).
//!
//! ```text
//!  pending ─► handle ─► done, with what undoes it ─► committed, when nothing before it can come
//!     ▲                  │
//!     └── rolled back ◄──┘  an event before it came, or its cause was taken back
//! ```
//!
//! Ranks handle what lies in a span of virtual time, then exchange events and what takes events
//! back. No message is under way after an exchange. So the least key that any rank holds is the
//! global virtual time, before which nothing can change any more. The span grows while little is
//! taken back, and shrinks while much is. All of that is decided by counts that every rank knows,
//! so a run that is repeated takes back the same.

mod history;
mod undo;

pub(crate) use undo::{Copies, Reversed, Undoing};

use crate::event::{EventKey, KeyedEvent};
use crate::outcome::Report;
use crate::rules::Rules;
use crate::saved::{RankEnd, RankStart};
use crate::share::{ProcessLayout, Share};
use crate::{Logical, ModelError, SimError, Time};
use history::{History, Stopped};
use motet_comm::Communicator;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// So many events a rank handles between two exchanges, at most: it keeps what undoes them.
const MOST_IN_A_ROUND: u64 = 1 << 16;

/// What a rank tells another at the end of a round.
#[derive(Serialize, Deserialize)]
struct RoundMessage<E> {
    /// In the order in which they were said: an event comes before what takes it back.
    words: Vec<Word<E>>,
    /// The least key that the sender holds, or has sent in this round to anybody.
    least: Option<EventKey>,
    handled: u64,
    rolled_back: u64,
    failed: Option<ModelError>,
}

#[derive(Serialize, Deserialize)]
enum Word<E> {
    Event(KeyedEvent<E>),
    Taken(EventKey),
}

/// The events and processes of one rank.
struct Warp<'r, P: Logical, U: Undoing<P>> {
    rules: &'r Rules,
    layout: ProcessLayout,
    rank: usize,
    share: Share<P>,
    histories: Vec<History<P, U>>,
    pending: BTreeMap<EventKey, P::Event>,
    /// What each rank is to be told.
    outbox: Vec<Vec<Word<P::Event>>>,
    /// The least key in the outbox.
    least_sent: Option<EventKey>,
    /// A handler that panicked, or did what it must not. It is the run's end if its event is
    /// committed.
    stopped: Option<(EventKey, Stopped)>,
    /// Events that have been handled and are not committed.
    uncommitted: usize,
    report: Report,
    trace: Vec<EventKey>,
    sent: Vec<KeyedEvent<P::Event>>,
}

pub(crate) async fn run<P: Logical, U: Undoing<P>>(
    comm: &Communicator,
    rules: &Rules,
    begin: RankStart<P>,
) -> Result<RankEnd<P>, SimError> {
    let layout = ProcessLayout::new(rules.processes, comm.size());
    let mut warp: Warp<'_, P, U> = Warp::new(rules, layout, comm, begin.share);
    let mut failed = begin.done.err();
    for event in begin.sent {
        warp.schedule(event);
    }
    let mut span = Span::new(rules, comm.size());
    let (mut handled, mut before) = (0, warp.report);
    let mut reached = 0;
    loop {
        let rolled_back = warp.report.rolled_back - before.rolled_back;
        let parcels = warp.parcels((handled, rolled_back), failed.as_ref());
        let (mut least, mut all) = (None, [0, 0]);
        before = warp.report;
        for parcel in comm.alltoall(parcels).await? {
            if let Some(failed) = parcel.failed {
                return Err(failed.into());
            }
            least = [least, parcel.least].into_iter().flatten().min();
            all = [all[0] + parcel.handled, all[1] + parcel.rolled_back];
            warp.hear(parcel.words);
        }
        // The least key of all: nothing before it can change any more.
        let Some(horizon) = least.filter(|least| least.time < rules.stop) else {
            break;
        };
        warp.commit(&horizon);
        reached = horizon.time;
        failed = warp.check(&horizon);
        span.adapt(all);
        handled = match failed {
            None => warp.handle(span.end(horizon.time).min(rules.stop)),
            Some(_) => 0,
        };
    }
    let last = warp.commit_all().max(reached);
    // The last round has passed a limit, perhaps.
    let failed = comm.allgather(warp.over_limit(last)).await?;
    if let Some(failed) = failed.into_iter().flatten().next() {
        return Err(failed.into());
    }
    let pending = warp.pending.into_iter();
    Ok(RankEnd {
        report: warp.report.of_all(comm).await?,
        share: warp.share,
        pending: pending
            .map(|(key, body)| KeyedEvent { key, body })
            .collect(),
        trace: warp.trace,
    })
}

impl<'r, P: Logical, U: Undoing<P>> Warp<'r, P, U> {
    fn new(rules: &'r Rules, layout: ProcessLayout, comm: &Communicator, share: Share<P>) -> Self {
        let mut outbox = Vec::new();
        outbox.resize_with(comm.size(), Vec::new);
        Warp {
            rules,
            layout,
            rank: comm.rank(),
            histories: share.processes.iter().map(|_| History::new()).collect(),
            share,
            pending: BTreeMap::new(),
            outbox,
            least_sent: None,
            stopped: None,
            uncommitted: 0,
            report: Report::default(),
            trace: Vec::new(),
            sent: Vec::new(),
        }
    }

    /// What each rank is to know of this round.
    fn parcels(
        &mut self,
        (handled, rolled_back): (u64, u64),
        failed: Option<&ModelError>,
    ) -> Vec<RoundMessage<P::Event>> {
        let own = self.pending.first_key_value().map(|(&key, _)| key);
        let least = [own, self.least_sent.take()].into_iter().flatten().min();
        self.report.rounds += 1;
        let outbox = self.outbox.iter_mut().map(std::mem::take);
        let parcel = |words| RoundMessage {
            words,
            least,
            handled,
            rolled_back,
            failed: failed.cloned(),
        };
        outbox.map(parcel).collect()
    }

    fn hear(&mut self, words: Vec<Word<P::Event>>) {
        for word in words {
            match word {
                Word::Event(event) => self.enter(event),
                Word::Taken(key) => self.take_back(key),
            }
        }
    }

    /// Handles what takes place before `end`; how many events that were.
    fn handle(&mut self, end: Time) -> u64 {
        let mut handled = 0;
        while handled < MOST_IN_A_ROUND {
            let Some((&key, _)) = self.pending.first_key_value() else {
                break;
            };
            let beyond = self.stopped.as_ref().is_some_and(|(at, _)| *at <= key);
            if key.time >= end || beyond {
                break;
            }
            let Some((key, body)) = self.pending.pop_first() else {
                break;
            };
            let at = key.to as usize - self.share.first;
            let process = &mut self.share.processes[at];
            let event = KeyedEvent { key, body };
            let history = &mut self.histories[at];
            match history.handle(self.rules, process, event, &mut self.sent) {
                Ok(()) => {
                    self.uncommitted += 1;
                    handled += 1;
                    for event in std::mem::take(&mut self.sent) {
                        self.schedule(event);
                    }
                }
                Err((event, stopped)) => {
                    self.sent.clear();
                    self.stopped = Some((key, stopped));
                    self.pending.insert(key, event.body);
                    break;
                }
            }
        }
        handled
    }

    fn schedule(&mut self, event: KeyedEvent<P::Event>) {
        let rank = self.layout.rank_of(event.key.to as usize);
        if rank == self.rank {
            self.enter(event);
        } else {
            self.least_sent = Some(
                self.least_sent
                    .map_or(event.key, |least| least.min(event.key)),
            );
            self.report.sent += 1;
            self.outbox[rank].push(Word::Event(event));
        }
    }

    /// An event has come for a process of this rank.
    fn enter(&mut self, event: KeyedEvent<P::Event>) {
        self.roll_back(&event.key);
        self.pending.insert(event.key, event.body);
    }

    /// An event is taken back that has come for a process of this rank.
    fn take_back(&mut self, key: EventKey) {
        self.roll_back(&key);
        let taken = self.pending.remove(&key);
        debug_assert!(taken.is_some(), "an event comes before what takes it back");
    }

    /// Takes back what a process has handled at this key or later, and what that has scheduled, and
    /// so on.
    fn roll_back(&mut self, key: &EventKey) {
        if self.stopped.as_ref().is_some_and(|(at, _)| key <= at) {
            self.stopped = None;
        }
        // The events that were scheduled by what has been taken back.
        let mut orphans: Vec<EventKey> = Vec::new();
        let mut next = Some(*key);
        while let Some(key) = next {
            let at = key.to as usize - self.share.first;
            while let Some(event) =
                self.histories[at].undo_from(&key, &mut self.share.processes[at], &mut orphans)
            {
                self.uncommitted -= 1;
                self.report.rolled_back += 1;
                self.pending.insert(event.key, event.body);
            }
            next = self.next_orphan(&mut orphans);
        }
    }

    /// The next orphan that a process of this rank may have handled; those that wait here are
    /// dropped, and other ranks are told of theirs.
    fn next_orphan(&mut self, orphans: &mut Vec<EventKey>) -> Option<EventKey> {
        while let Some(&key) = orphans.last() {
            let rank = self.layout.rank_of(key.to as usize);
            if rank != self.rank {
                self.least_sent = Some(self.least_sent.map_or(key, |least| least.min(key)));
                self.report.unsent += 1;
                self.outbox[rank].push(Word::Taken(key));
            } else if self.pending.remove(&key).is_none() {
                // It stays on the list: it waits when what has handled it is undone.
                return Some(key);
            } else if self.stopped.as_ref().is_some_and(|(at, _)| key <= *at) {
                self.stopped = None;
            }
            orphans.pop();
        }
        None
    }

    /// What took place before `horizon` is for good.
    fn commit(&mut self, horizon: &EventKey) {
        for history in &mut self.histories {
            let committed = history.commit(horizon, self.rules.trace.then_some(&mut self.trace));
            self.report.committed += committed as u64;
            self.uncommitted -= committed;
        }
    }

    /// The same of all; when the last of it took place.
    fn commit_all(&mut self) -> Time {
        let last = self.histories.iter().map(History::last).max();
        for history in &mut self.histories {
            let all = history.commit_all(self.rules.trace.then_some(&mut self.trace));
            self.report.committed += all as u64;
            self.uncommitted -= all;
        }
        last.unwrap_or(0)
    }

    /// What ends the run, now that `horizon` is the least key of all.
    fn check(&mut self, horizon: &EventKey) -> Option<ModelError> {
        if let Some((_, stopped)) = self.stopped.take_if(|(at, _)| *at <= *horizon) {
            return Some(stopped.raise());
        }
        self.over_limit(horizon.time)
    }

    /// The limit that was passed by this time, if one was.
    fn over_limit(&self, time: Time) -> Option<ModelError> {
        let (most, pending) = (
            self.rules.most_events,
            self.pending.len() + self.uncommitted,
        );
        if self.report.committed > most {
            return Some(ModelError::TooManyEvents { most, time });
        }
        let full = pending > self.rules.most_pending;
        full.then_some(ModelError::TooManyPending { pending, time })
    }
}

/// How far ranks go ahead of the global virtual time.
struct Span {
    ticks: Time,
    least: Time,
    alone: bool,
}

impl Span {
    fn new(rules: &Rules, ranks: usize) -> Self {
        // What lies within the lookahead is never taken back.
        let (lookahead, _) = rules.least_lookahead();
        let least = lookahead.max(1);
        Span {
            ticks: least,
            least,
            alone: ranks == 1,
        }
    }

    /// Of so many events as all ranks have handled, and have taken back, in the last round.
    fn adapt(&mut self, [handled, rolled_back]: [u64; 2]) {
        if rolled_back * 5 > handled {
            self.ticks = (self.ticks / 2).max(self.least);
        } else if rolled_back * 10 <= handled {
            self.ticks = self.ticks.saturating_mul(2);
        }
    }

    fn end(&self, from: Time) -> Time {
        match self.alone {
            true => Time::MAX,
            false => from.saturating_add(self.ticks),
        }
    }
}
