//! Plain numbers: what slices of may be sent and received in place.

use crate::Value;

/// A plain number. Slices of them are copied straight into the receiver's memory.
///
/// The trait is sealed: what a plain number is depends on nothing that a program could get wrong.
pub trait Plain: Copy + Value + Sync + sealed::Sealed {}

mod sealed {
    /// Any bytes are one, and it has no others.
    pub trait Sealed: bytemuck::Pod {}
}

macro_rules! plain {
    ($($number:ty)*) => {
        $(
            impl sealed::Sealed for $number {}
            impl Plain for $number {}
        )*
    };
}

plain!(u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize f32 f64);
