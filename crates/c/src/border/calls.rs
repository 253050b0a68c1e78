//! What every function does at the border: arguments are checked, and panics are caught.
//!
//! A function promises to keep a pointer no longer than its call, unless the header says that it
//! takes something over. What the caller promises is in the header: that a pointer that is not NULL
//! leads to what its type says, that a handle has not been freed, and that room for results is not
//! used by others meanwhile.

use crate::error::{Code, Failure, keep};
use std::ffi::{CStr, c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::slice;
use std::time::Duration;

/// A call of a function: looks at its arguments.
#[derive(Clone, Copy)]
pub(super) struct Call(());

/// Where a call leaves a new handle: it is there, and holds NULL.
pub(super) struct Out<T>(*mut *mut T);

/// Carries out a call; a failure becomes its code, and leaves its text.
pub(super) fn call(name: &'static str, act: impl FnOnce(Call) -> Result<(), Failure>) -> Code {
    match catch_unwind(AssertUnwindSafe(|| act(Call(())))) {
        Ok(Ok(())) => Code::Ok,
        Ok(Err(failure)) => {
            // Nothing there is no fault, and may be asked for often.
            if failure.code != Code::Empty {
                keep(&format!("{name}: {}", failure.text));
            }
            failure.code
        }
        Err(payload) => {
            let said = payload
                .downcast_ref::<String>()
                .map(String::as_str)
                .or_else(|| payload.downcast_ref::<&str>().copied())
                .unwrap_or("a panic without words");
            keep(&format!(
                "{name}: motet itself has failed: {said}; please report it"
            ));
            Code::Panicked
        }
    }
}

/// Carries out what gives no code: a panic is kept from the caller.
pub(super) fn quietly<R>(otherwise: R, act: impl FnOnce() -> R) -> R {
    catch_unwind(AssertUnwindSafe(act)).unwrap_or(otherwise)
}

/// Gives a handle back and drops what it stands for; NULL is nothing.
///
/// # Safety
/// The handle is NULL, or was given by [`Out::give`] and has not been freed.
pub(super) unsafe fn free<T>(handle: *mut T) {
    if !handle.is_null() {
        // SAFETY: the caller promises that it came from a box, and is freed once.
        let handle = unsafe { Box::from_raw(handle) };
        quietly((), || drop(handle));
    }
}

impl Call {
    fn null(self, name: &str) -> Failure {
        Failure::new(Code::Null, format!("the argument `{name}` is NULL"))
    }

    /// What a handle stands for.
    ///
    /// # Safety
    /// The handle is NULL, or stands for a `T` until the call ends.
    pub(super) unsafe fn handle<'a, T>(
        self,
        handle: *const T,
        name: &str,
    ) -> Result<&'a T, Failure> {
        // SAFETY: as the caller promises.
        unsafe { handle.as_ref() }.ok_or_else(|| self.null(name))
    }

    /// Bytes to read.
    ///
    /// # Safety
    /// `data` is NULL, or leads to `size` bytes that nobody writes during the call.
    pub(super) unsafe fn bytes<'a>(
        self,
        data: *const c_void,
        size: usize,
        name: &str,
    ) -> Result<&'a [u8], Failure> {
        // SAFETY: bytes have any value, and as the caller promises.
        unsafe { self.numbers(data, size, name) }
    }

    /// Room for bytes.
    ///
    /// # Safety
    /// `data` is NULL, or leads to `size` bytes that nobody else uses during the call.
    pub(super) unsafe fn room<'a>(
        self,
        data: *mut c_void,
        size: usize,
        name: &str,
    ) -> Result<&'a mut [u8], Failure> {
        // SAFETY: as for `bytes`.
        unsafe { self.numbers_mut(data, size, name) }
    }

    /// Numbers to read.
    ///
    /// # Safety
    /// `data` is NULL, or leads to `count` of `T` that nobody writes during the call; any bytes are
    /// a `T`.
    pub(super) unsafe fn numbers<'a, T>(
        self,
        data: *const c_void,
        count: usize,
        name: &str,
    ) -> Result<&'a [T], Failure> {
        if self.checked::<T>(data, count, name)? {
            // SAFETY: it is not NULL, is aligned, no longer than memory can be, and as the caller
            // promises.
            Ok(unsafe { slice::from_raw_parts(data.cast(), count) })
        } else {
            Ok(&[])
        }
    }

    /// Room for numbers.
    ///
    /// # Safety
    /// As [`Call::numbers`], and nobody else uses them during the call.
    pub(super) unsafe fn numbers_mut<'a, T>(
        self,
        data: *mut c_void,
        count: usize,
        name: &str,
    ) -> Result<&'a mut [T], Failure> {
        if self.checked::<T>(data, count, name)? {
            // SAFETY: as in `numbers`.
            Ok(unsafe { slice::from_raw_parts_mut(data.cast(), count) })
        } else {
            Ok(&mut [])
        }
    }

    /// Whether there is anything at `data`.
    fn checked<T>(self, data: *const c_void, count: usize, name: &str) -> Result<bool, Failure> {
        if count == 0 {
            return Ok(false);
        }
        if data.is_null() {
            return Err(self.null(name));
        }
        if count
            .checked_mul(size_of::<T>())
            .is_none_or(|size| size > isize::MAX as usize)
        {
            let said = format!("`{name}` is said to have {count} elements, more than memory has");
            return Err(Failure::argument(said));
        }
        if !data.cast::<T>().is_aligned() {
            let align = align_of::<T>();
            let said =
                format!("`{name}` is not aligned: its address must be a multiple of {align}");
            return Err(Failure::argument(said));
        }
        Ok(true)
    }

    /// Handles in a row.
    ///
    /// # Safety
    /// `handles` is NULL, or leads to `count` handles, as in [`Call::handle`].
    pub(super) unsafe fn handles<'a, T>(
        self,
        handles: *const *const T,
        count: usize,
        name: &str,
    ) -> Result<Vec<&'a T>, Failure> {
        // SAFETY: as the caller promises.
        let handles: &[*const T] = unsafe { self.numbers(handles.cast(), count, name) }?;
        let each = handles.iter().enumerate().map(|(at, handle)| {
            // SAFETY: as the caller promises.
            unsafe { self.handle(*handle, &format!("{name}[{at}]")) }
        });
        each.collect()
    }

    /// A text in UTF-8; empty for NULL.
    ///
    /// # Safety
    /// `text` is NULL, or leads to bytes that end in a zero.
    pub(super) unsafe fn text<'a>(
        self,
        text: *const c_char,
        name: &str,
    ) -> Result<&'a str, Failure> {
        if text.is_null() {
            return Ok("");
        }
        // SAFETY: as the caller promises.
        let text = unsafe { CStr::from_ptr(text) };
        text.to_str()
            .map_err(|error| Failure::argument(format!("`{name}` is no UTF-8: {error}")))
    }

    /// A function that must be there.
    pub(super) fn function<F>(self, function: Option<F>, name: &str) -> Result<F, Failure> {
        function.ok_or_else(|| self.null(name))
    }

    /// Where the call leaves a handle. It holds NULL from now on.
    ///
    /// # Safety
    /// `out` is NULL, or leads to a pointer that nobody else uses during the call.
    pub(super) unsafe fn out<T>(self, out: *mut *mut T, name: &str) -> Result<Out<T>, Failure> {
        if out.is_null() {
            return Err(self.null(name));
        }
        // SAFETY: as the caller promises.
        unsafe { out.write(std::ptr::null_mut()) };
        Ok(Out(out))
    }

    /// Leaves a result where the caller wants it; nowhere if that is NULL.
    ///
    /// # Safety
    /// `out` is NULL, or leads to a `T` that nobody else uses during the call.
    pub(super) unsafe fn leave<T>(self, out: *mut T, value: T) {
        if !out.is_null() {
            // SAFETY: as the caller promises.
            unsafe { out.write(value) };
        }
    }
}

