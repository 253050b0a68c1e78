//! E02: the structure of a run, as the papers draw it.

use crate::selection::Missing;
use crate::suite::shown;
use crate::suite::{About, Case, Experiment, Picture, Setting};

/// The structure of a run: drawings, each with what shows it.
#[derive(Debug)]
pub(crate) struct Structure;

const ROWS: &[(&str, &str)] = &[
    ("pipeline", "patterns"),
    ("final reduction", "patterns"),
    ("exchange on a torus", "patterns"),
    ("exchange with fixed ends", "patterns"),
    ("shift", "patterns"),
    ("two shifts", "patterns"),
];

impl Experiment for Structure {
    fn about(&self) -> About {
        About {
            key: "E02",
            name: "structure",
            title: "The structure of a run",
            question: "Can the papers' patterns be written, with their stages and the final reduction?",
            definition: "Each drawing is a program with a known answer.",
            parameters: &[("drawing", "what is drawn")],
            threats: "An example shows that a thing can be written, not that it is fast: E03 to E06 and E14 measure the same patterns.",
            sources: &["P0 Fig. 1", "P0 Fig. 7"],
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
