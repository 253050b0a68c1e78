//! The receives that wait in a mailbox, and which of them gets a message.

use super::index::{Index, KINDS, LONG, Pattern, SHORT};
use crate::envelope::{Envelope, ReceivePattern};
use crate::fabric::Signed;
use std::collections::BTreeMap;
use std::mem;

/// Posted receives, oldest first; their numbers ascend. A few are a list, many have an index by
/// what they want.
#[derive(Default)]
pub(super) struct Receives {
    few: Vec<Receive>,
    /// All of them, if they are many; never empty.
    many: Option<Box<Many>>,
}

#[derive(Default)]
struct Many {
    all: BTreeMap<u64, Receive>,
    /// Those that have got nothing.
    waiting: Index,
}

struct Receive {
    number: u64,
    wanted: ReceivePattern,
    came: Option<Envelope>,
    /// Nobody waits for it any more: what it gets is dropped.
    left: bool,
}

/// What has become of a message.
pub(super) enum Handed {
    /// A receive has it.
    Over,
    /// Nobody waits for it.
    Back(Envelope),
    /// A receive has got it that nobody waits for.
    Left(Envelope),
}

impl Receives {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.few.is_empty() && self.many.is_none()
    }

    /// Puts a receive behind the others; its number is greater than theirs.
    pub(super) fn push(&mut self, number: u64, wanted: &ReceivePattern, came: Option<Envelope>) {
        let receive = Receive {
            number,
            wanted: *wanted,
            came,
            left: false,
        };
        match &mut self.many {
            Some(many) => many.push(receive),
            None if self.few.len() < LONG => self.few.push(receive),
            None => {
                let mut many = Box::<Many>::default();
                let all = mem::take(&mut self.few).into_iter();
                all.chain([receive]).for_each(|receive| many.push(receive));
                self.many = Some(many);
            }
        }
    }

    /// What this receive has got, if it has; then it is over.
    #[inline]
    pub(super) fn collect(&mut self, number: u64) -> Option<Envelope> {
        if self.many.is_some() {
            return self.collect_of_many(number);
        }
        let at = self.find(number)?;
        self.few[at].came.as_ref()?;
        self.few.remove(at).came
    }

    #[cold]
    fn collect_of_many(&mut self, number: u64) -> Option<Envelope> {
        let many = self.many.as_ref()?;
        many.all.get(&number)?.came.as_ref()?;
        self.remove(number)
    }

    /// The receive is over; what it has got.
    pub(super) fn remove(&mut self, number: u64) -> Option<Envelope> {
        let Some(many) = &mut self.many else {
            let at = self.find(number)?;
            return self.few.remove(at).came;
        };
        let came = many.all.remove(&number)?.came;
        if many.all.len() <= SHORT {
            self.few = mem::take(&mut many.all).into_values().collect();
            self.many = None;
        }
        came
    }

    /// Nobody waits for this receive any more: what it has got, if it has.
    pub(super) fn leave(&mut self, number: u64) -> Option<Envelope> {
        let receive = match &mut self.many {
            Some(many) => many.all.get_mut(&number)?,
            None => {
                let at = self.find(number)?;
                &mut self.few[at]
            }
        };
        receive.left = true;
        self.collect(number)
    }

    /// Gives a message that is younger than all others to the oldest receive that waits for it, if
    /// there is one.
    pub(super) fn match_posted(&mut self, envelope: Envelope, signed: &mut Signed) -> Handed {
        let Some(many) = &mut self.many else {
            return self.match_again(envelope, signed);
        };
        let Some(number) = many.first_for(&envelope) else {
            return Handed::Back(envelope);
        };
        let receive = many.all.get_mut(&number).into_iter();
        let (handed, left) = offer(receive, envelope, signed);
        if let Some(left) = left {
            self.remove(left);
        }
        handed
    }

    /// Gives a message to the oldest receive that waits for it, if there is one. A receive that has
    /// got a younger message takes the older one instead, and the younger goes on from there.
    pub(super) fn match_again(&mut self, envelope: Envelope, signed: &mut Signed) -> Handed {
        let (handed, left) = match &mut self.many {
            Some(many) => offer(many.all.values_mut(), envelope, signed),
            None => offer(self.few.iter_mut(), envelope, signed),
        };
        if let Some(left) = left {
            self.remove(left);
        }
        handed
    }

    /// The messages that receives have got and nobody has collected.
    pub(super) fn held(&self) -> impl Iterator<Item = &Envelope> {
        let many = self.many.iter().flat_map(|many| many.all.values());
        let all = self.few.iter().chain(many);
        all.filter_map(|receive| receive.came.as_ref())
    }

    /// Gives the memory back, if there are none.
    pub(super) fn shrink(&mut self) {
        if self.is_empty() {
            self.few = Vec::new();
        }
    }

    /// Where in the list the receive of this number is.
    #[inline]
    fn find(&self, number: u64) -> Option<usize> {
        self.few
            .binary_search_by_key(&number, |receive| receive.number)
            .ok()
    }
}

