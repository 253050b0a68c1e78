//! Powers and logarithms of two, made of the operations of [`Isa`] alone.
//!
//! The library functions of different platforms differ in the last bits and are not vectors; these
//! are the same everywhere. The polynomials are Chebyshev interpolations of
//! (2ʳ - 1)/r on [-½, ½] and of log₂ m in s = (m - 1)/(m + 1) on √½ ≤ m ≤ √2.

use super::kernel::PlainLanes;
use super::{F64x8, Isa, LANES};

/// Terms below 2 to this power of the greatest are exact zeros. They are 2000 times below the
/// rounding error of the sum they would go into.
pub(crate) const FLUSH: f64 = -64.0;

/// Adding it leaves the nearest integer in the lowest bits of the significand.
const SHIFT: f64 = 1.5 * (1_u64 << 52) as f64;

const EXP2: [f64; 10] = [
    0.693_147_180_559_946_2,
    0.240_226_506_959_100_75,
    0.055_504_108_664_651_67,
    0.009_618_129_107_618_665,
    0.001_333_355_820_079_459_2,
    0.000_154_035_304_247_765_29,
    1.525_267_292_485_073_7e-5,
    1.321_545_163_322_143_4e-6,
    1.020_590_541_376_559_5e-7,
    7.070_977_866_508_138e-9,
];

const LOG2: [f64; 8] = [
    2.885_390_081_777_926_8,
    0.961_796_693_925_989_8,
    0.577_078_016_345_520_3,
    0.412_198_585_840_900_5,
    0.320_598_534_913_959_84,
    0.262_334_352_504_183,
    0.220_913_084_231_176_8,
    0.213_658_956_943_192_7,
];

/// 2ˣ for x ≤ 0, relative error below 10⁻¹⁵; exactly zero below [`FLUSH`], exactly one at zero.
#[inline(always)]
pub(crate) fn exp2<I: Isa>(isa: I, x: I::V) -> I::V {
    let shift = isa.splat(SHIFT);
    // Lanes below the limit would shift out of range; they are zeroed at the end.
    let inside = isa.max(x, isa.splat(FLUSH));
    let shifted = isa.add(inside, shift);
    let r = isa.sub(inside, isa.sub(shifted, shift));
    let mut p = isa.splat(EXP2[9]);
    for coefficient in EXP2[..9].iter().rev() {
        p = isa.fma(p, r, isa.splat(*coefficient));
    }
    let power = isa.scale(isa.fma(p, r, isa.splat(1.0)), shifted);
    isa.select(isa.less(x, isa.splat(FLUSH)), isa.splat(0.0), power)
}

/// The same of one number, where nothing depends on its time.
pub(crate) fn exp2_of(x: f64) -> f64 {
    exp2(PlainLanes, [x; LANES])[0]
}

/// log₂ of eight normal positive numbers, absolute error below 10⁻¹⁵ near one and relative
/// elsewhere.
#[inline(always)]
pub(crate) fn log2(x: &F64x8) -> F64x8 {
    let mut out = F64x8::default();
    for lane in 0..LANES {
        out[lane] = log2_of(x[lane]);
    }
    out
}

#[inline(always)]
pub(crate) fn log2_of(x: f64) -> f64 {
    const SQRT_HALF: u64 = std::f64::consts::FRAC_1_SQRT_2.to_bits();
    // Subtracting the bits of √½ makes the exponent field turn over at √½ instead of at one.
    let above = x.to_bits().wrapping_sub(SQRT_HALF);
    let exponent = (above as i64) >> 52;
    let m = f64::from_bits((above & ((1 << 52) - 1)).wrapping_add(SQRT_HALF));
    let s = (m - 1.0) / (m + 1.0);
    let u = s * s;
    let mut p = LOG2[7];
    for coefficient in LOG2[..7].iter().rev() {
        p = p.mul_add(u, *coefficient);
    }
    s.mul_add(p, exponent as f64)
}

#[cfg(test)]
mod tests {
    use super::super::{Instructions, NumericLoop, run};
    use super::*;
    use proptest::prelude::*;

    struct Power(F64x8);

    impl NumericLoop for Power {
        type Output = F64x8;

        #[inline(always)]
        fn run<I: Isa>(self, isa: I) -> F64x8 {
            let mut out = F64x8::default();
            isa.store(exp2(isa, isa.load(&self.0)), &mut out);
            out
        }
    }

    fn power(x: f64) -> f64 {
        run(Instructions::best(), Power(F64x8::splat(x)))[0]
    }

    #[test]
    fn ends_are_exact() {
        assert_eq!(power(0.0), 1.0);
        assert_eq!(power(-1.0), 0.5);
        assert_eq!(power(FLUSH), 2.0_f64.powi(-64));
        assert_eq!(power(-64.000_001), 0.0);
        assert_eq!(power(f64::NEG_INFINITY), 0.0);
        assert_eq!(power(-1e300), 0.0);
        assert_eq!(exp2_of(-0.3).to_bits(), power(-0.3).to_bits());
        assert_eq!(log2_of(1.0), 0.0);
        assert_eq!(log2_of(8.0), 3.0);
    }

    proptest! {
        #[test]
        fn power_is_accurate(x in -64.0_f64..0.0) {
            let ratio = power(x) / x.exp2();
            prop_assert!((ratio - 1.0).abs() < 1e-15, "2^{x}: off by {:e}", ratio - 1.0);
        }

        #[test]
        fn logarithm_is_accurate(x in prop_oneof![1.0_f64..2.0, 1.0_f64..1e6, 1e-9_f64..1.0]) {
            let error = log2_of(x) - x.log2();
            prop_assert!(error.abs() < 1e-15 * (1.0 + x.log2().abs()), "log2 {x}: {error:e}");
        }
    }
}
