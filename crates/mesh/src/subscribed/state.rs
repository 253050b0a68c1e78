//! What a subscription has of its publishers: a flow from each topic, and samples that wait.

use super::logs::LogTopics;
use crate::flow::FlowSource;
use crate::incoming::Incoming;
use crate::start_from::LogId;
use crate::{Class, Gap, Key, MAX_ENTRIES, PeerName, Sample};
use std::collections::{BTreeMap, VecDeque};

/// When publishers will be told what is accepted, apart from those that are told now.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ToldWhen {
    #[default]
    Not,
    /// When a timer has fired.
    Later,
    /// By a task that waits for nothing.
    Soon,
}

/// What will tell publishers: one timer at a time, and tasks.
#[derive(Debug, Default)]
pub(super) struct TellingPlan {
    when: ToldWhen,
    /// What is to begin for that once nothing is locked.
    begins: ToldWhen,
    /// A timer has not fired yet.
    has_timer: bool,
}

impl TellingPlan {
    /// Publishers are to be told by then.
    pub(super) fn wants(&mut self, when: ToldWhen) {
        if self.when < when {
            (self.when, self.begins) = (when, when);
        }
    }

    /// What begins now: the caller releases the lock, and begins it.
    pub(super) fn begins(&mut self) -> ToldWhen {
        let begins = std::mem::take(&mut self.begins);
        if begins == ToldWhen::Later && std::mem::replace(&mut self.has_timer, true) {
            // The one that was set before does it, and is earlier.
            return ToldWhen::Not;
        }
        begins
    }

    /// The timer has fired: whether a task is to tell, and none does yet.
    pub(super) fn fires(&mut self) -> bool {
        self.has_timer = false;
        let is_due = self.when == ToldWhen::Later;
        if is_due {
            self.when = ToldWhen::Soon;
        }
        is_due
    }

    /// A task tells all that is accepted now.
    pub(super) fn tells(&mut self) {
        self.when = ToldWhen::Not;
    }
}

pub(super) struct State<T> {
    pub(super) flows: BTreeMap<FlowSource, Flow>,
    /// Which topics have the logs of flows.
    pub(super) logs: LogTopics,
    /// Samples that have come, oldest first.
    pub(super) came: VecDeque<(FlowSource, Sample<T>)>,
    /// Somebody posts them.
    pub(super) posting: bool,
    /// Who posts waits for room in the port.
    pub(super) waits_for_room: bool,
    /// When publishers will be told what is accepted.
    pub(super) telling: TellingPlan,
    /// Who posts ends the subscription.
    pub(super) ends: bool,
    /// Of some flow samples were refused that no sample tells of yet.
    pub(super) refused: bool,
    /// Samples that have come for the port.
    pub(super) counted: u64,
    /// Samples that could not be read.
    pub(super) unreadable: u64,
    /// Numbers that did not come, in all.
    pub(super) missed: u64,
}

#[derive(Debug)]
pub(super) struct Flow {
    pub(super) key: Key,
    /// The number of the link by which it was opened last.
    pub(super) link: u64,
    /// Of its topic.
    pub(super) class: Class,
    pub(super) numbers: Incoming,
    /// What the next sample that comes tells that was missed before it.
    pub(super) gap: Option<Gap>,
    /// What the port has refused since the last sample that it took: the next one that goes there
    /// tells it.
    pub(super) refused: Option<Gap>,
}

impl Flow {
    pub(super) fn miss(&mut self, gap: Option<Gap>) {
        self.gap = both(self.gap, gap);
    }
}

impl<T: Send + Sync + 'static> State<T> {
    /// Nothing comes yet.
    pub(super) fn new() -> Self {
        State {
            flows: BTreeMap::new(),
            logs: LogTopics::default(),
            came: VecDeque::new(),
            posting: false,
            waits_for_room: false,
            telling: TellingPlan::default(),
            ends: false,
            refused: false,
            counted: 0,
            unreadable: 0,
            missed: 0,
        }
    }

    /// Whether the topic of a flow is one of the peer.
    pub(super) fn is_of(&self, source: &FlowSource, peer: &PeerName) -> bool {
        match source {
            FlowSource::Log(log) => self.logs.topic(*log).is_some_and(|topic| topic.is_of(peer)),
            topic => topic.is_of(peer),
        }
    }

    /// Whether there are as many logs as there may be, without this one.
    pub(super) fn has_all_logs(&self, log: Option<LogId>) -> bool {
        let is_new = log.is_some_and(|log| !self.flows.contains_key(&FlowSource::Log(log)));
        let logs = FlowSource::Log(0)..=FlowSource::Log(LogId::MAX);
        is_new && self.flows.range(logs).count() >= MAX_ENTRIES
    }

    /// How many topics come here now.
    pub(super) fn publisher_count(&self) -> usize {
        let is_there = |source: &&FlowSource| match source {
            FlowSource::Log(log) => self.logs.topic(*log).is_some(),
            FlowSource::Here(_) | FlowSource::There(..) => true,
        };
        self.flows.keys().filter(is_there).count()
    }

    /// Whether somebody posts, and does not wait for room. He counts what he has posted later.
    pub(super) fn is_posted_to(&self) -> bool {
        self.posting && !self.waits_for_room
    }

    /// A sample goes to the port, and tells what that has refused of its flow before.
    pub(super) fn tell_refused(&mut self, source: &FlowSource, sample: &mut Sample<T>) {
        if self.refused
            && let Some(flow) = self.flows.get_mut(source)
        {
            sample.gap = both(flow.refused.take(), sample.gap);
        }
    }
}

/// Two gaps between which nothing was seen, as one.
pub(super) fn both(one: Option<Gap>, other: Option<Gap>) -> Option<Gap> {
    match (one, other) {
        (Some(one), Some(other)) => Some(Gap {
            from: one.from.min(other.from),
            to: one.to.max(other.to),
        }),
        (one, other) => one.or(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_timer_is_set_while_another_one_runs() {
        let mut plan = TellingPlan::default();
        plan.wants(ToldWhen::Later);
        assert_eq!(plan.begins(), ToldWhen::Later);
        plan.wants(ToldWhen::Later);
        assert_eq!(plan.begins(), ToldWhen::Not);
        // A task that is to tell sooner tells of all.
        plan.wants(ToldWhen::Soon);
        assert_eq!(plan.begins(), ToldWhen::Soon);
        plan.tells();
        plan.wants(ToldWhen::Later);
        assert_eq!(plan.begins(), ToldWhen::Not, "the first timer runs");
        assert!(plan.fires());
        plan.wants(ToldWhen::Soon);
        assert_eq!(plan.begins(), ToldWhen::Not, "a task is on its way");
        plan.tells();
        plan.wants(ToldWhen::Later);
        assert_eq!(plan.begins(), ToldWhen::Later);
        plan.wants(ToldWhen::Soon);
        plan.tells();
        assert!(!plan.fires(), "all was told");
    }

    #[test]
    fn what_is_wanted_sooner_under_one_lock_sets_no_timer() {
        let mut plan = TellingPlan::default();
        plan.wants(ToldWhen::Later);
        plan.wants(ToldWhen::Soon);
        assert_eq!(plan.begins(), ToldWhen::Soon);
        plan.tells();
        plan.wants(ToldWhen::Later);
        assert_eq!(plan.begins(), ToldWhen::Later);
    }
}
