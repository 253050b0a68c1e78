//! What becomes of a reply that does not arrive.

use super::ReplyPort;
use crate::PostError;
use std::fmt;
use std::panic::Location;

/// There will be no answer: the reply port was dropped without one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct NoReply {
    /// The line of the program that asked.
    pub asked_at: &'static Location<'static>,
}

impl NoReply {
    pub(super) fn new(asked_at: &'static Location<'static>) -> Self {
        NoReply { asked_at }
    }
}

impl fmt::Display for NoReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "no reply to the request made at {}: its reply port was dropped without an answer",
            self.asked_at
        )
    }
}

impl std::error::Error for NoReply {}

/// An answer that did not reach the asker, and why.
#[non_exhaustive]
pub enum ReplyError<T: Send + 'static> {
    /// Nobody waits for the answer any more.
    Unwanted(T),
    /// The port of the answers refused it. With the reply port one may try again.
    Refused(PostError<T>, ReplyPort<T>),
}

impl<T: Send + 'static> ReplyError<T> {
    /// The answer, as it was.
    #[must_use]
    pub fn into_item(self) -> T {
        match self {
            ReplyError::Unwanted(item) => item,
            ReplyError::Refused(refused, _) => refused.item,
        }
    }
}

impl<T: Send + 'static> fmt::Debug for ReplyError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReplyError::Unwanted(_) => f.write_str("Unwanted(..)"),
            ReplyError::Refused(refused, _) => f.debug_tuple("Refused").field(refused).finish(),
        }
    }
}

impl<T: Send + 'static> fmt::Display for ReplyError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReplyError::Unwanted(_) => {
                f.write_str("answer not given: nobody waits for it any more")
            }
            ReplyError::Refused(refused, _) => write!(f, "answer not given: {refused}"),
        }
    }
}

impl<T: Send + 'static> std::error::Error for ReplyError<T> {}
