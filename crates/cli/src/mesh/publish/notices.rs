//! When it is told what is waited for, and whom.

use std::time::{Duration, Instant};

use motet::mesh::SubscriberInfo;

/// How long a wait is before it is told.
const FIRST: Duration = Duration::from_secs(1);

/// How long it is at most before it is told again.
const LAST: Duration = Duration::from_secs(16);

/// When a wait is told: after a second, and then after twice as long each time.
#[derive(Debug)]
pub(super) struct Notices {
    span: Duration,
    at: Instant,
}

impl Notices {
    pub(super) fn new() -> Notices {
        Notices {
            span: FIRST,
            at: Instant::now(),
        }
    }

    /// A wait begins.
    pub(super) fn begin(&mut self) {
        self.at = Instant::now();
    }

    /// How long the wait goes on before it is told.
    pub(super) fn left(&self) -> Duration {
        self.span.saturating_sub(self.at.elapsed())
    }

    /// Whether it is to be told now. It is told then.
    pub(super) fn is_due(&mut self) -> bool {
        let is_due = self.left().is_zero();
        if is_due {
            self.span = LAST.min(2 * self.span);
            self.begin();
        }
        is_due
    }
}

/// How many samples a subscriber has not accepted.
pub(super) fn not_accepted(subscriber: &SubscriberInfo) -> usize {
    subscriber.waiting + subscriber.in_flight
}

/// Who has not accepted samples, and how many each: the first ones, if there are many.
#[expect(
    single_use_lifetimes,
    reason = "a lifetime without a name is not allowed there"
)]
pub(super) fn names<'a>(subscribers: impl Iterator<Item = &'a SubscriberInfo>) -> String {
    const NAMED: usize = 8;
    let (mut text, mut others) = (String::new(), 0);
    for (at, subscriber) in subscribers.enumerate() {
        if at >= NAMED {
            others += 1;
            continue;
        }
        let comma = if at > 0 { ", " } else { "" };
        let (node, count) = (&subscriber.node, not_accepted(subscriber));
        text.push_str(&format!("{comma}{node} ({count})"));
    }
    if others > 0 {
        text.push_str(&format!(" and {others} more"));
    }
    text
}

#[cfg(test)]
mod tests {
    use motet::mesh::PeerName;

    use super::*;

    #[test]
    fn a_wait_is_told_ever_more_seldom() {
        let mut notices = Notices::new();
        let Some(before) = notices.at.checked_sub(LAST) else {
            return;
        };
        for seconds in [2, 4, 8, 16, 16] {
            notices.at = before;
            assert!(notices.is_due());
            assert_eq!(notices.span, Duration::from_secs(seconds));
        }
        notices.span = Duration::MAX;
        assert!(!notices.is_due());
    }

    #[test]
    fn sem_g588_those_who_are_slow_are_named_with_what_they_lack() {
        let slow = |node: &str| SubscriberInfo {
            node: PeerName::new(node),
            waiting: 60,
            in_flight: 4,
            dropped: 0,
            credit: 0,
        };
        let two = [slow("a"), slow("b")];
        assert_eq!(names(two.iter()), "a (64), b (64)");
        let many = vec![slow("x"); 10];
        let text = names(many.iter());
        assert!(text.ends_with("x (64) and 2 more"), "{text}");
        assert_eq!(text.matches('x').count(), 8);
    }
}
