//! The messages of one rank: those that have come and were not received, and the receives that wait.
//!
//! Whoever brings a message looks for the oldest posted receive that it matches; a receive that is posted
//! looks for the oldest message. Both under one lock, so that MPI's order holds: of two messages of one
//! sender that match the same receive the older is taken, and of two receives that match the same message
//! the one posted first gets it.

use crate::envelope::{Envelope, Receipt, Wanted};
use crate::report::Unmatched;
use motet_sync::Mutex;
use motet_sync::atomic::{AtomicU32, Ordering};
use std::collections::VecDeque;
use std::mem;
use std::sync::Arc;

/// Messages for one rank.
pub(crate) struct Mailbox {
    mail: Mutex<Mail>,
    /// Goes up with each message, so that a waiting rank need not take the lock to look.
    arrivals: AtomicU32,
}

#[derive(Default)]
struct Mail {
    /// Oldest first.
    unexpected: VecDeque<Envelope>,
    /// Oldest first; their numbers ascend.
    posted: Vec<Posted>,
    /// Messages that have arrived so far.
    arrived: u64,
    /// Receives that were posted so far.
    receives: u64,
}

struct Posted {
    number: u64,
    wanted: Wanted,
    came: Option<Envelope>,
}

/// A receive that waits in a mailbox.
#[derive(Debug)]
pub(crate) struct MailTicket {
    number: u64,
    /// The arrivals at the last look.
    seen: u32,
}

/// Receipts of messages that posted receives have got: their senders are to be told, when no lock is held.
pub(crate) type Signed = Vec<Arc<Receipt>>;

/// Mailboxes that have had fewer messages than this give their memory back when they are empty: most of a
/// million ranks have a few messages at the start and none after it.
const YOUNG: u64 = 16;

impl Mailbox {
    pub(crate) fn new() -> Self {
        Mailbox {
            mail: Mutex::default(),
            arrivals: AtomicU32::new(0),
        }
    }

    /// A message arrives. Its receiver is to be woken.
    pub(crate) fn push(&self, mut envelope: Envelope) -> Signed {
        let mut signed = Signed::new();
        {
            let mut mail = self.mail.lock();
            envelope.place = mail.arrived;
            mail.arrived += 1;
            if let Some(envelope) = mail.hand_over(envelope, &mut signed) {
                mail.unexpected.push_back(envelope);
            }
        }
        self.arrivals.fetch_add(1, Ordering::Release);
        signed
    }

    /// The number of messages that have arrived so far.
    #[inline]
    pub(crate) fn arrivals(&self) -> u32 {
        self.arrivals.load(Ordering::Acquire)
    }

    /// Takes the oldest message that is wanted, if it is there.
    pub(crate) fn take(&self, wanted: &Wanted) -> Option<Envelope> {
        self.mail.lock().take(wanted)
    }

    /// Takes the oldest message that is wanted, or posts a receive for it.
    pub(crate) fn post(&self, wanted: &Wanted) -> Result<Envelope, MailTicket> {
        let seen = self.arrivals();
        let mut mail = self.mail.lock();
        if let Some(envelope) = mail.take(wanted) {
            return Ok(envelope);
        }
        let number = mail.register(wanted, None);
        Err(MailTicket { number, seen })
    }

    /// Posts a receive; the oldest message that is wanted, if it is there, is the receive's from now on.
    pub(crate) fn request(&self, wanted: &Wanted) -> (MailTicket, Option<Arc<Receipt>>) {
        let mut mail = self.mail.lock();
        let mut came = mail.take(wanted);
        let signed = came.as_mut().and_then(|came| wanted.receipt_of(came));
        // What is there shows at the first look, as if it had come after the receive.
        let seen = self.arrivals().wrapping_sub(came.is_some().into());
        let number = mail.register(wanted, came);
        (MailTicket { number, seen }, signed)
    }

    /// What a posted receive has got; the receive is then over.
    #[inline]
    pub(crate) fn collect(&self, ticket: &mut MailTicket) -> Option<Envelope> {
        let arrivals = self.arrivals();
        if arrivals == ticket.seen {
            return None;
        }
        ticket.seen = arrivals;
        let mut mail = self.mail.lock();
        let at = mail.find(ticket)?;
        mail.posted[at].came.as_ref()?;
        mail.unregister(at)
    }

    /// Gives a posted receive up; what it has got, if anything, is there again for others.
    pub(crate) fn withdraw(&self, ticket: &MailTicket) -> Option<Signed> {
        let mut mail = self.mail.lock();
        let at = mail.find(ticket)?;
        let envelope = mail.unregister(at)?;
        drop(mail);
        Some(self.put_back(envelope))
    }

    /// Brings a message back that nobody could use, as if it had not been taken: to the oldest receive that
    /// waits for it or has got a younger one, or to its old place. A receive with a narrower tag may have taken
    /// it past older ones.
    ///
    /// The rank whose mailbox it is, which is the only one to call this, may sleep in another receive: it is
    /// to be woken.
    pub(crate) fn put_back(&self, envelope: Envelope) -> Signed {
        let mut signed = Signed::new();
        {
            let mut mail = self.mail.lock();
            if let Some(envelope) = mail.hand_over(envelope, &mut signed) {
                let older = |other: &Envelope| other.place < envelope.place;
                let at = mail.unexpected.partition_point(older);
                mail.unexpected.insert(at, envelope);
            }
        }
        // Another receive of this rank may have it now.
        self.arrivals.fetch_add(1, Ordering::Release);
        signed
    }

