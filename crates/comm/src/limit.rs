//! A limit to the messages of one rank to another that were not received.

use crate::envelope::Receipt;
use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;
use std::sync::Arc;

/// What a send does when as many messages to its receiver as there may be were not received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SendOverflow {
    /// It sends nothing and ends with [`CommError::Full`](crate::CommError::Full).
    Reject,
    /// It waits until one has been received, and then sends. What does not wait (`isend`,
    /// `isend_slice`, the send of a `sendrecv`) sends all the same; the request of an `isend` ends
    /// when its own message has been received.
    Wait,
}

/// How many messages of one rank to another may wait to be received, and what then.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limit {
    pub(crate) messages: usize,
    pub(crate) overflow: SendOverflow,
}

/// What one rank has sent under a limit; all its communicators share it.
pub(crate) struct Outstanding {
    pub(crate) limit: Limit,
    /// By the receiver, a rank of the world: those that were not received when it was last looked.
    receipts: RefCell<HashMap<usize, VecDeque<Arc<Receipt>>>>,
}

impl Outstanding {
    pub(crate) fn new(limit: Limit) -> Rc<Self> {
        Rc::new(Outstanding {
            limit,
            receipts: RefCell::default(),
        })
    }

    /// Whether one more message to a rank of the world may wait there.
    pub(crate) fn has_room(&self, dest: usize) -> bool {
        let mut receipts = self.receipts.borrow_mut();
        let Some(receipts) = receipts.get_mut(&dest) else {
            return true;
        };
        if receipts.len() >= self.limit.messages {
            // A message that was dropped needs no room either: its receipt is ours alone.
            receipts.retain(|one| !one.is_signed() && Arc::strong_count(one) > 1);
        }
        receipts.len() < self.limit.messages
    }

    /// A message to a rank of the world goes out.
    pub(crate) fn add(&self, dest: usize, receipt: &Arc<Receipt>) {
        let mut receipts = self.receipts.borrow_mut();
        receipts
            .entry(dest)
            .or_default()
            .push_back(Arc::clone(receipt));
    }
}
