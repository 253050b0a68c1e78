//! MultipleItemReceive: each handler run takes a fixed number of items from one port.

use super::place::{Place, Placed};
use crate::activation::{Activation, Active, Attach};
use crate::delivery::Delivery;
use crate::handler::{self, AnyHandler};
use crate::outlet::Outlet;
use crate::port::{Port, items_of};
use crate::receiver::{Offer, Receiver, Verdict};
use motet_dispatch::{BoxList, Enqueue, QueueError, Run, TaskBox};
use std::borrow::Cow;
use std::fmt;
use std::future::Future;
use std::sync::Arc;

/// Each handler run takes `count` items from one port, all or none (papers R024). While fewer wait
/// they stay in the port, visible. One is as good as many.
///
/// ```
/// use motet_dispatch::Inline;
/// use motet_ports::{MultipleItemReceive, Port};
///
/// let (numbers, sums) = (Port::new(), Port::new());
/// let out = sums.clone();
/// MultipleItemReceive::persistent(&numbers, 3, move |three: Vec<u32>| {
///     out.post(three.iter().sum::<u32>()).unwrap();
/// })
/// .activate(&Inline::new("here"))
/// .unwrap();
/// (1..=7).for_each(|n| numbers.post(n).unwrap());
/// assert_eq!(sums.items(), [1 + 2 + 3, 4 + 5 + 6]);
/// assert_eq!(numbers.items(), [7]);
/// ```
#[must_use = "a receive does nothing until it is activated"]
pub struct MultipleItemReceive<T: Send + 'static> {
    port: Port<T>,
    count: usize,
    handler: AnyHandler<Vec<T>>,
    once: bool,
}

/// A receive at work. Alone in its cache lines: its reference count changes with each batch.
#[repr(align(64))]
struct Core<T: Send + 'static> {
    place: Place<T, Self>,
    count: usize,
    handler: AnyHandler<Vec<T>>,
}

/// The items of one handler run, on their way.
struct Batch<T: Send + 'static> {
    parcels: BoxList<Delivery<T>>,
    to: Arc<Core<T>>,
}

impl<T: Send + 'static> MultipleItemReceive<T> {
    /// Handles one batch. The items come in the order in which they waited.
    ///
    /// # Panics
    /// When `count` is 0.
    pub fn once(
        port: &Port<T>,
        count: usize,
        handler: impl FnOnce(Vec<T>) + Send + 'static,
    ) -> Self {
        Self::with(port, count, handler::once(handler), true)
    }

    /// Handles every batch.
    ///
    /// # Panics
    /// When `count` is 0.
    pub fn persistent(
        port: &Port<T>,
        count: usize,
        handler: impl Fn(Vec<T>) + Send + Sync + 'static,
    ) -> Self {
        Self::with(port, count, handler::each(handler), false)
    }

    /// Handles every batch with a future, which holds no thread while it waits.
    ///
    /// # Panics
    /// When `count` is 0.
    pub fn persistent_async<Fut>(
        port: &Port<T>,
        count: usize,
        handler: impl Fn(Vec<T>) -> Fut + Send + Sync + 'static,
    ) -> Self
    where
        Fut: Future<Output = ()> + Send + 'static,
    {
        Self::with(port, count, handler::each_async(handler), false)
    }

    /// Puts the receive to work: queues its registration on `queue`, where its handlers will run.
    ///
    /// # Errors
    /// [`QueueError`] when the queue is full or stopped.
    pub fn activate(self, queue: &impl Enqueue) -> Result<Activation, QueueError> {
        Activation::start(self, queue)
    }

    fn with(port: &Port<T>, count: usize, handler: AnyHandler<Vec<T>>, once: bool) -> Self {
        assert!(
            count > 0,
            "MultipleItemReceive takes at least one item at a time"
        );
        MultipleItemReceive {
            port: port.clone(),
            count,
            handler,
            once,
        }
    }
}

impl<T: Send + 'static> Attach for MultipleItemReceive<T> {
    type Ports = Port<T>;

    fn attach(self, outlet: Outlet) -> (Arc<dyn Active>, Port<T>) {
        let MultipleItemReceive {
            port,
            count,
            handler,
            once,
        } = self;
        let core = Arc::new_cyclic(|this| Core {
            place: Place::new(this, &port, once, outlet),
            count,
            handler,
        });
        (core, port)
    }

    fn is_once(&self) -> bool {
        self.once
    }
}

impl<T: Send + 'static> Receiver<T> for Core<T> {
    fn offer(&self, offer: &mut Offer<'_, T>) -> Verdict {
        if !self.place.is_open() {
            offer.leave_port();
            return Verdict::Reject;
        }
        // More than one batch may be there: items that found no room when they were offered wait.
        let mut fired = false;
        while !offer.is_taken() && offer.waiting_count() + 1 >= self.count {
            let Some(to) = self.place.arbiter() else {
                return Verdict::Reject;
            };
            if let Err(verdict) = offer.claim(self.place.outlet()) {
                return if fired { offer.verdict() } else { verdict };
            }
            fired = true;
            let parcels = offer.take_oldest_multiple(self.count);
            let batch = TaskBox::new(Batch { parcels, to });
            offer.send(self.place.outlet(), batch.into_task());
            if self.place.taken(offer) {
                break;
            }
        }
        offer.verdict()
    }

    fn describe(&self) -> Cow<'static, str> {
        Cow::Owned(format!(
            "{}receive of {} items",
            self.place.kind(),
            self.count
        ))
    }
}

impl<T: Send + 'static> Run for Batch<T> {
    fn run(task: TaskBox<Self>) {
        let Batch { parcels, to } = task.into_inner();
        let held = |parcels| {
            let to = Arc::clone(&to);
            TaskBox::new(Batch { parcels, to }).into_task()
        };
        let outlet = to.place.outlet();
        if let Some((parcels, pass)) = outlet.enter(parcels, held) {
            to.handler.handle(items_of(parcels), outlet.queue(), pass);
        }
    }

    fn name(&self) -> &'static str {
        self.to.handler.name()
    }

    fn cleanup(task: TaskBox<Self>) {
        let Batch { mut parcels, to } = task.into_inner();
        // The last goes back first, so that the oldest ends up in front.
        let mut newest_first = BoxList::new();
        while let Some(parcel) = parcels.pop_front() {
            newest_first.push_front(parcel);
        }
        while let Some(parcel) = newest_first.pop_front() {
            to.place.put_back(parcel);
        }
    }
}

impl<T: Send + 'static> Placed for Core<T> {
    type Item = T;

    fn place(&self) -> &Place<T, Self> {
        &self.place
    }
}

impl<T: Send + 'static> fmt::Debug for MultipleItemReceive<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MultipleItemReceive")
            .field("port", &self.port)
            .field("count", &self.count)
            .field("once", &self.once)
            .finish_non_exhaustive()
    }
}
