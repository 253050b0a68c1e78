//! The places of a node: which services are there, and which could be.

use super::slot::Common;
use super::{Any, AnyServed};
use crate::{Fault, FaultCode};
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::task::Waker;

/// What has which place.
#[derive(Default)]
pub(super) struct Places {
    pub(super) services: BTreeMap<String, Any>,
    pub(super) served: BTreeMap<String, Arc<dyn AnyServed>>,
    /// Those who wait for something to change.
    pub(super) wakers: Vec<Waker>,
    /// By the buckets of paths: more than any version of a service that has ended there.
    pub(super) versions: BTreeMap<u64, u64>,
    /// The node begins to end: nobody is waited for any more.
    pub(super) ends: bool,
    pub(super) closed: bool,
    /// Where something else is than a service.
    pub(super) is_kept: Option<fn(&str) -> bool>,
}

/// The bucket of a path, by its hash: their number does not grow with the paths. Of paths that
/// share one the greatest version counts.
pub(super) fn bucket(path: &str) -> u64 {
    const BUCKETS: u64 = 1024;
    let mut hasher = DefaultHasher::new();
    path.hash(&mut hasher);
    hasher.finish() % BUCKETS
}

pub(super) fn has_ended() -> Fault {
    Fault::new(FaultCode::Gone, "the node has ended")
}

impl Places {
    /// The service ends: one that is made at its path has other versions.
    pub(super) fn keep_version(&mut self, common: &Common) {
        // The path of a job is its own.
        if common.kind != "job" {
            let first = self.versions.entry(bucket(&common.path)).or_default();
            *first = common.version().saturating_add(1).max(*first);
        }
    }

    pub(super) fn check_free(&self, path: &str) -> Result<(), Fault> {
        if self.closed {
            return Err(has_ended());
        }
        if self.services.contains_key(path) {
            let reason = "there is a service at this path already; drop it, or choose another path";
            return Err(Fault::duplicate_entry(reason).of_service(path));
        }
        if self.is_kept.is_some_and(|is_kept| is_kept(path)) {
            let reason =
                format!("the server answers at {path} itself; give the service another path");
            let fault = Fault::new(FaultCode::MessageNotSupported, reason);
            return Err(fault.of_service(path));
        }
        Ok(())
    }
}
