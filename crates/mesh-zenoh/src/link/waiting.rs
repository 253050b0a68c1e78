//! Frames that wait: for others of the same message, or until the peer has taken earlier ones.

use super::{BATCH, BEHIND, HEAD, PART_OF_FRAME, WHOLE, with_head};
use std::borrow::Cow;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// How many bytes may be sent that the node of the peer has not taken.
pub(super) const WINDOW: u64 = 512 << 10;

/// How many with urgent frames, which are sent also when no other may be. A peer that sends more is
/// cut off.
pub(super) const MOST: u64 = WINDOW + WINDOW / 2;

/// A frame that is longer goes in parts of this length; shorter ones share messages up to it.
pub(super) const PART: usize = 32 << 10;

/// A frame that comes so long after the last message waits for no other.
pub(crate) const PAUSE: Duration = Duration::from_micros(20);

/// The length of a frame stands before it in a batch.
const LENGTH: usize = 4;

/// What a message costs the engine beside its frame, at most.
const OVERHEAD: u64 = 128;

/// How many bytes wait for a peer, at most: then the link breaks.
pub(super) const MAX_WAITING: usize = 256 << 20;

/// What is to be done with a frame that has come.
pub(super) enum FlushDecision {
    /// Everything that waits goes.
    SendAll,
    /// Messages that are full go.
    SendFull,
    /// It waits.
    None,
}

/// Which messages go.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Which {
    All,
    /// Those that can grow no more.
    Full,
}

/// What a flush is to do.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flush {
    /// What waits goes now, and more may come: another flush follows after [`PAUSE`].
    Send,
    /// Frames come in quick succession: another flush follows after [`PAUSE`].
    Wait,
    /// Nothing waits.
    End,
}

/// What a confirmation of the peer means.
pub(super) enum Confirmed {
    /// What was blocked by the window may go.
    More,
    /// Nothing waits for it.
    Known,
    /// It is of bytes that were not sent.
    NotSent,
}

/// What waits for one message, or for several that share nothing.
enum Item {
    /// A body with room for its head: frames, each behind its length.
    Batch(Vec<u8>),
    /// A frame that goes in parts, and how much of it has gone.
    Long(Vec<u8>, usize),
}

#[derive(Default)]
pub(super) struct Waiting {
    items: VecDeque<Item>,
    /// Urgent frames: bodies with room for their heads.
    urgent: VecDeque<Vec<u8>>,
    /// What is still to be sent, with the lengths of frames.
    bytes: usize,
    /// How long the last batch was: room for the next.
    usual: usize,
    /// When the last message went.
    sent_at: Option<Instant>,
    /// A flush has been asked for.
    flushing: bool,
    /// The first frame waits until the peer has taken earlier ones.
    blocked: bool,
    sent: u64,
    /// How much of it the peer has got.
    come: u64,
    /// How much of that its node has taken.
    taken: u64,
    /// Since when the peer has got less than was sent, and no more than before.
    lacks: Option<Instant>,
}

impl Waiting {
    pub(super) fn push(&mut self, frame: Cow<'_, [u8]>, now: Instant) -> FlushDecision {
        let is_alone = self.items.is_empty() && self.is_paused(now);
        let length = LENGTH + frame.len();
        self.bytes += length;
        match self.items.back_mut() {
            _ if length > PART => self.items.push_back(Item::Long(frame.into_owned(), 0)),
            Some(Item::Batch(body)) if body.len() - HEAD + length <= PART => {
                put_behind(body, &frame);
            }
            _ => {
                // One that waits for no other needs room for itself alone.
                let room = if is_alone { 0 } else { self.usual };
                let mut body = Vec::with_capacity(HEAD + length.max(room) + BEHIND);
                body.resize(HEAD, 0);
                put_behind(&mut body, &frame);
                self.items.push_back(Item::Batch(body));
            }
        }
        match (self.blocked, is_alone) {
            (true, _) => FlushDecision::None,
            (false, true) => FlushDecision::SendAll,
            (false, false) if self.is_full() => FlushDecision::SendFull,
            (false, false) => FlushDecision::None,
        }
    }

    /// Whether all has been sent.
    pub(super) fn is_empty(&self) -> bool {
        self.items.is_empty() && self.urgent.is_empty()
    }

    pub(super) fn push_urgent(&mut self, frame: &[u8]) {
        self.bytes += cost(frame.len()) as usize;
        self.urgent.push_back(with_head(frame));
    }

