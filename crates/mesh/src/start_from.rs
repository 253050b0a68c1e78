//! From where a subscription gets the samples of durable topics.

use crate::{Key, PeerName};
use serde::{Deserialize, Serialize};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Names a log, for as long as it exists.
pub(crate) type LogId = u128;

/// The log of a topic, and the key of that: what a flow of it is known by. A log has one topic, so
/// who says that he has it under another key has another one, and keeps nobody out. So does a peer
/// that may not do all, since all who may publish to a key learn which log a topic of it has.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LogOfKey {
    pub(crate) id: LogId,
    pub(crate) key: Key,
    /// The peer whose log it is, if that may not do all.
    pub(crate) of: Option<PeerName>,
}

/// Which samples of a durable topic a subscription gets first. Topics of the other classes have
/// none but those that they [retain](crate::Qos::retaining).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum StartFrom {
    /// Those that are published after it has come to the topic, behind those that the topic
    /// [retains](crate::Qos::retaining).
    #[default]
    New,
    /// All that the log has.
    All,
    /// From the sample with this number on. A subscriber that comes back names the one behind the
    /// last that it has handled. If the log has dropped it, the first sample that comes tells the
    /// gap before it. If the log ends more than one before it, nothing comes until it is published,
    /// and [`PeerChange::Mismatch`](crate::PeerChange::Mismatch) tells what is there.
    Number(u64),
    /// Those that the log has of this time or later. In virtual time a log counts from 1970.
    Time(SystemTime),
}

/// [`StartFrom`] as it crosses a link, and who looks on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum LogPlace {
    New,
    All,
    Number(u64),
    /// In nanoseconds since 1970.
    Time(u64),
    /// New ones alone, for one that looks on and is no subscriber.
    Observe,
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
