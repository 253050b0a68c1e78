//! Rates: how many tasks a queue takes in a span of time.
//!
//! CCR compares the average over the queue's whole life with the limit, so that a long silence pays
//! for any burst. Here a token bucket decides, kept as one number: the time at which the bucket is
//! full again (the generic cell rate algorithm).

use motet_sync::atomic::{AtomicU64, Ordering};
use std::fmt;
use std::num::NonZeroU32;
use std::time::Duration;

/// A limit of the rate at which a queue takes tasks: a token bucket. A token comes every interval,
/// the bucket holds `burst` of them, each task takes one. So in any span of time no more tasks are
/// taken than the intervals in it, and a burst.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    interval: Duration,
    burst: NonZeroU32,
}

/// A rate that cannot be.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum RateError {
    /// Not above zero, or not a number.
    NotPositive(f64),
    /// An interval between two tasks that is shorter than a nanosecond, or longer than a year.
    OutOfRange(f64),
}

/// Longer intervals are taken for a mistake.
const LONGEST: Duration = Duration::from_secs(366 * 24 * 3600);

impl Rate {
    /// So many tasks per second, one at a time.
    ///
    /// # Errors
    /// [`RateError`] when the rate is zero, negative, not a number, above 10⁹ or below one a year.
    ///
    /// ```
    /// use motet_dispatch::{Rate, RateError};
    ///
    /// assert_eq!(Rate::per_second(10.0).unwrap().interval().as_millis(), 100);
    /// assert_eq!(Rate::per_second(0.0), Err(RateError::NotPositive(0.0)));
    /// ```
    pub fn per_second(tasks: f64) -> Result<Self, RateError> {
        if tasks.is_nan() || tasks <= 0.0 {
            return Err(RateError::NotPositive(tasks));
        }
        let interval = Duration::try_from_secs_f64(tasks.recip())
            .ok()
            .filter(|span| (Duration::from_nanos(1)..=LONGEST).contains(span));
        match interval {
            Some(interval) => Ok(Rate {
                interval,
                burst: NonZeroU32::MIN,
            }),
            None => Err(RateError::OutOfRange(tasks)),
        }
    }

    /// The same rate, with up to `burst` tasks at once after a silence.
    #[must_use]
    pub fn with_burst(self, burst: NonZeroU32) -> Self {
        Rate { burst, ..self }
    }

    /// The time between two tasks at this rate.
    #[must_use]
    pub fn interval(&self) -> Duration {
        self.interval
    }

    /// The number of tasks that may come at once after a silence.
    #[must_use]
    pub fn burst(&self) -> NonZeroU32 {
        self.burst
    }
}

impl fmt::Display for RateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RateError::NotPositive(rate) => {
                write!(
                    f,
                    "a rate of {rate} tasks per second: it must be above zero"
                )
            }
            RateError::OutOfRange(rate) => write!(
                f,
                "a rate of {rate} tasks per second: it must be between one a year and 10⁹ per second"
            ),
        }
    }
}

impl std::error::Error for RateError {}

/// The bucket. Times are nanoseconds since any fixed moment.
#[derive(Debug)]
pub(crate) struct TokenBucket {
    /// When the bucket would be full if nothing more were taken.
    full_at: AtomicU64,
    interval: u64,
    /// How far `full_at` may lie ahead when a token is taken.
    slack: u64,
}

impl TokenBucket {
    pub(crate) fn new(rate: Rate) -> Self {
        // No more than a year: it fits.
        let interval = u64::try_from(rate.interval.as_nanos()).unwrap_or(u64::MAX);
        TokenBucket {
            full_at: AtomicU64::new(0),
            interval,
            slack: interval.saturating_mul(u64::from(rate.burst.get() - 1)),
        }
    }

