//! The experiments: what each asks, its pictures and tables, and what may mislead.

use super::html::{self, cell, cell_of, heading};
use crate::measuring::RowValues;
use crate::picture::Panel;
use crate::plot::{drawn, tables};
use crate::results::Results;
use crate::suite::Experiment;
use crate::tables::{Cell, Reason, Sheet};
use crate::text::{number, slug};
use maud::{Markup, PreEscaped, html};

/// A table with more lines is folded.
const LONG: usize = 12;

/// The anchor of an experiment's section.
pub(super) fn anchor(key: &str) -> String {
    slug(key)
}

/// The anchor of a picture.
pub(super) fn picture_anchor(panel: &Panel) -> String {
    format!("fig-{}", panel.file)
}

pub(super) fn section(experiment: &Experiment, results: &Results) -> Markup {
    let title = format!("{} {}", experiment.key, experiment.title);
    html! {
        section {
            (heading(&anchor(&experiment.key), &title))
            p class="question" { (experiment.question) }
            (definition(experiment))
            @for panel in drawn(experiment, results) {
                figure id=(picture_anchor(&panel)) { (PreEscaped(panel.svg())) }
            }
            @for sheet in tables(experiment, results) { (table(&sheet)) }
            (once(experiment, results))
            p class="threats" { strong { "What may mislead: " } (experiment.threats) }
        }
    }
}

fn definition(experiment: &Experiment) -> Markup {
    html! {
        details {
            summary { "Definition, parameters, sources" }
            p { (experiment.definition) }
            dl {
                @for (name, meaning) in &experiment.parameters {
                    dt { (name) }
                    dd { (meaning) }
                }
            }
            p { "Sources: " (experiment.sources.join("; ")) "." }
        }
    }
}

fn table(sheet: &Sheet) -> Markup {
    let headings = sheet.parameters.iter().chain(&sheet.series);
    let headings: Vec<&str> = headings.map(String::as_str).collect();
    let lines = sheet.lines.iter().map(|line| {
        html! {
            @for value in &line.point { (cell(value)) }
            @for cell in &line.cells { (value(*cell)) }
        }
    });
    let values = html::table(&headings, lines);
    html! {
        h3 { (sheet.title) }
        @if !sheet.fixed.is_empty() { p class="small" { "Everywhere: " (sheet.fixed_text()) "." } }
        @if sheet.series.is_empty() {
        } @else if sheet.lines.len() > LONG {
            details { summary { (sheet.lines.len()) " lines" } (values) }
        } @else {
            (values)
        }
        @if let Some(load) = sheet.load() { p class="small" { (load) } }
        (reasons(&sheet.reasons))
    }
}

/// How many of the values are of one run.
fn once(experiment: &Experiment, results: &Results) -> Markup {
    let rows = results.of(&experiment.key);
    let values: Vec<RowValues> = rows.iter().filter_map(|row| row.values()).collect();
    let once = values.iter().filter(|values| values.runs == 1).count();
    html! {
        @if once > 0 {
            p class="small" {
                (once) " of these " (values.len())
                " values are of 1 run: they have no range below them, and may be chance."
            }
        }
    }
}

/// A value: the median, below it least and most.
fn value(cell: Cell) -> Markup {
    let Cell::Value([median, least, most], disturbed) = cell else {
        return cell_of("value", cell.text());
    };
    let value = html! {
        (number(median)) @if disturbed { " †" }
        @if least < most { small { (number(least)) " – " (number(most)) } }
    };
    cell_of("value", value)
}

fn reasons(reasons: &[Reason]) -> Markup {
    html! {
        @if !reasons.is_empty() {
            ol class="small" {
                @for reason in reasons {
                    li {
                        (reason.series) @if !reason.everywhere { " (some lines)" } ": " (reason.text)
                    }
                }
            }
        }
    }
}
