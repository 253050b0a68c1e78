//! Frames that wait: for others of the same message, or until the peer confirms earlier ones.

use super::{BATCH, PART_OF_FRAME, WHOLE};
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// How many bytes may be under way to a peer that has not confirmed them.
pub(super) const WINDOW: u64 = 512 << 10;

/// A frame that is longer goes in parts of this length; shorter ones share messages up to it.
pub(super) const PART: usize = 32 << 10;

/// A frame that comes so long after the last message waits for no other.
pub(super) const PAUSE: Duration = Duration::from_micros(20);

/// The length of a frame stands before it in a batch.
const LENGTH: usize = 4;

/// What a message costs the engine beside its frame, at most.
pub(super) const OVERHEAD: u64 = 128;

/// How many bytes wait for a peer, at most: then the link breaks.
pub(super) const MAX_WAITING: usize = 256 << 20;

/// What is to be done with a frame that has come.
pub(super) enum Urge {
    /// Messages go for as long as so many bytes wait.
    Send(usize),
    /// It waits.
    None,
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

#[derive(Default)]
pub(super) struct Waiting {
    frames: VecDeque<Vec<u8>>,
    /// How much of the first has been sent.
    begun: usize,
    /// What is still to be sent, with the lengths of frames.
    bytes: usize,
    /// When the last message went.
    sent_at: Option<Instant>,
    /// A flush has been asked for.
    flushing: bool,
    /// The first frame waits until the peer confirms earlier ones.
    blocked: bool,
    sent: u64,
    confirmed: u64,
    /// Since when the peer confirms less than was sent, and no more than before.
    lacks: Option<Instant>,
}

impl Waiting {
    pub(super) fn push(&mut self, frame: Vec<u8>, now: Instant) -> Urge {
        self.bytes += LENGTH + frame.len();
        self.frames.push_back(frame);
        let is_paused = |last| now.saturating_duration_since(last) >= PAUSE;
        let is_alone = self.frames.len() == 1 && self.sent_at.is_none_or(is_paused);
        match (self.blocked, is_alone) {
            (true, _) => Urge::None,
            (false, true) => Urge::Send(0),
            (false, false) if self.bytes >= PART => Urge::Send(PART),
            (false, false) => Urge::None,
        }
    }

    /// Whether a flush is to be asked for; `true` once for each.
    pub(super) fn wants_flush(&mut self) -> bool {
        let waits = !self.blocked && !self.frames.is_empty();
        waits && !std::mem::replace(&mut self.flushing, true)
    }

    pub(super) fn is_flushed(&mut self) {
        self.flushing = false;
    }

    pub(super) fn is_too_much(&self) -> bool {
        self.bytes > MAX_WAITING
    }

    /// The next message, its kind and its body, if at least so many bytes wait and the peer has
    /// confirmed enough.
    pub(super) fn next(&mut self, least: usize, now: Instant) -> Option<(u8, Vec<u8>)> {
        self.blocked = false;
        if self.bytes < least {
            return None;
        }
        let rest = self.frames.front()?.len() - self.begun;
        let (count, batch) = self.next_batch();
        let length = if count > 1 { batch } else { rest.min(PART) };
        let cost = length as u64 + OVERHEAD;
        let under_way = self.sent - self.confirmed;
        if under_way > 0 && under_way + cost > WINDOW {
            self.blocked = true;
            return None;
        }
        self.sent += cost;
        self.sent_at = Some(now);
        self.bytes -= length;
        if count > 1 {
            return Some((BATCH, self.take_batch(count, length)));
        }
        if length < rest {
            let part = self.frames.front()?[self.begun..self.begun + length].to_vec();
            self.begun += length;
            return Some((PART_OF_FRAME, part));
        }
        self.bytes -= LENGTH;
        let mut frame = self.frames.pop_front()?;
        frame.drain(..std::mem::take(&mut self.begun));
        Some((WHOLE, frame))
    }

    /// How many of the frames that wait fit into one message, and how long they are there.
    fn next_batch(&self) -> (usize, usize) {
        let (mut count, mut length) = (0, 0);
        if self.begun > 0 {
            return (count, length);
        }
        for frame in &self.frames {
            let longer = length + LENGTH + frame.len();
            if longer > PART {
                break;
            }
            (count, length) = (count + 1, longer);
        }
        (count, length)
    }

    fn take_batch(&mut self, count: usize, length: usize) -> Vec<u8> {
        let mut body = Vec::with_capacity(length);
        for frame in self.frames.drain(..count) {
            body.extend_from_slice(&(frame.len() as u32).to_le_bytes());
            body.extend_from_slice(&frame);
        }
        body
    }

    /// For how long the peer has not got what was sent, though it is heard.
    pub(super) fn lacks_for(&self, now: Instant) -> Duration {
        let lacks = self.lacks.map(|since| now.saturating_duration_since(since));
        lacks.unwrap_or_default()
    }

    /// The peer has got so many bytes of all that was sent.
    pub(super) fn confirm(&mut self, bytes: u64, now: Instant) -> Confirmed {
        if bytes > self.sent {
            return Confirmed::NotSent;
        }
        self.lacks = match bytes > self.confirmed {
            _ if bytes == self.sent => None,
            true => Some(now),
            false => self.lacks.or(Some(now)),
        };
        self.confirmed = self.confirmed.max(bytes);
        match self.blocked {
            true => Confirmed::More,
            false => Confirmed::Known,
        }
    }
}

/// The first frame of a batch, and what is behind it.
pub(super) fn first_of(batch: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = batch.split_first_chunk::<LENGTH>()?;
    rest.split_at_checked(u32::from_le_bytes(*length) as usize)
}
