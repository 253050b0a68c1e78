//! What Get answers with.

use crate::StateRef;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::ops::Deref;

/// A state as it was at a version: the answer of Get. In a node it is shared, not copied.
pub struct Snapshot<S> {
    /// How many changes the state had seen.
    pub version: u64,
    /// The state.
    pub state: StateRef<S>,
}

#[derive(Serialize, Deserialize)]
struct Written<S> {
    version: u64,
    state: S,
}

impl<S> Deref for Snapshot<S> {
    type Target = S;

    fn deref(&self) -> &S {
        &self.state
    }
}

impl<S> Clone for Snapshot<S> {
    fn clone(&self) -> Self {
        Snapshot {
            version: self.version,
            state: self.state.clone(),
        }
    }
}

impl<S: Serialize> Serialize for Snapshot<S> {
    fn serialize<W: Serializer>(&self, writer: W) -> Result<W::Ok, W::Error> {
        let written = Written {
            version: self.version,
            state: &*self.state,
        };
        written.serialize(writer)
    }
}

impl<'de, S: DeserializeOwned> Deserialize<'de> for Snapshot<S> {
    fn deserialize<R: Deserializer<'de>>(reader: R) -> Result<Self, R::Error> {
        let written: Written<S> = Written::deserialize(reader)?;
        Ok(Snapshot {
            version: written.version,
            state: StateRef::from(written.state),
        })
    }
}

impl<S: fmt::Debug> fmt::Debug for Snapshot<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshot")
            .field("version", &self.version)
            .field("state", &self.state)
            .finish()
    }
}