    /// Shows `look` the oldest message that is wanted and leaves it there.
    pub(crate) fn peek<R>(&self, wanted: &Wanted, look: impl FnOnce(&Envelope) -> R) -> Option<R> {
        let mail = self.mail.lock();
        let found = mail
            .unexpected
            .iter()
            .find(|envelope| wanted.matches(envelope));
        found.map(look)
    }

    /// The program's messages to rank `dest` that nobody has received, also those that wait in a posted receive; at most so
    /// many.
    pub(crate) fn unmatched(&self, dest: usize, most: usize) -> Vec<Unmatched> {
        let mail = self.mail.lock();
        let came = mail.posted.iter().filter_map(|posted| posted.came.as_ref());
        let left = came.chain(&mail.unexpected);
        left.filter_map(|envelope| envelope.unmatched(dest))
            .take(most)
            .collect()
    }
}

impl Mail {
    /// Gives the message to the oldest receive that waits for it, if there is one. A receive that has got a
    /// younger message takes the older one instead, and the younger goes on from there.
    fn hand_over(&mut self, mut envelope: Envelope, signed: &mut Signed) -> Option<Envelope> {
        for posted in &mut self.posted {
            if !posted.wanted.matches(&envelope) {
                continue;
            }
            match &mut posted.came {
                None => {
                    signed.extend(posted.wanted.receipt_of(&mut envelope));
                    posted.came = Some(envelope);
                    return None;
                }
                Some(came) if came.place > envelope.place => {
                    signed.extend(posted.wanted.receipt_of(&mut envelope));
                    mem::swap(came, &mut envelope);
                }
                Some(_) => {}
            }
        }
        Some(envelope)
    }

    /// Puts a receive behind the others; its number.
    fn register(&mut self, wanted: &Wanted, came: Option<Envelope>) -> u64 {
        self.receives += 1;
        self.posted.push(Posted {
            number: self.receives,
            wanted: *wanted,
            came,
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

    fn take(&mut self, wanted: &Wanted) -> Option<Envelope> {
        let wants = |envelope: &Envelope| wanted.matches(envelope);
        let at = self.unexpected.iter().position(wants)?;
        let taken = self.unexpected.remove(at);
        if self.unexpected.is_empty() && self.arrived < YOUNG {
            self.unexpected = VecDeque::new();
        }
        taken
    }

    fn find(&self, ticket: &MailTicket) -> Option<usize> {
        let number = |posted: &Posted| posted.number;
        self.posted
            .binary_search_by_key(&ticket.number, number)
            .ok()
    }
}

#[cfg(all(test, not(motet_loom)))]
mod tests {
    use super::*;
    use crate::address::{ANY_SOURCE, ANY_TAG, Source, Status, Tag, TagMatch};
    use crate::envelope::{Context, Kind};
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

    /// Receives what is there.
    fn take(mail: &Mailbox, source: impl Into<Source>, tag: impl Into<TagMatch>) -> Option<u32> {
        match mail.post(&wanted(source, tag)) {
            Ok(envelope) => envelope.open().ok(),
            Err(ticket) => {
                assert!(mail.withdraw(&ticket).is_none(), "nothing has come");
                None
            }
        }
    }

    #[test]
    fn the_oldest_match_is_taken_and_the_rest_stays() {
        let mail = Mailbox::new();
        for (i, (source, tag)) in [(0, 1), (1, 1), (0, 2), (1, 1)].into_iter().enumerate() {
            mail.push(envelope(source, tag, u32::try_from(i).unwrap()));
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
        (0..3).for_each(|tag| drop(mail.push(envelope(0, tag, tag))));
        let taken = mail.post(&wanted(ANY_SOURCE, 1)).ok().unwrap();
        mail.put_back(taken);
        assert_eq!(
            [(); 3].map(|()| take(&mail, ANY_SOURCE, ANY_TAG)),
            [Some(0), Some(1), Some(2)]
        );
    }

    #[test]
    fn the_first_posted_gets_the_message_whoever_looks_first() {
        let mail = Mailbox::new();
        let mut any = mail.post(&wanted(ANY_SOURCE, ANY_TAG)).err().unwrap();
        let mut narrow = mail.post(&wanted(0, 7)).err().unwrap();
        mail.push(envelope(0, 7, 1));
        assert!(mail.collect(&mut narrow).is_none());
        mail.push(envelope(0, 7, 2));
        let values = [&mut narrow, &mut any].map(|ticket| {
            let came = mail.collect(ticket).unwrap();
            came.open::<u32>().ok().unwrap()
        });
        assert_eq!(values, [2, 1]);
    }

    #[test]
    fn a_receive_that_is_given_up_hands_its_message_to_the_next() {
        let mail = Mailbox::new();
        let first = mail.post(&wanted(0, 7)).err().unwrap();
        let mut second = mail.post(&wanted(0, ANY_TAG)).err().unwrap();
        mail.push(envelope(0, 7, 5));
        assert!(mail.collect(&mut second).is_none());
        assert!(mail.withdraw(&first).is_some(), "it had got the message");
        assert!(mail.collect(&mut second).is_some());
    }

    #[test]
    fn another_type_is_handed_back_whole() {
        let (wrong, _) = envelope(3, 4, 5).open::<String>().unwrap_err();
        assert_eq!((wrong.status.source, wrong.type_name()), (3, "u32"));
        assert_eq!(wrong.open::<u32>().ok(), Some(5));
    }
}
