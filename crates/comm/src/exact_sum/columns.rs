//! Exact sums of many columns of numbers at once.

use super::{ExactSum, Real};

/// Adds up columns: `totals[i]` becomes the exact sum of `rows[r][i]` over `r`, rounded once.
///
/// Most columns need no accumulator: the rounding error of each addition is known exactly, and the errors are
/// added up; if what is left out of that cannot change the rounding, the result is right. (Ogita, Rump and
/// Oishi, Accurate sum and dot product, 2005; the check is theirs in spirit.)
pub(crate) fn add_columns<T: Real>(rows: &[impl AsRef<[T]>], totals: &mut [T]) {
    #[cfg(target_arch = "x86_64")]
    {
        if std::arch::is_x86_feature_detected!("avx512f") {
            // SAFETY: the processor has these instructions.
            return unsafe { wide::add_columns_avx512(rows, totals) };
        }
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has these instructions.
            return unsafe { wide::add_columns_avx2(rows, totals) };
        }
    }
    add_blocks(rows, totals);
}

/// The same code for processors that add several numbers at once.
#[cfg(target_arch = "x86_64")]
mod wide {
    use super::{Real, add_blocks};

    #[target_feature(enable = "avx512f")]
    pub(super) fn add_columns_avx512<T: Real>(rows: &[impl AsRef<[T]>], totals: &mut [T]) {
        add_blocks(rows, totals);
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn add_columns_avx2<T: Real>(rows: &[impl AsRef<[T]>], totals: &mut [T]) {
        add_blocks(rows, totals);
    }
}

/// Columns that are added up at a time: what is known of them stays in the nearest cache.
const BLOCK: usize = 128;

#[inline(always)]
fn add_blocks<T: Real>(rows: &[impl AsRef<[T]>], totals: &mut [T]) {
    for (block, totals) in totals.chunks_mut(BLOCK).enumerate() {
        let range = block * BLOCK..block * BLOCK + totals.len();
        if let [one, other] = rows {
            let (one, other) = (one.as_ref(), other.as_ref());
            // The sum of two numbers is rounded once anyway.
            for (total, (one, other)) in totals
                .iter_mut()
                .zip(one[range.clone()].iter().zip(&other[range]))
            {
                *total = T::sum_of_two(*one, *other);
            }
            continue;
        }
        let uncertain = add_block(rows, range.start, totals);
        if uncertain {
            settle(rows, range.start, totals);
        }
    }
}

/// Adds up some columns; whether the rounding of one is not certain.
#[inline(always)]
fn add_block<T: Real>(rows: &[impl AsRef<[T]>], begin: usize, totals: &mut [T]) -> bool {
    let (mut sums, mut errors, mut sizes) = ([0.0; BLOCK], [0.0; BLOCK], [0.0; BLOCK]);
    let length = totals.len();
    for row in rows {
        let row = &row.as_ref()[begin..begin + length];
        for i in 0..length {
            let (sum, number) = (sums[i], row[i].widened());
            let next: f64 = sum + number;
            let part = next - sum;
            errors[i] += (sum - (next - part)) + (number - part);
            sizes[i] += number.abs();
            sums[i] = next;
        }
    }
    let loss = loss(rows.len());
    let mut all_certain = true;
    for i in 0..length {
        let (near, certain) = nearest(sums[i], errors[i], loss * sizes[i]);
        totals[i] = T::narrowed(near);
        all_certain &= certain & T::is_certain(near);
    }
    !all_certain
}

/// Adds up again, by accumulators, those columns whose rounding is not certain.
#[cold]
fn settle<T: Real>(rows: &[impl AsRef<[T]>], begin: usize, totals: &mut [T]) {
    let loss = loss(rows.len());
    for (i, total) in totals.iter_mut().enumerate() {
        let (mut sum, mut error, mut size) = (0.0, 0.0, 0.0);
        for row in rows {
            let number = row.as_ref()[begin + i].widened();
            let next: f64 = sum + number;
            let part = next - sum;
            error += (sum - (next - part)) + (number - part);
            size += f64::abs(number);
            sum = next;
        }
        let (near, certain) = nearest(sum, error, loss * size);
        if !(certain && T::is_certain(near)) {
            *total = ExactSum::of(rows.iter().map(|row| row.as_ref()[begin + i])).rounded();
        }
    }
}

/// Twice a bound of what the sum of the errors of so many additions has lost, relative to the sum of the
/// sizes.
fn loss(rows: usize) -> f64 {
    let count = rows as f64 + 1.0;
    4.0 * count * count * f64::EPSILON * f64::EPSILON
}

/// `sum + error` rounded; and whether every number within `slack` of it would be rounded to the same.
#[inline(always)]
fn nearest(sum: f64, error: f64, slack: f64) -> (f64, bool) {
    let near = sum + error;
    let part = near - sum;
    let rest = (sum - (near - part)) + (error - part);
    // Both are false where there is a NaN. An exact zero is positive.
    let certain = (near + (rest + slack) == near) & (near + (rest - slack) == near);
    (near + 0.0, certain)
}
