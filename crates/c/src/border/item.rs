//! Items that have been taken from a port.

use super::calls::{free, quietly};
use crate::foreign::AlignedBytes;
use std::ffi::c_void;
use std::ptr;

/// Where the bytes of an item are.
///
/// # Safety
/// `item` is NULL or an item that has not been freed.
#[unsafe(no_mangle)]
unsafe extern "C" fn motet_item_data(item: *const AlignedBytes) -> *const c_void {
    // SAFETY: as the caller promises.
    let item = unsafe { item.as_ref() };
    quietly(ptr::null(), || {
        item.map_or(ptr::null(), |item| item.bytes().as_ptr().cast())
    })
}

/// How many bytes an item has.
///
/// # Safety
/// As [`motet_item_data`].
#[unsafe(no_mangle)]
unsafe extern "C" fn motet_item_size(item: *const AlignedBytes) -> usize {
    // SAFETY: as the caller promises.
    let item = unsafe { item.as_ref() };
    quietly(0, || item.map_or(0, |item| item.bytes().len()))
}

/// Frees an item.
///
/// # Safety
/// `item` is NULL, or an item that has not been freed and is used no more.
#[unsafe(no_mangle)]
unsafe extern "C" fn motet_item_free(item: *mut AlignedBytes) {
    // SAFETY: as the caller promises.
    unsafe { free(item) };
}
