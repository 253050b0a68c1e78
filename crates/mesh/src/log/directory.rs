//! The directory of a log: its files by name, and its lock.

use super::LogError;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The file of the samples from number 1 on.
const SAMPLES: &str = "samples.log";
/// What the names of the others begin and end with. The number of their first sample is between.
const NAME: (&str, &str) = ("samples-", ".log");
/// How many digits that number has.
const DIGITS: usize = 20;
/// A file that has no name yet.
const DRAFT: &str = "samples.new";
/// The file that a publisher locks.
const LOCK: &str = "lock";

/// The file with the samples from this number on.
pub(super) fn file_of(directory: &Path, first: u64) -> PathBuf {
    let (begin, end) = NAME;
    directory.join(match first {
        1 => SAMPLES.to_owned(),
        _ => format!("{begin}{first:0DIGITS$}{end}"),
    })
}

/// The number that the name of a file says; none: it has no samples.
fn first_of(name: &str) -> Option<u64> {
    if name == SAMPLES {
        return Some(1);
    }
    let digits = name.strip_prefix(NAME.0)?.strip_suffix(NAME.1)?;
    let is_number = digits.len() == DIGITS && digits.bytes().all(|byte| byte.is_ascii_digit());
    let first = is_number.then(|| digits.parse().ok()).flatten();
    first.filter(|first| *first > 0)
}

/// The files with samples, by the number of the first, in order.
pub(super) fn files(directory: &Path) -> io::Result<Vec<(u64, PathBuf)>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory)? {
        let name = entry?.file_name();
        if let Some(first) = name.to_str().and_then(first_of) {
            files.push((first, directory.join(&name)));
        }
    }
    files.sort_unstable();
    Ok(files)
}

/// Makes a directory, and those above it. The names of new ones are on the disk then.
pub(super) fn make_directory(directory: &Path) -> io::Result<()> {
    if directory.is_dir() {
        return Ok(());
    }
    let above = directory
        .parent()
        .filter(|above| !above.as_os_str().is_empty());
    let above = above.unwrap_or(Path::new("."));
    make_directory(above)?;
    match fs::create_dir(directory) {
        // Somebody else has made it meanwhile.
        Err(_) if directory.is_dir() => {}
        made => made?,
    }
    synced(above)
}

/// The names in a directory are on the disk then.
pub(super) fn synced(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

/// A new file is its owner's alone: who can open the lock can hold it, too.
fn owners(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}

/// The lock of a directory, if no other publisher has it.
pub(super) fn locked(directory: &Path) -> Result<File, LogError> {
    let lock = directory.join(LOCK);
    let file = owners(OpenOptions::new().create(true).append(true)).open(&lock);
    let file = file.map_err(|why| LogError::file(&lock, "opened", &why))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(LogError::InUse {
            file: directory.join(SAMPLES),
        }),
        Err(TryLockError::Error(why)) => Err(LogError::file(&lock, "locked", &why)),
    }
}

/// Makes a file without samples. It has its name when its head is on the disk.
pub(super) fn make(directory: &Path, path: &Path, head: &[u8]) -> Result<(), LogError> {
    let draft = directory.join(DRAFT);
    let make = || {
        let mut file =
            owners(OpenOptions::new().write(true).create(true).truncate(true)).open(&draft)?;
        file.write_all(head)?;
        file.sync_all()?;
        fs::rename(&draft, path)?;
        // The name, too.
        synced(directory)
    };
    make().map_err(|why| LogError::file(path, "made", &why))
}

/// Removes a file. It is gone from the disk then: who removes another one next leaves no hole.
pub(super) fn remove(directory: &Path, path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        // Somebody else has removed it.
        Err(why) if why.kind() == io::ErrorKind::NotFound => {}
        removed => removed?,
    }
    synced(directory)
}
