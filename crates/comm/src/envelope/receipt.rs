//! What a synchronous send waits for.

use motet_sync::atomic::{AtomicBool, Ordering};

/// Says that a message has been received.
#[derive(Debug)]
pub(crate) struct Receipt {
    sender: Sender,
    received: AtomicBool,
}

/// Who waits for a receipt.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Sender {
    /// This rank of the world, in this process.
    Here(usize),
    /// Another process, which keeps its receipt under this number.
    There(usize, u64),
}

impl Receipt {
    pub(crate) fn new(sender: usize) -> Self {
        Receipt::of(Sender::Here(sender))
    }

    pub(super) fn of(sender: Sender) -> Self {
        Receipt {
            sender,
            received: AtomicBool::new(false),
        }
    }

    /// The message has been received; returns who waits for it, to be woken after a fence.
    pub(crate) fn sign(&self) -> Sender {
        self.received.store(true, Ordering::Release);
        self.sender
    }

    pub(crate) fn is_signed(&self) -> bool {
        self.received.load(Ordering::Acquire)
    }
}
