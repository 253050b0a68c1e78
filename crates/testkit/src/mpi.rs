//! The MPI libraries to test with.

use std::env;
use std::path::PathBuf;

/// The MPI libraries that the environment variable `MOTET_MPI` names, a colon between them. Tests
/// that start processes have `needs_mpi` in their names and do so with each. Where none is named
/// they have nothing to do, and this says so. In CI `cargo xtask test` sees to it that there are
/// some.
///
/// ```
/// for library in motet_testkit::mpi_libraries() {
///     assert!(!library.as_os_str().is_empty());
/// }
/// ```
#[must_use]
pub fn mpi_libraries() -> Vec<PathBuf> {
    let named = env::var_os("MOTET_MPI").unwrap_or_default();
    let paths = env::split_paths(&named).filter(|path| !path.as_os_str().is_empty());
    let libraries: Vec<PathBuf> = paths.collect();
    if libraries.is_empty() {
        eprintln!("left out: no MPI library is named by MOTET_MPI");
    }
    libraries
}
