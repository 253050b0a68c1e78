//! Delivery classes by name, and how many samples wait for a slow subscriber.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// What a topic promises its subscribers.
///
/// | class | a slow subscriber | a broken link |
/// |---|---|---|
/// | [`Latest`](Class::Latest) | misses the oldest; it always sees the newest | goes on with the newest |
/// | [`Reliable`](Class::Reliable) | holds the publisher back | a gap, which both are told |
/// | [`Acknowledged`](Class::Acknowledged) | holds the publisher back | what it has not accepted is sent again |
/// | [`Durable`](Class::Durable) | goes on where it is in the log | the same, and by another process |
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Class {
    /// At most once, in order. The oldest waiting sample makes room for a new one. Both ends are
    /// told the numbers.
    Latest,
    /// In order, without a gap while the link lives. A publication that has no room is refused, or
    /// waits.
    Reliable,
    /// In order, once in the life of a subscriber. Samples are kept until the subscriber has
    /// accepted them.
    Acknowledged,
    /// In order, once in the life of a subscriber, from where it wants. Samples are on the
    /// publisher's disk before it hears that they are published, and are kept there: all, unless
    /// its [log](crate::LogConfig) drops the oldest, which is told.
    Durable,
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Class::Latest => "latest",
            Class::Reliable => "reliable",
            Class::Acknowledged => "acknowledged",
            Class::Durable => "durable",
        })
    }
}

/// Quality of service of a topic: class, depth of the queue for each subscriber, retained samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Qos {
    /// The delivery class.
    pub class: Class,
    /// How many samples wait at the publisher for each subscriber, at most. At least 1. Of
    /// [`Class::Durable`] these are the ones that are in memory: the log has all.
    pub depth: u32,
    /// How many of the last samples a new subscriber gets first.
    pub retain: u32,
    /// How long a subscriber whose link is broken is waited for (not [`Class::Reliable`], which
    /// does not wait, and not [`Class::Durable`], where it may come back at any time).
    pub keep: Duration,
}

impl Qos {
    fn new(class: Class, depth: u32) -> Self {
        Qos {
            class,
            depth: depth.max(1),
            retain: 0,
            keep: Duration::from_secs(30),
        }
    }

    /// Each subscriber gets the newest samples; `depth` of them wait for it, at most.
    #[must_use]
    pub fn latest(depth: u32) -> Self {
        Qos::new(Class::Latest, depth)
    }

    /// Each subscriber gets all samples while its link lives; `depth` of them wait for it, at most.
    #[must_use]
    pub fn reliable(depth: u32) -> Self {
        Qos::new(Class::Reliable, depth)
    }

    /// Each subscriber gets all samples, also over broken links; `depth` of them are kept for it,
    /// at most.
    #[must_use]
    pub fn acknowledged(depth: u32) -> Self {
        Qos::new(Class::Acknowledged, depth)
    }

    /// Each subscriber gets all samples from where it [wants](crate::StartFrom), also when it or the
    /// publisher has been started again; of those that it has not accepted `depth` are in memory.
    /// The topic is opened with a directory: [`Node::durable_topic`](crate::Node::durable_topic).
    #[must_use]
    pub fn durable(depth: u32) -> Self {
        Qos::new(Class::Durable, depth)
    }

    /// A new subscriber gets the last `count` samples first, marked as retained.
    #[must_use]
    pub fn retaining(mut self, count: u32) -> Self {
        self.retain = count;
        self
    }

    /// A subscriber whose link is broken is waited for so long.
    #[must_use]
    pub fn keeping(mut self, keep: Duration) -> Self {
        self.keep = keep;
        self
    }
}

/// Numbers of samples that did not arrive, or may not have arrived: from the first to the last of
/// them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Gap {
    /// The first number.
    pub from: u64,
    /// The last number.
    pub to: u64,
}

impl Gap {
    /// The number of samples.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.to - self.from + 1
    }
}
