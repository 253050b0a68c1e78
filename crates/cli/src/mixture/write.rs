//! The files of `motet mixture --out`.

use motet_mining::{CancelToken, MixtureModel};

use super::MixtureSummary;
use crate::error::CliError;
use crate::files::{self, ByteWriter, Content, ResultsFolder};
use crate::map::Curve;
use crate::model::{CURVE, LABELS, MODEL, StoredModel, TRACE};
use crate::plane::{self, RowGroup};
use crate::space::Placed;
use crate::text::grouped;

/// Writes all files, or none.
pub(super) fn files(
    folder: &ResultsFolder,
    names: &[&'static str],
    placed: &Placed,
    model: &StoredModel<MixtureModel>,
    summary: &MixtureSummary,
    cancel: &CancelToken,
) -> Result<(), CliError> {
    let curve = curve(summary).draw();
    let map = plane(placed, summary);
    let write = |name: &'static str| -> ByteWriter<'_> {
        match name {
            LABELS => Box::new(|to| files::write_labels(to, placed, &summary.labels)),
            MODEL => Box::new(|to| {
                let mut model = StoredModel::new(&model.kind, &model.names, model.model.clone());
                (model.model.rows, model.model.labels) = (0..0, Vec::new());
                serde_json::to_writer_pretty(&mut *to, &model)?;
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

fn curve(summary: &MixtureSummary) -> Curve<'static> {
    Curve {
        title: format!("{} components: mean ln p", summary.components),
        subtitle: format!(
            "{} points, {} covariances",
            grouped(summary.points),
            summary.covariance
        ),
        axes: ["step", "mean ln p before the step"],
        values: summary.trace.clone(),
        marks: Vec::new(),
    }
}

/// The rows in the plane, each in the colour of its component.
fn plane(placed: &Placed, summary: &MixtureSummary) -> String {
    let parts = summary.table.iter().map(|row| RowGroup {
        size: row.size,
        centre: row.mean.clone(),
        covariance: row.covariance.clone(),
    });
    let subtitle = format!(
        "{} points, mixture with {} covariances",
        grouped(summary.points),
        summary.covariance
    );
    plane::draw(placed, &summary.labels, parts.collect(), subtitle)
}
