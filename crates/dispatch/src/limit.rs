//! What a bounded queue has room for: so many tasks at a time, or so many in a span of time.

use crate::QueueError;
use crate::clock::Clock;
use crate::rate::TokenBucket;
use motet_sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// What there is room for.
pub(crate) enum QueueLimit {
    /// So many tasks at a time, and how many there are.
    Depth(usize, AtomicUsize),
    /// A task at a time, with times of the clock counted from the moment.
    Rate(TokenBucket, Clock, Instant),
}

impl QueueLimit {
    /// Takes room for one. The error may say how long it takes until there is some.
    pub(crate) fn take(&self) -> Result<(), Option<Duration>> {
        match self {
            QueueLimit::Depth(depth, waiting) => {
                let more = |count| (count < *depth).then_some(count + 1);
                // Not an addition that is taken back: someone who saw it would find no room where
                // there is some, and nobody would tell him.
                waiting
                    .fetch_update(Ordering::AcqRel, Ordering::Acquire, more)
                    .map_or(Err(None), |_| Ok(()))
            }
            QueueLimit::Rate(bucket, clock, begun) => {
                let now = nanoseconds(clock.now().saturating_duration_since(*begun));
                let left = |when: u64| Some(Duration::from_nanos(when.saturating_sub(now)));
                bucket.take(now).map_err(left)
            }
        }
    }

    pub(crate) fn give_back(&self) {
        match self {
            QueueLimit::Depth(_, waiting) => {
                waiting.fetch_sub(1, Ordering::AcqRel);
            }
            QueueLimit::Rate(bucket, ..) => bucket.give_back(),
        }
    }

    pub(crate) fn refusal(&self) -> QueueError {
        match self {
            QueueLimit::Depth(..) => QueueError::Full,
            QueueLimit::Rate(..) => QueueError::RateExceeded,
        }
    }
}

/// As far as it can be counted: 584 years.
pub(crate) fn nanoseconds(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}
