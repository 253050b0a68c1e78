//! What a synchronous send waits for.

use motet_dispatch::Causalities;
use motet_ports::Port;
use motet_sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

/// Places for messages from outside that were not received yet. Each free place is an item of the
/// port; who waits for one waits there.
#[derive(Debug)]
pub(crate) struct Room {
    pub(crate) free: Port<()>,
    closed: AtomicBool,
}

impl Room {
    pub(crate) fn new(places: usize) -> Self {
        let room = Room {
            free: Port::new(),
            closed: AtomicBool::new(false),
        };
        (0..places).for_each(|_| room.leave());
        room
    }

    /// A place is free.
    pub(crate) fn leave(&self) {
        let posted = Causalities::none().run(|| self.free.post(()));
        debug_assert!(posted.is_ok(), "a port without a bound refuses nothing");
    }

    /// Nobody comes in any more: one who waits for a place is woken, and wakes the next.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.leave();
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }
}

/// Says that a message has been received.
#[derive(Debug)]
pub(crate) struct Receipt {
    sender: Sender,
    received: AtomicBool,
    /// The place that the message has, if it came from outside.
    room: Option<Arc<Room>>,
}

/// Who waits for a receipt.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Sender {
    /// This rank of the world, in this process.
    Here(usize),
    /// Another process, which keeps its receipt under this number.
    There(usize, u64),
    /// Nobody: it came from outside.
    Outside,
}

impl Receipt {
    pub(crate) fn new(sender: usize) -> Self {
        Receipt::of(Sender::Here(sender))
    }

    pub(super) fn of(sender: Sender) -> Self {
        Receipt {
            sender,
            received: AtomicBool::new(false),
            room: None,
        }
    }

    /// Of a message from outside, which has a place there.
    pub(crate) fn in_room(room: &Arc<Room>) -> Self {
        let mut receipt = Receipt::of(Sender::Outside);
        receipt.room = Some(Arc::clone(room));
        receipt
    }

    /// The message has been received; returns who waits for it, to be woken after a fence.
    pub(crate) fn sign(&self) -> Sender {
        let before = self.received.swap(true, Ordering::AcqRel);
        if let Some(room) = self.room.as_ref().filter(|_| !before) {
            room.leave();
        }
        self.sender
    }

    pub(crate) fn is_signed(&self) -> bool {
        self.received.load(Ordering::Acquire)
    }
}

impl Drop for Receipt {
    /// A message that is dropped needs no place either.
    fn drop(&mut self) {
        if let Some(room) = self.room.take().filter(|_| !self.is_signed()) {
            room.leave();
        }
    }
}
