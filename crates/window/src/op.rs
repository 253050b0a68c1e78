//! Operations that are carried out where the window is.

use motet_comm::Plain;

/// What an accumulate does with what is there and what is brought (MPI-3.1, 11.3.4).
///
/// A closure cannot go to another process; these can.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Op {
    /// `there + brought`; of integers modulo their size (MPI_SUM).
    Sum,
    /// `there * brought`; of integers modulo their size (MPI_PROD).
    Product,
    /// The smaller one; of a number and a NaN the number (MPI_MIN).
    Min,
    /// The larger one; of a number and a NaN the number (MPI_MAX).
    Max,
    /// The bits that both have (MPI_BAND); integers only.
    And,
    /// The bits that one has (MPI_BOR); integers only.
    Or,
    /// The bits that just one has (MPI_BXOR); integers only.
    Xor,
    /// What is brought (MPI_REPLACE).
    Replace,
    /// What is there (MPI_NO_OP): with a fetch, an atomic look.
    Keep,
}

/// A number that windows can combine: integers of 8 to 64 bits, `usize`, `isize`, `f32` and `f64`.
pub trait Number: Plain + sealed::Sealed {
    /// Combines what is there with what is brought; `None` if numbers of this type do not have the
    /// operation.
    fn combined(op: Op, there: Self, brought: Self) -> Option<Self>;

    #[doc(hidden)]
    const KIND: u8;
}

mod sealed {
    pub trait Sealed {}
}

const ALL: [Op; 9] = [
    Op::Sum,
    Op::Product,
    Op::Min,
    Op::Max,
    Op::And,
    Op::Or,
    Op::Xor,
    Op::Replace,
    Op::Keep,
];

impl Op {
    /// The operation with this number.
    pub(crate) fn of(number: u8) -> Option<Op> {
        ALL.into_iter().find(|op| *op as u8 == number)
    }
}

macro_rules! numbers {
    ($($number:ty: $kind:literal, $family:ident;)*) => {
        $(
            impl sealed::Sealed for $number {}

            impl Number for $number {
                const KIND: u8 = $kind;

                #[inline]
                fn combined(op: Op, there: Self, brought: Self) -> Option<Self> {
                    $family!(op, there, brought)
                }
            }
        )*

        /// Combines numbers of this kind, where they lie, with those of `brought`, and gives them
        /// to `seen` before. `None` if they are not of this kind, or do not have the operation.
        pub(crate) fn combine_bytes(
            kind: u8,
            op: Op,
            there: &mut [u8],
            brought: &[u8],
        ) -> Option<()> {
            match kind {
                $($kind => combine_as::<$number>(op, there, brought),)*
                _ => None,
            }
        }
    };
}

macro_rules! integer {
    ($op:ident, $a:ident, $b:ident) => {
        Some(match $op {
            Op::Sum => $a.wrapping_add($b),
            Op::Product => $a.wrapping_mul($b),
            Op::Min => $a.min($b),
            Op::Max => $a.max($b),
            Op::And => $a & $b,
            Op::Or => $a | $b,
            Op::Xor => $a ^ $b,
            Op::Replace => $b,
            Op::Keep => $a,
        })
    };
}

macro_rules! real {
    ($op:ident, $a:ident, $b:ident) => {
        match $op {
            Op::Sum => Some($a + $b),
            Op::Product => Some($a * $b),
            Op::Min => Some($a.min($b)),
            Op::Max => Some($a.max($b)),
            Op::And | Op::Or | Op::Xor => None,
            Op::Replace => Some($b),
            Op::Keep => Some($a),
        }
    };
}

numbers! {
    i8: 1, integer;
    i16: 2, integer;
    i32: 3, integer;
    i64: 4, integer;
    isize: 5, integer;
    u8: 6, integer;
    u16: 7, integer;
    u32: 8, integer;
    u64: 9, integer;
    usize: 10, integer;
    f32: 11, real;
    f64: 12, real;
}

fn combine_as<N: Number>(op: Op, there: &mut [u8], brought: &[u8]) -> Option<()> {
    let there = bytemuck::try_cast_slice_mut::<u8, N>(there).ok()?;
    let brought = brought.chunks_exact(size_of::<N>());
    for (there, brought) in there.iter_mut().zip(brought) {
        *there = N::combined(op, *there, bytemuck::pod_read_unaligned(brought))?;
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_have_numbers_and_numbers_have_operations() {
        assert!(ALL.into_iter().all(|op| Op::of(op as u8) == Some(op)));
        assert_eq!(Op::of(9), None);
        let of = |op| i32::combined(op, 12, 10);
        let all = ALL.map(of).map(Option::unwrap);
        assert_eq!(all, [22, 120, 10, 12, 8, 14, 6, 10, 12]);
        assert_eq!(u8::combined(Op::Sum, 255, 2), Some(1));
        assert_eq!(f64::combined(Op::Max, f64::NAN, 2.0), Some(2.0));
        let of_reals = ALL.map(|op| f64::combined(op, 1.0, 2.0).is_some());
        assert_eq!(of_reals[4..7], [false; 3]);
        assert_eq!(of_reals.iter().filter(|has| **has).count(), 6);
    }

    #[test]
    fn bytes_are_combined_as_numbers_of_their_kind() {
        let (mut there, brought) = ([1.5, 2.5], [0.5, 0.25]);
        let mut bytes = vec![0];
        bytes.extend_from_slice(bytemuck::cast_slice::<f64, u8>(&brought));
        let room = bytemuck::cast_slice_mut(&mut there);
        combine_bytes(f64::KIND, Op::Sum, room, &bytes[1..]).unwrap();
        assert_eq!(combine_bytes(f64::KIND, Op::And, room, &bytes[1..]), None);
        assert_eq!(combine_bytes(0, Op::Sum, room, &bytes[1..]), None);
        assert_eq!(there, [2.0, 2.75]);
    }
}
