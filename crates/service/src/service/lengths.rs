//! How long handlers take: whether one is carried out where it is called.

use crate::{Group, Operation};
use motet_sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// What is known of the handler of each operation: a [`Length`], and, if it has blocked, how many
/// brief runs it is from being taken for brief again, times [`RUN`].
pub(crate) struct HandlerLengths(Box<[AtomicU32]>);

/// How long a handler takes.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
enum Length {
    /// It was never measured.
    Unknown,
    Brief,
    Short,
    Long,
}

/// A handler that takes longer is not for a thread that calls for many others: about as long as it
/// takes to post it. Code that is not optimised takes longer.
const BRIEF: Duration = match cfg!(debug_assertions) {
    true => SHORT,
    false => Duration::from_micros(2),
};

/// A handler that has taken as long has blocked, or its thread had no processor. It is not for such
/// a thread until it has been brief [`OFTEN`] times since.
const BLOCKED_FOR: Duration = Duration::from_millis(50);

/// So often that a handler which blocks as seldom hardly holds a thread.
const OFTEN: u32 = 100_000;

/// Beside the length: one run.
const RUN: u32 = 1 << 2;

/// A handler that takes longer goes by the queue, where other workers can take it: about as long as
/// it takes to wake one.
const SHORT: Duration = Duration::from_micros(10);

impl HandlerLengths {
    /// Of so many operations.
    pub(crate) fn new(operations: usize) -> Self {
        let unknown = || AtomicU32::new(Length::Unknown as u32);
        HandlerLengths((0..operations).map(|_| unknown()).collect())
    }

    /// The handler of an operation has run for so long.
    #[inline]
    pub(crate) fn ran(&self, operation: &Operation, span: Duration) {
        let noted = |known| Some(after(known, span)).filter(|next| *next != known);
        // Relaxed, here and below: any length is right at any time.
        if let Some(place) = self.0.get(operation.number) {
            let _known = place.fetch_update(Ordering::Relaxed, Ordering::Relaxed, noted);
        }
    }

    /// `None` for one that the contract does not list.
    fn of(&self, operation: &Operation) -> Option<u32> {
        let place = self.0.get(operation.number)?;
        Some(place.load(Ordering::Relaxed))
    }

    /// Whether the next run of the handler of an operation is to be measured in any case.
    #[inline]
    pub(crate) fn is_unknown(&self, operation: &Operation) -> bool {
        self.of(operation) == Some(Length::Unknown as u32)
    }

    /// Whether the next run of the handler of an async operation is to be measured in any case.
    #[inline]
    pub(crate) fn is_not_short(&self, operation: &Operation) -> bool {
        const UNKNOWN: u32 = Length::Unknown as u32;
        const LONG: u32 = Length::Long as u32;
        let known = self.of(operation).map(|known| known % RUN);
        matches!(known, Some(UNKNOWN | LONG))
    }

    /// Whether a handler is taken for brief, and has not blocked lately.
    #[inline]
    pub(super) fn is_brief(&self, operation: &Operation) -> bool {
        self.of(operation) == Some(Length::Brief as u32)
    }

    /// Whether a handler is taken for short. A change that was never measured is, since nothing of
    /// the service could run beside it; not where somebody waits for only so long.
    #[inline]
    pub(super) fn is_short(&self, operation: &Operation, has_deadline: bool) -> bool {
        const UNKNOWN: u32 = Length::Unknown as u32;
        const LONG: u32 = Length::Long as u32;
        match self.of(operation).map(|known| known % RUN) {
            Some(UNKNOWN) => operation.group == Group::Exclusive && !has_deadline,
            Some(length) => length != LONG,
            None => false,
        }
    }
}

/// What is known of a handler once it has run for so long.
#[inline]
fn after(known: u32, span: Duration) -> u32 {
    let length = match span {
        span if span < BRIEF => Length::Brief,
        span if span < SHORT => Length::Short,
        _ => Length::Long,
    };
    let left = match known / RUN {
        _ if span >= BLOCKED_FOR => OFTEN,
        left if length == Length::Brief => left.saturating_sub(1),
        left => left,
    };
    left * RUN + length as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Value, Verb};

    const CHANGE: Operation = Operation {
        name: "change",
        verb: Verb::Update,
        group: Group::Exclusive,
        about: "",
        body: || Value::Null,
        answer: || Value::Null,
        job: false,
        rollback: false,
        is_async: false,
        number: 0,
        called: true,
    };

    #[test]
    fn a_handler_is_what_it_was_last_and_one_that_has_blocked_is_long_not_brief() {
        let lengths = HandlerLengths::new(1);
        // Whether it is brief, and whether it is short.
        let told = || {
            let is_short = lengths.is_short(&CHANGE, true);
            (lengths.is_brief(&CHANGE), is_short)
        };
        assert!(lengths.is_unknown(&CHANGE) && lengths.is_short(&CHANGE, false));
        assert_eq!(told(), (false, false));
        for (span, is) in [
            (Duration::ZERO, (true, true)),
            (SHORT, (false, false)),
            (Duration::ZERO, (true, true)),
            (BLOCKED_FOR, (false, false)),
            (Duration::ZERO, (false, true)),
            (SHORT, (false, false)),
            (Duration::ZERO, (false, true)),
        ] {
            lengths.ran(&CHANGE, span);
            assert_eq!(told(), is, "{span:?}");
        }
        // It was brief twice since.
        let brief = |times: u32| (0..times).for_each(|_| lengths.ran(&CHANGE, Duration::ZERO));
        brief(OFTEN - 3);
        assert_eq!(told(), (false, true));
        brief(1);
        assert_eq!(told(), (true, true));
        lengths.ran(&CHANGE, BLOCKED_FOR);
        brief(OFTEN - 1);
        assert_eq!(told(), (false, true));
    }

    #[test]
    fn of_an_operation_that_the_contract_does_not_list_nothing_is_known() {
        let lengths = HandlerLengths::new(1);
        let other = Operation {
            number: 1,
            ..CHANGE
        };
        lengths.ran(&other, Duration::ZERO);
        assert!(!lengths.is_unknown(&other) && !lengths.is_not_short(&other));
        assert!(!lengths.is_brief(&other) && !lengths.is_short(&other, false));
    }
}
