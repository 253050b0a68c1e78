//! Where in the caller's source the call is that this thread makes.

use motet_sync::thread_local;
use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int};
use std::ptr;

thread_local! {
    static SITE: Cell<(*const c_char, c_int)> = const { Cell::new((ptr::null(), 0)) };
}

/// Notes the place of the next call of this thread.
///
/// # Safety
/// `file` is NULL, or leads to bytes that end in a zero and stay there as long as the program.
#[unsafe(no_mangle)]
unsafe extern "C" fn motet_at(file: *const c_char, line: c_int) {
    // A thread that is ending waits for no rank.
    let _ = SITE.try_with(|site| site.set((file, line)));
}

/// The place that this thread has noted: file and line.
pub(crate) fn site() -> Option<(&'static str, u32)> {
    let (file, line) = SITE.with(Cell::get);
    if file.is_null() {
        return None;
    }
    // SAFETY: as promised to `motet_at`.
    let file: &'static CStr = unsafe { CStr::from_ptr(file) };
    let line = u32::try_from(line).unwrap_or_default();
    file.to_str().ok().map(|file| (file, line))
}
