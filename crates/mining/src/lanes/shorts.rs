//! Thirty-two integers of 16 bits at a time, with the same results on every instruction set.
//!
//! Each form of [`Isa16`] is a token that only `detect` makes, after asking the processor. Its
//! methods are inlined into the entry for that form, where the instructions are enabled.

/// The number of lanes of 16 bits.
pub(crate) const SHORTS: usize = 32;

/// Thirty-two integers on a cache line of their own.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(C, align(64))]
pub(crate) struct Shorts(pub [i16; SHORTS]);

impl Shorts {
    pub(crate) const fn splat(value: i16) -> Shorts {
        Shorts([value; SHORTS])
    }
}

/// An integer loop, generic over the instruction set. Mark `run` and everything it calls
/// `#[inline(always)]`.
pub(crate) trait Task16 {
    /// What the loop gives back.
    type Output;

    /// Runs the loop.
    fn run<I: Isa16>(self, isa: I) -> Self::Output;
}

/// The operations of one instruction set on thirty-two integers of 16 bits. Sums wrap.
pub(crate) trait Isa16: Copy {
    /// Thirty-two integers.
    type V: Copy;
    /// Thirty-two truth values.
    type M: Copy;

    fn splat(self, value: i16) -> Self::V;
    fn load(self, from: &Shorts) -> Self::V;
    fn store(self, value: Self::V, to: &mut Shorts);
    fn add(self, a: Self::V, b: Self::V) -> Self::V;
    fn sub(self, a: Self::V, b: Self::V) -> Self::V;
    fn max(self, a: Self::V, b: Self::V) -> Self::V;
    fn and(self, a: Self::V, b: Self::V) -> Self::V;
    /// Half of each, rounded down.
    fn half(self, a: Self::V) -> Self::V;
    fn greater(self, a: Self::V, b: Self::V) -> Self::M;
    /// `yes` where the mask is set, else `no`.
    fn select(self, mask: Self::M, yes: Self::V, no: Self::V) -> Self::V;
}

/// The instruction sets an integer task can run on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Instructions16 {
    /// One 512-bit register.
    #[cfg(target_arch = "x86_64")]
    Avx512(x86::Avx512),
    /// Two 256-bit registers.
    #[cfg(target_arch = "x86_64")]
    Avx2(x86::Avx2),
    /// Whatever the compiler makes of an array.
    Plain,
}

impl Instructions16 {
    /// Every instruction set this machine can run, fastest first.
    pub(crate) fn available() -> Vec<Instructions16> {
        let mut found = Vec::new();
        #[cfg(target_arch = "x86_64")]
        {
            found.extend(x86::Avx512::detect().map(Instructions16::Avx512));
            found.extend(x86::Avx2::detect().map(Instructions16::Avx2));
        }
        found.push(Instructions16::Plain);
        found
    }
}

/// Runs a task on one instruction set.
pub(crate) fn run16<T: Task16>(instructions: Instructions16, task: T) -> T::Output {
    match instructions {
        // SAFETY: the token says that the processor has the instructions.
        #[cfg(target_arch = "x86_64")]
        Instructions16::Avx512(isa) => unsafe { x86::run_avx512(isa, task) },
        // SAFETY: the token says that the processor has the instructions.
        #[cfg(target_arch = "x86_64")]
        Instructions16::Avx2(isa) => unsafe { x86::run_avx2(isa, task) },
        Instructions16::Plain => run_plain(task),
    }
}

/// One copy for all who come here.
#[inline(never)]
fn run_plain<T: Task16>(task: T) -> T::Output {
    task.run(PlainLanes)
}

/// Arrays of thirty-two.
#[derive(Debug, Clone, Copy)]
struct PlainLanes;

/// Where only old machines come here it is called: inlined at each place it is most of the code.
#[cfg_attr(target_arch = "x86_64", inline(never))]
#[cfg_attr(not(target_arch = "x86_64"), inline(always))]
fn zip(a: [i16; SHORTS], b: [i16; SHORTS], op: impl Fn(i16, i16) -> i16) -> [i16; SHORTS] {
    let mut out = a;
    for lane in 0..SHORTS {
        out[lane] = op(a[lane], b[lane]);
    }
    out
}

impl Isa16 for PlainLanes {
    type V = [i16; SHORTS];
    /// All bits set where true.
    type M = [i16; SHORTS];

