//! The place of an arbiter that takes several items at one of its ports, and what it takes there.

use super::join_gate::{JoinGate, TakeRefusal};
use super::missing_hint::MissingHint;
use crate::deferred::Deferred;
use crate::delivery::{ItemBox, ItemDelivery, put_back_wanted};
use crate::port::{Inside, Port, PortCore, PortState, label, put_back};
use crate::port_items::{End, Offered, PortItems};
use crate::predicate::Asker;
use crate::receiver::Receiver;
use motet_dispatch::{BoxList, Causalities, WaitPart};
use motet_sync::FirstPanic;
use motet_sync::TryMutexGuard;
use std::any::Any;
use std::fmt;
use std::sync::{Arc, Weak};

/// What one part of an arbiter takes from its port.
pub(crate) trait Rule: fmt::Display + Send + Sync + 'static {
    /// Of the port.
    type Item: Send + 'static;
    /// Items on their way.
    type Taken: Send + 'static;
    /// What the handler gets.
    type Given: Send + 'static;

    /// Whether the part wants some items only.
    fn is_guarded(&self) -> bool;

    /// Whether the part may ever take this item.
    fn wants(&self, item: &Self::Item, asker: &mut Asker<'_>) -> bool;

    /// How many items must be there; 0 for a share of a number.
    fn needed(&self) -> usize;

    /// Whether all is there; what to take, as the rule's own number. `left` is the number of items
    /// that the arbiter still needs from its parts together, for rules that share one.
    fn plan(
        &self,
        port_items: &PortItems<'_, Self::Item>,
        left: &mut usize,
        asker: &mut Asker<'_>,
    ) -> Option<usize>;

    /// Takes what has been planned.
    fn take(
        &self,
        port_items: &mut PortItems<'_, Self::Item>,
        plan: usize,
        asker: &mut Asker<'_>,
    ) -> Self::Taken;

    /// What is taken where one item, whichever, is wanted, and this one is there.
    fn only(parcel: ItemBox<Self::Item>) -> Self::Taken;

    /// For the handler.
    fn give(taken: Self::Taken) -> Self::Given;

    /// Those that the items carry, each once.
    fn causalities(taken: &Self::Taken) -> Causalities;

    /// For the way back to the port.
    fn newest_first(taken: Self::Taken) -> BoxList<ItemDelivery<Self::Item>>;
}

/// The place of an arbiter at one of its ports.
pub(crate) struct Input<R: Rule> {
    port: Weak<PortCore<R::Item>>,
    /// For the quick way, without keeping the port.
    pub(super) inside: Arc<Inside<R::Item>>,
    rule: R,
}

/// One try of an arbiter to take all it needs.
pub(crate) struct Attempt<'a> {
    /// The input whose port the caller has locked, and the items there.
    pub(super) at: usize,
    pub(super) offered: Option<&'a mut dyn Any>,
    /// How many items are still needed from all parts together.
    pub(super) left: usize,
    pub(super) gate: &'a JoinGate,
    pub(super) missing_hint: &'a MissingHint,
    pub(super) asker: Asker<'a>,
}

/// The items of one port, locked, and what to take of them.
pub(crate) struct Planned<'a, T: Send + 'static> {
    access: Access<'a, T>,
    plan: usize,
}

