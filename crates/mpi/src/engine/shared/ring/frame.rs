//! What a frame begins with, and how long it is.

use motet_comm::Header;

/// Words of a cell, which is a cache line.
pub(super) const CELL: usize = 8;
/// Bytes of a cell.
pub(super) const LINE: usize = CELL * 8;

/// What a frame is, in the highest byte of its stamp. Below stands the number of its cell, as far
/// as it fits. The lowest bits say how many bytes the frame carries.
pub(super) const WHOLE: u64 = 1;
pub(super) const FIRST: u64 = 2;
pub(super) const REST: u64 = 3;
pub(super) const CLOSE: u64 = 4;
pub(super) const KIND: u32 = 56;
const NUMBER: u32 = 24;

/// The stamp of a frame at this cell.
#[inline]
pub(super) fn stamp(kind: u64, cell: u64, bytes: usize) -> u64 {
    kind << KIND | u64::from(cell as u32) << NUMBER | bytes as u64
}

/// Whether it looks like a stamp of this cell.
#[inline]
pub(super) fn is_stamp(word: u64, cell: u64) -> bool {
    word >> KIND != 0 && (word >> NUMBER) as u32 == cell as u32
}

/// What a stamp says.
pub(super) struct Stamp {
    pub(super) kind: u64,
    pub(super) bytes: usize,
}

impl Stamp {
    #[inline]
    pub(super) fn read(stamp: u64) -> Stamp {
        Stamp {
            kind: stamp >> KIND,
            bytes: (stamp & ((1 << NUMBER) - 1)) as usize,
        }
    }
}

/// The cells of a frame with so many words between its stamp and so many bytes.
#[inline]
pub(super) fn frame_cells(head: usize, bytes: usize) -> u64 {
    ((1 + head) * 8 + bytes).div_ceil(CELL * 8) as u64
}

/// The words of a header behind its context.
#[inline]
pub(super) fn words_of(header: &Header) -> [u64; 2] {
    let one = u64::from(header.source) | u64::from(header.destination) << 32;
    [one, u64::from(header.tag)]
}

/// What is whole by a frame.
pub(super) enum Whole {
    Message(Header),
    Close,
}
