//! What `motet hmm` has found, and how it is printed.

use std::io::{self, Write};

use motet_mining::Emissions;
use serde::Serialize;

use super::Found;
use super::args::Task;
use super::seen::Seen;
use crate::model::{files, label};
use crate::order::greatest_first;
use crate::ranked::Measured;
use crate::report::scaling_facts;
use crate::summary::{Profiled, ThreadScaling};
use crate::text::{flat, grouped, significant};

/// The result of `motet hmm`; with `--json` this object is printed.
#[derive(Debug, Clone, Serialize)]
pub struct HmmSummary {
    /// The version of the program.
    pub motet: &'static str,
    /// The path as given, or `<stdin>`.
    pub file: String,
    /// The number of sequences.
    pub sequences: usize,
    /// The places of all of them.
    pub places: usize,
    /// What the states show: discrete or gaussian.
    pub emissions: &'static str,
    /// The columns, or the symbols.
    pub names: Vec<String>,
    /// The number of states.
    pub states: usize,
    /// ln p of all sequences under the model.
    pub log_p: f64,
    /// Whether the fit came to its tolerance.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub converged: Option<bool>,
    /// The start that led to the model, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<usize>,
    /// Seconds on the ranks.
    pub run_seconds: f64,
    /// Ranks.
    pub threads: usize,
    /// The comparison with one thread, when asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scaling: Option<ThreadScaling>,
    /// Where the time went, when asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<Profiled>,
    /// The states.
    pub table: Vec<HmmState>,
    /// The sequences.
    pub scores: Vec<HmmScore>,
    /// ln p of all sequences before each step of the fit.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub trace: Vec<f64>,
    /// The files that were written.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
}

/// One state.
#[derive(Debug, Clone, Serialize)]
pub struct HmmState {
    /// Its number, from 1.
    pub state: usize,
    /// Its places on the most probable paths, if they were wanted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub places: Option<usize>,
    /// Its probability at the first place.
    pub start: f64,
    /// The probabilities of the next state.
    pub transitions: Vec<f64>,
    /// The probability of each symbol.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub probabilities: Vec<f64>,
    /// The mean of each column.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mean: Vec<f64>,
    /// The standard deviation of each column.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deviation: Vec<f64>,
}

/// One sequence.
#[derive(Debug, Clone, Serialize)]
pub struct HmmScore {
    /// Its name.
    pub sequence: String,
    /// The number of its places.
    pub places: usize,
    /// Its ln p.
    pub log_p: f64,
    /// Its most probable path, states from 1, if it was wanted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub path: Vec<u32>,
}

pub(super) fn summarise(
    task: &Task<'_>,
    seen: &Seen,
    found: &Measured<Found>,
    names: &[&str],
) -> HmmSummary {
    let Found {
        model,
        fitted,
        log_p,
        paths,
    } = &found.found;
    let states = model.states();
    let table = (0..states).map(|state| of_state(task, &found.found, state));
    let scores = seen
        .sequences
        .iter()
        .enumerate()
        .map(|(at, name)| HmmScore {
            sequence: name.clone(),
            places: seen.observed.places(at),
            log_p: log_p[at],
            path: paths
                .get(at)
                .into_iter()
                .flatten()
                .map(|state| state + 1)
                .collect(),
        });
    let scores: Vec<HmmScore> = scores.collect();
    let (trace, converged, start) = match fitted {
        Some((trace, converged, start)) => (trace.clone(), Some(*converged), Some(*start)),
        None => (Vec::new(), None, None),
    };
    HmmSummary {
        motet: env!("CARGO_PKG_VERSION"),
        file: label(task.file),
        sequences: scores.len(),
        places: scores.iter().map(|score| score.places).sum(),
        emissions: match model.emissions() {
            Emissions::Discrete { .. } => "discrete",
            _ => "gaussian",
        },
        names: seen.names.clone(),
        states,
        log_p: log_p.iter().sum(),
        converged,
        start,
        run_seconds: found.seconds,
        threads: found.threads,
        scaling: found.scaling,
        profile: found.profile.clone().map(Profiled::from),
        table: table.collect(),
        scores,
        trace,
        files: files(task.results.out.as_deref(), names),
    }
}

