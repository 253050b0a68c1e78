//! Loops with code of their own for few columns.

use super::kernel::{self, PlainLanes};
use super::{Instructions, Isa, NumericLoop, run};

/// A numeric loop over rows of `D` columns, or of any number of them if `D` is 0. For the same rows
/// both give the same bits. Mark `run` and everything it calls `#[inline(always)]`.
pub(crate) trait ColumnLoop {
    /// What the loop gives back.
    type Output;

    /// Runs the loop.
    fn run<I: Isa, const D: usize>(self, isa: I) -> Self::Output;
}

/// Runs a loop over rows of `columns` columns; 0 takes the code for any number of them.
pub(crate) fn run_columns<T: ColumnLoop>(
    instructions: Instructions,
    columns: usize,
    task: T,
) -> T::Output {
    match columns {
        1 => run(instructions, OfColumns::<T, 1>(task)),
        2 => run(instructions, OfColumns::<T, 2>(task)),
        3 => run(instructions, OfColumns::<T, 3>(task)),
        4 => run(instructions, OfColumns::<T, 4>(task)),
        _ => run(instructions, OfColumns::<T, 0>(task)),
    }
}

struct OfColumns<T, const D: usize>(T);

impl<T: ColumnLoop, const D: usize> NumericLoop for OfColumns<T, D> {
    type Output = T::Output;

    #[inline(always)]
    fn run<I: Isa>(self, isa: I) -> T::Output {
        self.0.run::<I, D>(isa)
    }

    fn run_plain(self) -> T::Output {
        match PlainLanes::SPECIAL {
            true => kernel::run_plain(self),
            false => kernel::run_plain(OfColumns::<T, 0>(self.0)),
        }
    }
}
