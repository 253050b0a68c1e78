//! Where a peer is better than motet.

use super::causes;
use crate::measuring::{ParameterValue, Point, Row, RowValues};

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
    /// Its values.
    pub motet: RowValues,
    /// The best peer.
    pub peer: &'a str,
    /// Its values.
    pub theirs: RowValues,
    /// By how much it is better; `None` where one of the two is lost in the spread of what it is a
    /// difference of.
    pub factor: Option<f64>,
    /// The values of both overlap, from least to most, or one of them is of one run: it may be
    /// chance.
    pub overlaps: bool,
    /// Either was measured beside other load.
    pub disturbed: bool,
    /// Why, where it is known.
    pub cause: Option<&'static str>,
}

/// All comparisons of the suite.
#[derive(Debug, Clone, PartialEq)]
pub struct Losses<'a> {
    /// Where a peer is better, the most severe first.
    pub losses: Vec<Loss<'a>>,
    /// How many values of motet have a peer's beside them.
    pub compared: usize,
    /// How many more would be compared if one of the two values were not lost in the spread of what
    /// it is a difference of.
    pub untold: usize,
}

/// The losses in one quantity of one form of motet.
#[derive(Debug, Clone, PartialEq)]
pub struct FormLosses<'a, 'l> {
    /// The most severe one.
    pub worst: &'l Loss<'a>,
    /// Points at which a peer is better.
    pub lost: usize,
    /// Those of them where the values of both overlap.
    pub overlapping: usize,
}

/// Quantities from which the others, in the same experiment, are computed: they are no comparison
/// of their own.
const INGREDIENTS: [(&str, &str); 5] = [
    ("run time", "overhead per stage"),
    ("run time in one stage", "overhead per stage"),
    ("run time without copies", "copy bandwidth"),
    ("time of a loop", "overhead per block"),
    ("time", "rate"),
];

/// What an overhead is a difference of: it is compared where the overhead is lost in its spread.
const WHOLES: [(&str, &str); 2] = [
    ("overhead per stage", "run time"),
    ("overhead per block", "time of a loop"),
];

/// Which values are better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Better {
    Less,
    More,
}

/// A row that was measured.
#[derive(Debug, Clone, Copy)]
struct Measured<'a> {
    row: &'a Row,
    values: RowValues,
}

impl<'a> Losses<'a> {
    /// Compares every value of motet with the best peer's at the same point.
    ///
    /// An overhead that reaches 0 in its runs, motet's or the peer's, tells nothing. The run times
    /// it is a difference of are compared in its place, where the experiment has them.
    #[must_use]
    pub fn of(rows: &'a [Row]) -> Losses<'a> {
        let mut all = Losses {
            losses: Vec::new(),
            compared: 0,
            untold: 0,
        };
        for row in rows.iter().filter(|row| row.series.starts_with("motet")) {
            let (Some(motet), Some(better)) = (Measured::of(row), better(row)) else {
                continue;
            };
            if is_ingredient(row, rows) || is_nothing_by_definition(row) {
                continue;
            }
            let (told, lost): (Vec<_>, Vec<_>) = motet
                .peers(rows)
                .partition(|peer| motet.says() && peer.says());
            if let Some(whole) = motet.whole(rows) {
                let wholes = lost.iter().filter_map(|peer| peer.whole(rows));
                all.judge(better, motet, best(better, told));
                all.judge(better, whole, best(better, wholes));
                continue;
            }
            let told = best(better, told);
            match best(better, told.into_iter().chain(lost)) {
                Some(peer) if motet.says() && peer.says() => all.judge(better, motet, Some(peer)),
                Some(peer) if peer.values.most < motet.values.least => {
                    all.compared += 1;
                    all.losses.push(Loss::of(motet, peer, None));
                }
                Some(_) => all.untold += 1,
                None => {}
            }
        }
        let severity = |loss: &Loss<'_>| loss.factor.unwrap_or(0.0);
        all.losses
            .sort_by(|a, b| severity(b).total_cmp(&severity(a)));
        all
    }

    /// Compares two values that tell something.
    fn judge(&mut self, better: Better, motet: Measured<'a>, peer: Option<Measured<'a>>) {
        let Some(peer) = peer else { return };
        self.compared += 1;
        let factor = lost(better, motet.values.median, peer.values.median);
        if factor.is_some() {
            self.losses.push(Loss::of(motet, peer, factor));
        }
    }

    /// The losses by quantity and form of motet, the most severe first.
    #[must_use]
    pub fn groups(&self) -> Vec<FormLosses<'_, '_>> {
        let mut groups: Vec<FormLosses<'_, '_>> = Vec::new();
        for loss in &self.losses {
            let of =
                |loss: &Loss<'_>| [loss.experiment, loss.quantity, loss.series].map(str::to_owned);
            let known = groups.iter().position(|group| of(group.worst) == of(loss));
            let at = known.unwrap_or_else(|| {
                groups.push(FormLosses {
                    worst: loss,
                    lost: 0,
                    overlapping: 0,
                });
                groups.len() - 1
            });
            groups[at].lost += 1;
            groups[at].overlapping += usize::from(loss.overlaps);
        }
        groups
    }
}

impl<'a> Loss<'a> {
    fn of(motet: Measured<'a>, peer: Measured<'a>, factor: Option<f64>) -> Loss<'a> {
        let row = motet.row;
        Loss {
            experiment: &row.experiment,
            point: &row.point,
            quantity: &row.quantity,
            unit: &row.unit,
            series: &row.series,
            motet: motet.values,
            peer: &peer.row.series,
            theirs: peer.values,
            factor,
            overlaps: motet.values.may_be_as(&peer.values),
            disturbed: row.disturbed || peer.row.disturbed,
            cause: causes::of(row, peer.row),
        }
    }
}

