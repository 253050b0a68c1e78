//! A rank that searches subtrees for rank 0, which is one of them.

use super::{Message, MessageOf};
use crate::best::Maximum;
use crate::job::NodeWork;
use crate::link::{SearchLink, yield_now};
use crate::outcome::Report;
use crate::tally::NodeTally;
use crate::walk::Piece;
use crate::worker::{SearchStop, SearchWorker};
use crate::{Bounded, Search};
use motet_comm::{CommError, Communicator};
use std::time::Instant;

/// What searches subtrees.
pub(super) struct Rank<'s, 'c, 'p, P: Bounded> {
    pub(super) link: SearchLink<'c, MessageOf<P>>,
    pub(super) worker: SearchWorker<'s, P::Node>,
    /// What rank 0 was told of; on rank 0 what it knows.
    pub(super) tally: NodeTally<'s>,
    pub(super) job: Maximum<&'p P>,
    /// Has a subtree that is not done.
    pub(super) busy: bool,
    pub(super) report: Report,
    pub(super) stop: Option<SearchStop>,
}

impl<'s, 'c, 'p, P: Bounded> Rank<'s, 'c, 'p, P> {
    pub(super) fn new(
        comm: &'c Communicator,
        search: &'s Search,
        began: Instant,
        problem: &'p P,
    ) -> Self {
        Rank {
            link: SearchLink::new(comm),
            worker: SearchWorker::new(comm, &search.limits, began),
            tally: NodeTally::new(search, comm.size()),
            job: Maximum::new(problem, true),
            busy: false,
            report: Report::default(),
            stop: None,
        }
    }

    /// Searches subtrees for rank 0 until there are no more.
    pub(super) async fn serve(&mut self) -> Result<(), CommError> {
        let mut next = Some(self.link.wait().await?.1);
        loop {
            let message = match next.take() {
                Some(message) => message,
                None => self.link.wait().await?.1,
            };
            match message {
                Message::Task { piece, known } => self.begin(piece, known),
                Message::End(_) => return Ok(()),
                Message::Done { .. } | Message::Tally(_) | Message::Failed(_) => continue,
            }
            while next.is_none() {
                match self.worker.slice(&mut self.job) {
                    Ok(true) => {
                        let done = self.done();
                        self.link.send(0, done)?;
                        break;
                    }
                    Ok(false) => {
                        if let Some(nodes) = self.due() {
                            self.link.send(0, Message::Tally(nodes))?;
                        }
                        next = self.link.next()?.map(|(_, message)| message);
                    }
                    Err(stop) => {
                        self.stop = Some(stop.clone());
                        self.link.send(0, Message::Failed(stop))?;
                        break;
                    }
                }
                yield_now().await;
            }
        }
    }

    pub(super) fn begin(&mut self, piece: Piece<P::Node>, known: Option<P::Value>) {
        self.job.known(known);
        self.worker.begin(piece);
        self.busy = true;
    }

    pub(super) fn done(&mut self) -> MessageOf<P> {
        self.busy = false;
        self.report.pruned += self.job.pruned();
        Message::Done {
            number: self.worker.walk.number(),
            best: self.job.take_own(),
            nodes: self.untold(),
        }
    }

    /// The nodes that rank 0 has not been told of, if it is to be told now.
    pub(super) fn due(&mut self) -> Option<u64> {
        let new = self.worker.done.nodes - self.tally.told;
        let is_due = self.tally.is_due(new, || self.worker.elapsed());
        is_due.then(|| self.untold())
    }

    /// The nodes that rank 0 has not been told of; from now on it has.
    fn untold(&mut self) -> u64 {
        let nodes = self.worker.done.nodes;
        nodes - std::mem::replace(&mut self.tally.told, nodes)
    }
}
