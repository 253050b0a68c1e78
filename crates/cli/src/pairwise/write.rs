//! The files of `motet cluster --pairwise --out`.

use std::io::Write;

use motet_mining::{CancelToken, Scaled};

use super::PairwiseSummary;
use crate::error::CliError;
use crate::files::{Content, ResultsFolder};
use crate::map::{Curve, CurveMark, Dendrogram};
use crate::scale::output::plane;
use crate::text::{grouped, significant};

/// The files of `--out`.
pub(super) const FILES: [&str; 6] = [
    "labels.csv",
    "medoids.csv",
    "trace.json",
    "trace.svg",
    "splits.svg",
    "map.svg",
];

/// Writes all files, or none.
pub(super) fn files(
    folder: &ResultsFolder,
    summary: &PairwiseSummary,
    (labels, names, places): (&[usize], Option<&[String]>, Option<&Scaled>),
    cancel: &CancelToken,
) -> Result<(), CliError> {
    let write_labels = |to: &mut dyn Write| {
        let mut csv = csv::Writer::from_writer(to);
        let header = ["row", "name", "cluster"];
        let with_name = |column: &usize| names.is_some() || *column != 1;
        csv.write_record((0..3).filter(with_name).map(|column| header[column]))?;
        for (row, label) in labels.iter().enumerate() {
            let name = names.map(|names| names[row].clone());
            let fields = [Some((row + 1).to_string()), name, Some(label.to_string())];
            csv.write_record(fields.into_iter().flatten())?;
        }
        csv.flush()
    };
    let write_medoids = |to: &mut dyn Write| {
        let mut csv = csv::Writer::from_writer(to);
        csv.write_record(["cluster", "size", "medoid", "name", "mean_cost"])?;
        for row in &summary.table {
            let numbers = [row.cluster, row.size, row.medoid].map(|number| number.to_string());
            let rest = [
                row.name.clone().unwrap_or_default(),
                row.mean_cost.to_string(),
            ];
            csv.write_record(numbers.into_iter().chain(rest))?;
        }
        csv.flush()
    };
    let write_trace = |to: &mut dyn Write| {
        serde_json::to_writer_pretty(&mut *to, &summary.trace)?;
        writeln!(to)
    };
    let (curve, tree) = (curve(summary).draw(), tree(summary).draw());
    let map = places.map(|places| map(summary, places, labels));
    let [labels, medoids, trace, curve_name, tree_name, map_name] = FILES;
    let mut files = vec![
        Content {
            name: labels,
            write: Box::new(write_labels),
        },
        Content {
            name: medoids,
            write: Box::new(write_medoids),
        },
        Content {
            name: trace,
            write: Box::new(write_trace),
        },
        Content {
            name: curve_name,
            write: Box::new(|to| to.write_all(curve.as_bytes())),
        },
        Content {
            name: tree_name,
            write: Box::new(|to| to.write_all(tree.as_bytes())),
        },
    ];
    files.extend(map.as_ref().map(|map| Content {
        name: map_name,
        write: Box::new(|to| to.write_all(map.as_bytes())),
    }));
    match folder.write(&files, || cancel.is_cancelled())? {
        true => Ok(()),
        false => Err(CliError::Cancelled),
    }
}

/// The rows that were clustered, in the plane.
fn map(summary: &PairwiseSummary, places: &Scaled, labels: &[usize]) -> String {
    let number = |row: usize| labels[row] as u32;
    let labels: Vec<u32> = match &summary.sample {
        Some(sample) => sample.drawn.iter().map(|row| number(row - 1)).collect(),
        None => (0..labels.len()).map(number).collect(),
    };
    let subtitle = format!(
        "{} rows, classical scaling, relative stress {}",
        grouped(labels.len()),
        significant(places.relative_stress)
    );
    let file = (&summary.file[..], subtitle);
    plane(&places.places, places.dim, &labels, file)
}

/// The fall of the temperature. Marks stand where the number of clusters grows.
fn curve(summary: &PairwiseSummary) -> Curve<'static> {
    let counts = summary.trace.iter().map(|step| step.clusters);
    let before = [1].into_iter().chain(counts.clone());
    let grown = counts.zip(before).enumerate();
    let marks = grown.filter(|(_, (now, before))| now > before);
    Curve {
        title: format!("{} clusters: the temperature", summary.clusters),
        subtitle: format!("{} rows, {}", grouped(summary.rows), summary.method),
        axes: ["number of the temperature", "log₁₀ of the temperature"],
        values: summary
            .trace
            .iter()
            .map(|step| step.temperature.log10())
            .collect(),
        marks: marks
            .map(|(at, (now, _))| CurveMark {
                at,
                text: now.to_string(),
            })
            .collect(),
    }
}

/// The splits; below each leaf stands the cluster in which most of it ended.
fn tree(summary: &PairwiseSummary) -> Dendrogram {
    let leaf = |number: &usize| {
        let size = summary.table[number - 1].size;
        format!("{number} ({})", grouped(size))
    };
    Dendrogram {
        title: format!("{} clusters: the splits", summary.clusters),
        subtitle: "below each branch: the cluster, and its number of rows".to_owned(),
        splits: summary
            .splits
            .iter()
            .map(|s| (s.cluster, s.critical))
            .collect(),
        leaves: summary.ended.iter().map(leaf).collect(),
    }
}
