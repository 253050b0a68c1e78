//! Values that can be messages.

use serde::de::{DeserializeOwned, Error as _};
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A value that can be sent: any type that [serde](https://serde.rs) can write and read.
///
/// Inside a process a message is moved, never written: serde is used only between processes. The
/// bytes are those of [postcard](https://postcard.jamesmunns.com) then, and vectors of plain
/// numbers go as they are in memory. What only makes sense in the process where it is, travels as
/// [`Local`].
///
/// Those bytes do not describe themselves. So a type that can only be read from a text that
/// describes itself, as JSON does, does not cross processes. Such is one with serde's `untagged`,
/// `tag`, `flatten` or `skip_serializing_if`, or `serde_json::Value`. The send between processes,
/// or the receive, ends with an error that says so (of ranks: `Unportable`, `Unreadable`).
///
/// The trait is there by itself; nobody implements it.
pub trait Value: Serialize + DeserializeOwned + Send + 'static {}

impl<T: Serialize + DeserializeOwned + Send + 'static> Value for T {}

/// A value that stays in its process: an `Arc`, a handle, a closure, a type without serde.
///
/// Inside a process it is sent like any other. To another process it cannot go: the send ends with
/// an error that says so (of ranks: `Unportable`).
///
/// ```
/// use motet_values::{Local, wire};
/// use std::sync::Arc;
///
/// let shared = Local(Arc::new(7));
/// assert!(wire::encode(&shared, &mut Vec::new()).is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Local<T>(pub T);

impl<T> Serialize for Local<T> {
    /// # Errors
    /// Always.
    fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        Err(S::Error::custom(
            "it is a Local, which stays in its process",
        ))
    }
}

impl<'de, T> Deserialize<'de> for Local<T> {
    /// # Errors
    /// Always.
    fn deserialize<D: Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        Err(D::Error::custom(
            "it is a Local, which stays in its process",
        ))
    }
}