enum Access<'a, T: Send + 'static> {
    Closed,
    Waiting(TryMutexGuard<'a, PortState<T>>),
    Offered(&'a mut Offered<T>),
}

const OWN_PORT: &str = "the caller of an attempt lends the items of its own port";

/// A port that is not locked by the caller of an attempt, kept while the attempt looks into it.
pub(crate) type UnlockedPort<T> = Option<Arc<PortCore<T>>>;

impl<R: Rule> Input<R> {
    pub(crate) fn new(port: &Port<R::Item>, rule: R) -> Self {
        Input {
            port: Arc::downgrade(port.core()),
            inside: Arc::clone(port.core().inside()),
            rule,
        }
    }

    pub(crate) fn port(&self) -> Option<Arc<PortCore<R::Item>>> {
        self.port.upgrade()
    }

    pub(crate) fn is_guarded(&self) -> bool {
        self.rule.is_guarded()
    }

    pub(crate) fn needed(&self) -> usize {
        self.rule.needed()
    }

    /// Whether the part may ever take the offered item.
    pub(crate) fn wants(&self, offered: &dyn Any, asker: &mut Asker<'_>) -> bool {
        let offered = offered.downcast_ref::<Offered<R::Item>>();
        let parcel = offered.and_then(|offered| offered.parcel.as_ref());
        parcel.is_none_or(|parcel| self.rule.wants(&parcel.item, asker))
    }

    /// Keeps the port, if it is another than the one that the caller has locked.
    #[inline]
    pub(crate) fn hold(
        &self,
        at: usize,
        attempt: &Attempt<'_>,
    ) -> Result<UnlockedPort<R::Item>, TakeRefusal> {
        if at == attempt.at {
            return Ok(None);
        }
        self.port.upgrade().map(Some).ok_or(TakeRefusal::Over)
    }

    /// Locks the port's items and plans what to take. The plan is made where it stays: returned, it
    /// would be copied.
    #[inline]
    #[expect(
        single_use_lifetimes,
        reason = "what is offered outlives what is planned"
    )]
    pub(crate) fn plan<'h, 'a: 'h>(
        &self,
        at: usize,
        held: &'h UnlockedPort<R::Item>,
        attempt: &mut Attempt<'a>,
        planned: &mut Planned<'h, R::Item>,
    ) -> Result<(), TakeRefusal> {
        planned.access = match held {
            Some(port) => Access::Waiting(port.state()),
            None => {
                let offered = attempt.offered.take();
                let offered = offered.and_then(|offered| offered.downcast_mut());
                Access::Offered(offered.expect(OWN_PORT))
            }
        };
        let port_items = planned.access.port_items();
        let plan = self
            .rule
            .plan(&port_items, &mut attempt.left, &mut attempt.asker);
        let Some(plan) = plan else {
            attempt.missing_hint.at(at);
            return Err(TakeRefusal::Missing);
        };
        planned.plan = plan;
        Ok(())
    }

    /// Whether all is there, without keeping the port locked.
    pub(crate) fn look(&self, at: usize, attempt: &mut Attempt<'_>) -> Result<(), TakeRefusal> {
        let held = self.hold(at, attempt)?;
        let mut left = attempt.left;
        let mut looks = |port_items: &PortItems<'_, R::Item>| {
            let plan = self.rule.plan(port_items, &mut left, &mut attempt.asker);
            if plan.is_none() {
                attempt.missing_hint.at(at);
            }
            plan
        };
        let plan = match &held {
            // Its lock is held until the look has ended.
            Some(port) => looks(&PortItems::waiting(port.state().items_mut())),
            None => {
                let offered = attempt.offered.as_deref_mut();
                let port_items = offered.and_then(|offered| offered.downcast_mut());
                looks(&PortItems::offered(port_items.expect(OWN_PORT)))
            }
        };
        attempt.let_go(held);
        plan.map(|_| ()).ok_or(TakeRefusal::Missing)
    }

    /// Takes what has been planned.
    #[inline]
    pub(crate) fn take(
        &self,
        planned: &mut Planned<'_, R::Item>,
        attempt: &mut Attempt<'_>,
    ) -> R::Taken {
        let mut port_items = planned.access.port_items();
        let taken = self
            .rule
            .take(&mut port_items, planned.plan, &mut attempt.asker);
        if let Access::Waiting(state) = &planned.access {
            state.let_in_later(attempt.asker.deferred);
        }
        taken
    }

    /// Brings back what has been taken, the newest first, so that the oldest ends up in front; with
    /// `skipped` what is still wanted of it. A panic of a waker comes after that.
    pub(crate) fn put_back(&self, taken: R::Taken, skipped: bool) {
        let (mut parcels, mut panics) = (R::newest_first(taken), FirstPanic::default());
        while let Some(parcel) = parcels.pop_front() {
            let back = |parcel| put_back(&self.port, parcel);
            panics.catch(|| match skipped {
                true => put_back_wanted(parcel, back),
                false => back(parcel),
            });
        }
        panics.resume();
    }

    /// Locks the port and lends its items to `body`; registers the receiver if `body` says so.
    pub(crate) fn begin(
        &self,
        receiver: Arc<dyn Receiver<R::Item>>,
        body: &mut dyn FnMut(&mut dyn Any) -> bool,
    ) {
        if let Some(port) = self.port() {
            port.locked(|state| {
                let mut offered = Offered {
                    waiting: std::mem::take(state.items_mut()),
                    parcel: None,
                    end: End::Back,
                };
                let stays = body(&mut offered);
                *state.items_mut() = offered.waiting;
                if stays {
                    state.push_receiver(receiver);
                }
            });
            port.let_in_posters();
        }
    }

    /// Offers a receiver what waits again, when its queue, which had no room, has some.
    #[cold]
    pub(crate) fn offer_later(&self, to: &Arc<dyn Receiver<R::Item>>, deferred: &mut Deferred) {
        if let Some(port) = self.port() {
            port.locked(|state| state.offer_later(to, deferred));
        }
    }

    /// Registers a receiver whose port holds nothing that it could take. The caller holds the
    /// domain's lock.
    pub(crate) fn register(&self, receiver: Arc<dyn Receiver<R::Item>>) {
        if let Some(port) = self.port() {
            port.state().push_receiver(receiver);
        }
    }

    /// Takes a receiver off the port. The caller holds the domain's lock.
    pub(crate) fn leave(&self, receiver: &Arc<dyn Receiver<R::Item>>, deferred: &mut Deferred) {
        let Some(port) = self.port() else { return };
        let removed = port.state().remove(&**receiver);
        removed
            .into_iter()
            .for_each(|removed| deferred.drop_later(removed));
        deferred.let_go(Some(port));
    }

    /// Takes a receiver off the port.
    pub(crate) fn unregister(&self, receiver: &Arc<dyn Receiver<R::Item>>) {
        if let Some(port) = self.port() {
            port.unregister(receiver);
        }
    }

    /// Closes the gate under the port's lock.
    pub(crate) fn close(&self, gate: &JoinGate) {
        match self.port() {
            Some(port) => port.locked(|_| gate.close()),
            // Without one of its ports the arbiter never finds all it needs.
            None => gate.close(),
        }
    }

    /// The port in a few words.
    pub(crate) fn label(&self) -> String {
        label(&self.port)
    }

    /// What is waited for at the port.
    pub(crate) fn awaits(&self) -> WaitPart {
        WaitPart {
            port: self.label(),
            there: self.port().map_or(0, |port| port.item_count()),
            needed: self.needed(),
        }
    }

    /// What is taken, in a few words.
    pub(crate) fn takes(&self) -> String {
        self.rule.to_string()
    }
}

impl Attempt<'_> {
    /// The input whose port the caller has locked.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// Decides, once no input lacks anything. After `Ok` all inputs take.
    #[inline]
    pub(crate) fn decide(&mut self) -> Result<(), TakeRefusal> {
        if self.left > 0 {
            return Err(TakeRefusal::Missing);
        }
        self.gate.pass(self.asker.deferred)
    }

    /// Ends the keeping of a port. Its last handle may have gone meanwhile, and the destructors of
    /// its items may use ports.
    #[inline]
    pub(crate) fn let_go<T: Send + 'static>(&mut self, held: UnlockedPort<T>) {
        self.asker.deferred.let_go(held);
    }
}

impl<T: Send + 'static> Planned<'_, T> {
    /// The place of a plan.
    #[inline]
    pub(crate) fn nothing() -> Self {
        Planned {
            access: Access::Closed,
            plan: 0,
        }
    }
}

impl<T: Send + 'static> Access<'_, T> {
    #[inline]
    fn port_items(&mut self) -> PortItems<'_, T> {
        match self {
            Access::Closed => unreachable!("an input plans before it takes"),
            Access::Waiting(state) => PortItems::waiting(state.items_mut()),
            Access::Offered(offered) => PortItems::offered(offered),
        }
    }
}
