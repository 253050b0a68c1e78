//! The three forms of [`Isa`], and the entry that compiles a task for one of them.
//!
//! Each form is a token that only `detect` makes, after asking the processor. Its methods are
//! inlined into [`run`]'s entry for that form, the one place where the instructions are enabled.

use super::{F64x8, Instructions, Isa, LANES, NumericLoop};

/// Runs a task on one instruction set.
pub(crate) fn run<T: NumericLoop>(instructions: Instructions, task: T) -> T::Output {
    match instructions {
        // SAFETY: the token says that the processor has the instructions.
        #[cfg(target_arch = "x86_64")]
        Instructions::Avx512(isa) => unsafe { x86::run_avx512(isa, task) },
        // SAFETY: the token says that the processor has the instructions.
        #[cfg(target_arch = "x86_64")]
        Instructions::Avx2(isa) => unsafe { x86::run_avx2(isa, task) },
        Instructions::Plain => task.run_plain(),
    }
}

/// One copy for all who come here: the plain form of a task is the largest.
#[inline(never)]
pub(super) fn run_plain<T: NumericLoop>(task: T) -> T::Output {
    task.run(PlainLanes)
}

/// Fused by the library, one lane after the other. Where the processor's own instruction is not
/// enabled, eight calls at each place are most of a kernel's code.
#[cfg(all(target_arch = "x86_64", not(target_feature = "fma")))]
#[inline(never)]
fn fma(a: &[f64; LANES], b: &[f64; LANES], c: &mut [f64; LANES]) {
    for lane in 0..LANES {
        c[lane] = a[lane].mul_add(b[lane], c[lane]);
    }
}

#[cfg(not(all(target_arch = "x86_64", not(target_feature = "fma"))))]
#[inline(always)]
fn fma(a: &[f64; LANES], b: &[f64; LANES], c: &mut [f64; LANES]) {
    for lane in 0..LANES {
        c[lane] = a[lane].mul_add(b[lane], c[lane]);
    }
}

/// Arrays of eight.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PlainLanes;

#[inline(always)]
fn zip(a: [f64; LANES], b: [f64; LANES], op: impl Fn(f64, f64) -> f64) -> [f64; LANES] {
    let mut out = a;
    for lane in 0..LANES {
        out[lane] = op(a[lane], b[lane]);
    }
    out
}

/// All bits of a lane set where `op` is true.
#[inline(always)]
fn test(a: [f64; LANES], b: [f64; LANES], op: impl Fn(f64, f64) -> bool) -> [u64; LANES] {
    let mut out = [0; LANES];
    for lane in 0..LANES {
        out[lane] = u64::from(op(a[lane], b[lane])).wrapping_neg();
    }
    out
}

impl Isa for PlainLanes {
    // On x86-64 only machines without AVX2 come here.
    const SPECIAL: bool = cfg!(not(target_arch = "x86_64"));

    type V = [f64; LANES];
    type M = [u64; LANES];

    #[inline(always)]
    fn splat(self, value: f64) -> Self::V {
        [value; LANES]
    }
    #[inline(always)]
    fn load(self, from: &F64x8) -> Self::V {
        from.0
    }
    #[inline(always)]
    fn store(self, value: Self::V, to: &mut F64x8) {
        to.0 = value;
    }
    #[inline(always)]
    fn add(self, a: Self::V, b: Self::V) -> Self::V {
        zip(a, b, |a, b| a + b)
    }
    #[inline(always)]
    fn sub(self, a: Self::V, b: Self::V) -> Self::V {
        zip(a, b, |a, b| a - b)
    }
    #[inline(always)]
    fn mul(self, a: Self::V, b: Self::V) -> Self::V {
        zip(a, b, |a, b| a * b)
    }
    #[inline(always)]
    fn div(self, a: Self::V, b: Self::V) -> Self::V {
        zip(a, b, |a, b| a / b)
    }
    #[inline(always)]
    fn fma(self, a: Self::V, b: Self::V, c: Self::V) -> Self::V {
        let mut out = c;
        fma(&a, &b, &mut out);
        out
    }
    #[inline(always)]
    fn max(self, a: Self::V, b: Self::V) -> Self::V {
        zip(a, b, |a, b| if a > b { a } else { b })
    }
    #[inline(always)]
    fn min(self, a: Self::V, b: Self::V) -> Self::V {
        zip(a, b, |a, b| if a < b { a } else { b })
    }
    #[inline(always)]
    fn less(self, a: Self::V, b: Self::V) -> Self::M {
        test(a, b, |a, b| a < b)
    }
    #[inline(always)]
    fn equal(self, a: Self::V, b: Self::V) -> Self::M {
        test(a, b, |a, b| a == b)
    }
    #[inline(always)]
    fn any(self, mask: Self::M) -> bool {
        mask.into_iter().fold(0, |any, lane| any | lane) != 0
    }
    #[inline(always)]
    fn select(self, mask: Self::M, yes: Self::V, no: Self::V) -> Self::V {
        let mut out = no;
        for lane in 0..LANES {
            let bits = (mask[lane] & yes[lane].to_bits()) | (!mask[lane] & no[lane].to_bits());
            out[lane] = f64::from_bits(bits);
        }
        out
    }
    #[inline(always)]
    fn scale(self, value: Self::V, shifted: Self::V) -> Self::V {
        zip(value, shifted, |value, shifted| {
            f64::from_bits(value.to_bits().wrapping_add(shifted.to_bits() << 52))
        })
    }
    #[inline(always)]
    fn total(self, a: Self::V) -> f64 {
        F64x8(a).sum()
    }
}

