//! The items of ports: bytes, copied in or lent by the caller.

use std::ffi::c_void;
use std::fmt;
use std::slice;

/// What gives memory of the caller back: its address and size.
pub(crate) type ReleaseBytes = unsafe extern "C" fn(*mut c_void, usize);

/// Bytes, where any type of C may lie: they are aligned as `malloc` aligns.
pub(crate) struct AlignedBytes(BytesHeld);

enum BytesHeld {
    /// So many bytes of these.
    Small([u128; 2], u8),
    Large(Box<[u128]>, usize),
    Owned(Owned),
}

/// Memory of the caller, given over.
struct Owned {
    data: *mut c_void,
    size: usize,
    release: Option<ReleaseBytes>,
}

// SAFETY: whoever gave the memory over uses it no more, and has promised that it may be read and
// released on any thread.
unsafe impl Send for Owned {}
// SAFETY: as above; it is only read until it is dropped.
unsafe impl Sync for Owned {}

impl AlignedBytes {
    pub(crate) fn copied(bytes: &[u8]) -> AlignedBytes {
        const SMALL: usize = size_of::<[u128; 2]>();
        if bytes.len() <= SMALL {
            let mut room = [0_u128; 2];
            bytemuck::bytes_of_mut(&mut room)[..bytes.len()].copy_from_slice(bytes);
            return AlignedBytes(BytesHeld::Small(room, bytes.len() as u8));
        }
        let mut room = vec![0_u128; bytes.len().div_ceil(size_of::<u128>())];
        bytemuck::cast_slice_mut(&mut room)[..bytes.len()].copy_from_slice(bytes);
        AlignedBytes(BytesHeld::Large(room.into(), bytes.len()))
    }

    /// # Safety
    /// `data` is not NULL and leads to `size` bytes, which nobody but the item uses until it calls
    /// `release`, on any thread.
    pub(crate) unsafe fn owned(
        data: *mut c_void,
        size: usize,
        release: Option<ReleaseBytes>,
    ) -> AlignedBytes {
        AlignedBytes(BytesHeld::Owned(Owned {
            data,
            size,
            release,
        }))
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        match &self.0 {
            BytesHeld::Small(room, size) => &bytemuck::bytes_of(room)[..usize::from(*size)],
            BytesHeld::Large(room, size) => &bytemuck::cast_slice(room)[..*size],
            // SAFETY: as promised to `AlignedBytes::owned`.
            BytesHeld::Owned(owned) => unsafe {
                slice::from_raw_parts(owned.data.cast(), owned.size)
            },
        }
    }

    /// The item goes back to its owner unreleased.
    pub(crate) fn disown(mut self) {
        if let BytesHeld::Owned(owned) = &mut self.0 {
            owned.release = None;
        }
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: the memory has not been released, and is used no more.
            unsafe { release(self.data, self.size) };
        }
    }
}

impl fmt::Debug for AlignedBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Item({} bytes)", self.bytes().len())
    }
}
