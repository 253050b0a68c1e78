//! What a subscription has of its publishers: a flow from each topic, and samples that wait.

use super::flows::{Flow, FlowId, Flows, both};
use super::logs::LogTopics;
use crate::flow::FlowSource;
use crate::start_from::LogOfKey;
use crate::{Gap, MAX_ENTRIES, PeerName, Sample};
use motet_dispatch::Causalities;
use std::collections::VecDeque;

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

/// Samples that are to be posted, oldest first, each under its causalities.
pub(super) type WaitingSamples<T> = VecDeque<(FlowId, Sample<T>, Causalities)>;

pub(super) struct State<T> {
    pub(super) flows: Flows,
    /// Which topics have the logs of flows.
    pub(super) logs: LogTopics,
    /// Samples that have come.
    pub(super) came: WaitingSamples<T>,
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
    pub(super) counts: ArrivalCounts,
}

#[derive(Debug, Default)]
pub(super) struct ArrivalCounts {
    /// Samples that have come for the port.
    pub(super) came: u64,
    /// Samples that could not be read.
    pub(super) unreadable: u64,
    /// Numbers that did not come, in all.
    pub(super) missed: u64,
}

impl ArrivalCounts {
    pub(super) fn miss(&mut self, gap: Option<Gap>) {
        let count = gap.map_or(0, |gap| gap.count());
        self.missed = self.missed.saturating_add(count);
    }
}

impl<T: Send + Sync + 'static> State<T> {
    /// Nothing comes yet.
    pub(super) fn new() -> Self {
        State {
            flows: Flows::default(),
            logs: LogTopics::default(),
            came: VecDeque::new(),
            posting: false,
            waits_for_room: false,
            telling: TellingPlan::default(),
            ends: false,
            refused: false,
            counts: ArrivalCounts::default(),
        }
    }

    /// The port did not take a sample, and what that would have told: the next one that goes there
    /// tells it.
    pub(super) fn lose(&mut self, id: FlowId, (number, gap): (u64, Option<Gap>)) {
        let own = Some(Gap {
            from: number,
            to: number,
        });
        self.counts.miss(own);
        self.refused = true;
        if let Some(flow) = self.flows.get_mut(id) {
            flow.refused = both(flow.refused, both(gap, own));
        }
    }

    /// The flows that have a topic now.
    pub(super) fn flows_now(&self) -> impl Iterator<Item = &Flow> {
        let flows = self.flows.iter();
        flows.filter(|flow| match &flow.source {
            FlowSource::Log(log) => self.logs.topic(log).is_some(),
            FlowSource::Here(_) | FlowSource::There(..) => true,
        })
    }

    /// Whether there are as many logs as there may be, without this one, and all have topics. Of
    /// those without one the oldest is forgotten.
    pub(super) fn has_all_logs(&mut self, log: Option<LogOfKey>) -> bool {
        let is_new = log.is_some_and(|log| self.flows.id(&FlowSource::Log(log)).is_none());
        if !is_new || self.flows.count_of_logs() < MAX_ENTRIES {
            return false;
        }
        !self.forgets_a_log(|_| true)
    }

    /// Whether a peer may bring this log, of which it may bring so many. Of its own without a topic
    /// the oldest is forgotten for it.
    pub(super) fn has_room_for(&mut self, log: &LogOfKey, peer: &PeerName, most: usize) -> bool {
        if self.flows.id(&FlowSource::Log(log.clone())).is_some() {
            return true;
        }
        let is_own = |flow: &Flow| flow.origin.publisher == *peer;
        let logs = self.flows.iter().filter(|flow| flow.source.is_log());
        logs.filter(|flow| is_own(flow)).count() < most || self.forgets_a_log(is_own)
    }

    /// Of these logs the oldest that has no topic is forgotten, if there is one.
    fn forgets_a_log(&mut self, is_meant: impl Fn(&Flow) -> bool) -> bool {
        let is_idle = |flow: &&Flow| match &flow.source {
            FlowSource::Log(log) => self.logs.topic(log).is_none() && is_meant(flow),
            FlowSource::Here(_) | FlowSource::There(..) => false,
        };
        let idle = self.flows.iter().find(is_idle);
        let Some(idle) = idle.map(|flow| flow.source.clone()) else {
            return false;
        };
        self.flows.close(&idle);
        true
    }

    /// Whether somebody posts, and does not wait for room. He counts what he has posted later.
    pub(super) fn is_posted_to(&self) -> bool {
        self.posting && !self.waits_for_room
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