/// Goes through receives, oldest first, with a message; what has become of it, and the receive that
/// is over by that.
#[expect(
    single_use_lifetimes,
    reason = "an iterator's items cannot leave theirs out"
)]
fn offer<'r>(
    receives: impl Iterator<Item = &'r mut Receive>,
    mut envelope: Envelope,
    signed: &mut Signed,
) -> (Handed, Option<u64>) {
    for receive in receives {
        if !receive.wanted.matches(&envelope) {
            continue;
        }
        match &mut receive.came {
            None if receive.left => return (Handed::Left(envelope), Some(receive.number)),
            None => {
                signed.extend(receive.wanted.receipt_of(&mut envelope));
                receive.came = Some(envelope);
                return (Handed::Over, None);
            }
            Some(came) if came.place > envelope.place => {
                signed.extend(receive.wanted.receipt_of(&mut envelope));
                mem::swap(came, &mut envelope);
            }
            Some(_) => {}
        }
    }
    (Handed::Back(envelope), None)
}

impl Many {
    fn push(&mut self, receive: Receive) {
        if receive.came.is_none() {
            if self.waiting.is_stale(self.all.len()) {
                self.waiting = Index::default();
                let waiting = self.all.values().filter(|other| other.came.is_none());
                for other in waiting {
                    self.waiting
                        .insert(Pattern::of(&other.wanted), other.number);
                }
            }
            self.waiting
                .insert(Pattern::of(&receive.wanted), receive.number);
        }
        self.all.insert(receive.number, receive);
    }

    /// The oldest receive that has got nothing and wants the message.
    fn first_for(&mut self, envelope: &Envelope) -> Option<u64> {
        let Many { all, waiting } = self;
        let waits = |number| all.get(&number).is_some_and(|other| other.came.is_none());
        let kinds = 0..KINDS;
        let firsts =
            kinds.filter_map(|kind| waiting.first(Pattern::that_matches(envelope, kind), waits));
        firsts.min()
    }
}

#[cfg(all(test, not(motet_loom)))]
mod tests {
    use super::*;
    use crate::address::{Source, Status, TagMatch};
    use crate::envelope::{Context, MessageKind};
    use proptest::prelude::*;
    use std::panic::Location;

    fn context(communicator: u32) -> Context {
        let kind = MessageKind::User;
        Context { communicator, kind }
    }

    fn message(place: u64, source: usize, tag: u32) -> Envelope {
        let status = Status { source, tag };
        Envelope::new(context(0), status, Location::caller(), place).arrived(place)
    }

    fn wanted(which: u32) -> ReceivePattern {
        let (source, tag) = (which % 4, which / 4 % 4);
        ReceivePattern {
            context: context(u32::from(which > 32)),
            source: [Source::Rank(source as usize), Source::Any][usize::from(source == 3)],
            tag: [TagMatch::Only(tag), TagMatch::Any][usize::from(tag == 3)],
            signs: true,
        }
    }

    /// What has become of it: the place of the message that was handed back (0) or left (1).
    fn told(handed: Handed) -> Option<(u8, u64)> {
        match handed {
            Handed::Over => None,
            Handed::Back(envelope) => Some((0, envelope.place)),
            Handed::Left(envelope) => Some((1, envelope.place)),
        }
    }

    /// The plain list: as `Receives`, but never with an index.
    fn plain(twin: &mut Receives) {
        if let Some(many) = twin.many.take() {
            twin.few = many.all.into_values().collect();
        }
    }

    fn state(receives: &Receives) -> Vec<(u64, Option<u64>, bool)> {
        let many = receives.many.iter().flat_map(|many| many.all.values());
        let all = receives.few.iter().chain(many);
        all.map(|one| {
            (
                one.number,
                one.came.as_ref().map(|came| came.place),
                one.left,
            )
        })
        .collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

        /// Many receives with an index are the same as a plain list of them.
        #[test]
        fn prop_sem_g101_an_index_is_a_list(
            acts in proptest::collection::vec((0..10_u8, 0..40_u32, 0..1000_u64), 200..900)
        ) {
            let (mut indexed, mut twin) = (Receives::default(), Receives::default());
            let (mut signed, mut away, mut was_many) = (Signed::new(), Vec::new(), false);
            for (now, (act, which, number)) in (1..).zip(acts) {
                let number = number * now / 1000;
                let (source, tag) = (which as usize % 3, which / 3 % 3);
                match act {
                    0..5 => {
                        indexed.push(now, &wanted(which), None);
                        twin.push(now, &wanted(which), None);
                    }
                    5 | 6 => {
                        let one = indexed.match_posted(message(now, source, tag), &mut signed);
                        let one = told(one);
                        let message = message(now, source, tag);
                        let other = told(twin.match_again(message, &mut signed));
                        prop_assert_eq!(one, other);
                        away.extend(one.map(|(_, place)| (place, source, tag)));
                    }
                    7 => {
                        if let Some((place, source, tag)) = away.pop() {
                            let [a, b] = [(); 2].map(|()| message(place, source, tag));
                            let one = indexed.match_again(a, &mut signed);
                            let other = twin.match_again(b, &mut signed);
                            prop_assert_eq!(told(one), told(other));
                        }
                    }
                    8 => {
                        let [one, other] = [&mut indexed, &mut twin].map(|all| all.remove(number));
                        prop_assert_eq!(one.map(|one| one.place), other.map(|other| other.place));
                    }
                    _ => {
                        let [one, other] = [&mut indexed, &mut twin].map(|all| all.leave(number));
                        prop_assert_eq!(one.map(|one| one.place), other.map(|other| other.place));
                    }
                }
                was_many |= indexed.many.is_some();
                plain(&mut twin);
                prop_assert_eq!(state(&indexed), state(&twin));
            }
            prop_assume!(was_many);
        }
    }
}
