//! Messages from one process to another in a ring of memory that both see.
//!
//! ```text
//!  │ taken │ cell │ cell │ cell │ …            a cell is a cache line; a frame is one or more
//!             └ stamp │ context │ source, destination │ tag │ payload …
//! ```
//!
//! The sender writes a frame behind the last one, and its stamp at the end. The receiver looks at
//! the stamp of the next frame and at nothing else while there is none. So a short message is one
//! cache line from core to core, and waiting for one costs nothing. A stamp has the number of its
//! cell since the beginning. What an earlier lap has left in the place of the next one seldom looks
//! like it. The sender, in whose cache it still is, looks, and clears it if it does. So the cell
//! behind a frame does not change until its own time, and the receiver's look at it goes to no
//! other core's cache. `taken` says how many cells the receiver is done with; the sender asks for
//! it when the ring seems full.
//!
//! Stamps, headers and counts are read and written as atomic words. Payloads are copied as bytes,
//! which the stamp hands over: a process that misbehaves can send nonsense, and nothing worse.

mod cells;
mod course;
mod frame;
#[cfg(all(test, motet_loom))]
mod models;
mod sender;
#[cfg(all(test, not(motet_loom)))]
mod tests;

use cells::Ring;
use course::Course;
use frame::{CELL, CLOSE, FIRST, LINE, REST, Stamp, WHOLE, Whole, frame_cells, is_stamp};
use motet_comm::Header;
use motet_sync::atomic::{AtomicU64, Ordering};
use std::mem;
use std::ops::Range;
use std::sync::Arc;

/// Memory that two processes see, as words of eight bytes; at first they are 0.
pub(super) trait Memory {
    fn words(&self) -> &[AtomicU64];
}

/// The end that sends.
pub(super) struct RingSender<M> {
    ring: Ring<M>,
    /// Cells written since the beginning.
    written: u64,
    /// Cells that the receiver was done with when it was last asked.
    taken: u64,
    course: Course,
}

/// The end that receives.
pub(super) struct RingReceiver<M> {
    ring: Ring<M>,
    /// Cells read since the beginning.
    read: u64,
    /// A message whose frames have not all come.
    begun: Option<Begun>,
    /// What came last; its memory is used again.
    payload: Vec<u8>,
    /// For blocks that are read one after the other.
    block: Vec<u8>,
    /// Frames that were read and have ended no message.
    parts: usize,
    broken: bool,
}

/// What comes out of a ring.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::engine) enum RingOutput<'a> {
    /// The payload may be taken away.
    Message(Header, &'a mut Vec<u8>),
    /// The sender will send nothing more.
    Close,
    /// A stamp that is none, or not one that can come now. Nothing more comes.
    Nonsense,
}

struct Begun {
    header: Header,
    total: usize,
    payload: Vec<u8>,
}

/// At most so many bytes of a message in a frame: the receiver copies one while the sender copies
/// the next.
const PIECE: usize = 8 * 1024;

/// At most so many in a message cut from a vector. All that have room are written before any is
/// read, and each costs both ends its locks.
const CUT: usize = 32 * 1024;

/// Blocks in which a frame is read: one is used while it is in the nearest cache, with what it is
/// combined with.
const BLOCK: usize = 64 * LINE;

/// A receiver keeps so many bytes of memory for further short messages.
const KEPT: usize = CUT;

/// The words that a ring of `cells` takes.
pub(super) const fn ring_words(cells: usize) -> usize {
    (cells + 1) * CELL
}

impl<M: Memory> RingReceiver<M> {
    /// The receiver of the ring at these words of the memory; there is no other.
    pub(super) fn new(memory: Arc<M>, place: Range<usize>) -> Self {
        RingReceiver {
            ring: Ring::new(memory, place),
            read: 0,
            begun: None,
            payload: Vec::new(),
            block: Vec::with_capacity(BLOCK),
            parts: 0,
            broken: false,
        }
    }

    /// So many parts of long messages have been taken in since the last call, not counting last
    /// parts.
    #[inline]
    pub(super) fn parts(&mut self) -> usize {
        mem::take(&mut self.parts)
    }

    /// Whether a frame has come.
    pub(super) fn has_any(&self) -> bool {
        let at = self.ring.at(self.read);
        // Relaxed: it is taken by another look.
        let stamp = self.ring.data()[at].load(Ordering::Relaxed);
        is_stamp(stamp, self.read) && !self.broken
    }

    /// Whether a frame has come with so many bytes or more.
    #[inline]
    pub(super) fn is_next_of(&self, bytes: usize) -> bool {
        // Relaxed: as above.
        let stamp = self.ring.data()[self.ring.at(self.read)].load(Ordering::Relaxed);
        is_stamp(stamp, self.read) && Stamp::read(stamp).bytes >= bytes
    }

