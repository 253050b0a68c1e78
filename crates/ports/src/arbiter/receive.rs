//! Receive: each handler run takes one item from one port.

use super::limited::{LimitedCore, Next};
use super::part::Part;
use super::port_place::{Placed, PortPlace};
use crate::activation::{Activation, Active, Attach};
use crate::delivery::{DeliverItem, ItemBox, Sends, address, item_of};
use crate::direct_delivery::DirectDelivery;
use crate::handle_cache::HandleCaching;
use crate::handler::{self, AnyHandler};
use crate::outlet::Outlet;
use crate::port::Port;
use crate::predicate::{self, Predicate};
use crate::receiver::{Offer, Receiver, Verdict};
use motet_dispatch::{Awaited, Enqueue, QueueError, Waiter, keep_handle};
use std::borrow::Cow;
use std::fmt;
use std::future::Future;
use std::sync::Arc;

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
    most: Option<usize>,
    closes: Option<Next>,
}

/// A receive at work.
struct ReceiveCore<T: Send + 'static, L: Layout> {
    place: PortPlace<T, Self>,
    handler: AnyHandler<T>,
    predicate: Option<Predicate<T>>,
    _layout: L,
}

/// Where a receive stands in memory. A persistent one is alone in its cache lines, since its
/// reference count changes with each item. A one-time one is not: allocating with an alignment
/// costs a quarter of all that it does.
trait Layout: Default + Send + Sync + 'static {}

#[derive(Default)]
#[repr(align(64))]
struct Apart;

#[derive(Default)]
struct Anywhere;

impl Layout for Apart {}
impl Layout for Anywhere {}

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
    /// port's lock. It must be quick and pure, and must not use ports. Items that no receiver takes
    /// stay in the port. A predicate that panics takes nothing; the panic goes the way of the
    /// queue's exceptions.
    pub fn when(mut self, predicate: impl Fn(&T) -> bool + Send + Sync + 'static) -> Self {
        self.predicate = Some(Box::new(predicate));
        self
    }

    /// Takes at most `count` items at a time: the others stay in the port, visible, until a handler
    /// has ended. A bounded port so fills up when the handlers do not keep up. An async handler
    /// counts until its future has ended, and an item whose task waits in the queue counts, too.
    ///
    /// ```
    /// use motet_dispatch::Inline;
    /// use motet_ports::{Port, Receive};
    ///
    /// let (requests, backend) = (Port::new(), Port::<u32>::new());
    /// let answers = backend.clone();
    /// Receive::persistent_async(&requests, move |n: u32| {
    ///     let answers = answers.clone();
    ///     async move { assert_eq!(answers.recv().await, n) }
    /// })
    /// .at_most(2)
    /// .activate(&Inline::new("here"))
    /// .unwrap();
    /// (1..=5).for_each(|n| requests.post(n).unwrap());
    /// assert_eq!(requests.items(), [3, 4, 5], "two are under way");
    /// backend.post(1).unwrap();
    /// assert_eq!(requests.items(), [4, 5]);
    /// ```
    ///
    /// # Panics
    /// When `count` is 0.
    pub fn at_most(mut self, count: usize) -> Self {
        assert!(
            count > 0,
            "a receive of at most 0 items would take nothing: give it 1 at least"
        );
        self.most = Some(count);
        self
    }

    /// Closes `next` when this receive has ended and its handlers have. It has when its port is
    /// [closed](Port::close), nothing is left there, and the last handler has returned (an async
    /// one, its future). So the end goes through a pipeline, behind the last item. A receive that
    /// is [cleaned up](Activation::cleanup) closes nothing. Each handler is counted, as with
    /// [`at_most`](Receive::at_most).
    ///
    /// ```
    /// use motet_dispatch::{Dispatcher, QueueConfig};
    /// use motet_ports::{Port, Receive, wait_blocking};
    /// use futures_util::StreamExt;
    ///
    /// let dispatcher = Dispatcher::new(2);
    /// let (numbers, squares) = (Port::new(), Port::new());
    /// let out = squares.clone();
    /// Receive::persistent(&numbers, move |n: u32| out.post(n * n).unwrap())
    ///     .closes(&squares)
    ///     .activate(&dispatcher.queue(QueueConfig::default()))
    ///     .unwrap();
    /// (1..=3).for_each(|n| numbers.post(n).unwrap());
    /// numbers.close();
    /// let all: Vec<u32> = wait_blocking(squares.stream().collect()).unwrap();
    /// assert_eq!(all.iter().sum::<u32>(), 14);
    /// ```
    ///
    /// # Panics
    /// When the receive takes one item only, or closes another port already.
    pub fn closes<U: Send + 'static>(mut self, next: &Port<U>) -> Self {
        assert!(
            !self.once,
            "a receive of one item closes no port: build it with `persistent`"
        );
        assert!(
            self.closes.is_none(),
            "a receive closes one port: close further ones in a task that awaits its end"
        );
        let next = next.downgrade();
        self.closes = Some(Box::new(move || {
            if let Some(next) = next.upgrade() {
                next.close();
            }
        }));
        self
    }

    /// Puts the receive to work: queues its registration on `queue`, where its handlers will run.
    ///
    /// # Errors
    /// [`QueueError`] when the queue is full or stopped.
    #[track_caller]
    pub fn activate(self, queue: &impl Enqueue) -> Result<Activation, QueueError> {
        Activation::start(self, queue)
    }

    pub(super) fn with(port: &Port<T>, handler: AnyHandler<T>, once: bool) -> Self {
        Receive {
            port: port.clone(),
            handler,
            once,
            predicate: None,
            most: None,
            closes: None,
        }
    }

    /// Takes what `part` does.
    pub(super) fn of(part: Part<T>, handler: AnyHandler<T>, once: bool) -> Self {
        let (port, predicate) = part.into_inner();
        Receive {
            port,
            handler,
            once,
            predicate,
            most: None,
            closes: None,
        }
    }
}

