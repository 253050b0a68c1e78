//! How much longer than asked for timers take.

use std::time::Duration;

/// What the spans of timers are multiplied by (CCR's `Timescale`). With 2 a timer of 100 ms comes
/// after 200 ms, with 0.5 after 50 ms. Simulations run slower or faster by it. 1 unless said
/// otherwise.
///
/// ```
/// use motet_dispatch::{Dispatcher, Enqueue, QueueConfig, Timescale};
///
/// let dispatcher = Dispatcher::new(1);
/// let config = QueueConfig { timescale: Timescale::new(0.5), ..QueueConfig::named("twice as fast") };
/// assert_eq!(dispatcher.queue(config).clock().timescale(), Timescale::new(0.5));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Timescale(f64);

impl Timescale {
    /// Multiplies spans by `factor`.
    ///
    /// # Panics
    /// When the factor is negative, infinite or not a number.
    #[must_use]
    pub fn new(factor: f64) -> Self {
        assert!(
            factor.is_finite() && factor >= 0.0,
            "a timescale of {factor}: it must be zero or positive, and finite"
        );
        // The positive zero: equal timescales have equal bits.
        Timescale(factor + 0.0)
    }

    /// The factor.
    #[must_use]
    pub fn factor(self) -> f64 {
        self.0
    }

    /// The span, multiplied; as long as can be told when that would be longer.
    #[must_use]
    pub fn of(self, span: Duration) -> Duration {
        if self == Timescale::default() {
            // Exact, however long.
            return span;
        }
        Duration::try_from_secs_f64(span.as_secs_f64() * self.0).unwrap_or(Duration::MAX)
    }

    /// Both, one after the other.
    pub(crate) fn times(self, other: Self) -> Self {
        Timescale((self.0 * other.0).min(f64::MAX))
    }
}

impl Default for Timescale {
    fn default() -> Self {
        Timescale(1.0)
    }
}

// A factor is never NaN, so it equals itself.
impl Eq for Timescale {}

#[cfg(all(test, not(motet_loom)))]
mod tests {
    use super::*;

    #[test]
    fn spans_are_multiplied() {
        let span = Duration::from_millis(100);
        assert_eq!(Timescale::default().of(Duration::MAX), Duration::MAX);
        assert_eq!(Timescale::new(2.0).of(span), span * 2);
        assert_eq!(Timescale::new(0.0).of(span), Duration::ZERO);
        assert_eq!(Timescale::new(f64::MAX).of(span), Duration::MAX);
        assert_eq!(
            Timescale::new(4.0).times(Timescale::new(0.5)).of(span),
            span * 2
        );
        let most = Timescale::new(f64::MAX);
        assert_eq!(most.times(most), most);
    }

    #[test]
    #[should_panic(expected = "a timescale of -1")]
    fn a_negative_one_is_refused() {
        let _ = Timescale::new(-1.0);
    }
}
