//! Eight numbers at a time, with the same bits on every instruction set.
//!
//! A numeric loop is written once, as a [`NumericLoop`] over [`Isa`], and runs in the widest form
//! that the machine has. The lane count is always eight and every product that feeds a sum is
//! fused, so the forms differ in speed only. AVX-512 holds eight lanes in one register, AVX2 in
//! two. The plain form is an array that the compiler vectorises as it can (on aarch64 into NEON).

mod columns;
mod exponential;
mod kernel;
mod shorts;

pub(crate) use columns::{ColumnLoop, run_columns};
pub(crate) use exponential::{FLUSH, exp2, exp2_of, log2, log2_of};
pub(crate) use kernel::run;
pub(crate) use shorts::{Instructions16, Isa16, SHORTS, Shorts, Task16, run16};

use std::ops::{Deref, DerefMut};

/// The number of lanes.
pub(crate) const LANES: usize = 8;

/// Eight numbers on a cache line of their own: neighbouring ranks never share one.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[repr(C, align(64))]
pub(crate) struct F64x8(pub [f64; LANES]);

impl F64x8 {
    pub(crate) const fn splat(value: f64) -> F64x8 {
        F64x8([value; LANES])
    }

    /// The sum of the lanes in one fixed order.
    pub(crate) fn sum(&self) -> f64 {
        let [a, b, c, d, e, f, g, h] = self.0;
        ((a + b) + (c + d)) + ((e + f) + (g + h))
    }

    /// The largest of the lanes, none of which is NaN.
    pub(crate) fn largest(&self) -> f64 {
        let max = |a: f64, b: f64| if a > b { a } else { b };
        let [a, b, c, d, e, f, g, h] = self.0;
        max(max(max(a, b), max(c, d)), max(max(e, f), max(g, h)))
    }
}

impl Deref for F64x8 {
    type Target = [f64; LANES];

    fn deref(&self) -> &[f64; LANES] {
        &self.0
    }
}

impl DerefMut for F64x8 {
    fn deref_mut(&mut self) -> &mut [f64; LANES] {
        &mut self.0
    }
}

/// The instruction sets a task can run on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Instructions {
    /// One 512-bit register.
    #[cfg(target_arch = "x86_64")]
    Avx512(kernel::Avx512),
    /// Two 256-bit registers and fused multiply-add.
    #[cfg(target_arch = "x86_64")]
    Avx2(kernel::Avx2),
    /// Whatever the compiler makes of an array of eight.
    Plain,
}

impl Instructions {
    /// Every instruction set this machine can run, fastest first.
    pub(crate) fn available() -> Vec<Instructions> {
        let mut found = Vec::new();
        #[cfg(target_arch = "x86_64")]
        {
            found.extend(kernel::Avx512::detect().map(Instructions::Avx512));
            found.extend(kernel::Avx2::detect().map(Instructions::Avx2));
        }
        found.push(Instructions::Plain);
        found
    }

    /// The fastest one.
    pub(crate) fn best() -> Instructions {
        Instructions::available()[0]
    }
}

/// A numeric loop, generic over the instruction set. Mark `run` and everything it calls
/// `#[inline(always)]`: only what is inlined is compiled for the instruction set.
pub(crate) trait NumericLoop: Sized {
    /// What the loop gives back.
    type Output;

    /// Runs the loop.
    fn run<I: Isa>(self, isa: I) -> Self::Output;

    /// Runs the plain form.
    fn run_plain(self) -> Self::Output {
        kernel::run_plain(self)
    }
}

/// The operations of one instruction set. A value of the type proves that the machine has it.
pub(crate) trait Isa: Copy {
    /// Whether a loop has code of its own for a few widths. Its results are the same without.
    const SPECIAL: bool;

    /// Eight `f64`.
    type V: Copy;
    /// Eight truth values.
    type M: Copy;

    fn splat(self, value: f64) -> Self::V;
    fn load(self, from: &F64x8) -> Self::V;
    fn store(self, value: Self::V, to: &mut F64x8);
    fn add(self, a: Self::V, b: Self::V) -> Self::V;
    fn sub(self, a: Self::V, b: Self::V) -> Self::V;
    fn mul(self, a: Self::V, b: Self::V) -> Self::V;
    fn div(self, a: Self::V, b: Self::V) -> Self::V;
    /// `a * b + c`, rounded once.
    fn fma(self, a: Self::V, b: Self::V, c: Self::V) -> Self::V;
    /// `a` where `a > b`, else `b`.
    fn max(self, a: Self::V, b: Self::V) -> Self::V;
    /// `a` where `a < b`, else `b`.
    fn min(self, a: Self::V, b: Self::V) -> Self::V;
    fn less(self, a: Self::V, b: Self::V) -> Self::M;
    fn equal(self, a: Self::V, b: Self::V) -> Self::M;
    fn any(self, mask: Self::M) -> bool;
    /// `yes` where the mask is set, else `no`.
    fn select(self, mask: Self::M, yes: Self::V, no: Self::V) -> Self::V;
    /// `value · 2ⁿ` where the lowest bits of `shifted` hold the integer n; the result must be a
    /// normal number.
    fn scale(self, value: Self::V, shifted: Self::V) -> Self::V;
    /// The sum of the lanes in the order of [`F64x8::sum`].
    fn total(self, a: Self::V) -> f64;
}

/// Adds the totals of some lanes to the end of `out`.
#[inline(always)]
pub(crate) fn push_totals<I: Isa>(isa: I, lanes: &[F64x8], out: &mut Vec<f64>) {
    out.reserve(lanes.len());
    for lane in lanes {
        out.push(isa.total(isa.load(lane)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Every operation once, on three inputs.
    struct Everything(F64x8, F64x8, F64x8);

    impl NumericLoop for Everything {
        type Output = Vec<[u64; LANES]>;

        #[inline(always)]
        fn run<I: Isa>(self, isa: I) -> Self::Output {
            let [a, b, c] = [&self.0, &self.1, &self.2].map(|lane| isa.load(lane));
            let whole = isa.add(c, isa.splat(1.5 * (1_u64 << 52) as f64));
            let results = [
                isa.add(a, b),
                isa.sub(a, b),
                isa.mul(a, b),
                isa.div(a, b),
                isa.fma(a, b, c),
                isa.max(a, b),
                isa.min(a, b),
                isa.select(isa.less(a, b), b, c),
                isa.select(isa.equal(a, b), b, c),
                isa.splat(if isa.any(isa.less(a, b)) { 1.0 } else { 0.0 }),
                isa.scale(isa.max(a, isa.splat(1.0)), whole),
                isa.splat(isa.total(a)),
                exp2(isa, isa.min(c, isa.splat(0.0))),
            ];
            results
                .map(|result| {
                    let mut lane = F64x8::default();
                    isa.store(result, &mut lane);
                    lane.0.map(f64::to_bits)
                })
                .to_vec()
        }
    }

    fn lanes() -> impl Strategy<Value = F64x8> {
        prop::array::uniform8(prop_oneof![-70.0..70.0, Just(0.0), Just(-0.0), Just(1.0)])
            .prop_map(F64x8)
    }

    proptest! {
        #[test]
        fn every_instruction_set_gives_the_same_bits(a in lanes(), b in lanes(), c in lanes()) {
            let plain = run(Instructions::Plain, Everything(a, b, c));
            for instructions in Instructions::available() {
                let here = run(instructions, Everything(a, b, c));
                prop_assert_eq!(&here, &plain, "{:?}", instructions);
            }
        }
    }
}
