//! Messages that nobody has received, oldest first.

use crate::envelope::Envelope;
use std::collections::VecDeque;

/// A row of messages. One that comes when there is no other lies in the row itself: it is written there and taken from
/// there without being moved, and most mailboxes hold one message at a time.
#[derive(Default)]
pub(super) struct Unexpected {
    /// Older than the others, if it is there.
    first: Option<Envelope>,
    others: VecDeque<Envelope>,
}

impl Unexpected {
    /// Puts a message behind the others; `message` is called once.
    #[inline]
    pub(super) fn push(&mut self, message: impl FnOnce() -> Envelope) {
        if self.first.is_none() && self.others.is_empty() {
            self.first.get_or_insert_with(message);
        } else {
            self.others.push_back(message());
        }
    }

    /// The oldest.
    #[inline]
    pub(super) fn front_mut(&mut self) -> Option<&mut Envelope> {
        match &mut self.first {
            Some(first) => Some(first),
            None => self.others.front_mut(),
        }
    }

    /// Forgets the oldest, in which nothing is left.
    #[expect(
        clippy::mem_forget,
        reason = "it would be moved to see that there is nothing to drop"
    )]
    #[inline]
    pub(super) fn forget_front(&mut self) {
        if self.first.is_some() {
            std::mem::forget(self.first.take());
        } else {
            std::mem::forget(self.others.pop_front());
        }
    }

    /// Takes the oldest message that is wanted out.
    #[inline]
    pub(super) fn take(&mut self, wants: impl Fn(&Envelope) -> bool) -> Option<Envelope> {
        if self.first.as_ref().is_some_and(&wants) {
            return self.first.take();
        }
        let at = self.others.iter().position(wants)?;
        self.others.remove(at)
    }

    /// Puts a message where it was before it was taken.
    pub(super) fn put_back(&mut self, message: Envelope) {
        match &mut self.first {
            Some(first) if first.place > message.place => {
                let younger = std::mem::replace(first, message);
                self.others.push_front(younger);
            }
            _ => {
                let older = |other: &Envelope| other.place < message.place;
                let at = self.others.partition_point(older);
                self.others.insert(at, message);
            }
        }
    }

    /// Drops those that are not to be kept.
    pub(super) fn retain(&mut self, mut keep: impl FnMut(&Envelope) -> bool) {
        self.first.take_if(|first| !keep(first));
        self.others.retain(keep);
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.first.is_none() && self.others.is_empty()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Envelope> {
        self.first.iter().chain(&self.others)
    }

    /// Gives the memory back, of a row that is empty.
    #[inline]
    pub(super) fn shrink(&mut self) {
        if self.others.capacity() > 0 && self.is_empty() {
            self.others = VecDeque::new();
        }
    }
}

#[cfg(all(test, not(motet_loom)))]
mod tests {
    use super::*;
    use crate::address::Status;
    use crate::envelope::{Context, Kind};
    use proptest::prelude::*;
    use std::panic::Location;

    fn message(place: u64) -> Envelope {
        let context = Context {
            communicator: 0,
            kind: Kind::User,
        };
        let status = Status { source: 0, tag: 0 };
        Envelope::new(context, status, Location::caller(), place).arrived(place)
    }

    fn places(row: &Unexpected) -> Vec<u64> {
        row.iter().map(|message| message.place).collect()
    }

    proptest! {
        /// As a plain list, whatever comes and goes.
        #[test]
        fn prop_a_row_is_a_list(acts in proptest::collection::vec((0..6_u8, 0..8_u64), 0..60)) {
            let (mut row, mut list, mut away) = (Unexpected::default(), Vec::new(), Vec::new());
            for (place, (act, which)) in (0..).zip(acts) {
                match act {
                    0 | 1 => {
                        row.push(|| message(place));
                        list.push(place);
                    }
                    2 => {
                        let front = row.front_mut().and_then(Envelope::at_hand::<u64>);
                        prop_assert_eq!(front, list.first().copied());
                        row.forget_front();
                        list.drain(..list.len().min(1));
                    }
                    3 => {
                        let at = list.iter().position(|place| place % 8 == which);
                        let taken = row.take(|message| message.place % 8 == which);
                        let expected = at.map(|at| list.remove(at));
                        prop_assert_eq!(taken.as_ref().map(|taken| taken.place), expected);
                        away.extend(taken);
                    }
                    4 => {
                        if let Some(message) = away.pop() {
                            let at = list.partition_point(|place| *place < message.place);
                            list.insert(at, message.place);
                            row.put_back(message);
                        }
                    }
                    _ => {
                        row.retain(|message| message.place % 8 != which);
                        list.retain(|place| place % 8 != which);
                    }
                }
                row.shrink();
                prop_assert_eq!(places(&row), &list[..]);
                prop_assert_eq!(row.is_empty(), list.is_empty());
            }
        }
    }
}
