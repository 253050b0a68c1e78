//! Messages that nobody has received, oldest first.

use super::index::{Index, KINDS, LONG, Pattern, SHORT};
use crate::address::Source;
use crate::envelope::{Envelope, ReceivePattern};
use std::collections::{BTreeMap, VecDeque};
use std::mem;

/// A row of messages. One that comes when there is no other lies in the row itself. It is written
/// there and taken from there without being moved. Most mailboxes hold one message at a time. A few
/// more are a list, many have an index.
#[derive(Default)]
pub(super) struct Unexpected {
    /// Older than the others, if it is there.
    first: Option<Envelope>,
    others: VecDeque<Envelope>,
    /// Those behind the first, if they are many; never empty, and then there is a first and
    /// `others` is empty.
    many: Option<Box<Many>>,
}

struct Many {
    /// By their places.
    all: BTreeMap<u64, Envelope>,
    index: Index,
    /// By which kinds of patterns they are found: each from when it was first asked for.
    kinds: [bool; KINDS],
}

impl Unexpected {
    /// Puts a message behind the others; `message` is called once.
    #[inline]
    pub(super) fn push(&mut self, message: impl FnOnce() -> Envelope) {
        if self.first.is_none() && self.others.is_empty() {
            self.first.get_or_insert_with(message);
        } else {
            self.push_behind(message());
        }
    }

    fn push_behind(&mut self, message: Envelope) {
        match &mut self.many {
            Some(many) => many.push(message),
            None if self.others.len() < LONG => self.others.push_back(message),
            None => {
                let mut all = mem::take(&mut self.others);
                all.push_back(message);
                self.first = self.first.take().or_else(|| all.pop_front());
                let all = all.into_iter().map(|message| (message.place, message));
                self.many = Some(Box::new(Many {
                    all: all.collect(),
                    index: Index::default(),
                    kinds: [false; KINDS],
                }));
            }
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
            mem::forget(self.first.take());
            self.move_up();
        } else {
            mem::forget(self.others.pop_front());
        }
    }

    /// The first has been taken: where there are many, the next takes its place.
    #[inline]
    fn move_up(&mut self) {
        if let Some(many) = &mut self.many {
            self.first = many.all.pop_first().map(|(_, message)| message);
            self.few_again();
        }
    }

    /// Where there are few left they are a list again.
    #[cold]
    fn few_again(&mut self) {
        if let Some(many) = self.many.take_if(|many| many.all.len() <= SHORT) {
            self.others = many.all.into_values().collect();
        }
    }

    /// Takes the oldest message that is wanted out.
    #[inline]
    pub(super) fn take(&mut self, wanted: &ReceivePattern) -> Option<Envelope> {
        if self.first.as_ref().is_some_and(|it| wanted.matches(it)) {
            let first = self.first.take();
            self.move_up();
            return first;
        }
        if self.many.is_some() {
            return self.take_of_many(wanted);
        }
        let at = self.others.iter().position(|it| wanted.matches(it))?;
        self.others.remove(at)
    }

    #[cold]
    fn take_of_many(&mut self, wanted: &ReceivePattern) -> Option<Envelope> {
        let many = self.many.as_mut()?;
        let place = many.find(wanted)?;
        let taken = many.all.remove(&place);
        self.few_again();
        taken
    }

    /// The oldest message that is wanted.
    pub(super) fn find(&mut self, wanted: &ReceivePattern) -> Option<&Envelope> {
        let row = self.first.iter().chain(&self.others);
        let Some(many) = &mut self.many else {
            return row.into_iter().find(|it| wanted.matches(it));
        };
        if let Some(first) = self.first.as_ref().filter(|it| wanted.matches(it)) {
            return Some(first);
        }
        let place = many.find(wanted)?;
        many.all.get(&place)
    }

    /// Puts a message where it was before it was taken.
    pub(super) fn put_back(&mut self, mut message: Envelope) {
        if let Some(first) = &mut self.first
            && first.place > message.place
        {
            mem::swap(first, &mut message);
        }
        match &mut self.many {
            Some(many) => many.push(message),
            None => {
                let older = |other: &Envelope| other.place < message.place;
                let at = self.others.partition_point(older);
                self.others.insert(at, message);
            }
        }
    }

