//! The messages of one rank: those that have come and were not received, and the receives that wait.
//!
//! Whoever brings a message looks for the oldest posted receive that it matches; a receive that is posted
//! looks for the oldest message. Both under one lock, so that MPI's order holds: of two messages of one
//! sender that match the same receive the older is taken, and of two receives that match the same message
//! the one posted first gets it.

mod steps;
mod unexpected;
pub(crate) use steps::Steps;

use self::unexpected::Unexpected;
use super::{Came, Mail, Posted, Signed, Ticket};
use crate::address::Status;
use crate::envelope::{Envelope, Kind, Wanted};
use crate::report::Unmatched;
use motet_sync::atomic::{AtomicBool, AtomicU32, Ordering};
use motet_sync::{Mutex, MutexGuard};
use std::mem;
use std::ops::{Deref, DerefMut};

/// Messages for one rank.
pub(crate) struct Mailbox {
    state: Mutex<State>,
    /// Goes up with each message, so that a waiting rank need not take the lock to look. Written under the lock.
    arrivals: AtomicU32,
    /// Nothing is here and nobody waits. Written under the lock.
    clear: AtomicBool,
}

/// The state under its lock; who lets go of it says whether the mailbox is clear.
struct Locked<'m> {
    state: MutexGuard<'m, State>,
    clear: &'m AtomicBool,
}

#[derive(Default)]
struct State {
    /// Oldest first.
    unexpected: Unexpected,
    /// Oldest first; their numbers ascend.
    posted: Vec<Receive>,
    /// Messages that have arrived so far.
    arrived: u64,
    /// Receives that were posted so far.
    receives: u64,
    /// Steps that nobody receives any more, until their senders end them.
    ended: Vec<Steps>,
}

struct Receive {
    number: u64,
    wanted: Wanted,
    came: Option<Envelope>,
    /// Nobody waits for it any more: what it gets is dropped.
    left: bool,
}

/// What has become of a message.
enum Handed {
    /// A receive has it.
    Over,
    /// Nobody waits for it.
    Back(Envelope),
    /// A receive has got it that nobody waits for.
    Left(Envelope),
}

/// A receive that waits in a mailbox.
#[derive(Debug)]
pub(crate) struct MailTicket {
    number: u64,
    /// The arrivals at the last look.
    seen: u32,
}

/// Mailboxes that have had fewer messages than this give their memory back when they are empty: most of a
/// million ranks have a few messages at the start and none after it.
const YOUNG: u64 = 16;

impl Mailbox {
    pub(crate) fn new() -> Self {
        Mailbox {
            state: Mutex::default(),
            arrivals: AtomicU32::new(0),
            clear: AtomicBool::new(true),
        }
    }

    #[inline]
    fn lock(&self) -> Locked<'_> {
        Locked {
            state: self.state.lock(),
            clear: &self.clear,
        }
    }

    /// Gives a message that has arrived to whom it belongs.
    #[inline(never)]
    fn bring(&self, mut state: Locked<'_>, message: Envelope, signed: &mut Signed) {
        let left = state.bring(message, signed);
        self.one_more(&state);
        drop(state);
        // Values are dropped under no lock: they may be anything.
        drop(left);
    }

    /// Takes the oldest message that is wanted, or posts a receive for it, which has `seen` so many arrivals.
    fn post_in(mut state: Locked<'_>, seen: u32, wanted: &Wanted, signed: &mut Signed) -> Posted {
        if let Some(mut envelope) = state.take(wanted) {
            drop(state);
            signed.extend(wanted.receipt_of(&mut envelope));
            return Ok(envelope);
        }
        let number = state.register(wanted, None);
        Err(Ticket::Mail(MailTicket { number, seen }))
    }

    /// A message has arrived.
    #[inline]
    fn one_more(&self, _: &Locked<'_>) {
        // Relaxed: who has the lock is the only one to write. Release: who sees the number finds the message.
        let arrivals = self.arrivals.load(Ordering::Relaxed);
        self.arrivals
            .store(arrivals.wrapping_add(1), Ordering::Release);
    }

    /// Takes the oldest message that is wanted, if it is there.
    pub(super) fn take(&self, wanted: &Wanted) -> Option<Envelope> {
        self.lock().take(wanted)
    }

    /// Nobody receives these steps any more: those that are there, and those that come until their sender says that
    /// there are no more, are dropped.
    pub(super) fn end_steps(&self, steps: Steps) {
        let mut state = self.lock();
        let mut ended = false;
        state.unexpected.retain(|envelope| {
            let left = steps.has(envelope);
            ended |= left && envelope.context.kind == Kind::StepsEnd;
            !left
        });
        if !ended {
            state.ended.push(steps);
        }
    }

    /// The number of messages that nobody has received, and of ended steps of which more may come.
    #[cfg(all(test, not(motet_loom)))]
    pub(crate) fn left(&self) -> (usize, usize) {
        let state = self.lock();
        (state.unexpected.iter().count(), state.ended.len())
    }
}

