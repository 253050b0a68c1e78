//! Those who wait until an exported port has as many items as they want.

use super::{ENDED, ExportAnswer, ExportRequest, ExportedPort, unless_over};
use crate::calls::Request;
use crate::enough::enough;
use crate::flow::Hub;
use serde::Serialize;
use std::sync::Arc;

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
        let (gone, begins, is_fewer) = {
            let mut state = self.state.lock();
            if state.ended {
                drop(state);
                return request.refuse(ENDED);
            }
            let asking = &mut state.asking;
            let gone = asking.extract_if(.., |(_, asking)| !asking.is_wanted());
            let gone: Vec<_> = gone.collect();
            asking.push((count, request));
            let begins = !std::mem::replace(&mut state.watching, true);
            (gone, begins, count < state.least)
        };
        // Outside of the lock: the node sends what waits when a request is dropped.
        drop(gone);
        if begins {
            self.watch();
        } else if is_fewer {
            // A port that nobody closes takes it.
            let _ = self.fewer.post(());
        }
    }

    /// Waits for items on behalf of those who ask, until all are told.
    fn watch(self: &Arc<Self>) {
        let (Some(core), this) = (self.core.upgrade(), Arc::clone(self)) else {
            return;
        };
        core.spawn(Box::pin(async move {
            while let Some(least) = this.fewest() {
                let there = unless_over(&this.fewer, enough(&this.port, least));
                // At the end of the export who asked has been told.
                let Some(there) = unless_over(&this.over, there).await else {
                    return;
                };
                match there {
                    Some(is_there) => this.tell(least, is_there),
                    // Somebody asks for fewer.
                    None => _ = this.fewer.clear(),
                }
            }
        }));
    }

    /// The fewest items that somebody asks for. `None`: nobody does, and nobody watches any more.
    fn fewest(&self) -> Option<usize> {
        let mut state = self.state.lock();
        let fewest = state.asking.iter().map(|(count, _)| *count).min();
        state.watching = fewest.is_some();
        state.least = fewest.unwrap_or(0);
        fewest
    }

    /// Answers those who ask for as many as there are, or else, if so few do not come any more,
    /// for as many or more.
    fn tell(&self, least: usize, is_there: bool) {
        let there = self.port.item_count();
        let told: Vec<_> = {
            let mut state = self.state.lock();
            let told = state.asking.extract_if(.., |(count, _)| match is_there {
                true => *count <= there,
                false => *count >= least,
            });
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
