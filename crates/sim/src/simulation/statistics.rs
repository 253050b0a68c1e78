//! Statistics of what is observed.

use crate::Time;

/// Mean, variance and extremes of observations (B. Welford, 1962).
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Tally {
    count: u64,
    mean: f64,
    squares: f64,
    least: f64,
    most: f64,
}

impl Tally {
    /// Adds an observation.
    pub fn add(&mut self, value: f64) {
        self.count += 1;
        let before = value - self.mean;
        self.mean += before / self.count as f64;
        self.squares += before * (value - self.mean);
        (self.least, self.most) = match self.count {
            1 => (value, value),
            _ => (self.least.min(value), self.most.max(value)),
        };
    }

    /// The number of observations.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Their mean; 0 of none.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// Their variance, as of a sample; 0 of less than two.
    #[must_use]
    pub fn variance(&self) -> f64 {
        match self.count {
            0 | 1 => 0.0,
            count => self.squares / (count - 1) as f64,
        }
    }

    /// The least; 0 of none.
    #[must_use]
    pub fn least(&self) -> f64 {
        self.least
    }

    /// The greatest; 0 of none.
    #[must_use]
    pub fn most(&self) -> f64 {
        self.most
    }
}

/// A value that changes at times, averaged over time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TimeWeighted {
    begin: Time,
    since: Time,
    value: f64,
    area: f64,
}

impl TimeWeighted {
    /// This value from now on.
    #[must_use]
    pub fn new(now: Time, value: f64) -> Self {
        TimeWeighted {
            begin: now,
            since: now,
            value,
            area: 0.0,
        }
    }

    /// The value changes now.
    ///
    /// # Panics
    /// When that is before its last change.
    pub fn set(&mut self, now: Time, value: f64) {
        self.area = self.area_until(now);
        (self.since, self.value) = (now, value);
    }

    /// The mean until now; the value if no time has passed.
    ///
    /// # Panics
    /// When that is before its last change.
    #[must_use]
    pub fn mean(&self, now: Time) -> f64 {
        let area = self.area_until(now);
        match now - self.begin {
            0 => self.value,
            span => area / span as f64,
        }
    }

    fn area_until(&self, now: Time) -> f64 {
        let Some(span) = now.checked_sub(self.since) else {
            panic!(
                "a value that has changed at time {} cannot be averaged at time {now}, before that",
                self.since
            );
        };
        self.area + self.value * span as f64
    }

    /// Forgets what was before now: the end of a warm-up.
    pub fn restart(&mut self, now: Time) {
        *self = TimeWeighted::new(now, self.value);
    }
}

/// Means of batches of successive observations, which depend on each other less than these do; the
/// first are left out.
///
/// ```
/// use motet_sim::BatchMeans;
///
/// let mut batches = BatchMeans::new(10, 5);
/// (0..60).for_each(|value| batches.add(f64::from(value % 10)));
/// assert_eq!(batches.batches(), 10);
/// assert_eq!(batches.mean(), 4.5);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct BatchMeans {
    warm_up: u64,
    size: u64,
    batch: Tally,
    means: Tally,
}

impl BatchMeans {
    /// Leaves out so many observations, then makes batches of `size`.
    ///
    /// # Panics
    /// When `size` is 0.
    #[must_use]
    pub fn new(warm_up: u64, size: u64) -> Self {
        assert!(size > 0, "a batch has one observation or more");
        BatchMeans {
            warm_up,
            size,
            batch: Tally::default(),
            means: Tally::default(),
        }
    }

    /// Adds an observation.
    pub fn add(&mut self, value: f64) {
        if self.warm_up > 0 {
            self.warm_up -= 1;
            return;
        }
        self.batch.add(value);
        if self.batch.count() == self.size {
            self.means.add(self.batch.mean());
            self.batch = Tally::default();
        }
    }

    /// The number of full batches.
    #[must_use]
    pub fn batches(&self) -> u64 {
        self.means.count()
    }

    /// The mean over full batches.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.means.mean()
    }

    /// The standard error of the mean, from how batches differ; 0 of less than two, which tell
    /// nothing of it.
    #[must_use]
    pub fn standard_error(&self) -> f64 {
        (self.means.variance() / self.means.count().max(1) as f64).sqrt()
    }
}
