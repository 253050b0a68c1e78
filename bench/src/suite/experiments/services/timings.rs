//! A histogram of single timings of a group of messages (P0 figure 13 b).

use super::calls::{CallKind, timings_on_motet, timings_on_tokio};
use crate::measuring::{Case, Point, Quantity, Setting};
use std::rc::Rc;

/// As many timings as the paper's histogram has.
const TIMINGS: usize = 30;
/// Messages of a group, groups of a timing, and groups before it.
const MESSAGES: [usize; 3] = [200, 1, 1];

/// Where the bins begin, in microseconds of a message: ten for a factor of ten. The first has also
/// what is below it, the last all that is above.
const BINS: [f64; 31] = [
    0.04, 0.05, 0.063, 0.08, 0.1, 0.125, 0.16, 0.2, 0.25, 0.315, 0.4, 0.5, 0.63, 0.8, 1.0, 1.25,
    1.6, 2.0, 2.5, 3.15, 4.0, 5.0, 6.3, 8.0, 10.0, 12.5, 16.0, 20.0, 25.0, 31.5, 40.0,
];

/// How many of the timings of one run lie in each bin.
pub(super) fn histogram(setting: &Setting) -> Case {
    let motet = |kind| move || timings_on_motet(kind, TIMINGS, MESSAGES).map(|us| counts(&us));
    let go = Rc::clone(&setting.go);
    let count = Quantity::new("count of 30 timings", "");
    Case::new(Point::new().with("messages", MESSAGES[0]), &[count])
        .over("microseconds", BINS)
        .with("motet, Get", motet(CallKind::Get))
        .with("motet", motet(CallKind::Update))
        .with("motet, whole", motet(CallKind::Whole))
        .with("motet, async", motet(CallKind::Async))
        .beside(setting, "tokio", move || {
            timings_on_tokio(true, TIMINGS, MESSAGES).map(|us| counts(&us))
        })
        .beside(setting, "Go", move || {
            let us = go.get()?.timings(TIMINGS, MESSAGES[0])?;
            Ok(counts(&us))
        })
}

/// How many of these lie in each bin.
fn counts(us: &[f64]) -> Vec<f64> {
    let mut counts = vec![0.0; BINS.len()];
    for us in us {
        let begun = BINS.partition_point(|begin| begin <= us);
        counts[begun.saturating_sub(1)] += 1.0;
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measuring::MeasuringConfig;

    #[test]
    fn every_timing_lies_in_one_bin() {
        assert!(BINS.is_sorted());
        let counts = counts(&[0.01, 0.04, 0.0499, 0.05, 1.1, 39.0, 40.0, 1e6]);
        let some = [0, 1, 14, 29, 30].map(|bin| counts[bin]);
        assert_eq!(some, [3.0, 1.0, 1.0, 1.0, 2.0]);
        assert_eq!(counts.iter().sum::<f64>(), 8.0);
    }

    #[test]
    fn each_run_has_thirty_timings() {
        let setting = Setting::new(MeasuringConfig {
            peers: Some(vec!["tokio".to_owned()]),
            ..MeasuringConfig::default()
        });
        let mut case = histogram(&setting);
        assert_eq!(case.told().len(), BINS.len());
        let names: Vec<&str> = case.series.iter().map(|one| one.name.as_str()).collect();
        let expected = [
            "motet, Get",
            "motet",
            "motet, whole",
            "motet, async",
            "tokio",
        ];
        assert_eq!(names, expected);
        for series in &mut case.series {
            let counts = (series.program)().unwrap();
            assert_eq!(counts.len(), BINS.len(), "{}", series.name);
            assert_eq!(counts.iter().sum::<f64>(), 30.0, "{}", series.name);
        }
    }
}