fn of_state(task: &Task<'_>, found: &Found, state: usize) -> HmmState {
    let (model, paths) = (&found.model, &found.paths);
    let row = |values: &[f64]| {
        let size = values.len() / model.states();
        values[state * size..][..size].to_vec()
    };
    let (probabilities, mean, deviation) = match model.emissions() {
        Emissions::Gaussian {
            means, variances, ..
        } => {
            let deviation = row(variances).into_iter().map(f64::sqrt);
            (Vec::new(), row(means), deviation.collect())
        }
        Emissions::Discrete { probabilities, .. } => (row(probabilities), Vec::new(), Vec::new()),
        _ => (Vec::new(), Vec::new(), Vec::new()),
    };
    let visits = paths.iter().flatten();
    let visits = visits.filter(|at| **at as usize == state).count();
    HmmState {
        state: state + 1,
        places: task.paths.then_some(visits),
        start: model.start()[state],
        transitions: row(model.transitions()),
        probabilities,
        mean,
        deviation,
    }
}

pub(super) fn write_json(to: &mut dyn Write, summary: &HmmSummary) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *to, summary)?;
    writeln!(to)
}

/// Symbols, columns and states that the table shows; the others are in `--json`.
const SHOWN: usize = 6;

pub(super) fn write_text(to: &mut dyn Write, summary: &HmmSummary) -> io::Result<()> {
    match summary.table.first().and_then(|row| row.places) {
        Some(_) => write_states(to, summary)?,
        None => {
            writeln!(to, "    places         ln p  sequence")?;
            for row in &summary.scores {
                let (places, log_p) = (grouped(row.places), row.log_p);
                writeln!(to, "{places:>10}  {log_p:>11.4}  {}", flat(&row.sequence))?;
            }
        }
    }
    writeln!(to)?;
    for (name, value) in facts(summary) {
        writeln!(to, "{name:<12}{value}")?;
    }
    if let Some(profiled) = &summary.profile {
        writeln!(to, "\n{}", profiled.profile)?;
    }
    Ok(())
}

fn write_states(to: &mut dyn Write, summary: &HmmSummary) -> io::Result<()> {
    let states = summary.states.min(SHOWN);
    let heads: Vec<String> = (1..=states).map(|to| format!("  to {to:<4}")).collect();
    writeln!(to, "state    places   start{}  shows", heads.concat())?;
    for row in &summary.table {
        let steps: Vec<String> = row.transitions[..states]
            .iter()
            .map(|p| format!("  {p:<7.4}"))
            .collect();
        writeln!(
            to,
            "{:>5}  {:>8}  {:.4}{}  {}",
            row.state,
            grouped(row.places.unwrap_or(0)),
            row.start,
            steps.concat(),
            shows(summary, row)
        )?;
    }
    Ok(())
}

/// What a state shows: its means, or its most probable symbols.
fn shows(summary: &HmmSummary, row: &HmmState) -> String {
    let all = if row.mean.is_empty() {
        let order = greatest_first(&row.probabilities);
        let text = |&at: &usize| format!("{} {:.3}", summary.names[at], row.probabilities[at]);
        order.iter().map(text).take(SHOWN).collect::<Vec<_>>()
    } else {
        let pairs = row.mean.iter().zip(&row.deviation).zip(&summary.names);
        let text = |((mean, sd), name): ((&f64, &f64), &String)| {
            format!("{name} {} ± {}", significant(*mean), significant(*sd))
        };
        pairs.map(text).take(SHOWN).collect()
    };
    let more = match summary.names.len() > SHOWN {
        true => ", …",
        false => "",
    };
    flat(&all.join(", ")) + more
}

fn facts(summary: &HmmSummary) -> Vec<(&'static str, String)> {
    let what = format!(
        "{}, {} places in all",
        grouped(summary.sequences),
        grouped(summary.places)
    );
    let mut facts = vec![
        ("sequences", what),
        (
            "model",
            format!("{} states, {} emissions", summary.states, summary.emissions),
        ),
        ("ln p", format!("{:.6}", summary.log_p)),
    ];
    if let Some(converged) = summary.converged {
        let end = match converged {
            true => "converged",
            false => "not converged: give more --iterations",
        };
        facts.push(("steps", format!("{}, {end}", summary.trace.len())));
    }
    facts.push((
        "run time",
        format!("{} s", significant(summary.run_seconds)),
    ));
    facts.push(("threads", summary.threads.to_string()));
    facts.extend(summary.scaling.iter().flat_map(scaling_facts));
    if !summary.files.is_empty() {
        facts.push(("files", summary.files.join(", ")));
    }
    facts
}