impl Mail for Mailbox {
    #[inline(always)]
    fn push(&self, message: impl FnOnce() -> Envelope, signed: &mut Signed) {
        let mut state = self.lock();
        let place = state.arrived;
        state.arrived += 1;
        let message = || message().arrived(place);
        if !state.nobody_waits() {
            return self.bring(state, message(), signed);
        }
        state.unexpected.push(message);
        self.one_more(&state);
    }

    #[inline]
    fn arrivals(&self) -> u32 {
        self.arrivals.load(Ordering::Acquire)
    }

    #[inline]
    fn post(&self, wanted: &Wanted, signed: &mut Signed) -> Posted {
        let seen = self.arrivals();
        Mailbox::post_in(self.lock(), seen, wanted, signed)
    }

    #[inline]
    fn post_at_hand<V>(
        &self,
        wanted: &Wanted,
        signed: &mut Signed,
        at_hand: impl FnOnce(&mut Envelope) -> Option<V>,
    ) -> Result<Came<V>, Ticket> {
        let seen = self.arrivals();
        let mut state = self.lock();
        if let Some((value, status)) = state.take_from_first(wanted, at_hand) {
            return Ok(Came::AtHand(value, status));
        }
        Mailbox::post_in(state, seen, wanted, signed).map(Came::Message)
    }

    #[inline]
    fn is_clear(&self) -> bool {
        // Relaxed: what this rank itself has sent and posted happens before.
        self.clear.load(Ordering::Relaxed)
    }

    fn request(&self, wanted: &Wanted, signed: &mut Signed) -> Ticket {
        let mut state = self.lock();
        let mut came = state.take(wanted);
        signed.extend(came.as_mut().and_then(|came| wanted.receipt_of(came)));
        // What is there shows at the first look, as if it had come after the receive.
        let seen = self.arrivals().wrapping_sub(came.is_some().into());
        let number = state.register(wanted, came);
        Ticket::Mail(MailTicket { number, seen })
    }

    #[inline]
    fn collect(&self, ticket: &mut Ticket) -> Option<Envelope> {
        let ticket = ticket.in_mailbox();
        let arrivals = self.arrivals();
        if arrivals == ticket.seen {
            return None;
        }
        ticket.seen = arrivals;
        let mut state = self.lock();
        let at = state.find(ticket)?;
        state.posted[at].came.as_ref()?;
        state.unregister(at)
    }

    fn withdraw(&self, mut ticket: Ticket, signed: &mut Signed) -> bool {
        let came = {
            let mut state = self.lock();
            let at = state.find(ticket.in_mailbox());
            at.and_then(|at| state.unregister(at))
        };
        let was_free = came.is_none();
        if let Some(envelope) = came {
            self.put_back(envelope, signed);
        }
        was_free
    }

    fn leave(&self, mut ticket: Ticket) {
        let mut state = self.lock();
        let Some(at) = state.find(ticket.in_mailbox()) else {
            return;
        };
        state.posted[at].left = true;
        if state.posted[at].came.is_some() {
            let came = state.unregister(at);
            drop(state);
            drop(came);
        }
    }

    fn put_back(&self, envelope: Envelope, signed: &mut Signed) {
        let mut left = None;
        {
            let mut state = self.lock();
            match state.hand_over(envelope, signed) {
                Handed::Over => {}
                Handed::Back(envelope) => state.unexpected.put_back(envelope),
                Handed::Left(envelope) => left = Some(envelope),
            }
            // Another receive of this rank may have it now.
            self.one_more(&state);
        }
        drop(left);
    }

    fn peek<R>(&self, wanted: &Wanted, look: impl FnOnce(&Envelope) -> R) -> Option<R> {
        let state = self.lock();
        let found = state
            .unexpected
            .iter()
            .find(|envelope| wanted.matches(envelope));
        found.map(look)
    }

    fn clear(&self, wanted: &Wanted) {
        // One by one: what is taken is dropped under no lock.
        while self.take(wanted).is_some() {}
    }

    fn unmatched(&self, dest: usize, most: usize) -> Vec<Unmatched> {
        let state = self.lock();
        let came = state
            .posted
            .iter()
            .filter_map(|posted| posted.came.as_ref());
        let left = came.chain(state.unexpected.iter());
        left.filter_map(|envelope| envelope.unmatched(dest))
            .take(most)
            .collect()
    }
}

impl Deref for Locked<'_> {
    type Target = State;

    #[inline]
    fn deref(&self) -> &State {
        &self.state
    }
}

