//! An experiment that is being measured: its cases, and what the rounds so far have given.

use super::case::Case;
use super::load::Elapsed;
use super::row::{Row, RowOutcome, SCHEMA};
use crate::statistics::Spread;
use std::time::Duration;

/// A value for each quantity, or why there is none; nothing of a series that is not asked any more.
pub(super) type Run = Option<Result<Vec<f64>, String>>;

/// The cases of one experiment with what has been measured of them.
#[derive(Debug)]
pub struct CasePlan {
    experiment: &'static str,
    /// Written by the method, which alone knows what a round is.
    pub(super) places: Vec<PlannedCase>,
    /// Rounds that are whole.
    pub(super) rounds: usize,
    /// The time that they took, without runs for nothing.
    pub(super) spent: Duration,
    /// The time that the last of them took.
    pub(super) last: Duration,
}

/// A case, and its runs so far.
#[derive(Debug)]
pub(super) struct PlannedCase {
    pub(super) case: Case,
    /// By series: the values of each run, one for each quantity, or why there are none.
    pub(super) runs: Vec<Result<Vec<Vec<f64>>, String>>,
    /// What went by during the runs that count.
    elapsed: Elapsed,
}

impl CasePlan {
    /// Nothing is measured yet of this experiment, which is named by its key.
    #[must_use]
    pub fn new(experiment: &'static str, cases: Vec<Case>) -> CasePlan {
        let places = cases.into_iter().map(PlannedCase::new);
        CasePlan {
            experiment,
            places: places.collect(),
            rounds: 0,
            spent: Duration::ZERO,
            last: Duration::ZERO,
        }
    }

    /// The experiment's key.
    #[must_use]
    pub fn experiment(&self) -> &'static str {
        self.experiment
    }

    /// How many rounds are whole, and how long they took without runs for nothing.
    #[must_use]
    pub fn measured(&self) -> (usize, Duration) {
        (self.rounds, self.spent)
    }

    /// The time that it will have taken after one more round like the last.
    pub(super) fn next(&self) -> Duration {
        self.spent + self.last
    }

    /// What a series of a case gave of a quantity, round by round, or why nothing.
    pub(crate) fn values(
        &self,
        case: usize,
        series: usize,
        quantity: usize,
    ) -> Result<Vec<f64>, String> {
        let runs = self.places[case].runs[series].as_ref();
        let runs = runs.map_err(Clone::clone)?.iter();
        Ok(runs.map(|run| run[quantity]).collect())
    }

    /// Whether others had too much of the processors while a case was measured.
    pub(crate) fn disturbed(&self, case: usize) -> bool {
        self.places[case].elapsed.disturbed().is_some()
    }

    /// Whether no case has a first series that runs here: there is nothing to compare with.
    pub(super) fn is_hopeless(&self) -> bool {
        let first = |place: &PlannedCase| place.runs.first().is_none_or(Result::is_err);
        self.places.iter().all(first)
    }

    /// A row for each quantity of each series that has been run.
    #[must_use]
    pub fn rows(&self) -> Vec<Row> {
        let places = self.places.iter();
        places
            .flat_map(|place| place.rows(self.experiment))
            .collect()
    }
}

impl PlannedCase {
    fn new(case: Case) -> PlannedCase {
        PlannedCase {
            runs: case.series.iter().map(|_| Ok(Vec::new())).collect(),
            case,
            elapsed: Elapsed::default(),
        }
    }

    /// What a round has given.
    pub(super) fn keep(&mut self, (runs, elapsed): (Vec<Run>, Elapsed)) {
        self.elapsed += elapsed;
        for (kept, run) in self.runs.iter_mut().zip(runs) {
            match (kept, run) {
                (Ok(values), Some(Ok(run))) => values.push(run),
                (kept, Some(Err(reason))) => *kept = Err(reason),
                (_, None | Some(Ok(_))) => {}
            }
        }
    }

    /// Of runs for nothing only the reasons of those that cannot run here.
    pub(super) fn reasons(&mut self, runs: Vec<Run>) {
        let failed = |run: Run| run.filter(Result::is_err);
        self.keep((runs.into_iter().map(failed).collect(), Elapsed::default()));
    }

    fn rows(&self, experiment: &str) -> Vec<Row> {
        let disturbed = self.elapsed.disturbed().is_some();
        let (told, mut rows) = (self.case.told(), Vec::new());
        for (series, runs) in self.case.series.iter().zip(&self.runs) {
            for (at, (point, quantity)) in told.iter().enumerate() {
                let (outcome, disturbed) = match runs {
                    Ok(runs) if runs.is_empty() => continue,
                    Ok(runs) => (
                        measured(&runs.iter().map(|run| run[at]).collect::<Vec<_>>()),
                        disturbed,
                    ),
                    Err(reason) => (
                        RowOutcome::Absent {
                            absent: reason.clone(),
                        },
                        false,
                    ),
                };
                rows.push(Row {
                    schema: SCHEMA,
                    experiment: experiment.to_owned(),
                    series: series.name.clone(),
                    point: point.clone(),
                    quantity: quantity.name.to_owned(),
                    unit: quantity.unit.to_owned(),
                    outcome,
                    disturbed,
                });
            }
        }
        rows
    }
}

fn measured(values: &[f64]) -> RowOutcome {
    let Spread { median, min, max } = Spread::of(values);
    RowOutcome::Measured {
        median,
        least: min,
        most: max,
        runs: values.len(),
    }
}
