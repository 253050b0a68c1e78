//! What is said on standard error of the data.

use std::io::{self, Write};

use motet_mining::Clustering;

use crate::plan::ClusterPlan;
use crate::read::{self, LeftOut};
use crate::space::Placed;
use crate::text::flat;

/// Says something about the data on standard error, unless there is nothing to say.
pub(super) fn remark(plan: &ClusterPlan, text: &str) {
    if !text.is_empty() && !plan.quiet {
        // Where nobody reads it, nothing is lost.
        let _ = writeln!(io::stderr(), "motet: {}", flat(text));
    }
}

pub(super) fn left_out(columns: &[LeftOut]) -> String {
    const SHOWN: usize = 8;
    if columns.is_empty() {
        return String::new();
    }
    let name = |column: &LeftOut| {
        format!(
            "{} ('{}' in line {})",
            column.name,
            read::shown(&column.text),
            column.line
        )
    };
    let mut text = "columns that are not numeric are left out: ".to_owned();
    text.push_str(
        &columns
            .iter()
            .take(SHOWN)
            .map(name)
            .collect::<Vec<_>>()
            .join(", "),
    );
    if columns.len() > SHOWN {
        text.push_str(&format!(" and {} more", columns.len() - SHOWN));
    }
    text.push_str("; --keep copies columns to labels.csv as they are");
    text
}

/// The columns in which all points are equal. On the globe a coordinate of the unit vectors is no
/// column of the table.
pub(super) fn constant_columns(placed: &Placed, clustering: &Clustering) -> Vec<String> {
    let names = clustering
        .constant_columns
        .iter()
        .filter_map(|&index| placed.names.get(index));
    if placed.space.is_sphere() {
        Vec::new()
    } else {
        names.cloned().collect()
    }
}

pub(super) fn constant(placed: &Placed, clustering: &Clustering) -> String {
    match constant_columns(placed, clustering).as_slice() {
        [] => String::new(),
        names => format!("all rows are equal in these columns: {}", names.join(", ")),
    }
}
