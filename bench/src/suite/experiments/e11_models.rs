//! E11: the messaging models of P0 Table 4, each with what shows it, and what a round trip takes.

mod round_trips;

use crate::selection::Missing;
use crate::suite::shown;
use crate::suite::{About, Case, Experiment, Picture, Point, Quantity, Setting};
use round_trips::MODELS;

/// Messaging models: drawings, each with what shows it, and their round trips.
#[derive(Debug)]
pub(crate) struct Models;

const TIME: Quantity = Quantity::new("time of a round trip", "us");

const ROWS: &[(&str, &str)] = &[
    ("(a) spawned, dataflow", "word_count"),
    ("(a) spawned, tree search", "handler_per_node"),
    (
        "(a) tree search on ranks, with a shared bound",
        "tree_search",
    ),
    ("(b) queued, discrete events", "queueing_network"),
    ("(b) queued, processes in virtual time", "gas_station"),
    ("(b) queued, war game", "war_game"),
    ("(c) rendezvous, direct", "heat"),
    ("(d) rendezvous with handlers", "request_reply"),
    ("(e) publish-subscribe", "publish_subscribe"),
    ("(f) overlay network", "six_models"),
    ("all of them in one program", "six_models"),
];

impl Experiment for Models {
    fn about(&self) -> About {
        About {
            key: "E11",
            name: "models",
            title: "Messaging models",
            question: "Which of the papers' models of messaging can be written with motet, and what does a message take in each?",
            definition: "Each model is a working example, or is named as missing. Round trip: two parties of one process send 64 \
                         bytes there and back, one at a time; the mean over all, after a tenth that is not counted. Ports and \
                         services have two threads, ranks a thread each; events are those of one calendar; the two members of the \
                         overlay talk in a room over a simulated link without delay.",
            parameters: &[("model", "the messaging model")],
            threats: "An example shows that a thing can be written, not that it is fast. The models promise different things: a \
                      call has a deadline and faults, a sample has a number and is acknowledged.",
            sources: &["P0 Fig. 15", "P0 Table 4", "R057 to R068"],
        }
    }

    fn cases(&self, setting: &Setting) -> Result<Vec<Case>, Missing> {
        let trips = setting.by_effort(100, 5_000, 50_000);
        let mut cases = shown::cases("model", ROWS);
        for &(model, measure) in MODELS {
            let point = Point::new().with("model", format!("{model}, round trip"));
            let time = move || Ok(vec![measure(trips)?]);
            cases.push(Case::new(point, &[TIME]).with("motet", time));
        }
        Ok(cases)
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

    #[test]
    fn every_model_makes_its_round_trips() {
        for (model, measure) in MODELS {
            let time = measure(20).expect(model);
            assert!(time > 0.0, "{model}: {time}");
        }
    }
}
