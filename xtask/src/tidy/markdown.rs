//! What checks ask of a Markdown text: its links, its code spans, its anchors.

use regex_lite::Regex;
use std::collections::{BTreeMap, BTreeSet};

/// A link or a code span and the line where it stands, from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MarkdownSpan {
    /// The line.
    pub(crate) line: usize,
    /// The link's target, or what the code span holds.
    pub(crate) text: String,
}

/// The targets of every link and picture outside of code.
pub(crate) fn links(text: &str) -> Vec<MarkdownSpan> {
    let patterns = [
        r"\]\(\s*<?([^)\s>]+)>?[^)]*\)",
        r"^\s{0,3}\[[^\]]+\]:\s*<?([^\s>]+)>?",
        r#"(?:href|src)="([^"]+)""#,
    ];
    let patterns = patterns.map(|pattern| Regex::new(pattern).expect("it compiles"));
    let mut found = Vec::new();
    for (line, text) in prose(text) {
        let text = without_code(text);
        for pattern in &patterns {
            let targets = pattern.captures_iter(&text).map(|link| link[1].to_owned());
            found.extend(targets.map(|text| MarkdownSpan { line, text }));
        }
    }
    found
}

/// What stands between backquotes outside of code blocks.
pub(crate) fn code_spans(text: &str) -> Vec<MarkdownSpan> {
    let span = Regex::new(r"`([^`]+)`").expect("it compiles");
    let mut found = Vec::new();
    for (line, text) in prose(text) {
        found.extend(span.captures_iter(text).map(|code| MarkdownSpan {
            line,
            text: code[1].to_owned(),
        }));
    }
    found
}

/// The anchors of the headings, as code hosts make them, and those set by hand.
pub(crate) fn anchors(text: &str) -> BTreeSet<String> {
    let by_hand = Regex::new(r#"<a\s+(?:id|name)="([^"]+)""#).expect("it compiles");
    let link = Regex::new(r"\[([^\]]*)\]\([^)]*\)").expect("it compiles");
    let mut anchors = BTreeSet::new();
    let mut times = BTreeMap::<String, usize>::new();
    for (_, line) in prose(text) {
        anchors.extend(by_hand.captures_iter(line).map(|found| found[1].to_owned()));
        let title = line.trim_start_matches('#');
        if title.len() == line.len() || !title.starts_with(' ') {
            continue;
        }
        let slug = slug(&link.replace_all(title.trim(), "$1"));
        let before = times.entry(slug.clone()).or_default();
        anchors.insert(if *before == 0 {
            slug
        } else {
            format!("{slug}-{before}")
        });
        *before += 1;
    }
    anchors
}

/// The lines outside of fenced code blocks, with their numbers.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fence: Option<String> = None;
    text.lines().enumerate().filter_map(move |(at, line)| {
        let bare = line.trim_start();
        let mark: String = bare
            .chars()
            .take_while(|c| matches!(c, '`' | '~'))
            .collect();
        match &fence {
            Some(open) => {
                if mark.starts_with(open.as_str()) && bare.trim_end() == mark {
                    fence = None;
                }
                None
            }
            None if mark.len() >= 3 => {
                fence = Some(mark);
                None
            }
            None => Some((at + 1, line)),
        }
    })
}

fn without_code(line: &str) -> String {
    Regex::new(r"`[^`]*`")
        .expect("it compiles")
        .replace_all(line, "``")
        .into_owned()
}

fn slug(title: &str) -> String {
    let kept = title
        .chars()
        .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.flat_map(char::to_lowercase)
        .map(|c| if c == ' ' { '-' } else { c })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn targets(text: &str) -> Vec<String> {
        links(text).into_iter().map(|span| span.text).collect()
    }

    #[test]
    fn links_of_every_form_are_found() {
        let text =
            "[a](x.md) ![p](p.svg \"title\") [b](<y.md#z>)\n[ref]: z.md\n<a href=\"w.md\">w</a>";
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
        let found: Vec<_> = spans
            .iter()
            .map(|span| (span.line, span.text.as_str()))
            .collect();
        assert_eq!(found, [(1, "b"), (5, "d"), (5, "e")]);
    }

    #[test]
    fn anchors_are_made_as_code_hosts_make_them() {
        let text = "# One & `two`\n## One & `two`\n### [Linked](x.md) title\n<a id=\"own\"></a>\n#no heading\n```\n# in code\n```";
        let wanted = ["linked-title", "one--two", "one--two-1", "own"];
        assert_eq!(anchors(text).into_iter().collect::<Vec<_>>(), wanted);
    }
}
