//! E02, E11, E13: what the papers draw, each with what shows it. Of their models of messaging (P0
//! Table 4) also what a round trip takes.

mod round_trips;

use crate::measuring::{Case, Cases, Point, Quantity, Setting};
use round_trips::MODELS;

/// E02: the structure of a run.
pub(crate) fn e02(_: &Setting) -> Cases {
    Ok(shown("drawing", STRUCTURE))
}

/// E11: messaging models, and their round trips.
pub(crate) fn e11(setting: &Setting) -> Cases {
    let trips = setting.by_effort(100, 5_000, 50_000);
    let mut cases = shown("model", MESSAGING);
    for &(model, measure) in MODELS {
        let point = Point::new().with("model", format!("{model}, round trip"));
        let case = Case::new(point, &[Quantity::new("time of a round trip", "us")]);
        cases.push(case.with("motet", move || measure(trips)));
    }
    Ok(cases)
}

/// E13: execution models.
pub(crate) fn e13(_: &Setting) -> Cases {
    Ok(shown("drawing", EXECUTION))
}

/// What is drawn, with the example of the facade that shows it.
type Drawings = &'static [(&'static str, &'static str)];

const STRUCTURE: Drawings = &[
    ("pipeline", "patterns"),
    ("final reduction", "patterns"),
    ("exchange on a torus", "patterns"),
    ("exchange with fixed ends", "patterns"),
    ("shift", "patterns"),
    ("two shifts", "patterns"),
];

const MESSAGING: Drawings = &[
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

const EXECUTION: Drawings = &[
    ("notification between services", "service_robot"),
    ("pipeline of spawned handlers, then a reduction", "patterns"),
    ("several stages", "jacobi"),
    ("a tree of spawned handlers", "handler_per_node"),
    ("spawned shift", "patterns"),
    ("spawned two shifts", "patterns"),
    ("rendezvous shift", "sample_sort"),
    ("rendezvous exchange", "heat"),
];

/// A case for each drawing, whose only series says which example shows it.
fn shown(parameter: &str, drawings: Drawings) -> Vec<Case> {
    let case = |(drawing, example): &(&str, &str)| {
        let said = format!("no number is asked: the example {example} shows it");
        let point = Point::new().with(parameter, *drawing);
        Case::new(point, &[Quantity::new("shown by", "")]).absent("motet", said)
    };
    drawings.iter().map(case).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_example_is_there() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/motet/examples");
        for (_, name) in [STRUCTURE, MESSAGING, EXECUTION].concat() {
            let files = [
                format!("{folder}/{name}.rs"),
                format!("{folder}/{name}/main.rs"),
            ];
            let is_there = files.iter().any(|file| std::path::Path::new(file).exists());
            assert!(is_there, "{name} is no example");
        }
    }

    #[test]
    fn every_model_makes_its_round_trips() {
        for (model, measure) in MODELS {
            let time = measure(20).expect(model);
            assert!(time > 0.0, "{model}: {time}");
        }
    }
}