    /// The body of the next urgent frame. None: there is none, or the peer has not taken enough.
    pub(super) fn next_urgent(&mut self) -> Option<Vec<u8>> {
        let cost = cost(self.urgent.front()?.len() - HEAD);
        if !self.has_room(cost, MOST) {
            return None;
        }
        self.sent += cost;
        self.bytes -= cost as usize;
        self.urgent.pop_front()
    }

    fn has_room(&self, cost: u64, most: u64) -> bool {
        let under_way = self.sent - self.taken;
        under_way == 0 || under_way + cost <= most
    }

    fn is_paused(&self, now: Instant) -> bool {
        self.sent_at
            .is_none_or(|last| now.saturating_duration_since(last) >= PAUSE)
    }

    /// Whether the first message can grow no more.
    fn is_full(&self) -> bool {
        match self.items.front() {
            Some(Item::Long(..)) => true,
            Some(Item::Batch(_)) => self.items.len() > 1,
            None => false,
        }
    }

    /// Whether a flush is to be asked for; `true` once for each.
    pub(super) fn wants_flush(&mut self) -> bool {
        let waits = !self.blocked && !self.items.is_empty();
        waits && !std::mem::replace(&mut self.flushing, true)
    }

    /// A flush has come. `true`: frames still come in quick succession, and it comes again.
    pub(super) fn is_flushed(&mut self, now: Instant) -> Flush {
        let is_paused = self.is_paused(now);
        if is_paused && (self.blocked || self.items.is_empty()) {
            self.flushing = false;
            return Flush::End;
        }
        match is_paused && !self.blocked {
            true => Flush::Send,
            false => Flush::Wait,
        }
    }

    pub(super) fn is_too_much(&self) -> bool {
        self.bytes > MAX_WAITING
    }

    /// The next message: its kind, and its body with room for a head. None: nothing waits, it is
    /// not full, or the peer has not taken enough.
    pub(super) fn next(&mut self, which: Which, now: Instant) -> Option<(u8, Vec<u8>)> {
        self.blocked = false;
        if which == Which::Full && !self.is_full() {
            return None;
        }
        let length = match self.items.front()? {
            Item::Batch(body) => body.len() - HEAD,
            Item::Long(frame, begun) => PART.min(frame.len() - begun),
        };
        let cost = cost(length);
        if !self.has_room(cost, WINDOW) {
            self.blocked = true;
            return None;
        }
        self.sent += cost;
        self.sent_at = Some(now);
        self.bytes -= length;
        if let Some(Item::Long(frame, begun)) = self.items.front_mut() {
            let mut body = Vec::with_capacity(HEAD + length + BEHIND);
            body.resize(HEAD, 0);
            body.extend_from_slice(&frame[*begun..*begun + length]);
            *begun += length;
            if *begun < frame.len() {
                return Some((PART_OF_FRAME, body));
            }
            self.bytes -= LENGTH;
            self.items.pop_front();
            return Some((WHOLE, body));
        }
        match self.items.pop_front()? {
            Item::Batch(body) => {
                self.usual = length;
                Some((BATCH, body))
            }
            Item::Long(..) => None,
        }
    }

    /// For how long the peer has not got what was sent, though it is heard.
    pub(super) fn lacks_for(&self, now: Instant) -> Duration {
        let lacks = self.lacks.map(|since| now.saturating_duration_since(since));
        lacks.unwrap_or_default()
    }

    /// The peer has got so many bytes of all that was sent, and its node has taken so many.
    pub(super) fn confirm(&mut self, come: u64, taken: u64, now: Instant) -> Confirmed {
        if come > self.sent || taken > come {
            return Confirmed::NotSent;
        }
        self.lacks = match come > self.come {
            _ if come == self.sent => None,
            true => Some(now),
            false => self.lacks.or(Some(now)),
        };
        self.come = self.come.max(come);
        self.taken = self.taken.max(taken);
        match self.blocked || !self.urgent.is_empty() {
            true => Confirmed::More,
            false => Confirmed::Known,
        }
    }
}

/// What a message of so many bytes counts.
pub(super) fn cost(bytes: usize) -> u64 {
    bytes as u64 + OVERHEAD
}

/// Puts a frame behind others, with its length before it, as [`Frames`](motet_mesh::Frames) has
/// them.
fn put_behind(body: &mut Vec<u8>, frame: &[u8]) {
    body.extend_from_slice(&(frame.len() as u32).to_le_bytes());
    body.extend_from_slice(frame);
}