#[cfg(target_arch = "x86_64")]
pub(crate) use x86::{Avx2, Avx512};

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{F64x8, Isa, NumericLoop};
    use std::arch::x86_64::*;

    /// Proof that the processor has AVX-512F.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(crate) struct Avx512(());

    /// Proof that the processor has AVX2 and FMA.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(crate) struct Avx2(());

    impl Avx512 {
        pub(crate) fn detect() -> Option<Avx512> {
            is_x86_feature_detected!("avx512f").then_some(Avx512(()))
        }
    }

    impl Avx2 {
        pub(crate) fn detect() -> Option<Avx2> {
            (is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma"))
                .then_some(Avx2(()))
        }
    }

    #[target_feature(enable = "avx512f")]
    pub(super) fn run_avx512<T: NumericLoop>(isa: Avx512, task: T) -> T::Output {
        task.run(isa)
    }

    #[target_feature(enable = "avx2,fma")]
    pub(super) fn run_avx2<T: NumericLoop>(isa: Avx2, task: T) -> T::Output {
        task.run(isa)
    }

    /// An intrinsic of the token's instruction set.
    macro_rules! call {
        ($e:expr) => {
            // SAFETY: `self` is proof that the processor has the instruction, and a load or store
            // goes through a reference to eight aligned numbers.
            unsafe { $e }
        };
    }

    /// The sum of four lanes and four more: neighbours, then pairs, then fours.
    macro_rules! total {
        ($low:expr, $high:expr) => {{
            let pairs = _mm256_hadd_pd($low, $high);
            let fours = _mm_add_pd(
                _mm256_castpd256_pd128(pairs),
                _mm256_extractf128_pd::<1>(pairs),
            );
            _mm_cvtsd_f64(_mm_add_sd(fours, _mm_unpackhi_pd(fours, fours)))
        }};
    }

    impl Isa for Avx512 {
        const SPECIAL: bool = true;

        type V = __m512d;
        type M = __mmask8;

        #[inline(always)]
        fn splat(self, value: f64) -> Self::V {
            call!(_mm512_set1_pd(value))
        }
        #[inline(always)]
        fn load(self, from: &F64x8) -> Self::V {
            call!(_mm512_load_pd(from.0.as_ptr()))
        }
        #[inline(always)]
        fn store(self, value: Self::V, to: &mut F64x8) {
            call!(_mm512_store_pd(to.0.as_mut_ptr(), value));
        }
        #[inline(always)]
        fn add(self, a: Self::V, b: Self::V) -> Self::V {
            call!(_mm512_add_pd(a, b))
        }
        #[inline(always)]
        fn sub(self, a: Self::V, b: Self::V) -> Self::V {
            call!(_mm512_sub_pd(a, b))
        }
        #[inline(always)]
        fn mul(self, a: Self::V, b: Self::V) -> Self::V {
            call!(_mm512_mul_pd(a, b))
        }
        #[inline(always)]
        fn div(self, a: Self::V, b: Self::V) -> Self::V {
            call!(_mm512_div_pd(a, b))
        }
        #[inline(always)]
        fn fma(self, a: Self::V, b: Self::V, c: Self::V) -> Self::V {
            call!(_mm512_fmadd_pd(a, b, c))
        }
        #[inline(always)]
        fn max(self, a: Self::V, b: Self::V) -> Self::V {
            call!(_mm512_max_pd(a, b))
        }
        #[inline(always)]
        fn min(self, a: Self::V, b: Self::V) -> Self::V {
            call!(_mm512_min_pd(a, b))
        }
        #[inline(always)]
        fn less(self, a: Self::V, b: Self::V) -> Self::M {
            call!(_mm512_cmp_pd_mask::<_CMP_LT_OQ>(a, b))
        }
        #[inline(always)]
        fn equal(self, a: Self::V, b: Self::V) -> Self::M {
            call!(_mm512_cmp_pd_mask::<_CMP_EQ_OQ>(a, b))
        }
        #[inline(always)]
        fn any(self, mask: Self::M) -> bool {
            mask != 0
        }
        #[inline(always)]
        fn select(self, mask: Self::M, yes: Self::V, no: Self::V) -> Self::V {
            call!(_mm512_mask_blend_pd(mask, no, yes))
        }
        #[inline(always)]
        fn scale(self, value: Self::V, shifted: Self::V) -> Self::V {
            call!(_mm512_castsi512_pd(_mm512_add_epi64(
                _mm512_castpd_si512(value),
                _mm512_slli_epi64::<52>(_mm512_castpd_si512(shifted)),
            )))
        }
        #[inline(always)]
        fn total(self, a: Self::V) -> f64 {
            call!(total!(
                _mm512_castpd512_pd256(a),
                _mm512_extractf64x4_pd::<1>(a)
            ))
        }
    }

    /// The same operation on both halves.
    macro_rules! halves {
        ($op:ident, $($arg:ident),+) => {
            call!([$op($($arg[0]),+), $op($($arg[1]),+)])
        };
    }

    impl Isa for Avx2 {
        const SPECIAL: bool = true;

        type V = [__m256d; 2];
        type M = [__m256d; 2];

        #[inline(always)]
        fn splat(self, value: f64) -> Self::V {
            call!([_mm256_set1_pd(value); 2])
        }
        #[inline(always)]
        fn load(self, from: &F64x8) -> Self::V {
            let (low, high) = from.0.split_at(4);
            call!([_mm256_load_pd(low.as_ptr()), _mm256_load_pd(high.as_ptr())])
        }
        #[inline(always)]
        fn store(self, value: Self::V, to: &mut F64x8) {
            let (low, high) = to.0.split_at_mut(4);
            call!({
                _mm256_store_pd(low.as_mut_ptr(), value[0]);
                _mm256_store_pd(high.as_mut_ptr(), value[1]);
            });
        }
        #[inline(always)]
        fn add(self, a: Self::V, b: Self::V) -> Self::V {
            halves!(_mm256_add_pd, a, b)
        }
        #[inline(always)]
        fn sub(self, a: Self::V, b: Self::V) -> Self::V {
            halves!(_mm256_sub_pd, a, b)
        }
        #[inline(always)]
        fn mul(self, a: Self::V, b: Self::V) -> Self::V {
            halves!(_mm256_mul_pd, a, b)
        }
        #[inline(always)]
        fn div(self, a: Self::V, b: Self::V) -> Self::V {
            halves!(_mm256_div_pd, a, b)
        }
        #[inline(always)]
        fn fma(self, a: Self::V, b: Self::V, c: Self::V) -> Self::V {
            halves!(_mm256_fmadd_pd, a, b, c)
        }
        #[inline(always)]
        fn max(self, a: Self::V, b: Self::V) -> Self::V {
            halves!(_mm256_max_pd, a, b)
        }
        #[inline(always)]
        fn min(self, a: Self::V, b: Self::V) -> Self::V {
            halves!(_mm256_min_pd, a, b)
        }
        #[inline(always)]
        fn less(self, a: Self::V, b: Self::V) -> Self::M {
            call!([
                _mm256_cmp_pd::<_CMP_LT_OQ>(a[0], b[0]),
                _mm256_cmp_pd::<_CMP_LT_OQ>(a[1], b[1]),
            ])
        }
        #[inline(always)]
        fn equal(self, a: Self::V, b: Self::V) -> Self::M {
            call!([
                _mm256_cmp_pd::<_CMP_EQ_OQ>(a[0], b[0]),
                _mm256_cmp_pd::<_CMP_EQ_OQ>(a[1], b[1]),
            ])
        }
        #[inline(always)]
        fn any(self, mask: Self::M) -> bool {
            call!(_mm256_movemask_pd(_mm256_or_pd(mask[0], mask[1])) != 0)
        }
        #[inline(always)]
        fn select(self, mask: Self::M, yes: Self::V, no: Self::V) -> Self::V {
            halves!(_mm256_blendv_pd, no, yes, mask)
        }
        #[inline(always)]
        fn scale(self, value: Self::V, shifted: Self::V) -> Self::V {
            let half = |value, shifted| {
                call!(_mm256_castsi256_pd(_mm256_add_epi64(
                    _mm256_castpd_si256(value),
                    _mm256_slli_epi64::<52>(_mm256_castpd_si256(shifted)),
                )))
            };
            [half(value[0], shifted[0]), half(value[1], shifted[1])]
        }
        #[inline(always)]
        fn total(self, a: Self::V) -> f64 {
            call!(total!(a[0], a[1]))
        }
    }
}
