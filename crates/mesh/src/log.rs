//! The log of a durable topic: samples lie in files before their publisher hears of them.
//!
//! ```text
//!   publications ──► LogWriter, one thread: all that wait are one record, one sync ──► SampleLog
//!   flows that are behind ──────────► reads ◄──────────────────────────────────────────┘
//!
//!   SampleLog   older files, whole, the oldest is dropped first | the file that grows
//! ```
//!
//! Nothing here knows what samples are, or who subscribes: that is `publishing/durable.rs`.

mod directory;
mod error;
mod file;
mod found;
mod index;
mod record;
mod scan;
mod search;
mod segment;
#[cfg(test)]
mod tests;
mod writer;

pub use self::error::LogError;
pub(crate) use self::file::{LogSamples, SampleLog};
pub(crate) use self::writer::{LogRequest, LogWriter};

use crate::start_from::LogId;
use motet_dispatch::Clock;
use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Where the log of a durable topic lies, how long it may grow, and what of it is kept.
///
/// A log has files, of which the last one grows. Before a sample is written, whole files that are
/// kept no longer are dropped, the oldest first. Files that are too old go also while nothing is
/// written, and when the log is opened. With `keep_bytes` and `keep_age` those go that one of the
/// two drops.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogConfig {
    /// The directory, which is made where it is missing. It belongs to one topic.
    pub directory: PathBuf,
    /// So many bytes at most. What is published beyond is refused.
    pub limit: u64,
    /// The newest samples are kept, of so many bytes at least and twice as many at most, about. The
    /// limit is above that by the bytes of two files. None: all.
    pub keep_bytes: Option<u64>,
    /// Samples are kept for so long at least and twice as long at most, while the log is open.
    /// None: for ever. By the system's clock: where that was set back, time goes on from the last
    /// sample.
    pub keep_age: Option<Duration>,
    /// A file that has so many bytes, or as many as are kept, is followed by another one.
    pub file_bytes: u64,
}

impl LogConfig {
    /// A log of 1 GiB at most, in files of 64 MiB, of which all are kept.
    #[must_use]
    pub fn in_directory(directory: impl Into<PathBuf>) -> Self {
        LogConfig {
            directory: directory.into(),
            limit: 1 << 30,
            keep_bytes: None,
            keep_age: None,
            file_bytes: 64 << 20,
        }
    }

    /// So many bytes at most.
    #[must_use]
    pub fn limited_to(mut self, bytes: u64) -> Self {
        self.limit = bytes;
        self
    }

    /// The newest samples are kept, of so many bytes at least.
    #[must_use]
    pub fn keeping_bytes(mut self, bytes: u64) -> Self {
        self.keep_bytes = Some(bytes);
        self
    }

    /// Samples are kept for so long at least.
    #[must_use]
    pub fn keeping_for(mut self, age: Duration) -> Self {
        self.keep_age = Some(age);
        self
    }

    /// In files of so many bytes, about.
    #[must_use]
    pub fn in_files_of(mut self, bytes: u64) -> Self {
        self.file_bytes = bytes;
        self
    }

    /// When a file is followed by another one.
    fn length_of_files(&self) -> u64 {
        self.file_bytes.min(self.keep_bytes.unwrap_or(u64::MAX))
    }

    /// How long samples are kept.
    fn keep_nanoseconds(&self) -> Option<u64> {
        let age = self.keep_age?;
        Some(u64::try_from(age.as_nanos()).unwrap_or(u64::MAX))
    }

    /// Whether files are dropped before the log has its limit. Together they have less than what is
    /// kept and the oldest one has. That may be longer than a file is to be, by a part of a record,
    /// and another record is written before it is dropped: for these there is one file more.
    fn has_room(&self) -> Result<(), LogError> {
        let Some(keep) = self.keep_bytes else {
            return Ok(());
        };
        let files = self.length_of_files().saturating_mul(2);
        let needed = keep.saturating_add(files);
        match needed <= self.limit {
            true => Ok(()),
            false => Err(LogError::LimitTooLow {
                limit: self.limit,
                needed,
            }),
        }
    }
}

/// The log of a topic, as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogInfo {
    /// The file that it grows in.
    pub file: PathBuf,
    /// The number of the oldest sample that it has: that of the next one, if it has none.
    pub first: u64,
    /// The number of its last sample.
    pub last: u64,
    /// How many bytes its files have.
    pub bytes: u64,
    /// How many they may have.
    pub limit: u64,
    /// How many bytes were cut off its end when it was opened: a record that was not written to its
    /// end. No publisher has heard of the samples in it.
    pub cut_off: u64,
}

/// A name for a new log: by chance, but in virtual time, where runs repeat.
pub(crate) fn new_id(clock: &Clock, directory: &Path) -> LogId {
    if clock.is_virtual() {
        return LogId::from(crc32fast::hash(directory.as_os_str().as_encoded_bytes()));
    }
    let part = || LogId::from(RandomState::new().hash_one(directory));
    (part() << 64) | part()
}
