//! Numbers that MPI can reduce, and how.

use super::abi;

/// A number that MPI knows: the integers of 8, 32 and 64 bits and the floats.
pub trait Element: Copy + sealed::Sealed + 'static {}

/// How numbers of several processes become one (`MPI_Op`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reduction {
    /// Their sum.
    Sum,
    /// The least.
    Min,
    /// The largest.
    Max,
    /// Their product.
    Product,
}

impl Reduction {
    pub(super) fn handle(self) -> abi::Op {
        match self {
            Reduction::Sum => 0x21,
            Reduction::Min => 0x22,
            Reduction::Max => 0x23,
            Reduction::Product => 0x24,
        }
    }
}

pub(super) mod sealed {
    /// Types whose bytes MPI may read and write as its own type.
    pub trait Sealed {
        /// The handle of MPI's type.
        const DATATYPE: usize;
    }
}

macro_rules! elements {
    ($($type:ty = $handle:literal,)*) => {
        $(
            impl Element for $type {}
            impl sealed::Sealed for $type {
                const DATATYPE: usize = $handle;
            }
        )*
    };
}

elements! {
    i8 = 0x240,
    u8 = 0x241,
    i32 = 0x250,
    u32 = 0x251,
    i64 = 0x258,
    u64 = 0x259,
    f32 = 0x210,
    f64 = 0x214,
}
