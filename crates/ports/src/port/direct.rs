//! Where each post begins, how items are [delivered directly](crate::direct_delivery), and where
//! those of a receiver of several wait for each other.

use super::PortCore;
use super::any::ByType;
use super::pile::ENOUGH;
use super::state::{PortState, Refusal};
use crate::PostError;
use crate::deferred::Deferred;
use crate::delivery::{ItemBox, ItemDelivery, QueueHandle, address, parcel_under};
use crate::direct_delivery::{DeliveryMode, DeliveryQueue, DirectDelivery, ItemRow};
use crate::port_items::End;
use crate::receiver::Offer;
use crate::stamps::ItemEntry;
use motet_dispatch::{BoxList, Causalities, Task, announce, take_handle};
use motet_sync::TryMutexGuard;
use motet_sync::atomic::Ordering;
use std::mem::{self, ManuallyDrop};

/// Room for so many items at most is made for a row before they come.
const ROOM: usize = 64;

/// The items that wait in a port, but for those of a pile.
pub(crate) enum Items<T: Send + 'static> {
    Nodes(BoxList<ItemDelivery<T>>),
    /// Posted one after the other to the one receiver, which takes several. Whoever looks at them
    /// has nodes made.
    Row(Vec<T>),
}

/// What has become of a task: whether others should hear of it, or where it is still to go.
type Sent = Result<bool, (QueueHandle, Task)>;

impl<T: Send + 'static> PortCore<T> {
    /// Posts an item to a port whose items have nodes.
    #[inline]
    pub(super) fn post_node(&self, item: T) -> Result<(), PostError<T>> {
        let mut parcel = self.parcel(item);
        let mut state = self.state();
        let inside = &mut *state;
        if let Some(DirectDelivery {
            way: DeliveryMode::Each(to, readers),
            queue,
        }) = &inside.direct
            && queue.is_free()
            && readers
                .as_ref()
                .is_none_or(|readers| readers.send_if_open())
        {
            inside.stamps.stamp(&mut parcel.stamp, ItemEntry::Posted);
            let sent = send(queue, address(parcel, take_handle(to)));
            drop(state);
            tell(sent);
            return Ok(());
        }
        if inside.asks_nobody() {
            inside.keep_posted(parcel);
            return Ok(());
        }
        let placed = self.post_offered(state, parcel);
        placed.map_err(Refusal::into_error)
    }

    /// Posts an item that is not delivered directly. Apart: it is the same code for many types.
    #[inline(never)]
    fn post_offered<'a>(
        &'a self,
        mut state: TryMutexGuard<'a, PortState<T>>,
        mut parcel: ItemBox<T>,
    ) -> Result<(), Refusal<T>> {
        let inside = &mut *state;
        let (mut domain, mut deferred) = (None, Deferred::default());
        if inside.joined {
            let Some(left) = inside.place_at_once(parcel, &mut deferred) else {
                drop(state);
                deferred.carry_out();
                if deferred.is_done() {
                    // As below; a way of its own, which asks for nothing that has not been.
                    let _nothing = ManuallyDrop::new(deferred);
                }
                return Ok(());
            };
            parcel = left;
            domain = self.domain().try_lock();
            if domain.is_none() {
                drop(state);
                domain = Some(self.domain().lock());
                state = self.state();
            }
        }
        let placed = state.place(parcel, ItemEntry::Posted, &mut deferred);
        drop(state);
        drop(domain);
        deferred.carry_out();
        if deferred.is_done() {
            // Nearly always: what drops it has not to look again.
            let _nothing = ManuallyDrop::new(deferred);
        }
        placed
    }

    /// Posts an item to a port whose items may wait without nodes: on a pile, or in a row.
    #[inline(never)]
    pub(super) fn post_bare(&self, item: T) -> Result<(), PostError<T>> {
        let causalities = match self.tokens {
            true => Causalities::none(),
            false => Causalities::active(),
        };
        let mut state = self.state();
        let inside = &mut *state;
        if let Some(DirectDelivery {
            way: DeliveryMode::Rows(_, count),
            queue,
        }) = &inside.direct
        {
            let fits = |row: &&mut Vec<T>| row.len() + 1 < *count || queue.is_free();
            let row = inside.items.row().filter(fits);
            let Some(row) = row.filter(|_| causalities.is_empty()) else {
                let placed = self.post_offered(state, parcel_under(causalities, item));
                return placed.map_err(Refusal::into_error);
            };
            if row.capacity() == 0 {
                row.reserve_exact(ROOM.min(*count));
            }
            row.push(item);
            inside.stamps.give();
            if row.len() == *count
                && let Some(sent) = inside.send_row()
            {
                drop(state);
                tell(sent);
            }
            return Ok(());
        }
        let Some(item) = inside.heap(item, causalities) else {
            return Ok(());
        };
        // Under the lock, as where it is set.
        self.bare.store(false, Ordering::Relaxed);
        drop(state);
        self.post_node(item)
    }
}

