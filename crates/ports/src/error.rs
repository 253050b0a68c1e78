//! What can go wrong when an item is posted.

use motet_dispatch::QueueError;
use std::fmt;

/// An item that could not be posted, and why.
#[derive(Clone, PartialEq, Eq)]
pub struct PostError<T> {
    /// The item, as it was.
    pub item: T,
    /// What the queue of the receiver that wanted the item said.
    pub reason: QueueError,
}

// By hand, so that items need not be Debug.
impl<T> fmt::Debug for PostError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostError")
            .field("reason", &self.reason)
            .finish_non_exhaustive()
    }
}

impl<T> fmt::Display for PostError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "item not posted: {}", self.reason)
    }
}

impl<T> std::error::Error for PostError<T> {}
