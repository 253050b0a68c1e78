//! The functions of the library, found by name when it is opened.

use super::abi::{Comm, Count, Datatype, Message, Op, Request, Status};
use crate::error::MpiError;
use libloading::Library;
use std::ffi::{c_char, c_int, c_void};
use std::path::Path;

macro_rules! symbols {
    ($($field:ident: $name:literal($($argument:ty),*) -> $result:ty;)*) => {
        /// One pointer for each function that is used.
        #[derive(Debug, Clone, Copy)]
        pub(super) struct Symbols {
            $(pub(super) $field: unsafe extern "C" fn($($argument),*) -> $result,)*
        }

        impl Symbols {
            /// Finds all of them; the error names the first that is missing.
            pub(super) fn of(library: &Library, path: &Path) -> Result<Symbols, MpiError> {
                Ok(Symbols {
                    $($field: {
                        // SAFETY: the standard ABI gives the function of this name this type. The
                        // pointer stays valid: the library is never closed.
                        let found = unsafe {
                            library.get::<unsafe extern "C" fn($($argument),*) -> $result>($name)
                        };
                        *found.map_err(|_| missing(path, $name))?
                    },)*
                })
            }
        }
    };
}

symbols! {
    get_version: b"MPI_Get_version"(*mut c_int, *mut c_int) -> c_int;
    abi_get_version: b"MPI_Abi_get_version"(*mut c_int, *mut c_int) -> c_int;
    get_library_version: b"MPI_Get_library_version"(*mut c_char, *mut c_int) -> c_int;
    initialized: b"MPI_Initialized"(*mut c_int) -> c_int;
    finalized: b"MPI_Finalized"(*mut c_int) -> c_int;
    init_thread: b"MPI_Init_thread"(*mut c_int, *mut c_void, c_int, *mut c_int) -> c_int;
    finalize: b"MPI_Finalize"() -> c_int;
    abort: b"MPI_Abort"(Comm, c_int) -> c_int;
    error_class: b"MPI_Error_class"(c_int, *mut c_int) -> c_int;
    error_string: b"MPI_Error_string"(c_int, *mut c_char, *mut c_int) -> c_int;
    get_processor_name: b"MPI_Get_processor_name"(*mut c_char, *mut c_int) -> c_int;
    wtime: b"MPI_Wtime"() -> f64;
    comm_set_errhandler: b"MPI_Comm_set_errhandler"(Comm, usize) -> c_int;
    comm_rank: b"MPI_Comm_rank"(Comm, *mut c_int) -> c_int;
    comm_size: b"MPI_Comm_size"(Comm, *mut c_int) -> c_int;
    comm_dup: b"MPI_Comm_dup"(Comm, *mut Comm) -> c_int;
    comm_split_type: b"MPI_Comm_split_type"(Comm, c_int, c_int, usize, *mut Comm) -> c_int;
    comm_free: b"MPI_Comm_free"(*mut Comm) -> c_int;
    isend: b"MPI_Isend_c"(*const c_void, Count, Datatype, c_int, c_int, Comm, *mut Request) -> c_int;
    irecv: b"MPI_Irecv_c"(*mut c_void, Count, Datatype, c_int, c_int, Comm, *mut Request) -> c_int;
    iprobe: b"MPI_Iprobe"(c_int, c_int, Comm, *mut c_int, *mut Status) -> c_int;
    improbe: b"MPI_Improbe"(c_int, c_int, Comm, *mut c_int, *mut Message, *mut Status) -> c_int;
    imrecv: b"MPI_Imrecv_c"(*mut c_void, Count, Datatype, *mut Message, *mut Request) -> c_int;
    get_count: b"MPI_Get_count_c"(*const Status, Datatype, *mut Count) -> c_int;
    test: b"MPI_Test"(*mut Request, *mut c_int, *mut Status) -> c_int;
    testsome: b"MPI_Testsome"(c_int, *mut Request, *mut c_int, *mut c_int, *mut Status) -> c_int;
    wait: b"MPI_Wait"(*mut Request, *mut Status) -> c_int;
    cancel: b"MPI_Cancel"(*mut Request) -> c_int;
    test_cancelled: b"MPI_Test_cancelled"(*const Status, *mut c_int) -> c_int;
    request_free: b"MPI_Request_free"(*mut Request) -> c_int;
    barrier: b"MPI_Barrier"(Comm) -> c_int;
    ibarrier: b"MPI_Ibarrier"(Comm, *mut Request) -> c_int;
    bcast: b"MPI_Bcast_c"(*mut c_void, Count, Datatype, c_int, Comm) -> c_int;
    allreduce: b"MPI_Allreduce_c"(*const c_void, *mut c_void, Count, Datatype, Op, Comm) -> c_int;
    allgather: b"MPI_Allgather_c"(*const c_void, Count, Datatype, *mut c_void, Count, Datatype, Comm) -> c_int;
}

fn missing(path: &Path, name: &[u8]) -> MpiError {
    MpiError::NoAbi {
        path: path.to_owned(),
        problem: format!("{} is missing", String::from_utf8_lossy(name)),
    }
}
