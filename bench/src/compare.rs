//! Two runs of the suite, row by row: what has changed beyond the spread of its own runs.

use crate::measuring::{Row, RowValues};
use crate::results::Results;
use serde::Serialize;
use std::collections::HashMap;

/// What two runs say of each other.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Comparison {
    /// Rows that both have, each with several runs in the first.
    pub rows: usize,
    /// Rows that both have, with one run in the first: nobody knows their spread.
    pub single: usize,
    /// Those of [`rows`](Comparison::rows) whose medians differ by more than the first one's least
    /// and most, the furthest first.
    pub apart: Vec<Apart>,
}

/// A row that differs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Apart {
    /// The row in the first run.
    pub row: Row,
    /// Its median in the second.
    pub median: f64,
    /// The second median over the first, where both are above 0.
    pub ratio: Option<f64>,
    /// The difference over the distance of least and most.
    pub bands: f64,
}

/// Compares a run with another one of the same experiments.
///
/// A row agrees when its medians differ by no more than the distance of its least and most in
/// `first`. An idle machine should give that for nearly all rows of two runs of one program.
///
/// ```
/// use motet_bench::compare::compare;
/// use motet_bench::results::Results;
///
/// let run = |median: f64| Results {
///     rows: vec![serde_json::from_str(&format!(
///         r#"{{"schema":1,"experiment":"E01","series":"motet","point":{{}},"quantity":"time","unit":"us","median":{median},"least":1.0,"most":2.0,"runs":5}}"#
///     )).unwrap()],
///     machine: None,
///     cut_off: false,
///     beside: None,
/// };
/// assert!(compare(&run(1.5), &run(2.25)).apart.is_empty());
/// assert_eq!(compare(&run(1.5), &run(4.5)).apart[0].ratio, Some(3.0));
/// ```
#[must_use]
pub fn compare(first: &Results, second: &Results) -> Comparison {
    let there: HashMap<_, _> = second.rows.iter().map(|row| (row.name(), row)).collect();
    let mut all = Comparison::default();
    for row in &first.rows {
        let other = there.get(&row.name()).and_then(|other| other.values());
        let (Some(before), Some(RowValues { median, .. })) = (row.values(), other) else {
            continue;
        };
        if before.runs < 2 {
            all.single += 1;
            continue;
        }
        all.rows += 1;
        let band = before.most - before.least;
        let before = before.median;
        let difference = (median - before).abs();
        if difference > band {
            all.apart.push(Apart {
                row: row.clone(),
                median,
                ratio: (before > 0.0 && median > 0.0).then_some(median / before),
                bands: difference / band.max(f64::MIN_POSITIVE),
            });
        }
    }
    all.apart.sort_by(|a, b| b.bands.total_cmp(&a.bands));
    all
}

impl Comparison {
    /// The share of the rows that agree; `None` without rows.
    #[must_use]
    pub fn agreement(&self) -> Option<f64> {
        (self.rows > 0).then(|| 1.0 - self.apart.len() as f64 / self.rows as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measuring::{Point, RowOutcome, SCHEMA};

    fn row(series: &str, (least, median, most): (f64, f64, f64), runs: usize) -> Row {
        Row {
            schema: SCHEMA,
            experiment: "E06".to_owned(),
            series: series.to_owned(),
            point: Point::new().with("threads", 2),
            quantity: "overhead per stage".to_owned(),
            unit: "us".to_owned(),
            outcome: RowOutcome::Measured {
                median,
                least,
                most,
                runs,
            },
            disturbed: false,
        }
    }

    fn results(rows: Vec<Row>) -> Results {
        Results {
            rows,
            machine: None,
            cut_off: false,
            beside: None,
        }
    }

    #[test]
    fn rows_agree_within_their_own_band() {
        let first = results(vec![
            row("near", (1.0, 1.5, 2.0), 5),
            row("far", (1.0, 1.5, 2.0), 5),
            row("further", (-0.1, 0.0, 0.1), 3),
            row("single", (1.0, 1.0, 1.0), 1),
            row("gone", (1.0, 1.0, 1.0), 5),
        ]);
        let second = results(vec![
            row("further", (0.9, 1.0, 1.1), 5),
            row("single", (9.0, 9.0, 9.0), 5),
            row("near", (2.0, 2.5, 3.0), 5),
            row("far", (2.0, 3.0, 3.0), 5),
            row("new", (1.0, 1.0, 1.0), 5),
        ]);
        let all = compare(&first, &second);
        assert_eq!((all.rows, all.single), (3, 1));
        let apart = all.apart.iter().map(|a| (a.row.series.as_str(), a.ratio));
        // The furthest first; a ratio to 0 says nothing.
        let expected = [("further", None), ("far", Some(2.0))];
        assert_eq!(apart.collect::<Vec<_>>(), expected);
        assert_eq!(all.agreement(), Some(1.0 - 2.0 / 3.0));
        assert_eq!(compare(&first, &results(Vec::new())).agreement(), None);
        assert_eq!(compare(&first, &first).agreement(), Some(1.0));
    }
}
