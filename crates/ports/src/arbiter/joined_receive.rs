//! JoinedReceive: each handler run takes items of several ports, whose types may differ.

use super::inputs::{IntoParts, JoinInputs, KeptPorts};
use crate::activation::{Activation, Active, Attach};
use crate::handler::{self, AnyHandler};
use crate::outlet::Outlet;
use motet_dispatch::{Enqueue, QueueError};
use std::fmt;
use std::future::Future;
use std::sync::Arc;

/// Each handler run takes items of several ports, whose types may differ (papers R026): all or
/// none, in one step. While one is missing the others stay in their ports, visible, and others may
/// take them. Joins on the same ports in any order neither deadlock nor starve.
///
/// The parts are a tuple of one to twelve:
///
/// - `&port` takes one item.
/// - [`port.times(n)`](crate::Port::times) takes several.
/// - [`port.when(guard)`](crate::Port::when) takes one that a guard wants.
/// - [`port.one_each(guards)`](crate::Port::one_each) takes one for each guard.
///
/// The handler gets a tuple with an item, or a `Vec` of items, for each part.
///
/// ```
/// use motet_dispatch::Inline;
/// use motet_ports::{JoinedReceive, Port};
///
/// let (names, ages, people) = (Port::new(), Port::new(), Port::new());
/// let out = people.clone();
/// JoinedReceive::persistent((&names, &ages), move |(name, age): (&str, u32)| {
///     out.post((name, age)).unwrap();
/// })
/// .activate(&Inline::new("here"))
/// .unwrap();
/// names.post("Ada").unwrap();
/// assert_eq!(names.item_count(), 1, "it waits in its port");
/// ages.post(36).unwrap();
/// assert_eq!(people.test(), Some(("Ada", 36)));
/// ```
///
/// Different numbers of different ports:
///
/// ```
/// use motet_dispatch::Inline;
/// use motet_ports::{JoinedReceive, Port};
///
/// let (wheels, frames, bicycles) = (Port::new(), Port::new(), Port::new());
/// let out = bicycles.clone();
/// JoinedReceive::persistent((wheels.times(2), &frames), move |(wheels, frame)| {
///     out.post((wheels, frame)).unwrap();
/// })
/// .activate(&Inline::new("here"))
/// .unwrap();
/// frames.post("red").unwrap();
/// (1..=3).for_each(|wheel| wheels.post(wheel).unwrap());
/// assert_eq!(bicycles.items(), [(vec![1, 2], "red")]);
/// ```
#[must_use = "a receive does nothing until it is activated"]
pub struct JoinedReceive<I> {
    inputs: JoinInputs<I>,
    handler: AnyHandler<I>,
    once: bool,
}

impl<I: Send + 'static> JoinedReceive<I> {
    /// Handles one set of items.
    ///
    /// # Panics
    /// When a port is named twice: one part may take several items of its port. When a bounded port
    /// never has as many as its part takes.
    pub fn once(
        parts: impl IntoParts<Items = I>,
        handler: impl FnOnce(I) + Send + 'static,
    ) -> Self {
        Self::with(parts, handler::once(handler), true)
    }

    /// Handles every set of items: the oldest of each port with the oldest of the others.
    ///
    /// # Panics
    /// As [`JoinedReceive::once`].
    pub fn persistent(
        parts: impl IntoParts<Items = I>,
        handler: impl Fn(I) + Send + Sync + 'static,
    ) -> Self {
        Self::with(parts, handler::each(handler), false)
    }

    /// Handles one set of items with a future, which holds no thread while it waits.
    ///
    /// # Panics
    /// As [`JoinedReceive::once`].
    pub fn once_async<Fut>(
        parts: impl IntoParts<Items = I>,
        handler: impl FnOnce(I) -> Fut + Send + 'static,
    ) -> Self
    where
        Fut: Future<Output = ()> + Send + 'static,
    {
        Self::with(parts, handler::once_async(handler), true)
    }

    /// Handles every set of items with a future, which holds no thread while it waits.
    ///
    /// # Panics
    /// As [`JoinedReceive::once`].
    pub fn persistent_async<Fut>(
        parts: impl IntoParts<Items = I>,
        handler: impl Fn(I) -> Fut + Send + Sync + 'static,
    ) -> Self
    where
        Fut: Future<Output = ()> + Send + 'static,
    {
        Self::with(parts, handler::each_async(handler), false)
    }

    /// Puts the join to work: queues its registration on `queue`, where its handlers will run.
    ///
    /// # Errors
    /// [`QueueError`] when the queue is full or stopped.
    #[track_caller]
    pub fn activate(self, queue: &impl Enqueue) -> Result<Activation, QueueError> {
        Activation::start(self, queue)
    }

    /// Handles items of parts that have been made.
    pub(crate) fn of(inputs: JoinInputs<I>, handler: AnyHandler<I>, once: bool) -> Self {
        JoinedReceive {
            inputs,
            handler,
            once,
        }
    }

    fn with(parts: impl IntoParts<Items = I>, handler: AnyHandler<I>, once: bool) -> Self {
        Self::of(parts.into_inputs(), handler, once)
    }
}

impl<I: Send + 'static> Attach for JoinedReceive<I> {
    type Ports = KeptPorts;

    fn attach(self, outlet: Outlet) -> (Arc<dyn Active>, KeptPorts) {
        self.inputs.assemble(0, self.handler, self.once, outlet)
    }

    fn is_once(&self) -> bool {
        self.once
    }
}

impl<I> fmt::Debug for JoinedReceive<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinedReceive")
            .field("ports", &self.inputs.ports())
            .field("once", &self.once)
            .finish_non_exhaustive()
    }
}
