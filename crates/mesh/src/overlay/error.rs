//! Why an overlay does not do what was asked.

use crate::{KeyError, MeshError, PeerName};
use std::fmt;

/// Why a value was not written or read.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum OverlayError {
    /// The text is not a key.
    Key(KeyError),
    /// The value has more bytes than a value may have.
    TooLarge {
        /// The bytes of the value.
        bytes: usize,
        /// The limit: [`MAX_VALUE`](crate::MAX_VALUE).
        limit: usize,
    },
    /// No member that holds the key has room for the value: its store is full.
    Full {
        /// A member without room.
        member: PeerName,
    },
    /// No member that holds the key has answered: the last of them, and why.
    NoAnswer {
        /// The member.
        member: PeerName,
        /// Why.
        why: String,
    },
    /// The key has a version that no version of this member is newer than.
    Last {
        /// The key.
        key: String,
    },
    /// The value cannot be written as bytes: why.
    NotWritable(String),
    /// What was found is not of the type that is wanted: why.
    Unreadable(String),
    /// The node cannot have what a member needs.
    Mesh(MeshError),
}

impl fmt::Display for OverlayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OverlayError::Key(error) => error.fmt(f),
            OverlayError::TooLarge { bytes, limit } => write!(
                f,
                "the value has {bytes} bytes, and at most {limit} go into one; write it in pieces"
            ),
            OverlayError::Full { member } => write!(
                f,
                "{member}, which holds the key, has no room; raise OverlayConfig::most_bytes or add members"
            ),
            OverlayError::NoAnswer { member, why } => {
                write!(f, "{member}, which holds the key, does not answer: {why}")
            }
            OverlayError::Last { key } => write!(
                f,
                "no version of this member is newer than that of {key}; choose another key"
            ),
            OverlayError::NotWritable(why) => write!(f, "the value cannot be written: {why}"),
            OverlayError::Unreadable(why) => write!(f, "the value cannot be read: {why}"),
            OverlayError::Mesh(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for OverlayError {}

impl From<KeyError> for OverlayError {
    fn from(error: KeyError) -> Self {
        OverlayError::Key(error)
    }
}

impl From<MeshError> for OverlayError {
    fn from(error: MeshError) -> Self {
        OverlayError::Mesh(error)
    }
}
