//! What is in a mailbox, and who gets it: the messages that nobody has received, and the receives that wait.

use super::steps::Steps;
use super::unexpected::Unexpected;
use crate::address::Status;
use crate::envelope::{Envelope, Kind, Wanted};
use crate::fabric::Signed;
use std::mem;

/// What one lock guards.
#[derive(Default)]
pub(super) struct State {
    /// Oldest first.
    pub(super) unexpected: Unexpected,
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
pub(super) enum Handed {
    /// A receive has it.
    Over,
    /// Nobody waits for it.
    Back(Envelope),
    /// A receive has got it that nobody waits for.
    Left(Envelope),
}

/// Mailboxes that have had fewer messages than this give their memory back when they are empty: most of a
/// million ranks have a few messages at the start and none after it.
const YOUNG: u64 = 16;

impl State {
    /// Whether a message that comes has nowhere to go but behind the others.
    #[inline]
    pub(super) fn nobody_waits(&self) -> bool {
        self.posted.is_empty() && self.ended.is_empty()
    }

    /// Nothing is here, and a message that comes has nowhere else to go.
    #[inline]
    pub(super) fn is_clear(&self) -> bool {
        self.nobody_waits() && self.unexpected.is_empty()
    }

    /// The place of the message that has arrived now.
    #[inline]
    pub(super) fn next_place(&mut self) -> u64 {
        let place = self.arrived;
        self.arrived += 1;
        place
    }

    /// Gives a message that has come to whom it belongs; what it is if nobody shall have it.
    pub(super) fn bring(&mut self, envelope: Envelope, signed: &mut Signed) -> Option<Envelope> {
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
    pub(super) fn hand_over(&mut self, mut envelope: Envelope, signed: &mut Signed) -> Handed {
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

    /// Drops these steps, and those that come until their sender says that there are no more.
    pub(super) fn end_steps(&mut self, steps: Steps) {
        let mut ended = false;
        self.unexpected.retain(|envelope| {
            let left = steps.has(envelope);
            ended |= left && envelope.context.kind == Kind::StepsEnd;
            !left
        });
        if !ended {
            self.ended.push(steps);
        }
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

    /// The number of ended steps of which more may come.
    #[cfg(all(test, not(motet_loom)))]
    pub(super) fn ended(&self) -> usize {
        self.ended.len()
    }

    /// Puts a receive behind the others; its number.
    pub(super) fn register(&mut self, wanted: &Wanted, came: Option<Envelope>) -> u64 {
        self.receives += 1;
        self.posted.push(Receive {
            number: self.receives,
            wanted: *wanted,
            came,
            left: false,
        });
        self.receives
    }

    /// Nobody waits for this receive any more.
    pub(super) fn leave(&mut self, at: usize) {
        self.posted[at].left = true;
    }

    /// Whether this receive has got its message.
    #[inline]
    pub(super) fn has_come(&self, at: usize) -> bool {
        self.posted[at].came.is_some()
    }

    /// The messages that receives have got and nobody has collected.
    pub(super) fn held(&self) -> impl Iterator<Item = &Envelope> {
        self.posted.iter().filter_map(|posted| posted.came.as_ref())
    }

    /// The receive is over; what it has got.
    pub(super) fn unregister(&mut self, at: usize) -> Option<Envelope> {
        let came = self.posted.remove(at).came;
        if self.posted.is_empty() && self.arrived < YOUNG {
            self.posted = Vec::new();
        }
        came
    }

    /// If the oldest message of all is wanted, has what is to be taken out of it and nobody waits for its receipt:
    /// that; the rest of it is gone.
    #[inline]
    pub(super) fn take_from_first<V>(
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
    pub(super) fn take(&mut self, wanted: &Wanted) -> Option<Envelope> {
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

    /// Where the receive of this number is.
    pub(super) fn find(&self, number: u64) -> Option<usize> {
        self.posted
            .binary_search_by_key(&number, |posted| posted.number)
            .ok()
    }
}