impl DerefMut for Locked<'_> {
    #[inline]
    fn deref_mut(&mut self) -> &mut State {
        &mut self.state
    }
}

impl Drop for Locked<'_> {
    #[inline]
    fn drop(&mut self) {
        let clear = self.state.nobody_waits() && self.state.unexpected.is_empty();
        self.clear.store(clear, Ordering::Relaxed);
    }
}

impl State {
    /// Whether a message that comes has nowhere to go but behind the others.
    #[inline]
    fn nobody_waits(&self) -> bool {
        self.posted.is_empty() && self.ended.is_empty()
    }

    /// Gives a message that has come to whom it belongs; what it is if nobody shall have it.
    fn bring(&mut self, envelope: Envelope, signed: &mut Signed) -> Option<Envelope> {
        if self.is_ended(&envelope) {
            return Some(envelope);
        }
        match self.hand_over(envelope, signed) {
            Handed::Over => None,
            Handed::Back(envelope) => {
                self.unexpected.push(|| envelope);
                None
            }
            Handed::Left(envelope) => Some(envelope),
        }
    }

    /// Gives the message to the oldest receive that waits for it, if there is one. A receive that has got a
    /// younger message takes the older one instead, and the younger goes on from there.
    fn hand_over(&mut self, mut envelope: Envelope, signed: &mut Signed) -> Handed {
        for at in 0..self.posted.len() {
            let posted = &mut self.posted[at];
            if !posted.wanted.matches(&envelope) {
                continue;
            }
            match &mut posted.came {
                None if posted.left => {
                    self.unregister(at);
                    return Handed::Left(envelope);
                }
                None => {
                    signed.extend(posted.wanted.receipt_of(&mut envelope));
                    posted.came = Some(envelope);
                    return Handed::Over;
                }
                Some(came) if came.place > envelope.place => {
                    signed.extend(posted.wanted.receipt_of(&mut envelope));
                    mem::swap(came, &mut envelope);
                }
                Some(_) => {}
            }
        }
        Handed::Back(envelope)
    }

    /// Whether it is a step that nobody receives; the last one has been waited for.
    fn is_ended(&mut self, envelope: &Envelope) -> bool {
        let Some(at) = self.ended.iter().position(|steps| steps.has(envelope)) else {
            return false;
        };
        if envelope.context.kind == Kind::StepsEnd {
            self.ended.swap_remove(at);
        }
        true
    }

    /// Puts a receive behind the others; its number.
    fn register(&mut self, wanted: &Wanted, came: Option<Envelope>) -> u64 {
        self.receives += 1;
        self.posted.push(Receive {
            number: self.receives,
            wanted: *wanted,
            came,
            left: false,
        });
        self.receives
    }

    /// The receive is over; what it has got.
    fn unregister(&mut self, at: usize) -> Option<Envelope> {
        let came = self.posted.remove(at).came;
        if self.posted.is_empty() && self.arrived < YOUNG {
            self.posted = Vec::new();
        }
        came
    }

    /// If the oldest message of all is wanted, has what is to be taken out of it and nobody waits for its receipt:
    /// that; the rest of it is gone.
    #[inline]
    fn take_from_first<V>(
        &mut self,
        wanted: &Wanted,
        at_hand: impl FnOnce(&mut Envelope) -> Option<V>,
    ) -> Option<(V, Status)> {
        let first = self.unexpected.front_mut()?;
        if !wanted.matches(first) || first.receipt.is_some() {
            return None;
        }
        let (value, status) = (at_hand(first)?, first.status);
        self.unexpected.forget_front();
        self.shrink();
        Some((value, status))
    }

    #[inline]
    fn take(&mut self, wanted: &Wanted) -> Option<Envelope> {
        let taken = self.unexpected.take(|envelope| wanted.matches(envelope))?;
        self.shrink();
        Some(taken)
    }

    /// Gives the memory of a young mailbox back, if it is empty.
    #[inline]
    fn shrink(&mut self) {
        if self.arrived < YOUNG {
            self.unexpected.shrink();
        }
    }

    fn find(&self, ticket: &MailTicket) -> Option<usize> {
        let number = |posted: &Receive| posted.number;
        self.posted
            .binary_search_by_key(&ticket.number, number)
            .ok()
    }
}

#[cfg(all(test, not(motet_loom)))]
mod tests {
    use super::*;
    use crate::address::{ANY_SOURCE, ANY_TAG, Source, Tag, TagMatch};
    use crate::envelope::Context;
    use std::panic::Location;

    const CONTEXT: Context = Context {
        communicator: 0,
        kind: Kind::User,
    };

    fn envelope(source: usize, tag: Tag, value: u32) -> Envelope {
        Envelope::new(CONTEXT, Status { source, tag }, Location::caller(), value)
    }

