//! How long operations take, as counts of spans: a fixed room for each operation, made when it is
//! first called.

use motet_sync::atomic::{AtomicU64, Ordering};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::OnceLock;
use std::time::Duration;

/// How long the calls of an operation have taken, from being posted until the handler's end: with
/// the time in which they waited. Quantiles are right to 7 %.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct OperationLatency {
    /// The operation; `get`, `replace` and `patch` too. Empty: all of them.
    pub operation: String,
    /// Calls. Of those that workers carry out where they are called one in 32 is measured, and
    /// counts for 32.
    pub count: u64,
    /// Microseconds of all of them.
    pub total_us: f64,
    /// Half of them took no more microseconds.
    pub p50_us: f64,
    /// 99 of 100 took no more.
    pub p99_us: f64,
}

/// Spans of the operations of a service.
pub(crate) struct Latencies(Box<[OnceLock<Spans>]>);

/// Spans, as counts: eight to each doubling, from single nanoseconds to a minute and more.
struct Spans {
    counts: Box<[AtomicU64]>,
    total: AtomicU64,
}

const COUNTS: usize = 280;

/// Of calls that are carried out at once one in so many is measured: to read the clock takes as
/// long as they do.
pub(crate) const ONE_IN: u64 = 32;

/// Whether the call is measured before which there were so many. The numbers are mixed (D. E.
/// Knuth, The Art of Computer Programming 3, section 6.4). So operations which are called in turn
/// are all measured.
pub(crate) fn is_measured(before: u64) -> bool {
    const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
    let mixed = before.wrapping_mul(GOLDEN);
    (mixed ^ mixed >> 32).wrapping_mul(GOLDEN) < u64::MAX / ONE_IN
}

impl Latencies {
    pub(crate) fn new(operations: usize) -> Self {
        Latencies((0..operations).map(|_| OnceLock::new()).collect())
    }

    /// Calls of the operation at this place have taken so long, so many of them.
    pub(crate) fn note(&self, place: usize, span: Duration, calls: u64) {
        let spans = self.0[place].get_or_init(Spans::new);
        let nanoseconds = u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
        // Relaxed, here and below: nobody concludes anything else from them.
        spans.counts[at(nanoseconds)].fetch_add(calls, Ordering::Relaxed);
        spans
            .total
            .fetch_add(nanoseconds.saturating_mul(calls), Ordering::Relaxed);
    }

    /// What is known: of all operations together, and of each that has been called.
    pub(crate) fn look(&self, names: impl Iterator<Item = &'static str>) -> Vec<OperationLatency> {
        let (mut all, mut sum) = (vec![0; COUNTS], 0);
        let mut told = Vec::new();
        for (name, spans) in names.zip(&self.0) {
            let Some(spans) = spans.get() else { continue };
            let counts = spans
                .counts
                .iter()
                .map(|count| count.load(Ordering::Relaxed));
            let (counts, total): (Vec<u64>, _) =
                (counts.collect(), spans.total.load(Ordering::Relaxed));
            all.iter_mut()
                .zip(&counts)
                .for_each(|(all, count)| *all += count);
            sum += total;
            told.push(of(name, &counts, total));
        }
        if !told.is_empty() {
            told.insert(0, of("", &all, sum));
        }
        told
    }
}

impl Spans {
    fn new() -> Self {
        Spans {
            counts: (0..COUNTS).map(|_| AtomicU64::new(0)).collect(),
            total: AtomicU64::new(0),
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "they are told to four digits")]
fn of(name: &str, counts: &[u64], total: u64) -> OperationLatency {
    let count: u64 = counts.iter().sum();
    let quantile = |share: f64| {
        let wanted = (count as f64 * share).ceil();
        let mut passed = 0.0;
        let place = counts.iter().position(|count| {
            passed += *count as f64;
            passed >= wanted
        });
        middle(place.unwrap_or(0)) / 1e3
    };
    OperationLatency {
        operation: name.to_owned(),
        count,
        total_us: total as f64 / 1e3,
        p50_us: quantile(0.5),
        p99_us: quantile(0.99),
    }
}

/// The place of a span.
fn at(nanoseconds: u64) -> usize {
    if nanoseconds < 8 {
        return nanoseconds as usize;
    }
    let doublings = nanoseconds.ilog2();
    let part = (nanoseconds >> (doublings - 3)) & 7;
    ((doublings as usize - 2) * 8 + part as usize).min(COUNTS - 1)
}

/// The nanoseconds in the middle of a place.
fn middle(place: usize) -> f64 {
    if place < 8 {
        return place as f64;
    }
    let width = 2f64.powi(i32::try_from(place / 8).unwrap_or(i32::MAX) - 1);
    ((8 + place % 8) as f64 + 0.5) * width
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_found_again_to_seven_percent() {
        for nanoseconds in [0, 1, 7, 8, 9, 100, 999, 12_345, 1 << 20, 60_000_000_000] {
            let found = middle(at(nanoseconds));
            let error = (found - nanoseconds as f64).abs();
            assert!(error <= 0.07 * nanoseconds as f64, "{nanoseconds}: {found}");
        }
        assert_eq!(at(u64::MAX), COUNTS - 1);
    }

    #[test]
    fn one_call_in_thirty_two_is_measured_also_of_those_at_equal_distances() {
        let measured = (0..320_000).filter(|&before| is_measured(before)).count();
        assert!(measured.abs_diff(10_000) < 300, "{measured}");
        for step in 1..=64 {
            for first in 0..step {
                let mut calls = (0..400).map(|turn| first + step * turn);
                assert!(calls.any(is_measured), "{first}, each {step}");
            }
        }
    }

    #[test]
    fn quantiles_are_those_of_what_was_noted() {
        let latencies = Latencies::new(3);
        for us in 1..=1000 {
            latencies.note(1, Duration::from_micros(us), 1);
        }
        latencies.note(2, Duration::from_millis(5), 1000);
        let told = latencies.look(["a", "b", "c"].into_iter());
        let names: Vec<&str> = told.iter().map(|one| &*one.operation).collect();
        assert_eq!(names, ["", "b", "c"]);
        assert_eq!(
            (told[0].count, told[1].count, told[2].count),
            (2000, 1000, 1000)
        );
        let near = |found: f64, right: f64| (found / right - 1.0).abs() < 0.07;
        assert!(
            near(told[1].p50_us, 500.0) && near(told[1].p99_us, 990.0),
            "{told:?}"
        );
        assert!(near(told[0].p99_us, 5000.0), "{told:?}");
        assert_eq!(told[1].total_us, 500_500.0);
    }
}
