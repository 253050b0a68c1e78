//! The page: what stands first, and where everything is found.

use super::claims::CLAIMS;
use super::evidence::Evidence;
use super::experiments::{self, anchor};
use super::html::Html;
use super::losses::{FormLosses, Loss, Losses};
use super::reasons;
use super::verdict::Claim;
use super::{figures, machine};
use crate::plot::measured;
use crate::results::Results;
use crate::suite::{ParameterValue, RowValues, all};
use crate::text::{number, slug, unit};

/// The page as HTML. It holds everything that it shows.
///
/// ```
/// use motet_bench::results::Results;
///
/// let row = r#"{"schema":1,"experiment":"E01","series":"motet","point":{"what":"unit"},"quantity":"time","unit":"us","median":1.4,"least":1.3,"most":1.5,"runs":5,"disturbed":false}"#;
/// let rows = vec![serde_json::from_str(row).unwrap()];
/// let page = motet_bench::report::page(&Results { rows, machine: None, cut_off: false, beside: None });
/// assert!(page.starts_with("<!DOCTYPE html>") && page.contains("What motet loses") && page.contains("C50"));
/// ```
#[must_use]
pub fn page(results: &Results) -> String {
    let mut html = Html::default();
    html.markup("<!DOCTYPE html>\n<html lang=\"en-GB\">\n<head>\n<meta charset=\"utf-8\">\n");
    html.markup("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    html.markup("<meta name=\"color-scheme\" content=\"light dark\">\n");
    let title = format!(
        "motet measured on {}",
        machine::line(results.machine.as_ref())
    );
    html.element("title", &[], &title);
    html.markup("<style>\n");
    html.markup(include_str!("style.css"));
    html.markup("</style>\n</head>\n<body>\n");
    let losses = Losses::of(&results.rows);
    let judged = judged(results);
    header(&mut html, results, &losses, &judged);
    contents(&mut html, results);
    html.open("main", &[]);
    lost(&mut html, results, &losses);
    machine::section(&mut html, results);
    for experiment in measured(results) {
        experiments::section(&mut html, experiment, results);
    }
    claims(&mut html, &judged);
    figures::section(&mut html, results);
    html.close("main");
    html.markup("</body>\n</html>\n");
    html.finish()
}

/// A claim with what is said of it.
struct JudgedClaim {
    claim: &'static Claim,
    answer: Answer,
    found: String,
    why: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    Holds,
    DoesNot,
    CannotTell,
}

impl Answer {
    fn text(self) -> &'static str {
        match self {
            Answer::Holds => "holds",
            Answer::DoesNot => "does not hold",
            Answer::CannotTell => "cannot be told",
        }
    }
}

fn judged(results: &Results) -> Vec<JudgedClaim> {
    let evidence = Evidence::of(results);
    let judge = |claim: &'static Claim| {
        let judged = claim.judged(&evidence);
        let doubts = evidence.take_doubts().reasons().into_iter();
        let doubts: String = doubts.map(|reason| format!("; {reason}")).collect();
        match judged {
            Ok(verdict) => JudgedClaim {
                claim,
                answer: if verdict.holds {
                    Answer::Holds
                } else {
                    Answer::DoesNot
                },
                found: verdict.found,
                why: format!("{}{doubts}", verdict.bound),
            },
            Err(why) => JudgedClaim {
                claim,
                answer: Answer::CannotTell,
                found: String::new(),
                why,
            },
        }
    };
    CLAIMS.iter().map(judge).collect()
}