    fn wanted(source: impl Into<Source>, tag: impl Into<TagMatch>) -> Wanted {
        Wanted {
            context: CONTEXT,
            source: source.into(),
            tag: tag.into(),
            signs: true,
        }
    }

    fn push(mail: &Mailbox, envelope: Envelope) {
        let mut signed = Signed::new();
        mail.push(|| envelope, &mut signed);
        assert!(signed.is_empty(), "no receipt was asked for");
    }

    fn post(mail: &Mailbox, wanted: &Wanted) -> Posted {
        mail.post(wanted, &mut Signed::new())
    }

    /// Receives what is there.
    fn take(mail: &Mailbox, source: impl Into<Source>, tag: impl Into<TagMatch>) -> Option<u32> {
        match post(mail, &wanted(source, tag)) {
            Ok(envelope) => envelope.open().ok(),
            Err(ticket) => {
                let was_free = mail.withdraw(ticket, &mut Signed::new());
                assert!(was_free, "nothing has come");
                None
            }
        }
    }

    #[test]
    fn the_oldest_match_is_taken_and_the_rest_stays() {
        let mail = Mailbox::new();
        for (i, (source, tag)) in [(0, 1), (1, 1), (0, 2), (1, 1)].into_iter().enumerate() {
            push(&mail, envelope(source, tag, u32::try_from(i).unwrap()));
        }
        assert_eq!(take(&mail, 2, ANY_TAG), None);
        assert_eq!(take(&mail, ANY_SOURCE, 2), Some(2));
        assert_eq!(take(&mail, 1, 1), Some(1));
        assert_eq!(take(&mail, ANY_SOURCE, ANY_TAG), Some(0));
        assert_eq!(take(&mail, 1, 1), Some(3));
        assert_eq!(take(&mail, ANY_SOURCE, ANY_TAG), None);
    }

    #[test]
    fn what_is_put_back_takes_its_old_place() {
        let mail = Mailbox::new();
        (0..3).for_each(|tag| push(&mail, envelope(0, tag, tag)));
        let taken = post(&mail, &wanted(ANY_SOURCE, 1)).ok().unwrap();
        mail.put_back(taken, &mut Signed::new());
        assert_eq!(
            [(); 3].map(|()| take(&mail, ANY_SOURCE, ANY_TAG)),
            [Some(0), Some(1), Some(2)]
        );
    }

    #[test]
    fn the_first_posted_gets_the_message_whoever_looks_first() {
        let mail = Mailbox::new();
        let mut any = post(&mail, &wanted(ANY_SOURCE, ANY_TAG)).err().unwrap();
        let mut narrow = post(&mail, &wanted(0, 7)).err().unwrap();
        push(&mail, envelope(0, 7, 1));
        assert!(mail.collect(&mut narrow).is_none());
        push(&mail, envelope(0, 7, 2));
        let values = [&mut narrow, &mut any].map(|ticket| {
            let came = mail.collect(ticket).unwrap();
            came.open::<u32>().ok().unwrap()
        });
        assert_eq!(values, [2, 1]);
    }

    #[test]
    fn a_receive_that_is_given_up_hands_its_message_to_the_next() {
        let mail = Mailbox::new();
        let first = post(&mail, &wanted(0, 7)).err().unwrap();
        let mut second = post(&mail, &wanted(0, ANY_TAG)).err().unwrap();
        push(&mail, envelope(0, 7, 5));
        assert!(mail.collect(&mut second).is_none());
        let was_free = mail.withdraw(first, &mut Signed::new());
        assert!(!was_free, "it had got the message");
        assert!(mail.collect(&mut second).is_some());
    }

    #[test]
    fn what_nobody_waits_for_is_dropped_when_it_comes_and_nothing_else_is() {
        let mail = Mailbox::new();
        let left = post(&mail, &wanted(0, 7)).err().unwrap();
        mail.leave(left);
        push(&mail, envelope(0, 8, 1));
        push(&mail, envelope(0, 7, 2));
        push(&mail, envelope(0, 7, 3));
        assert_eq!(take(&mail, 0, 7), Some(3));
        // One that had got its message.
        let left = mail.request(&wanted(0, 8), &mut Signed::new());
        mail.leave(left);
        assert_eq!(mail.left(), (0, 0));
        for tag in [5, 6, 5] {
            push(&mail, envelope(1, tag, tag));
        }
        mail.clear(&wanted(1, 5));
        assert_eq!(mail.left(), (1, 0));
        assert_eq!(take(&mail, 1, ANY_TAG), Some(6));
    }

    #[test]
    fn another_type_is_handed_back_whole() {
        let (wrong, _) = *envelope(3, 4, 5).open::<String>().unwrap_err();
        assert_eq!((wrong.status.source, wrong.type_name()), (3, "u32"));
        assert_eq!(wrong.open::<u32>().ok(), Some(5));
    }
}
