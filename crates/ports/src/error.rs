//! What can go wrong when an item is posted.

use motet_dispatch::QueueError;
use std::fmt;

/// An item that could not be posted, and why.
#[derive(Clone, PartialEq, Eq)]
pub struct PostError<T> {
    /// The item, as it was.
    pub item: T,
    /// What was in the way.
    pub reason: PostRefusal,
}

/// Why a port does not take an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum PostRefusal {
    /// The port holds as many items as its capacity allows, or others wait to post before.
    PortFull,
    /// The queue of the receiver that wanted the item has no room.
    Queue(QueueError),
    /// The caller would block a worker of a dispatcher.
    OnWorker,
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

impl fmt::Display for PostRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PostRefusal::PortFull => f.write_str("the port holds as many items as it may"),
            PostRefusal::Queue(reason) => reason.fmt(f),
            PostRefusal::OnWorker => {
                f.write_str("a worker must not block until there is room; await it instead")
            }
        }
    }
}

impl std::error::Error for PostRefusal {}

impl From<QueueError> for PostRefusal {
    fn from(reason: QueueError) -> Self {
        PostRefusal::Queue(reason)
    }
}
