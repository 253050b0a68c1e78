//! What is in a mailbox, and who gets it: the messages that nobody has received, and the receives
//! that wait.

use super::receives::{Handed, Receives};
use super::steps::NeighbourSteps;
use super::unexpected::Unexpected;
use crate::address::Status;
use crate::envelope::{Envelope, MessageKind, ReceivePattern};
use crate::fabric::Signed;

/// What one lock guards.
#[derive(Default)]
pub(super) struct State {
    /// Oldest first.
    pub(super) unexpected: Unexpected,
    /// Oldest first; their numbers ascend.
    posted: Receives,
    /// Messages that have arrived so far.
    arrived: u64,
    /// Receives that were posted so far.
    receives: u64,
    /// Steps that nobody receives any more, until their senders end them.
    ended: Vec<NeighbourSteps>,
}

/// Mailboxes that have had fewer messages than this give their memory back when they are empty.
/// Most of a million ranks have a few messages at the start and none after it.
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
        match self.posted.match_posted(envelope, signed) {
            Handed::Over => None,
            Handed::Back(envelope) => {
                self.unexpected.push(|| envelope);
                None
            }
            Handed::Left(envelope) => Some(envelope),
        }
    }

    /// Brings a message back that was taken: to the oldest receive that waits for it or has got a
    /// younger one. A younger one goes on from there.
    pub(super) fn bring_back(
        &mut self,
        envelope: Envelope,
        signed: &mut Signed,
    ) -> Option<Envelope> {
        match self.posted.match_again(envelope, signed) {
            Handed::Over => None,
            Handed::Back(envelope) => {
                self.unexpected.put_back(envelope);
                None
            }
            Handed::Left(envelope) => Some(envelope),
        }
    }

    /// Drops these steps, and those that come until their sender says that there are no more.
    pub(super) fn end_steps(&mut self, steps: NeighbourSteps) {
        let mut ended = false;
        self.unexpected.retain(|envelope| {
            let left = steps.has(envelope);
            ended |= left && envelope.context.kind == MessageKind::StepsEnd;
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
        if envelope.context.kind == MessageKind::StepsEnd {
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
    pub(super) fn register(&mut self, wanted: &ReceivePattern, came: Option<Envelope>) -> u64 {
        self.receives += 1;
        self.posted.push(self.receives, wanted, came);
        self.receives
    }

    /// What this receive has got, if it has; then it is over.
    #[inline]
    pub(super) fn collect(&mut self, number: u64) -> Option<Envelope> {
        let came = self.posted.collect(number)?;
        self.shrink_posted();
        Some(came)
    }

    /// The receive is over; what it has got.
    pub(super) fn unregister(&mut self, number: u64) -> Option<Envelope> {
        let came = self.posted.remove(number);
        self.shrink_posted();
        came
    }

    /// Nobody waits for this receive any more; what it has got.
    pub(super) fn leave(&mut self, number: u64) -> Option<Envelope> {
        let came = self.posted.leave(number);
        self.shrink_posted();
        came
    }

    /// The messages that receives have got and nobody has collected.
    pub(super) fn held(&self) -> impl Iterator<Item = &Envelope> {
        self.posted.held()
    }

    /// Gives the memory of a young mailbox without receives back.
    #[inline]
    fn shrink_posted(&mut self) {
        if self.arrived < YOUNG {
            self.posted.shrink();
        }
    }

    /// Takes something out of the oldest message of all, and forgets the rest of it. It does so if
    /// the message is wanted, `at_hand` finds something in it and nobody waits for its receipt.
    #[inline]
    pub(super) fn take_from_first<V>(
        &mut self,
        wanted: &ReceivePattern,
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
    pub(super) fn take(&mut self, wanted: &ReceivePattern) -> Option<Envelope> {
        let taken = self.unexpected.take(wanted)?;
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
}