impl<T: Send + 'static> PortState<T> {
    /// Places an item that is posted under this port's lock alone: some join has all that it needs
    /// with it, or none wants it yet. Otherwise gives it back.
    #[inline]
    fn place_at_once(
        &mut self,
        mut parcel: ItemBox<T>,
        deferred: &mut Deferred,
    ) -> Option<ItemBox<T>> {
        if self.bound.is_some() {
            return Some(parcel);
        }
        let mut receivers = self.receivers.iter();
        if let Some(first) = receivers.find(|receiver| !receiver.wants_nothing_yet()) {
            let items = self.items.nodes(self.stamps.last(), self.by_type);
            if !items.is_empty() {
                return Some(parcel);
            }
            parcel.stamp = self.stamps.next();
            let mut offer = Offer::new(parcel, End::Back, items, deferred);
            if first.take_at_once(&mut offer) {
                self.stamps.give();
                return None;
            }
            parcel = offer.into_parcel()?;
            if !self.is_wanted_by_nobody_yet() {
                return Some(parcel);
            }
        }
        self.keep_posted(parcel);
        None
    }

    /// Sends the row to the one receiver: it is full. Apart, as [`PortCore::post_offered`].
    #[inline(never)]
    fn send_row(&mut self) -> Option<Sent> {
        let Items::Row(row) = &mut self.items else {
            return None;
        };
        let Some(DirectDelivery {
            way: DeliveryMode::Rows(to, _),
            queue,
        }) = &self.direct
        else {
            return None;
        };
        let items = mem::take(row);
        let last = self.stamps.last();
        Some(send(queue, take_handle(to).task(ItemRow { items, last })))
    }

    /// Whether an item that is posted would wait, whatever the receivers are asked.
    #[inline]
    fn is_wanted_by_nobody_yet(&self) -> bool {
        let mut receivers = self.receivers.iter();
        receivers.all(|receiver| receiver.wants_nothing_yet())
    }

    /// Whether an item that is posted waits in a node, and nobody is to be asked. (A port without
    /// a bound is open.)
    #[inline]
    fn asks_nobody(&self) -> bool {
        self.receivers.is_empty()
            && self.bound.is_none()
            && self.items.len() < ENOUGH
            && self.pile.is_none()
    }

    /// Keeps a posted item, in a node.
    #[inline]
    fn keep_posted(&mut self, mut parcel: ItemBox<T>) {
        let items = self.items.nodes(self.stamps.last(), self.by_type);
        self.stamps.stamp(&mut parcel.stamp, ItemEntry::Posted);
        items.push_back(parcel);
    }

    /// The receivers have changed: finds out whether items may be delivered directly.
    #[inline]
    pub(super) fn receivers_changed(&mut self) {
        if self.direct.is_some() || self.receivers.len() == 1 {
            self.find_direct_delivery();
        }
    }

    #[inline(never)]
    pub(super) fn find_direct_delivery(&mut self) {
        self.unpile();
        self.direct = None;
        let [receiver] = self.receivers.make_contiguous() else {
            return;
        };
        if self.joined || self.bound.is_some() {
            return;
        }
        let direct = receiver.direct_delivery();
        // A queue that has a limit is asked for room by each offer.
        self.direct = direct.filter(|direct| direct.queue.is_free());
        if let Some(DirectDelivery {
            way: DeliveryMode::Rows(..),
            ..
        }) = &self.direct
            && let Some(port) = self.this.upgrade()
        {
            port.set_bare();
        }
    }
}

impl<T: Send + 'static> Items<T> {
    /// The items in nodes; `last` is the stamp of the youngest.
    #[inline]
    pub(super) fn nodes(
        &mut self,
        last: i64,
        by_type: &ByType<T>,
    ) -> &mut BoxList<ItemDelivery<T>> {
        if let Items::Row(_) = self {
            (by_type.make_nodes)(self, last);
        }
        match self {
            Items::Nodes(nodes) => nodes,
            Items::Row(_) => unreachable!("nodes have been made"),
        }
    }

    #[cold]
    pub(super) fn make_nodes(&mut self, last: i64) {
        let before = mem::replace(self, Items::Nodes(BoxList::new()));
        if let (Items::Row(items), Items::Nodes(nodes)) = (before, self) {
            let row = ItemRow { items, last };
            row.stamped()
                .for_each(|(stamp, item)| nodes.push_back(stamped(stamp, item)));
        }
    }

    /// The row, which begins here if nothing waits. None while something waits in nodes.
    #[inline]
    fn row(&mut self) -> Option<&mut Vec<T>> {
        if let Items::Nodes(nodes) = self {
            if !nodes.is_empty() {
                return None;
            }
            *self = Items::Row(Vec::new());
        }
        match self {
            Items::Row(row) => Some(row),
            Items::Nodes(_) => None,
        }
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        match self {
            Items::Nodes(nodes) => nodes.len(),
            Items::Row(row) => row.len(),
        }
    }
}

