//! Receivers that would take items that wait, had their queues room: they are offered them again
//! when there is some.
//!
//! An item that is posted and finds its receiver's queue full goes back to its poster. But items
//! that are in the port already have no poster to go back to, and wait for the queue. They are
//! there when a receiver is registered, or when a task gives them back.
//!
//! ```text
//!   offer: queue full ──> line for room ──> room is granted ──> task on that queue ──> offer again
//! ```
//!
//! The second offer is a task of the receiver's queue: whoever gives room up has other things to
//! do.

use super::PortCore;
use super::any::{AnyPort, PortOf};
use super::state::PortState;
use crate::deferred::Deferred;
use crate::delivery::QueueHandle;
use crate::receiver::Receiver;
use motet_dispatch::{ClaimedRoom, RoomLine, RoomWait, Task};
use motet_sync::Mutex;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Wake, Waker};

/// A receiver whose queue had no room.
pub(super) struct BlockedReceiver<T: Send + 'static> {
    receiver: Weak<dyn Receiver<T>>,
    queue: QueueHandle,
}

/// Waits in the line of the receiver's queue.
struct Retry {
    port: Weak<dyn AnyPort>,
    /// Its address: it stays that of this receiver as long as the port has it listed.
    receiver: usize,
    queue: QueueHandle,
    wait: Mutex<Option<RoomWait>>,
}

impl<T: Send + 'static> BlockedReceiver<T> {
    #[cold]
    pub(super) fn new(receiver: &Arc<dyn Receiver<T>>, queue: QueueHandle) -> Self {
        BlockedReceiver {
            receiver: Arc::downgrade(receiver),
            queue,
        }
    }

    /// Waits for room in its queue, unless it does already (`all` who do), once the port is
    /// unlocked.
    #[cold]
    pub(super) fn line_up(
        self,
        all: &mut Vec<Weak<dyn Receiver<T>>>,
        port: &Weak<dyn PortOf<T>>,
        deferred: &mut Deferred,
    ) {
        let BlockedReceiver { receiver, queue } = self;
        if all.iter().any(|other| other.ptr_eq(&receiver)) {
            return;
        }
        let Some(line) = queue.room() else {
            return;
        };
        let address = address(&receiver);
        all.push(receiver);
        let port: Weak<dyn PortOf<T>> = Weak::clone(port);
        Retry::begin(port, address, (queue, line), deferred);
    }
}

fn address<T: Send + 'static>(receiver: &Weak<dyn Receiver<T>>) -> usize {
    receiver.as_ptr().cast::<()>().addr()
}

impl<T: Send + 'static> PortState<T> {
    /// Offers the waiting items to a receiver again when the queue that had no room for the last
    /// claim has some.
    #[cold]
    pub(crate) fn offer_later(&mut self, receiver: &Arc<dyn Receiver<T>>, deferred: &mut Deferred) {
        if let Some(queue) = deferred.take_full() {
            BlockedReceiver::new(receiver, queue).line_up(&mut self.blocked, &self.this, deferred);
        }
    }

    /// Room has come: the receiver, if it is still here, is offered the waiting items.
    fn offer_again(&mut self, receiver: usize, deferred: &mut Deferred) {
        let mut blocked = self.blocked.iter();
        let Some(at) = blocked.position(|other| address(other) == receiver) else {
            return;
        };
        let Some(receiver) = self.blocked.remove(at).upgrade() else {
            return;
        };
        let here = |other: &Arc<dyn Receiver<T>>| Arc::ptr_eq(other, &receiver);
        if self.receivers.iter().any(here) && !self.offer_waiting(&receiver, deferred) {
            let left = self.remove(&*receiver);
            left.into_iter()
                .for_each(|receiver| deferred.drop_later(receiver));
        }
        deferred.drop_later(receiver);
    }
}

impl<T: Send + 'static> PortCore<T> {
    /// Room has come for a receiver that was blocked.
    pub(super) fn serve_blocked(&self, receiver: usize, room: ClaimedRoom) {
        let mut deferred = Deferred::with_room(Some(room));
        self.locked(|state| state.offer_again(receiver, &mut deferred));
        deferred.carry_out();
    }
}

impl Retry {
    /// Lines up once the port is unlocked.
    fn begin(
        port: Weak<dyn AnyPort>,
        receiver: usize,
        (queue, line): (QueueHandle, RoomLine),
        deferred: &mut Deferred,
    ) {
        deferred.call(move || {
            let wait = Mutex::new(Some(line.wait().listed(None)));
            Arc::new(Retry {
                port,
                receiver,
                queue,
                wait,
            })
            .look();
        });
    }

    /// Looks whether room has been granted.
    fn look(self: &Arc<Self>) {
        let waker = Waker::from(Arc::clone(self));
        let mut slot = self.wait.lock();
        let Some(wait) = &mut *slot else {
            return;
        };
        let Poll::Ready(granted) = Pin::new(wait).poll(&mut Context::from_waker(&waker)) else {
            return;
        };
        let ended = slot.take();
        drop(slot);
        drop(ended);
        // A stopped queue takes nothing any more; the items stay.
        if let Ok(room) = granted {
            let retry = Arc::clone(self);
            let serve = Task::new(move || retry.serve(room));
            self.queue.readmit(serve);
        }
    }

    fn serve(&self, room: ClaimedRoom) {
        if let Some(port) = self.port.upgrade() {
            port.serve_blocked(self.receiver, room);
        }
    }
}

impl Wake for Retry {
    fn wake(self: Arc<Self>) {
        self.look();
    }
}
