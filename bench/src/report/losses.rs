//! Where a peer is better than motet.

use super::causes;
use crate::suite::{Outcome, Point, Row, Value};

/// A peer that is better by more than this is a loss.
const MORE: f64 = 1.1;

/// A point at which a peer is better by more than 10 %.
#[derive(Debug, Clone, PartialEq)]
pub struct Loss<'a> {
    /// The experiment's key.
    pub experiment: &'a str,
    /// Where.
    pub point: &'a Point,
    /// What.
    pub quantity: &'a str,
    /// In what.
    pub unit: &'a str,
    /// Motet, or the form of it.
    pub series: &'a str,
    /// Its median, least and most.
    pub motet: [f64; 3],
    /// The best peer.
    pub peer: &'a str,
    /// Its median, least and most.
    pub theirs: [f64; 3],
    /// By how much it is better; `None` where the peer's values reach 0 or less, so that a ratio says nothing.
    pub factor: Option<f64>,
    /// The values of both overlap, from least to most: it may be chance.
    pub overlaps: bool,
    /// Either was measured beside other load.
    pub disturbed: bool,
    /// Why, where it is known.
    pub cause: Option<&'static str>,
}

/// All comparisons of the suite.
#[derive(Debug, Clone, PartialEq)]
pub struct Losses<'a> {
    /// Where a peer is better, the most severe first; those without a ratio last.
    pub losses: Vec<Loss<'a>>,
    /// How many values of motet have a peer's beside them.
    pub compared: usize,
}

/// Quantities that others of the same experiment are computed from: they are no comparison of their own.
const INGREDIENTS: [&str; 3] = [
    "run time",
    "run time in one stage",
    "run time without copies",
];

/// Which values are better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Better {
    Less,
    More,
}

impl Losses<'_> {
    /// Compares every value of motet with the best peer's at the same point.
    #[must_use]
    pub fn of(rows: &[Row]) -> Losses<'_> {
        let mut losses = Vec::new();
        let mut compared = 0;
        for row in rows.iter().filter(|row| row.series.starts_with("motet")) {
            let (Some(motet), Some(better)) = (values(row), better(row)) else {
                continue;
            };
            if is_ingredient(row, rows) || is_nothing_by_definition(row) {
                continue;
            }
            let peers = rows.iter().filter(|peer| is_beside(row, peer));
            let peers = peers.filter_map(|peer| Some((peer, values(peer)?)));
            let order = |a: &[f64; 3], b: &[f64; 3]| match better {
                Better::Less => a[0].total_cmp(&b[0]),
                Better::More => b[0].total_cmp(&a[0]),
            };
            let Some((peer, theirs)) = peers.min_by(|(_, a), (_, b)| order(a, b)) else {
                continue;
            };
            compared += 1;
            if let Some(factor) = lost(better, motet[0], theirs) {
                losses.push(Loss {
                    experiment: &row.experiment,
                    point: &row.point,
                    quantity: &row.quantity,
                    unit: &row.unit,
                    series: &row.series,
                    motet,
                    peer: &peer.series,
                    theirs,
                    factor: factor.is_finite().then_some(factor),
                    overlaps: motet[1] <= theirs[2] && theirs[1] <= motet[2],
                    disturbed: row.disturbed || peer.disturbed,
                    cause: causes::of(row, peer),
                });
            }
        }
        let severity = |loss: &Loss<'_>| loss.factor.unwrap_or(0.0);
        losses.sort_by(|a, b| severity(b).total_cmp(&severity(a)));
        Losses { losses, compared }
    }
}

/// By how much motet loses, when it is by more than 10 %; infinite when the peer's values reach 0 or less, as those of a
/// subtraction may: then a ratio says nothing.
fn lost(better: Better, motet: f64, [median, least, _]: [f64; 3]) -> Option<f64> {
    let factor = match better {
        Better::Less if motet <= 0.0 => return None,
        Better::Less if least > 0.0 => motet / median,
        Better::Less if motet > MORE * median.max(0.0) => f64::INFINITY,
        Better::Less => return None,
        Better::More if motet > 0.0 => median / motet,
        Better::More => f64::INFINITY,
    };
    (factor > MORE).then_some(factor)
}

/// Whether its experiment has quantities that were computed from it.
fn is_ingredient(row: &Row, rows: &[Row]) -> bool {
    let computed = |other: &&Row| {
        other.experiment == row.experiment
            && matches!(
                other.quantity.as_str(),
                "overhead per stage" | "copy bandwidth"
            )
    };
    INGREDIENTS.contains(&row.quantity.as_str()) && rows.iter().any(|other| computed(&other))
}

