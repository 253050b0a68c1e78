//! Sums without rounding: rounded once, at the end.
//!
//! A sum of floating-point numbers depends on its order because each addition rounds. Here no
//! addition does. A number is added to a fixed-point accumulator that is wide enough for every
//! `f64`, from the smallest subnormal to the largest (Kulisch's long accumulator):
//!
//! ```text
//!  limb:    67 …        34            33            32      … 0
//!         carries   ┌─ 32 bits ─┬─ 32 bits ─┬─ 32 bits ─┐      weight of limb j: 2^(32 j - 1074)
//!                        └── the 53 bits of a number lie in three limbs ──┘
//! ```
//!
//! Limbs are signed and hold 31 bits of carries, so that carries need to be passed on only once in
//! 2³⁰ additions. The total is the exact sum, rounded once to nearest: a function of the numbers
//! alone, whoever has added which of them in whatever order.

mod columns;
mod lanes;

pub use columns::{ColumnSums, add_columns};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Limbs: 2098 bits for every `f64`, three limbs of room for a number at the top and for carries.
const LIMBS: usize = 68;

/// The weight of the lowest bit is 2 to the power of minus this.
const LOWEST: i32 = 1074;

/// Additions after which carries must be passed on.
const FULL: u32 = 1 << 30;

/// The exact sum of floating-point numbers (`f32` or `f64`). It has the same bits for every order
/// and every way in which the numbers are cut over ranks.
///
/// Infinities and NaN count as in any other sum: a NaN, or both infinities, give NaN. An exact zero
/// is `+0.0`.
///
/// ```
/// use motet_sums::ExactSum;
///
/// let numbers = [1e100, 1.0, -1e100, 1e-30];
/// assert_eq!(numbers.iter().sum::<f64>(), 1e-30, "the plain sum has lost the 1");
///
/// // Two ranks have every other number; an allreduce joins their sums.
/// let share = |rank| -> ExactSum { numbers.iter().skip(rank).step_by(2).collect() };
/// let mut all = share(1);
/// all.join(&share(0));
/// assert_eq!(all.value(), 1.0);
/// ```
#[derive(Clone, Serialize, Deserialize)]
pub struct ExactSum {
    #[serde(with = "limbs")]
    limbs: [i64; LIMBS],
    /// Additions since carries were passed on.
    adds: u32,
    /// The sum of infinities and NaN, 0 if there were none.
    special: f64,
}

/// The limbs as serde has them: it knows arrays of up to 32 only.
mod limbs {
    use super::LIMBS;
    use serde::de::{Error, Unexpected};
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(limbs: &[i64; LIMBS], to: S) -> Result<S::Ok, S::Error> {
        limbs.as_slice().serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<[i64; LIMBS], D::Error> {
        let limbs = Vec::<i64>::deserialize(from)?;
        let length = Unexpected::Unsigned(limbs.len() as u64);
        limbs
            .try_into()
            .map_err(|_| D::Error::invalid_value(length, &"as many limbs as a sum has"))
    }
}

/// A number that can be summed exactly: `f32` or `f64`.
pub trait Real: sealed::Round + bytemuck::Pod + Serialize + DeserializeOwned + Send + Sync {}

impl Real for f32 {}
impl Real for f64 {}

mod sealed {
    /// What the exact sum needs to know of a type of number.
    pub trait Round: Copy {
        const IS_F64: bool;
        fn widened(self) -> f64;
        fn rounded(sum: &super::ExactSum) -> Self;
        /// What `near` is rounded to.
        fn narrowed(near: f64) -> Self;
        /// Whether all numbers that an `f64` rounds to `near` are rounded to the same.
        fn is_certain(near: f64) -> bool;
        /// The sum of two numbers, rounded once; an exact zero is positive.
        fn sum_of_two(one: Self, other: Self) -> Self;
    }
}

impl sealed::Round for f64 {
    const IS_F64: bool = true;

    #[inline]
    fn widened(self) -> f64 {
        self
    }

    fn rounded(sum: &ExactSum) -> Self {
        sum.round(53, 0)
    }

    #[inline]
    fn narrowed(near: f64) -> Self {
        near
    }

    #[inline]
    fn is_certain(_: f64) -> bool {
        true
    }

    #[inline]
    fn sum_of_two(one: Self, other: Self) -> Self {
        one + other + 0.0
    }
}

impl sealed::Round for f32 {
    const IS_F64: bool = false;

    #[inline]
    fn widened(self) -> f64 {
        f64::from(self)
    }

