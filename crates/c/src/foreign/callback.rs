//! Functions of the caller, each with what it is called with.

use super::bytes::AlignedBytes;
use std::ffi::{c_int, c_void};

/// `motet_handler`
pub(crate) type Handler = unsafe extern "C" fn(*mut c_void, *const c_void, usize);
/// `motet_join_handler`
pub(crate) type JoinHandler = unsafe extern "C" fn(*mut c_void, *const MotetBytes, usize);
/// `motet_function`
pub(crate) type Function = unsafe extern "C" fn(*mut c_void);
/// `motet_body`
pub(crate) type BodyFunction<C> = unsafe extern "C" fn(*mut C, *mut c_void) -> c_int;

/// As `motet_bytes` in the header.
#[repr(C)]
pub(crate) struct MotetBytes {
    data: *const c_void,
    size: usize,
}

/// A function of the caller and its context, which is released when nobody will call it again.
pub(crate) struct Callback<F> {
    function: F,
    context: *mut c_void,
    release: Option<Function>,
}

// SAFETY: the caller has promised that the function may be called on any thread with its context,
// at once if it is given to what does so, and that the context may be released on any thread.
unsafe impl<F> Send for Callback<F> {}
// SAFETY: as above.
unsafe impl<F> Sync for Callback<F> {}

impl<F> Callback<F> {
    /// # Safety
    /// The function may be called with the context on any thread, and `release` once after that.
    pub(crate) unsafe fn new(
        function: F,
        context: *mut c_void,
        release: Option<Function>,
    ) -> Callback<F> {
        Callback {
            function,
            context,
            release,
        }
    }
}

impl Callback<Handler> {
    /// Handles an item.
    pub(crate) fn handle(&self, item: &AlignedBytes) {
        let bytes = item.bytes();
        // SAFETY: as promised to `Callback::new`; the item is there until the function returns.
        unsafe { (self.function)(self.context, bytes.as_ptr().cast(), bytes.len()) };
    }
}

impl Callback<JoinHandler> {
    /// Handles the items of a join, in the order of its ports.
    pub(crate) fn handle_all(&self, items: &[AlignedBytes]) {
        let all = items.iter().map(|item| MotetBytes {
            data: item.bytes().as_ptr().cast(),
            size: item.bytes().len(),
        });
        let all: Vec<MotetBytes> = all.collect();
        // SAFETY: as in `handle`.
        unsafe { (self.function)(self.context, all.as_ptr(), all.len()) };
    }
}

impl Callback<Function> {
    /// Calls the function.
    pub(crate) fn run(&self) {
        // SAFETY: as promised to `Callback::new`.
        unsafe { (self.function)(self.context) };
    }
}

impl<C> Callback<BodyFunction<C>> {
    /// Runs a rank; what its body gives back.
    pub(crate) fn body(&self, comm: *mut C) -> c_int {
        // SAFETY: as promised to `Callback::new`; the communicator is there until the body returns.
        unsafe { (self.function)(comm, self.context) }
    }
}

impl<F> Drop for Callback<F> {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: as promised to `Callback::new`; nobody will call the function again.
            unsafe { release(self.context) };
        }
    }
}
