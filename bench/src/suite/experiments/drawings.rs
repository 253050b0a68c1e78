//! E02, E11, E13: what the papers draw, each with what shows it. Of their models of messaging (P0
//! Table 4) also what a round trip takes.

mod round_trips;

use crate::measuring::{Case, Cases, Point, Quantity, Setting};
use round_trips::{MODELS, Trips};

/// E02: the structure of a run.
pub(crate) fn e02(_: &Setting) -> Cases {
    Ok(shown("drawing", STRUCTURE))
}

/// E11: messaging models, and their round trips.
pub(crate) fn e11(setting: &Setting) -> Cases {
    let messages = setting.by_effort(64, 1_920, 48_000);
    let mut cases = shown("model", MESSAGING);
    for model in MODELS {
        for group in GROUPS {
            let point = Point::new().with("model", model.name);
            let point = point.with("messages", group).with("where", model.place);
            let case = Case::new(point, &[Quantity::new("time of a round trip", "us")]);
            let trips = Trips::of(messages, group);
            cases.push(case.with("motet", move || (model.measure)(trips)));
        }
    }
    Ok(cases)
}

/// Messages of a group: one at a time, and many.
const GROUPS: [usize; 2] = [1, 64];

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
    use crate::measuring::MeasuringConfig;

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
        for model in MODELS {
            for (group, groups) in [(1, 20), (64, 2)] {
                let time = (model.measure)(Trips { group, groups }).expect(model.name);
                assert!(time > 0.0, "{}: {time}", model.name);
            }
        }
    }

    #[test]
    fn every_class_of_the_papers_table_has_a_round_trip() {
        let table = crate::papers::table("p0_table4_models").unwrap();
        for class in table.rows() {
            let is_tree = class.get("class") == "tree search";
            for figure in class.get("figure").split("; ") {
                let letter = figure.trim_start_matches("15");
                let mut models = MODELS.iter().filter(|model| model.name.starts_with(letter));
                let known = models.any(|model| model.name.contains("tree search") == is_tree);
                assert!(known, "{figure}, {}", class.get("class"));
            }
        }
    }

    #[test]
    fn all_models_make_as_many_trips_in_the_same_groups() {
        let cases = e11(&Setting::new(MeasuringConfig::default())).unwrap();
        for model in MODELS {
            let has = |case: &&Case, name: &str, value: &str| {
                let given = case.point.get(name);
                given.is_some_and(|given| given.to_string() == value)
            };
            let own = cases.iter().filter(|case| has(case, "model", model.name));
            let own = own.filter(|case| has(case, "where", model.place));
            let groups = own.filter_map(|case| case.point.get("messages")?.number());
            assert_eq!(groups.collect::<Vec<_>>(), [1.0, 64.0], "{}", model.name);
        }
        for messages in [64, 1_920, 48_000] {
            let made = GROUPS.map(|group| Trips::of(messages, group));
            let made = made.map(|trips| trips.group * trips.groups);
            assert_eq!(made, [messages; 2]);
        }
    }
}
