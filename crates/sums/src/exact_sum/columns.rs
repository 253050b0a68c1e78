//! Exact sums of many columns of numbers at once.
//!
//! Most columns need no accumulator: the rounding error of each addition is a number, and the
//! errors are added up beside the sum. What is rounded away from them is a number too. If there is
//! none, sum and error are the exact sum. Otherwise its size says how far from it they may be.
//! (Ogita, Rump and Oishi, Accurate sum and dot product, 2005; the check is theirs in spirit.)
//! Often there are no errors at all, as of whole numbers: that is tried first.

use super::lanes::{LANES, lanes, lay, part, two_sum};
use super::{ExactSum, Real};
use smallvec::SmallVec;

/// Adds up columns: `totals[i]` becomes the exact sum of `rows[r][i]` over `r`, rounded once.
///
/// # Panics
/// If a row has fewer numbers than there are totals.
///
/// ```
/// let mut totals = [0.0; 2];
/// motet_sums::add_columns(&[[1e100, 1.0], [1.0, 2.0], [-1e100, 3.0]], &mut totals);
/// assert_eq!(totals, [1.0, 6.0]);
/// ```
pub fn add_columns<T: Real>(rows: &[impl AsRef<[T]>], totals: &mut [T]) {
    if let [one, other] = rows {
        // The sum of two numbers is rounded once anyway.
        let columns = totals.len();
        let (one, other) = (&one.as_ref()[..columns], &other.as_ref()[..columns]);
        let pairs = one.iter().zip(other);
        for (total, (one, other)) in totals.iter_mut().zip(pairs) {
            *total = T::sum_of_two(*one, *other);
        }
        return;
    }
    let rows: SmallVec<[&[T]; 8]> = rows.iter().map(AsRef::as_ref).collect();
    let mut sums = ColumnSums::default();
    sums.add_up(&rows, totals.len());
    for column in sums.round(None, totals) {
        let numbers = rows.iter().map(|row| row[column]);
        totals[column] = ExactSum::of(numbers).rounded();
    }
}

/// What rows add up to, column by column: a sum, its error, and how much is missing at most.
#[derive(Debug, Clone, Default)]
pub struct ColumnSums {
    sums: Vec<f64>,
    /// Empty where they are all zero.
    errors: Vec<f64>,
    /// Empty where nothing is missing.
    missing: Vec<f64>,
}

impl ColumnSums {
    /// Becomes what so many columns of these rows add up to.
    ///
    /// # Panics
    /// If a row has fewer numbers.
    pub fn add_up<T: Real>(&mut self, rows: &[&[T]], columns: usize) {
        let shortest = rows.iter().map(|row| row.len()).min().unwrap_or(columns);
        assert!(
            shortest >= columns,
            "a row has {shortest} numbers, and {columns} columns are added up"
        );
        if rows.is_empty() {
            // Nobody writes what is left of other rows.
            self.sums.clear();
        }
        self.sums.resize(columns, 0.0);
        self.errors.clear();
        self.missing.clear();
        let errors_from = widely(Exactly {
            rows,
            sums: &mut self.sums,
        });
        if errors_from == columns {
            return;
        }
        self.errors.resize(columns, 0.0);
        self.missing.resize(columns, 0.0);
        let is_missing = widely(WithErrors {
            rows,
            begin: errors_from,
            sums: self,
        });
        if !is_missing {
            self.missing.clear();
        }
    }

    /// Becomes a copy of the other.
    pub fn copy(&mut self, other: &ColumnSums) {
        self.sums.clone_from(&other.sums);
        self.errors.clone_from(&other.errors);
        self.missing.clone_from(&other.missing);
    }

    /// Rounds what these and the others add up to. The columns whose rounding is not certain.
    pub fn round<T: Real>(&self, other: Option<&ColumnSums>, totals: &mut [T]) -> Vec<usize> {
        let nothing = ColumnSums::default();
        let other = other.unwrap_or(&nothing);
        widely(Round {
            one: self,
            other,
            totals,
        })
    }
}

/// Work that processors do for several numbers at once.
trait Work {
    type Outcome;
    fn done(self) -> Self::Outcome;
}

/// Does the work with the widest instructions there are.
fn widely<W: Work>(work: W) -> W::Outcome {
    #[cfg(target_arch = "x86_64")]
    {
        if std::arch::is_x86_feature_detected!("avx512f") {
            // SAFETY: the processor has these instructions.
            return unsafe { wide::done_with_avx512(work) };
        }
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has these instructions.
            return unsafe { wide::done_with_avx2(work) };
        }
    }
    work.done()
}

