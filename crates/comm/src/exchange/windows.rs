//! What other ranks bring for the places that this rank combines. Of each of their rows a window is
//! there, which goes along as the places are combined. So a long reduction needs little room, and
//! what comes is still in the caches when it is used.

use super::PIECE;
use crate::Plain;
use crate::buffer_pool::{BufferPool, PooledBuffer};
use crate::fabric::FOLDED;
use std::ops::Range;

pub(super) struct Windows<T> {
    memory: Option<PooledBuffer<T>>,
    /// The elements of a window.
    each: usize,
}

/// Bytes of a window, at most, if that has room for a block and a piece.
const WINDOW: usize = 256 * 1024;

impl<T: Plain> Windows<T> {
    /// No rows.
    pub(super) fn none() -> Self {
        let (memory, each) = (None, 0);
        Windows { memory, each }
    }

    /// Windows into so many rows of so many elements.
    pub(super) fn new(buffer_pool: &BufferPool, rows: usize, length: usize) -> Self {
        let block = FOLDED * size_of::<T>();
        // Where there is no room for another piece a whole block has come, and can be combined.
        let most = (WINDOW / block).max(1 + PIECE.div_ceil(block)) * FOLDED;
        let each = length.min(most);
        let memory = Some(buffer_pool.room(rows * each));
        Windows { memory, each }
    }

    /// Room in bytes behind the `came` bytes of a row of which so many elements were combined.
    pub(super) fn free(&self, came: usize, combined: usize) -> usize {
        (self.each + combined) * size_of::<T>() - came
    }

    /// Puts bytes behind the `came` bytes of a row. There is room for them.
    pub(super) fn put(&mut self, row: usize, came: usize, piece: &[u8]) {
        let Some(memory) = &mut self.memory else {
            return;
        };
        let row = &mut memory[row * self.each..][..self.each];
        let row: &mut [u8] = bytemuck::cast_slice_mut(row);
        let at = came % row.len();
        let (here, rest) = piece.split_at(piece.len().min(row.len() - at));
        row[at..at + here.len()].copy_from_slice(here);
        row[..rest.len()].copy_from_slice(rest);
    }

    /// How far a range that begins here goes until a window begins anew.
    pub(super) fn whole(&self, begin: usize, end: usize) -> Range<usize> {
        let wraps = match self.each {
            0 => end,
            each => (begin / each + 1) * each,
        };
        begin..end.min(wraps)
    }

    /// These [whole](Windows::whole) elements of a row.
    pub(super) fn row(&self, row: usize, place: Range<usize>) -> &[T] {
        let Some(memory) = &self.memory else {
            return &[];
        };
        &memory[row * self.each + place.start % self.each..][..place.len()]
    }

    /// Gives the memory back.
    pub(super) fn end(&mut self, buffer_pool: &BufferPool) {
        if let Some(memory) = self.memory.take() {
            buffer_pool.keep(memory);
        }
    }
}

#[cfg(all(test, not(motet_loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_long_row_goes_through_its_window() {
        let buffer_pool = BufferPool::default();
        let length = 3 * WINDOW / size_of::<u64>() + 77;
        let numbers: Vec<u64> = (0..length as u64).collect();
        let bytes: &[u8] = bytemuck::cast_slice(&numbers);
        let mut windows = Windows::<u64>::new(&buffer_pool, 2, length);
        let (mut came, mut combined) = (0, 0);
        while combined < length {
            // Pieces of a length that does not go into that of a window, or of an element.
            while came < bytes.len() {
                let piece = &bytes[came..(came + 4099).min(bytes.len())];
                if windows.free(came, combined) < piece.len() {
                    break;
                }
                windows.put(1, came, piece);
                came += piece.len();
            }
            let place = windows.whole(combined, came / size_of::<u64>());
            assert!(!place.is_empty());
            assert_eq!(windows.row(1, place.clone()), &numbers[place.clone()]);
            combined = place.end;
        }
        windows.end(&buffer_pool);
        assert_eq!(buffer_pool.room::<u64>(1).len(), 1);
    }

    /// No more of a row is read where there is no room for a piece.
    fn is_never_full_without_a_block<T: Plain>() {
        let buffer_pool = BufferPool::default();
        let windows = Windows::<T>::new(&buffer_pool, 1, 1 << 20);
        for combined in [0, 3 * FOLDED] {
            let room = windows.free(0, combined);
            let came = room - (PIECE - 1);
            assert!(windows.free(came, combined) < PIECE);
            assert!(came / size_of::<T>() >= combined + FOLDED);
        }
    }

    #[test]
    fn a_row_that_is_read_no_further_has_a_block_to_combine() {
        is_never_full_without_a_block::<u8>();
        is_never_full_without_a_block::<f64>();
        is_never_full_without_a_block::<[u64; 32]>();
        is_never_full_without_a_block::<[[u64; 6]; 6]>();
        is_never_full_without_a_block::<[[u64; 16]; 16]>();
    }
}
