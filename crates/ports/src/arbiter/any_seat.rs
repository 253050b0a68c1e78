//! A seat whose types are not known any more, so that one kernel can ask all seats of an arbiter.

use super::join_gate::Gate;
use super::join_seat::{AnyPort, Rule, Seat};
use crate::deferred::Deferred;
use crate::predicate::Asker;
use crate::receiver::Receiver;
use motet_dispatch::WaitPart;
use std::any::Any;
use std::sync::Arc;

/// A seat whose types are not known any more; `D` is what the arbiter registers on its ports.
pub(crate) trait AnySeat<D> {
    fn port(&self) -> Option<Arc<dyn AnyPort>>;

    /// Whether the part wants some items only.
    fn is_guarded(&self) -> bool;

    /// How many items must be there; 0 for a share of a number.
    fn needed(&self) -> usize;

    /// Whether the part may ever take the offered item.
    fn wants(&self, offered: &dyn Any, asker: &mut Asker<'_>) -> bool;

    /// Locks the port and lends its items to `body`; registers the side if `body` says so.
    fn begin(&self, side: &Arc<D>, body: &mut dyn FnMut(&mut dyn Any) -> bool);

    /// Registers the side. The caller holds the domain's lock.
    fn register(&self, side: &Arc<D>);

    /// Offers the side what waits again, when the queue that had no room for the last claim has
    /// some.
    fn feed_later(&self, side: &Arc<D>, deferred: &mut Deferred);

    /// Takes the side off the port. The caller holds the domain's lock.
    fn leave(&self, side: &Arc<D>, deferred: &mut Deferred);

    /// Takes the side off the port.
    fn unregister(&self, side: &Arc<D>);

    /// Closes the gate under the port's lock.
    fn close(&self, gate: &Gate);

    /// The port in a few words.
    fn label(&self) -> String;

    /// What is taken, in a few words.
    fn takes(&self) -> String;

    /// What is waited for at the port.
    fn awaits(&self) -> WaitPart;
}

impl<R: Rule, D: Receiver<R::Item> + 'static> AnySeat<D> for Seat<R> {
    fn port(&self) -> Option<Arc<dyn AnyPort>> {
        Seat::port(self).map(|port| port as Arc<dyn AnyPort>)
    }

    fn is_guarded(&self) -> bool {
        Seat::is_guarded(self)
    }

    fn needed(&self) -> usize {
        Seat::needed(self)
    }

    fn wants(&self, offered: &dyn Any, asker: &mut Asker<'_>) -> bool {
        Seat::wants(self, offered, asker)
    }

    fn begin(&self, side: &Arc<D>, body: &mut dyn FnMut(&mut dyn Any) -> bool) {
        Seat::begin(self, Arc::clone(side) as _, body);
    }

    fn register(&self, side: &Arc<D>) {
        Seat::register(self, Arc::clone(side) as _);
    }

    fn feed_later(&self, side: &Arc<D>, deferred: &mut Deferred) {
        Seat::feed_later(self, &(Arc::clone(side) as _), deferred);
    }

    fn leave(&self, side: &Arc<D>, deferred: &mut Deferred) {
        Seat::leave(self, &(Arc::clone(side) as _), deferred);
    }

    fn unregister(&self, side: &Arc<D>) {
        Seat::unregister(self, &(Arc::clone(side) as _));
    }

    fn close(&self, gate: &Gate) {
        Seat::close(self, gate);
    }

    fn label(&self) -> String {
        Seat::label(self)
    }

    fn takes(&self) -> String {
        Seat::takes(self)
    }

    fn awaits(&self) -> WaitPart {
        Seat::awaits(self)
    }
}