/// The same code for processors that add several numbers at once.
#[cfg(target_arch = "x86_64")]
mod wide {
    use super::Work;

    #[target_feature(enable = "avx512f")]
    pub(super) fn done_with_avx512<W: Work>(work: W) -> W::Outcome {
        work.done()
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn done_with_avx2<W: Work>(work: W) -> W::Outcome {
        work.done()
    }
}

/// Adds up rows as long as there are no errors. From which column on there are.
struct Exactly<'a, T> {
    rows: &'a [&'a [T]],
    sums: &'a mut [f64],
}

/// Columns after which it looks for errors.
const BLOCK: usize = 8 * LANES;

impl<T: Real> Work for Exactly<'_, T> {
    type Outcome = usize;

    #[inline(always)]
    fn done(mut self) -> usize {
        let all = self.sums.len();
        let mut errors = [0; LANES];
        for begin in (0..all / LANES * LANES).step_by(LANES) {
            if begin.is_multiple_of(BLOCK) && errors != [0; LANES] {
                return begin - BLOCK;
            }
            self.add::<true>(begin, &mut errors);
        }
        let tail = all / LANES * LANES;
        if tail.is_multiple_of(BLOCK) && errors != [0; LANES] {
            return tail - BLOCK;
        }
        if tail < all {
            self.add::<false>(tail, &mut errors);
        }
        if errors == [0; LANES] {
            return all;
        }
        (all - 1) / BLOCK * BLOCK
    }
}

impl<T: Real> Exactly<'_, T> {
    #[inline(always)]
    fn add<const ALL: bool>(&mut self, begin: usize, errors: &mut [u64; LANES]) {
        let Some((first, rows)) = self.rows.split_first() else {
            return;
        };
        let mut sum = lanes::<T, ALL>(first, begin);
        for row in rows {
            let row = lanes::<T, ALL>(row, begin);
            for i in 0..LANES {
                let (next, error) = two_sum(sum[i], row[i]);
                sum[i] = next;
                errors[i] |= error.abs().to_bits();
            }
        }
        lay::<f64, ALL>(&sum, &mut self.sums[begin..]);
    }
}

/// Adds up rows from a column on. Whether anything is missing.
struct WithErrors<'a, T> {
    rows: &'a [&'a [T]],
    begin: usize,
    sums: &'a mut ColumnSums,
}

impl<T: Real> Work for WithErrors<'_, T> {
    type Outcome = bool;

    #[inline(always)]
    fn done(mut self) -> bool {
        let all = self.sums.sums.len();
        let tail = all / LANES * LANES;
        let mut any_missing = [0; LANES];
        for begin in (self.begin..tail).step_by(LANES) {
            self.add::<true>(begin, &mut any_missing);
        }
        if tail < all {
            self.add::<false>(tail, &mut any_missing);
        }
        any_missing != [0; LANES]
    }
}

impl<T: Real> WithErrors<'_, T> {
    #[inline(always)]
    fn add<const ALL: bool>(&mut self, begin: usize, any_missing: &mut [u64; LANES]) {
        let Some((first, rows)) = self.rows.split_first() else {
            return;
        };
        let mut sum = lanes::<T, ALL>(first, begin);
        let (mut error, mut missing) = ([0.0; LANES], [0.0; LANES]);
        for row in rows {
            let row = lanes::<T, ALL>(row, begin);
            for i in 0..LANES {
                let (next, lost) = two_sum(sum[i], row[i]);
                let (next_error, lost) = two_sum(error[i], lost);
                sum[i] = next;
                error[i] = next_error;
                missing[i] += lost.abs();
            }
        }
        for i in 0..LANES {
            any_missing[i] |= missing[i].to_bits();
        }
        lay::<f64, ALL>(&sum, &mut self.sums.sums[begin..]);
        lay::<f64, ALL>(&error, &mut self.sums.errors[begin..]);
        lay::<f64, ALL>(&missing, &mut self.sums.missing[begin..]);
    }
}

/// Rounds what one and the other add up to. The columns whose rounding is not certain, if there are
/// any.
struct Round<'a, T> {
    one: &'a ColumnSums,
    other: &'a ColumnSums,
    totals: &'a mut [T],
}

