//! The one kernel of all arbiters that take several items: is everything there? claim, take all,
//! one task.
//!
//! An arbiter of this kind has an *input* at each of its ports, each with a *rule* that says what
//! the part takes. It has one *receiver* registered on each port. A receiver that is offered an
//! item makes an attempt for the whole arbiter. Input by input, in the order of the parts, it locks
//! the port and plans what to take. If no input lacks anything it claims, then all inputs take.
//! Nothing has been changed before that, so an attempt that fails leaves no trace. The ports are of
//! one domain, whose lock the caller holds: it makes holding many ports' locks safe, in any order.
//! An arbiter that takes one item of each port mostly goes a way without it, `one_each.rs`.
//!
//! ```text
//!   offer ──> receiver ──> input 0: plan ──> input 1: plan ──> … ──> JoinGate ──> inputs take ──> one task
//!                             └────────────────┴── one lacks something: nothing has happened
//! ```

mod joined;

use super::any_input::AnyInput;
use super::join_gate::{JoinGate, TakeRefusal};
use super::join_input::Attempt;
use super::missing_hint::MissingHint;
use super::one_each::OneEach;
use crate::activation::Active;
use crate::deferred::Deferred;
use crate::delivery::Sends;
use crate::domain::Domain;
use crate::handler::AnyHandler;
use crate::outlet::Outlet;
use crate::predicate::Asker;
use crate::receiver::{Offer, Receiver, Verdict};
use joined::Joined;
use motet_dispatch::Causalities;
use std::any::Any;
use std::borrow::Cow;
use std::sync::{Arc, OnceLock, Weak};

/// The inputs of an arbiter: a tuple, whose types may differ, or a row of one type.
pub(crate) trait Inputs: Send + Sync + Sized + 'static {
    /// What the handler gets.
    type Items: Send + 'static;
    /// The same on its way.
    type Taken: Send + 'static;

    /// How many.
    fn count(&self) -> usize;

    /// One of them, whatever its types.
    fn input(&self, at: usize) -> &dyn AnyInput<InputReceiver<Self>>;

    /// Takes everything or nothing. What is taken goes to `make` at once: kept for later, it would
    /// be copied.
    fn attempt<M>(
        &self,
        attempt: &mut Attempt<'_>,
        make: impl FnOnce(Self::Taken) -> M,
    ) -> Result<M, TakeRefusal>;

    /// Takes one item of each port, without the domain's lock. None if it cannot, or may not:
    /// nothing has been taken then. For arbiters of few ports.
    #[inline]
    fn take_one_each<M>(
        &self,
        _one: OneEach<'_>,
        _make: impl FnOnce(Self::Taken) -> M,
    ) -> Option<M> {
        None
    }

    /// For the handler.
    fn give(taken: Self::Taken) -> Self::Items;

    /// Those that the items carry, each once.
    fn causalities(taken: &Self::Taken) -> Causalities;

    /// Brings back what has been taken; with `skipped` what is still wanted of it.
    fn put_back(&self, taken: Self::Taken, skipped: bool);
}

/// An arbiter at work. Alone in its cache lines: its reference count changes with each firing.
#[repr(align(64))]
pub(crate) struct JoinCore<S: Inputs> {
    pub(super) inputs: S,
    /// How many items the parts together must bring, for rules that share a number.
    pub(super) total: usize,
    pub(super) gate: JoinGate,
    missing_hint: MissingHint,
    handler: AnyHandler<S::Items>,
    this: Weak<Self>,
    /// The receivers on the ports, which own the arbiter: made when it is registered.
    receivers: OnceLock<Vec<Weak<InputReceiver<S>>>>,
}

/// The receiver on one port.
pub(crate) struct InputReceiver<S: Inputs> {
    core: Arc<JoinCore<S>>,
    at: usize,
    /// Whether the part wants some items only.
    guarded: bool,
    /// How many items the part needs.
    needed: usize,
}

impl<S: Inputs> JoinCore<S> {
    /// An arbiter that is not registered yet.
    pub(crate) fn active(
        inputs: S,
        total: usize,
        handler: AnyHandler<S::Items>,
        gate: JoinGate,
    ) -> Arc<dyn Active> {
        Arc::new_cyclic(|this| JoinCore {
            inputs,
            total,
            gate,
            missing_hint: MissingHint::new(),
            handler,
            this: Weak::clone(this),
            receivers: OnceLock::new(),
        })
    }

