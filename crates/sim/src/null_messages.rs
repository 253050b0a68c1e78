//! Null messages: ranks promise each other, link by link, until when they send nothing (K. Chandy
//! and J. Misra, Distributed simulation, 1979; R. Bryant, Simulation of packet communication
//! architecture computer systems, 1977).
//!
//! A process may handle what takes place before anything can come to it. How soon that is follows
//! from what waits on the rank, from what the other ranks have promised, and from the links in
//! between. It is a shortest way from all of these.

mod graph;

use crate::event::KeyedEvent;
use crate::outcome::Report;
use crate::rules::Rules;
use crate::saved::{RankEnd, RankStart};
use crate::share::{ProcessLayout, Share};
use crate::{EventKey, Logical, ModelError, SimError, Time};
use graph::Graph;
use motet_comm::{ANY_SOURCE, CommError, Communicator, Tag, Value};
use serde::{Deserialize, Serialize};
use std::collections::BinaryHeap;
use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

/// The communicator is the run's own.
const TAG: Tag = 0;

#[derive(Serialize, Deserialize)]
enum Note<E> {
    Work {
        events: Vec<KeyedEvent<E>>,
        /// Until when nothing comes, for each link from the sender's rank, in the order of its
        /// graph.
        promises: Vec<Time>,
    },
    Failed,
}

struct Ranked<'r, P: Logical> {
    rules: &'r Rules,
    layout: ProcessLayout,
    graph: Graph,
    share: Share<P>,
    /// What waits for each process.
    pending: Vec<BinaryHeap<KeyedEvent<P::Event>>>,
    waiting: usize,
    /// What each rank is to get.
    outbox: Vec<Vec<KeyedEvent<P::Event>>>,
    /// What each rank is to get when this part of the run has ended.
    later: Vec<Vec<KeyedEvent<P::Event>>>,
    report: Report,
    trace: Vec<EventKey>,
    sent: Vec<KeyedEvent<P::Event>>,
}

pub(crate) async fn run<P: Logical>(
    comm: &Communicator,
    rules: &Rules,
    begin: RankStart<P>,
) -> Result<RankEnd<P>, SimError> {
    if let Some(processes) = rules.cycle_without_lookahead() {
        return Err(ModelError::Cycle { processes }.into());
    }
    // Promises would go on for ever where no events are left.
    if rules.stop == Time::MAX {
        return Err(ModelError::NoEnd.into());
    }
    let comm = comm.dup().await?;
    let layout = ProcessLayout::new(rules.processes, comm.size());
    let mut ranked = Ranked::new(rules, layout, &comm, begin.share);
    ranked.sent = begin.sent;
    let done = ranked.all(&comm, begin.done).await?;
    // All ranks end with the failure of the first.
    let failures = meet::<P::Event>(&comm, done.err()).await?;
    if let Some(failed) = failures.into_iter().flatten().next() {
        // Nobody has received the notes that were under way.
        while comm.iprobe(ANY_SOURCE, TAG)?.is_some() {
            comm.recv::<Note<P::Event>>(ANY_SOURCE, TAG).await?;
        }
        return Err(failed.into());
    }
    let mut pending: Vec<_> = ranked.pending.into_iter().flatten().collect();
    if rules.stop < rules.end {
        let later = comm.alltoall(ranked.later).await?;
        pending.extend(later.into_iter().flatten());
    }
    Ok(RankEnd {
        report: ranked.report.of_all(&comm).await?,
        share: ranked.share,
        pending,
        trace: ranked.trace,
    })
}

/// All ranks meet, each with its failure. One that has failed takes what comes meanwhile: under a
/// limit of sends another may wait for room here, and then receives that the run has failed.
async fn meet<E: Value>(
    comm: &Communicator,
    failed: Option<ModelError>,
) -> Result<Vec<Option<ModelError>>, CommError> {
    let mut all = pin!(comm.allgather(failed));
    loop {
        let mut note = pin!(comm.recv::<Note<E>>(ANY_SOURCE, TAG));
        let met = poll_fn(|cx| match all.as_mut().poll(cx) {
            Poll::Ready(met) => Poll::Ready(Some(met)),
            // Nobody has a use for the note.
            Poll::Pending => note.as_mut().poll(cx).map(|note| note.err().map(Err)),
        });
        if let Some(met) = met.await {
            return met;
        }
    }
}

