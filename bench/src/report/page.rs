//! The page: what stands first, and where everything is found.

use super::claims::CLAIMS;
use super::evidence::Evidence;
use super::experiments::{self, anchor};
use super::html::{cell, cell_of, heading, link, table};
use super::losses::{FormLosses, Loss, Losses};
use super::reasons;
use super::verdict::Claim;
use super::{figures, machine};
use crate::measuring::{ParameterValue, RowValues};
use crate::plot::measured;
use crate::results::Results;
use crate::suite::all;
use crate::text::{number, slug, unit};
use maud::{DOCTYPE, Markup, PreEscaped, html};

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
    let losses = Losses::of(&results.rows);
    let judged = judged(results);
    let page = html! {
        (DOCTYPE) "\n"
        html lang="en-GB" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { "motet measured on " (machine::line(results.machine.as_ref())) }
                style { "\n" (PreEscaped(include_str!("style.css"))) }
            }
            "\n"
            body {
                (header(results, &losses, &judged))
                (contents(results))
                main {
                    (lost(results, &losses))
                    (machine::section(results))
                    @for experiment in measured(results) {
                        (experiments::section(experiment, results))
                    }
                    (claims(&judged))
                    (figures::section(results))
                }
            }
        }
        "\n"
    };
    // What others have said may hold anything.
    let strange = |c: char| c.is_control() && c != '\n';
    page.into_string().replace(strange, "\u{fffd}")
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

fn header(results: &Results, losses: &Losses<'_>, judged: &[JudgedClaim]) -> Markup {
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
    html! {
        header {
            h1 { "What motet costs, measured here" }
            p class="lede" { (machine::line(results.machine.as_ref())) }
            ul class="tiles" {
                @for (value, text) in tiles { li { strong { (value) } "\n" (text) } }
            }
        }
    }
}

fn contents(results: &Results) -> Markup {
    let entry = |to: &str, text: &str| html! { li { (link(to, text)) } "\n" };
    let all = all().into_iter().map(|experiment| experiment.key.as_str());
    let missing: Vec<&str> = all.filter(|key| results.of(key).is_empty()).collect();
    html! {
        nav aria-label="Contents" {
            ul {
                (entry("loses", "What motet loses"))
                (entry("machine", "Machine"))
                @for experiment in measured(results) {
                    (entry(
                        &anchor(&experiment.key),
                        &format!("{} {}", experiment.key, experiment.title),
                    ))
                }
                (entry("claims", "Claims"))
                (entry("figures", "Figures"))
            }
            @if !missing.is_empty() {
                p class="small" { "Not measured: " (missing.join(", ")) "." }
            }
        }
    }
}

fn lost(results: &Results, losses: &Losses<'_>) -> Markup {
    let groups = losses.groups();
    let Losses {
        losses,
        compared,
        untold,
    } = losses;
    let beyond = losses.iter().filter(|loss| !loss.overlaps).count();
    let told = format!(
        "A peer is better by more than 10 % in {} of {compared} comparisons, each motet's value against the best peer's at the same point \
         and in the same run: in {beyond} beyond the spread of the values, in the others (≈) their ranges, from least to most, overlap or one of \
         the two is of one run, and it may be chance. † marks what was measured beside other load. Where an overhead, a difference of run times, \
         reaches 0 in its runs, the run times are compared in its place; – stands where there are none and a peer is better: no factor says by \
         how much. {untold} more cannot be compared: one of the two is lost so, and their ranges overlap.",
        losses.len(),
    );
    html! {
        section {
            (heading("loses", "What motet loses"))
            @if *compared == 0 {
                p { "Nothing is compared: these rows hold no value of a peer beside one of motet. Measure with peers to see what motet loses." }
            } @else {
                p { (told) }
                @if groups.is_empty() {
                    p { "Nothing, in these rows." }
                } @else {
                    p { "By quantity and form of motet, at the worst point of each, the most severe first:" }
                    (group_table(results, &groups))
                    details {
                        summary { "All " (losses.len()) }
                        (loss_table(results, losses))
                    }
                }
                (causes(losses))
            }
        }
    }
}

fn loss_table(results: &Results, losses: &[Loss<'_>]) -> Markup {
    let headings = ["loses by", "to", "motet", "peer", "in", "at"];
    table(
        &headings,
        losses.iter().map(|loss| loss_cells(results, loss)),
    )
}

fn group_table(results: &Results, groups: &[FormLosses<'_, '_>]) -> Markup {
    let headings = ["loses by", "to", "motet", "peer", "in", "at", "points"];
    let row = |group: &FormLosses<'_, '_>| {
        let points = match group.overlapping {
            0 => group.lost.to_string(),
            overlapping => format!("{}, {overlapping} ≈", group.lost),
        };
        html! { (loss_cells(results, group.worst)) (cell_of("value", points)) }
    };
    table(&headings, groups.iter().map(row))
}

fn loss_cells(results: &Results, loss: &Loss<'_>) -> Markup {
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
    let value = |spread: RowValues| {
        let text = format!("{} {}", number(spread.median), unit(loss.unit));
        let once = if spread.runs == 1 { " (1 run)" } else { "" };
        format!("{}{once}", text.trim())
    };
    let name = loss.series.trim_start_matches("motet").trim();
    let motet = format!("{} {name}", value(loss.motet));
    let quantity = html! { (link(&anchor(loss.experiment), loss.experiment)) " " (loss.quantity) };
    html! {
        (cell_of("value", factor))
        (cell(loss.peer))
        (cell_of("value", motet.trim()))
        (cell_of("value", value(loss.theirs)))
        (cell_of("says", quantity))
        (cell_of("says", place(results, loss)))
    }
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
fn causes(losses: &[Loss<'_>]) -> Markup {
    let reasons = reasons::reasons(losses);
    html! {
        @if !reasons.is_empty() {
            h3 id="causes" { (link("causes", "Why")) }
            ul {
                @for reason in reasons {
                    li {
                        strong { (reason.peer) " in " (reason.experiments.join(", ")) ": " }
                        (reason.text())
                    }
                    "\n"
                }
            }
        }
    }
}

fn claims(judged: &[JudgedClaim]) -> Markup {
    let headings = [
        "claim",
        "what it says",
        "then",
        "here",
        "verdict",
        "tested by",
    ];
    let row = |judged: &JudgedClaim| {
        let (claim, answer) = (judged.claim, judged.answer.text());
        let key = slug(&claim.key);
        html! {
            td id=(key) { (link(&key, &claim.key)) } "\n"
            (cell_of("says", html! { (claim.says) small { (claim.source) } }))
            (cell(&claim.then))
            (cell(&judged.found))
            td class="says" {
                span class={ "verdict " (slug(answer)) } { (answer) } "\n"
                small { (judged.why) }
            }
            "\n"
            td { @for test in &claim.tests { (link(&anchor(test), test)) " " } }
        }
    };
    html! {
        section {
            (heading("claims", "The papers' claims, today"))
            p {
                "Each claim in our own words, with the value of the papers, the value found here, and a verdict that follows from the rows. \
                 A cost that the papers found is read as a bound."
            }
            (table(&headings, judged.iter().map(row)))
        }
    }
}
