//! Where a draft lies: beside the file that it becomes.

use crate::FileError;
use motet_sync::atomic::{AtomicU64, Ordering};
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::process;

/// The file of a draft, also of one that is only begun; it is removed when this is dropped. The
/// draft takes it out when the file has its name.
#[derive(Default)]
pub(crate) struct Removal(pub(crate) Option<PathBuf>);

impl Drop for Removal {
    fn drop(&mut self) {
        if let Some(draft) = self.0.take() {
            // Nobody can be told.
            drop(fs::remove_file(draft));
        }
    }
}

/// Where a path leads: a link stays, and what it names is written.
pub(crate) fn followed(path: &Path) -> Result<PathBuf, FileError> {
    // As many as systems follow.
    const MOST: usize = 40;
    let mut place = path.to_owned();
    for _ in 0..=MOST {
        let Ok(named) = fs::read_link(&place) else {
            return Ok(place);
        };
        place = folder_of(&place).join(named);
    }
    // A draft that took the name of one of them would end the circle in silence.
    let why = format!("it leads through more than {MOST} symbolic links");
    Err(FileError::io("open", path)(io::Error::other(why)))
}

pub(crate) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}

/// Makes a file that nobody has, beside this one.
pub(crate) fn made_beside(target: &Path) -> Result<(File, PathBuf), FileError> {
    static DRAFTS: AtomicU64 = AtomicU64::new(0);
    let name = target.file_name().ok_or_else(|| FileError::View {
        problem: format!("{} is no name of a file", target.display()),
    })?;
    loop {
        // Relaxed: only that no two have the same number counts.
        let number = DRAFTS.fetch_add(1, Ordering::Relaxed);
        let mut draft = OsString::from(".");
        draft.push(name);
        draft.push(format!(".{}-{number}.part", process::id()));
        let draft = target.with_file_name(draft);
        match OpenOptions::new().write(true).create_new(true).open(&draft) {
            // A process that had this number has left it.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            made => return Ok((made.map_err(FileError::io("create", &draft))?, draft)),
        }
    }
}

/// Waits until the names in a folder are on the disk.
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(not(unix)) {
        return Ok(());
    }
    match File::open(folder).and_then(|folder| folder.sync_all()) {
        // Some file systems sync files alone, and no folder of theirs could ever be.
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::InvalidInput | ErrorKind::Unsupported
            ) =>
        {
            Ok(())
        }
        synced => synced,
    }
}
