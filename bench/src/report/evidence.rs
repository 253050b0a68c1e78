//! What claims ask of rows: a cut of them, and a number out of it, or why there is none.

use crate::results::Results;
use crate::suite::{Outcome, Row, Value};
use crate::text::slug;
use std::cell::Cell;

/// All rows, and what the machine is.
#[derive(Debug)]
pub(super) struct Evidence<'a> {
    results: &'a Results,
    /// Whether a row that a number came from was measured beside other load.
    disturbed: Cell<bool>,
}

/// Some rows of one experiment and quantity.
#[derive(Debug, Clone)]
pub(super) struct Cut<'a> {
    evidence: &'a Evidence<'a>,
    rows: Vec<&'a Row>,
    /// How the rows were found.
    path: String,
}

impl<'a> Evidence<'a> {
    pub(super) fn of(results: &'a Results) -> Evidence<'a> {
        Evidence {
            results,
            disturbed: Cell::new(false),
        }
    }

    /// Motet's rows of an experiment's quantity.
    pub(super) fn motet(&'a self, experiment: &str, quantity: &str) -> Cut<'a> {
        let mut cut = self.all(experiment, quantity);
        cut.rows.retain(|row| row.series.starts_with("motet"));
        cut
    }

    /// All rows of an experiment's quantity.
    pub(super) fn all(&'a self, experiment: &str, quantity: &str) -> Cut<'a> {
        let rows = self.results.rows.iter();
        let rows = rows.filter(|row| row.experiment == experiment);
        Cut {
            evidence: self,
            rows: rows.filter(|row| row.quantity == quantity).collect(),
            path: format!("{experiment}, {quantity}"),
        }
    }

    /// The cores of the machine.
    pub(super) fn cores(&self) -> Result<f64, String> {
        let machine = self.results.machine.as_ref();
        let cores = machine.map(|machine| machine.machine.cores as f64);
        cores.ok_or_else(|| "the folder has no record of the machine".to_owned())
    }

    /// Why an experiment has no values at all.
    pub(super) fn silence(&self, experiment: &str) -> String {
        let mut rows = self
            .results
            .rows
            .iter()
            .filter(|row| row.experiment == experiment);
        match rows.find_map(|row| reason(row)) {
            Some(reason) => format!("{experiment}: {reason}"),
            None => format!("{experiment} was not measured: motet bench run {experiment}"),
        }
    }

    /// Whether a number that was taken since the last call came from a disturbed row.
    pub(super) fn take_disturbed(&self) -> bool {
        self.disturbed.replace(false)
    }
}

impl<'a> Cut<'a> {
    /// Only rows whose parameter has this value; words are compared without regard to case and hyphens.
    pub(super) fn at(mut self, parameter: &str, value: &str) -> Cut<'a> {
        let alike = |v: &Value| slug(&v.to_string()) == slug(value);
        self.rows
            .retain(|row| row.point.get(parameter).is_some_and(alike));
        self.path += &format!(", {parameter} {value}");
        self
    }

    /// Only rows whose parameter is this number.
    pub(super) fn with(mut self, parameter: &str, value: f64) -> Cut<'a> {
        self.rows
            .retain(|row| number(row, parameter) == Some(value));
        self.path += &format!(", {parameter} {value}");
        self
    }

    /// Only rows whose series is called so, or begins so.
    pub(super) fn series(mut self, names: &[&str]) -> Cut<'a> {
        self.rows.retain(|row| {
            names
                .iter()
                .any(|name| row.series.to_lowercase().starts_with(&name.to_lowercase()))
        });
        self.path += &format!(", {}", names.join(" or "));
        self
    }