fn header(html: &mut Html, results: &Results, losses: &Losses<'_>, judged: &[JudgedClaim]) {
    html.open("header", &[]);
    html.element("h1", &[], "What motet costs, measured here");
    html.element(
        "p",
        &[("class", "lede")],
        &machine::line(results.machine.as_ref()),
    );
    let count = |answer| judged.iter().filter(|claim| claim.answer == answer).count();
    let disturbed = results.rows.iter().filter(|row| row.disturbed).count();
    let tiles = [
        (
            losses.losses.iter().filter(|loss| !loss.overlaps).count(),
            match losses.compared {
                0 => "comparisons lost, but there was no peer to compare with".to_owned(),
                compared => format!("of {compared} comparisons lost beyond the spread"),
            },
        ),
        (count(Answer::Holds), "claims of the papers hold".to_owned()),
        (count(Answer::DoesNot), "do not".to_owned()),
        (count(Answer::CannotTell), "cannot be told".to_owned()),
        (
            results.measured(),
            format!("values, {disturbed} beside other load"),
        ),
    ];
    html.open("ul", &[("class", "tiles")]);
    for (value, text) in tiles {
        html.open("li", &[]);
        html.element("strong", &[], &value.to_string());
        html.text(&text);
        html.close("li");
    }
    html.close("ul");
    html.close("header");
}

fn contents(html: &mut Html, results: &Results) {
    html.open("nav", &[("aria-label", "Contents")]);
    html.open("ul", &[]);
    let mut entry = |to: &str, text: &str| {
        html.open("li", &[]);
        html.link(&format!("#{to}"), text);
        html.close("li");
    };
    entry("loses", "What motet loses");
    entry("machine", "Machine");
    for experiment in measured(results) {
        entry(
            &anchor(&experiment.key),
            &format!("{} {}", experiment.key, experiment.title),
        );
    }
    entry("claims", "Claims");
    entry("figures", "Figures");
    html.close("ul");
    let all = all().into_iter().map(|experiment| experiment.key.as_str());
    let missing: Vec<&str> = all.filter(|key| results.of(key).is_empty()).collect();
    if !missing.is_empty() {
        let text = format!("Not measured: {}.", missing.join(", "));
        html.element("p", &[("class", "small")], &text);
    }
    html.close("nav");
}

fn lost(html: &mut Html, results: &Results, losses: &Losses<'_>) {
    html.open("section", &[]);
    html.heading(2, "loses", "What motet loses");
    let groups = losses.groups();
    let Losses {
        losses,
        compared,
        untold,
    } = losses;
    if *compared == 0 {
        html.p("Nothing is compared: these rows hold no value of a peer beside one of motet. Measure with peers to see what motet loses.");
        html.close("section");
        return;
    }
    let beyond = losses.iter().filter(|loss| !loss.overlaps).count();
    html.p(&format!(
        "A peer is better by more than 10 % in {} of {compared} comparisons, each motet's value against the best peer's at the same point \
         and in the same run: in {beyond} beyond the spread of the values, in the others (≈) their ranges, from least to most, overlap or one of \
         the two is of one run, and it may be chance. † marks what was measured beside other load. Where an overhead, a difference of run times, \
         reaches 0 in its runs, the run times are compared in its place; – stands where there are none and a peer is better: no factor says by \
         how much. {untold} more cannot be compared: one of the two is lost so, and their ranges overlap.",
        losses.len(),
    ));
    if groups.is_empty() {
        html.p("Nothing, in these rows.");
    } else {
        html.p("By quantity and form of motet, at the worst point of each, the most severe first:");
        group_table(html, results, &groups);
        html.open("details", &[]);
        html.element("summary", &[], &format!("All {}", losses.len()));
        loss_table(html, results, losses);
        html.close("details");
    }
    causes(html, losses);
    html.close("section");
}

