//! The record of the machine that the rows were measured on.

use crate::limits;
use crate::measuring::{SCHEMA, Setting};
use crate::statistics::median;
use crate::system::{Cache, Cores, SystemMemory, processor, system};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// The machine, its limits, and the versions of what was measured on it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// [`SCHEMA`] of the rows beside it.
    pub schema: u32,
    /// Which one it is.
    pub machine: Identity,
    /// Bytes of memory, where the system tells.
    pub memory_bytes: Option<u64>,
    /// What it can do, measured when the record was written.
    pub limits: Measures,
    /// Versions by name: motet, the peers' libraries, and the peers that were built.
    pub versions: BTreeMap<String, String>,
    /// trial, quick or full.
    pub effort: String,
    /// Threads that fill the machine were bound to their cores.
    pub pinned: bool,
}

/// What tells one machine from another: rows of two of them do not go into one folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// The processor's model, where the system tells.
    pub model: Option<String>,
    /// Such as `x86_64`.
    pub architecture: String,
    /// Processors that the process may use.
    pub cores: usize,
    /// Caches of the first processor.
    pub caches: Vec<Cache>,
    /// The system with its version.
    pub system: String,
}

/// Limits of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Measures {
    /// The unit of work, in µs.
    pub unit_us: f64,
    /// A cache line to another core and back, in µs; absent on one core.
    pub cache_line_us: Option<f64>,
    /// From a thread's being woken to its running, in µs.
    pub wakeup_us: f64,
    /// A copy in memory, in 1e9 bytes a second, counted once.
    pub copy_gb_per_s: f64,
    /// An allocation with a push and a pop, in µs.
    pub allocation_us: f64,
}

impl Machine {
    /// This machine. Its limits are measured now, which takes less than a second.
    #[must_use]
    pub fn here(setting: &Setting) -> Machine {
        Machine {
            schema: SCHEMA,
            machine: Identity::here(),
            memory_bytes: SystemMemory::here().total_bytes,
            limits: Measures {
                unit_us: median(&[(); 101].map(|()| setting.unit().time_us(10))),
                cache_line_us: limits::roundtrip_us(),
                wakeup_us: limits::wakeup_us(),
                copy_gb_per_s: limits::copy_gb_per_s(),
                allocation_us: limits::spawn_us(),
            },
            versions: versions(),
            effort: setting.by_effort("trial", "quick", "full").to_owned(),
            pinned: setting.config().pinned,
        }
    }

    /// How the rows are measured: one manner for all of a folder.
    pub(super) fn manner(&self) -> String {
        let bound = if self.pinned { "bound" } else { "unbound" };
        format!("{}, {bound}", self.effort)
    }

    /// Keeps what an earlier record of the same machine says of peers that this run does not meet.
    pub(super) fn keep_versions(&mut self, before: Machine) {
        if before.machine == self.machine {
            for (name, version) in before.versions {
                self.versions.entry(name).or_insert(version);
            }
        }
    }

    /// Adds the versions of the peers that were built since.
    pub(super) fn add_built(&mut self, setting: &Setting) {
        let built = setting.built().into_iter();
        self.versions
            .extend(built.map(|(name, version)| (name.to_owned(), version)));
    }
}

impl Identity {
    /// This machine.
    #[must_use]
    pub fn here() -> Identity {
        Identity {
            model: processor(),
            architecture: std::env::consts::ARCH.to_owned(),
            cores: Cores::here().usable,
            caches: Cache::all(),
            system: system(),
        }
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let model = self.model.as_deref().unwrap_or("an unnamed processor");
        let Identity {
            architecture,
            cores,
            system,
            ..
        } = self;
        write!(f, "{model} ({architecture}, {cores} cores, {system})")
    }
}

/// Motet's version, and those of the peers that are libraries of this program.
fn versions() -> BTreeMap<String, String> {
    let mut versions = BTreeMap::new();
    versions.insert("motet".to_owned(), env!("CARGO_PKG_VERSION").to_owned());
    let lock = include_str!("../../../Cargo.lock");
    for peer in ["tokio", "rayon", "crossbeam-channel"] {
        let version = locked(lock, peer);
        versions.extend(version.map(|version| (peer.to_owned(), version.to_owned())));
    }
    versions
}

/// The version of a package in a lock file.
fn locked<'a>(lock: &'a str, package: &str) -> Option<&'a str> {
    let (_, after) = lock.split_once(&format!("name = \"{package}\"\nversion = \""))?;
    after.split('"').next()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measuring::MeasuringConfig;

    #[test]
    fn the_record_says_what_this_machine_is_and_can() {
        let setting = Setting::new(MeasuringConfig::default());
        let record = Machine::here(&setting);
        assert_eq!(record.machine, Identity::here());
        assert!(record.limits.copy_gb_per_s > 0.0 && record.limits.unit_us > 0.0);
        for name in ["motet", "tokio", "rayon", "crossbeam-channel"] {
            let version = &record.versions[name];
            assert!(version.contains('.'), "{name} {version}");
        }
        let mut later = record.clone();
        let mut before = record.clone();
        before.versions.insert("Go".to_owned(), "go 1".to_owned());
        before
            .versions
            .insert("motet".to_owned(), "0.0.1".to_owned());
        later.keep_versions(before.clone());
        assert_eq!(later.versions["Go"], "go 1");
        assert_eq!(later.versions["motet"], record.versions["motet"]);
        before.machine.cores += 1;
        let mut other = record.clone();
        other.keep_versions(before);
        assert_eq!(other, record);
        let text = serde_json::to_string(&record).unwrap();
        assert_eq!(serde_json::from_str::<Machine>(&text).unwrap(), record);
    }
}