/// Whether less of it is better, or more; `None` for what is not good or bad.
fn better(row: &Row) -> Option<Better> {
    let named = |words: &[&str]| words.iter().any(|word| row.quantity.contains(word));
    let per_second = row.unit.ends_with("/s");
    if per_second || named(&["efficiency", "speed", "bandwidth", "rate"]) {
        Some(Better::More)
    } else if matches!(row.unit.as_str(), "ns" | "us" | "ms" | "s")
        || named(&["overhead", "deviation", "fluctuation", "spread", "time"])
    {
        Some(Better::Less)
    } else {
        None
    }
}

/// The overhead of one stage is a run less the same run: noise.
fn is_nothing_by_definition(row: &Row) -> bool {
    row.quantity == "overhead per stage" && row.point.get("stages") == Some(&Value::Count(1))
}

fn values(row: &Row) -> Option<[f64; 3]> {
    match row.outcome {
        Outcome::Measured {
            median,
            least,
            most,
            ..
        } => Some([median, least, most]),
        Outcome::Absent { .. } => None,
    }
}

/// Whether `peer` is another's value of the same thing.
fn is_beside(row: &Row, peer: &Row) -> bool {
    !peer.series.starts_with("motet")
        && row.experiment == peer.experiment
        && row.quantity == peer.quantity
        && row.point == peer.point
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::SCHEMA;

    fn row(series: &str, quantity: &str, unit: &str, at: u64, median: f64) -> Row {
        Row {
            schema: SCHEMA,
            experiment: "E06".to_owned(),
            series: series.to_owned(),
            point: Point::new().with("parallel", at),
            quantity: quantity.to_owned(),
            unit: unit.to_owned(),
            outcome: Outcome::Measured {
                median,
                least: median - 0.1,
                most: median + 0.1,
                runs: 5,
            },
            disturbed: at == 3,
        }
    }

    #[test]
    fn the_best_peer_counts_and_the_most_severe_loss_is_first() {
        let us = |series, at, median| row(series, "overhead per stage", "us", at, median);
        let rows = [
            us("motet", 1, 1.2),
            us("tokio", 1, 1.0),
            us("C", 1, 0.4),
            us("motet ranks", 2, 1.09),
            us("C", 2, 1.0),
            us("motet", 3, 5.0),
            us("C", 3, 0.5),
            us("motet", 4, 9.0),
            us("C", 5, 0.5),
            Row {
                point: Point::new().with("stages", 1),
                ..us("motet", 1, 900.0)
            },
            Row {
                point: Point::new().with("stages", 1),
                ..us("C", 1, 1.0)
            },
        ];
        let Losses { losses, compared } = Losses::of(&rows);
        assert_eq!(compared, 3);
        let told: Vec<_> = losses
            .iter()
            .map(|loss| (loss.peer, loss.factor.unwrap().round(), loss.disturbed))
            .collect();
        assert_eq!(told, [("C", 10.0, true), ("C", 3.0, false)]);
        assert!(!losses[1].overlaps);
    }

    #[test]
    fn more_is_better_for_rates_and_efficiencies() {
        for (quantity, unit) in [
            ("bandwidth", "GB/s"),
            ("messages", "1/s"),
            ("efficiency", ""),
        ] {
            let rows = [
                row("motet", quantity, unit, 1, 1.0),
                row("peer", quantity, unit, 1, 1.15),
                row("other", quantity, unit, 1, 0.2),
            ];
            let found = Losses::of(&rows).losses;
            assert_eq!(found.len(), 1, "{quantity}");
            assert!(found[0].overlaps && found[0].peer == "peer");
        }
        let neither = [
            row("motet", "threads", "", 1, 1.0),
            row("peer", "threads", "", 1, 5.0),
        ];
        assert_eq!(Losses::of(&neither).compared, 0);
    }

    #[test]
    fn a_peer_without_overhead_is_a_loss_without_a_ratio_and_stands_last() {
        let f = |series, at, median| row(series, "overhead f", "", at, median);
        let rows = [
            f("motet", 1, 0.3),
            f("peer", 1, -0.01),
            f("motet", 2, 0.6),
            f("peer", 2, 0.2),
            f("motet", 4, -0.02),
            f("peer", 4, -0.5),
        ];
        let factors: Vec<_> = Losses::of(&rows)
            .losses
            .iter()
            .map(|loss| loss.factor.map(f64::round))
            .collect();
        assert_eq!(factors, [Some(3.0), None]);
    }
}
