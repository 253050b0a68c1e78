//! What its owner has of an exported port.

use super::PortExport;
use crate::Key;
use std::fmt;

impl PortExport {
    /// The key.
    #[must_use]
    pub fn key(&self) -> &Key {
        &self.key
    }
}

impl Drop for PortExport {
    fn drop(&mut self) {
        self.requests.close();
        (self.end)();
    }
}

impl fmt::Debug for PortExport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PortExport")
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}