impl<T> Out<T> {
    /// Gives a new handle, which the caller frees.
    pub(super) fn give(self, value: T) {
        // SAFETY: the caller of `Call::out` has promised that it may be written during the call.
        unsafe { self.0.write(Box::into_raw(Box::new(value))) };
    }

    /// Gives a handle that is kept elsewhere too.
    pub(super) fn give_kept(self, handle: *mut T) {
        // SAFETY: as above.
        unsafe { self.0.write(handle) };
    }
}

/// A number of threads, if it is one that a machine may have.
pub(super) fn thread_count(count: usize, name: &str) -> Result<usize, Failure> {
    const MOST: usize = 65_536;
    match count > MOST {
        true => Err(Failure::argument(format!(
            "`{name}` is {count}: it is at most {MOST}"
        ))),
        false => Ok(count),
    }
}

/// A time limit: below 0 there is none.
pub(super) fn limit(milliseconds: i64) -> Option<Duration> {
    u64::try_from(milliseconds).ok().map(Duration::from_millis)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::last;

    fn text() -> String {
        // SAFETY: it ends in a zero, and is valid until the next failure of this thread.
        let text = unsafe { CStr::from_ptr(last()) };
        text.to_string_lossy().into_owned()
    }

    #[test]
    fn sem_g492_a_panic_becomes_a_code_with_its_text() {
        let code = call("motet_x", |_| panic!("the {} is wrong", "state"));
        assert_eq!(code, Code::Panicked);
        let said = "motet_x: motet itself has failed: the state is wrong; please report it";
        assert_eq!(text(), said);
        assert_eq!(call("motet_x", |_| panic!("static")), Code::Panicked);
        assert!(text().contains("static"));
        assert_eq!(
            call("motet_x", |_| std::panic::panic_any(7)),
            Code::Panicked
        );
        assert_eq!(quietly(5, || panic!("no code")), 5);
    }

    #[test]
    fn sem_g492_a_panic_of_what_is_freed_stays_inside() {
        struct Bad;
        impl Drop for Bad {
            fn drop(&mut self) {
                panic!("dropped");
            }
        }
        // SAFETY: it came from a box.
        unsafe { free(Box::into_raw(Box::new(Bad))) };
    }

    #[test]
    fn a_zero_in_a_text_does_not_end_it() {
        let code = call("motet_x", |_| Err(Failure::argument("a\0b")));
        assert_eq!((code, text().as_str()), (Code::Argument, "motet_x: a b"));
    }
}
