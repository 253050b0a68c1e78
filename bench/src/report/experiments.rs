//! The experiments: what each asks, its pictures and tables, and what may mislead.

use super::html::Html;
use crate::picture::Panel;
use crate::plot::{drawn, tables};
use crate::results::Results;
use crate::suite::{Experiment, RowValues};
use crate::tables::{Cell, Reason, Sheet};
use crate::text::{number, slug};

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

pub(super) fn section(html: &mut Html, experiment: &Experiment, results: &Results) {
    html.open("section", &[]);
    html.heading(
        2,
        &anchor(&experiment.key),
        &format!("{} {}", experiment.key, experiment.title),
    );
    html.element("p", &[("class", "question")], &experiment.question);
    definition(html, experiment);
    for panel in drawn(experiment, results) {
        html.open("figure", &[("id", &picture_anchor(&panel))]);
        html.markup(&panel.svg());
        html.close("figure");
    }
    for sheet in tables(experiment, results) {
        table(html, &sheet);
    }
    once(html, experiment, results);
    html.open("p", &[("class", "threats")]);
    html.element("strong", &[], "What may mislead: ");
    html.text(&experiment.threats);
    html.close("p");
    html.close("section");
}

fn definition(html: &mut Html, experiment: &Experiment) {
    html.open("details", &[]);
    html.element("summary", &[], "Definition, parameters, sources");
    html.p(&experiment.definition);
    html.open("dl", &[]);
    for (name, meaning) in &experiment.parameters {
        html.element("dt", &[], name);
        html.element("dd", &[], meaning);
    }
    html.close("dl");
    html.p(&format!("Sources: {}.", experiment.sources.join("; ")));
    html.close("details");
}

fn table(html: &mut Html, sheet: &Sheet) {
    html.element("h3", &[], &sheet.title);
    if !sheet.fixed.is_empty() {
        let fixed = format!("Everywhere: {}.", sheet.fixed_text());
        html.element("p", &[("class", "small")], &fixed);
    }
    if !sheet.series.is_empty() {
        let folded = sheet.lines.len() > LONG;
        if folded {
            html.open("details", &[]);
            html.element("summary", &[], &format!("{} lines", sheet.lines.len()));
        }
        let headings = sheet.parameters.iter().chain(&sheet.series);
        let headings: Vec<&str> = headings.map(String::as_str).collect();
        html.table(&headings, &sheet.lines, |html, line| {
            for value in &line.point {
                html.cell(value);
            }
            for cell in &line.cells {
                value(html, *cell);
            }
        });
        if folded {
            html.close("details");
        }
    }
    if let Some(load) = sheet.load() {
        html.element("p", &[("class", "small")], load);
    }
    reasons(html, &sheet.reasons);
}

/// How many of the values are of one run.
fn once(html: &mut Html, experiment: &Experiment, results: &Results) {
    let rows = results.of(&experiment.key);
    let values: Vec<RowValues> = rows.iter().filter_map(|row| row.values()).collect();
    let once = values.iter().filter(|values| values.runs == 1).count();
    if once > 0 {
        let of = values.len();
        let text = format!(
            "{once} of these {of} values are of 1 run: they have no range below them, and may be chance."
        );
        html.element("p", &[("class", "small")], &text);
    }
}

/// A value: the median, below it least and most.
fn value(html: &mut Html, cell: Cell) {
    html.open("td", &[("class", "value")]);
    match cell {
        Cell::Value([median, least, most], disturbed) => {
            html.text(&number(median));
            html.text(if disturbed { " †" } else { "" });
            if least < most {
                let range = format!("{} – {}", number(least), number(most));
                html.element("small", &[], &range);
            }
        }
        Cell::Absent(_) | Cell::Empty => html.text(&cell.text()),
    }
    html.close("td");
}

fn reasons(html: &mut Html, reasons: &[Reason]) {
    if reasons.is_empty() {
        return;
    }
    html.open("ol", &[("class", "small")]);
    for reason in reasons {
        let everywhere = if reason.everywhere {
            ""
        } else {
            " (some lines)"
        };
        html.element(
            "li",
            &[],
            &format!("{}{everywhere}: {}", reason.series, reason.text),
        );
    }
    html.close("ol");
}
