//! Pauses before something is tried again. Clients that have failed together come back one by one.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

/// Random numbers of one client.
#[derive(Debug)]
pub(crate) struct Jitter(u64);

impl Jitter {
    /// The numbers of a seed.
    pub(crate) fn seeded(seed: u64) -> Self {
        Jitter(seed)
    }

    /// Numbers that no other client has.
    pub(crate) fn own() -> Self {
        Jitter::seeded(RandomState::new().hash_one(std::process::id()))
    }

    /// Any time from the one to the other.
    pub(crate) fn between(&mut self, least: Duration, most: Duration) -> Duration {
        let share = f64::from(self.draw()) / f64::from(u32::MAX);
        least + most.saturating_sub(least).mul_f64(share)
    }

    /// By SplitMix64.
    fn draw(&mut self) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed >> 32) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_fill_their_span() {
        let [least, most] = [5, 105].map(Duration::from_millis);
        let mut parts = [0; 10];
        for seed in 0..1_000 {
            let pause = Jitter::seeded(seed).between(least, most);
            assert!(pause >= least && pause <= most, "{pause:?}");
            let part = (pause - least).as_millis() as usize / 10;
            parts[part.min(9)] += 1;
        }
        assert!(parts.iter().all(|count| *count > 50), "{parts:?}");
        let same = Jitter::own().between(least, least);
        assert_eq!(same, least);
    }

    #[test]
    fn two_clients_have_numbers_of_their_own() {
        let mut both = [Jitter::own(), Jitter::own()];
        let [one, other] = both
            .each_mut()
            .map(|jitter| [(); 4].map(|()| jitter.draw()));
        assert_ne!(one, other);
    }
}
