//! How every case is measured: once for all experiments.
//!
//! Each program runs once for nothing, then motet's and the peers' in turn, round after round, so that a change of the
//! machine hits all of them. A row is the median of the rounds with the least and the most. An experiment has a
//! budget of time; a case gets its share of what is left and stops repeating when it is spent. What the other processes and
//! the host had of the processors meanwhile is read before and after: when it was too much the case is measured
//! again if there is time left, and when it was too much again its rows say so.

use super::case::{Case, Series};
use super::load::{Reading, System, Watch};
use super::row::{Outcome, Row, SCHEMA};
use crate::selection::Effort;
use crate::statistics::Spread;
use std::fmt;
use std::time::{Duration, Instant};

/// How often, and how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Method {
    /// All cases of an experiment together, about.
    pub budget: Duration,
    /// Rounds at least, if the budget allows more than one.
    pub least: usize,
    /// Rounds at most.
    pub most: usize,
    /// Each program runs once for nothing.
    pub warm: bool,
    /// The load of others is looked at.
    pub watched: bool,
}

/// Measures the cases of experiments.
pub struct Measurer {
    method: Method,
    watch: Box<dyn Watch>,
}

/// What is told while an experiment is measured.
pub trait Listener {
    /// A case begins: its place from 0, how many there are, and what it is.
    fn case(&mut self, at: usize, of: usize, case: &Case);

    /// A row is there.
    ///
    /// # Errors
    /// Why nothing more is to be measured.
    fn row(&mut self, row: &Row) -> Result<(), Stop>;

    /// Others had this share of the processors.
    fn disturbed(&mut self, case: &Case, share: f64, again: bool);

    /// Whether to stop: asked between runs.
    fn cancelled(&self) -> bool;
}

/// Measuring has ended early.
#[derive(Debug)]
#[non_exhaustive]
pub enum Stop {
    /// Somebody asked for it.
    Cancelled,
    /// A row cannot be kept.
    Failed(Box<dyn std::error::Error + Send + Sync>),
}

/// The values of one series: for each run one for each quantity, or why there are none.
type Runs = Result<Vec<Vec<f64>>, String>;

impl Method {
    /// What belongs to an effort.
    #[must_use]
    pub fn of(effort: Effort) -> Method {
        match effort {
            Effort::Trial => Method {
                budget: Duration::ZERO,
                least: 1,
                most: 1,
                warm: false,
                watched: false,
            },
            Effort::Quick => Method {
                budget: Duration::from_secs(8),
                least: 3,
                most: 5,
                warm: true,
                watched: true,
            },
            Effort::Full => Method {
                budget: Duration::from_secs(600),
                least: 7,
                most: 21,
                warm: true,
                watched: true,
            },
        }
    }
}

impl Measurer {
    /// By this method, with the system's own word on its load.
    #[must_use]
    pub fn new(method: Method) -> Measurer {
        Measurer {
            method,
            watch: Box::new(System::new()),
        }
    }

    /// Measures the cases of one experiment, in order.
    ///
    /// # Errors
    /// [`Stop`], after whole rows.
    pub fn measure(
        &mut self,
        experiment: &str,
        cases: Vec<Case>,
        listener: &mut dyn Listener,
    ) -> Result<(), Stop> {
        let begun = Instant::now();
        let of = cases.len();
        for (at, mut case) in cases.into_iter().enumerate() {
            listener.case(at, of, &case);
            let left = self.method.budget.saturating_sub(begun.elapsed());
            let share = left / u32::try_from(of - at).unwrap_or(u32::MAX);
            let (runs, disturbed) = self.settled(&mut case, share, listener)?;
            for row in rows(experiment, &case, runs, disturbed) {
                listener.row(&row)?;
            }
        }
        Ok(())
    }

    /// The runs of a case, once more if others disturbed the first attempt, and whether they disturbed both.
    fn settled(
        &mut self,
        case: &mut Case,
        share: Duration,
        listener: &mut dyn Listener,
    ) -> Result<(Vec<Runs>, bool), Stop> {
        let begun = Instant::now();
        // Half of the share, so that a second attempt has its time. Without any left there is one round.
        let (limit, warm) = (share / 2, self.method.warm && !share.is_zero());
        let (runs, disturbed) = self.attempt(case, limit, warm, listener)?;
        let Some(first) = disturbed else {
            return Ok((runs, false));
        };
        let again = begun.elapsed() < share;
        listener.disturbed(case, first, again);
        if !again {
            return Ok((runs, true));
        }
        let (again, disturbed) = self.attempt(case, limit, false, listener)?;
        match disturbed {
            None => Ok((again, false)),
            Some(second) => {
                listener.disturbed(case, second, false);
                Ok((if second < first { again } else { runs }, true))
            }
        }
    }

