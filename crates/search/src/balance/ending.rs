//! How a search ends: waves that count what is under way, reasons to stop, and what the ranks sum
//! up.

use super::{Balance, Message, SearchEnd, add};
use crate::job::NodeWork;
use crate::settings::Progress;
use crate::worker::{SearchStop, TELL, guarded_call, sum_up};
use crate::{Limit, SearchError};
use motet_comm::{CommError, Communicator};

impl<J: NodeWork> Balance<'_, '_, J> {
    /// Answers a wave; this rank has no work. Rank 0 begins one, and judges it.
    pub(super) fn count(&mut self) -> Result<(), CommError> {
        if self.parent.is_none() && !self.wave.here {
            self.begin_wave()?;
        }
        if !self.wave.here || self.wave.counted < self.children.len() {
            return Ok(());
        }
        let counts = add(self.wave.below, self.wave.own);
        (self.wave.here, self.wave.counted, self.wave.below) = (false, 0, [0; 2]);
        if let Some(parent) = self.parent {
            return self.link.send(parent, Message::Count(counts));
        }
        let last = self.wave.last.replace(counts);
        if counts[0] == counts[1] && last == Some(counts) {
            return self.end();
        }
        self.begin_wave()
    }

    pub(super) fn begin_wave(&mut self) -> Result<(), CommError> {
        self.wave.here = true;
        self.children
            .iter()
            .try_for_each(|child| self.link.send(*child, Message::Wave))
    }

    pub(super) fn end(&mut self) -> Result<(), CommError> {
        self.ended = true;
        self.children
            .iter()
            .try_for_each(|child| self.link.send(*child, Message::End))
    }

    /// All ranks are to stop.
    pub(super) fn stop(&mut self, stop: &SearchStop, from: Option<usize>) -> Result<(), CommError> {
        if let Some(known) = &mut self.stop {
            // All hear of it when they sum up.
            if matches!(
                (&*known, stop),
                (SearchStop::Limit(_), SearchStop::Fault(_))
            ) {
                *known = stop.clone();
            }
            return Ok(());
        }
        self.stop = Some(stop.clone());
        for neighbour in self.parent.into_iter().chain(self.children.clone()) {
            if Some(neighbour) != from {
                self.link.send(neighbour, Message::Stop(stop.clone()))?;
            }
        }
        Ok(())
    }

    pub(super) fn spread(&mut self, from: Option<usize>, news: &J::News) -> Result<(), CommError> {
        for neighbour in self.parent.into_iter().chain(self.children.clone()) {
            if Some(neighbour) != from {
                self.report.bounds_sent += 1;
                self.link.send(neighbour, Message::Better(news.clone()))?;
            }
        }
        Ok(())
    }

    pub(super) fn tell_nodes(&mut self) -> Result<(), CommError> {
        let nodes = self.worker.done.nodes;
        let new = nodes - self.tally.told;
        if !self.tally.is_due(new, || self.worker.elapsed()) {
            return Ok(());
        }
        self.tally.told = nodes;
        if self.link.rank() > 0 {
            return self.link.send(0, Message::Tally(new));
        }
        self.tally.total += new;
        self.look_at_tally()
    }

    /// On rank 0.
    pub(super) fn look_at_tally(&mut self) -> Result<(), CommError> {
        let (nodes, elapsed) = (self.tally.total, self.worker.elapsed());
        let shown = guarded_call(0, TELL, || self.tally.show(Progress { nodes, elapsed }));
        if let Err(fault) = shown {
            self.stop(&SearchStop::Fault(fault), None)?;
        }
        if self.link.size() > 1 && nodes > self.tally.limit {
            self.stop(&SearchStop::Limit(Limit::Nodes), None)?;
        }
        Ok(())
    }

    pub(super) async fn finish(
        mut self,
        comm: &Communicator,
        mut job: Option<&mut J>,
    ) -> Result<SearchEnd<J::Part>, SearchError> {
        if self.has_work
            && let Some(job) = &mut job
            && let Err(fault) = self.end_piece(job)
        {
            // All hear of it below.
            self.stop = Some(SearchStop::Fault(fault));
        }
        self.link.drain().await?;
        self.report.pruned = job.map_or(0, |job| job.pruned());
        let done = self.worker.done;
        let (report, stopped) = sum_up(comm, self.report, done, self.stop).await?;
        Ok(SearchEnd {
            segments: self.segments,
            report,
            stopped,
            shown_at: self.tally.shown_at,
        })
    }
}
