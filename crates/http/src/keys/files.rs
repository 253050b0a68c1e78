//! Files of keys: whole or not at all, and secrets for their owner only.

use super::{KeysError, Written};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

const NODE: &str = "node.json";

/// Who may read a file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Readers {
    All,
    Owner,
}

pub(super) fn read(folder: &Path) -> Result<Written, KeysError> {
    let file = folder.join(NODE);
    let text = fs::read_to_string(&file).map_err(|why| KeysError::File(file.clone(), why))?;
    serde_json::from_str(&text).map_err(|why| KeysError::Content(file, why.to_string()))
}

/// Keeps other processes from changing `node.json` as long as what it gives is there. A file
/// system without locks keeps nobody.
pub(super) fn lock(folder: &Path) -> Result<File, KeysError> {
    let path = folder.join("node.json.lock");
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    let locked = options.open(&path).and_then(|file| match file.lock() {
        Err(why) if why.kind() != io::ErrorKind::Unsupported => Err(why),
        _ => Ok(file),
    });
    locked.map_err(|why| KeysError::File(path, why))
}

/// Writes `node.json` in place of what was there.
pub(super) fn replace(folder: &Path, written: &Written) -> Result<(), KeysError> {
    let text = text(written)?;
    let (file, new) = (folder.join(NODE), folder.join("node.json.new"));
    let old = fs::remove_file(&new);
    drop(old);
    create(&new, Readers::Owner, &text)?;
    fs::rename(&new, &file).map_err(|why| KeysError::File(file, why))
}

fn text(written: &Written) -> Result<String, KeysError> {
    let text = serde_json::to_string_pretty(written);
    text.map_err(|why| KeysError::Asked(format!("the names do not fit JSON: {why}")))
}

/// Makes a folder with these files. It is there with all of them, or not there.
pub(super) fn folder(
    folder: &Path,
    written: &Written,
    files: &[(&str, Readers, String)],
) -> Result<(), KeysError> {
    if fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some()) || folder.is_file() {
        return Err(KeysError::Exists(folder.to_owned()));
    }
    let mut part = folder.as_os_str().to_owned();
    part.push(format!(".part-{}", std::process::id()));
    let part = PathBuf::from(part);
    let made = fill(&part, written, files).and_then(|()| {
        fs::rename(&part, folder).map_err(|why| KeysError::File(folder.to_owned(), why))
    });
    if made.is_err() {
        // What could not be made may not be there.
        drop(fs::remove_dir_all(&part));
    }
    made
}

fn fill(
    part: &Path,
    written: &Written,
    files: &[(&str, Readers, String)],
) -> Result<(), KeysError> {
    fs::create_dir(part).map_err(|why| KeysError::File(part.to_owned(), why))?;
    create(&part.join(NODE), Readers::Owner, &text(written)?)?;
    for (name, readers, text) in files {
        create(&part.join(name), *readers, text)?;
    }
    Ok(())
}

/// Writes a file that is not there yet.
pub(super) fn create(path: &Path, readers: Readers, text: &str) -> Result<(), KeysError> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    if readers == Readers::Owner {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    let failed = |why| KeysError::File(path.to_owned(), why);
    let mut file = options.open(path).map_err(failed)?;
    let written = file.write_all(text.as_bytes());
    written.and_then(|()| file.sync_all()).map_err(failed)
}