/// A node for an item that had none.
pub(crate) fn stamped<T: Send + 'static>(stamp: i64, item: T) -> ItemBox<T> {
    let mut parcel = parcel_under(Causalities::none(), item);
    parcel.stamp = stamp;
    parcel
}

/// Queues a task under the port's lock, if that takes no more than a few instructions.
#[inline]
fn send(queue: &DeliveryQueue, task: Task) -> Sent {
    let queued = queue.admit_here(task);
    queued.map_err(|task| (queue.handle(), task))
}

/// Does the rest, after the lock has been released.
#[inline]
fn tell(sent: Sent) {
    match sent {
        Ok(false) => {}
        Ok(true) => announce(),
        Err((queue, task)) => queue.admit(task),
    }
}

#[cfg(all(test, motet_loom))]
mod loom_tests {
    use crate::loom_ports::{Keeper, post_elsewhere};
    use crate::{JoinedReceive, MultipleItemReceive, Port, Receive};
    use motet_sync::Mutex;
    use std::sync::Arc;

    /// A port with a batch of so many, at work, and what it has handled.
    fn batched(count: usize, queue: &Keeper) -> (Port<u32>, Arc<Mutex<Vec<u32>>>) {
        let (port, seen) = (Port::new(), Arc::new(Mutex::new(Vec::new())));
        let handled = Arc::clone(&seen);
        MultipleItemReceive::persistent(&port, count, move |items| handled.lock().extend(items))
            .activate(queue)
            .unwrap();
        queue.run();
        (port, seen)
    }

    /// An item that is delivered directly meets a join that connects its port: it is handled once.
    #[test]
    fn loom_direct_delivery_against_the_registration_of_a_join() {
        loom::model(|| {
            let (p, q, queue) = (Port::new(), Port::<u32>::new(), Keeper::default());
            Receive::persistent(&p, |_| ()).activate(&queue).unwrap();
            queue.run();
            JoinedReceive::persistent((&p, &q), |_: (u32, u32)| ())
                .activate(&queue)
                .unwrap();
            let poster = post_elsewhere(&p, 1);
            let ran = queue.run();
            poster.join().unwrap();
            assert_eq!(ran + queue.run(), 2, "the registration, and the handler");
            p.post(2).unwrap();
            assert_eq!((queue.run(), p.item_count()), (1, 0));
        });
    }

    /// An item that is delivered directly meets the end of the receive: it is handled, or waits.
    #[test]
    fn loom_direct_delivery_against_a_cleanup() {
        loom::model(|| {
            let (port, queue) = (Port::new(), Keeper::default());
            let active = Receive::persistent(&port, |_| ()).activate(&queue).unwrap();
            queue.run();
            let poster = post_elsewhere(&port, 1);
            active.cleanup();
            poster.join().unwrap();
            assert_eq!(queue.run() + port.item_count(), 1);
        });
    }

    /// Two posts fill a row while somebody takes by hand: each item has one taker.
    #[test]
    fn loom_two_posts_into_a_row_against_a_taker() {
        loom::model(|| {
            let queue = Keeper::default();
            let (port, seen) = batched(2, &queue);
            let posters = [post_elsewhere(&port, 1), post_elsewhere(&port, 2)];
            let taken = port.test();
            posters
                .into_iter()
                .for_each(|poster| poster.join().unwrap());
            queue.run();
            let mut all = seen.lock().clone();
            assert_eq!(all.len(), if taken.is_some() { 0 } else { 2 });
            all.extend(taken);
            all.extend(port.test());
            all.sort_unstable();
            assert_eq!(all, [1, 2]);
        });
    }

    /// A row is filled while a second receiver comes: it stands behind the first, and nothing is
    /// lost.
    #[test]
    fn loom_a_row_against_another_receiver() {
        loom::model(|| {
            let queue = Keeper::default();
            let (port, seen) = batched(2, &queue);
            port.post(1).unwrap();
            let second = Receive::once(&port, |_| ()).activate(&queue).unwrap();
            let poster = post_elsewhere(&port, 2);
            let ran = queue.run();
            poster.join().unwrap();
            let ran = ran + queue.run();
            // It takes the first, the second, or none because they are gone.
            assert_eq!(seen.lock().len(), if second.is_active() { 2 } else { 0 });
            assert_eq!(ran, 2);
            let left = usize::from(!second.is_active());
            assert_eq!(port.item_count(), left);
        });
    }
}
