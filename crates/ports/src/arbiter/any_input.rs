//! An input whose types are not known any more, so that one kernel can ask all inputs of an
//! arbiter.

use super::join_gate::JoinGate;
use super::join_input::{Input, Rule};
use crate::deferred::Deferred;
use crate::port::AnyPort;
use crate::predicate::Asker;
use crate::receiver::Receiver;
use motet_dispatch::WaitPart;
use std::any::Any;
use std::sync::Arc;

/// An input whose types are not known any more; `D` is what the arbiter registers on its ports.
pub(crate) trait AnyInput<D> {
    fn port(&self) -> Option<Arc<dyn AnyPort>>;

    /// Whether the part wants some items only.
    fn is_guarded(&self) -> bool;

    /// How many items must be there; 0 for a share of a number.
    fn needed(&self) -> usize;

    /// Whether the part may ever take the offered item.
    fn wants(&self, offered: &dyn Any, asker: &mut Asker<'_>) -> bool;

    /// Locks the port and lends its items to `body`; registers the receiver if `body` says so.
    fn begin(&self, receiver: &Arc<D>, body: &mut dyn FnMut(&mut dyn Any) -> bool);

    /// Registers the receiver. The caller holds the domain's lock.
    fn register(&self, receiver: &Arc<D>);

    /// Offers the receiver what waits again, when the queue that had no room for the last claim has
    /// some.
    fn offer_later(&self, receiver: &Arc<D>, deferred: &mut Deferred);

    /// Takes the receiver off the port. The caller holds the domain's lock.
    fn leave(&self, receiver: &Arc<D>, deferred: &mut Deferred);

    /// Takes the receiver off the port.
    fn unregister(&self, receiver: &Arc<D>);

    /// Closes the gate under the port's lock.
    fn close(&self, gate: &JoinGate);

    /// The port in a few words.
    fn label(&self) -> String;

    /// What is taken, in a few words.
    fn takes(&self) -> String;

    /// What is waited for at the port.
    fn awaits(&self) -> WaitPart;
}

impl<R: Rule, D: Receiver<R::Item> + 'static> AnyInput<D> for Input<R> {
    fn port(&self) -> Option<Arc<dyn AnyPort>> {
        Input::port(self).map(|port| port as Arc<dyn AnyPort>)
    }

    fn is_guarded(&self) -> bool {
        Input::is_guarded(self)
    }

    fn needed(&self) -> usize {
        Input::needed(self)
    }

    fn wants(&self, offered: &dyn Any, asker: &mut Asker<'_>) -> bool {
        Input::wants(self, offered, asker)
    }

    fn begin(&self, receiver: &Arc<D>, body: &mut dyn FnMut(&mut dyn Any) -> bool) {
        Input::begin(self, Arc::clone(receiver) as _, body);
    }

    fn register(&self, receiver: &Arc<D>) {
        Input::register(self, Arc::clone(receiver) as _);
    }

    fn offer_later(&self, receiver: &Arc<D>, deferred: &mut Deferred) {
        Input::offer_later(self, &(Arc::clone(receiver) as _), deferred);
    }

    fn leave(&self, receiver: &Arc<D>, deferred: &mut Deferred) {
        Input::leave(self, &(Arc::clone(receiver) as _), deferred);
    }

    fn unregister(&self, receiver: &Arc<D>) {
        Input::unregister(self, &(Arc::clone(receiver) as _));
    }

    fn close(&self, gate: &JoinGate) {
        Input::close(self, gate);
    }

    fn label(&self) -> String {
        Input::label(self)
    }

    fn takes(&self) -> String {
        Input::takes(self)
    }

    fn awaits(&self) -> WaitPart {
        Input::awaits(self)
    }
}