    #[allow(
        clippy::cast_possible_truncation,
        reason = "it has been rounded to the bits of an f32, or overflows to infinity"
    )]
    fn rounded(sum: &ExactSum) -> Self {
        sum.round(24, 1074 - 149) as f32
    }

    #[allow(clippy::cast_possible_truncation, reason = "this rounds")]
    #[inline]
    fn narrowed(near: f64) -> Self {
        near as f32
    }

    #[allow(clippy::cast_possible_truncation, reason = "this rounds")]
    #[inline]
    fn is_certain(near: f64) -> bool {
        let (below, above) = (near.next_down() as f32, near.next_up() as f32);
        // As values: what is next to zero on both sides is rounded to zeros of both signs.
        below == above
    }

    #[inline]
    fn sum_of_two(one: Self, other: Self) -> Self {
        one + other + 0.0
    }
}

impl ExactSum {
    /// The sum of nothing.
    #[must_use]
    pub fn new() -> Self {
        ExactSum {
            limbs: [0; LIMBS],
            adds: 0,
            special: 0.0,
        }
    }

    /// The sum of these numbers.
    pub fn of<T: Real>(numbers: impl IntoIterator<Item = T>) -> Self {
        let mut sum = ExactSum::new();
        numbers.into_iter().for_each(|number| sum.add(number));
        sum
    }

    /// Adds a number.
    #[inline]
    pub fn add(&mut self, number: impl Real) {
        let bits = number.widened().to_bits();
        let exponent = (bits >> 52 & 0x7ff) as usize;
        if exponent == 0x7ff {
            self.special += f64::from_bits(bits);
            return;
        }
        // A subnormal has the exponent of the smallest normal number and no leading bit.
        let leading = u64::from(exponent > 0) << 52;
        let mantissa = u128::from(bits & ((1 << 52) - 1) | leading);
        let place = exponent.max(1) - 1;
        let wide = mantissa << (place % 32);
        let first = place / 32;
        let low = |shift: u32| ((wide >> shift) as u64 & 0xffff_ffff).cast_signed();
        let sign = 1 - 2 * (bits >> 63).cast_signed();
        self.limbs[first] += sign * low(0);
        self.limbs[first + 1] += sign * low(32);
        self.limbs[first + 2] += sign * low(64);
        self.adds += 1;
        if self.adds == FULL {
            self.carry();
        }
    }

    /// Adds all that another sum holds.
    pub fn join(&mut self, other: &ExactSum) {
        if self.adds.saturating_add(other.adds) >= FULL - 1 {
            self.carry();
            if other.adds >= FULL / 2 {
                let mut other = other.clone();
                other.carry();
                return self.join(&other);
            }
        }
        for (mine, theirs) in self.limbs.iter_mut().zip(&other.limbs) {
            *mine += theirs;
        }
        self.adds += other.adds + 1;
        self.special += other.special;
    }

    /// The sum, rounded to the nearest `f64`, of two equally near ones to the even one.
    #[must_use]
    pub fn value(&self) -> f64 {
        self.rounded()
    }

    /// The sum, rounded once to the nearest number of type `T`.
    #[must_use]
    pub fn rounded<T: Real>(&self) -> T {
        T::rounded(self)
    }

    /// Passes carries on: every limb but the last is then in `0..2^32`.
    fn carry(&mut self) {
        let mut carry = 0;
        let (last, limbs) = self.limbs.split_last_mut().expect("there are limbs");
        for limb in limbs {
            *limb += carry;
            carry = *limb >> 32;
            *limb &= 0xffff_ffff;
        }
        *last += carry;
        // Each limb counts as one addition.
        self.adds = 1;
    }

    /// Rounds to `digits` bits, none of which lies below bit `lowest`.
    fn round(&self, digits: i32, lowest: i32) -> f64 {
        if self.special != 0.0 {
            return self.special;
        }
        let mut sum = self.clone();
        sum.carry();
        let negative = sum.limbs[LIMBS - 1] < 0;
        if negative {
            sum.limbs.iter_mut().for_each(|limb| *limb = -*limb);
            sum.carry();
        }
        let Some(top) = (0..LIMBS).rev().find(|&limb| sum.limbs[limb] != 0) else {
            return 0.0;
        };
        let bit =
            |at: i32| usize::try_from(at).is_ok_and(|at| sum.limbs[at / 32] >> (at % 32) & 1 == 1);
        let high = 32 * position(top) + 63 - position(sum.limbs[top].leading_zeros() as usize);
        let low = (high + 1 - digits).max(lowest);
        let mut mantissa = (low..=high)
            .rev()
            .fold(0u64, |all, at| all << 1 | u64::from(bit(at)));
        // What lies below decides: more than half up, half to the even.
        if bit(low - 1) && (mantissa & 1 == 1 || sum.any_below(low - 1)) {
            mantissa += 1;
        }
        let size = mantissa as f64 * power_of_two(low - LOWEST);
        if negative { -size } else { size }
    }

