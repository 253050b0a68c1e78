//! MultiplePortReceive: each handler run takes an item of each of any number of ports of one type.

use super::inputs::{IntoPartList, JoinInputs, KeptPorts};
use crate::activation::{Activation, Active, Attach};
use crate::handler::{self, AnyHandler};
use crate::outlet::Outlet;
use motet_dispatch::{Enqueue, QueueError};
use std::fmt;
use std::future::Future;
use std::sync::Arc;

/// Each handler run takes an item of each of any number of ports of one type (papers R025). It
/// takes all or none, in one step, as [`JoinedReceive`](crate::JoinedReceive) does. The items come
/// in the order of the ports, whatever the order in which they were posted.
///
/// The parts are ports, or what [`Port::when`](crate::Port::when) makes of them. Or else all are
/// what [`Port::times`](crate::Port::times) makes, and the handler gets a `Vec` for each port.
///
/// ```
/// use motet_dispatch::Inline;
/// use motet_ports::{MultiplePortReceive, Port};
///
/// let ports: Vec<Port<usize>> = (0..4).map(|_| Port::new()).collect();
/// let rows = Port::new();
/// let out = rows.clone();
/// MultiplePortReceive::persistent(&ports, move |numbers| out.post(numbers).unwrap())
///     .activate(&Inline::new("here"))
///     .unwrap();
/// [3, 1, 0, 2].into_iter().for_each(|n| ports[n].post(n).unwrap());
/// assert_eq!(rows.items(), [[0, 1, 2, 3]]);
/// ```
#[must_use = "a receive does nothing until it is activated"]
pub struct MultiplePortReceive<G> {
    inputs: JoinInputs<Vec<G>>,
    handler: AnyHandler<Vec<G>>,
    once: bool,
}

impl<G: Send + 'static> MultiplePortReceive<G> {
    /// Handles one set of items.
    ///
    /// # Panics
    /// When there is no port, a port is named twice, or a bounded port never has as many items as
    /// its part takes.
    pub fn once(
        parts: impl IntoPartList<Given = G>,
        handler: impl FnOnce(Vec<G>) + Send + 'static,
    ) -> Self {
        Self::with(parts, handler::once(handler), true)
    }

    /// Handles every set of items: the oldest of each port with the oldest of the others.
    ///
    /// # Panics
    /// As [`MultiplePortReceive::once`].
    pub fn persistent(
        parts: impl IntoPartList<Given = G>,
        handler: impl Fn(Vec<G>) + Send + Sync + 'static,
    ) -> Self {
        Self::with(parts, handler::each(handler), false)
    }

    /// Handles one set of items with a future, which holds no thread while it waits.
    ///
    /// # Panics
    /// As [`MultiplePortReceive::once`].
    pub fn once_async<Fut>(
        parts: impl IntoPartList<Given = G>,
        handler: impl FnOnce(Vec<G>) -> Fut + Send + 'static,
    ) -> Self
    where
        Fut: Future<Output = ()> + Send + 'static,
    {
        Self::with(parts, handler::once_async(handler), true)
    }

    /// Handles every set of items with a future, which holds no thread while it waits.
    ///
    /// # Panics
    /// As [`MultiplePortReceive::once`].
    pub fn persistent_async<Fut>(
        parts: impl IntoPartList<Given = G>,
        handler: impl Fn(Vec<G>) -> Fut + Send + Sync + 'static,
    ) -> Self
    where
        Fut: Future<Output = ()> + Send + 'static,
    {
        Self::with(parts, handler::each_async(handler), false)
    }

    /// Puts the receive to work: queues its registration on `queue`, where its handlers will run.
    ///
    /// # Errors
    /// [`QueueError`] when the queue is full or stopped.
    #[track_caller]
    pub fn activate(self, queue: &impl Enqueue) -> Result<Activation, QueueError> {
        Activation::start(self, queue)
    }

    fn with(parts: impl IntoPartList<Given = G>, handler: AnyHandler<Vec<G>>, once: bool) -> Self {
        let inputs = parts.into_inputs();
        assert!(
            inputs.ports() > 0,
            "MultiplePortReceive takes items of at least one port"
        );
        MultiplePortReceive {
            inputs,
            handler,
            once,
        }
    }
}

impl<G: Send + 'static> Attach for MultiplePortReceive<G> {
    type Ports = KeptPorts;

    fn attach(self, outlet: Outlet) -> (Arc<dyn Active>, KeptPorts) {
        self.inputs.assemble(0, self.handler, self.once, outlet)
    }

    fn is_once(&self) -> bool {
        self.once
    }
}

impl<G> fmt::Debug for MultiplePortReceive<G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MultiplePortReceive")
            .field("ports", &self.inputs.ports())
            .field("once", &self.once)
            .finish_non_exhaustive()
    }
}
