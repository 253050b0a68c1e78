//! Receive: each handler run takes one item from one port.

use crate::activation::{Activation, Active};
use crate::claim::Claim;
use crate::delivery::{Deliver, Parcel, QueueHandle, address};
use crate::handler::{self, AnyHandler};
use crate::port::{Port, PortCore, put_back};
use crate::predicate::{self, Predicate};
use crate::receiver::{Offer, Receiver, Verdict};
use motet_dispatch::{Enqueue, QueueError};
use std::fmt;
use std::future::Future;
use std::sync::{Arc, Weak};

/// Each handler run takes one item from one port (papers R023): once, or for every item.
///
/// Handlers of a persistent receive may overlap on a dispatcher with several threads, and may end
/// in any order.
///
/// ```
/// use motet_dispatch::Inline;
/// use motet_ports::{Port, Receive};
///
/// let (numbers, squares) = (Port::new(), Port::new());
/// let out = squares.clone();
/// Receive::persistent(&numbers, move |n: u32| out.post(n * n).unwrap())
///     .when(|n| *n > 1)
///     .activate(&Inline::new("here"))
///     .unwrap();
/// (1..4).for_each(|n| numbers.post(n).unwrap());
/// assert_eq!(squares.items(), [4, 9]);
/// assert_eq!(numbers.items(), [1], "not wanted: it stays");
/// ```
#[must_use = "a receive does nothing until it is activated"]
pub struct Receive<T: Send + 'static> {
    port: Port<T>,
    handler: AnyHandler<T>,
    once: bool,
    predicate: Option<Predicate<T>>,
}

/// A receive at work. Alone in its cache lines: its reference count changes with each item.
#[repr(align(64))]
struct ReceiveCore<T: Send + 'static> {
    this: Weak<ReceiveCore<T>>,
    port: Weak<PortCore<T>>,
    queue: QueueHandle,
    handler: AnyHandler<T>,
    once: bool,
    predicate: Option<Predicate<T>>,
    claim: Claim,
}

impl<T: Send + 'static> Receive<T> {
    /// Handles one item.
    pub fn once(port: &Port<T>, handler: impl FnOnce(T) + Send + 'static) -> Self {
        Self::with(port, handler::once(handler), true)
    }

    /// Handles every item.
    pub fn persistent(port: &Port<T>, handler: impl Fn(T) + Send + Sync + 'static) -> Self {
        Self::with(port, handler::each(handler), false)
    }

    /// Handles one item with a future, which holds no thread while it waits.
    pub fn once_async<Fut>(port: &Port<T>, handler: impl FnOnce(T) -> Fut + Send + 'static) -> Self
    where
        Fut: Future<Output = ()> + Send + 'static,
    {
        Self::with(port, handler::once_async(handler), true)
    }

    /// Handles every item with a future, which holds no thread while it waits.
    pub fn persistent_async<Fut>(
        port: &Port<T>,
        handler: impl Fn(T) -> Fut + Send + Sync + 'static,
    ) -> Self
    where
        Fut: Future<Output = ()> + Send + 'static,
    {
        Self::with(port, handler::each_async(handler), false)
    }

    /// Takes only items that satisfy `predicate`, which runs on the poster's thread under the
    /// port's lock: it must be quick and pure, and must not use ports. Items that no receiver takes
    /// stay in the port. A predicate that panics takes nothing; the panic goes the way of the
    /// queue's exceptions.
    pub fn when(mut self, predicate: impl Fn(&T) -> bool + Send + Sync + 'static) -> Self {
        self.predicate = Some(Box::new(predicate));
        self
    }

    /// Puts the receive to work: queues its registration on `queue`, where its handlers will run.
    ///
    /// # Errors
    /// [`QueueError`] when the queue is full or stopped.
    pub fn activate(self, queue: &impl Enqueue) -> Result<Activation, QueueError> {
        let Receive {
            port,
            handler,
            once,
            predicate,
        } = self;
        let core = Arc::new_cyclic(|this| ReceiveCore {
            this: Weak::clone(this),
            port: Arc::downgrade(port.core()),
            queue: queue.handle(),
            handler,
            once,
            predicate,
            claim: Claim::new(),
        });
        Activation::start(core, port, queue)
    }

    fn with(port: &Port<T>, handler: AnyHandler<T>, once: bool) -> Self {
        Receive {
            port: port.clone(),
            handler,
            once,
            predicate: None,
        }
    }
}

impl<T: Send + 'static> Receiver<T> for ReceiveCore<T> {
    #[inline]
    fn offer(&self, offer: &mut Offer<'_, T>) -> Verdict {
        if !self.claim.is_open() {
            offer.leave_port();
            return Verdict::Reject;
        }
        if let Some(predicate) = &self.predicate
            && !predicate::wants(predicate, offer, &self.queue)
        {
            return Verdict::Reject;
        }
        let Some(this) = self.this.upgrade() else {
            return Verdict::Reject;
        };
        if let Err(verdict) = offer.claim_room(&self.queue) {
            return verdict;
        }
        if self.once {
            // Nobody else claims under the port's lock; a cleanup waits for the lock or came first.
            offer.leave_port();
            let won = self.claim.take();
            debug_assert!(won, "the claim was open a moment ago, under the same lock");
        }
        let task = address(offer.take(), this);
        offer.schedule(&self.queue, task);
        Verdict::Accept
    }
}

impl<T: Send + 'static> Deliver<T> for ReceiveCore<T> {
    #[inline]
    fn deliver(&self, item: T) {
        self.handler.handle(item, &self.queue);
    }

    fn put_back(&self, parcel: Parcel<T>) {
        put_back(&self.port, parcel);
    }
}

impl<T: Send + 'static> Active for ReceiveCore<T> {
    fn register(&self) {
        if let (Some(port), Some(this)) = (self.port.upgrade(), self.this.upgrade()) {
            port.register(this);
        }
    }

    fn cleanup(&self) {
        if let (Some(port), Some(this)) = (self.port.upgrade(), self.this.upgrade()) {
            port.close_and_unregister(&self.claim, &(this as Arc<dyn Receiver<T>>));
        } else {
            self.claim.close();
        }
    }

    fn is_active(&self) -> bool {
        self.claim.is_open()
    }
}

impl<T: Send + 'static> fmt::Debug for Receive<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receive")
            .field("port", &self.port)
            .field("once", &self.once)
            .field("predicate", &self.predicate.is_some())
            .finish_non_exhaustive()
    }
}