    #[inline(always)]
    fn splat(self, value: i16) -> Self::V {
        [value; SHORTS]
    }
    #[inline(always)]
    fn load(self, from: &Shorts) -> Self::V {
        from.0
    }
    #[inline(always)]
    fn store(self, value: Self::V, to: &mut Shorts) {
        to.0 = value;
    }
    #[inline(always)]
    fn add(self, a: Self::V, b: Self::V) -> Self::V {
        zip(a, b, i16::wrapping_add)
    }
    #[inline(always)]
    fn sub(self, a: Self::V, b: Self::V) -> Self::V {
        zip(a, b, i16::wrapping_sub)
    }
    #[inline(always)]
    fn max(self, a: Self::V, b: Self::V) -> Self::V {
        zip(a, b, i16::max)
    }
    #[inline(always)]
    fn and(self, a: Self::V, b: Self::V) -> Self::V {
        zip(a, b, |a, b| a & b)
    }
    #[inline(always)]
    fn half(self, a: Self::V) -> Self::V {
        a.map(|a| a >> 1)
    }
    #[inline(always)]
    fn greater(self, a: Self::V, b: Self::V) -> Self::M {
        zip(a, b, |a, b| -i16::from(a > b))
    }
    #[inline(always)]
    fn select(self, mask: Self::M, yes: Self::V, no: Self::V) -> Self::V {
        let mut out = no;
        for lane in 0..SHORTS {
            out[lane] = (mask[lane] & yes[lane]) | (!mask[lane] & no[lane]);
        }
        out
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{Isa16, Shorts, Task16};
    use std::arch::x86_64::*;

    /// Proof that the processor has AVX-512F and AVX-512BW.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(crate) struct Avx512(());

    /// Proof that the processor has AVX2.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(crate) struct Avx2(());

    impl Avx512 {
        pub(super) fn detect() -> Option<Avx512> {
            (is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw"))
                .then_some(Avx512(()))
        }
    }

    impl Avx2 {
        pub(super) fn detect() -> Option<Avx2> {
            is_x86_feature_detected!("avx2").then_some(Avx2(()))
        }
    }

    #[target_feature(enable = "avx512f,avx512bw")]
    pub(super) fn run_avx512<T: Task16>(isa: Avx512, task: T) -> T::Output {
        task.run(isa)
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn run_avx2<T: Task16>(isa: Avx2, task: T) -> T::Output {
        task.run(isa)
    }

    /// An intrinsic of the token's instruction set.
    macro_rules! call {
        ($e:expr) => {
            // SAFETY: `self` is proof that the processor has the instruction, and a load or store
            // goes through a reference to thirty-two aligned integers.
            unsafe { $e }
        };
    }

    impl Isa16 for Avx512 {
        type V = __m512i;
        type M = __mmask32;

        #[inline(always)]
        fn splat(self, value: i16) -> Self::V {
            call!(_mm512_set1_epi16(value))
        }
        #[inline(always)]
        fn load(self, from: &Shorts) -> Self::V {
            call!(_mm512_load_si512(from.0.as_ptr().cast()))
        }
        #[inline(always)]
        fn store(self, value: Self::V, to: &mut Shorts) {
            call!(_mm512_store_si512(to.0.as_mut_ptr().cast(), value));
        }
        #[inline(always)]
        fn add(self, a: Self::V, b: Self::V) -> Self::V {
            call!(_mm512_add_epi16(a, b))
        }
        #[inline(always)]
        fn sub(self, a: Self::V, b: Self::V) -> Self::V {
            call!(_mm512_sub_epi16(a, b))
        }
        #[inline(always)]
        fn max(self, a: Self::V, b: Self::V) -> Self::V {
            call!(_mm512_max_epi16(a, b))
        }
        #[inline(always)]
        fn and(self, a: Self::V, b: Self::V) -> Self::V {
            call!(_mm512_and_si512(a, b))
        }
        #[inline(always)]
        fn half(self, a: Self::V) -> Self::V {
            call!(_mm512_srai_epi16::<1>(a))
        }
        #[inline(always)]
        fn greater(self, a: Self::V, b: Self::V) -> Self::M {
            call!(_mm512_cmpgt_epi16_mask(a, b))
        }
        #[inline(always)]
        fn select(self, mask: Self::M, yes: Self::V, no: Self::V) -> Self::V {
            call!(_mm512_mask_blend_epi16(mask, no, yes))
        }
    }

    /// The same operation on both halves.
    macro_rules! halves {
        ($op:ident, $($arg:ident),+) => {
            call!([$op($($arg[0]),+), $op($($arg[1]),+)])
        };
    }

    impl Isa16 for Avx2 {
        type V = [__m256i; 2];
        type M = [__m256i; 2];

        #[inline(always)]
        fn splat(self, value: i16) -> Self::V {
            call!([_mm256_set1_epi16(value); 2])
        }
        #[inline(always)]
        fn load(self, from: &Shorts) -> Self::V {
            let (low, high) = from.0.split_at(16);
            call!([
                _mm256_load_si256(low.as_ptr().cast()),
                _mm256_load_si256(high.as_ptr().cast()),
            ])
        }
        #[inline(always)]
        fn store(self, value: Self::V, to: &mut Shorts) {
            let (low, high) = to.0.split_at_mut(16);
            call!({
                _mm256_store_si256(low.as_mut_ptr().cast(), value[0]);
                _mm256_store_si256(high.as_mut_ptr().cast(), value[1]);
            });
        }
        #[inline(always)]
        fn add(self, a: Self::V, b: Self::V) -> Self::V {
            halves!(_mm256_add_epi16, a, b)
        }
        #[inline(always)]
        fn sub(self, a: Self::V, b: Self::V) -> Self::V {
            halves!(_mm256_sub_epi16, a, b)
        }
        #[inline(always)]
        fn max(self, a: Self::V, b: Self::V) -> Self::V {
            halves!(_mm256_max_epi16, a, b)
        }
        #[inline(always)]
        fn and(self, a: Self::V, b: Self::V) -> Self::V {
            halves!(_mm256_and_si256, a, b)
        }
        #[inline(always)]
        fn half(self, a: Self::V) -> Self::V {
            call!([_mm256_srai_epi16::<1>(a[0]), _mm256_srai_epi16::<1>(a[1])])
        }
        #[inline(always)]
        fn greater(self, a: Self::V, b: Self::V) -> Self::M {
            halves!(_mm256_cmpgt_epi16, a, b)
        }
        #[inline(always)]
        fn select(self, mask: Self::M, yes: Self::V, no: Self::V) -> Self::V {
            halves!(_mm256_blendv_epi8, no, yes, mask)
        }
    }
}
