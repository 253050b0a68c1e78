//! What a handler takes, said without the handler: a port, a part of one, or a tuple of parts.

use super::inputs::IntoParts;
use super::joined_receive::JoinedReceive;
use super::multiple_item_receive::MultipleItemReceive;
use super::part::{Batch, Part};
use super::receive::Receive;
use crate::activation::{Active, Attach};
use crate::handler::AnyHandler;
use crate::outlet::Outlet;
use crate::port::Port;
use std::fmt;
use std::sync::Arc;

/// What the members of a [`StatefulInterleave`](crate::StatefulInterleave) take, made by
/// [`IntoMemberSource`].
pub struct MemberSource<I> {
    attach: Box<Make<I>>,
    name: &'static str,
}

/// Makes the arbiter for a handler, which takes items once if so wanted.
type Make<I> = dyn FnOnce(AnyHandler<I>, bool, Outlet) -> Attached + Send;

/// An arbiter that is not registered yet, and its [ports](Attach::Ports).
type Attached = (Arc<dyn Active>, Box<dyn Send>);

/// What a handler can take:
///
/// | source | the handler gets |
/// |---|---|
/// | `&port` | an item |
/// | [`port.when(guard)`](Port::when) | an item that the guard wants |
/// | [`port.times(n)`](Port::times) | a `Vec` of `n` items |
/// | a tuple of these, as for a [`JoinedReceive`] | a tuple, all or none |
pub trait IntoMemberSource {
    /// What the handler gets.
    type Given: Send + 'static;

    /// Makes the source.
    fn into_source(self) -> MemberSource<Self::Given>;
}

impl<I> MemberSource<I> {
    fn new<A: Attach + 'static>(
        name: &'static str,
        make: impl FnOnce(AnyHandler<I>, bool) -> A + Send + 'static,
    ) -> Self {
        MemberSource {
            name,
            attach: Box::new(move |handler, once, outlet| {
                let (active, ports) = make(handler, once).attach(outlet);
                (active, Box::new(ports))
            }),
        }
    }

    /// The kind of arbiter, for reports.
    pub(super) fn name(&self) -> &'static str {
        self.name
    }

    /// Makes the arbiter, which is not registered yet.
    pub(super) fn attach(self, handler: AnyHandler<I>, once: bool, outlet: Outlet) -> Attached {
        (self.attach)(handler, once, outlet)
    }
}

impl<T: Send + 'static> IntoMemberSource for &Port<T> {
    type Given = T;

    fn into_source(self) -> MemberSource<T> {
        let port = self.clone();
        MemberSource::new("Receive", move |handler, once| {
            Receive::with(&port, handler, once)
        })
    }
}

impl<T: Send + 'static> IntoMemberSource for Part<T> {
    type Given = T;

    fn into_source(self) -> MemberSource<T> {
        MemberSource::new("Receive", move |handler, once| {
            Receive::of(self, handler, once)
        })
    }
}

impl<T: Send + 'static> IntoMemberSource for Batch<T> {
    type Given = Vec<T>;

    fn into_source(self) -> MemberSource<Vec<T>> {
        MemberSource::new("MultipleItemReceive", move |handler, once| {
            MultipleItemReceive::of(self, handler, once)
        })
    }
}

impl<P: IntoParts> IntoMemberSource for P {
    type Given = P::Items;

    fn into_source(self) -> MemberSource<P::Items> {
        let inputs = self.into_inputs();
        MemberSource::new("JoinedReceive", move |handler, once| {
            JoinedReceive::of(inputs, handler, once)
        })
    }
}

impl<I> fmt::Debug for MemberSource<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemberSource")
            .field("arbiter", &self.name)
            .finish_non_exhaustive()
    }
}