    /// Whether a bit below this one is set; carries have been passed on.
    fn any_below(&self, at: i32) -> bool {
        let Ok(at) = usize::try_from(at) else {
            return false;
        };
        let (limb, bit) = (at / 32, at % 32);
        self.limbs[..limb].iter().any(|&limb| limb != 0) || self.limbs[limb] & ((1 << bit) - 1) != 0
    }
}

/// A small number of bits or limbs.
fn position(count: usize) -> i32 {
    i32::try_from(count).expect("there are few bits")
}

/// 2 to the power of `exponent`; infinity beyond the largest.
fn power_of_two(exponent: i32) -> f64 {
    match exponent {
        1024.. => f64::INFINITY,
        -1022..1024 => f64::from_bits(u64::from((exponent + 1023).unsigned_abs()) << 52),
        _ => f64::from_bits(1 << (exponent + LOWEST).unsigned_abs()),
    }
}

impl Default for ExactSum {
    fn default() -> Self {
        ExactSum::new()
    }
}

macro_rules! collected {
    ($($number:ty)*) => {
        $(
            impl FromIterator<$number> for ExactSum {
                fn from_iter<I: IntoIterator<Item = $number>>(numbers: I) -> Self {
                    ExactSum::of(numbers)
                }
            }

            impl<'a> FromIterator<&'a $number> for ExactSum {
                fn from_iter<I: IntoIterator<Item = &'a $number>>(numbers: I) -> Self {
                    ExactSum::of(numbers.into_iter().copied())
                }
            }
        )*
    };
}

collected!(f32 f64);

