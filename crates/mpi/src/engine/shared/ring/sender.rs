//! What goes into a ring.

use super::super::outgoing_message::OutgoingMessage;
use super::cells::Ring;
use super::course::Course;
use super::frame::{CLOSE, FIRST, LINE, REST, WHOLE, frame_cells, is_stamp, stamp, words_of};
use super::{Memory, RingSender};
use motet_comm::{Gone, Header};
use motet_sync::atomic::Ordering;
use std::ops::Range;
use std::sync::Arc;

impl<M: Memory> RingSender<M> {
    /// The sender of the ring at these words of the memory; there is no other.
    pub(in crate::engine::shared) fn new(memory: Arc<M>, place: Range<usize>) -> Self {
        RingSender {
            ring: Ring::new(memory, place),
            written: 0,
            taken: 0,
            course: Course::default(),
        }
    }

    /// Cells written since the beginning.
    pub(in crate::engine::shared) fn written(&self) -> u64 {
        self.written
    }

    /// Writes as much of the parcel as there is room for; whether that is all.
    pub(in crate::engine::shared) fn write(&mut self, parcel: &mut OutgoingMessage) -> bool {
        match parcel {
            OutgoingMessage::Close => self.write_frame(CLOSE, &[], &[], 0..0),
            OutgoingMessage::Message {
                header,
                payload,
                sent,
            } => self.write_message(header, &[payload], sent),
        }
    }

    /// Writes as much of a message as there is room for, behind what was `sent` of it; whether that
    /// is all.
    #[inline]
    pub(in crate::engine::shared) fn write_message(
        &mut self,
        header: &Header,
        pieces: &[&[u8]],
        sent: &mut Option<usize>,
    ) -> bool {
        let bytes = pieces.iter().map(|piece| piece.len()).sum::<usize>();
        let ([one, two], piece) = (words_of(header), self.ring.piece());
        if sent.is_none() && bytes <= piece {
            return self.write_frame(WHOLE, &[header.context, one, two], pieces, 0..bytes);
        }
        loop {
            let begin = sent.unwrap_or(0);
            let end = bytes.min(begin + piece);
            let written = match sent {
                None => {
                    let head = [header.context, one, two, bytes as u64];
                    self.write_frame(FIRST, &head, pieces, begin..end)
                }
                Some(_) => self.write_frame(REST, &[], pieces, begin..end),
            };
            if !written {
                return false;
            }
            *sent = Some(end);
            if end == bytes {
                return true;
            }
        }
    }

    /// Writes as many of the bytes as there is room for, as messages of a frame each.
    pub(in crate::engine::shared) fn write_some(&mut self, header: &Header, bytes: &[u8]) -> Gone {
        let ([one, two], mut gone) = (words_of(header), Gone::default());
        let head = [header.context, one, two];
        for piece in bytes.chunks(self.ring.cut() / LINE * LINE) {
            if !self.write_frame(WHOLE, &head, &[piece], 0..piece.len()) {
                break;
            }
            gone.bytes += piece.len();
            gone.messages += 1;
        }
        gone
    }

    /// Writes a frame with these of the pieces' bytes if there is room for it.
    #[inline]
    fn write_frame(
        &mut self,
        kind: u64,
        head: &[u64],
        pieces: &[&[u8]],
        bytes: Range<usize>,
    ) -> bool {
        let cells = frame_cells(head.len(), bytes.len());
        if !self.has_room(cells) {
            return false;
        }
        let (at, next) = (
            self.ring.at(self.written),
            self.ring.at(self.written + cells),
        );
        let data = self.ring.data();
        // Relaxed for all but the stamp: whoever sees that sees the rest.
        for (word, number) in data[at + 1..].iter().zip(head) {
            word.store(*number, Ordering::Relaxed);
        }
        let stamp = stamp(kind, self.written, bytes.len());
        let (ring, first, length) = (&self.ring, at + 1 + head.len(), bytes.len());
        self.course
            .write(length, |past| ring.copy_in(pieces, bytes, first, past));
        self.written += cells;
        // Nobody else has written there; the receiver sees it before the stamp.
        let left = &data[next];
        if is_stamp(left.load(Ordering::Relaxed), self.written) {
            left.store(0, Ordering::Relaxed);
        }
        self.ring.data()[at].store(stamp, Ordering::Release);
        true
    }

    /// Whether a frame of so many cells fits, and the cell behind it, which the next stamp is for.
    #[inline]
    fn has_room(&mut self, cells: u64) -> bool {
        let most = self.ring.cells() - cells - 1;
        if self.written.wrapping_sub(self.taken) <= most {
            return true;
        }
        // Acquire: what the receiver has read of these cells it has read before this.
        self.taken = self.ring.taken().load(Ordering::Acquire);
        // Another process wrote it: it may say anything.
        self.written.wrapping_sub(self.taken) <= most
    }
}
