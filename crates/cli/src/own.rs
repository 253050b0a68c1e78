//! How this program was started, so that it can start itself again.

use std::env;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The arguments of the first run in this process; the first is its name.
static ARGUMENTS: OnceLock<Vec<OsString>> = OnceLock::new();

/// Remembers the arguments.
pub(crate) fn remember(arguments: &[OsString]) {
    ARGUMENTS.get_or_init(|| arguments.to_vec());
}

/// The arguments behind the name.
pub(crate) fn arguments() -> Vec<OsString> {
    let arguments = ARGUMENTS.get();
    arguments.map_or_else(Vec::new, |all| all.iter().skip(1).cloned().collect())
}

/// The program. It is the file that the first argument names with its whole path, as a script does
/// that an interpreter runs. Else it is the file that runs.
pub(crate) fn program() -> io::Result<PathBuf> {
    let named = ARGUMENTS.get().and_then(|all| all.first());
    match named.map(Path::new) {
        Some(file) if file.is_absolute() && file.is_file() => Ok(file.to_owned()),
        _ => env::current_exe(),
    }
}
