//! E13: the execution models that P1 draws, each with what shows it.

use crate::selection::Missing;
use crate::suite::shown::{self, By};
use crate::suite::{About, Case, Experiment, Picture, Setting};

/// Execution models drawn: drawings, each with what shows it.
#[derive(Debug)]
pub(crate) struct Drawings;

const ROWS: &[(&str, By)] = &[
    (
        "notification between services",
        By::Example("service_robot"),
    ),
    (
        "pipeline of spawned handlers, then a reduction",
        By::Example("patterns"),
    ),
    ("several stages", By::Example("jacobi")),
    (
        "a tree of spawned handlers",
        By::Example("handler_per_node"),
    ),
    ("spawned shift", By::Example("patterns")),
    ("spawned two shifts", By::Example("patterns")),
    ("rendezvous shift", By::Example("sample_sort")),
    ("rendezvous exchange", By::Example("heat")),
];

impl Experiment for Drawings {
    fn about(&self) -> About {
        About {
            key: "E13",
            name: "drawings",
            title: "Execution models drawn",
            question: "Can the execution models that the papers draw be written with motet?",
            definition: "Each drawing is a working example, or is named as missing.",
            parameters: &[("drawing", "what is drawn")],
            threats: "An example shows that a thing can be written, not that it is fast: E14 measures the patterns.",
            sources: &["P1 Fig. 2", "P1 Fig. 3", "P1 Fig. 4"],
        }
    }

    fn cases(&self, _: &Setting) -> Result<Vec<Case>, Missing> {
        Ok(shown::cases("drawing", ROWS))
    }

    fn pictures(&self) -> Vec<Picture> {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_example_is_there() {
        shown::assert_there(ROWS);
    }
}
