//! What `motet cluster --bits` writes and prints.

use std::io::{self, Write};

use motet_mining::{BitClustering, CancelToken};

use super::BitSummary;
use crate::error::CliError;
use crate::files::{Content, ResultsFolder};
use crate::order::largest_first;
use crate::text::{grouped, significant};

/// The files of `--out`.
pub(super) const FILES: [&str; 3] = ["labels.csv", "centres.csv", "trace.json"];

pub(super) fn write_files(
    folder: &ResultsFolder,
    summary: &BitSummary,
    found: &BitClustering,
    (labels, names): (&[usize], Option<&[String]>),
    cancel: &CancelToken,
) -> Result<(), CliError> {
    let write_labels = |to: &mut dyn Write| {
        let mut csv = csv::Writer::from_writer(to);
        let header = ["row"]
            .into_iter()
            .chain(names.map(|_| "name"))
            .chain(["cluster"]);
        csv.write_record(header)?;
        for (row, label) in labels.iter().enumerate() {
            let (row_number, label) = ((row + 1).to_string(), label.to_string());
            let name = names.map(|names| names[row].as_str());
            let fields = [row_number.as_str()]
                .into_iter()
                .chain(name)
                .chain([label.as_str()]);
            csv.write_record(fields)?;
        }
        csv.flush()
    };
    let write_centres = |to: &mut dyn Write| {
        let mut csv = csv::Writer::from_writer(to);
        let header = ["cluster", "size"].map(str::to_owned).into_iter();
        csv.write_record(header.chain((0..found.width).map(|column| format!("bit{column}"))))?;
        // The order of the table. A cluster of a sample may have no row at all.
        let order = largest_first(&found.sizes);
        for (row, cluster) in summary.table.iter().zip(order) {
            let centre = found.centre(cluster).iter().map(f64::to_string);
            let numbers = [row.cluster, row.size]
                .map(|number| number.to_string())
                .into_iter();
            csv.write_record(numbers.chain(centre))?;
        }
        csv.flush()
    };
    let write_trace = |to: &mut dyn Write| {
        serde_json::to_writer_pretty(&mut *to, &summary.trace)?;
        writeln!(to)
    };
    let [labels_name, centres_name, trace_name] = FILES;
    let files = [
        Content {
            name: labels_name,
            write: Box::new(write_labels),
        },
        Content {
            name: centres_name,
            write: Box::new(write_centres),
        },
        Content {
            name: trace_name,
            write: Box::new(write_trace),
        },
    ];
    match folder.write(&files, || cancel.is_cancelled())? {
        true => Ok(()),
        false => Err(CliError::Cancelled),
    }
}

pub(super) fn print_to(to: &mut dyn Write, summary: &BitSummary, json: bool) -> io::Result<()> {
    if json {
        serde_json::to_writer_pretty(&mut *to, summary)?;
        return writeln!(to);
    }
    writeln!(
        to,
        "cluster      size   bits on  columns that set it apart, from 0"
    )?;
    for row in &summary.table {
        let columns: Vec<String> = row.columns.iter().map(usize::to_string).collect();
        writeln!(
            to,
            "{:>7}  {:>8}  {:>8.1}  {}",
            row.cluster,
            grouped(row.size),
            row.ones,
            columns.join(" ")
        )?;
    }
    writeln!(to)?;
    let mut facts = vec![
        (
            "rows",
            format!(
                "{} of {} bits",
                grouped(summary.rows),
                grouped(summary.width)
            ),
        ),
        ("method", summary.method.clone()),
    ];
    facts.extend(
        summary
            .choice
            .iter()
            .map(|choice| ("chosen", crate::text::chosen(choice))),
    );
    facts.extend(summary.sample.iter().map(|s| ("sample", s.text())));
    if summary.constant_columns > 0 {
        facts.push((
            "constant",
            format!("{} columns", grouped(summary.constant_columns)),
        ));
    }
    if summary.empty_rows > 0 {
        facts.push((
            "without bits",
            format!("{} rows", grouped(summary.empty_rows)),
        ));
    }
    facts.push(("inertia", significant(summary.inertia)));
    let time = format!(
        "{:.2} s on {} threads",
        summary.run_seconds, summary.threads
    );
    facts.push(("time", time));
    facts
        .iter()
        .try_for_each(|(name, value)| writeln!(to, "{name:<14}{value}"))
}
