//! The pictures and tables of a folder of results, as files.

use crate::picture::{Panel, panels};
use crate::results::Results;
use crate::suite::{Experiment, all};
use crate::tables::{Sheet, csv, sheets};

/// A file to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlotFile {
    /// Its path below the folder, with `/`.
    pub path: String,
    /// What it holds.
    pub bytes: Vec<u8>,
}

/// Every picture as SVG and PNG below `pictures`, and a table of every experiment as Markdown and
/// CSV below `tables`.
///
/// The same results give the same bytes.
#[must_use]
pub fn files(results: &Results) -> Vec<PlotFile> {
    let mut files = Vec::new();
    for experiment in measured(results) {
        for panel in drawn(experiment, results) {
            let path = |ending: &str| format!("pictures/{}.{ending}", panel.file);
            files.push(PlotFile {
                path: path("svg"),
                bytes: panel.svg().into_bytes(),
            });
            files.push(PlotFile {
                path: path("png"),
                bytes: panel.png(),
            });
        }
        let rows = results.of(&experiment.key);
        let path = |ending: &str| format!("tables/{}.{ending}", experiment.key.to_lowercase());
        let mut text = format!(
            "# {} {}\n\n{}\n",
            experiment.key, experiment.title, experiment.question
        );
        for sheet in tables(experiment, results) {
            text += &format!("\n{}", sheet.markdown());
        }
        files.push(PlotFile {
            path: path("md"),
            bytes: text.into_bytes(),
        });
        files.push(PlotFile {
            path: path("csv"),
            bytes: csv(&rows),
        });
    }
    files
}

/// The experiments that have rows, in the papers' order.
pub(crate) fn measured(results: &Results) -> Vec<&'static Experiment> {
    let measured = all()
        .into_iter()
        .filter(|experiment| !results.of(&experiment.key).is_empty());
    measured.collect()
}

/// The pictures of an experiment that can be drawn.
pub(crate) fn drawn(experiment: &Experiment, results: &Results) -> Vec<Panel> {
    let rows = results.of(&experiment.key);
    let drawn = experiment
        .pictures
        .iter()
        .flat_map(|picture| panels(picture, &rows));
    drawn.collect()
}

/// The tables of an experiment.
pub(crate) fn tables(experiment: &Experiment, results: &Results) -> Vec<Sheet> {
    let order: Vec<&str> = experiment
        .parameters
        .iter()
        .map(|(name, _)| name.as_str())
        .collect();
    sheets(&order, &results.of(&experiment.key))
}