    /// Drops those that are not to be kept.
    pub(super) fn retain(&mut self, mut keep: impl FnMut(&Envelope) -> bool) {
        self.first.take_if(|first| !keep(first));
        self.others.retain(&mut keep);
        if let Some(many) = &mut self.many {
            many.all.retain(|_, message| keep(message));
            if self.first.is_none() {
                self.move_up();
            }
            self.few_again();
        }
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.first.is_none() && self.others.is_empty()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Envelope> {
        let many = self.many.iter().flat_map(|many| many.all.values());
        self.first.iter().chain(&self.others).chain(many)
    }

    /// Gives the memory back, of a row that is empty.
    #[inline]
    pub(super) fn shrink(&mut self) {
        if self.others.capacity() > 0 && self.is_empty() {
            self.others = VecDeque::new();
        }
    }
}

impl Many {
    fn push(&mut self, message: Envelope) {
        let Many { all, index, kinds } = self;
        if index.is_stale(KINDS * all.len()) {
            *index = Index::default();
            *kinds = [false; KINDS];
        }
        for kind in (0..KINDS).filter(|kind| kinds[*kind]) {
            index.insert(Pattern::that_matches(&message, kind), message.place);
        }
        all.insert(message.place, message);
    }

    /// The place of the oldest message that is wanted.
    fn find(&mut self, wanted: &ReceivePattern) -> Option<u64> {
        if wanted.source == Source::Null {
            return None;
        }
        let Many { all, index, kinds } = self;
        let pattern = Pattern::of(wanted);
        let kind = pattern.kind();
        if !mem::replace(&mut kinds[kind], true) {
            for message in all.values() {
                index.insert(Pattern::that_matches(message, kind), message.place);
            }
        }
        index.first(pattern, |place| all.contains_key(&place))
    }
}

#[cfg(all(test, not(motet_loom)))]
mod tests {
    use super::*;
    use crate::address::{Status, TagMatch};
    use crate::envelope::{Context, MessageKind};
    use proptest::prelude::*;
    use std::panic::Location;

    const CONTEXT: Context = Context {
        communicator: 0,
        kind: MessageKind::User,
    };

    fn message(place: u64) -> Envelope {
        let (source, tag) = ((place % 3) as usize, (place / 3 % 3) as u32);
        let status = Status { source, tag };
        Envelope::new(CONTEXT, status, Location::caller(), place).arrived(place)
    }

    fn wanted(which: u32) -> ReceivePattern {
        let (source, tag) = (which % 4, which / 4 % 4);
        ReceivePattern {
            context: CONTEXT,
            source: [Source::Rank(source as usize), Source::Any][usize::from(source == 3)],
            tag: [TagMatch::Only(tag), TagMatch::Any][usize::from(tag == 3)],
            signs: true,
        }
    }

    fn places(row: &Unexpected) -> Vec<u64> {
        row.iter().map(|message| message.place).collect()
    }

    /// As a plain list, whatever comes and goes.
    fn is_a_list(acts: &[(u8, u32)], pushes: u8) -> Result<(), TestCaseError> {
        let (mut row, mut list, mut away) = (Unexpected::default(), Vec::new(), Vec::new());
        for (place, &(act, which)) in (0..).zip(acts) {
            let wanted = wanted(which);
            let at = list
                .iter()
                .position(|place| wanted.matches(&message(*place)));
            match act.saturating_sub(pushes) {
                0 => {
                    // Places of messages that receives have got at once are never here.
                    let place = 3 * place + u64::from(which % 3);
                    row.push(|| message(place));
                    list.push(place);
                }
                1 => {
                    let front = row.front_mut().and_then(Envelope::at_hand::<u64>);
                    prop_assert_eq!(front, list.first().copied());
                    row.forget_front();
                    list.drain(..list.len().min(1));
                }
                2 | 3 => {
                    let taken = row.take(&wanted);
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
                5 => {
                    let found = row.find(&wanted).map(|message| message.place);
                    prop_assert_eq!(found, at.map(|at| list[at]));
                }
                _ => {
                    row.retain(|message| message.place % 64 != u64::from(which));
                    list.retain(|place| place % 64 != u64::from(which));
                }
            }
            row.shrink();
            prop_assert_eq!(places(&row), &list[..]);
            prop_assert_eq!(row.is_empty(), list.is_empty());
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn prop_a_row_is_a_list(acts in proptest::collection::vec((0..9_u8, 0..64_u32), 0..60)) {
            is_a_list(&acts, 2)?;
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

        #[test]
        fn prop_sem_g101_a_long_row_is_a_list(
            up in proptest::collection::vec((0..16_u8, 0..64_u32), 100..300),
            down in proptest::collection::vec((0..7_u8, 0..64_u32), 0..300)
        ) {
            let down = down.iter().map(|(act, which)| (act + 10, *which));
            is_a_list(&up.into_iter().chain(down).collect::<Vec<_>>(), 10)?;
        }
    }
}
