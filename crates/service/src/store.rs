//! Where states last: stores, and the thread that writes to one.

mod folder;
mod memory;
mod redb;
mod writer;

pub use folder::Folder;
pub use memory::Memory;
pub use redb::Redb;
pub(crate) use writer::StoreWriter;

use crate::Fault;
use crate::keys::StoredAnswer;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Where states last. What [`Store::commit`] has taken is there after a crash, all of it or, before
/// it has returned, none or all of each entry.
pub trait Store: Send + Sync + 'static {
    /// The state of the service at `path`, if one was ever committed.
    ///
    /// # Errors
    /// A fault that names what cannot be read, and where.
    fn load(&self, path: &str) -> Result<Option<Vec<u8>>, Fault>;

    /// Writes the states of these paths. After a failure of several each is given again, alone,
    /// unless a commit of none of them fails, too: then the store is down.
    ///
    /// # Errors
    /// A fault that names what cannot be written.
    fn commit(&self, entries: &[(String, Vec<u8>)]) -> Result<(), Fault>;
}

/// When the state of a service is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Persist {
    /// With each change: the answer and the notification leave after the commit.
    Each,
    /// When [`Client::save`](crate::Client::save) or [`Cx::save`](crate::Cx::save) is called.
    OnSave,
    /// So many milliseconds, at least one, after a change, with all changes until then; and when
    /// the service ends in order, before its last handler runs. A change does not wait for the
    /// commit of its own state; what comes while the state is being stored waits for that. A
    /// crash, or a panic for which the service is built anew, loses the changes of one period,
    /// though they were answered. A state that cannot be stored is served, logged, and tried again.
    #[serde(rename = "interval_ms")]
    IntervalMs(u64),
}

/// A state as it is stored.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct StoredState {
    pub(crate) contract: String,
    pub(crate) version: u64,
    /// What the schema of the state was.
    pub(crate) schema: u64,
    pub(crate) state: Value,
    pub(crate) keys: Vec<StoredAnswer>,
}

impl StoredState {
    pub(crate) fn write(&self) -> Result<Vec<u8>, Fault> {
        serde_json::to_vec(self)
            .map_err(|error| Fault::failed(format!("a state does not fit JSON: {error}")))
    }

    /// Reads what was stored for `path`.
    pub(crate) fn read(path: &str, bytes: &[u8]) -> Result<Self, Fault> {
        serde_json::from_slice(bytes).map_err(|error| {
            let reason = format!(
                "the stored state of {path} is damaged at line {}, column {}: {error}; restore it or remove it",
                error.line(),
                error.column()
            );
            Fault::failed(reason)
        })
    }
}
