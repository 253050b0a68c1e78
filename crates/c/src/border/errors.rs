//! The texts of failed calls, and what the library is.

use super::calls::quietly;
use crate::error::last;
use std::ffi::c_char;

/// The text of the last call of this thread that has failed.
#[unsafe(no_mangle)]
extern "C" fn motet_error_message() -> *const c_char {
    quietly(c"".as_ptr(), last)
}

/// The version of the library.
#[unsafe(no_mangle)]
extern "C" fn motet_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}
