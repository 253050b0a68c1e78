//! Those who wait until an exported port has as many items as they want.

use super::{ENDED, ExportAnswer, ExportRequest, ExportedPort, unless_over};
use crate::calls::Request;
use crate::enough::enough_of;
use crate::flow::Hub;
use crate::held::count_with_held;
use serde::Serialize;
use std::sync::Arc;

/// How many requests of another node wait at an exported port. Each takes some hundred bytes.
pub(super) const WAITING: usize = 4096;

impl<T: Serialize + Send + 'static> ExportedPort<T> {
    /// Answers once the port has so many items.
    pub(super) fn ask(
        self: &Arc<Self>,
        request: Request<ExportRequest, ExportAnswer>,
        count: usize,
    ) {
        if self.port.item_count() >= count {
            request.answer(&ExportAnswer::Ready(self.own.clone()));
            return;
        }
        let core = self.core.upgrade();
        let is_here = core.is_some_and(|core| *core.name() == request.from);
        let (gone, begins, is_beyond) = {
            let mut state = self.state.lock();
            if state.ended {
                drop(state);
                return request.refuse(ENDED);
            }
            let asking = &mut state.asking;
            let gone = asking.extract_if(.., |(_, asking)| !asking.is_wanted());
            let gone: Vec<_> = gone.collect();
            let of_taker = asking.iter().filter(|(_, it)| it.from == request.from);
            if !is_here && of_taker.count() >= WAITING {
                drop(state);
                drop(gone);
                return request.answer(&ExportAnswer::Busy);
            }
            asking.push((count, request));
            let before = state.watched;
            state.watched = before.or(Some((count, count)));
            let is_beyond = before.is_some_and(|(least, most)| count < least || count > most);
            (gone, before.is_none(), is_beyond)
        };
        // Outside of the lock: the node sends what waits when a request is dropped.
        drop(gone);
        if begins {
            self.watch();
        } else if is_beyond {
            // A port that nobody closes takes it.
            let _ = self.counts_change.post(());
        }
    }

    /// Waits for items on behalf of those who ask, until all are told.
    fn watch(self: &Arc<Self>) {
        let (Some(core), this) = (self.core.upgrade(), Arc::clone(self)) else {
            return;
        };
        core.spawn(Box::pin(async move {
            while let Some(counts) = this.wanted() {
                let there = unless_over(&this.counts_change, enough_of(&this.port, counts));
                // At the end of the export who asked has been told.
                let Some(there) = unless_over(&this.over, there).await else {
                    return;
                };
                match there {
                    Some(is_there) => this.tell(is_there),
                    // Somebody asks for fewer, or for more.
                    None => _ = this.counts_change.clear(),
                }
            }
        }));
    }

    /// The fewest items that somebody asks for, and the most. `None`: nobody does, and nobody
    /// watches any more.
    fn wanted(&self) -> Option<(usize, usize)> {
        let mut state = self.state.lock();
        let counts = state.asking.iter().map(|(count, _)| *count);
        let wanted = counts.clone().min().zip(counts.max());
        state.watched = wanted;
        wanted
    }

    /// Answers those who ask for as many as there are; or else, where the port is closed, those who
    /// ask for more than there are with those that may come back.
    fn tell(&self, is_there: bool) {
        let there = match is_there {
            true => self.port.item_count(),
            false => count_with_held(&self.port),
        };
        let told: Vec<_> = {
            let mut state = self.state.lock();
            let asking = &mut state.asking;
            let told = asking.extract_if(.., |(count, _)| (*count <= there) == is_there);
            told.collect()
        };
        for (_, request) in told {
            request.answer(&match is_there {
                true => ExportAnswer::Ready(self.own.clone()),
                false => ExportAnswer::Closed,
            });
        }
    }
}