    /// Takes a token; the error says when there will be one.
    pub(crate) fn take(&self, now: u64) -> Result<(), u64> {
        let mut full_at = self.full_at.load(Ordering::Relaxed);
        loop {
            let earliest = full_at.saturating_sub(self.slack);
            if now < earliest {
                return Err(earliest);
            }
            let next = full_at.max(now).saturating_add(self.interval);
            match self
                .full_at
                .compare_exchange(full_at, next, Ordering::AcqRel, Ordering::Relaxed)
            {
                Ok(_) => return Ok(()),
                Err(changed) => full_at = changed,
            }
        }
    }

    /// Puts a token back that was not used. Each take has moved `full_at` by an interval at least.
    pub(crate) fn give_back(&self) {
        self.full_at.fetch_sub(self.interval, Ordering::AcqRel);
    }
}

#[cfg(all(test, not(motet_loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bucket(per_second: f64, burst: u32) -> TokenBucket {
        let rate = Rate::per_second(per_second).unwrap();
        TokenBucket::new(rate.with_burst(NonZeroU32::new(burst).unwrap()))
    }

    const MS: u64 = 1_000_000;

    #[test]
    fn ccr_101_one_each_interval_and_no_second_at_once() {
        let bucket = bucket(10.0, 1);
        for i in 0..20 {
            assert_eq!(bucket.take(i * 120 * MS), Ok(()));
            assert!(bucket.take(i * 120 * MS + MS).is_err());
        }
    }

    #[test]
    fn ccr_102_a_rate_that_is_not_above_zero_is_an_error() {
        for wrong in [0.0, -0.0, -1.0, f64::NEG_INFINITY] {
            assert_eq!(
                Rate::per_second(wrong),
                Err(RateError::NotPositive(wrong)),
                "{wrong}"
            );
        }
        assert!(Rate::per_second(f64::NAN).is_err());
        for wrong in [f64::INFINITY, 1e10, 1e-9] {
            let error = Rate::per_second(wrong).unwrap_err();
            assert_eq!(error, RateError::OutOfRange(wrong));
            assert!(error.to_string().contains("between one a year and 10⁹"));
        }
    }

    #[test]
    fn sem_g46_a_long_silence_does_not_pay_for_a_burst() {
        let bucket = bucket(10.0, 1);
        let hours = 10 * 3600 * 1000 * MS;
        assert_eq!(bucket.take(hours), Ok(()));
        assert_eq!(bucket.take(hours), Err(hours + 100 * MS));
    }

    #[test]
    fn a_burst_is_what_was_asked_for() {
        let bucket = bucket(10.0, 3);
        let at_once = (0..10).filter(|_| bucket.take(5 * MS).is_ok()).count();
        assert_eq!(at_once, 3);
        assert_eq!(bucket.take(6 * MS), Err(105 * MS));
        assert_eq!(bucket.take(105 * MS), Ok(()));
    }

    #[test]
    fn what_is_given_back_can_be_taken() {
        let bucket = bucket(10.0, 1);
        assert_eq!(bucket.take(0), Ok(()));
        bucket.give_back();
        assert_eq!(bucket.take(0), Ok(()));
        assert!(bucket.take(0).is_err());
    }

    proptest! {
        /// In any span there are no more than the intervals in it and a burst. What is refused can
        /// be had at the time that is named.
        #[test]
        fn any_window_holds_no_more_than_the_rate(
            burst in 1..5_u32,
            steps in proptest::collection::vec(0..300 * MS, 1..60),
        ) {
            let bucket = bucket(10.0, burst);
            let (mut now, mut taken) = (0, Vec::new());
            for step in steps {
                now += step;
                match bucket.take(now) {
                    Ok(()) => taken.push(now),
                    Err(when) => {
                        prop_assert!(when > now);
                        prop_assert!(bucket.take(when - 1).is_err());
                    }
                }
            }
            for (i, from) in taken.iter().enumerate() {
                for (j, to) in taken.iter().enumerate().skip(i) {
                    let most = (to - from) / (100 * MS) + u64::from(burst);
                    prop_assert!((j - i + 1) as u64 <= most);
                }
            }
        }
    }
}
