//! Numbers that C reduces: which types there are, and which operators.

use motet::comm::Plain;

/// How two numbers are combined.
pub(crate) type Combine<T> = fn(T, T) -> T;

/// As `motet_op` in the header.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Op {
    Sum,
    Product,
    Least,
    Greatest,
}

impl Op {
    pub(crate) fn of(number: i32) -> Option<Op> {
        Some(match number {
            0 => Op::Sum,
            1 => Op::Product,
            2 => Op::Least,
            3 => Op::Greatest,
            _ => return None,
        })
    }
}

/// A type of number that C reduces.
pub(crate) trait ReducedNumber: Plain + Default {
    /// How numbers are combined; those of lower ranks come first.
    fn combine(op: Op) -> Combine<Self>;
}

macro_rules! integer {
    ($($t:ty)*) => {$(
        impl ReducedNumber for $t {
            fn combine(op: Op) -> Combine<$t> {
                match op {
                    Op::Sum => <$t>::wrapping_add,
                    Op::Product => <$t>::wrapping_mul,
                    Op::Least => Ord::min,
                    Op::Greatest => Ord::max,
                }
            }
        }
    )*};
}

integer!(i32 i64);

impl ReducedNumber for f64 {
    /// One that is not a number stays so.
    fn combine(op: Op) -> Combine<f64> {
        match op {
            Op::Sum => |a, b| a + b,
            Op::Product => |a, b| a * b,
            Op::Least => |a, b| if b < a || b.is_nan() { b } else { a },
            Op::Greatest => |a, b| if b > a || b.is_nan() { b } else { a },
        }
    }
}
