//! What can go wrong with a file of several ranks.

use motet_comm::{CommError, LayoutError};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// A call of a file failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum FileError {
    /// The system refused something.
    Io {
        /// What was to be done: `open`, `read`, `write` and so on.
        act: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// What was to be read does not lie in the file.
    Beyond {
        /// The file.
        path: PathBuf,
        /// The first element of the file that is not there.
        element: u64,
        /// How many elements the file has.
        length: u64,
    },
    /// The length of the file is no multiple of that of an element.
    Ragged {
        /// The file.
        path: PathBuf,
        /// Its length in bytes.
        bytes: u64,
        /// The length of an element in bytes.
        element: usize,
    },
    /// A view cannot be used, or elements do not fit it.
    View {
        /// What is wrong.
        problem: String,
    },
    /// A draft has become the file, whole, and the file has the name. That the name is on the disk
    /// the system does not say: a failure of the machine may bring back what had the name before.
    Unsynced {
        /// The file.
        path: PathBuf,
        /// What the system says of the folder.
        problem: String,
    },
    /// Another rank has failed in a call of all.
    Elsewhere {
        /// The first that has.
        rank: usize,
        /// What it says.
        problem: String,
    },
    /// The ranks could not communicate.
    Comm(CommError),
}

impl FileError {
    pub(crate) fn io(act: &'static str, path: &Path) -> impl FnOnce(io::Error) -> FileError {
        let path = path.to_owned();
        move |error| FileError::Io { act, path, error }
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FileError::Io { act, path, error } => {
                write!(f, "{act} of {} is not possible: {error}", path.display())
            }
            FileError::Beyond {
                path,
                element,
                length,
            } => write!(
                f,
                "{} has no element {element}: it has {length}, numbered from 0",
                path.display()
            ),
            FileError::Ragged {
                path,
                bytes,
                element,
            } => write!(
                f,
                "{} has {bytes} bytes, which are no whole elements of {element} bytes; \
                 read it as what it was written",
                path.display()
            ),
            FileError::View { problem } => f.write_str(problem),
            FileError::Unsynced { path, problem } => write!(
                f,
                "{} is written, but a failure of the machine may bring back what was there \
                 before: sync of its folder is not possible: {problem}",
                path.display()
            ),
            FileError::Elsewhere { rank, problem } => write!(f, "rank {rank}: {problem}"),
            FileError::Comm(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for FileError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            FileError::Io { error, .. } => Some(error),
            FileError::Comm(error) => Some(error),
            _ => None,
        }
    }
}

impl From<CommError> for FileError {
    fn from(error: CommError) -> Self {
        FileError::Comm(error)
    }
}

impl From<LayoutError> for FileError {
    fn from(error: LayoutError) -> Self {
        FileError::Comm(error.into())
    }
}
