//! Items that wait for a receiver which had enough: they are offered to it again when it has not.

use super::PortCore;
use super::blocked_receiver::BlockedReceiver;
use super::state::PortState;
use crate::deferred::Deferred;
use crate::port_items::End;
use crate::receiver::{Offer, Receiver};
use motet_dispatch::BoxList;
use std::sync::Arc;

impl<T: Send + 'static> PortCore<T> {
    /// Calls `begin` under the port's lock. Then offers the waiting items, oldest first, to a
    /// receiver if it is registered, as long as it `wants` more.
    pub(crate) fn offer_again(
        &self,
        receiver: &Arc<dyn Receiver<T>>,
        begin: &dyn Fn(),
        wants: &dyn Fn() -> bool,
    ) {
        let mut deferred = Deferred::default();
        self.locked(|state| {
            begin();
            if state.receivers().any(|other| Arc::ptr_eq(other, receiver)) {
                state.offer_while(receiver, wants, &mut deferred);
            }
        });
        deferred.carry_out();
    }
}

impl<T: Send + 'static> PortState<T> {
    fn offer_while(
        &mut self,
        receiver: &Arc<dyn Receiver<T>>,
        wants: &dyn Fn() -> bool,
        deferred: &mut Deferred,
    ) {
        self.unpile();
        let (mut kept, mut ended) = (BoxList::new(), false);
        while !ended
            && !self.nodes().is_empty()
            && wants()
            && let Some(parcel) = self.nodes().pop_front()
        {
            let mut offer = Offer::new(parcel, End::Back, &mut kept, deferred);
            // What is refused for want of room stays in the port like what is rejected.
            let _verdict = receiver.offer(&mut offer);
            let leaves = offer.receiver_leaves();
            let full = offer.deferred().take_full();
            ended = leaves || full.is_some();
            if let Some(parcel) = offer.into_parcel() {
                kept.push_back(parcel);
            }
            if let Some(queue) = full {
                BlockedReceiver::new(receiver, queue).line_up(
                    &mut self.blocked,
                    &self.this,
                    deferred,
                );
            }
            if leaves && let Some(left) = self.remove(&**receiver) {
                deferred.drop_later(left);
            }
        }
        kept.append(std::mem::take(self.nodes()));
        *self.nodes() = kept;
        self.let_in_later(deferred);
    }
}