impl<T: Real> Work for Round<'_, T> {
    type Outcome = Vec<usize>;

    #[inline(always)]
    fn done(mut self) -> Vec<usize> {
        let all = self.totals.len();
        let tail = all / LANES * LANES;
        let mut uncertain = Vec::new();
        // The sum of two numbers is rounded once anyway.
        if T::IS_F64 && self.one.errors.is_empty() && self.other.errors.is_empty() {
            for begin in (0..tail).step_by(LANES) {
                self.sum::<true>(begin);
            }
            if tail < all {
                self.sum::<false>(tail);
            }
            return uncertain;
        }
        for begin in (0..tail).step_by(LANES) {
            self.round::<true>(begin, &mut uncertain);
        }
        if tail < all {
            self.round::<false>(tail, &mut uncertain);
        }
        uncertain
    }
}

impl<T: Real> Round<'_, T> {
    #[inline(always)]
    fn sum<const ALL: bool>(&mut self, begin: usize) {
        let mut total = part::<ALL>(&self.one.sums, begin);
        let others = part::<ALL>(&self.other.sums, begin);
        for i in 0..LANES {
            // An exact zero is positive.
            total[i] += others[i] + 0.0;
        }
        lay::<T, ALL>(&total, &mut self.totals[begin..]);
    }

    #[inline(always)]
    fn round<const ALL: bool>(&mut self, begin: usize, uncertain: &mut Vec<usize>) {
        let (one, other) = (self.one, self.other);
        let (mut sum, sums) = (
            part::<ALL>(&one.sums, begin),
            part::<ALL>(&other.sums, begin),
        );
        let (mut error, errors) = (
            part::<ALL>(&one.errors, begin),
            part::<ALL>(&other.errors, begin),
        );
        let mut missing = part::<ALL>(&one.missing, begin);
        let others_missing = part::<ALL>(&other.missing, begin);
        let mut any_missing = 0;
        for i in 0..LANES {
            let (next, lost) = two_sum(sum[i], sums[i]);
            let (both_errors, first) = two_sum(error[i], errors[i]);
            let (all_errors, second) = two_sum(both_errors, lost);
            sum[i] = next;
            error[i] = all_errors;
            missing[i] += others_missing[i] + (first.abs() + second.abs());
            any_missing |= missing[i].to_bits();
        }
        if !T::IS_F64 || any_missing != 0 {
            let mut are_certain = [false; LANES];
            let mut near = [0.0; LANES];
            for i in 0..LANES {
                (near[i], are_certain[i]) = nearest::<T>(sum[i], error[i], missing[i]);
            }
            lay::<T, ALL>(&near, &mut self.totals[begin..]);
            if are_certain != [true; LANES] {
                let columns = begin..self.totals.len();
                let columns = columns.zip(are_certain);
                uncertain.extend(columns.filter_map(|(column, sure)| (!sure).then_some(column)));
            }
            return;
        }
        for i in 0..LANES {
            sum[i] += error[i];
            sum[i] += 0.0;
        }
        lay::<T, ALL>(&sum, &mut self.totals[begin..]);
    }
}

