//! The files of `motet hmm --out`.

use std::io::{self, Write};

use motet_mining::{CancelToken, HmmModel};

use super::HmmSummary;
use super::args::SCORES;
use super::seen::Seen;
use crate::error::CliError;
use crate::files::{ByteWriter, Content, ResultsFolder};
use crate::map::Curve;
use crate::model::{CURVE, LABELS, MODEL, StoredModel, TRACE};
use crate::plane::{self, RowGroup};
use crate::space::Placed;
use crate::text::grouped;

/// Writes all files, or none.
pub(super) fn files(
    folder: &ResultsFolder,
    names: &[&'static str],
    seen: &Seen,
    model: &StoredModel<HmmModel>,
    summary: &HmmSummary,
    cancel: &CancelToken,
) -> Result<(), CliError> {
    let curve = curve(summary).draw();
    let map = seen.placed.as_ref().filter(|_| names.contains(&MODEL));
    let map = map.map(|placed| plane(placed, summary)).unwrap_or_default();
    let write = |name: &'static str| -> ByteWriter<'_> {
        match name {
            LABELS => Box::new(|to| write_labels(to, summary)),
            SCORES => Box::new(|to| write_scores(to, summary)),
            MODEL => Box::new(|to| {
                serde_json::to_writer_pretty(&mut *to, model)?;
                writeln!(to)
            }),
            TRACE => Box::new(|to| {
                serde_json::to_writer_pretty(&mut *to, &summary.trace)?;
                writeln!(to)
            }),
            CURVE => Box::new(|to| to.write_all(curve.as_bytes())),
            _ => Box::new(|to| to.write_all(map.as_bytes())),
        }
    };
    let contents: Vec<Content<'_>> = names
        .iter()
        .map(|&name| Content {
            name,
            write: write(name),
        })
        .collect();
    match folder.write(&contents, || cancel.is_cancelled())? {
        true => Ok(()),
        false => Err(CliError::Cancelled),
    }
}

fn write_labels(to: &mut dyn Write, summary: &HmmSummary) -> io::Result<()> {
    let mut csv = csv::Writer::from_writer(to);
    csv.write_record(["sequence", "place", "state"])?;
    for row in &summary.scores {
        for (place, state) in (1..).zip(&row.path) {
            let place: usize = place;
            csv.write_record([&row.sequence, &place.to_string(), &state.to_string()])?;
        }
    }
    csv.flush()
}

fn write_scores(to: &mut dyn Write, summary: &HmmSummary) -> io::Result<()> {
    let mut csv = csv::Writer::from_writer(to);
    csv.write_record(["sequence", "places", "log_p"])?;
    for row in &summary.scores {
        csv.write_record([
            &row.sequence,
            &row.places.to_string(),
            &row.log_p.to_string(),
        ])?;
    }
    csv.flush()
}

fn curve(summary: &HmmSummary) -> Curve<'static> {
    Curve {
        title: format!("{} states: ln p", summary.states),
        subtitle: format!(
            "{} sequences, {} places",
            grouped(summary.sequences),
            grouped(summary.places)
        ),
        axes: ["step", "ln p of all sequences before the step"],
        values: summary.trace.clone(),
        marks: Vec::new(),
    }
}

/// The rows in the plane, each in the colour of its state.
fn plane(placed: &Placed, summary: &HmmSummary) -> String {
    let labels: Vec<u32> = summary
        .scores
        .iter()
        .flat_map(|row| row.path.clone())
        .collect();
    let parts = summary.table.iter().map(|row| {
        let dim = row.mean.len();
        let mut covariance = vec![0.0; dim * dim];
        (0..dim).for_each(|at| covariance[at * (dim + 1)] = row.deviation[at].powi(2));
        RowGroup {
            size: row.places.unwrap_or(0),
            centre: row.mean.clone(),
            covariance,
        }
    });
    let subtitle = format!("{} places, hidden Markov model", grouped(summary.places));
    plane::draw(placed, &labels, parts.collect(), subtitle)
}