fn loss_table(html: &mut Html, results: &Results, losses: &[Loss<'_>]) {
    let headings = ["loses by", "to", "motet", "peer", "in", "at"];
    html.table(&headings, losses, |html, loss| {
        loss_cells(html, results, loss);
    });
}

fn group_table(html: &mut Html, results: &Results, groups: &[FormLosses<'_, '_>]) {
    let headings = ["loses by", "to", "motet", "peer", "in", "at", "points"];
    html.table(&headings, groups, |html, group| {
        loss_cells(html, results, group.worst);
        let points = match group.overlapping {
            0 => group.lost.to_string(),
            overlapping => format!("{}, {overlapping} ≈", group.lost),
        };
        html.element("td", &[("class", "value")], &points);
    });
}

fn loss_cells(html: &mut Html, results: &Results, loss: &Loss<'_>) {
    let marks = match (loss.overlaps, loss.disturbed) {
        (true, true) => " ≈ †",
        (true, false) => " ≈",
        (false, true) => " †",
        (false, false) => "",
    };
    let factor = match loss.factor {
        Some(factor) => format!("{}×{marks}", number(factor)),
        None => format!("–{marks}"),
    };
    html.element("td", &[("class", "value")], &factor);
    html.cell(loss.peer);
    let value = |spread: RowValues| {
        let text = format!("{} {}", number(spread.median), unit(loss.unit));
        let once = if spread.runs == 1 { " (1 run)" } else { "" };
        format!("{}{once}", text.trim())
    };
    let name = loss.series.trim_start_matches("motet").trim();
    let motet = format!("{} {name}", value(loss.motet));
    html.element("td", &[("class", "value")], motet.trim());
    html.element("td", &[("class", "value")], &value(loss.theirs));
    html.open("td", &[("class", "says")]);
    html.link(&format!("#{}", anchor(loss.experiment)), loss.experiment);
    html.text(&format!(" {}", loss.quantity));
    html.close("td");
    html.element("td", &[("class", "says")], &place(results, loss));
}

/// The point, without what is the same in all rows of its experiment.
fn place(results: &Results, loss: &Loss<'_>) -> String {
    let rows = results.of(loss.experiment);
    let varies = |name: &str| {
        let here = loss.point.get(name);
        rows.iter().any(|row| row.point.get(name) != here)
    };
    let varying = loss.point.iter().filter(|(name, _)| varies(name));
    let texts = varying.map(|(name, value)| match value {
        ParameterValue::Word(word) => word.clone(),
        ParameterValue::Count(_) | ParameterValue::Number(_) => format!("{name} {value}"),
    });
    texts.collect::<Vec<_>>().join(", ")
}

/// Why, as far as it is known.
fn causes(html: &mut Html, losses: &[Loss<'_>]) {
    let reasons = reasons::reasons(losses);
    if reasons.is_empty() {
        return;
    }
    html.heading(3, "causes", "Why");
    html.open("ul", &[]);
    for reason in reasons {
        html.open("li", &[]);
        let name = format!("{} in {}: ", reason.peer, reason.experiments.join(", "));
        html.element("strong", &[], &name);
        html.text(reason.text());
        html.close("li");
    }
    html.close("ul");
}

fn claims(html: &mut Html, judged: &[JudgedClaim]) {
    html.open("section", &[]);
    html.heading(2, "claims", "The papers' claims, today");
    html.p(
        "Each claim in our own words, with the value of the papers, the value found here, and a verdict that follows from the rows. \
         A cost that the papers found is read as a bound.",
    );
    let headings = [
        "claim",
        "what it says",
        "then",
        "here",
        "verdict",
        "tested by",
    ];
    html.table(&headings, judged, |html, judged| {
        let claim = judged.claim;
        html.open("td", &[("id", &slug(&claim.key))]);
        html.link(&format!("#{}", slug(&claim.key)), &claim.key);
        html.close("td");
        html.open("td", &[("class", "says")]);
        html.text(&claim.says);
        html.element("small", &[], &claim.source);
        html.close("td");
        html.cell(&claim.then);
        html.cell(&judged.found);
        html.open("td", &[("class", "says")]);
        let class = slug(judged.answer.text());
        html.element(
            "span",
            &[("class", &format!("verdict {class}"))],
            judged.answer.text(),
        );
        html.element("small", &[], &judged.why);
        html.close("td");
        html.open("td", &[]);
        for test in &claim.tests {
            html.link(&format!("#{}", anchor(test)), test);
            html.text(" ");
        }
        html.close("td");
    });
    html.close("section");
}
