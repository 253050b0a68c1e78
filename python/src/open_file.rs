//! A file of a rank.

use motet::files::{Draft, Stored};
use std::cell::RefCell;

/// A file of bytes of a rank.
pub(crate) enum OpenFile {
    Read(RefCell<Stored<u8>>),
    Written(RefCell<Draft<u8>>),
}
