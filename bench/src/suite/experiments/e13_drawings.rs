//! E13: the execution models that P1 draws, each with what shows it.

use crate::selection::Missing;
use crate::suite::shown;
use crate::suite::{About, Case, Experiment, Picture, Setting};

/// Execution models drawn: drawings, each with what shows it.
#[derive(Debug)]
pub(crate) struct Drawings;

const ROWS: &[(&str, &str)] = &[
    ("notification between services", "service_robot"),
    ("pipeline of spawned handlers, then a reduction", "patterns"),
    ("several stages", "jacobi"),
    ("a tree of spawned handlers", "handler_per_node"),
    ("spawned shift", "patterns"),
    ("spawned two shifts", "patterns"),
    ("rendezvous shift", "sample_sort"),
    ("rendezvous exchange", "heat"),
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
