//! The cells of a ring, as both of its ends see them.

use super::super::bytes::{copy_in, copy_out};
use super::frame::CELL;
use super::{CUT, Memory, PIECE};
use motet_comm::Header;
use motet_sync::atomic::{AtomicU64, Ordering};
use std::ops::Range;
use std::sync::Arc;

pub(super) struct Ring<M> {
    memory: Arc<M>,
    /// Its words in the memory.
    place: Range<usize>,
}

impl<M: Memory> Ring<M> {
    pub(super) fn new(memory: Arc<M>, place: Range<usize>) -> Self {
        let ring = Ring { memory, place };
        assert!(ring.cells().is_power_of_two() && ring.cells() >= 4);
        ring
    }

    #[inline]
    pub(super) fn cells(&self) -> u64 {
        (self.place.len() / CELL - 1) as u64
    }

    /// At most so many bytes of a message stand in a frame: a ring has room for several.
    #[inline]
    pub(super) fn piece(&self) -> usize {
        PIECE.min(self.cut())
    }

    /// At most so many bytes stand in a frame.
    #[inline]
    pub(super) fn cut(&self) -> usize {
        CUT.min(self.place.len() * 8 / 4)
    }

    #[inline]
    pub(super) fn taken(&self) -> &AtomicU64 {
        &self.memory.words()[self.place.start]
    }

    /// The words of all cells.
    #[inline]
    pub(super) fn data(&self) -> &[AtomicU64] {
        &self.memory.words()[self.place.start + CELL..self.place.end]
    }

    /// The first word of the cell with this number since the beginning.
    #[inline]
    pub(super) fn at(&self, cell: u64) -> usize {
        (cell & (self.cells() - 1)) as usize * CELL
    }

    /// The header of the frame whose stamp is at this word.
    #[inline]
    pub(super) fn header(&self, at: usize) -> Header {
        let [context, one, two] =
            [1, 2, 3].map(|word| self.data()[at + word].load(Ordering::Relaxed));
        Header {
            context,
            source: one as u32,
            destination: (one >> 32) as u32,
            tag: two as u32,
        }
    }

    /// Writes these of the pieces' bytes from this word on, round the end; `past` the caches or
    /// through them.
    #[inline]
    pub(super) fn copy_in(&self, pieces: &[&[u8]], bytes: Range<usize>, begin: usize, past: bool) {
        let (data, mut at, mut before) = (self.data(), begin * 8, 0);
        let end = size_of_val(data);
        for piece in pieces {
            let within = |at: usize| at.saturating_sub(before).min(piece.len());
            let mut rest = &piece[within(bytes.start)..within(bytes.end)];
            before += piece.len();
            while !rest.is_empty() {
                let (near, far) = rest.split_at(rest.len().min(end - at));
                copy_in(near, data, at, past);
                at += near.len();
                if at == end {
                    at = 0;
                }
                rest = far;
            }
        }
    }

    /// Appends so many bytes from this word on, round the end.
    #[inline]
    pub(super) fn copy_out(&self, begin: usize, bytes: usize, to: &mut Vec<u8>) {
        let data = self.data();
        let near = bytes.min((data.len() - begin) * 8);
        to.reserve(bytes);
        copy_out(&data[begin..], near, to);
        if near < bytes {
            copy_out(data, bytes - near, to);
        }
    }
}
