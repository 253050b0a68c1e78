//! What a synchronous send waits for.

use motet_dispatch::Causalities;
use motet_ports::Port;
use motet_sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::Arc;

/// Places for messages from outside that were not received yet. Each free place is an item of the
/// port; who waits for one waits there.
#[derive(Debug)]
pub(crate) struct ReceiptSlots {
    pub(crate) free: Port<()>,
    closed: AtomicBool,
}

impl ReceiptSlots {
    pub(crate) fn new(places: usize) -> Self {
        let room = ReceiptSlots {
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
    /// What is free again when it has been received or is gone.
    holds: Option<Holds>,
}

/// What a message holds until then.
#[derive(Debug)]
enum Holds {
    /// A place, if it came from outside.
    Place(Arc<ReceiptSlots>),
    /// One of the messages that its sender may send; how many are under way.
    OneOf(Arc<AtomicUsize>),
}

impl Holds {
    fn free(&self) {
        match self {
            Holds::Place(room) => room.leave(),
            // Relaxed: its sender concludes nothing else from it, and finds it when it is woken for
            // the receipt.
            Holds::OneOf(count) => {
                count.fetch_sub(1, Ordering::Relaxed);
            }
        }
    }
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
            holds: None,
        }
    }

    /// Of a message from outside, which has a place there.
    pub(crate) fn in_room(room: &Arc<ReceiptSlots>) -> Self {
        let mut receipt = Receipt::of(Sender::Outside);
        receipt.holds = Some(Holds::Place(Arc::clone(room)));
        receipt
    }

    /// Of a message of this rank, which is one of `count` until it is received or gone.
    pub(crate) fn counted(sender: usize, count: &Arc<AtomicUsize>) -> Self {
        // Relaxed: as in `Holds::free`.
        count.fetch_add(1, Ordering::Relaxed);
        let mut receipt = Receipt::new(sender);
        receipt.holds = Some(Holds::OneOf(Arc::clone(count)));
        receipt
    }

    /// The message has been received; returns who waits for it, to be woken after a fence.
    pub(crate) fn sign(&self) -> Sender {
        let before = self.received.swap(true, Ordering::AcqRel);
        if let Some(holds) = self.holds.as_ref().filter(|_| !before) {
            holds.free();
        }
        self.sender
    }

    pub(crate) fn is_signed(&self) -> bool {
        self.received.load(Ordering::Acquire)
    }
}

impl Drop for Receipt {
    /// A message that is dropped holds nothing either.
    fn drop(&mut self) {
        if let Some(holds) = self.holds.take().filter(|_| !self.is_signed()) {
            holds.free();
        }
    }
}
