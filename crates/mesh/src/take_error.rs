//! Why items of remote ports are not taken.

use crate::CallError;
use std::fmt;

/// Why nothing was taken, or not everything.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum TakeError {
    /// The port cannot be asked: its key, and why.
    Call(String, CallError),
    /// The port is closed and empty: its key.
    Closed(String),
    /// The port is named twice: its key.
    Twice(String),
    /// The item cannot be read: the key of its port, and why. It is taken.
    Unreadable(String, String),
    /// The link to the owner of a port broke while items were taken, and did not come back in time:
    /// the key. The items of the other ports are taken; that of this port is taken, or back in it.
    InDoubt(String),
    /// The owner gave the item of a port up while items were taken: the key. It is back in its
    /// port, and the items of other ports may be taken.
    Withdrawn(String),
    /// There is nothing to take from.
    Nothing,
}

impl fmt::Display for TakeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TakeError::Call(key, error) => write!(f, "port {key:?}: {error}"),
            TakeError::Closed(key) => write!(f, "port {key:?} is closed, and empty"),
            TakeError::Twice(key) => {
                write!(
                    f,
                    "port {key:?} is named twice; take two items one after the other"
                )
            }
            TakeError::Unreadable(key, why) => {
                write!(
                    f,
                    "an item of port {key:?} cannot be read: {why}; it is taken"
                )
            }
            TakeError::InDoubt(key) => write!(
                f,
                "the owner of port {key:?} was lost while items were taken: its item may be back in the port"
            ),
            TakeError::Withdrawn(key) => write!(
                f,
                "the owner of port {key:?} gave its item up while items were taken: it is back in the port"
            ),
            TakeError::Nothing => f.write_str("there is no port to take from; name one"),
        }
    }
}

impl std::error::Error for TakeError {}