    /// The header of what has come next, if it is a message of one frame.
    #[inline]
    pub(super) fn next_header(&self) -> Option<Header> {
        let at = self.ring.at(self.read);
        // Acquire: the frame was written before its stamp.
        let stamp = self.ring.data()[at].load(Ordering::Acquire);
        let Stamp { kind, bytes } = Stamp::read(stamp);
        // What is nonsense is left to nobody: `next` tells of it.
        let is_fine = bytes <= self.ring.cut() && self.begun.is_none() && !self.broken;
        let is_it = is_stamp(stamp, self.read) && kind == WHOLE;
        (is_it && is_fine).then(|| self.ring.header(at))
    }

    /// Reads what has come next block by block where it lies, if it is a message of one frame with
    /// this header. `read` is told how many bytes follow. Whether it is, and is then gone.
    pub(super) fn read_next(
        &mut self,
        header: &Header,
        mut read: impl FnMut(&[u8], usize),
    ) -> bool {
        let at = self.ring.at(self.read);
        // Acquire: the frame was written before its stamp.
        let stamp = self.ring.data()[at].load(Ordering::Acquire);
        if !is_stamp(stamp, self.read) || self.broken || self.begun.is_some() {
            return false;
        }
        let Stamp { kind, bytes } = Stamp::read(stamp);
        // What is nonsense is told by `next`.
        if kind != WHOLE || bytes > self.ring.cut() || self.ring.header(at) != *header {
            return false;
        }
        let (mut word, mut rest) = (at + 4, bytes);
        while rest > 0 {
            let block = rest.min(BLOCK);
            self.block.clear();
            self.ring.copy_out(word, block, &mut self.block);
            rest -= block;
            read(&self.block, rest);
            word += BLOCK / 8;
            if word >= self.ring.data().len() {
                word -= self.ring.data().len();
            }
        }
        self.end_frame(frame_cells(3, bytes));
        true
    }

    /// The next frame, of so many cells, has been read.
    #[inline]
    fn end_frame(&mut self, cells: u64) {
        self.read += cells;
        // Release: the cells have been read.
        self.ring.taken().store(self.read, Ordering::Release);
    }

    /// What has come next, if all of it has.
    #[inline]
    pub(super) fn next(&mut self) -> Option<RingOutput<'_>> {
        let whole = loop {
            let at = self.ring.at(self.read);
            // Acquire: the frame was written before its stamp.
            let stamp = self.ring.data()[at].load(Ordering::Acquire);
            if !is_stamp(stamp, self.read) || self.broken {
                return None;
            }
            match self.take_frame(at, stamp) {
                Ok(Some(whole)) => break whole,
                Ok(None) => self.parts += 1,
                Err(Nonsense) => {
                    self.broken = true;
                    return Some(RingOutput::Nonsense);
                }
            }
        };
        Some(match whole {
            Whole::Message(header) => RingOutput::Message(header, &mut self.payload),
            Whole::Close => RingOutput::Close,
        })
    }

    /// Takes the frame with this stamp; what is whole by it. A message's payload is then in its
    /// place.
    fn take_frame(&mut self, at: usize, stamp: u64) -> Result<Option<Whole>, Nonsense> {
        let Stamp { kind, bytes } = Stamp::read(stamp);
        let head = match kind {
            WHOLE => 3,
            FIRST => 4,
            REST | CLOSE => 0,
            _ => return Err(Nonsense),
        };
        if bytes > self.ring.cut() || (kind == REST) != self.begun.is_some() {
            return Err(Nonsense);
        }
        let came = match kind {
            CLOSE => Some(Whole::Close),
            WHOLE => {
                let mut payload = mem::take(&mut self.payload);
                payload.clear();
                payload.shrink_to(KEPT);
                self.ring.copy_out(at + 1 + head, bytes, &mut payload);
                self.payload = payload;
                Some(Whole::Message(self.ring.header(at)))
            }
            _ => self.take_piece(kind, at, bytes)?,
        };
        self.end_frame(frame_cells(head, bytes));
        Ok(came)
    }

    /// Takes a piece of a long message, which may be its last.
    fn take_piece(
        &mut self,
        kind: u64,
        at: usize,
        bytes: usize,
    ) -> Result<Option<Whole>, Nonsense> {
        let begun = match self.begun.take().filter(|_| kind == REST) {
            Some(begun) => begun,
            None => {
                let total = self.ring.data()[at + 4].load(Ordering::Relaxed);
                let total = usize::try_from(total).map_err(|_| Nonsense)?;
                let mut payload = mem::take(&mut self.payload);
                payload.clear();
                payload.try_reserve_exact(total).map_err(|_| Nonsense)?;
                Begun {
                    header: self.ring.header(at),
                    total,
                    payload,
                }
            }
        };
        let Begun {
            header,
            total,
            mut payload,
        } = begun;
        let head = if kind == FIRST { 4 } else { 0 };
        if bytes == 0 || payload.len() + bytes > total {
            return Err(Nonsense);
        }
        self.ring.copy_out(at + 1 + head, bytes, &mut payload);
        if payload.len() == total {
            self.payload = payload;
            return Ok(Some(Whole::Message(header)));
        }
        self.begun = Some(Begun {
            header,
            total,
            payload,
        });
        Ok(None)
    }
}

/// A frame that the sender cannot have written, or not now.
struct Nonsense;
