//! A receive with a limit on its handlers: so many items are taken at a time, the others wait in
//! the port.
//!
//! An item takes a slot when it is taken from the port, and gives it up when its handler has ended.
//! Offers come under the port's lock. A slot that others wait for is given up under that lock, too,
//! in one step with the offer of the waiting items. So no later item overtakes them.

use super::port_place::{Placed, PortPlace};
use crate::activation::Active;
use crate::delivery::{DeliverItem, ItemBox, Sends, address, item_of};
use crate::handler::{AnyHandler, Permit, Releasable};
use crate::outlet::Outlet;
use crate::port::Port;
use crate::predicate::{self, Predicate};
use crate::receiver::{Offer, Receiver, Verdict};
use motet_dispatch::{Awaited, Waiter};
use motet_sync::Mutex;
use std::borrow::Cow;
use std::sync::Arc;

/// Closes the next port.
pub(super) type Next = Box<dyn Fn() + Send + Sync>;

/// A receive at work that takes no more than so many items at a time.
pub(super) struct LimitedCore<T: Send + 'static> {
    place: PortPlace<T, Self>,
    handler: AnyHandler<T>,
    predicate: Option<Predicate<T>>,
    most: usize,
    closes: Option<Next>,
    slots: Mutex<Slots>,
}

#[derive(Default)]
struct Slots {
    /// At most `most`.
    taken: usize,
    /// An item that is wanted waits in the port for a slot.
    wanted: bool,
    /// The port has ended.
    ended: bool,
}

impl<T: Send + 'static> LimitedCore<T> {
    /// A receive that is not registered yet.
    pub(super) fn active(
        port: &Port<T>,
        (handler, predicate): (AnyHandler<T>, Option<Predicate<T>>),
        (most, closes): (usize, Option<Next>),
        outlet: Outlet,
    ) -> Arc<dyn Active> {
        Arc::new_cyclic(|this| LimitedCore {
            place: PortPlace::new(this, port, false, outlet),
            handler,
            predicate,
            most,
            closes,
            slots: Mutex::default(),
        })
    }

    /// Takes a slot, or notes that one is wanted.
    fn take_slot(&self) -> bool {
        let mut slots = self.slots.lock();
        slots.wanted = slots.taken == self.most;
        slots.taken += usize::from(!slots.wanted);
        !slots.wanted
    }

    /// Gives up a slot that no item waits for. Under the port's lock, or if none is wanted.
    fn give_up_slot(&self) {
        self.slots.lock().taken -= 1;
    }

    /// Closes the next port, once this one and all handlers have ended.
    fn pass_end_on(&self) {
        let all_ended = {
            let slots = self.slots.lock();
            slots.ended && slots.taken == 0
        };
        if all_ended && let Some(close) = &self.closes {
            close();
        }
    }

    /// Whether there is a slot; notes that one is wanted if not.
    fn has_slot(&self) -> bool {
        let mut slots = self.slots.lock();
        slots.wanted = slots.taken == self.most;
        !slots.wanted
    }
}

impl<T: Send + 'static> Releasable for LimitedCore<T> {
    fn give_up(&self) {
        let wanted = {
            let mut slots = self.slots.lock();
            slots.taken -= usize::from(!slots.wanted);
            slots.wanted
        };
        if !wanted {
            return self.pass_end_on();
        }
        match (self.place.port(), self.place.arbiter()) {
            (Some(port), Some(this)) => {
                let this = this as Arc<dyn Receiver<T>>;
                port.offer_again(&this, &|| self.give_up_slot(), &|| self.has_slot());
            }
            _ => self.give_up_slot(),
        }
        self.pass_end_on();
    }
}

impl<T: Send + 'static> Receiver<T> for LimitedCore<T> {
    fn offer(&self, offer: &mut Offer<'_, T>) -> Verdict {
        if !self.place.is_open() {
            offer.leave_port();
            return Verdict::Reject;
        }
        let outlet = self.place.outlet();
        if let Some(predicate) = &self.predicate
            && !predicate::wants(predicate, offer, outlet.queue())
        {
            return Verdict::Reject;
        }
        let Some(this) = self.place.arbiter() else {
            return Verdict::Reject;
        };
        if !self.take_slot() {
            return Verdict::Reject;
        }
        if let Err(verdict) = offer.claim(outlet) {
            self.give_up_slot();
            return verdict;
        }
        let task = address(offer.take(), this);
        offer.send(outlet, task);
        Verdict::Accept
    }

    fn ended(&self) {
        self.place.ended();
        self.slots.lock().ended = true;
        self.pass_end_on();
    }

    fn describe(&self) -> Cow<'static, str> {
        let guard = self.predicate.as_ref().map_or("", |_| " with a predicate");
        let most = match self.most {
            usize::MAX => String::new(),
            most => format!(", at most {most} at a time"),
        };
        let closes = self
            .closes
            .as_ref()
            .map_or("", |_| ", closes the next port");
        Cow::Owned(format!("receive{guard}{most}{closes}"))
    }
}

impl<T: Send + 'static> DeliverItem<T> for LimitedCore<T> {
    fn deliver(self: Arc<Self>, parcel: ItemBox<T>) {
        let outlet = self.place.outlet();
        let held = |parcel| address(parcel, Arc::clone(&self) as Arc<dyn DeliverItem<T>>);
        if let Some((parcel, pass)) = outlet.enter(parcel, held) {
            let permit = Permit::new(Arc::clone(&self) as Arc<dyn Releasable>);
            let item = item_of(parcel);
            self.handler
                .handle_under(permit, item, outlet.queue(), pass);
        }
    }

    fn put_back(&self, parcel: ItemBox<T>) {
        self.place.put_back(parcel);
    }

    fn name(&self) -> &'static str {
        self.handler.name()
    }
}

impl<T: Send + 'static> Sends for LimitedCore<T> {
    fn lose(&self) {
        self.place.outlet().lose();
        self.give_up();
    }
}

impl<T: Send + 'static> Waiter for LimitedCore<T> {
    fn awaits(&self) -> Option<Awaited> {
        self.place.awaits("Receive")
    }
}

impl<T: Send + 'static> Placed for LimitedCore<T> {
    type Item = T;

    fn place(&self) -> &PortPlace<T, Self> {
        &self.place
    }
}

#[cfg(all(test, motet_loom))]
mod loom_tests {
    use crate::loom_ports::{Keeper, post_elsewhere};
    use crate::{Port, Receive};
    use motet_sync::Mutex;
    use std::sync::Arc;

    /// A handler ends while an item comes: the item finds the slot, or waits and is taken after it;
    /// none overtakes another.
    #[test]
    fn loom_the_end_of_a_handler_against_a_post() {
        loom::model(|| {
            let (queue, port) = (Keeper::default(), Port::new());
            let handled = Arc::new(Mutex::new(Vec::new()));
            let log = Arc::clone(&handled);
            let receive = Receive::persistent(&port, move |n| log.lock().push(n)).at_most(1);
            receive.activate(&queue).unwrap();
            queue.run();
            [1, 2].into_iter().for_each(|n| port.post(n).unwrap());
            let poster = post_elsewhere(&port, 3);
            queue.run();
            poster.join().unwrap();
            while queue.run() > 0 {}
            assert_eq!((&**handled.lock(), port.item_count()), (&[1, 2, 3][..], 0));
        });
    }
}
