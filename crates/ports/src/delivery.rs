//! An item on its way: the body of the one node that carries it from `post` to its handler.

use crate::handle_cache::HandleCaching;
use motet_dispatch::{BoxList, Causalities, Enqueue, Task, TaskBody, TaskBox};
use std::mem::{self, ManuallyDrop};
use std::ops::Deref;
use std::sync::Arc;

/// An item, and once a receiver has taken it, where it goes. `repr(C)`: all but the item is at the
/// same place for items of any type, so that what touches nothing else is the same code.
#[repr(C)]
pub(crate) struct ItemDelivery<T: Send + 'static> {
    /// Says where the item stood in its port: items go by it there. Given by the port.
    pub(crate) stamp: i64,
    to: SentBy<dyn DeliverItem<T>>,
    pub(crate) item: T,
}

/// A node with an item, waiting or on its way.
pub(crate) type ItemBox<T> = TaskBox<ItemDelivery<T>>;

/// The far end of a delivery: a receiver that handles single items.
pub(crate) trait DeliverItem<T: Send + 'static>: Sends {
    /// Handles the item, as part of a task of a worker.
    fn deliver(self: Arc<Self>, parcel: ItemBox<T>);

    /// Brings an item that will not be handled back to where it came from.
    fn put_back(&self, parcel: ItemBox<T>);

    /// The name that reports show.
    fn name(&self) -> &'static str;
}

/// An arbiter that sends tasks.
pub(crate) trait Sends: Send + Sync {
    /// A task that was sent has been dropped, and will not run.
    fn lose(&self);

    /// For one to which items may be delivered directly.
    fn handle_caching(&self) -> Option<&HandleCaching> {
        None
    }
}

/// The arbiter that a task on its way belongs to, which is told if the task is dropped before it
/// has arrived. None before it was sent, and when it has arrived.
pub(crate) struct SentBy<A: Sends + ?Sized>(Option<Arc<A>>);

/// Makes a node around an item, which carries the active causalities.
#[inline]
pub(crate) fn parcel<T: Send + 'static>(item: T) -> ItemBox<T> {
    TaskBox::build(Causalities::active(), || ItemDelivery::new(item))
}

/// Makes a node around an item, which carries none.
pub(crate) fn token<T: Send + 'static>(item: T) -> ItemBox<T> {
    TaskBox::build(Causalities::none(), || ItemDelivery::new(item))
}

/// Makes a node around an item, which carries `causalities`.
pub(crate) fn parcel_under<T: Send + 'static>(causalities: Causalities, item: T) -> ItemBox<T> {
    TaskBox::build(causalities, || ItemDelivery::new(item))
}

/// Brings an item of a handler run that was skipped back by `put_back`, unless it was itself
/// cancelled: then nobody wants it any more.
pub(crate) fn put_back_wanted<T: Send + 'static>(
    parcel: ItemBox<T>,
    put_back: impl FnOnce(ItemBox<T>),
) {
    if parcel.causalities().check().is_ok() {
        put_back(parcel);
    }
}

/// The items of parcels, in order.
pub(crate) fn items_of<T: Send + 'static>(mut parcels: BoxList<ItemDelivery<T>>) -> Vec<T> {
    let mut items = Vec::with_capacity(parcels.len());
    while let Some(parcel) = parcels.pop_front() {
        items.push(item_of(parcel));
    }
    items
}

/// The item of a parcel that is not on its way.
#[inline]
pub(crate) fn item_of<T: Send + 'static>(parcel: ItemBox<T>) -> T {
    let ItemDelivery { item, to, .. } = parcel.into_inner();
    debug_assert!(to.0.is_none(), "waiting, or arrived");
    // There is nothing to drop, and then no need to load it either.
    let _nobody = ManuallyDrop::new(to);
    item
}

/// Addresses a parcel: it becomes the task that delivers it.
#[inline]
pub(crate) fn address<T: Send + 'static>(
    mut parcel: ItemBox<T>,
    to: Arc<dyn DeliverItem<T>>,
) -> Task {
    parcel.to = SentBy::new(to);
    parcel.into_task()
}

impl<T: Send + 'static> ItemDelivery<T> {
    #[inline]
    fn new(item: T) -> Self {
        ItemDelivery {
            item,
            stamp: 0,
            to: SentBy(None),
        }
    }
}

impl<T: Send + 'static> TaskBody for ItemDelivery<T> {
    #[inline]
    fn run(mut task: TaskBox<Self>) {
        if let Some(to) = task.to.0.take() {
            to.deliver(task);
        }
    }

    fn cleanup(mut task: TaskBox<Self>) {
        // Told that it has lost its task only when the item is back.
        let to = mem::replace(&mut task.to, SentBy(None));
        if let Some(arbiter) = &to.0 {
            arbiter.put_back(task);
        }
    }

    fn name(&self) -> &'static str {
        let to = self.to.0.as_ref();
        to.map_or_else(std::any::type_name::<Self>, |to| to.name())
    }

    /// Told that it has lost its task only when the item is gone: then others may run.
    #[inline]
    fn dropped_last(&mut self) -> impl Sized + use<T> {
        mem::replace(&mut self.to, SentBy(None))
    }
}

/// Where a receiver's tasks go.
pub(crate) type QueueHandle = Arc<dyn Enqueue>;

impl<A: Sends + ?Sized> SentBy<A> {
    #[inline]
    pub(crate) fn new(arbiter: Arc<A>) -> Self {
        SentBy(Some(arbiter))
    }

    /// The task has reached a worker.
    #[inline]
    pub(crate) fn arrived(mut self) -> Arc<A> {
        self.0.take().expect("there until the task has arrived")
    }
}

impl<A: Sends + ?Sized> Deref for SentBy<A> {
    type Target = A;

    fn deref(&self) -> &A {
        self.0.as_ref().expect("there until the task has arrived")
    }
}

impl<A: Sends + ?Sized> Drop for SentBy<A> {
    #[inline]
    fn drop(&mut self) {
        if let Some(arbiter) = &self.0 {
            arbiter.lose();
        }
    }
}

#[cfg(all(test, not(motet_loom)))]
mod tests {
    use super::*;
    use motet_sync::Mutex;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    type Log = Arc<Mutex<Vec<&'static str>>>;

    struct Noisy(Log, bool);

    impl Drop for Noisy {
        fn drop(&mut self) {
            self.0.lock().push("item");
            assert!(!self.1, "a destructor that panics");
        }
    }

    struct Far(Log);

    impl Sends for Far {
        fn lose(&self) {
            self.0.lock().push("lost");
        }
    }

    impl DeliverItem<Noisy> for Far {
        fn deliver(self: Arc<Self>, _: ItemBox<Noisy>) {
            unreachable!("it is dropped");
        }

        fn put_back(&self, _: ItemBox<Noisy>) {
            unreachable!("it is dropped");
        }

        fn name(&self) -> &'static str {
            "far"
        }
    }

    #[test]
    fn the_item_of_a_task_that_is_dropped_goes_before_its_arbiter_is_told() {
        for panics in [false, true] {
            let log = Log::default();
            let to = Arc::new(Far(Arc::clone(&log)));
            let task = address(parcel(Noisy(Arc::clone(&log), panics)), to);
            let dropped = catch_unwind(AssertUnwindSafe(|| drop(task)));
            assert_eq!(dropped.is_err(), panics);
            assert_eq!(*log.lock(), ["item", "lost"]);
        }
    }
}
