//! Flows of durable topics: each is that of a log, whichever topic has the log now.

use crate::PeerName;
use crate::flow::FlowSource;
use crate::start_from::LogOfKey;
use std::collections::BTreeMap;

/// Which topic has which log now.
#[derive(Debug, Default)]
pub(super) struct LogTopics {
    logs: BTreeMap<FlowSource, LogOfKey>,
    topics: BTreeMap<LogOfKey, FlowSource>,
}

impl LogTopics {
    /// The topic that has the log.
    pub(super) fn topic(&self, log: &LogOfKey) -> Option<&FlowSource> {
        self.topics.get(log)
    }

    /// Whether a topic is of this node, and another one of this node has the log.
    pub(super) fn has_other_here(&self, topic: &FlowSource, log: &LogOfKey) -> bool {
        match (topic, self.topic(log)) {
            (FlowSource::Here(topic), Some(FlowSource::Here(other))) => topic != other,
            _ => false,
        }
    }

    /// Whether the topic of a flow is one of the peer.
    pub(super) fn is_of(&self, source: &FlowSource, peer: &PeerName) -> bool {
        match source {
            FlowSource::Log(log) => self.topic(log).is_some_and(|topic| topic.is_of(peer)),
            topic => topic.is_of(peer),
        }
    }

    /// The flow that samples of a topic belong to, if that has a log.
    pub(super) fn flow(&self, topic: &FlowSource) -> Option<FlowSource> {
        self.logs.get(topic).cloned().map(FlowSource::Log)
    }

    /// A topic has this log from now on, and no other topic has. Whether it had it not before, and
    /// the one that had it then.
    pub(super) fn enter(
        &mut self,
        topic: FlowSource,
        log: &LogOfKey,
    ) -> (bool, Option<FlowSource>) {
        let before = self.topics.insert(log.clone(), topic.clone());
        if before.as_ref() == Some(&topic) {
            return (false, None);
        }
        if let Some(before) = &before {
            self.logs.remove(before);
        }
        let other = self.logs.insert(topic, log.clone());
        if let Some(other) = other.filter(|other| other != log) {
            self.topics.remove(&other);
        }
        (true, before)
    }

    /// Topics are gone. What came of their logs is known for when these come back.
    pub(super) fn leave(&mut self, is_gone: impl Fn(&FlowSource, &LogOfKey) -> bool) {
        self.logs.retain(|topic, log| !is_gone(topic, log));
        self.topics.retain(|log, topic| !is_gone(topic, log));
    }
}
