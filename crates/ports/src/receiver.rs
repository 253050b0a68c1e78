//! What a port asks of those who want its items.

use crate::deferred::{Deferred, Keep};
use crate::delivery::{ItemBox, ItemDelivery, QueueHandle, item_of};
use crate::direct_delivery::DirectDelivery;
use crate::outlet::Outlet;
use crate::port_items::{End, Offered, PortItems};
use motet_dispatch::{BoxList, Exception, QueueError, Task};
use std::any::type_name;
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::task::Waker;

/// Someone who wants items of a port.
///
/// `offer` is called for each item that is posted while the receiver is registered, until one
/// receiver accepts it. It is also called for each item that waits when the receiver is registered.
/// It runs under the port's lock on the poster's thread. It must be quick, must not block and must
/// not use any port. What it wants done goes through [`Offer::schedule`] and [`Offer::wake`], which
/// happen after the lock is released.
pub trait Receiver<T: Send + 'static>: Keep {
    /// Looks at the offered item and takes it, or leaves it.
    fn offer(&self, offer: &mut Offer<'_, T>) -> Verdict;

    /// Where items go if this receiver wants each of them, whenever it comes. While the receiver is
    /// alone at its port, they are sent there and not offered.
    #[doc(hidden)]
    fn direct_delivery(&self) -> Option<DirectDelivery<T>> {
        None
    }

    /// Whether this receiver would reject any item now, and lose nothing if it were not offered
    /// one. It will look at what waits once something else has come. Called under the port's lock
    /// alone.
    #[doc(hidden)]
    fn wants_nothing_yet(&self) -> bool {
        false
    }

    /// Takes the offered item, which was posted where none waits. It does so if this receiver can
    /// see by the lock of the port alone that it may, whatever others hold. If not, nothing has
    /// changed.
    #[doc(hidden)]
    fn take_at_once(&self, _offer: &mut Offer<'_, T>) -> bool {
        false
    }

    /// How many items must wait in a [closed](crate::Port::close) port for this receiver to stay
    /// there. Called under the port's lock.
    fn needs(&self) -> usize {
        1
    }

    /// The port is closed, and fewer items are left than this receiver [needs](Receiver::needs): it
    /// has been taken off. Not called under a lock.
    fn ended(&self) {}

    /// What this receiver is, in a few words, for reports. Not called under a lock.
    fn describe(&self) -> Cow<'static, str> {
        Cow::Borrowed(type_name::<Self>())
    }
}

/// What a receiver says of an offer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Verdict {
    /// Not taken: the next receiver is asked.
    Reject,
    /// Taken, by [`Offer::accept`].
    Accept,
    /// Wanted, but the receiver's queue has no room: the item goes back to the poster.
    Refuse(QueueError),
}

/// An item in search of a receiver, with the items that wait in the port.
pub struct Offer<'a, T: Send + 'static> {
    parcel: Option<ItemBox<T>>,
    /// Where the item goes among those that wait if nobody takes it.
    end: End,
    waiting: &'a mut BoxList<ItemDelivery<T>>,
    deferred: &'a mut Deferred,
    leaves: bool,
}