    /// The runs of a case, and the share of the processors that others had, when it was too much.
    fn attempt(
        &mut self,
        case: &mut Case,
        limit: Duration,
        warm: bool,
        listener: &mut dyn Listener,
    ) -> Result<(Vec<Runs>, Option<f64>), Stop> {
        let begun = Instant::now();
        let quantities = case.quantities.len();
        let mut all: Vec<Runs> = case.series.iter().map(|_| Ok(Vec::new())).collect();
        if warm {
            for (series, runs) in case.series.iter_mut().zip(&mut all) {
                go_on(listener)?;
                if let Err(reason) = once(series, quantities) {
                    // An interrupt ends the programs of others too: that is no reason of theirs.
                    go_on(listener)?;
                    *runs = Err(reason);
                }
            }
        }
        let before = self.reading();
        for round in 0..self.method.most {
            let spent = begun.elapsed();
            // The least is worth some more time, but not any.
            let enough = round >= self.method.least && spent >= limit;
            if enough || (round > 0 && spent >= limit * 2) {
                break;
            }
            for (series, runs) in case.series.iter_mut().zip(&mut all) {
                let Ok(values) = runs else { continue };
                go_on(listener)?;
                match once(series, quantities) {
                    Ok(run) => values.push(run),
                    Err(reason) => {
                        go_on(listener)?;
                        *runs = Err(reason);
                    }
                }
            }
        }
        let after = self.reading();
        let disturbed = before
            .zip(after)
            .and_then(|(before, after)| after.disturbed_since(&before));
        Ok((all, disturbed))
    }

    fn reading(&mut self) -> Option<Reading> {
        self.watch.read().filter(|_| self.method.watched)
    }
}

impl fmt::Debug for Measurer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Measurer")
            .field("method", &self.method)
            .finish_non_exhaustive()
    }
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stop::Cancelled => f.write_str("it was cancelled"),
            Stop::Failed(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for Stop {}

fn go_on(listener: &dyn Listener) -> Result<(), Stop> {
    match listener.cancelled() {
        true => Err(Stop::Cancelled),
        false => Ok(()),
    }
}

/// One run, whose values are what they must be.
fn once(series: &mut Series, quantities: usize) -> Result<Vec<f64>, String> {
    let values = (series.program)()?;
    if values.len() != quantities {
        let given = values.len();
        return Err(format!("it gives {given} values, not {quantities}"));
    }
    match values.iter().find(|value| !value.is_finite()) {
        Some(value) => Err(format!("it gives {value}, which is no number")),
        None => Ok(values),
    }
}

/// A row for each quantity of each series.
fn rows(experiment: &str, case: &Case, runs: Vec<Runs>, disturbed: bool) -> Vec<Row> {
    let mut rows = Vec::new();
    for (series, runs) in case.series.iter().zip(runs) {
        for (at, quantity) in case.quantities.iter().enumerate() {
            let (outcome, disturbed) = match &runs {
                Ok(runs) => {
                    let values: Vec<f64> = runs.iter().map(|run| run[at]).collect();
                    let Spread { median, min, max } = Spread::of(&values);
                    let outcome = Outcome::Measured {
                        median,
                        least: min,
                        most: max,
                        runs: values.len(),
                    };
                    (outcome, disturbed)
                }
                Err(reason) => (
                    Outcome::Absent {
                        absent: reason.clone(),
                    },
                    false,
                ),
            };
            rows.push(Row {
                schema: SCHEMA,
                experiment: experiment.to_owned(),
                series: series.name.clone(),
                point: case.point.clone(),
                quantity: quantity.name.to_owned(),
                unit: quantity.unit.to_owned(),
                outcome,
                disturbed,
            });
        }
    }
    rows
}

#[cfg(test)]
#[path = "method/tests.rs"]
mod tests;