    /// The receivers, which nobody keeps yet.
    fn receivers(&self) -> Vec<Arc<InputReceiver<S>>> {
        let Some(core) = self.this.upgrade() else {
            return Vec::new();
        };
        let receiver = |at| {
            Arc::new(InputReceiver {
                core: Arc::clone(&core),
                at,
                guarded: self.inputs.input(at).is_guarded(),
                needed: self.inputs.input(at).needed(),
            })
        };
        let receivers: Vec<_> = (0..self.inputs.count()).map(receiver).collect();
        self.receivers
            .get_or_init(|| receivers.iter().map(Arc::downgrade).collect());
        receivers
    }

    /// Tries to fire once, for the input `at`, whose port's items are `offered`.
    #[inline]
    fn attempt(
        self: &Arc<Self>,
        at: usize,
        offered: &mut dyn Any,
        deferred: &mut Deferred,
    ) -> Result<(), TakeRefusal> {
        let asker = Asker {
            queue: self.outlet().queue(),
            deferred,
        };
        self.missing_hint.anywhere();
        let mut attempt = Attempt {
            at,
            offered: Some(offered),
            left: self.total,
            gate: &self.gate,
            missing_hint: &self.missing_hint,
            asker,
        };
        let task = self
            .inputs
            .attempt(&mut attempt, |taken| Joined::task(taken, self));
        self.outlet().send(task?, deferred);
        if self.gate.is_once() {
            self.leave_others(at, deferred);
        }
        Ok(())
    }

    /// Fires with the one item of the input `at`, if the other ports are not locked and have one
    /// each.
    #[inline]
    fn fire_at_once(
        self: &Arc<Self>,
        at: usize,
        item: &mut dyn Any,
        deferred: &mut Deferred,
    ) -> bool {
        let one = OneEach {
            at,
            item,
            gate: &self.gate,
            missing_hint: &self.missing_hint,
            deferred,
        };
        let task = self
            .inputs
            .take_one_each(one, |taken| Joined::task(taken, self));
        let Some(task) = task else { return false };
        self.outlet().send(task, deferred);
        // The item that came last this time will often come last again.
        self.missing_hint.at(at);
        true
    }

    /// Whether the input `at` may take the offered item. If not, nothing has changed for the
    /// arbiter.
    fn wants(&self, at: usize, offered: &dyn Any, deferred: &mut Deferred) -> bool {
        let queue = self.outlet().queue();
        let mut asker = Asker { queue, deferred };
        self.inputs.input(at).wants(offered, &mut asker)
    }

    /// A one-time arbiter that has fired leaves its ports, but for the one that the caller has
    /// locked.
    fn leave_others(&self, at: usize, deferred: &mut Deferred) {
        for (other, receiver) in self.registered().filter(|(other, _)| *other != at) {
            self.inputs.input(other).leave(&receiver, deferred);
        }
    }

    /// The receivers that are still on their ports, or about to come there.
    fn registered(&self) -> impl Iterator<Item = (usize, Arc<InputReceiver<S>>)> {
        let receivers = self.receivers.get().into_iter().flatten().enumerate();
        receivers.filter_map(|(at, receiver)| Some((at, receiver.upgrade()?)))
    }

    /// One of its ports is closed, and holds too little. One that takes shares of a number goes on
    /// with the other ports.
    fn end(&self) {
        let inputs = (0..self.inputs.count()).map(|at| self.inputs.input(at).port());
        if self.total > 0 && inputs.flatten().any(|port| !port.has_ended()) {
            return;
        }
        Active::cleanup(self);
        self.outlet().queue().arbiter_ended();
    }

    #[inline]
    pub(super) fn outlet(&self) -> &Outlet {
        self.gate.outlet()
    }
}

