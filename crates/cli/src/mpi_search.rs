//! Where the command line looks for MPI libraries.

use std::env;
use std::path::{Path, PathBuf};

use motet_mpi::Search;

/// The search for a library: at the place that was named, else in the environment of Python that is
/// active, in the loader's path and where systems put libraries.
pub(crate) fn search(named: Option<&Path>) -> Search {
    let paths = |variable: &str| -> Vec<PathBuf> {
        let value = env::var_os(variable).unwrap_or_default();
        let paths = env::split_paths(&value);
        paths.filter(|path| !path.as_os_str().is_empty()).collect()
    };
    let prefixes = ["VIRTUAL_ENV", "CONDA_PREFIX", "I_MPI_ROOT"];
    Search {
        named: named.map(Path::to_owned),
        prefixes: prefixes.iter().flat_map(|name| paths(name)).collect(),
        folders: paths("LD_LIBRARY_PATH"),
        system: true,
    }
}
