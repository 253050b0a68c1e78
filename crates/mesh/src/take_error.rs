//! Why items of ports of other nodes are not taken.

use crate::CallError;
use std::fmt;

/// Why nothing was taken, or not everything. A port of this process that is not exported has a
/// number in place of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum TakeError {
    /// The port cannot be asked: its key, and why.
    Call(String, CallError),
    /// The port is closed, and has too few items left: its key.
    Closed(String),
    /// The port is named twice: its key.
    Twice(String),
    /// An item cannot be read: the key of its port, and why. It is taken, as those of other ports
    /// of other nodes.
    Unreadable(String, String),
    /// The owner of a port has not answered in time while items were taken, since its link broke or
    /// it hangs: the key. The items of other ports of other nodes are taken; those of this port are
    /// taken, or back in it.
    InDoubt(String),
    /// The owner gave the items of a port up while items were taken: the key. They are back in
    /// their port, and those of other ports of other nodes may be taken.
    Withdrawn(String),
    /// A part wants more items at once than its port may hold: so many are never there together.
    TooMany {
        /// The key of the port.
        port: String,
        /// How many are wanted.
        count: usize,
        /// How many the port holds at most.
        bound: usize,
    },
    /// A part has guards, and a step with ports of other nodes takes none: the key of its port.
    Guarded(String),
    /// There is nothing to take from.
    Nothing,
}

impl fmt::Display for TakeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TakeError::Call(key, error) => write!(f, "port {key:?}: {error}"),
            TakeError::Closed(key) => {
                write!(f, "port {key:?} is closed, and has too few items left")
            }
            TakeError::Twice(key) => {
                write!(
                    f,
                    "port {key:?} is named twice; one part takes several of its items: `times`"
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
                "the owner of port {key:?} did not answer while items were taken: its items may be \
                 back in the port"
            ),
            TakeError::Withdrawn(key) => write!(
                f,
                "the owner of port {key:?} gave its items up while items were taken: they are back \
                 in the port"
            ),
            TakeError::TooMany { port, count, bound } => write!(
                f,
                "port {port:?} holds {bound} items at most, and {count} are wanted at once: take \
                 {bound} or fewer at a time, or make the port with more room"
            ),
            TakeError::Guarded(key) => write!(
                f,
                "port {key:?}: a step with ports of other nodes takes no guards; take any of its \
                 items"
            ),
            TakeError::Nothing => f.write_str("there is no port to take from; name one"),
        }
    }
}

impl std::error::Error for TakeError {}
