//! The folder of the large data sets.

use std::env;
use std::path::{Path, PathBuf};

/// Where the large data sets are: the folder that the environment variable `MOTET_DATA` names, or
/// `../shared/data` beside the repository. Tests that need it have `needs_data` in their names.
///
/// # Panics
/// When the folder does not exist, saying what to set.
#[must_use]
pub fn data() -> PathBuf {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let named = env::var_os("MOTET_DATA").filter(|folder| !folder.is_empty());
    let folder = named.map_or_else(|| repository.join("../shared/data"), PathBuf::from);
    assert!(
        folder.is_dir(),
        "there are no test data in {}: set MOTET_DATA to their folder",
        folder.display()
    );
    folder
}
