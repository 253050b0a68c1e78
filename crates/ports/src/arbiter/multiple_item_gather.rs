//! MultipleItemGather: one handler run takes a number of items, from whichever ports they come.

use super::inputs::{IntoShares, JoinInputs, KeptPorts};
use crate::activation::{Activation, Active, Attach};
use crate::handler::{self, AnyHandler};
use crate::outlet::Outlet;
use motet_dispatch::{Enqueue, QueueError};
use std::fmt;
use std::future::Future;
use std::sync::Arc;

/// Each handler run takes `total` items of several ports, any mix (CCR's gather). They may be the
/// replies of a scatter, of which some are results and some are failures. The handler gets a tuple
/// with a `Vec` for each port, in the order in which the items waited there.
///
/// The parts are a tuple of one to twelve ports, or of what [`Port::when`](crate::Port::when) makes
/// of them. While fewer items are there, they stay in their ports, visible, and others may take
/// them (CCR's gather holds what has come). If more are there, earlier ports give theirs first. For
/// a number of items of each port see [`Port::times`](crate::Port::times) and
/// [`JoinedReceive`](crate::JoinedReceive).
///
/// ```
/// use motet_dispatch::Inline;
/// use motet_ports::{MultipleItemGather, Port};
///
/// let (results, failures, done) = (Port::new(), Port::new(), Port::new());
/// let out = done.clone();
/// MultipleItemGather::once(3, (&results, &failures), move |(results, failures)| {
///     out.post((results, failures)).unwrap();
/// })
/// .activate(&Inline::new("here"))
/// .unwrap();
/// results.post(10).unwrap();
/// failures.post("no route").unwrap();
/// assert_eq!(results.item_count(), 1, "it waits in its port");
/// results.post(20).unwrap();
/// assert_eq!(done.test(), Some((vec![10, 20], vec!["no route"])));
/// ```
#[must_use = "a gather does nothing until it is activated"]
pub struct MultipleItemGather<I> {
    inputs: JoinInputs<I>,
    total: usize,
    handler: AnyHandler<I>,
    once: bool,
}

impl<I: Send + 'static> MultipleItemGather<I> {
    /// Handles `total` items.
    ///
    /// # Panics
    /// When `total` is 0, a port is named twice, or the ports are bounded and never have so many
    /// items together.
    pub fn once(
        total: usize,
        parts: impl IntoShares<Items = I>,
        handler: impl FnOnce(I) + Send + 'static,
    ) -> Self {
        Self::with(total, parts, handler::once(handler), true)
    }

    /// Handles every `total` items.
    ///
    /// # Panics
    /// As [`MultipleItemGather::once`].
    pub fn persistent(
        total: usize,
        parts: impl IntoShares<Items = I>,
        handler: impl Fn(I) + Send + Sync + 'static,
    ) -> Self {
        Self::with(total, parts, handler::each(handler), false)
    }

    /// Handles `total` items with a future, which holds no thread while it waits.
    ///
    /// # Panics
    /// As [`MultipleItemGather::once`].
    pub fn once_async<Fut>(
        total: usize,
        parts: impl IntoShares<Items = I>,
        handler: impl FnOnce(I) -> Fut + Send + 'static,
    ) -> Self
    where
        Fut: Future<Output = ()> + Send + 'static,
    {
        Self::with(total, parts, handler::once_async(handler), true)
    }

    /// Handles every `total` items with a future, which holds no thread while it waits.
    ///
    /// # Panics
    /// As [`MultipleItemGather::once`].
    pub fn persistent_async<Fut>(
        total: usize,
        parts: impl IntoShares<Items = I>,
        handler: impl Fn(I) -> Fut + Send + Sync + 'static,
    ) -> Self
    where
        Fut: Future<Output = ()> + Send + 'static,
    {
        Self::with(total, parts, handler::each_async(handler), false)
    }

    /// Puts the gather to work: queues its registration on `queue`, where its handlers will run.
    ///
    /// # Errors
    /// [`QueueError`] when the queue is full or stopped.
    #[track_caller]
    pub fn activate(self, queue: &impl Enqueue) -> Result<Activation, QueueError> {
        Activation::start(self, queue)
    }

    fn with(
        total: usize,
        parts: impl IntoShares<Items = I>,
        handler: AnyHandler<I>,
        once: bool,
    ) -> Self {
        assert!(
            total > 0,
            "MultipleItemGather takes at least one item at a time"
        );
        let inputs = parts.into_inputs();
        inputs.assert_hold(total);
        MultipleItemGather {
            inputs,
            total,
            handler,
            once,
        }
    }
}

impl<I: Send + 'static> Attach for MultipleItemGather<I> {
    type Ports = KeptPorts;

    fn attach(self, outlet: Outlet) -> (Arc<dyn Active>, KeptPorts) {
        self.inputs
            .assemble(self.total, self.handler, self.once, outlet)
    }

    fn is_once(&self) -> bool {
        self.once
    }
}

impl<I> fmt::Debug for MultipleItemGather<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MultipleItemGather")
            .field("ports", &self.inputs.ports())
            .field("total", &self.total)
            .field("once", &self.once)
            .finish_non_exhaustive()
    }
}
