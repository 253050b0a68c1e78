//! A limit to the messages of one rank to another that were not received.

use crate::envelope::Receipt;
use motet_sync::atomic::{AtomicUsize, Ordering};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

/// What a send does when as many messages to its receiver as there may be were not received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SendOverflow {
    /// It sends nothing and ends with [`CommError::Full`](crate::CommError::Full).
    Reject,
    /// It waits until one has been received, and then sends. What does not wait (`isend`,
    /// `isend_slice`, the send of a `sendrecv`) sends all the same. The request of an `isend`, or
    /// of a persistent send, ends when its own message has been received; that of an `isend_slice`
    /// when there is room for its message, or that has been received.
    Wait,
}

/// How many messages of one rank to another may wait to be received, and what then.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SendLimit {
    pub(crate) messages: usize,
    pub(crate) overflow: SendOverflow,
}

/// What one rank has sent under a limit; all its communicators share it.
pub(crate) struct Outstanding {
    pub(crate) limit: SendLimit,
    /// By the receiver, a rank of the world: how many messages were not received.
    counts: RefCell<HashMap<usize, Arc<AtomicUsize>>>,
}

impl Outstanding {
    pub(crate) fn new(limit: SendLimit) -> Rc<Self> {
        Rc::new(Outstanding {
            limit,
            counts: RefCell::default(),
        })
    }

    /// Whether one more message to a rank of the world may wait there.
    pub(crate) fn has_room(&self, dest: usize) -> bool {
        let counts = self.counts.borrow();
        // Relaxed: others only take from it.
        let count = counts.get(&dest);
        count.is_none_or(|count| count.load(Ordering::Relaxed) < self.limit.messages)
    }

    /// Whether no more messages wait there than may.
    pub(crate) fn fits(&self, dest: usize) -> bool {
        let counts = self.counts.borrow();
        // Relaxed: as above.
        let count = counts.get(&dest);
        count.is_none_or(|count| count.load(Ordering::Relaxed) <= self.limit.messages)
    }

    /// The receipt of a message that `sender` sends to a rank of the world.
    pub(crate) fn receipt(&self, sender: usize, dest: usize) -> Arc<Receipt> {
        let mut counts = self.counts.borrow_mut();
        let count = counts.entry(dest).or_default();
        Arc::new(Receipt::counted(sender, count))
    }
}
