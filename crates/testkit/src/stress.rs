//! Many rounds with a seed each: what goes wrong once in a thousand times.

use std::time::{Duration, Instant};

/// Numbers that look random and repeat with their seed (SplitMix64).
///
/// ```
/// use motet_testkit::Random;
///
/// let (mut one, mut same) = (Random::new(7), Random::new(7));
/// assert!((0..100).all(|_| one.below(6) == same.below(6)));
/// ```
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// The numbers of this seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Random(seed)
    }

    /// A number below `limit`.
    ///
    /// # Panics
    /// When `limit` is 0.
    #[allow(
        clippy::cast_possible_truncation,
        reason = "the remainder is below limit"
    )]
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(GAMMA);
        (mix(self.0) % limit as u64) as usize
    }
}

/// What a value at a place adds to a checksum, whoever has it. The sum of the marks is the same
/// however values are cut over ranks. No other values or places give it but by chance.
///
/// ```
/// use motet_testkit::mark;
///
/// let sum = |values: &[u64]| (0..).zip(values).map(|(at, &v)| mark(at, v)).fold(0, u64::wrapping_add);
/// assert_eq!(sum(&[7, 8]), mark(1, 8).wrapping_add(mark(0, 7)));
/// assert_ne!(sum(&[7, 8]), sum(&[8, 7]));
/// ```
#[must_use]
pub fn mark(place: usize, value: u64) -> u64 {
    mix(value ^ (place as u64 + 1).wrapping_mul(GAMMA))
}

/// The step of SplitMix64.
const GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;

fn mix(seed: u64) -> u64 {
    let mixed = (seed ^ (seed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

/// Calls `round` with the seeds from 0 to `rounds`, of which a slow machine may do fewer. Then it
/// calls it with further ones, for as many seconds as the environment variable `MOTET_STRESS` says.
/// A test that does so has `stress_` in its name; `cargo xtask stress` runs them all.
pub fn stress(rounds: u64, mut round: impl FnMut(u64)) {
    let start = Instant::now();
    let mut seed = 0;
    while seed < rounds && (seed == 0 || start.elapsed() < ENOUGH) {
        round(seed);
        seed += 1;
    }
    if seed < rounds {
        eprintln!("{seed} of {rounds} rounds took {:?}", start.elapsed());
    }
    let (start, more) = (Instant::now(), stress_time());
    while start.elapsed() < more {
        round(seed);
        seed += 1;
    }
}

/// After so long the rounds that are always done are enough: a test that takes
/// [`patience`](crate::patience()) hangs.
const ENOUGH: Duration = Duration::from_secs(40);

/// How long every stress test goes on: the seconds of `MOTET_STRESS`, else not at all.
pub(crate) fn stress_time() -> Duration {
    let said = std::env::var("MOTET_STRESS").ok();
    let said = said.filter(|seconds| !seconds.is_empty());
    said.map_or(Duration::ZERO, |seconds| {
        let seconds = seconds.parse();
        Duration::from_secs_f64(seconds.expect("MOTET_STRESS is a number of seconds"))
    })
}
