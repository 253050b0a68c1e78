//! What can go wrong with topics, subscriptions and calls.

use crate::{Deed, KeyError, LogError, PeerName};
use std::fmt;

/// A sample that was not published, and why.
pub struct PublishError<T> {
    /// The value, as it was.
    pub value: T,
    /// What was in the way.
    pub reason: PublishRefusal,
}

/// Why a sample is not published. Nobody has got it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PublishRefusal {
    /// The queue for this subscriber is full: it holds as many samples as the topic's depth.
    Full {
        /// The node of the subscriber.
        subscriber: PeerName,
    },
    /// The value cannot be written: the serializer says why.
    NotWritable(String),
    /// The log of a durable topic does not take it.
    Log(LogError),
    /// A durable topic would wait for the disk, on a thread that runs tasks: await
    /// [`publish_wait`](crate::Topic::publish_wait) there.
    WouldWait,
    /// The node has left.
    Left,
}

/// Why a topic, a subscription or a server is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum MeshError {
    /// The text is not a key.
    Key(KeyError),
    /// The node has as many as it may have.
    TooMany {
        /// Of what.
        what: &'static str,
        /// How many are allowed.
        limit: usize,
    },
    /// A topic of this node under a matching key has samples of another type.
    Mismatch {
        /// The key of the topic.
        key: String,
        /// The type of its samples.
        published: &'static str,
        /// The type that the subscription wants.
        wanted: &'static str,
    },
    /// The log of a durable topic is not opened.
    Log(LogError),
    /// The node has no right to it.
    NotAllowed(NotAllowed),
    /// The node has left.
    Left,
}

/// Why a call has no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum CallError {
    /// Nobody answers calls under this key now.
    NoResponder {
        /// The key.
        key: String,
    },
    /// The node that was to answer is gone.
    Lost {
        /// The node.
        peer: PeerName,
    },
    /// A causality of the caller was cancelled: which, and why.
    Cancelled(String),
    /// The server dropped the request, or could not read it, or no frame holds its answer: why.
    Failed(String),
    /// The answer is not of the type that the caller wants.
    Unreadable(String),
    /// The request cannot be written, or no frame holds it.
    NotWritable(String),
    /// The text is not a key.
    Key(KeyError),
    /// The node has no right to it.
    NotAllowed(NotAllowed),
    /// The node has left.
    Left,
}

/// Something that a node may not do.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct NotAllowed {
    /// The node.
    pub node: PeerName,
    /// What it may not do.
    pub deed: Deed,
    /// Under which key.
    pub key: String,
}

impl<T> fmt::Debug for PublishError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PublishError")
            .field("reason", &self.reason)
            .finish_non_exhaustive()
    }
}

impl<T> fmt::Display for PublishError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not published: {}", self.reason)
    }
}

impl<T> std::error::Error for PublishError<T> {}

impl fmt::Display for PublishRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PublishRefusal::Full { subscriber } => write!(
                f,
                "the queue for the subscriber on {subscriber} is full; publish_wait waits for room"
            ),
            PublishRefusal::NotWritable(why) => write!(f, "the value cannot be written: {why}"),
            PublishRefusal::Log(why) => why.fmt(f),
            PublishRefusal::WouldWait => {
                f.write_str("a task must not wait for the disk: await publish_wait there")
            }
            PublishRefusal::Left => f.write_str("the node has left"),
        }
    }
}

impl fmt::Display for MeshError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MeshError::Key(error) => error.fmt(f),
            MeshError::TooMany { what, limit } => {
                write!(f, "too many {what}: a node has {limit} at most")
            }
            MeshError::Mismatch {
                key,
                published,
                wanted,
            } => write!(
                f,
                "topic {key:?} has samples of type {published}, and {wanted} is wanted"
            ),
            MeshError::Log(error) => error.fmt(f),
            MeshError::NotAllowed(refused) => refused.fmt(f),
            MeshError::Left => f.write_str("the node has left"),
        }
    }
}

impl std::error::Error for MeshError {}

impl From<KeyError> for MeshError {
    fn from(error: KeyError) -> Self {
        MeshError::Key(error)
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CallError::NoResponder { key } => write!(f, "nobody answers calls under {key:?}"),
            CallError::Lost { peer } => write!(f, "{peer} is gone before it answered"),
            CallError::Failed(why) => write!(f, "the server did not answer: {why}"),
            CallError::Cancelled(why) => write!(f, "the call is no longer wanted: {why}"),
            CallError::Unreadable(why) => write!(f, "the answer cannot be read: {why}"),
            CallError::NotWritable(why) => write!(f, "the request cannot be written: {why}"),
            CallError::Key(error) => error.fmt(f),
            CallError::NotAllowed(refused) => refused.fmt(f),
            CallError::Left => f.write_str("the node has left"),
        }
    }
}

impl std::error::Error for CallError {}

impl fmt::Display for NotAllowed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let NotAllowed { node, deed, key } = self;
        let (does, needs) = match deed {
            Deed::Publish => ("publish under", "--publish"),
            Deed::Subscribe => ("subscribe to", "--subscribe"),
            Deed::Call => ("call", "--publish and --subscribe"),
            Deed::Serve => ("answer calls under", "--publish and --subscribe"),
        };
        write!(
            f,
            "{node} may not {does} {key:?}: its pass does not cover that; join with one that has \
             {needs} {key}"
        )
    }
}

impl std::error::Error for NotAllowed {}

impl From<LogError> for MeshError {
    fn from(error: LogError) -> Self {
        MeshError::Log(error)
    }
}

impl From<NotAllowed> for MeshError {
    fn from(refused: NotAllowed) -> Self {
        MeshError::NotAllowed(refused)
    }
}

impl From<NotAllowed> for CallError {
    fn from(refused: NotAllowed) -> Self {
        CallError::NotAllowed(refused)
    }
}

impl From<KeyError> for CallError {
    fn from(error: KeyError) -> Self {
        CallError::Key(error)
    }
}
