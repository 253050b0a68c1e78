//! Events, and the order in which they are handled.

use serde::{Deserialize, Serialize};
use std::cmp::Ordering;

/// Virtual time, in ticks whose length the model decides.
pub type Time = u64;

/// What waits for its time. The greater of two items comes first; it never has the later time.
pub(crate) trait Timed: Ord {
    fn time(&self) -> Time;
}

/// What orders events. No layout of processes over ranks changes it: every part of a key is decided
/// by the model alone.
///
/// Keys are compared part by part, in the order of the fields. An event that is scheduled with
/// delay 0 comes one step after the event that scheduled it. So an event never comes before its
/// cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct EventKey {
    /// When the event takes place.
    pub time: Time,
    /// 0, or one more than the step of the event that scheduled this one with delay 0.
    pub step: u32,
    /// The process that handles it.
    pub to: u32,
    /// 0, or what [`Tie::Hash`](crate::Tie::Hash) draws.
    pub tie: u32,
    /// The process that has scheduled it.
    pub from: u32,
    /// How many events that process had scheduled before.
    pub number: u64,
}

/// An event, ordered by its key, the smallest last: so the next one is the greatest of a queue.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct KeyedEvent<E> {
    pub(crate) key: EventKey,
    pub(crate) body: E,
}

impl<E> PartialEq for KeyedEvent<E> {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl<E> Eq for KeyedEvent<E> {}

impl<E> PartialOrd for KeyedEvent<E> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> Ord for KeyedEvent<E> {
    fn cmp(&self, other: &Self) -> Ordering {
        other.key.cmp(&self.key)
    }
}

impl<E> Timed for KeyedEvent<E> {
    fn time(&self) -> Time {
        self.key.time
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BinaryHeap;

    #[test]
    fn a_heap_gives_the_next_event_first() {
        let key = |time, step, to, tie, from, number| EventKey {
            time,
            step,
            to,
            tie,
            from,
            number,
        };
        let ordered = [
            key(1, 9, 9, 9, 9, 9),
            key(2, 0, 9, 9, 9, 9),
            key(2, 1, 0, 9, 9, 9),
            key(2, 1, 1, 0, 9, 9),
            key(2, 1, 1, 1, 0, 9),
            key(2, 1, 1, 1, 1, 0),
            key(2, 1, 1, 1, 1, 1),
        ];
        let events = ordered
            .iter()
            .rev()
            .map(|&key| KeyedEvent { key, body: () });
        let mut heap: BinaryHeap<KeyedEvent<()>> = events.collect();
        let popped: Vec<EventKey> =
            std::iter::from_fn(|| heap.pop().map(|event| event.key)).collect();
        assert_eq!(popped, ordered);
    }
}
