//! What can go wrong when an item is posted.

use motet_dispatch::{InsideTask, QueueError};
use std::any::Any;
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
    /// The post would wait, on a thread that runs a task.
    InsideTask(InsideTask),
    /// The port is [closed](crate::Port::close).
    Closed,
}

impl<T> PostError<T> {
    /// The same error with the item as it is before it is wrapped, or wrapped.
    pub fn map<U>(self, wrap: impl FnOnce(T) -> U) -> PostError<U> {
        PostError {
            item: wrap(self.item),
            reason: self.reason,
        }
    }
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
            PostRefusal::InsideTask(reason) => reason.fmt(f),
            PostRefusal::Closed => f.write_str("the port is closed"),
        }
    }
}

impl std::error::Error for PostRefusal {}

impl From<QueueError> for PostRefusal {
    fn from(reason: QueueError) -> Self {
        PostRefusal::Queue(reason)
    }
}

impl From<InsideTask> for PostRefusal {
    fn from(reason: InsideTask) -> Self {
        PostRefusal::InsideTask(reason)
    }
}

/// An item of a type known at run time only that could not be posted to a port set.
#[non_exhaustive]
pub enum PostAnyError {
    /// The set has no port for the type of the item.
    PortNotFound {
        /// The item, as it was.
        item: Box<dyn Any + Send>,
        /// The types that the set has ports for.
        types: &'static str,
    },
    /// The port of its type refused it.
    Refused(PostError<Box<dyn Any + Send>>),
}

impl PostAnyError {
    /// The item, as it was.
    #[must_use]
    pub fn into_item(self) -> Box<dyn Any + Send> {
        match self {
            PostAnyError::PortNotFound { item, .. } => item,
            PostAnyError::Refused(refused) => refused.item,
        }
    }
}

impl fmt::Debug for PostAnyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PostAnyError::PortNotFound { types, .. } => f
                .debug_struct("PortNotFound")
                .field("types", types)
                .finish_non_exhaustive(),
            PostAnyError::Refused(refused) => f.debug_tuple("Refused").field(refused).finish(),
        }
    }
}

impl fmt::Display for PostAnyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PostAnyError::PortNotFound { types, .. } => write!(
                f,
                "item not posted: its type is none of the port set's, which are {types}; \
                 post one of these, or add a port for it"
            ),
            PostAnyError::Refused(refused) => refused.fmt(f),
        }
    }
}

impl std::error::Error for PostAnyError {}

/// Why a thread could not wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum BlockingError {
    /// The thread runs a task.
    InsideTask(InsideTask),
    /// The time is up.
    Elapsed,
    /// The port is closed, and nothing is left in it.
    Closed,
}

impl fmt::Display for BlockingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BlockingError::InsideTask(reason) => reason.fmt(f),
            BlockingError::Elapsed => f.write_str("the time of a blocking wait is up"),
            BlockingError::Closed => Closed.fmt(f),
        }
    }
}

impl std::error::Error for BlockingError {}

impl From<InsideTask> for BlockingError {
    fn from(reason: InsideTask) -> Self {
        BlockingError::InsideTask(reason)
    }
}

impl From<Closed> for BlockingError {
    fn from(_: Closed) -> Self {
        BlockingError::Closed
    }
}

/// The end of a wait: its ports are [closed](crate::Port::close), and too little is left in them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Closed;

impl fmt::Display for Closed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the ports waited at are closed, and too little is left in them")
    }
}

impl std::error::Error for Closed {}
