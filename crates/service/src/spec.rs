//! What is said of a service that is to be created.

use crate::{Persist, Supervise};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Duration;

/// What is said of a service that is to be created, of a type that is known by its name. What the
/// constructor takes, and what a record of a manifest says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Spec {
    /// The name of its type.
    pub kind: String,
    /// Its path; else the name of its type.
    pub at: Option<String>,
    /// The state to begin with, unless one is stored; else the default.
    pub state: Option<Value>,
    /// The paths of its partners, by their names: before their policies.
    pub partners: BTreeMap<String, String>,
    /// When the state is stored; else never.
    pub persist: Option<Persist>,
    /// How it is built anew.
    pub supervise: Supervise,
    /// How many operations may wait, at least one: as many that read, as many that change.
    pub depth: usize,
    /// How many bytes the requests and answers of idempotency keys may take in memory. The oldest
    /// go first; the newest is kept whatever it takes.
    pub key_bytes: usize,
    /// Who may do what: rules such as `viewer: get query`.
    pub allow: Vec<String>,
    /// Whether it may call services of other processes.
    pub network: bool,
    /// So many threads of its own, from 1 to 1,024; else those of the node.
    pub threads: Option<usize>,
    /// How long its partners are waited for, in milliseconds.
    pub partners_within_ms: u64,
    /// How long its start may take, in milliseconds.
    pub start_within_ms: u64,
}

impl Default for Spec {
    fn default() -> Self {
        Spec {
            kind: String::new(),
            at: None,
            state: None,
            partners: BTreeMap::new(),
            persist: None,
            supervise: Supervise::default(),
            depth: 1024,
            key_bytes: 16 << 20,
            allow: Vec::new(),
            network: true,
            threads: None,
            partners_within_ms: 10_000,
            start_within_ms: 10_000,
        }
    }
}

impl Spec {
    /// A service of this type, with everything else as it is by default.
    #[must_use]
    pub fn of_kind(kind: &str) -> Self {
        Spec {
            kind: kind.to_owned(),
            ..Spec::default()
        }
    }

    pub(crate) fn partners_within(&self) -> Duration {
        Duration::from_millis(self.partners_within_ms)
    }

    pub(crate) fn start_within(&self) -> Duration {
        Duration::from_millis(self.start_within_ms)
    }
}