impl<'a> Measured<'a> {
    fn of(row: &'a Row) -> Option<Measured<'a>> {
        let values = row.values()?;
        Some(Measured { row, values })
    }

    /// Whether it is no difference that is lost in its spread.
    fn says(&self) -> bool {
        let is_overhead = self.row.quantity.contains("overhead");
        !is_overhead || self.values.least > 0.0
    }

    /// The peers' values of the same thing.
    fn peers(self, rows: &'a [Row]) -> impl Iterator<Item = Measured<'a>> {
        let row = self.row;
        let beside = rows.iter().filter(move |peer| {
            !peer.series.starts_with("motet")
                && row.experiment == peer.experiment
                && row.quantity == peer.quantity
                && row.point == peer.point
        });
        beside.filter_map(Measured::of)
    }

    /// What it is a difference of, of the same program at the same point.
    fn whole(&self, rows: &'a [Row]) -> Option<Measured<'a>> {
        let row = self.row;
        let (_, whole) = WHOLES.iter().find(|(of, _)| *of == row.quantity)?;
        let mut here = rows.iter().filter(|other| {
            other.quantity == *whole
                && other.experiment == row.experiment
                && other.series == row.series
                && other.point == row.point
        });
        here.find_map(Measured::of)
    }
}

impl RowValues {
    /// Whether the values of both overlap, as far as one run can show.
    fn may_be_as(&self, other: &RowValues) -> bool {
        self.runs <= 1 || other.runs <= 1 || (self.least <= other.most && other.least <= self.most)
    }
}

/// By how much motet loses, when it is by more than 10 %.
fn lost(better: Better, motet: f64, peer: f64) -> Option<f64> {
    let factor = match better {
        Better::Less => motet / peer,
        Better::More => peer / motet,
    };
    (factor.is_finite() && factor > MORE).then_some(factor)
}

/// Whether its experiment has quantities that were computed from it.
fn is_ingredient(row: &Row, rows: &[Row]) -> bool {
    let of = INGREDIENTS.iter().filter(|(of, _)| *of == row.quantity);
    let computed = |quantity| {
        let mut here = rows
            .iter()
            .filter(|other| other.experiment == row.experiment);
        here.any(|other| other.quantity == quantity)
    };
    of.into_iter().any(|(_, quantity)| computed(*quantity))
}

/// Whether less of it is better, or more; `None` for what is not good or bad.
fn better(row: &Row) -> Option<Better> {
    // Of the clusterings: a step of annealing is not the work of a step of the peer's.
    if row.quantity == "step per point and cluster" {
        return None;
    }
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
    row.quantity == "overhead per stage"
        && row.point.get("stages") == Some(&ParameterValue::Count(1))
}

/// The best of them.
fn best<'a>(better: Better, of: impl IntoIterator<Item = Measured<'a>>) -> Option<Measured<'a>> {
    let median = |measured: &Measured<'_>| measured.values.median;
    of.into_iter().min_by(|a, b| match better {
        Better::Less => median(a).total_cmp(&median(b)),
        Better::More => median(b).total_cmp(&median(a)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measuring::{RowOutcome, SCHEMA};

    fn row(series: &str, quantity: &str, unit: &str, at: u64, median: f64) -> Row {
        Row {
            schema: SCHEMA,
            experiment: "E06".to_owned(),
            series: series.to_owned(),
            point: Point::new().with("parallel", at),
            quantity: quantity.to_owned(),
            unit: unit.to_owned(),
            outcome: RowOutcome::Measured {
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
        let Losses {
            losses,
            compared,
            untold,
        } = Losses::of(&rows);
        assert_eq!((compared, untold), (3, 0));
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
    fn what_is_lost_in_the_spread_of_run_times_is_not_compared() {
        let f = |series, at, median| row(series, "overhead f", "", at, median);
        let rows = [
            f("motet", 1, 0.4),
            f("peer", 1, 0.05),
            f("other", 1, 0.2),
            f("motet", 2, 0.6),
            f("peer", 2, 0.2),
            f("motet", 4, 0.05),
            f("peer", 4, 0.2),
            f("motet", 5, 0.5),
        ];
        let found = Losses::of(&rows);
        assert_eq!((found.compared, found.untold), (2, 1));
        let told: Vec<_> = found
            .losses
            .iter()
            .map(|loss| (loss.peer, loss.factor.map(f64::round)))
            .collect();
        assert_eq!(told, [("peer", Some(3.0)), ("peer", None)]);
        let lost = found.groups().remove(0);
        assert_eq!((lost.lost, lost.overlapping), (2, 0));
    }

    #[test]
    fn an_overhead_that_is_lost_in_its_spread_is_compared_by_its_run_time() {
        let at = |series, point, overhead, time| {
            [
                row(series, "overhead per stage", "us", point, overhead),
                row(series, "run time", "s", point, time),
            ]
        };
        let rows = [
            // The peer's one stage was slow: its overhead of less than nothing is no gain.
            at("motet", 1, 3.0, 10.0),
            at("peer", 1, -60.0, 10.5),
            // Motet's overhead says nothing, its run time does.
            at("motet", 2, -1.0, 13.0),
            at("peer", 2, 1.0, 10.0),
            // Each peer by what it tells.
            at("motet", 4, 3.0, 10.0),
            at("told", 4, 2.0, 20.0),
            at("lost", 4, 0.05, 5.0),
        ]
        .concat();
        let found = Losses::of(&rows);
        assert_eq!((found.compared, found.untold), (4, 0));
        let told: Vec<_> = found
            .losses
            .iter()
            .map(|loss| (loss.peer, loss.quantity, loss.factor.unwrap()))
            .collect();
        assert_eq!(
            told,
            [
                ("lost", "run time", 2.0),
                ("told", "overhead per stage", 1.5),
                ("peer", "run time", 1.3)
            ]
        );
    }

    #[test]
    fn one_run_may_be_chance() {
        let once = |series, runs| {
            let mut row = row(
                series,
                "latency",
                "us",
                1,
                if runs == 1 { 1.0 } else { 9.0 },
            );
            if let RowOutcome::Measured { runs: of, .. } = &mut row.outcome {
                *of = runs;
            }
            row
        };
        let rows = [once("motet", 5), once("peer", 1)];
        let found = Losses::of(&rows).losses;
        assert!(found[0].overlaps && found[0].theirs.runs == 1);
        let rows = [
            row("motet", "latency", "us", 1, 9.0),
            row("peer", "latency", "us", 1, 1.0),
        ];
        assert!(!Losses::of(&rows).losses[0].overlaps);
    }

    #[test]
    fn steps_of_different_work_are_not_compared() {
        let step = |series, median| row(series, "step per point and cluster", "ns", 1, median);
        let rows = [step("motet", 9.0), step("scikit-learn", 1.0)];
        assert_eq!(Losses::of(&rows).compared, 0);
    }

    #[test]
    fn losses_of_one_quantity_are_one_group() {
        let of = |series, quantity, at, median| row(series, quantity, "us", at, median);
        let rows = [
            of("motet", "time of a loop", 1, 9.0),
            of("peer", "time of a loop", 1, 1.0),
            of("motet", "overhead per block", 1, 9.0),
            of("peer", "overhead per block", 1, 1.0),
            of("motet", "overhead per block", 2, 4.0),
            of("peer", "overhead per block", 2, 1.0),
            of("motet static", "overhead per block", 2, 1.15),
            of("peer", "latency", 2, 1.0),
            of("motet", "latency", 2, 1.15),
        ];
        let found = Losses::of(&rows);
        let groups = found.groups();
        let told: Vec<_> = groups
            .iter()
            .map(|group| {
                (
                    group.worst.quantity,
                    group.worst.factor.unwrap(),
                    group.lost,
                    group.overlapping,
                )
            })
            .collect();
        assert_eq!(
            told,
            [
                ("overhead per block", 9.0, 2, 0),
                ("overhead per block", 1.15, 1, 1),
                ("latency", 1.15, 1, 1)
            ]
        );
    }
}
