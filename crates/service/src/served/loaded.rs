//! What a service begins with: what is stored, or its initial state.

use crate::Fault;
use crate::json::{Unfit, unfit_fault};
use crate::keys::StoredAnswer;
use crate::service::{Common, ServicePlan};
use crate::store::StoredState;
use motet_sync::atomic::Ordering;
use serde_json::Value;

/// What a service begins with.
pub(super) struct LoadedState {
    /// The state; the default where there is none.
    pub(super) state: Option<Value>,
    /// More than any version of a service that has ended here.
    first: u64,
    stored: Option<StoredBeside>,
}

/// What is stored beside the state.
struct StoredBeside {
    version: u64,
    keys: Vec<StoredAnswer>,
    /// Whether the schema of the state was the same.
    is_same: bool,
}

impl LoadedState {
    /// Reads what is stored. `schema` tells one schema of a state from another.
    pub(super) fn read(
        common: &Common,
        plan: &ServicePlan,
        schema: fn() -> u64,
    ) -> Result<Self, Fault> {
        let first = common.shared.first_version(&common.path);
        if let Some((_, writer)) = &plan.persist
            && let Some(bytes) = writer.load(&common.path)?
        {
            let saved = StoredState::read(&common.path, &bytes)?;
            return Ok(LoadedState {
                state: Some(saved.state),
                first,
                stored: Some(StoredBeside {
                    version: saved.version,
                    keys: saved.keys,
                    is_same: saved.schema == schema(),
                }),
            });
        }
        Ok(LoadedState {
            state: plan.initial.clone(),
            first,
            stored: None,
        })
    }

    /// Why the state does not fit.
    #[cold]
    pub(super) fn unfit(&self, common: &Common, unfit: &Unfit) -> Fault {
        let Some(stored) = &self.stored else {
            return unfit_fault("the initial state", unfit);
        };
        let why = match stored.is_same {
            true => "it was changed by hand",
            false => "its schema was another one when it was stored",
        };
        let (path, unfit) = (&common.path, unfit.why());
        let reason = format!("the stored state of {path} does not fit: {unfit}; {why}");
        Fault::failed(reason)
    }

    /// The state is the service's: its version is, too, and so are the keys. Whether it was stored.
    pub(super) fn enter(self, common: &Common) -> bool {
        // Relaxed, here and below: nothing is served yet, or the cell is empty.
        let Some(stored) = self.stored else {
            common.version.fetch_max(self.first, Ordering::Relaxed);
            // What the keys stand for is not in this state.
            common.keys.lock().clear();
            return false;
        };
        // As it was stored it has its version; what was not stored had later ones.
        let version = match stored.version.saturating_add(1) < self.first {
            true => self.first,
            false => stored.version,
        };
        common.version.fetch_max(version, Ordering::Relaxed);
        let now = common.shared.deadlines.clock().now();
        common.keys.lock().restore(stored.keys, now);
        true
    }
}