impl<'a, T: Send + 'static> Offer<'a, T> {
    pub(crate) fn new(
        parcel: ItemBox<T>,
        end: End,
        waiting: &'a mut BoxList<ItemDelivery<T>>,
        deferred: &'a mut Deferred,
    ) -> Self {
        Offer {
            parcel: Some(parcel),
            end,
            waiting,
            deferred,
            leaves: false,
        }
    }

    /// The offered item.
    ///
    /// # Panics
    /// When the item has been taken.
    #[must_use]
    pub fn item(&self) -> &T {
        &self
            .parcel
            .as_ref()
            .expect("the offered item is still there")
            .item
    }

    /// The items that wait in the port, oldest first, without the offered one.
    pub fn waiting(&self) -> impl Iterator<Item = &T> {
        self.waiting.iter().map(|delivery| &delivery.item)
    }

    /// Takes the offered item out; the verdict must then be [`Verdict::Accept`].
    ///
    /// # Panics
    /// When the item has been taken.
    #[must_use]
    pub fn accept(&mut self) -> T {
        item_of(self.take())
    }

    /// Whether the offered item has not been taken.
    #[inline]
    pub(crate) fn is_there(&self) -> bool {
        self.parcel.is_some()
    }

    /// Takes the `count` oldest of the offered item and those that wait; there are as many.
    #[inline]
    pub(crate) fn take_oldest(&mut self, count: usize) -> BoxList<ItemDelivery<T>> {
        if self.end == End::Back && self.waiting.len() + 1 == count {
            let mut all = std::mem::take(self.waiting);
            all.push_back(self.take());
            return all;
        }
        self.take_some(count)
    }

    #[cold]
    fn take_some(&mut self, count: usize) -> BoxList<ItemDelivery<T>> {
        self.with_items(|offered, _| {
            let mut port_items = PortItems::offered(offered);
            let mut taken = BoxList::new();
            let oldest = std::iter::from_fn(|| port_items.take_oldest());
            oldest
                .take(count)
                .for_each(|parcel| taken.push_back(parcel));
            taken
        })
    }

    /// Takes the offered item in its node.
    #[inline]
    pub(crate) fn take(&mut self) -> ItemBox<T> {
        self.parcel.take().expect("the offered item is still there")
    }

    /// Lends the offered item and those that wait to `body`, which may take some.
    #[inline]
    pub(crate) fn with_items<R>(
        &mut self,
        body: impl FnOnce(&mut Offered<T>, &mut Deferred) -> R,
    ) -> R {
        let mut offered = Offered {
            waiting: std::mem::take(self.waiting),
            parcel: self.parcel.take(),
            end: self.end,
        };
        let result = body(&mut offered, self.deferred);
        *self.waiting = offered.waiting;
        self.parcel = offered.parcel;
        result
    }

    /// The place of the offered item, for who may take it.
    #[inline]
    pub(crate) fn place(&mut self) -> (&mut Option<ItemBox<T>>, &mut Deferred) {
        (&mut self.parcel, self.deferred)
    }

    /// What to say of the offer, now that the oldest items have been taken.
    #[inline]
    pub(crate) fn verdict(&self) -> Verdict {
        if self.parcel.is_none() {
            Verdict::Accept
        } else {
            Verdict::Reject
        }
    }

    /// The number of items that wait, without the offered one.
    #[must_use]
    pub fn waiting_count(&self) -> usize {
        self.waiting.len()
    }

    /// Claims room in `queue` for the task that will handle the offer. `Err` is the verdict when
    /// there is none. A queue that is full refuses the item. A receiver whose queue has been
    /// stopped will never handle anything again and leaves its port, where the item stays.
    ///
    /// # Errors
    /// The verdict to return.
    #[inline]
    pub fn claim_room(&mut self, queue: &QueueHandle) -> Result<(), Verdict> {
        match self.deferred.claim_room(queue) {
            Ok(()) => Ok(()),
            Err(QueueError::Stopped) => {
                self.leave_port();
                Err(Verdict::Reject)
            }
            Err(reason) => Err(Verdict::Refuse(reason)),
        }
    }

    /// Claims room for a task in the outlet's queue and the consent of the arbiter above. After
    /// `Ok` the items are taken; `Err` is the verdict to return.
    ///
    /// # Errors
    /// The verdict to return.
    #[inline]
    pub fn claim(&mut self, outlet: &Outlet) -> Result<(), Verdict> {
        self.claim_room(outlet.queue())?;
        if outlet.claim(self.deferred) {
            return Ok(());
        }
        self.leave_port();
        Err(Verdict::Reject)
    }

    /// Sends a task that has been [claimed](Offer::claim). Allowed with any verdict.
    #[inline]
    pub fn send(&mut self, outlet: &Outlet, task: Task) {
        outlet.send(task, self.deferred);
    }

    /// Queues `task`; nobody is woken before the port is unlocked. Its room must have been
    /// claimed ([`Offer::claim_room`]). Allowed with any verdict.
    #[inline]
    pub fn schedule(&mut self, queue: &QueueHandle, task: Task) {
        self.deferred.admit(queue, task);
    }

    /// Wakes `waker` once the port is unlocked.
    pub fn wake(&mut self, waker: Waker) {
        self.deferred.wake(waker);
    }

    /// Takes the receiver off the port after this offer.
    #[inline]
    pub fn leave_port(&mut self) {
        self.leaves = true;
    }

    /// Routes a panic about the offered item as its handler's would be.
    pub(crate) fn raise(&mut self, queue: QueueHandle, exception: Exception) {
        let parcel = self.parcel.as_ref();
        let causalities = parcel.map(ItemBox::causalities).unwrap_or_default();
        self.deferred.raise(queue, exception, causalities);
    }

    #[inline]
    pub(crate) fn deferred(&mut self) -> &mut Deferred {
        self.deferred
    }

    /// Keeps a receiver until the port is unlocked: it may hold user code that runs when it drops.
    pub(crate) fn drop_later(&mut self, receiver: Arc<dyn Keep>) {
        self.deferred.drop_later(receiver);
    }

    /// Whether the receiver just asked wants to leave; asks anew for the next one.
    #[inline]
    pub(crate) fn receiver_leaves(&mut self) -> bool {
        std::mem::take(&mut self.leaves)
    }

    /// What is left of the offer.
    #[inline]
    pub(crate) fn into_parcel(self) -> Option<ItemBox<T>> {
        self.parcel
    }
}

impl<T: Send + 'static> fmt::Debug for Offer<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Offer")
            .field("taken", &self.parcel.is_none())
            .field("waiting", &self.waiting.len())
            .finish_non_exhaustive()
    }
}
