//! Several items of one port, the oldest that are there: what a receive of several without a guard
//! does.
//!
//! The kernel of joins (`join_core.rs`) could do it, and does when there is a guard: then items
//! must be looked at one by one. Here it is enough to count them. Until the last one comes each
//! waits in its port, at the price of being appended to the port's list. The last one's post takes
//! the list. With `patience` fewer will do once the oldest has waited for so long.

use super::patience::{BatchNumber, Patience};
use super::port_place::{Placed, PortPlace};
use crate::activation::Active;
use crate::deferred::Deferred;
use crate::delivery::{ItemDelivery, Sends, SentBy, items_of, put_back_wanted};
use crate::direct_delivery::{DeliverRow, DirectDelivery, ItemRow};
use crate::handle_cache::HandleCaching;
use crate::handler::AnyHandler;
use crate::outlet::Outlet;
use crate::port::{Port, PortState, stamped};
use crate::receiver::{Offer, Receiver, Verdict};
use motet_dispatch::{
    Awaited, BoxList, Causalities, QueueError, Task, TaskBody, TaskBox, Timer, Waiter, keep_handle,
};
use motet_sync::FirstPanic;
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

/// A receive of several at work. Alone in its cache lines: its reference count changes with each
/// batch.
#[repr(align(64))]
pub(super) struct BatchCore<T: Send + 'static> {
    place: PortPlace<T, Self>,
    count: usize,
    handler: AnyHandler<Vec<T>>,
    /// Boxed: it is rare.
    patience: Option<Box<Patience>>,
}

/// Items on their way, oldest first.
struct Taken<T: Send + 'static> {
    parcels: BoxList<ItemDelivery<T>>,
    to: SentBy<BatchCore<T>>,
}

/// Items on their way that have come in a row.
struct Complete<T: Send + 'static> {
    row: ItemRow<T>,
    to: SentBy<BatchCore<T>>,
}

