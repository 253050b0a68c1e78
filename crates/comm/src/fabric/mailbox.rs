//! The messages of one rank: those that have come and were not received, and the receives that
//! wait.
//!
//! Whoever brings a message looks for the oldest posted receive that it matches; a receive that is
//! posted looks for the oldest message. Both do so under one lock, so that MPI's order holds. Of
//! two messages of one sender that match the same receive the older is taken. Of two receives that
//! match the same message the one posted first gets it.

mod index;
mod receives;
mod state;
mod steps;
mod unexpected;
pub(crate) use steps::NeighbourSteps;

use self::state::State;
use super::{Mail, Posted, PostedReceive, ReceivedValue, Signed};
use crate::envelope::{Envelope, ReceivePattern};
use crate::report::Unmatched;
use motet_sync::atomic::{AtomicBool, AtomicU32, Ordering};
use motet_sync::{Mutex, MutexGuard};
use std::ops::{Deref, DerefMut};

/// Messages for one rank.
pub(crate) struct Mailbox {
    state: Mutex<State>,
    /// Goes up with each message, so that a waiting rank need not take the lock to look. Written
    /// under the lock.
    arrivals: AtomicU32,
    /// Nothing is here and nobody waits. Written under the lock.
    clear: AtomicBool,
}

/// The state under its lock; who lets go of it says whether the mailbox is clear.
struct Locked<'m> {
    state: MutexGuard<'m, State>,
    clear: &'m AtomicBool,
}

/// A receive that waits in a mailbox.
#[derive(Debug)]
pub(crate) struct MailTicket {
    number: u64,
    /// The arrivals at the last look.
    seen: u32,
}

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

    /// Takes the oldest message that is wanted, or posts a receive for it, which has `seen` so many
    /// arrivals.
    fn post_in(
        mut state: Locked<'_>,
        seen: u32,
        wanted: &ReceivePattern,
        signed: &mut Signed,
    ) -> Posted {
        if let Some(mut envelope) = state.take(wanted) {
            drop(state);
            signed.extend(wanted.receipt_of(&mut envelope));
            return Ok(envelope);
        }
        let number = state.register(wanted, None);
        Err(PostedReceive::Mail(MailTicket { number, seen }))
    }

    /// A message has arrived.
    #[inline]
    fn one_more(&self, _: &Locked<'_>) {
        // Relaxed: who has the lock is the only one to write. Release: who sees the number finds
        // the message.
        let arrivals = self.arrivals.load(Ordering::Relaxed);
        self.arrivals
            .store(arrivals.wrapping_add(1), Ordering::Release);
    }

    /// Takes the oldest message that is wanted, if it is there.
    pub(super) fn take(&self, wanted: &ReceivePattern) -> Option<Envelope> {
        self.lock().take(wanted)
    }

    /// Nobody receives these steps any more: those that are there, and those that come until their
    /// sender says that there are no more, are dropped.
    pub(super) fn end_steps(&self, steps: NeighbourSteps) {
        self.lock().end_steps(steps);
    }

    /// The number of messages that nobody has received, and of ended steps of which more may come.
    #[cfg(all(test, not(motet_loom)))]
    pub(crate) fn left(&self) -> (usize, usize) {
        let state = self.lock();
        (state.unexpected.iter().count(), state.ended())
    }
}

impl Mail for Mailbox {
    #[inline(always)]
    fn push(&self, message: impl FnOnce() -> Envelope, signed: &mut Signed) {
        let mut state = self.lock();
        let place = state.next_place();
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
    fn post(&self, wanted: &ReceivePattern, signed: &mut Signed) -> Posted {
        let seen = self.arrivals();
        Mailbox::post_in(self.lock(), seen, wanted, signed)
    }

    #[inline]
    fn post_at_hand<V>(
        &self,
        wanted: &ReceivePattern,
        signed: &mut Signed,
        at_hand: impl FnOnce(&mut Envelope) -> Option<V>,
    ) -> Result<ReceivedValue<V>, PostedReceive> {
        let seen = self.arrivals();
        let mut state = self.lock();
        if let Some((value, status)) = state.take_from_first(wanted, at_hand) {
            return Ok(ReceivedValue::AtHand(value, status));
        }
        Mailbox::post_in(state, seen, wanted, signed).map(ReceivedValue::Message)
    }

    #[inline]
    fn is_clear(&self) -> bool {
        // Relaxed: what this rank itself has sent and posted happens before.
        self.clear.load(Ordering::Relaxed)
    }

    fn request(&self, wanted: &ReceivePattern, signed: &mut Signed) -> PostedReceive {
        let mut state = self.lock();
        let mut came = state.take(wanted);
        signed.extend(came.as_mut().and_then(|came| wanted.receipt_of(came)));
        // What is there shows at the first look, as if it had come after the receive.
        let seen = self.arrivals().wrapping_sub(came.is_some().into());
        let number = state.register(wanted, came);
        PostedReceive::Mail(MailTicket { number, seen })
    }

    #[inline]
    fn collect(&self, ticket: &mut PostedReceive) -> Option<Envelope> {
        let ticket = ticket.in_mailbox();
        let arrivals = self.arrivals();
        if arrivals == ticket.seen {
            return None;
        }
        ticket.seen = arrivals;
        let mut state = self.lock();
        state.collect(ticket.number)
    }

    fn withdraw(&self, mut ticket: PostedReceive, signed: &mut Signed) -> bool {
        let came = self.lock().unregister(ticket.in_mailbox().number);
        let was_free = came.is_none();
        if let Some(envelope) = came {
            self.put_back(envelope, signed);
        }
        was_free
    }

    fn leave(&self, mut ticket: PostedReceive) {
        let came = self.lock().leave(ticket.in_mailbox().number);
        // Dropped under no lock, as in `bring`.
        drop(came);
    }

    fn put_back(&self, envelope: Envelope, signed: &mut Signed) {
        let mut state = self.lock();
        let left = state.bring_back(envelope, signed);
        // Another receive of this rank may have it now.
        self.one_more(&state);
        drop(state);
        drop(left);
    }

    fn peek<R>(&self, wanted: &ReceivePattern, look: impl FnOnce(&Envelope) -> R) -> Option<R> {
        self.lock().unexpected.find(wanted).map(look)
    }

    fn clear(&self, wanted: &ReceivePattern) {
        // One by one: what is taken is dropped under no lock.
        while self.take(wanted).is_some() {}
    }

    fn unmatched(&self, dest: usize, most: usize) -> Vec<Unmatched> {
        let state = self.lock();
        let left = state.held().chain(state.unexpected.iter());
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
        self.clear.store(self.state.is_clear(), Ordering::Relaxed);
    }
}

#[cfg(all(test, not(motet_loom)))]
mod tests {
    use super::*;
    use crate::address::{ANY_SOURCE, ANY_TAG, Source, Status, Tag, TagMatch};
    use crate::envelope::{Context, MessageKind};
    use std::panic::Location;

    const CONTEXT: Context = Context {
        communicator: 0,
        kind: MessageKind::User,
    };

    fn envelope(source: usize, tag: Tag, value: u32) -> Envelope {
        Envelope::new(CONTEXT, Status { source, tag }, Location::caller(), value)
    }

    fn wanted(source: impl Into<Source>, tag: impl Into<TagMatch>) -> ReceivePattern {
        ReceivePattern {
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

    fn post(mail: &Mailbox, wanted: &ReceivePattern) -> Posted {
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
