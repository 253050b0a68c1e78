//! Where the command line looks for MPI libraries.

use std::env;
use std::path::Path;

use motet_mpi::LibrarySearch;

/// The usual search, with a place that the command line may have named.
pub(crate) fn search(named: Option<&Path>) -> LibrarySearch {
    LibrarySearch::usual(named.map(Path::to_owned), |name| env::var_os(name))
}