impl<T: Send + 'static> BatchCore<T> {
    /// A receive that is not registered yet.
    pub(super) fn active(
        (port, count): (&Port<T>, usize),
        span: Option<Duration>,
        handler: AnyHandler<Vec<T>>,
        once: bool,
        outlet: Outlet,
    ) -> Arc<dyn Active> {
        // The clock is that of the activation: others may post.
        let patience = span.map(|span| Box::new(Patience::new(span, outlet.queue().clock())));
        Arc::new_cyclic(|this| BatchCore {
            place: PortPlace::new(this, port, once, outlet),
            count,
            handler,
            patience,
        })
    }

    /// All is there: takes it.
    #[inline]
    fn take(&self, offer: &mut Offer<'_, T>) -> Verdict {
        let outlet = self.place.outlet();
        let mut taken_before = false;
        // More than one batch may be there: items that found no room wait.
        while offer.is_there() && offer.waiting_count() + 1 >= self.count {
            let Some(this) = self.place.arbiter() else {
                break;
            };
            match offer.claim(outlet) {
                Err(refused @ Verdict::Refuse(_)) if !taken_before => return refused,
                Err(_) => break,
                Ok(()) => {}
            }
            let over = self.place.taken(offer);
            let parcels = offer.take_oldest(self.count);
            let causalities = parcels.causalities();
            let taken = || Taken {
                parcels,
                to: SentBy::new(this),
            };
            offer.send(outlet, TaskBox::build(causalities, taken).into_task());
            taken_before = true;
            if over {
                break;
            }
        }
        if let Some(patience) = &self.patience {
            self.begin_anew(patience, taken_before, offer);
        }
        offer.verdict()
    }

    /// A batch has been `taken`, or could not be.
    #[cold]
    fn begin_anew(&self, patience: &Patience, taken: bool, offer: &mut Offer<'_, T>) {
        if taken {
            cancel_later(patience.end(), offer.deferred());
        }
        if offer.is_there() || offer.waiting_count() > 0 {
            self.wait_for_more(patience, offer.deferred());
        }
    }

    /// Items wait, and are too few.
    #[cold]
    fn wait_for_more(&self, patience: &Patience, deferred: &mut Deferred) {
        let (Some(number), Some(this)) = (patience.begin(), self.place.arbiter()) else {
            return;
        };
        deferred.call(move || {
            let Some(patience) = &this.patience else {
                return;
            };
            let weak = Arc::downgrade(&this);
            patience.set(number, move |_| {
                if let Some(this) = weak.upgrade() {
                    this.time_is_over(number);
                }
            });
        });
    }

    /// Takes what is there, once the oldest has waited for long enough.
    fn time_is_over(self: &Arc<Self>, number: BatchNumber) {
        let (Some(port), Some(patience)) = (self.place.port(), &self.patience) else {
            return;
        };
        let mut deferred = Deferred::default();
        port.core().locked(|state| {
            if patience.is_over(number) && self.place.is_open() {
                let stays = self.take_fewer(state, false, &mut deferred);
                if stays && state.item_count() > 0 {
                    self.wait_for_more(patience, &mut deferred);
                }
            }
        });
        deferred.carry_out();
    }

    /// Takes up to as many as it wants. If the queue has no room they stay, but for the `last`,
    /// which nothing would have it take later. `false` when the arbiter leaves the port.
    fn take_fewer(
        self: &Arc<Self>,
        state: &mut PortState<T>,
        last: bool,
        deferred: &mut Deferred,
    ) -> bool {
        let (outlet, count) = (self.place.outlet(), state.item_count().min(self.count));
        if count == 0 {
            return true;
        }
        let room = deferred.claim_room(outlet.queue());
        let full = room.is_err_and(QueueError::is_want_of_room);
        if full {
            drop(deferred.take_full());
            if !last {
                return true;
            }
        }
        let granted = match room {
            Ok(()) => outlet.claim(deferred),
            Err(_) => full && outlet.is_granted(),
        };
        if full && granted {
            outlet.queue().hold();
        }
        let leaves = !granted || self.place.taken_unoffered();
        if leaves && let Some(this) = state.remove(&**self) {
            deferred.drop_later(this);
        }
        if !granted {
            return false;
        }
        let mut parcels = BoxList::new();
        let oldest = std::iter::from_fn(|| state.items_mut().pop_front());
        oldest
            .take(count)
            .for_each(|parcel| parcels.push_back(parcel));
        state.let_in_later(deferred);
        let to = SentBy::new(Arc::clone(self));
        let taken = TaskBox::build(parcels.causalities(), || Taken { parcels, to });
        outlet.send(taken.into_task(), deferred);
        !leaves
    }
}

/// Cancels a timer once the port is unlocked.
fn cancel_later(timer: Option<Timer>, deferred: &mut Deferred) {
    if let Some(timer) = timer {
        deferred.call(move || {
            timer.cancel();
        });
    }
}

impl<T: Send + 'static> Receiver<T> for BatchCore<T> {
    #[inline]
    fn offer(&self, offer: &mut Offer<'_, T>) -> Verdict {
        if !self.place.is_open() {
            offer.leave_port();
            return Verdict::Reject;
        }
        if offer.waiting_count() + 1 < self.count {
            if let Some(patience) = &self.patience {
                self.wait_for_more(patience, offer.deferred());
            }
            return Verdict::Reject;
        }
        self.take(offer)
    }

    fn direct_delivery(&self) -> Option<DirectDelivery<T>> {
        let outlet = self.place.outlet();
        if !self.place.takes_always() || !outlet.is_alone() || self.patience.is_some() {
            return None;
        }
        let to = self.place.arbiter()?;
        Some(DirectDelivery::rows(to, self.count, outlet.queue()))
    }

    fn needs(&self) -> usize {
        self.count
    }

    fn ended(&self) {
        if let (Some(port), Some(this)) = (self.place.port(), self.place.arbiter())
            && self.patience.is_some()
        {
            let mut deferred = Deferred::default();
            port.core().locked(|state| {
                // A cleanup may have come in between.
                if this.place.is_open() {
                    this.take_fewer(state, true, &mut deferred);
                }
            });
            deferred.carry_out();
        }
        self.place.ended();
    }

    fn describe(&self) -> Cow<'static, str> {
        let kind = self.place.kind();
        let up_to = self.patience.as_ref().map_or("", |_| "up to ");
        Cow::Owned(format!("{kind}receive of {up_to}{} items", self.count))
    }
}

