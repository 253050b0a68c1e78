//! How a service stands: what is told of it without its schemas.

use super::any_service::{AnyClient, ServiceFigures};
use super::slot::Figures;
use crate::Lifecycle;
use motet_sync::atomic::Ordering;
use std::collections::BTreeMap;

/// # How the service stands
impl AnyClient {
    /// The name of its type.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        self.0.common().kind
    }

    /// What becomes of it.
    #[must_use]
    pub fn lifecycle(&self) -> Lifecycle {
        self.0.common().life.lock().clone()
    }

    /// The paths of its partners, by their names.
    #[must_use]
    pub fn partners(&self) -> BTreeMap<String, String> {
        self.0.common().partners.lock().clone()
    }
}

impl Figures {
    /// As they are told, with how many wait and how many were refused: of reads, of changes.
    pub(super) fn told(&self, depths: [(usize, u64); 2]) -> ServiceFigures {
        let [(reads_waiting, no_read), (changes_waiting, no_change)] = depths;
        ServiceFigures {
            // Relaxed: the figures are told apart from each other.
            calls: self.calls.load(Ordering::Relaxed) + self.changes.load(Ordering::Relaxed),
            faults: self.faults.load(Ordering::Relaxed),
            panics: self.panics.load(Ordering::Relaxed),
            late: self.late.load(Ordering::Relaxed),
            restarts: self.restarts.load(Ordering::Relaxed),
            reads_waiting,
            changes_waiting,
            refused: no_read + no_change,
        }
    }
}
