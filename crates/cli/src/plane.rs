//! Rows in the plane, with an ellipse around each group.

use crate::map::{self, Extent, MapPicture};
use crate::space::Placed;
use crate::summary::{Cluster, Summary};

/// A group of rows, in the units of the columns.
pub(crate) struct RowGroup {
    /// Its number of rows.
    pub(crate) size: usize,
    pub(crate) centre: Vec<f64>,
    /// A square matrix, row after row.
    pub(crate) covariance: Vec<f64>,
}

/// Draws the rows, each in the colour of its group; `labels` are from 1.
pub(crate) fn draw(
    placed: &Placed,
    labels: &[u32],
    parts: Vec<RowGroup>,
    subtitle: String,
) -> String {
    let scale = placed.scale();
    let table = (1..).zip(&parts).map(|(cluster, part)| Cluster {
        cluster,
        size: part.size,
        weight: None,
        centre: part.centre.clone(),
        spread: 0.0,
    });
    let summary = Summary {
        motet: env!("CARGO_PKG_VERSION"),
        file: placed.file.clone(),
        points: labels.len(),
        columns: placed.names.clone(),
        dimensions: placed.names.len(),
        geo: false,
        standardised: false,
        weight: None,
        missing: None,
        constant_columns: Vec::new(),
        method: String::new(),
        clusters: parts.len(),
        inertia: 0.0,
        square_unit: None,
        spread_unit: None,
        run_seconds: 0.0,
        threads: 0,
        choice: None,
        scaling: None,
        profile: None,
        table: table.collect(),
        trace: Vec::new(),
        sample: None,
        files: Vec::new(),
    };
    let extents: Vec<Extent> = parts
        .into_iter()
        .map(|part| Extent {
            centre: part.centre,
            covariance: part.covariance,
        })
        .collect();
    map::draw(&MapPicture {
        points: map::MapPoints {
            names: &placed.names,
            values: placed.values(),
            scale: &scale,
            geo: false,
        },
        labels,
        summary: &summary,
        subtitle,
        extents: &extents,
    })
}