impl<'r, P: Logical> Ranked<'r, P> {
    fn new(rules: &'r Rules, layout: ProcessLayout, comm: &Communicator, share: Share<P>) -> Self {
        let (mut pending, mut outbox, mut later) = (Vec::new(), Vec::new(), Vec::new());
        pending.resize_with(share.processes.len(), BinaryHeap::new);
        outbox.resize_with(comm.size(), Vec::new);
        later.resize_with(comm.size(), Vec::new);
        Ranked {
            rules,
            layout,
            graph: Graph::new(rules, layout, comm.rank(), comm.size()),
            share,
            pending,
            waiting: 0,
            outbox,
            later,
            report: Report::default(),
            trace: Vec::new(),
            sent: Vec::new(),
        }
    }

    /// Handles all events; the inner result is what the model has done that it must not.
    async fn all(
        &mut self,
        comm: &Communicator,
        begun: Result<(), ModelError>,
    ) -> Result<Result<(), ModelError>, SimError> {
        let mut failed = begun.err();
        self.keep_sent();
        loop {
            while failed.is_none() {
                let pending = &self.pending;
                let next = |process: usize| pending[process].peek().map(|event| event.key.time);
                self.graph.look_ahead(next);
                match self.handle() {
                    Ok(0) => break,
                    Ok(_) => {}
                    Err(error) => failed = Some(error),
                }
            }
            if let Some(failed) = failed {
                for rank in (0..comm.size()).filter(|&rank| rank != comm.rank()) {
                    // It waits for no room.
                    let told = comm.isend(rank, TAG, Note::<P::Event>::Failed).test();
                    told.unwrap_or(Ok(()))?;
                }
                return Ok(Err(failed));
            }
            self.tell(comm).await?;
            if self.graph.is_at_the_end() {
                return Ok(Ok(()));
            }
            let (mut note, mut from) = comm.recv_with_status(ANY_SOURCE, TAG).await?;
            loop {
                match note {
                    // Who has failed gives the reason when all meet.
                    Note::Failed => return Ok(Ok(())),
                    Note::Work { events, promises } => {
                        self.graph.promised(from.source, &promises);
                        for event in events {
                            self.enter(event);
                        }
                    }
                }
                if comm.iprobe(ANY_SOURCE, TAG)?.is_none() {
                    break;
                }
                (note, from) = comm.recv_with_status(ANY_SOURCE, TAG).await?;
            }
        }
    }

    /// Handles what takes place before anything can come; how many events that were.
    fn handle(&mut self) -> Result<u64, ModelError> {
        let before = self.report.committed;
        for process in 0..self.pending.len() {
            let end = self.graph.comes(process);
            while let Some(event) = self.pending[process].pop() {
                if event.key.time >= end {
                    self.pending[process].push(event);
                    break;
                }
                let key = event.key;
                self.waiting -= 1;
                self.share.handle(self.rules, event, &mut self.sent)?;
                self.keep_sent();
                self.report.committed += 1;
                if self.rules.trace {
                    self.trace.push(key);
                }
                self.check(key.time)?;
            }
        }
        Ok(self.report.committed - before)
    }

    fn check(&self, time: Time) -> Result<(), ModelError> {
        let (most, pending) = (self.rules.most_events, self.waiting);
        if self.report.committed > most {
            return Err(ModelError::TooManyEvents { most, time });
        }
        match pending > self.rules.most_pending {
            true => Err(ModelError::TooManyPending { pending, time }),
            false => Ok(()),
        }
    }

    fn keep_sent(&mut self) {
        for event in std::mem::take(&mut self.sent) {
            let rank = self.layout.rank_of(event.key.to as usize);
            if rank == self.graph.rank() {
                self.enter(event);
            } else if event.key.time < self.rules.stop {
                self.outbox[rank].push(event);
            } else {
                self.later[rank].push(event);
            }
        }
    }

    fn enter(&mut self, event: KeyedEvent<P::Event>) {
        self.waiting += 1;
        self.pending[event.key.to as usize - self.share.first].push(event);
    }

    /// Sends each rank its events, and promises that are later than those before.
    async fn tell(&mut self, comm: &Communicator) -> Result<(), SimError> {
        for rank in 0..comm.size() {
            let events = std::mem::take(&mut self.outbox[rank]);
            let Some(promises) = self.graph.promises(rank, !events.is_empty()) else {
                continue;
            };
            self.report.sent += events.len() as u64;
            self.report.nulls += u64::from(events.is_empty());
            let promises = promises.to_vec();
            comm.send(rank, TAG, Note::Work { events, promises })
                .await?;
        }
        self.report.rounds += 1;
        Ok(())
    }
}