impl<T: Send + 'static> Receive<T> {
    fn attach_in<L: Layout>(self, outlet: Outlet) -> (Arc<dyn Active>, Port<T>) {
        let Receive {
            port,
            handler,
            once,
            predicate,
            ..
        } = self;
        let core = Arc::new_cyclic(|this| ReceiveCore {
            place: PortPlace::new(this, &port, once, outlet),
            handler,
            predicate,
            _layout: L::default(),
        });
        (core, port)
    }
}

impl<T: Send + 'static> Attach for Receive<T> {
    type Ports = Port<T>;

    fn attach(self, outlet: Outlet) -> (Arc<dyn Active>, Port<T>) {
        if self.once {
            self.attach_in::<Anywhere>(outlet)
        } else if self.most.is_some() || self.closes.is_some() {
            let handling = (self.handler, self.predicate);
            let limit = (self.most.unwrap_or(usize::MAX), self.closes);
            let core = LimitedCore::active(&self.port, handling, limit, outlet);
            (core, self.port)
        } else {
            self.attach_in::<Apart>(outlet)
        }
    }

    fn is_once(&self) -> bool {
        self.once
    }
}

impl<T: Send + 'static, L: Layout> Receiver<T> for ReceiveCore<T, L> {
    #[inline]
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
        if let Err(verdict) = offer.claim(outlet) {
            return verdict;
        }
        self.place.taken(offer);
        let task = address(offer.take(), this);
        offer.send(outlet, task);
        Verdict::Accept
    }

    fn direct_delivery(&self) -> Option<DirectDelivery<T>> {
        if self.predicate.is_some() || !self.place.takes_always() {
            return None;
        }
        let outlet = self.place.outlet();
        let readers = outlet.readers();
        if readers.is_none() && !outlet.is_alone() {
            return None;
        }
        Some(DirectDelivery::each(
            self.place.arbiter()?,
            readers,
            outlet.queue(),
        ))
    }

    fn ended(&self) {
        self.place.ended();
    }

    fn describe(&self) -> Cow<'static, str> {
        let kind = self.place.kind();
        let guard = self.predicate.as_ref().map_or("", |_| " with a predicate");
        Cow::Owned(format!("{kind}receive{guard}"))
    }
}

impl<T: Send + 'static, L: Layout> DeliverItem<T> for ReceiveCore<T, L> {
    #[inline]
    fn deliver(self: Arc<Self>, parcel: ItemBox<T>) {
        let outlet = self.place.outlet();
        let held = |parcel| address(parcel, Arc::clone(&self) as Arc<dyn DeliverItem<T>>);
        if let Some((parcel, pass)) = outlet.enter(parcel, held) {
            let item = item_of(parcel);
            self.handler.handle(item, outlet.queue(), pass);
        }
        if self.place.handle_caching().lets_keep() {
            keep_handle(self);
        }
    }

    fn put_back(&self, parcel: ItemBox<T>) {
        self.place.put_back(parcel);
    }

    fn name(&self) -> &'static str {
        self.handler.name()
    }
}

impl<T: Send + 'static, L: Layout> Waiter for ReceiveCore<T, L> {
    fn awaits(&self) -> Option<Awaited> {
        self.place.awaits("Receive")
    }
}

impl<T: Send + 'static, L: Layout> Sends for ReceiveCore<T, L> {
    fn lose(&self) {
        self.place.outlet().lose();
    }

    fn handle_caching(&self) -> Option<&HandleCaching> {
        Some(self.place.handle_caching())
    }
}

impl<T: Send + 'static, L: Layout> Placed for ReceiveCore<T, L> {
    type Item = T;

    fn place(&self) -> &PortPlace<T, Self> {
        &self.place
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