impl<T: Send + 'static> Waiter for BatchCore<T> {
    fn awaits(&self) -> Option<Awaited> {
        let mut awaited = self.place.awaits("MultipleItemReceive")?;
        let parts = awaited.parts.iter_mut();
        parts.for_each(|part| part.needed = self.count);
        Some(awaited)
    }
}

impl<T: Send + 'static> Sends for BatchCore<T> {
    fn lose(&self) {
        self.place.outlet().lose();
    }

    fn handle_caching(&self) -> Option<&HandleCaching> {
        Some(self.place.handle_caching())
    }
}

impl<T: Send + 'static> DeliverRow<T> for BatchCore<T> {
    fn task(self: Arc<Self>, row: ItemRow<T>) -> Task {
        let to = SentBy::new(self);
        TaskBox::build(Causalities::none(), || Complete { row, to }).into_task()
    }
}

impl<T: Send + 'static> Placed for BatchCore<T> {
    type Item = T;

    fn place(&self) -> &PortPlace<T, Self> {
        &self.place
    }
}

impl<T: Send + 'static> TaskBody for Complete<T> {
    fn run(task: TaskBox<Self>) {
        let Complete { row, to } = task.into_inner();
        let to = to.arrived();
        // Nobody else has a say, or the items would not have come this way.
        to.handler
            .handle(row.items, to.place.outlet().queue(), None);
        if to.place.handle_caching().lets_keep() {
            keep_handle(to);
        }
    }

    fn cleanup(task: TaskBox<Self>) {
        let Complete { row, to } = task.into_inner();
        let mut panics = FirstPanic::default();
        for (stamp, item) in row.stamped().rev() {
            panics.catch(|| to.place.put_back(stamped(stamp, item)));
        }
        panics.resume();
    }

    fn name(&self) -> &'static str {
        self.to.handler.name()
    }
}

impl<T: Send + 'static> Taken<T> {
    /// Brings the items back, the newest first, so that the oldest ends up in front; if they were
    /// `skipped`, those that are still wanted. A panic of a waker comes after that.
    fn put_back(self, skipped: bool) {
        let Taken { mut parcels, to } = self;
        let mut newest_first = BoxList::new();
        while let Some(parcel) = parcels.pop_front() {
            newest_first.push_front(parcel);
        }
        let mut panics = FirstPanic::default();
        while let Some(parcel) = newest_first.pop_front() {
            let back = |parcel| to.place.put_back(parcel);
            panics.catch(|| match skipped {
                true => put_back_wanted(parcel, back),
                false => back(parcel),
            });
        }
        panics.resume();
    }
}

impl<T: Send + 'static> TaskBody for Taken<T> {
    fn run(task: TaskBox<Self>) {
        let Taken { parcels, to } = task.into_inner();
        let to = to.arrived();
        let held = |parcels| {
            let to = SentBy::new(Arc::clone(&to));
            TaskBox::new(Taken { parcels, to }).into_task()
        };
        if let Some((parcels, pass)) = to.place.outlet().enter(parcels, held) {
            let queue = to.place.outlet().queue();
            to.handler.handle(items_of(parcels), queue, pass);
        }
    }

    fn cleanup(task: TaskBox<Self>) {
        task.into_inner().put_back(false);
    }

    fn skip(task: TaskBox<Self>) {
        task.into_inner().put_back(true);
    }

    fn name(&self) -> &'static str {
        self.to.handler.name()
    }
}
