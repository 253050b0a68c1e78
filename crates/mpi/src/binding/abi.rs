//! The types and constants of the MPI-5 standard ABI (MPI 5.0, chapter 20 and appendix A).
//!
//! Handles are opaque pointers there; here they are numbers of the same size, which may go from
//! thread to thread.

use std::ffi::c_int;

pub(super) type Comm = usize;
pub(super) type Request = usize;
pub(super) type Message = usize;
pub(super) type Datatype = usize;
pub(super) type Op = usize;
pub(super) type Count = i64;

pub(super) const SUCCESS: c_int = 0;
pub(super) const COMM_NULL: Comm = 0x100;
pub(super) const COMM_WORLD: Comm = 0x101;
pub(super) const COMM_SELF: Comm = 0x102;
pub(super) const MESSAGE_NULL: Message = 0x128;
pub(super) const INFO_NULL: usize = 0x130;
pub(super) const ERRORS_RETURN: usize = 0x143;
pub(super) const REQUEST_NULL: Request = 0x180;
pub(super) const BYTE: Datatype = 0x247;
pub(super) const COMM_TYPE_SHARED: c_int = 221;
pub(super) const MAX_ERROR_STRING: usize = 512;
pub(super) const MAX_LIBRARY_VERSION_STRING: usize = 8192;
pub(super) const MAX_PROCESSOR_NAME: usize = 256;

pub(super) const THREAD_SINGLE: c_int = 0;
pub(super) const THREAD_FUNNELED: c_int = 1024;
pub(super) const THREAD_SERIALIZED: c_int = 2048;
pub(super) const THREAD_MULTIPLE: c_int = 4096;

/// `MPI_Status`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Status {
    pub(super) source: c_int,
    pub(super) tag: c_int,
    pub(super) error: c_int,
    internal: [c_int; 5],
}
