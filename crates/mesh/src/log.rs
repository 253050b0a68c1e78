//! The log of a durable topic: samples lie in a file before their publisher hears of them.
//!
//! ```text
//!   publications ──► LogWriter, one thread: all that wait are one record, one sync ──► SampleLog
//!   flows that are behind ──────────► reads ◄──────────────────────────────────────────┘
//! ```
//!
//! Nothing here knows what samples are, or who subscribes: that is `publishing/durable.rs`.

mod error;
mod file;
mod index;
mod record;
mod scan;
#[cfg(test)]
mod tests;
mod writer;

pub use self::error::LogError;
pub(crate) use self::file::SampleLog;
pub(crate) use self::writer::{LogRequest, LogWriter};

use crate::start_from::LogId;
use motet_dispatch::Clock;
use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};

/// Where the log of a durable topic lies, and how long it may grow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogConfig {
    /// The directory, which is made where it is missing. It belongs to one topic.
    pub directory: PathBuf,
    /// So many bytes at most. What is published beyond is refused.
    pub limit: u64,
}

impl LogConfig {
    /// A log of 1 GiB at most.
    #[must_use]
    pub fn in_directory(directory: impl Into<PathBuf>) -> Self {
        LogConfig {
            directory: directory.into(),
            limit: 1 << 30,
        }
    }

    /// So many bytes at most.
    #[must_use]
    pub fn limited_to(mut self, bytes: u64) -> Self {
        self.limit = bytes;
        self
    }
}

/// The log of a topic, as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogInfo {
    /// Its file.
    pub file: PathBuf,
    /// The number of its last sample.
    pub last: u64,
    /// How many bytes it has.
    pub bytes: u64,
    /// How many it may have.
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
