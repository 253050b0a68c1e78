//! What is not carried out: when its service has ended, or the queue of that takes no task.

use super::slot::{OperationItem, ServiceSlot};
use crate::queue::Queue;
use crate::{Contract, Fault, FaultCode};
use motet_dispatch::drop_each;
use motet_ports::{Port, Receive};
use motet_sync::FirstPanic;
use std::fmt::Display;
use std::sync::Arc;

impl<C: Contract> ServiceSlot<C> {
    /// Answers whatever still comes with the fault of a service that has ended.
    pub(crate) fn refuse_all(slot: &Arc<Self>) {
        let ports = [
            &slot.concurrent,
            &slot.concurrent_async,
            &slot.exclusive_async,
            &slot.teardown,
            &slot.independent,
        ];
        for port in ports {
            let common = Arc::clone(&slot.common);
            refuse_at(slot, port, move |item: OperationItem<C>| {
                drop(item.room);
                item.what.refuse(common.absence());
            });
        }
        let weak = Arc::downgrade(slot);
        refuse_at(slot, &slot.exclusive, move |()| {
            if let Some(slot) = weak.upgrade() {
                refuse_batch(&slot);
            }
        });
        slot.end_suspension();
    }

    /// Refuses an item of a service that has ended. All of the item is dropped here.
    pub(super) fn refuse_absent(&self, item: OperationItem<C>) {
        drop(item.room);
        item.what.refuse(self.common.absence());
    }

    /// Refuses an item that the queue of the service does not take.
    pub(super) fn refuse_untaken(&self, item: OperationItem<C>, why: &dyn Display) {
        drop(item.room);
        let reason = format!("the queue of the service takes no task: {why}");
        let fault = Fault::new(FaultCode::InsufficientResources, reason);
        item.what.refuse(fault.of_service(&self.common.path));
    }
}

/// Refuses the oldest batch.
fn refuse_batch<C: Contract>(slot: &ServiceSlot<C>) {
    let mut panics = FirstPanic::default();
    for item in slot.batches.take() {
        // What one of them drops keeps no other from its answer.
        panics.catch(|| slot.refuse_absent(item));
    }
    panics.resume();
}

fn refuse_at<C: Contract, T: Send + 'static>(
    slot: &Arc<ServiceSlot<C>>,
    port: &Port<T>,
    refuse: impl Fn(T) + Send + Sync + 'static,
) {
    let queue = Queue(Arc::clone(&slot.common.shared.queue));
    if Receive::persistent(port, refuse).activate(&queue).is_err() {
        // The node has stopped: items that are dropped tell their callers.
        let own = &slot.common.queue;
        while let Some(item) = port.test() {
            // What one of them drops keeps no other from its answer.
            own.guarded(|| drop(item));
            own.guarded(|| drop_each(slot.batches.take()));
        }
    }
}
