//! What comes by a link that is up, and how much of it the node has taken.

use super::waiting::{Confirmed, MOST, WINDOW, Which, cost};
use super::{BATCH, HEAD, KEEP_ALIVE, LEAVES, Link, Out, PART_OF_FRAME, WHOLE, with_head};
use motet_mesh::{CarrierEvent, FramePriority, Frames, MAX_FRAME};
use std::time::Instant;

impl Link {
    pub(super) fn on_sealed(&mut self, message: &[u8], now: Instant, out: Out<'_>) {
        let (Some(priority), Some(number)) = (message.get(1), message.get(2..HEAD)) else {
            return;
        };
        let (priority, mut bytes) = (*priority, [0; 8]);
        bytes.copy_from_slice(number);
        let number = u64::from_le_bytes(bytes);
        if usize::from(priority) >= self.incoming.len() {
            return;
        }
        let Some(mut opened) = self.open((priority, number), &message[HEAD..]) else {
            return;
        };
        let expected = self.incoming[usize::from(priority)];
        if number < expected {
            return;
        }
        self.heard = now;
        if number > expected {
            let lost = number - expected;
            self.break_off(&format!("{lost} messages were lost on the way"), out);
            return;
        }
        self.incoming[usize::from(priority)] += 1;
        let kind = opened.pop();
        let is_frames = !matches!(kind, Some(KEEP_ALIVE | LEAVES));
        if is_frames && !self.counts(opened.len(), out) {
            return;
        }
        let is_ordered = usize::from(priority) == FramePriority::Ordered as usize;
        match kind {
            Some(KEEP_ALIVE) => self.on_keep_alive(&opened, now, out),
            Some(LEAVES) => self.on_leaves(out),
            Some(WHOLE) if is_ordered && !self.parts.is_empty() => {
                self.take_part(&opened, out);
                let frame = std::mem::take(&mut self.parts);
                self.tell_frame(frame, out);
            }
            Some(WHOLE) => self.tell_frame(opened, out),
            Some(PART_OF_FRAME) => self.take_part(&opened, out),
            Some(BATCH) if self.parts.is_empty() => self.take_batch(opened, out),
            _ => self.break_off("it sends messages of a kind that is not known", out),
        }
        self.confirm_taken(out);
    }

    /// So many bytes of frames have come. `false`: the peer was not to send them.
    fn counts(&mut self, bytes: usize, out: Out<'_>) -> bool {
        let (cost, waits) = (cost(bytes), self.received - self.untaken.taken());
        if waits > 0 && waits + cost > MOST {
            let why = format!("it sends more than it may: {waits} bytes wait to be taken here");
            self.break_off(&why, out);
            return false;
        }
        self.received += cost;
        true
    }

    fn take_part(&mut self, part: &[u8], out: Out<'_>) {
        if self.parts.len() + part.len() > MAX_FRAME {
            let why = format!("it sends a frame of more than {MAX_FRAME} bytes");
            self.break_off(&why, out);
            return;
        }
        self.parts.extend_from_slice(part);
    }

    fn take_batch(&mut self, batch: Vec<u8>, out: Out<'_>) {
        let bytes = batch.len();
        let Some(frames) = Frames::from_bytes(batch) else {
            self.break_off("it sends a batch that ends within a frame", out);
            return;
        };
        let peer = self.ends.peer.clone();
        self.tell(CarrierEvent::Frames(peer, frames), bytes, out);
    }

    fn tell_frame(&mut self, frame: Vec<u8>, out: Out<'_>) {
        if self.up {
            let bytes = frame.len();
            let peer = self.ends.peer.clone();
            self.tell(CarrierEvent::Frame(peer, frame), bytes, out);
        }
    }

    fn on_keep_alive(&mut self, keep_alive: &[u8], now: Instant, out: Out<'_>) {
        let ([come, taken], []) = keep_alive.as_chunks::<8>() else {
            self.break_off("its keep-alive is not two numbers", out);
            return;
        };
        let (come, taken) = (u64::from_le_bytes(*come), u64::from_le_bytes(*taken));
        match self.waiting.confirm(come, taken, now) {
            Confirmed::More => {
                self.send_urgent(out);
                self.send_waiting(Which::All, now, out);
                self.say_left(false, out);
            }
            Confirmed::Known => {}
            Confirmed::NotSent => self.break_off("it confirms what was not sent", out),
        }
        // Nothing comes behind the last message by whose number its loss would be seen.
        if self.waiting.lacks_for(now) >= self.ends.silence {
            let why = format!("what was sent has not come for {:?}", self.ends.silence);
            self.break_off(&why, out);
        }
    }

    /// The peer leaves, or has heard that this node does. Who leaves waits for that: what says that
    /// it is gone may come before its last messages.
    fn on_leaves(&mut self, out: Out<'_>) {
        if self.left {
            self.is_heard = true;
        } else if !std::mem::replace(&mut self.leaves, true) {
            self.seal(FramePriority::Ordered, with_head(&[]), LEAVES, out);
        }
    }

    /// The node has taken the oldest of what it was told and had not taken.
    pub(crate) fn taken(&mut self, out: Out<'_>) {
        let was_much = self.untaken.is_much();
        self.untaken.is_taken();
        self.confirm_taken(out);
        if was_much && !self.up {
            self.greet(out);
        }
    }

    /// Tells the peer what the node has taken, if that is much more than it knows.
    fn confirm_taken(&mut self, out: Out<'_>) {
        self.untaken.settle(self.received);
        if self.up && self.untaken.taken() - self.told >= WINDOW / 4 {
            self.keep_alive(out);
        }
    }
}
