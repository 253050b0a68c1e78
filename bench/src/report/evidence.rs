//! What claims ask of rows: a cut of them, and a number out of it, or why there is none.

use crate::measuring::{ParameterValue, Row};
use crate::results::Results;
use crate::text::{self, slug};
use itertools::Itertools;
use std::cell::Cell;

/// Why a claim about two machines cannot be told by the rows of one.
pub(super) const ONE_MACHINE: &str =
    "it compares two machines, and the rows are of one: motet bench join puts two runs together";

/// All rows, and what the machine is.
#[derive(Debug)]
pub(super) struct Evidence<'a> {
    results: &'a Results,
    /// Of the rows that numbers came from.
    doubts: Cell<Doubts>,
}

/// What makes numbers doubtful.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Doubts {
    /// Some were measured beside other load.
    disturbed: bool,
    /// Some are of one run.
    once: bool,
    /// Some are overheads whose least is 0 or less.
    lost: bool,
}

impl Doubts {
    fn and(self, row: &Row) -> Doubts {
        let Some(values) = row.values() else {
            return self;
        };
        Doubts {
            disturbed: self.disturbed || row.disturbed,
            once: self.once || values.runs == 1,
            lost: self.lost || (row.quantity.contains("overhead") && values.least <= 0.0),
        }
    }

    /// Each of them in words.
    pub(super) fn reasons(self) -> Vec<&'static str> {
        let all = [
            (self.disturbed, "measured beside other load"),
            (self.once, "by values of one run, which may be chance"),
            (self.lost, "by an overhead that reaches 0 in its runs"),
        ];
        let found = all.into_iter().filter(|(is, _)| *is);
        found.map(|(_, reason)| reason).collect()
    }
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
            doubts: Cell::default(),
        }
    }

    /// The other machine's rows, of a folder that was joined of two runs.
    pub(super) fn beside(&self) -> Result<Evidence<'a>, String> {
        let beside = self.results.beside.as_deref();
        let beside = beside.ok_or_else(|| ONE_MACHINE.to_owned())?;
        Ok(Evidence::of(beside))
    }

    /// What makes the numbers of others doubtful makes these so.
    pub(super) fn doubt(&self, others: &Evidence<'_>) {
        let (own, other) = (self.doubts.get(), others.take_doubts());
        self.doubts.set(Doubts {
            disturbed: own.disturbed || other.disturbed,
            once: own.once || other.once,
            lost: own.lost || other.lost,
        });
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
        match rows.find_map(|row| row.absent()) {
            Some(reason) => format!("{experiment}: {reason}"),
            None => format!("{experiment} was not measured: motet bench run {experiment}"),
        }
    }

    /// What makes the numbers doubtful that were taken since the last call.
    pub(super) fn take_doubts(&self) -> Doubts {
        self.doubts.take()
    }

    /// `a` over `b`, both of rows of these: what is lost in the spread of run times makes no ratio.
    pub(super) fn ratio(
        &self,
        a: Result<f64, String>,
        b: Result<f64, String>,
    ) -> Result<f64, String> {
        let ratio = ratio(a, b)?;
        match self.doubts.get().lost {
            true => Err(format!(
                "{} is no ratio: an overhead reaches 0 in its runs and is lost in their spread",
                quantity(ratio, "times")
            )),
            false => Ok(ratio),
        }
    }
}

impl<'a> Cut<'a> {
    /// Only rows whose parameter has this value; words are compared without regard to case and
    /// hyphens.
    pub(super) fn at(mut self, parameter: &str, value: &str) -> Cut<'a> {
        let alike = |v: &ParameterValue| slug(&v.to_string()) == slug(value);
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
        let values = measured.flatten().sorted_by(f64::total_cmp);
        values.dedup().collect()
    }

    /// The series that have measured values.
    pub(super) fn names(&self) -> Vec<&'a str> {
        let names = self.measured().map(|(row, _)| row.series.as_str());
        names.sorted().dedup().collect()
    }

    /// The measured values of a parameter, as text.
    pub(super) fn words_of(&self, parameter: &str) -> Vec<String> {
        let words = self
            .measured()
            .filter_map(|(row, _)| row.point.get(parameter));
        words
            .map(ParameterValue::to_string)
            .sorted()
            .dedup()
            .collect()
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
        let rows = self.measured().map(|(row, median)| (median, row));
        let best = rows.reduce(|a, b| if better(a.0, b.0) == a.0 { a } else { b });
        let (median, row) = best.ok_or_else(|| self.silence())?;
        self.note(row);
        Ok(median)
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
        value
            .map(ParameterValue::to_string)
            .ok_or_else(|| self.silence())
    }

    fn measured(&self) -> impl Iterator<Item = (&'a Row, f64)> {
        let rows = self.rows.iter();
        rows.filter_map(|&row| Some((row, row.values()?.median)))
    }

    fn note(&self, row: &Row) {
        let doubts = &self.evidence.doubts;
        doubts.set(doubts.get().and(row));
    }

    /// Why the cut has no values.
    fn silence(&self) -> String {
        let experiment = self.path.split(',').next().unwrap_or_default();
        let reason = self.rows.iter().find_map(|row| row.absent());
        let rows = self.evidence.results.rows.iter();
        let known = rows
            .filter(|row| row.experiment == experiment)
            .any(|row| row.values().is_some());
        match reason {
            Some(reason) => reason.to_owned(),
            None if known => format!("no row is measured for {}", self.path),
            None => self.evidence.silence(experiment),
        }
    }
}

fn number(row: &Row, parameter: &str) -> Option<f64> {
    row.point.get(parameter).and_then(ParameterValue::number)
}

/// `a` over `b`, both more than 0: anything else is the noise of a subtraction.
pub(super) fn ratio(a: Result<f64, String>, b: Result<f64, String>) -> Result<f64, String> {
    let (a, b) = (a?, b?);
    if a > 0.0 && b > 0.0 {
        return Ok(a / b);
    }
    let (a, b) = (text::number(a), text::number(b));
    Err(format!(
        "{a} over {b} is no ratio: an overhead of 0 or less is lost in the spread of the run times"
    ))
}

pub(super) fn quantity(value: f64, unit: &str) -> String {
    format!("{} {unit}", text::number(value))
        .trim_end()
        .to_owned()
}
