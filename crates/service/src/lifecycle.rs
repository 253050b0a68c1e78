//! What becomes of a service.

use crate::{Fault, FaultCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// What becomes of a service, from its creation to its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Lifecycle {
    /// Its place is taken.
    Created,
    /// It waits for these partners, or runs its start.
    Starting {
        /// What it waits for.
        waits_for: Vec<String>,
    },
    /// It serves.
    Running,
    /// It has lost its state and is being built anew.
    Restarting,
    /// It has been dropped, and its handlers end.
    Draining,
    /// It has ended.
    Dropped,
    /// It has failed for good.
    Failed {
        /// Why.
        why: String,
    },
}

impl Lifecycle {
    /// Whether nothing follows but the end.
    pub(crate) fn is_end(&self) -> bool {
        matches!(self, Lifecycle::Draining | Lifecycle::Dropped)
    }

    /// The fault of those who call a service that does not serve.
    pub(crate) fn absence(&self) -> Fault {
        match self {
            Lifecycle::Failed { why } => Fault::new(
                FaultCode::Unavailable,
                format!("the service has failed for good: {why}; drop it and create it anew"),
            ),
            Lifecycle::Draining | Lifecycle::Dropped => {
                Fault::new(FaultCode::Gone, "the service was dropped; create it anew")
            }
            Lifecycle::Created | Lifecycle::Starting { .. } => Fault::new(
                FaultCode::Unavailable,
                "the service has not started yet; try again",
            )
            .retry_after(Duration::from_millis(100)),
            Lifecycle::Running | Lifecycle::Restarting => Fault::new(
                FaultCode::Unavailable,
                "the service is being started anew; try again",
            )
            .retry_after(Duration::from_millis(100)),
        }
    }
}
