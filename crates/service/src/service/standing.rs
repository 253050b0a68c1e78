//! How a service stands: what is told of it without its schemas.

use super::any_service::AnyClient;
use crate::Lifecycle;
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
