//! The subscriber's half of a flow: which numbers have come, and up to which they are accepted.

use crate::Gap;
use std::collections::VecDeque;

/// What a number that comes means.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// It has come before.
    Duplicate,
    /// Its publisher was not to send it: as many as may be under way have come by this link, and
    /// are not accepted.
    Unasked,
    /// It is new; the numbers between it and the one before did not come.
    New(Option<Gap>),
}

/// When a publisher should be told what has been accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ToBeTold {
    /// Half of the window is new.
    Now,
    /// Something is new and nothing waits: more may come within a moment, and is told with it.
    Soon,
    /// With what waits here, or there is nothing new.
    Later,
}

/// A flow from one publisher to one subscription. Numbers begin at 1.
#[derive(Debug)]
pub(crate) struct Incoming {
    /// How many may be under way, or not accepted yet.
    window: usize,
    /// The last number that came, or that the flow began behind.
    last: u64,
    /// What that was when the present link began.
    before_link: u64,
    /// All up to here are accepted.
    accepted: u64,
    /// Up to here the publisher has been told.
    told: u64,
    /// Came and not accepted yet, the oldest first.
    waiting: VecDeque<u64>,
}

impl Incoming {
    /// A flow whose first number will be `first`.
    pub(crate) fn beginning_at(first: u64, window: u32) -> Self {
        let before = first.saturating_sub(1);
        Incoming {
            window: window as usize,
            last: before,
            before_link: before,
            accepted: before,
            told: before,
            waiting: VecDeque::new(),
        }
    }

    /// The number that is to come.
    pub(crate) fn next(&self) -> u64 {
        self.last.saturating_add(1)
    }

    pub(crate) fn arrives(&mut self, number: u64) -> Arrival {
        if number <= self.last {
            return Arrival::Duplicate;
        }
        if self.waiting.len() >= self.window && self.of_link() >= self.window {
            return Arrival::Unasked;
        }
        let gap = (number - self.last > 1).then(|| Gap {
            from: self.last + 1,
            to: number - 1,
        });
        self.last = number;
        self.waiting.push_back(number);
        Arrival::New(gap)
    }

    /// How many of the present link have come and are not accepted.
    fn of_link(&self) -> usize {
        let is_earlier = |number: &u64| *number <= self.before_link;
        self.waiting.len() - self.waiting.partition_point(is_earlier)
    }

    /// The publisher goes on at `first`, after a broken link: what lies between is a gap. By a new
    /// link it may send as many as by the one before.
    pub(crate) fn goes_on_at(&mut self, first: u64, is_new_link: bool) -> Option<Gap> {
        let gap = (first.saturating_sub(self.last) > 1).then(|| Gap {
            from: self.last + 1,
            to: first - 1,
        });
        self.last = self.last.max(first.saturating_sub(1));
        if is_new_link {
            self.before_link = self.last;
        }
        self.settle();
        gap
    }

    /// `number` is accepted.
    pub(crate) fn accepts(&mut self, number: u64) {
        // Mostly the oldest.
        if self.waiting.front() == Some(&number) {
            self.waiting.pop_front();
        } else if let Ok(at) = self.waiting.binary_search(&number) {
            self.waiting.remove(at);
        }
        self.settle();
    }

    /// The publisher knows that all before `first` are accepted.
    pub(crate) fn is_told_before(&mut self, first: u64) {
        while self
            .waiting
            .pop_front_if(|oldest| *oldest < first)
            .is_some()
        {}
        self.settle();
        self.told = self.told.max(self.accepted.min(first.saturating_sub(1)));
    }

    fn settle(&mut self) {
        self.accepted = match self.waiting.front() {
            Some(first) => first - 1,
            None => self.last,
        };
    }

    /// When the publisher should be told what has been accepted.
    pub(crate) fn is_to_be_told(&self, window: u64) -> ToBeTold {
        let news = self.accepted - self.told;
        if news > 0 && news >= window.div_ceil(2) {
            ToBeTold::Now
        } else if news > 0 && self.waiting.is_empty() {
            ToBeTold::Soon
        } else {
            ToBeTold::Later
        }
    }

    /// Whether something is accepted that the publisher has not been told.
    pub(crate) fn has_news(&self) -> bool {
        self.accepted > self.told
    }

    /// The number to tell the publisher.
    pub(crate) fn tell(&mut self) -> u64 {
        self.told = self.accepted;
        self.accepted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_is_told_once_and_duplicates_are_known() {
        let mut flow = Incoming::beginning_at(5, 64);
        assert_eq!(flow.arrives(5), Arrival::New(None));
        assert_eq!(flow.arrives(8), Arrival::New(Some(Gap { from: 6, to: 7 })));
        assert_eq!(flow.arrives(8), Arrival::Duplicate);
        assert_eq!(flow.accepted, 4);
        flow.accepts(8);
        assert_eq!(flow.accepted, 4, "5 is not accepted yet");
        flow.accepts(5);
        assert_eq!(flow.accepted, 8);
        let gap = Gap { from: 9, to: 10 };
        assert_eq!(flow.goes_on_at(11, false), Some(gap));
        assert_eq!(flow.goes_on_at(11, true), None);
        assert_eq!(flow.accepted, 10);
    }

    #[test]
    fn sem_g217_no_more_come_than_may_be_under_way_by_each_link() {
        let mut flow = Incoming::beginning_at(1, 2);
        assert_eq!(flow.arrives(1), Arrival::New(None));
        assert_eq!(flow.arrives(2), Arrival::New(None));
        assert_eq!(flow.arrives(3), Arrival::Unasked);
        assert_eq!(flow.goes_on_at(1, false), None);
        assert_eq!(flow.arrives(3), Arrival::Unasked, "it is the same link");
        flow.accepts(1);
        assert_eq!(flow.arrives(3), Arrival::New(None));
        assert_eq!(flow.arrives(4), Arrival::Unasked);
        // What came by an earlier link may have been dropped at the publisher meanwhile.
        assert_eq!(flow.goes_on_at(2, true), None);
        assert_eq!(flow.arrives(4), Arrival::New(None));
        assert_eq!(flow.arrives(6), Arrival::New(Some(Gap { from: 5, to: 5 })));
        assert_eq!(flow.arrives(7), Arrival::Unasked);
        flow.accepts(2);
        assert_eq!(
            flow.arrives(7),
            Arrival::Unasked,
            "it was of the link before"
        );
        flow.accepts(4);
        assert_eq!(flow.arrives(7), Arrival::New(None));
    }
}
