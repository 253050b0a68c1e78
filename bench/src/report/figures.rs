//! Every figure and table of the papers, with what stands for it today.

use super::experiments::{anchor, picture_anchor};
use super::html::{self, cell, heading, link};
use crate::papers::{self, Fact};
use crate::picture::Panel;
use crate::plot::drawn;
use crate::results::Results;
use crate::suite::find;
use maud::{Markup, html};

/// What stands for a figure.
#[derive(Debug, PartialEq)]
enum Today {
    /// Pictures, by anchor and heading.
    Pictures(Vec<(String, String)>),
    /// The section of its experiment.
    Section(String),
    /// Nothing, for a reason.
    Nothing(String),
}

pub(super) fn section(results: &Results) -> Markup {
    let table = papers::table("figures");
    let facts: Vec<Fact<'_>> = table.iter().flat_map(|table| table.rows()).collect();
    let headings = ["figure", "subject", "survives", "here"];
    let row = |fact: &Fact<'_>| {
        let here = match today(fact, results) {
            Today::Pictures(pictures) => html! {
                @for (at, (anchor, title)) in pictures.iter().enumerate() {
                    @if at > 0 { "; " }
                    (link(anchor, title))
                }
            },
            Today::Section(key) => link(&anchor(&key), &key),
            Today::Nothing(reason) => html! { (reason) },
        };
        html! {
            (cell(fact.source()))
            (cell(fact.get("subject")))
            (cell(fact.get("values")))
            (cell(here))
        }
    };
    html! {
        section {
            (heading("figures", "The papers' figures and tables, today"))
            p {
                "Most curves of the papers are lost: what survives of each figure, and the picture that shows the same with the values measured here."
            }
            details open="" {
                summary { (facts.len()) " figures and tables" }
                (html::table(&headings, facts.iter().map(row)))
            }
        }
    }
}

fn today(fact: &Fact<'_>, results: &Results) -> Today {
    let key = fact.get("experiment");
    if fact.get("key") == "P4-Fig7" {
        return Today::Nothing("what it showed is lost with its caption".to_owned());
    }
    let Some(experiment) = find(key).ok().and_then(|found| found.into_iter().next()) else {
        return Today::Nothing(format!("{key} is not built yet"));
    };
    let rows = results.of(key);
    let panels = drawn(experiment, results);
    if !panels.is_empty() && fact.get("values") != "diagram" {
        let title = |panel: &Panel| (picture_anchor(panel), panel.title.clone());
        return Today::Pictures(panels.iter().map(title).collect());
    }
    let reason = rows.iter().find_map(|row| row.absent());
    let has_values = rows.iter().any(|row| row.values().is_some());
    match (rows.is_empty(), has_values, reason) {
        (true, ..) => Today::Nothing(format!("not measured: motet bench run {key}")),
        (false, false, Some(reason)) if fact.get("values") != "diagram" => {
            Today::Nothing(reason.to_owned())
        }
        _ => Today::Section(key.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measuring::{Point, Row, RowOutcome, SCHEMA};

    fn found(key: &str, rows: Vec<Row>) -> Today {
        let results = Results {
            rows,
            machine: None,
            cut_off: false,
            beside: None,
        };
        let table = papers::table("figures").unwrap();
        let fact = table.rows().find(|fact| fact.get("key") == key).unwrap();
        today(&fact, &results)
    }

    fn e05(outcome: &RowOutcome) -> Vec<Row> {
        let at = |stages: u64| Row {
            schema: SCHEMA,
            experiment: "E05".to_owned(),
            series: "motet".to_owned(),
            point: Point::new()
                .with("pattern", "exchange")
                .with("stages", stages),
            quantity: "run time".to_owned(),
            unit: "s".to_owned(),
            outcome: outcome.clone(),
            disturbed: false,
        };
        vec![at(1), at(100)]
    }

    #[test]
    fn a_lost_figure_has_a_picture_or_a_reason() {
        let measured = RowOutcome::Measured {
            median: 1.0,
            least: 1.0,
            most: 1.0,
            runs: 1,
        };
        let Today::Pictures(pictures) = found("P0-Fig6-AMD", e05(&measured)) else {
            panic!("there are values");
        };
        assert!(pictures[0].0.starts_with("fig-e05"), "{pictures:?}");
        let absent = RowOutcome::Absent {
            absent: "no clock".to_owned(),
        };
        assert_eq!(
            found("P0-Fig6-AMD", e05(&absent)),
            Today::Nothing("no clock".to_owned())
        );
        for (key, said) in [
            ("P0-Fig6-AMD", "motet bench run E05"),
            ("P4-Fig7", "lost"),
            ("P4-Fig1", "motet bench run E24"),
        ] {
            let Today::Nothing(reason) = found(key, Vec::new()) else {
                panic!("{key}");
            };
            assert!(reason.contains(said), "{key}: {reason}");
        }
    }
}
