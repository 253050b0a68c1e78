//! Who takes what the carrier brings: the thread that brings it, or the node's queue.

use crate::core::Core;
use crate::flow::Hub;
use crate::here_or_queued::{HereOrQueued, while_sending};
use crate::{Carrier, CarrierEvent};
use motet_dispatch::{Causality, Enqueue, spawn};
use motet_ports::{Port, Reply, reply};
use std::iter;
use std::sync::Arc;

/// So many bytes of frames are taken where they come: that takes less time than a wake.
const SHORT: usize = 1 << 10;
/// So many events are taken together. Then others have a turn: other tasks of the node's queue, and
/// what else the thread brings.
const TURN: usize = 64;

/// Takes what the carrier tells, one after the other, for as long as the node and its queue are
/// there. What is short is taken on the thread that tells it ([`HereOrQueued`] says when). Long
/// frames, many that came together, and what comes while those are taken, are taken by the node's
/// queue, beside the thread that brings more. So is what others have told when the thread has taken
/// a turn of events.
///
/// A node in a replay takes all by its queue, in the order that the replay decides.
pub(crate) fn listen(core: &Arc<Core>, carrier: &Arc<dyn Carrier>) {
    let (events, node) = (carrier.events(), Arc::downgrade(core));
    if core.clock().is_virtual() {
        return core.spawn(Box::pin(async move {
            while let Ok(event) = events.recv().or_closed().await {
                let Some(core) = node.upgrade() else { return };
                core.take(event);
            }
        }));
    }
    let takes = async move {
        let mut taken = 0;
        while let Some(event) = next(&events, &mut taken).await {
            let Some(core) = node.upgrade() else { return };
            if taken < TURN && is_short(&event) && core.queue().may_start() {
                taken += 1;
                core.take(event);
                continue;
            }
            taken = 0;
            let is_done = core.taken_by_queue(event, &events);
            drop(core);
            if is_done.await.is_err() {
                // The queue has dropped the task: the node has ended.
                return;
            }
        }
    };
    // A queue that is stopped drops it: the node has ended.
    let _ = spawn(&HereOrQueued::new(core.queue()).handle(), takes);
}

/// The next event; none: the carrier tells nothing more. With one that is awaited a turn begins.
async fn next(events: &Port<CarrierEvent>, taken: &mut usize) -> Option<CarrierEvent> {
    if let Some(event) = events.test() {
        return Some(event);
    }
    *taken = 0;
    events.recv().or_closed().await.ok()
}

fn is_short(event: &CarrierEvent) -> bool {
    match event {
        CarrierEvent::Up(..) | CarrierEvent::Down(..) => true,
        CarrierEvent::Frame(_, bytes) => bytes.len() <= SHORT,
        CarrierEvent::Frames(_, frames) => frames.byte_len() <= SHORT,
    }
}

impl Core {
    /// A task takes the event and those that come meanwhile, and then tells.
    fn taken_by_queue(
        self: &Arc<Self>,
        first: CarrierEvent,
        events: &Port<CarrierEvent>,
    ) -> Reply<()> {
        let (node, events) = (Arc::downgrade(self), events.clone());
        let (done, is_done) = reply();
        self.spawn(Box::pin(async move {
            let more = iter::from_fn(|| events.test()).take(TURN - 1);
            for event in iter::once(first).chain(more) {
                let Some(core) = node.upgrade() else { return };
                core.take(event);
            }
            // An error: nobody waits, for the node has ended.
            let _ = done.post(());
        }));
        is_done
    }

    fn take(self: &Arc<Self>, event: CarrierEvent) {
        // Those of whoever sent the frame, where that is this process, are not the node's.
        Causality::clear();
        let from = event.peer().clone();
        // What users wrote may panic, as when a value is dropped that has come before. What comes
        // then is taken as before.
        self.queue().guarded(|| self.on_event(event));
        if let Some(carrier) = &self.carrier {
            while_sending(|| carrier.taken(&from));
        }
    }
}

#[cfg(test)]
mod tests;
