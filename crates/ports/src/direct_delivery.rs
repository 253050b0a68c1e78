//! Direct delivery: where items go from a port whose one receiver wants them all.
//!
//! Most ports have one receiver for good, that takes whatever comes: a persistent receive without a
//! predicate, or one of several items without a guard. Nothing has to be offered to it. It tells
//! its port once where items go, and the port sends them there itself (`port/direct.rs`), as long
//! as the receiver is alone at it.
//!
//! A receive may be a concurrent member of an interleave. Then each item is counted among the
//! readers' as it is sent, under the port's lock, as long as the end has not been claimed. Who ends
//! the interleave comes by that lock.

use crate::delivery::{DeliverItem, QueueHandle, Sends};
use crate::handle_cache::HandleCaching;
use crate::readers::Readers;
use motet_dispatch::{Direct, Task};
use std::fmt;
use std::sync::Arc;

/// Where a receiver that wants everything has its items sent, instead of being offered them.
pub struct DirectDelivery<T: Send + 'static> {
    pub(crate) way: DeliveryMode<T>,
    pub(crate) queue: DeliveryQueue,
}

/// The queue of a direct delivery.
pub(crate) enum DeliveryQueue {
    /// That of a dispatcher: asked without a call.
    Direct(Direct),
    Any(QueueHandle),
}

pub(crate) enum DeliveryMode<T: Send + 'static> {
    /// Each in the task of its own node, which belongs to readers of an interleave, or not.
    Each(Arc<dyn DeliverItem<T>>, Option<Arc<Readers>>),
    /// So many in one task.
    Rows(Arc<dyn DeliverRow<T>>, usize),
}

/// The far end of the way of rows.
pub(crate) trait DeliverRow<T>: Sends {
    /// The task that handles the items.
    fn task(self: Arc<Self>, row: ItemRow<T>) -> Task;
}

/// Items of one port that came one after the other, without nodes, oldest first. None carries
/// causalities.
pub(crate) struct ItemRow<T> {
    pub(crate) items: Vec<T>,
    /// The stamp of the youngest.
    pub(crate) last: i64,
}

impl<T> ItemRow<T> {
    /// The items with their stamps.
    pub(crate) fn stamped(self) -> impl DoubleEndedIterator<Item = (i64, T)> {
        let before = self.last - self.items.len() as i64;
        let stamped = self.items.into_iter().enumerate();
        stamped.map(move |(at, item)| (before + 1 + at as i64, item))
    }
}

impl<T: Send + 'static> DirectDelivery<T> {
    /// Each item goes to `to`, whose handlers belong to `readers`.
    pub(crate) fn each(
        to: Arc<dyn DeliverItem<T>>,
        readers: Option<&Arc<Readers>>,
        queue: &QueueHandle,
    ) -> Self {
        DirectDelivery::new(DeliveryMode::Each(to, readers.cloned()), queue)
    }

    /// Of the items, `count` at a time go to `to`.
    pub(crate) fn rows(to: Arc<dyn DeliverRow<T>>, count: usize, queue: &QueueHandle) -> Self {
        DirectDelivery::new(DeliveryMode::Rows(to, count), queue)
    }

    fn new(way: DeliveryMode<T>, queue: &QueueHandle) -> Self {
        let queue = match Direct::of(queue) {
            Some(direct) => DeliveryQueue::Direct(direct),
            None => DeliveryQueue::Any(Arc::clone(queue)),
        };
        if let (DeliveryQueue::Direct(_), Some(handle_caching)) = (&queue, way.handle_caching()) {
            handle_caching.begin();
        }
        DirectDelivery { way, queue }
    }
}

impl DeliveryQueue {
    /// As [`Enqueue::is_free`].
    #[inline]
    pub(crate) fn is_free(&self) -> bool {
        match self {
            DeliveryQueue::Direct(direct) => direct.is_free(),
            DeliveryQueue::Any(queue) => queue.is_free(),
        }
    }

    /// As [`Enqueue::admit_here`].
    #[inline]
    pub(crate) fn admit_here(&self, task: Task) -> Result<bool, Task> {
        match self {
            DeliveryQueue::Direct(direct) => direct.admit_here(task),
            DeliveryQueue::Any(queue) => queue.admit_here(task),
        }
    }

    pub(crate) fn handle(&self) -> QueueHandle {
        match self {
            DeliveryQueue::Direct(direct) => direct.handle(),
            DeliveryQueue::Any(queue) => Arc::clone(queue),
        }
    }
}

impl<T: Send + 'static> DeliveryMode<T> {
    fn handle_caching(&self) -> Option<&HandleCaching> {
        match self {
            DeliveryMode::Each(to, _) => to.handle_caching(),
            DeliveryMode::Rows(to, _) => to.handle_caching(),
        }
    }
}

impl<T: Send + 'static> Drop for DirectDelivery<T> {
    fn drop(&mut self) {
        if let (DeliveryQueue::Direct(queue), Some(handle_caching)) =
            (&self.queue, self.way.handle_caching())
            && handle_caching.end()
        {
            queue.let_go();
        }
    }
}

impl<T: Send + 'static> fmt::Debug for DirectDelivery<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DirectDelivery").finish_non_exhaustive()
    }
}