impl<S: Inputs, T: Send + 'static> Receiver<T> for InputReceiver<S> {
    fn offer(&self, offer: &mut Offer<'_, T>) -> Verdict {
        let core = &self.core;
        if !core.gate.is_open() {
            offer.leave_port();
            return Verdict::Reject;
        }
        if core.missing_hint.is_elsewhere(self.at) {
            return Verdict::Reject;
        }
        // Seen without looking at the items; a guard is asked about each one, however few there
        // are.
        if offer.waiting_count() + 1 < self.needed && !self.guarded {
            core.missing_hint.at(self.at);
            return Verdict::Reject;
        }
        let (fired, stop) = offer.with_items(|offered, deferred| {
            if self.guarded && !core.wants(self.at, offered, deferred) {
                return (false, TakeRefusal::Missing);
            }
            // More than one firing may be there: items that found no room wait.
            let mut fired = false;
            loop {
                match core.attempt(self.at, offered, deferred) {
                    Err(stop) => return (fired, stop),
                    Ok(()) if core.gate.is_once() => return (true, TakeRefusal::Over),
                    Ok(()) if offered.parcel.is_none() => {
                        // The item that came last this time will often come last again.
                        if core.total == 0 && offered.waiting.is_empty() {
                            core.missing_hint.at(self.at);
                        }
                        return (true, TakeRefusal::Missing);
                    }
                    Ok(()) => fired = true,
                }
            }
        });
        match stop {
            TakeRefusal::Refused(reason) if !fired => return Verdict::Refuse(reason),
            TakeRefusal::Refused(_) | TakeRefusal::Missing => {}
            TakeRefusal::Over => offer.leave_port(),
        }
        offer.verdict()
    }

    #[inline]
    fn wants_nothing_yet(&self) -> bool {
        // One that has ended is offered the item, and leaves.
        self.core.missing_hint.is_elsewhere(self.at) && self.core.gate.is_open()
    }

    fn take_at_once(&self, offer: &mut Offer<'_, T>) -> bool {
        let (item, deferred) = offer.place();
        self.core.fire_at_once(self.at, item, deferred)
    }

    fn needs(&self) -> usize {
        // A share of a number needs what it can get.
        self.needed.max(1)
    }

    fn ended(&self) {
        self.core.end();
    }

    fn describe(&self) -> Cow<'static, str> {
        Cow::Owned(self.core.described(self.at))
    }
}

impl<S: Inputs> Active for JoinCore<S> {
    fn register(&self) {
        let receivers = self.receivers();
        let inputs = (0..receivers.len()).map(|at| self.inputs.input(at));
        let Some(ports): Option<Vec<_>> = inputs.map(AnyInput::port).collect() else {
            return;
        };
        for pair in ports.windows(2) {
            Domain::merge(pair[0].domain(), pair[1].domain());
        }
        let mut deferred = Deferred::default();
        let Some(first) = receivers.first() else {
            return;
        };
        self.inputs.input(0).begin(first, &mut |items| {
            if !self.gate.is_open() {
                return false;
            }
            // Before it looks: what comes to a port when it has looked there must find it.
            let others = receivers.iter().enumerate().skip(1);
            others.for_each(|(at, receiver)| self.inputs.input(at).register(receiver));
            let stays = first.fire(items, &mut deferred) != TakeRefusal::Over;
            if !stays && !self.gate.has_fired() {
                self.leave_others(0, &mut deferred);
            }
            stays
        });
        if deferred.has_full() {
            self.inputs.input(0).offer_later(first, &mut deferred);
        }
        deferred.carry_out();
        ports.iter().for_each(|port| port.end_if_closed());
    }

    fn cleanup(&self) {
        self.inputs.input(0).close(&self.gate);
        // Those that are registered are seen here: that has happened under the lock just taken, or
        // will find the gate closed.
        for (at, receiver) in self.registered() {
            self.inputs.input(at).unregister(&receiver);
        }
    }

    fn leave(&self) {
        if !self.gate.has_fired() {
            self.cleanup();
        }
    }

    fn is_active(&self) -> bool {
        self.gate.is_open()
    }

    fn has_ended(&self) -> bool {
        self.gate.has_ended()
    }
}

impl<S: Inputs> InputReceiver<S> {
    /// Takes what waits when the arbiter is registered; `items` are those of its port.
    fn fire(&self, items: &mut dyn Any, deferred: &mut Deferred) -> TakeRefusal {
        loop {
            match self.core.attempt(self.at, items, deferred) {
                Err(stop) => return stop,
                Ok(()) if self.core.gate.is_once() => return TakeRefusal::Over,
                Ok(()) => {}
            }
        }
    }
}

impl<S: Inputs> Sends for JoinCore<S> {
    fn lose(&self) {
        self.outlet().lose();
    }
}