impl fmt::Debug for ExactSum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ExactSum").field(&self.value()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_exact_zero_is_certain() {
        use sealed::Round;
        assert!(<f32 as Round>::is_certain(0.0) && <f32 as Round>::is_certain(1.5));
        // Half-way between two numbers it is not.
        assert!(!<f32 as Round>::is_certain(1.0 + 2f64.powi(-24)));
        let mut totals = [f32::NAN; 3];
        let rows = [[1.5, 0.0, -0.0], [-1.5, 0.0, -0.0], [0.0, -0.0, -0.0]];
        add_columns(&rows.map(|row: [f32; 3]| row.to_vec()), &mut totals);
        assert_eq!(totals.map(f32::to_bits), [0; 3], "zeros are positive");
    }

    fn sum(numbers: &[f64]) -> f64 {
        numbers.iter().collect::<ExactSum>().value()
    }

    /// The sum by another way: Shewchuk's expansions, whose parts do not overlap.
    fn slow_sum(numbers: &[f64]) -> f64 {
        let mut parts: Vec<f64> = Vec::new();
        for &number in numbers {
            let mut number = number;
            let mut kept = Vec::new();
            for part in parts {
                let (big, small) = if f64::abs(number) < f64::abs(part) {
                    (part, number)
                } else {
                    (number, part)
                };
                let high = big + small;
                let low = small - (high - big);
                if low != 0.0 {
                    kept.push(low);
                }
                number = high;
            }
            kept.push(number);
            parts = kept;
        }
        let mut rest = parts.into_iter().rev();
        let mut high = rest.next().unwrap_or(0.0);
        let mut low = 0.0;
        for part in rest.by_ref() {
            let next = high + part;
            low = part - (next - high);
            high = next;
            if low != 0.0 {
                break;
            }
        }
        // A tie that what is left breaks.
        if let Some(next) = rest.next()
            && (low < 0.0) == (next < 0.0)
        {
            let (twice, up) = (low * 2.0, high + low * 2.0);
            if twice == up - high {
                high = up;
            }
        }
        high
    }

    #[test]
    fn known_sums() {
        assert_eq!(sum(&[]).to_bits(), 0);
        assert_eq!(sum(&[-0.0, -0.0]).to_bits(), 0);
        assert_eq!(sum(&[0.1; 10]), 1.0);
        assert_eq!(sum(&[1e308, 1e308, -1e308, -1e308, 5e-324]), 5e-324);
        assert_eq!(sum(&[f64::MAX, f64::MAX]), f64::INFINITY);
        assert_eq!(sum(&[f64::MAX, f64::MAX, -f64::MAX]), f64::MAX);
        assert_eq!(sum(&[1.0, f64::EPSILON / 2.0]), 1.0, "to the even one");
        assert_eq!(
            sum(&[1.0, f64::EPSILON / 2.0, 5e-324]),
            1.0 + f64::EPSILON,
            "more than half"
        );
        assert_eq!(sum(&[f64::INFINITY, 1.0]), f64::INFINITY);
        assert!(sum(&[f64::INFINITY, f64::NEG_INFINITY]).is_nan());
        assert!(sum(&[f64::NAN, 1.0]).is_nan());
    }

    #[test]
    fn an_f32_is_rounded_once() {
        // As an f64 the sum is a tie between two f32s; what was lost decides it.
        let numbers = [1.0_f32, f32::EPSILON / 2.0, 1e-30];
        let sum: ExactSum = numbers.iter().collect();
        assert_eq!(sum.rounded::<f32>(), 1.0 + f32::EPSILON);
        assert_eq!(
            ExactSum::from_iter([f32::MAX; 3]).rounded::<f32>(),
            f32::INFINITY
        );
        let tiny = f32::from_bits(1);
        assert_eq!(
            ExactSum::from_iter([tiny; 3]).rounded::<f32>(),
            f32::from_bits(3)
        );
    }

    #[test]
    fn carries_are_passed_on_in_time() {
        let mut sum = ExactSum::from_iter([1.0_f64, 3.0]);
        for _ in 0..40 {
            let half = sum.clone();
            sum.join(&half);
        }
        assert_eq!(sum.value(), 4.0 * 2f64.powi(40));
        for _ in 0..2000 {
            sum.join(&ExactSum::from_iter([-2f64.powi(40)]));
        }
        assert_eq!(sum.value(), -1996.0 * 2f64.powi(40));
    }

    /// Numbers of all sizes, many of which nearly cancel.
    fn numbers() -> impl Strategy<Value = Vec<f64>> {
        let sizes = prop_oneof![-60..60, -5..5, Just(0)];
        let number = (any::<i32>(), sizes, any::<bool>()).prop_map(|(m, e, whole)| {
            if whole {
                f64::from(m)
            } else {
                f64::from(m) * 2f64.powi(e)
            }
        });
        prop::collection::vec(number, 0..40).prop_flat_map(|numbers| {
            let half = numbers.len() / 2;
            let opposite = numbers[..half].iter().map(|number| -number);
            Just(
                numbers
                    .iter()
                    .copied()
                    .chain(opposite)
                    .collect::<Vec<f64>>(),
            )
            .prop_shuffle()
        })
    }

    proptest! {
        #[test]
        fn sem_g98_the_sum_is_exact_and_rounded_once(numbers in numbers()) {
            prop_assert_eq!(sum(&numbers), slow_sum(&numbers) + 0.0);
        }

        #[test]
        fn sem_g98_any_order_and_any_cut_give_the_same_bits(
            numbers in numbers(),
            parts in 1_usize..9,
            from in 0_usize..9,
        ) {
            let mut sums = vec![ExactSum::new(); parts];
            for (i, number) in numbers.iter().enumerate() {
                sums[i % parts].add(*number);
            }
            let mut total = ExactSum::new();
            for part in 0..parts {
                total.join(&sums[(part + from) % parts]);
            }
            prop_assert_eq!(total.value().to_bits(), sum(&numbers).to_bits());
        }

        #[test]
        fn sem_g98_columns_are_added_up_as_by_accumulators(
            rows in prop::collection::vec(prop::collection::vec(
                prop_oneof![any::<f64>(), any::<i16>().prop_map(f64::from), -1.0..1.0], 16), 1..9),
        ) {
            let mut totals = vec![0.0; 16];
            add_columns(&rows, &mut totals);
            let narrow = |row: &Vec<f64>| row.iter().map(|number| *number as f32).collect();
            let narrow: Vec<Vec<f32>> = rows.iter().map(narrow).collect();
            let mut narrow_totals = vec![0.0; 16];
            add_columns(&narrow, &mut narrow_totals);
            for i in 0..16 {
                let exact: ExactSum = rows.iter().map(|row| row[i]).collect();
                prop_assert!(same(totals[i], exact.value()), "{} {:?}", totals[i], exact);
                let exact: ExactSum = narrow.iter().map(|row| row[i]).collect();
                let exact = f64::from(exact.rounded::<f32>());
                prop_assert!(same(f64::from(narrow_totals[i]), exact));
            }
        }
    }

    fn same(one: f64, other: f64) -> bool {
        one.to_bits() == other.to_bits() || one.is_nan() && other.is_nan()
    }
}
