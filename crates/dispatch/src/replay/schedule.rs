//! Where the decisions of a replay come from: a seed, or a script.

/// One decision of a replay between several ways to go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Decision {
    /// Which way was taken; 0 is the default.
    pub taken: u32,
    /// How many there were, at least two.
    pub of: u32,
}

/// Makes the decisions and remembers them.
#[derive(Debug)]
pub(super) struct Schedule {
    random: SplitMix64,
    script: Option<Vec<u32>>,
    made: Vec<Decision>,
}

impl Schedule {
    pub(super) fn new(seed: u64, script: Option<Vec<u32>>) -> Self {
        Schedule {
            random: SplitMix64(seed),
            script,
            made: Vec::new(),
        }
    }

    /// Decides for one of `of` ways. Where there is only one there is nothing to decide, or to
    /// remember.
    pub(super) fn decide(&mut self, of: usize) -> usize {
        if of < 2 {
            return 0;
        }
        let of = u32::try_from(of).unwrap_or(u32::MAX);
        let taken = match &self.script {
            // Another program, or a script that was changed, may leave fewer ways than there were.
            Some(script) => script
                .get(self.made.len())
                .map_or(0, |&way| way.min(of - 1)),
            None => self.random.below(of),
        };
        self.made.push(Decision { taken, of });
        taken as usize
    }

    pub(super) fn made(&self) -> &[Decision] {
        &self.made
    }
}

/// Steele, Lea and Flood's generator: every seed is a good one, and the state is one number.
#[derive(Debug)]
struct SplitMix64(u64);

impl SplitMix64 {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `limit`. Taken from the high bits by multiplication: no number is favoured by
    /// more than 2⁻³² of its share.
    fn below(&mut self, limit: u32) -> u32 {
        let high = self.next() >> 32;
        #[allow(clippy::cast_possible_truncation, reason = "less than `limit`")]
        let below = ((high * u64::from(limit)) >> 32) as u32;
        below
    }
}

#[cfg(all(test, not(motet_loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_generator_is_the_published_one() {
        // The first numbers for seed 1234567, as published with the reference implementation.
        let mut random = SplitMix64(1_234_567);
        assert_eq!(
            [random.next(), random.next(), random.next()],
            [
                6_457_827_717_110_365_317,
                3_203_168_211_198_807_973,
                9_817_491_932_198_370_423
            ]
        );
    }

    #[test]
    fn decisions_are_spread_evenly() {
        let mut schedule = Schedule::new(7, None);
        let mut counts = [0; 5];
        (0..50_000).for_each(|_| counts[schedule.decide(5)] += 1);
        assert!(
            counts.iter().all(|count| (9_500..10_500).contains(count)),
            "{counts:?}"
        );
    }

    #[test]
    fn a_script_is_followed_as_far_as_it_goes() {
        let mut schedule = Schedule::new(7, Some(vec![2, 9]));
        assert_eq!([3, 1, 3, 3].map(|of| schedule.decide(of)), [2, 0, 2, 0]);
        let taken: Vec<_> = schedule
            .made()
            .iter()
            .map(|decision| decision.taken)
            .collect();
        assert_eq!(
            taken,
            [2, 2, 0],
            "where there is one way nothing is decided"
        );
    }
}
