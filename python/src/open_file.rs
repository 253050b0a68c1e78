//! A file of a rank.

use motet::files::{Draft, Stored, View};

/// A file of bytes of a rank.
pub(crate) enum OpenFile {
    Read(Stored<u8>),
    Written(Draft<u8>),
}

impl OpenFile {
    /// From now on the rank sees these bytes.
    pub(crate) fn set_view(&mut self, view: View) {
        match self {
            OpenFile::Read(file) => file.set_view(view),
            OpenFile::Written(file) => file.set_view(view),
        }
    }
}
