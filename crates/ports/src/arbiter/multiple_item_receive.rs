//! MultipleItemReceive: each handler run takes a fixed number of items from one port.

use super::batch::BatchCore;
use super::inputs::{JoinInputs, KeptPorts};
use super::part::Batch;
use crate::activation::{Activation, Active, Attach};
use crate::handler::{self, AnyHandler};
use crate::outlet::Outlet;
use crate::port::Port;
use motet_dispatch::{Enqueue, QueueError};
use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

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
    batch: Batch<T>,
    handler: AnyHandler<Vec<T>>,
    once: bool,
    span: Option<Duration>,
}

const GUARDED: &str = "a receive of several items has a guard and `or_after`: it counts all items of \
    its port; post those that are wanted to a port of their own";

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

    /// Handles one batch with a future, which holds no thread while it waits.
    ///
    /// # Panics
    /// When `count` is 0.
    pub fn once_async<Fut>(
        port: &Port<T>,
        count: usize,
        handler: impl FnOnce(Vec<T>) -> Fut + Send + 'static,
    ) -> Self
    where
        Fut: Future<Output = ()> + Send + 'static,
    {
        Self::with(port, count, handler::once_async(handler), true)
    }

    /// Takes fewer items, one at least, once the oldest has waited for `span` by the clock of the
    /// queue. This is a batch by count or time, whichever comes first. The time of a batch begins
    /// with its first item, or when the batch before it was taken and left some. If the queue has
    /// no room when the time is over, the items wait for as long again.
    ///
    /// ```
    /// use motet_dispatch::{QueueConfig, Replay};
    /// use motet_ports::{MultipleItemReceive, Port};
    /// use std::time::Duration;
    ///
    /// let replay = Replay::new(1);
    /// let queue = replay.queue(QueueConfig::named("database"));
    /// let (rows, writes) = (Port::new(), Port::new());
    /// let out = writes.clone();
    /// MultipleItemReceive::persistent(&rows, 3, move |rows: Vec<u32>| out.post(rows).unwrap())
    ///     .or_after(Duration::from_millis(10))
    ///     .activate(&queue)
    ///     .unwrap();
    /// (1..=4).for_each(|row| rows.post(row).unwrap());
    /// replay.run();
    /// assert_eq!(writes.items(), [vec![1, 2, 3], vec![4]]);
    /// assert_eq!(replay.elapsed(), Duration::from_millis(10));
    /// ```
    ///
    /// # Panics
    /// When it has a guard: the items of the port are counted, whatever they are.
    pub fn or_after(mut self, span: Duration) -> Self {
        assert!(self.batch.unguarded().is_some(), "{GUARDED}");
        self.span = Some(span);
        self
    }

    /// Takes only items that `guard` wants; the others stay in the port. For what a guard may do
    /// see [`Port::when`].
    ///
    /// # Panics
    /// When it takes fewer items [after a time](MultipleItemReceive::or_after).
    pub fn when(mut self, guard: impl Fn(&T) -> bool + Send + Sync + 'static) -> Self {
        assert!(self.span.is_none(), "{GUARDED}");
        self.batch = self.batch.guarded(Box::new(guard));
        self
    }

    /// Puts the receive to work: queues its registration on `queue`, where its handlers will run.
    ///
    /// # Panics
    /// When the port is bounded and never has so many items: as many as may wait, and one that is
    /// posted. A receive that takes fewer [after a time](MultipleItemReceive::or_after) does not.
    ///
    /// # Errors
    /// [`QueueError`] when the queue is full or stopped.
    #[track_caller]
    pub fn activate(self, queue: &impl Enqueue) -> Result<Activation, QueueError> {
        Activation::start(self, queue)
    }

    fn with(port: &Port<T>, count: usize, handler: AnyHandler<Vec<T>>, once: bool) -> Self {
        Self::of(port.times(count), handler, once)
    }

    /// Takes what `batch` does.
    pub(super) fn of(batch: Batch<T>, handler: AnyHandler<Vec<T>>, once: bool) -> Self {
        MultipleItemReceive {
            batch,
            handler,
            once,
            span: None,
        }
    }
}

impl<T: Send + 'static> Attach for MultipleItemReceive<T> {
    type Ports = KeptPorts;

    fn attach(self, outlet: Outlet) -> (Arc<dyn Active>, KeptPorts) {
        let MultipleItemReceive {
            batch,
            handler,
            once,
            span,
        } = self;
        if let Some((port, count)) = batch.unguarded() {
            // After a time fewer will do.
            if span.is_none() {
                port.assert_holds(count);
            }
            let core = BatchCore::active((port, count), span, handler, once, outlet);
            return (core, vec![Arc::clone(port.core()) as _]);
        }
        JoinInputs::solo(batch).assemble(0, handler, once, outlet)
    }

    fn is_once(&self) -> bool {
        self.once
    }
}

impl<T: Send + 'static> fmt::Debug for MultipleItemReceive<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MultipleItemReceive")
            .field("batch", &self.batch)
            .field("once", &self.once)
            .finish_non_exhaustive()
    }
}
