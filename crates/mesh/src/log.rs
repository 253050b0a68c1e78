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
mod record;
mod scan;
#[cfg(test)]
mod tests;
mod writer;

pub use self::error::LogError;
pub(crate) use self::file::SampleLog;
pub(crate) use self::writer::{LogRequest, LogWriter};

use motet_dispatch::Clock;
use serde::{Deserialize, Serialize};
use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Names a log, for as long as it exists: what a flow of it is known by.
pub(crate) type LogId = u128;

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

/// Which samples of a durable topic a subscription gets first. Topics of the other classes have
/// none but those that they [retain](crate::Qos::retaining).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum StartFrom {
    /// Those that are published after it has come, behind those that the topic retains.
    #[default]
    New,
    /// All that the log has.
    All,
    /// From the sample with this number on. A subscriber that comes back names the one behind the
    /// last that it has handled.
    Number(u64),
    /// Those that were written at this time or later. In virtual time a log counts from 1970.
    Time(SystemTime),
}

/// [`StartFrom`] as it crosses a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum LogPlace {
    New,
    All,
    Number(u64),
    /// In nanoseconds since 1970.
    Time(u64),
}

impl From<StartFrom> for LogPlace {
    fn from(from: StartFrom) -> Self {
        match from {
            StartFrom::New => LogPlace::New,
            StartFrom::All => LogPlace::All,
            StartFrom::Number(number) => LogPlace::Number(number),
            StartFrom::Time(time) => LogPlace::Time(nanoseconds(time)),
        }
    }
}

/// Since 1970.
pub(crate) fn nanoseconds(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// A name for a new log: by chance, but in virtual time, where runs repeat.
pub(crate) fn new_id(clock: &Clock, directory: &Path) -> LogId {
    if clock.is_virtual() {
        return LogId::from(crc32fast::hash(directory.as_os_str().as_encoded_bytes()));
    }
    let part = || LogId::from(RandomState::new().hash_one(directory));
    (part() << 64) | part()
}
