//! What is at the place of a file that is to be written.

use std::fs::{self, FileType};
use std::io;
use std::path::{Path, PathBuf};

use crate::error::OutputError;

/// Where the bytes of a file go.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum OutputPlace {
    /// They become this file, which may be there. Symbolic links are followed.
    File(PathBuf),
    /// They go into what is there, as a pipe or a terminal, which a file would only take the name
    /// of.
    Pipe,
}

impl OutputPlace {
    /// That of this path. Nothing is opened.
    ///
    /// # Errors
    /// [`OutputError::InTheWay`] of a directory, [`OutputError::NoFile`] of what takes no bytes in
    /// a row, [`OutputError::Write`] of symbolic links without an end.
    pub(crate) fn of(path: &Path) -> Result<OutputPlace, OutputError> {
        let path = path.to_owned();
        match fs::metadata(&path).map(|known| known.file_type()) {
            Ok(kind) if kind.is_dir() => Err(OutputError::InTheWay { path }),
            Ok(kind) if takes_bytes(kind) => Ok(OutputPlace::Pipe),
            Ok(kind) if !kind.is_file() => Err(OutputError::NoFile { path }),
            // What the system does not lead to is not looked for beside it.
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                Err(OutputError::Write { path, source })
            }
            _ => match followed(&path) {
                Ok(Some(place)) => Ok(OutputPlace::File(place)),
                Ok(None) => Ok(OutputPlace::Pipe),
                Err(source) => Err(OutputError::Write { path, source }),
            },
        }
    }
}

/// Whether this is a pipe or a device that takes one byte after the other.
fn takes_bytes(kind: FileType) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        kind.is_fifo() || kind.is_char_device()
    }
    #[cfg(not(unix))]
    {
        let _ = kind;
        false
    }
}

/// The path that symbolic links lead to, where something may be or nothing. `None`: they lead to
/// what a process has open, as `/dev/stdout` does, which has what was written before.
fn followed(path: &Path) -> io::Result<Option<PathBuf>> {
    // As many as systems follow.
    const MOST: usize = 40;
    let mut place = path.to_owned();
    for _ in 0..=MOST {
        if ["/proc", "/dev/fd"]
            .iter()
            .any(|open| place.starts_with(open))
        {
            return Ok(None);
        }
        let Ok(named) = fs::read_link(&place) else {
            return Ok(Some(place));
        };
        place = parent_of(&place).join(named);
    }
    let why = format!("it leads through more than {MOST} symbolic links");
    Err(io::Error::other(why))
}

/// The folder that a file is in.
pub(crate) fn parent_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;

    #[test]
    fn sem_g578_a_file_that_is_open_is_written_behind_what_it_has() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let open = fs::File::create(&path).unwrap();
        let by_number = format!("/dev/fd/{}", open.as_raw_fd());
        let place = OutputPlace::of(Path::new(&by_number)).unwrap();
        assert_eq!(place, OutputPlace::Pipe);
        let place = OutputPlace::of(&path).unwrap();
        assert_eq!(place, OutputPlace::File(path));
    }
}
