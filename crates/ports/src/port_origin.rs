//! What a port is called and where it was made, for reports.

use std::panic::Location;
use std::sync::OnceLock;

/// Cold: looked at by reports only.
pub(crate) struct PortOrigin {
    made_at: &'static Location<'static>,
    name: OnceLock<Box<str>>,
}

impl PortOrigin {
    /// The place that called.
    #[track_caller]
    pub(crate) fn here() -> Self {
        PortOrigin {
            made_at: Location::caller(),
            name: OnceLock::new(),
        }
    }

    pub(crate) fn made_at(&self) -> &'static Location<'static> {
        self.made_at
    }

    pub(crate) fn name(&self) -> Option<&str> {
        self.name.get().map(AsRef::as_ref)
    }

    /// `false` when there is a name already.
    pub(crate) fn set_name(&self, name: &str) -> bool {
        self.name.set(name.into()).is_ok()
    }
}
