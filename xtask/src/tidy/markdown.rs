//! What checks ask of a Markdown text: its links, its code spans, its anchors.

use pulldown_cmark::{Event, Parser, Tag, TagEnd};
use regex_lite::Regex;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Targets of links, or what code spans hold, each with its line, from 1.
type Spans = Vec<(usize, String)>;

/// The targets of every link and picture outside of code.
pub(crate) fn links(text: &str) -> Spans {
    let attribute = Regex::new(r#"(?:href|src)="([^"]+)""#).expect("it compiles");
    let mut found = Vec::new();
    for (event, place) in Parser::new(text).into_offset_iter() {
        let line = line(text, &place);
        match event {
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                found.push((line, dest_url.to_string()));
            }
            Event::Html(html) | Event::InlineHtml(html) => {
                let targets = attribute.captures_iter(&html);
                found.extend(targets.map(|target| (line, target[1].to_owned())));
            }
            _ => {}
        }
    }
    found
}

/// What stands between backquotes outside of code blocks.
pub(crate) fn code_spans(text: &str) -> Spans {
    let events = Parser::new(text).into_offset_iter();
    let codes = events.filter_map(|(event, place)| match event {
        Event::Code(code) => Some((line(text, &place), code.to_string())),
        _ => None,
    });
    codes.collect()
}

/// The anchors of the headings, as code hosts make them, and those set by hand.
pub(crate) fn anchors(text: &str) -> BTreeSet<String> {
    let by_hand = Regex::new(r#"<a\s+(?:id|name)="([^"]+)""#).expect("it compiles");
    let mut anchors = BTreeSet::new();
    let mut times = BTreeMap::<String, usize>::new();
    let mut title = None;
    for event in Parser::new(text) {
        match event {
            Event::Start(Tag::Heading { .. }) => title = Some(String::new()),
            Event::Text(part) | Event::Code(part) => {
                title.iter_mut().for_each(|title| title.push_str(&part));
            }
            Event::End(TagEnd::Heading(_)) => {
                let slug = slug(&title.take().unwrap_or_default());
                let before = times.entry(slug.clone()).or_default();
                anchors.insert(match before {
                    0 => slug,
                    _ => format!("{slug}-{before}"),
                });
                *before += 1;
            }
            Event::Html(html) | Event::InlineHtml(html) => {
                anchors.extend(
                    by_hand
                        .captures_iter(&html)
                        .map(|found| found[1].to_owned()),
                );
            }
            _ => {}
        }
    }
    anchors
}

fn line(text: &str, place: &Range<usize>) -> usize {
    text[..place.start].matches('\n').count() + 1
}

fn slug(title: &str) -> String {
    let kept = title
        .chars()
        .filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.flat_map(char::to_lowercase)
        .map(|c| if c == ' ' { '-' } else { c })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn targets(text: &str) -> Vec<String> {
        links(text).into_iter().map(|(_, target)| target).collect()
    }

    #[test]
    fn links_of_every_form_are_found() {
        let text = "[a](x.md) ![p](p.svg \"title\") [b](<y.md#z>) [c][ref]\n\
                    <a href=\"w.md\">w</a>\n\n[ref]: z.md";
        assert_eq!(targets(text), ["x.md", "p.svg", "y.md#z", "z.md", "w.md"]);
    }

    #[test]
    fn code_holds_no_links() {
        assert!(targets("`[a](x.md)`\n```text\n[b](y.md)\n```\n~~~\n[c](z.md)\n~~~").is_empty());
        assert_eq!(targets("````\n```\n[a](x)\n````\n[b](y)"), ["y"]);
    }

    #[test]
    fn code_spans_know_their_line() {
        let spans = code_spans("a `b`\n```\n`c`\n```\n`d` and `e`");
        let wanted = [(1, "b"), (5, "d"), (5, "e")];
        assert_eq!(spans, wanted.map(|(line, code)| (line, code.to_owned())));
    }

    #[test]
    fn anchors_are_made_as_code_hosts_make_them() {
        let text = "# One & `two`\n## One & `two`\n### [Linked](x.md) title\n<a id=\"own\"></a>\n#no heading\n```\n# in code\n```";
        let wanted = ["linked-title", "one--two", "one--two-1", "own"];
        assert_eq!(anchors(text).into_iter().collect::<Vec<_>>(), wanted);
    }
}
