//! E11: the messaging models of P0 Table 4, each with what shows it.

use crate::selection::Missing;
use crate::suite::shown::{self, By};
use crate::suite::{About, Case, Experiment, Picture, Setting};

/// Messaging models: drawings, each with what shows it.
#[derive(Debug)]
pub(crate) struct Models;

const ROWS: &[(&str, By)] = &[
    ("(a) spawned, dataflow", By::Example("word_count")),
    ("(a) spawned, tree search", By::Example("handler_per_node")),
    (
        "(a) tree search on ranks, with a shared bound",
        By::Example("tree_search"),
    ),
    (
        "(b) queued, discrete events",
        By::Example("queueing_network"),
    ),
    (
        "(b) queued, processes in virtual time",
        By::Example("gas_station"),
    ),
    ("(b) queued, war game", By::Example("war_game")),
    ("(c) rendezvous, direct", By::Example("heat")),
    ("(d) rendezvous with handlers", By::Example("request_reply")),
    ("(e) publish-subscribe", By::Example("publish_subscribe")),
    (
        "(f) overlay network",
        By::Nothing("an overlay needs an engine between machines"),
    ),
];

impl Experiment for Models {
    fn about(&self) -> About {
        About {
            key: "E11",
            name: "models",
            title: "Messaging models",
            question: "Which of the papers' models of messaging can be written with motet?",
            definition: "Each model is a working example, or is named as missing.",
            parameters: &[("model", "the messaging model")],
            threats: "An example shows that a thing can be written, not that it is fast.",
            sources: &["P0 Fig. 15", "P0 Table 4", "R057 to R068"],
        }
    }

    fn cases(&self, _: &Setting) -> Result<Vec<Case>, Missing> {
        Ok(shown::cases("model", ROWS))
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