    /// Only rows of exactly this series.
    pub(super) fn form(mut self, name: &str) -> Cut<'a> {
        self.rows.retain(|row| row.series == name);
        self.path += &format!(", {name}");
        self
    }

    /// Only rows in which the parameter has its greatest measured value.
    pub(super) fn greatest(self, parameter: &str) -> Cut<'a> {
        let greatest = self.values_of(parameter).into_iter().next_back();
        self.extreme(parameter, greatest, "greatest")
    }

    /// Only rows in which the parameter has its least measured value.
    pub(super) fn least(self, parameter: &str) -> Cut<'a> {
        let least = self.values_of(parameter).into_iter().next();
        self.extreme(parameter, least, "least")
    }

    /// Only rows whose parameter is a number that fits.
    pub(super) fn keep(&mut self, parameter: &str, fits: fn(f64) -> bool) {
        self.rows
            .retain(|row| number(row, parameter).is_some_and(fits));
    }

    fn extreme(mut self, parameter: &str, value: Option<f64>, which: &str) -> Cut<'a> {
        self.rows.retain(|row| number(row, parameter) == value);
        self.path += &format!(", {which} {parameter}");
        self
    }

    /// The measured values of a parameter, from the least.
    pub(super) fn values_of(&self, parameter: &str) -> Vec<f64> {
        let measured = self.measured().map(|(row, _)| number(row, parameter));
        let mut values: Vec<f64> = measured.flatten().collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        values
    }

    /// The least of the medians.
    pub(super) fn low(&self) -> Result<f64, String> {
        self.pick(f64::min)
    }

    /// The greatest of the medians.
    pub(super) fn high(&self) -> Result<f64, String> {
        self.pick(f64::max)
    }

    fn pick(&self, better: fn(f64, f64) -> f64) -> Result<f64, String> {
        let medians = self.measured().map(|(row, median)| {
            self.note(row);
            median
        });
        medians.reduce(better).ok_or_else(|| self.silence())
    }

    /// Points (a parameter, the median), by the parameter.
    pub(super) fn points(&self, parameter: &str) -> Result<Vec<(f64, f64)>, String> {
        let measured = self.measured().filter_map(|(row, median)| {
            self.note(row);
            Some((number(row, parameter)?, median))
        });
        let mut points: Vec<(f64, f64)> = measured.collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        match points.is_empty() {
            true => Err(self.silence()),
            false => Ok(points),
        }
    }

    /// The point of the greatest median: the text of a parameter.
    pub(super) fn best(&self, parameter: &str) -> Result<String, String> {
        let best = self.measured().max_by(|a, b| a.1.total_cmp(&b.1));
        let (row, _) = best.ok_or_else(|| self.silence())?;
        self.note(row);
        let value = row.point.get(parameter);
        value.map(Value::to_string).ok_or_else(|| self.silence())
    }

    fn measured(&self) -> impl Iterator<Item = (&'a Row, f64)> {
        self.rows.iter().filter_map(|&row| match row.outcome {
            Outcome::Measured { median, .. } => Some((row, median)),
            Outcome::Absent { .. } => None,
        })
    }

    fn note(&self, row: &Row) {
        self.evidence
            .disturbed
            .set(self.evidence.disturbed.get() || row.disturbed);
    }

    /// Why the cut has no values.
    fn silence(&self) -> String {
        let experiment = self.path.split(',').next().unwrap_or_default();
        let reason = self.rows.iter().find_map(|row| reason(row));
        let rows = self.evidence.results.rows.iter();
        let known = rows
            .filter(|row| row.experiment == experiment)
            .any(|row| matches!(row.outcome, Outcome::Measured { .. }));
        match reason {
            Some(reason) => format!("{}: {reason}", self.path),
            None if known => format!("no row is measured for {}", self.path),
            None => self.evidence.silence(experiment),
        }
    }
}

fn number(row: &Row, parameter: &str) -> Option<f64> {
    row.point.get(parameter).and_then(Value::number)
}

fn reason(row: &Row) -> Option<&str> {
    match &row.outcome {
        Outcome::Absent { absent } => Some(absent),
        Outcome::Measured { .. } => None,
    }
}
