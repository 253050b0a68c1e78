//! Random numbers: a stream of each process, a function of the seed, the process and a counter.
//!
//! The counter is a part of the process's state. So what a process draws does not depend on when
//! and where it is run, and a handler that is undone gives its numbers back.

use crate::Time;

/// The finaliser of SplitMix64 (G. Steele, D. Lea and C. Flood, Fast splittable pseudorandom number
/// generators, 2014).
///
/// ```
/// assert_eq!(motet_sim::mix(0), 0);
/// assert_ne!(motet_sim::mix(1), motet_sim::mix(2));
/// ```
#[must_use]
pub fn mix(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

/// The number that process `process` draws when it has drawn `drawn` before.
pub(crate) fn draw(seed: u64, process: u32, drawn: u64) -> u64 {
    let stream = mix(seed ^ u64::from(process).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    mix(stream.wrapping_add(drawn.wrapping_mul(0xd1b5_4a32_d192_ed03)))
}

/// A number in [0, 1), of the 53 highest bits.
pub(crate) fn uniform(drawn: u64) -> f64 {
    (drawn >> 11) as f64 / (1_u64 << 53) as f64
}

/// A time of the exponential distribution with this mean, rounded to whole ticks, from a number in
/// [0, 1).
///
/// # Panics
/// When the mean is negative or no number. An infinite one gives [`Time::MAX`].
#[track_caller]
pub(crate) fn exponential(mean: f64, uniform: f64) -> Time {
    assert!(
        mean >= 0.0,
        "an exponential time has a mean of 0 or more, and the mean is {mean}"
    );
    if mean.is_infinite() {
        return Time::MAX;
    }
    // 1 - u is never 0.
    (-mean * (1.0 - uniform).ln()).round() as Time
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_differ_and_repeat() {
        let take = |seed, process| -> Vec<u64> { (0..4).map(|n| draw(seed, process, n)).collect() };
        assert_eq!(take(7, 3), take(7, 3));
        assert_ne!(take(7, 3), take(7, 4));
        assert_ne!(take(7, 3), take(8, 3));
    }

    #[test]
    fn sem_g595_rounded_exponential_times_have_the_mean_that_is_documented() {
        for mean in [0.3, 0.5, 1.0, 3.0, 10.0_f64] {
            let times = (0..100_000).map(|n| exponential(mean, uniform(draw(5, 0, n))));
            let found = times.sum::<Time>() as f64 / 1e5;
            let known = 0.5 / (0.5 / mean).sinh();
            // The variance is at most that of the time before it is rounded, and a quarter more.
            let deviation = ((mean * mean + 0.25) / 1e5).sqrt();
            assert!((found - known).abs() < 5.0 * deviation, "{found} of {mean}");
        }
        assert_eq!(exponential(0.0, 0.9), 0);
        for endless in [1e300, f64::INFINITY] {
            assert_eq!(exponential(endless, 0.9), Time::MAX);
        }
        assert_eq!(exponential(f64::INFINITY, 0.0), Time::MAX);
    }

    #[test]
    fn uniform_numbers_fill_the_interval() {
        let numbers: Vec<f64> = (0..10_000).map(|n| uniform(draw(1, 0, n))).collect();
        assert!(numbers.iter().all(|number| (0.0..1.0).contains(number)));
        let mean = numbers.iter().sum::<f64>() / 1e4;
        // Four standard deviations of the mean of 10,000 numbers.
        assert!(
            (mean - 0.5).abs() < 4.0 * (1.0 / 12.0 / 1e4_f64).sqrt(),
            "{mean}"
        );
        assert_eq!(uniform(u64::MAX), 1.0 - 1.0 / (1_u64 << 53) as f64);
    }
}
