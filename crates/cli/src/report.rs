//! What is printed on standard output.

use std::io::{self, Write};

use crate::read::OnMissing;
use crate::summary::{Cluster, Summary, ThreadScaling};
use crate::text::{chosen, decimals, fixed, flat, grouped, significant};

/// More columns than this make lines that nobody reads.
const COLUMNS: usize = 8;

/// Prints the table of the clusters and a line for each fact about the run.
pub(crate) fn write_text(to: &mut dyn Write, summary: &Summary) -> io::Result<()> {
    write_table(to, summary)?;
    writeln!(to)?;
    for (name, value) in facts(summary) {
        writeln!(to, "{name:<12}{value}")?;
    }
    if let Some(profiled) = &summary.profile {
        writeln!(to, "\n{}", profiled.profile)?;
    }
    Ok(())
}

/// Prints one JSON object.
pub(crate) fn write_json(to: &mut dyn Write, summary: &Summary) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *to, summary)?;
    writeln!(to)
}

fn write_table(to: &mut dyn Write, summary: &Summary) -> io::Result<()> {
    let shown = summary.columns.len().min(COLUMNS);
    let mut columns = vec![
        column("cluster", summary, |row| row.cluster.to_string()),
        column("size", summary, |row| grouped(row.size)),
    ];
    if let Some(name) = &summary.weight {
        columns.push(numbers(name, summary, |row| row.weight.unwrap_or(0.0)));
    }
    for (index, name) in summary.columns.iter().take(shown).enumerate() {
        columns.push(if summary.geo {
            column(name, summary, |row| fixed(row.centre[index], Some(3)))
        } else {
            numbers(name, summary, |row| row.centre[index])
        });
    }
    let spread = match summary.spread_unit {
        Some(unit) => format!("spread ({unit})"),
        None => "spread".to_owned(),
    };
    let widest = summary
        .table
        .iter()
        .map(|row| row.spread)
        .fold(0.0, f64::max);
    let digits = decimals(widest, widest, 5);
    columns.push(column(&spread, summary, |row| fixed(row.spread, digits)));
    let width = |column: &[String]| column.iter().map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = columns
        .iter()
        .map(|column| width(column).unwrap_or(0))
        .collect();
    for line in 0..=summary.table.len() {
        let cells = columns.iter().zip(&widths).map(|(column, &width)| {
            let cell = &column[line];
            format!("{cell:>width$}")
        });
        writeln!(to, "{}", cells.collect::<Vec<_>>().join("  "))?;
    }
    if shown < summary.columns.len() {
        let rest = summary.columns.len() - shown;
        writeln!(
            to,
            "({rest} more columns: see --json, or centres.csv of --out)"
        )?;
    }
    Ok(())
}

/// A heading and a cell for each cluster.
fn column(name: &str, summary: &Summary, cell: impl Fn(&Cluster) -> String) -> Vec<String> {
    let name = flat(name).chars().take(24).collect();
    std::iter::once(name)
        .chain(summary.table.iter().map(cell))
        .collect()
}

/// A column of numbers with as many decimals as tell its cells apart.
fn numbers(name: &str, summary: &Summary, value: impl Fn(&Cluster) -> f64) -> Vec<String> {
    let values = summary.table.iter().map(&value);
    let low = values.clone().fold(f64::INFINITY, f64::min);
    let high = values.fold(f64::NEG_INFINITY, f64::max);
    let decimals = decimals(high - low, low.abs().max(high.abs()), 4);
    column(name, summary, |row| fixed(value(row), decimals))
}

fn facts(summary: &Summary) -> Vec<(&'static str, String)> {
    let names = &summary.columns[..summary.columns.len().min(COLUMNS)];
    let mut dimensions = format!("{} ({}", summary.dimensions, flat(&names.join(", ")));
    if names.len() < summary.columns.len() {
        dimensions.push_str(", …");
    }
    dimensions.push_str(match (summary.geo, summary.standardised) {
        (true, _) => " on the sphere)",
        (_, true) => ", standardised)",
        _ => ")",
    });
    let unit = summary
        .square_unit
        .map_or(String::new(), |unit| format!(" {unit}"));
    let mut facts = vec![
        ("points", grouped(summary.points)),
        ("dimensions", dimensions),
        ("method", summary.method.to_owned()),
        ("clusters", grouped(summary.clusters)),
        ("inertia", significant(summary.inertia) + &unit),
        ("run time", seconds(summary.run_seconds)),
        ("threads", summary.threads.to_string()),
    ];
    if let Some(missing) = summary.missing {
        let text = match missing.what {
            OnMissing::Mean => format!("{} cells filled by means", grouped(missing.filled_cells)),
            OnMissing::DropRow | OnMissing::Error => {
                format!("{} rows left out", grouped(missing.dropped_rows))
            }
        };
        facts.insert(1, ("missing", text));
    }
    facts.extend(
        summary
            .choice
            .iter()
            .map(|choice| ("chosen", chosen(choice))),
    );
    facts.extend(summary.sample.iter().map(|s| ("sample", s.text())));
    facts.extend(summary.scaling.iter().flat_map(scaling_facts));
    if !summary.files.is_empty() {
        facts.push(("files", summary.files.join(", ")));
    }
    facts
}

pub(crate) fn scaling_facts(scaling: &ThreadScaling) -> Vec<(&'static str, String)> {
    let same = if scaling.same_result {
        "same bits"
    } else {
        "DIFFERENT results"
    };
    vec![
        ("T1", seconds(scaling.t1_seconds)),
        ("TP", seconds(scaling.tp_seconds)),
        ("overhead f", format!("{:.3}", scaling.overhead)),
        ("efficiency", format!("{:.3}", scaling.efficiency)),
        (
            "results",
            format!("{same} with 1 and {} threads", scaling.threads),
        ),
    ]
}

fn seconds(seconds: f64) -> String {
    format!("{} s", significant(seconds))
}
