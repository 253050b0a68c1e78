//! From an arbiter that has been built to one that is at work.

use crate::delivery::QueueHandle;
use crate::outlet::Outlet;
use motet_dispatch::{Causalities, Enqueue, QueueError, Task, Waiter};
use std::fmt;
use std::panic::Location;
use std::sync::{Arc, Weak};

/// An arbiter at work, or done. Dropping it changes nothing; the arbiter goes on.
#[derive(Clone)]
pub struct Activation {
    arbiter: Arc<dyn Active>,
    queue: QueueHandle,
}

/// An arbiter that has been built and is not at work yet: alone, or a branch of another.
///
/// Every arbiter of this crate is one, and one of your own can be. Implement this for what is
/// built, and [`Active`] and [`Receiver`](crate::Receiver) for what goes to work. It can then be
/// activated, be a branch of a [`Choice`](crate::Choice), and belong to a group. What it must keep
/// to:
///
/// - It takes items only after [`Offer::claim`](crate::Offer::claim) has said `Ok`, and sends its
///   tasks through [`Offer::send`](crate::Offer::send). A task that carries items brings them back
///   when it is cleaned up ([`Run::cleanup`](motet_dispatch::TaskBody::cleanup)).
/// - Its tasks ask [`Outlet::enter`] before they handle anything. One that is dropped before it
///   could ask calls [`Outlet::lose`].
/// - Its [`Active`] is kept alive by its receivers, and keeps no port alive but by weak handles
///   ([`Port::downgrade`](crate::Port::downgrade)): the port keeps the receivers.
///
/// The example `own_arbiter` of the facade shows one.
pub trait Attach: Sized {
    /// Keeps the ports, and receivers that nobody else keeps yet, until the arbiter is registered.
    type Ports: Send + 'static;

    /// Makes what goes to work, with its tasks sent through `outlet`.
    fn attach(self, outlet: Outlet) -> (Arc<dyn Active>, Self::Ports);

    /// Makes what goes to work, and what registers it when its time comes and keeps all that is
    /// needed until then: what an activation queues. There is a simpler way than [`Attach::attach`]
    /// and [`Active::register`] for arbiters that are registered by nobody else.
    fn prepare(self, outlet: Outlet) -> (Arc<dyn Active>, impl FnOnce() + Send + 'static) {
        let (arbiter, ports) = self.attach(outlet);
        let starter = Arc::clone(&arbiter);
        let register = move || {
            if starter.is_active() {
                starter.register();
            }
            drop(ports);
        };
        (arbiter, register)
    }

    /// Whether it takes items once only.
    #[allow(dead_code, reason = "for arbiters above others")]
    fn is_once(&self) -> bool;

    /// Puts the arbiter to work: queues its registration on `queue`, where its handlers will run.
    ///
    /// # Errors
    /// [`QueueError`] when the queue is stopped. The registration takes no room.
    #[track_caller]
    fn activate(self, queue: &impl Enqueue) -> Result<Activation, QueueError> {
        Activation::start(self, queue)
    }
}

/// What an arbiter answers for while it is at work. As a [`Waiter`] it also says what it waits for,
/// for [`Dispatcher::waiting`](motet_dispatch::Dispatcher::waiting).
pub trait Active: Waiter {
    /// Registers the arbiter's receivers on their ports.
    fn register(&self);

    /// Takes them off again; nothing new starts. May be called more than once, before the
    /// registration and beside it.
    fn cleanup(&self);

    /// Takes them off again as a branch of a choice that has been decided, for this branch or
    /// another. This does what [`Active::cleanup`] does. But a branch that has taken its items, and
    /// is off its ports, has nothing to do.
    fn leave(&self) {
        self.cleanup();
    }

    /// Whether the arbiter can still take items.
    fn is_active(&self) -> bool;

    /// Whether the arbiter will never take items, and has not taken what a one-time arbiter takes.
    /// It has then been cleaned up, or its ports are [closed](crate::Port::close). (`false`, unless
    /// overridden.)
    fn has_ended(&self) -> bool {
        false
    }
}

/// The task that registers an arbiter. It runs under no causality, with which it might be skipped:
/// items bring their own.
pub(crate) fn registration(register: impl FnOnce() + Send + 'static) -> Task {
    Task::under(Causalities::none(), register)
}

impl Activation {
    /// Queues the registration on `queue`. It happens when the task runs, so a suspended queue
    /// delays it; items posted meanwhile wait in their ports, which are kept until then.
    #[track_caller]
    pub(crate) fn start(arbiter: impl Attach, queue: &dyn Enqueue) -> Result<Self, QueueError> {
        if queue.is_stopped() {
            return Err(QueueError::Stopped);
        }
        let handle = queue.handle();
        let (arbiter, register) = arbiter.prepare(Outlet::direct(Arc::clone(&handle)));
        // It takes no room: a one-time arbiter that its own handler activates again must not be
        // lost.
        queue.readmit(registration(register));
        let waiter = Arc::downgrade(&arbiter) as Weak<dyn Waiter>;
        queue.watch(waiter, Location::caller());
        Ok(Activation {
            arbiter,
            queue: handle,
        })
    }

    /// Takes the arbiter off its ports: it accepts nothing more. Handlers that have been queued
    /// still run. Also works before the registration has happened.
    pub fn cleanup(&self) {
        self.arbiter.cleanup();
    }

    /// Whether the arbiter can still accept items: `false` once a one-time arbiter has accepted,
    /// after [`Activation::cleanup`], and once the dispatcher of its queue has ended.
    #[must_use]
    pub fn is_active(&self) -> bool {
        self.arbiter.is_active() && !self.queue.is_stopped()
    }
}

impl fmt::Debug for Activation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Activation")
            .field("active", &self.is_active())
            .finish_non_exhaustive()
    }
}
