//! What can go wrong with the log of a topic.

use std::fmt;
use std::path::{Path, PathBuf};

/// Why a log is not opened, or does not take a sample.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum LogError {
    /// A durable topic was opened without a directory.
    NoDirectory,
    /// A directory was named for a topic that is not durable.
    NotDurable,
    /// The file cannot be made, read or written.
    File {
        /// The file.
        file: PathBuf,
        /// What was to be done with it.
        what: &'static str,
        /// Why it was not.
        why: String,
    },
    /// Another publisher has the log.
    InUse {
        /// Its file.
        file: PathBuf,
    },
    /// The file is no log, or one of a later form.
    NoLog {
        /// The file.
        file: PathBuf,
    },
    /// The log is that of another topic.
    OtherTopic {
        /// Its file.
        file: PathBuf,
        /// The key of its topic.
        key: String,
        /// The type of its samples.
        type_name: String,
    },
    /// A record is not as it was written, and others are behind it.
    Damaged {
        /// The file.
        file: PathBuf,
        /// Where in the file the record begins.
        offset: u64,
    },
    /// A file of the log does not go on behind the one before it.
    Apart {
        /// The file.
        file: PathBuf,
        /// The last number of the file before it.
        last: u64,
    },
    /// The log would have its limit before a file is dropped.
    LimitTooLow {
        /// The limit in bytes.
        limit: u64,
        /// How many bytes it is to have at least.
        needed: u64,
    },
    /// The sample does not fit below the limit.
    Full {
        /// The file.
        file: PathBuf,
        /// The limit in bytes.
        limit: u64,
    },
    /// The topic has ended.
    Closed,
}

impl LogError {
    pub(super) fn file(file: &Path, what: &'static str, why: &std::io::Error) -> Self {
        LogError::File {
            file: file.to_owned(),
            what,
            why: why.to_string(),
        }
    }
}

impl fmt::Display for LogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LogError::NoDirectory => {
                f.write_str("a durable topic needs a directory: open it with durable_topic")
            }
            LogError::NotDurable => {
                f.write_str("only a durable topic has a log: give it Qos::durable")
            }
            LogError::File { file, what, why } => {
                write!(f, "{} cannot be {what}: {why}", file.display())
            }
            LogError::InUse { file } => write!(
                f,
                "another publisher has the log {}: end it, or name another directory",
                file.display()
            ),
            LogError::NoLog { file } => write!(
                f,
                "{} is no log of a topic that can be read here: name another directory",
                file.display()
            ),
            LogError::OtherTopic {
                file,
                key,
                type_name,
            } => write!(
                f,
                "{} is the log of {key:?} with samples of type {type_name}: name another directory",
                file.display()
            ),
            LogError::Damaged { file, offset } => write!(
                f,
                "{} is damaged at byte {offset}, and has samples behind that. Nothing was changed. \
                 Bring back a copy of the file, cut it off at that byte and remove later files to \
                 go on without what is behind, or name another directory",
                file.display()
            ),
            LogError::Apart { file, last } => write!(
                f,
                "{} does not go on behind sample {last}, with which the file before it ends. \
                 Nothing was changed. Bring back the file that is missing, remove all before this \
                 one to go on without them, or name another directory",
                file.display()
            ),
            LogError::LimitTooLow { limit, needed } => write!(
                f,
                "a limit of {limit} bytes is too low for what the log keeps: give it {needed} at \
                 least, or keep less"
            ),
            LogError::Full { file, limit } => write!(
                f,
                "the log {} has reached its limit of {limit} bytes: give it a higher one, or name \
                 another directory",
                file.display()
            ),
            LogError::Closed => f.write_str("the topic has ended, and its log is closed"),
        }
    }
}

impl std::error::Error for LogError {}
