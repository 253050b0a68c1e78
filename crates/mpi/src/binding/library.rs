//! A library that is open and not yet started.

use super::abi;
use super::symbols::Symbols;
use crate::error::{MpiError, STATIC};
use std::error::Error;
use std::ffi::{c_char, c_int};
use std::fmt;
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};

/// An MPI library with the MPI-5 standard ABI, opened at run time.
///
/// It stays open until the process ends: no MPI library survives being closed and opened again.
#[derive(Debug, Clone)]
pub struct Library {
    path: PathBuf,
    pub(super) symbols: Symbols,
}

/// From how many threads a started library may be called (MPI 5.0, section 11.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ThreadLevel {
    /// The process has one thread.
    Single,
    /// Only the thread that started MPI calls.
    Funneled,
    /// Any thread calls, one at a time.
    Serialized,
    /// Any thread calls at any time.
    Multiple,
}

impl Library {
    /// Opens the library in the file `path`.
    ///
    /// Opening runs what the library does when it is loaded: name one that you trust.
    ///
    /// ```
    /// use motet_mpi::{Library, MpiError};
    /// use std::path::Path;
    ///
    /// let error = Library::open(Path::new("/nowhere.so")).unwrap_err();
    /// assert!(matches!(&error, MpiError::Open { reason, .. } if reason.contains("nowhere.so")));
    /// ```
    ///
    /// # Errors
    /// - [`MpiError::Open`] when the file is no library;
    /// - [`MpiError::NoAbi`] when it lacks a function of the standard ABI or has another version of
    ///   it than 1;
    /// - [`MpiError::Static`] in a program that is linked statically with musl, which cannot open
    ///   libraries.
    pub fn open(path: &Path) -> Result<Library, MpiError> {
        if STATIC {
            return Err(MpiError::Static);
        }
        // SAFETY: the initialisers of the library run here. The caller chose the file; an MPI
        // library's initialisers set up its own state only.
        let opened = unsafe { libloading::Library::new(path) };
        let opened = opened.map_err(|error| MpiError::Open {
            path: path.to_owned(),
            // The system's own words are the source.
            reason: error
                .source()
                .map_or_else(|| error.to_string(), ToString::to_string),
        })?;
        // Never closed: threads and exit handlers of the library may run until the process ends.
        let opened = ManuallyDrop::new(opened);
        let symbols = Symbols::of(&opened, path)?;
        let library = Library {
            path: path.to_owned(),
            symbols,
        };
        library.check_abi()?;
        Ok(library)
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What the library says of itself, its first line, such as `MPICH Version: 5.0.2`.
    #[must_use]
    pub fn version(&self) -> String {
        let said = text(abi::MAX_LIBRARY_VERSION_STRING, |to, length| {
            // SAFETY: allowed before MPI is started; the room is what the standard asks for.
            unsafe { (self.symbols.get_library_version)(to, length) }
        });
        let line = said.lines().next().unwrap_or_default();
        line.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// The version of the MPI standard that it follows.
    #[must_use]
    pub fn standard(&self) -> (i32, i32) {
        let (mut major, mut minor) = (0, 0);
        // SAFETY: allowed before MPI is started; both places are valid.
        unsafe { (self.symbols.get_version)(&raw mut major, &raw mut minor) };
        (major, minor)
    }

    fn check_abi(&self) -> Result<(), MpiError> {
        let (mut major, mut minor) = (0, 0);
        // SAFETY: allowed before MPI is started; both places are valid.
        let code = unsafe { (self.symbols.abi_get_version)(&raw mut major, &raw mut minor) };
        if code == abi::SUCCESS && major == 1 {
            return Ok(());
        }
        Err(MpiError::NoAbi {
            path: self.path.clone(),
            problem: format!("its ABI has version {major}.{minor}, not 1"),
        })
    }
}

impl ThreadLevel {
    /// The name in the standard.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            ThreadLevel::Single => "MPI_THREAD_SINGLE",
            ThreadLevel::Funneled => "MPI_THREAD_FUNNELED",
            ThreadLevel::Serialized => "MPI_THREAD_SERIALIZED",
            ThreadLevel::Multiple => "MPI_THREAD_MULTIPLE",
        }
    }

    pub(super) fn number(self) -> c_int {
        match self {
            ThreadLevel::Single => abi::THREAD_SINGLE,
            ThreadLevel::Funneled => abi::THREAD_FUNNELED,
            ThreadLevel::Serialized => abi::THREAD_SERIALIZED,
            ThreadLevel::Multiple => abi::THREAD_MULTIPLE,
        }
    }

    pub(super) fn of(number: c_int) -> ThreadLevel {
        // Levels between those of the standard count as the lower one.
        match number {
            abi::THREAD_MULTIPLE.. => ThreadLevel::Multiple,
            abi::THREAD_SERIALIZED.. => ThreadLevel::Serialized,
            abi::THREAD_FUNNELED.. => ThreadLevel::Funneled,
            _ => ThreadLevel::Single,
        }
    }
}

impl fmt::Display for ThreadLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A text of at most `room` bytes that the library writes.
pub(super) fn text(room: usize, write: impl FnOnce(*mut c_char, *mut c_int) -> c_int) -> String {
    let mut bytes = vec![0u8; room];
    let mut length = 0;
    if write(bytes.as_mut_ptr().cast(), &raw mut length) != abi::SUCCESS {
        return String::new();
    }
    bytes.truncate(usize::try_from(length).unwrap_or(0));
    let text = String::from_utf8_lossy(&bytes);
    text.trim_end_matches('\0').trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_ordered_as_in_the_standard() {
        let levels = [0, 1024, 2048, 4096].map(ThreadLevel::of);
        assert!(levels.is_sorted());
        assert_eq!(levels[0], ThreadLevel::Single);
        assert_eq!(levels.map(ThreadLevel::number), [0, 1024, 2048, 4096]);
        assert_eq!(levels[3].to_string(), "MPI_THREAD_MULTIPLE");
    }

    #[test]
    fn sem_g296_a_library_that_is_no_mpi_is_refused_by_name() {
        // Any library will do that every Linux has.
        let error = Library::open(Path::new("libc.so.6")).unwrap_err();
        let text = error.to_string();
        assert!(matches!(error, MpiError::NoAbi { .. }), "{text}");
        assert!(
            text.contains("libc.so.6") && text.contains("pip install mpich"),
            "{text}"
        );
    }
}