/// `sum + error` rounded to an `f64`; and whether all numbers that lie so far from it are rounded
/// to the same `T`.
#[inline(always)]
fn nearest<T: Real>(sum: f64, error: f64, missing: f64) -> (f64, bool) {
    let (near, rest) = two_sum(sum, error);
    // Twice what is missing, because that was rounded itself, and more than the rounding of
    // `rest + slack` takes.
    let slack = 2.0 * missing + rest.abs() * (8.0 * f64::EPSILON);
    let slack = if missing == 0.0 { 0.0 } else { slack };
    // Both are false where there is a NaN. An exact zero is positive.
    let stays = (near + (rest + slack) == near) & (near + (rest - slack) == near);
    let is_exact = (rest == 0.0) & (slack == 0.0);
    (near + 0.0, stays & (is_exact | T::is_certain(near)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Both ways of adding up, in one piece and in two.
    fn check<T: Real>(rows: &[Vec<T>], cut: usize, bits: impl Fn(T) -> u64) -> usize {
        let columns = rows[0].len();
        let slices: Vec<&[T]> = rows.iter().map(|row| &row[..]).collect();
        let mut sums = [ColumnSums::default(), ColumnSums::default()];
        sums[0].add_up(&slices[..cut], columns);
        sums[1].add_up(&slices[cut..], columns);
        let mut in_two = rows[0].clone();
        let uncertain = sums[0].round((cut < rows.len()).then_some(&sums[1]), &mut in_two);
        let mut totals = rows[0].clone();
        add_columns(rows, &mut totals);
        for column in 0..columns {
            let exact = ExactSum::of(rows.iter().map(|row| row[column])).rounded::<T>();
            assert_eq!(bits(totals[column]), bits(exact), "{column}");
            if !uncertain.contains(&column) {
                assert_eq!(bits(in_two[column]), bits(exact), "{column}, cut at {cut}");
            }
        }
        uncertain.len()
    }

    fn bits(number: f64) -> u64 {
        if number.is_nan() { 0 } else { number.to_bits() }
    }

    #[test]
    fn errors_are_found_wherever_they_are() {
        for columns in [1, 15, 16, 17, 127, 128, 129, 130, 256, 300] {
            for with_error in [0, 5, 16, 126, 127, 128, 129, 255, 299] {
                let number = |row: i32, column: i32| {
                    // As halves of the last digit they make a tie, and three of them more than
                    // that.
                    let tiny = if column == with_error {
                        2f64.powi(-53)
                    } else {
                        2.0
                    };
                    if row == 0 { 1.0 } else { tiny }
                };
                let row = |row| (0..columns).map(|column| number(row, column)).collect();
                for rows in 3..6 {
                    let rows: Vec<Vec<f64>> = (0..rows).map(row).collect();
                    for cut in 1..=rows.len() {
                        assert_eq!(check(&rows, cut, bits), 0, "no accumulator is needed");
                    }
                }
            }
        }
    }

    #[test]
    fn no_rows_add_up_to_zeros() {
        let mut sums = ColumnSums::default();
        sums.add_up(&[&[1.0, 2.0][..]], 2);
        sums.add_up::<f64>(&[], 3);
        let mut totals = [9.0; 3];
        assert!(sums.round(None, &mut totals).is_empty());
        assert_eq!(totals, [0.0; 3]);
    }

    #[test]
    fn a_row_that_is_too_short_is_refused() {
        for rows in 1..4 {
            let mut rows = vec![vec![1.0; 3]; rows];
            rows[0].pop();
            let add = || add_columns(&rows, &mut [0.0; 3]);
            let added = std::panic::catch_unwind(add);
            assert!(added.is_err(), "{} rows", rows.len());
        }
    }

    #[test]
    fn what_is_missing_decides() {
        let tiny = [2f64.powi(-53), 2f64.powi(-300), -2f64.powi(-300)];
        for last in [1, 2] {
            let rows = [1.0, tiny[0], tiny[last]].map(|number| vec![number; 40]);
            for cut in 1..=3 {
                assert_eq!(
                    check(&rows, cut, bits),
                    40,
                    "a tie, but for what is missing"
                );
            }
        }
        // Beside a number that is no tie it decides nothing.
        let rows = [1.0, 2f64.powi(-60), tiny[1]].map(|number| vec![number; 40]);
        assert_eq!(check(&rows, 2, bits), 0);
        for special in [f64::INFINITY, f64::NAN, f64::MAX] {
            let rows = [special, 1.0, special, 0.1].map(|number| vec![number; 20]);
            (1..=4).for_each(|cut| {
                check(&rows, cut, bits);
            });
        }
    }

    fn numbers() -> impl Strategy<Value = f64> {
        let sized = (-1.0..1.0, -70..70).prop_map(|(number, size)| number * 2f64.powi(size));
        prop_oneof![
            any::<i16>().prop_map(f64::from),
            1.0..2.0,
            sized,
            any::<f64>()
        ]
    }

    proptest! {
        #[test]
        fn sem_g98_columns_are_added_up_alike_however_rows_are_cut(
            rows in prop::collection::vec(prop::collection::vec(numbers(), 150), 1..9),
            kind in 0..3,
            columns in 1_usize..150,
            cut in 1_usize..9,
        ) {
            // Columns of one kind go other ways than mixed ones.
            let of_kind = |number: &f64| match kind {
                0 => number.clamp(-1e6, 1e6).trunc(),
                1 => 1.0 + number.fract().abs(),
                _ => *number,
            };
            let rows: Vec<Vec<f64>> =
                rows.iter().map(|row| row[..columns].iter().map(of_kind).collect()).collect();
            check(&rows, cut.min(rows.len()), bits);
            let narrow = |row: &Vec<f64>| row.iter().map(|number| *number as f32).collect();
            let narrow: Vec<Vec<f32>> = rows.iter().map(narrow).collect();
            check(&narrow, cut.min(rows.len()), |number| bits(f64::from(number)));
        }
    }
}
