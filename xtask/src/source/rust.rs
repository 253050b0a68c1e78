//! One Rust source: its code, which part of it is test code, its functions and inline modules.

use super::mask::mask;
use regex_lite::Regex;
use std::ops::Range;

/// A Rust source with the questions that checks ask.
#[derive(Debug)]
pub(crate) struct Rust {
    /// The text with comments and the insides of literals blanked; offsets are those of the text.
    pub(crate) code: String,
    line_starts: Vec<usize>,
    tests: Vec<Range<usize>>,
    modules: Vec<(String, Range<usize>)>,
}

/// A function with a body.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RustFunction {
    /// Its name.
    pub(crate) name: String,
    /// The line of `fn`, from 1.
    pub(crate) line: usize,
    /// Lines from `fn` to the closing brace, both counted.
    pub(crate) lines: usize,
    /// Whether `#[test]` is among its attributes.
    pub(crate) is_test: bool,
}

impl Rust {
    pub(crate) fn parse(text: &str) -> Rust {
        let code = mask(text);
        let line_starts = std::iter::once(0)
            .chain(text.match_indices('\n').map(|(at, _)| at + 1))
            .collect();
        let tests = test_spans(&code);
        let modules = regex(r"\bmod\s+(\w+)\s*\{")
            .captures_iter(&code)
            .map(|found| {
                let whole = found.get(0).expect("group 0 is the match");
                let end = closing(&code, whole.end() - 1).unwrap_or(code.len());
                (found[1].to_owned(), whole.start()..end)
            })
            .collect();
        Rust {
            code,
            line_starts,
            tests,
            modules,
        }
    }

    /// The line of a byte offset, from 1.
    pub(crate) fn line(&self, offset: usize) -> usize {
        self.line_starts.partition_point(|start| *start <= offset)
    }

    /// Whether the offset lies in an item that only test builds contain.
    pub(crate) fn in_test(&self, offset: usize) -> bool {
        self.tests.iter().any(|span| span.contains(&offset))
    }

    /// How many lines belong to items that only test builds contain.
    pub(crate) fn test_lines(&self) -> usize {
        let mut lines: Vec<usize> = self
            .tests
            .iter()
            .flat_map(|span| self.line(span.start)..=self.line(span.end - 1))
            .collect();
        lines.sort_unstable();
        lines.dedup();
        lines.len()
    }

    /// The names of the inline modules round an offset, outermost first.
    pub(crate) fn inline_modules(&self, offset: usize) -> Vec<&str> {
        let round = self
            .modules
            .iter()
            .filter(|(_, span)| span.contains(&offset));
        round.map(|(name, _)| name.as_str()).collect()
    }

    /// Every function that has a body, in order.
    pub(crate) fn functions(&self) -> Vec<RustFunction> {
        let code_lines: Vec<&str> = self.code.lines().collect();
        let named = regex(r"\bfn\s+(\w+)");
        let functions = named.captures_iter(&self.code).filter_map(|found| {
            let whole = found.get(0).expect("group 0 is the match");
            let open = body(&self.code, whole.end())?;
            let close = closing(&self.code, open)?;
            let line = self.line(whole.start());
            Some(RustFunction {
                name: found[1].to_owned(),
                line,
                lines: self.line(close) - line + 1,
                is_test: has_test_attribute(&code_lines[..line - 1]),
            })
        });
        functions.collect()
    }
}

/// Whether `#[test]` is among the attributes at the end of these lines.
fn has_test_attribute(above: &[&str]) -> bool {
    let attributes = above.iter().rev().map(|text| text.trim());
    attributes
        .take_while(|text| text.is_empty() || text.starts_with("#["))
        .any(|text| text == "#[test]")
}

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a pattern written here compiles")
}

/// The offset of the bracket that closes the one at `open`.
fn closing(code: &str, open: usize) -> Option<usize> {
    let mut depth = 0usize;
    for (at, byte) in code.bytes().enumerate().skip(open) {
        match byte {
            b'{' | b'(' | b'[' => depth += 1,
            b'}' | b')' | b']' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

/// The offset of the brace that opens the body of the item whose head continues at `from`; `None`
/// when a semicolon ends it first.
fn body(code: &str, from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        match code.as_bytes().get(at)? {
            b'{' => return Some(at),
            b';' => return None,
            b'(' | b'[' => at = closing(code, at)? + 1,
            _ => at += 1,
        }
    }
}

/// The spans, attribute to closing brace or semicolon, of items that only test builds contain.
fn test_spans(code: &str) -> Vec<Range<usize>> {
    let mut spans = Vec::new();
    for found in regex(r"#(!?)\[\s*cfg\s*\(").captures_iter(code) {
        let whole = found.get(0).expect("group 0 is the match");
        let Some(close) = closing(code, whole.end() - 1) else {
            continue;
        };
        if !implies_test(&code[whole.end()..close]) {
            continue;
        }
        if &found[1] == "!" {
            return std::iter::once(0..code.len()).collect();
        }
        let Some(end_of_attribute) = code[close..].find(']') else {
            continue;
        };
        spans.push(whole.start()..item_end(code, close + end_of_attribute + 1));
    }
    spans
}

/// The end of the item that begins, perhaps with more attributes, at `from`.
fn item_end(code: &str, from: usize) -> usize {
    let mut at = from;
    loop {
        at += code[at..].len() - code[at..].trim_start().len();
        if !code[at..].starts_with("#[") {
            break;
        }
        match closing(code, at + 1) {
            Some(close) => at = close + 1,
            None => return code.len(),
        }
    }
    let end = match body(code, at) {
        Some(open) => closing(code, open).map(|close| close + 1),
        None => code[at..].find(';').map(|semicolon| at + semicolon + 1),
    };
    end.unwrap_or(code.len())
}

/// Whether a `cfg` predicate holds only in test builds.
fn implies_test(predicate: &str) -> bool {
    let predicate = predicate.trim();
    if predicate == "test" {
        return true;
    }
    let inside = |name: &str| -> Option<Vec<&str>> {
        let rest = predicate.strip_prefix(name)?.trim_start();
        let list = rest.strip_prefix('(')?.strip_suffix(')')?;
        Some(split_list(list))
    };
    if let Some(parts) = inside("all") {
        return parts.into_iter().any(implies_test);
    }
    inside("any").is_some_and(|parts| !parts.is_empty() && parts.into_iter().all(implies_test))
}

/// Splits at the commas that no bracket surrounds.
fn split_list(list: &str) -> Vec<&str> {
    let (mut depth, mut from, mut parts) = (0i32, 0, Vec::new());
    for (at, byte) in list.bytes().enumerate() {
        match byte {
            b'(' | b'{' | b'[' => depth += 1,
            b')' | b'}' | b']' => depth -= 1,
            b',' if depth == 0 => {
                parts.push(list[from..at].trim());
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(list[from..].trim());
    parts.retain(|part| !part.is_empty());
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_predicates_that_need_test_imply_it() {
        for yes in [
            "test",
            "all(test, motet_loom)",
            "all(unix, all(test, not(x)))",
            "any(test, all(test, y))",
        ] {
            assert!(implies_test(yes), "{yes}");
        }
        for no in [
            "not(test)",
            "any(test, motet_loom)",
            "motet_loom",
            "all(not(test), unix)",
            "any()",
        ] {
            assert!(!implies_test(no), "{no}");
        }
    }

    #[test]
    fn a_test_module_spans_from_its_attribute_to_its_brace() {
        let rust = Rust::parse(
            "fn a() {}\n#[cfg(test)]\n#[allow(x)]\nmod tests {\n  fn b() {}\n}\nfn c() {}\n",
        );
        assert_eq!(rust.test_lines(), 5);
        assert!(rust.in_test(rust.code.find("fn b").unwrap()));
        assert!(!rust.in_test(rust.code.find("fn a").unwrap()));
        assert!(!rust.in_test(rust.code.find("fn c").unwrap()));
    }

    #[test]
    fn a_test_use_or_an_outer_module_spans_one_item() {
        let rust = Rust::parse(
            "#[cfg(test)]\nmod loom_x;\nmod y;\n#[cfg(test)]\nuse a::{b, c};\nfn d() {}\n",
        );
        assert_eq!(rust.test_lines(), 4);
        assert!(!rust.in_test(rust.code.find("mod y").unwrap()));
    }

    #[test]
    fn an_inner_attribute_makes_the_whole_file_test_code() {
        let rust = Rust::parse("#![cfg(test)]\nfn a() {}\n");
        assert!(rust.in_test(rust.code.find("fn a").unwrap()));
    }

    #[test]
    fn functions_are_measured_from_fn_to_brace_and_declarations_are_left_out() {
        let rust = Rust::parse(
            "trait T { fn no(&self) -> [u8; 2]; }\nfn a<const N: usize>(\n  x: [u8; N],\n) -> u8\n{\n  \"}\"; x[0]\n}\n",
        );
        let found = rust.functions();
        assert_eq!(found.len(), 1);
        assert_eq!(
            (found[0].name.as_str(), found[0].line, found[0].lines),
            ("a", 2, 6)
        );
    }

    #[test]
    fn a_function_with_a_test_attribute_is_a_test() {
        let rust = Rust::parse("#[test]\n/// doc\n#[should_panic]\nfn a() {}\nfn b() {}\n");
        let tests: Vec<bool> = rust.functions().iter().map(|f| f.is_test).collect();
        assert_eq!(tests, [true, false]);
    }

    #[test]
    fn inline_modules_are_named_from_outside_in() {
        let rust = Rust::parse("mod a { mod b { fn f() {} } } fn g() {}");
        assert_eq!(
            rust.inline_modules(rust.code.find("fn f").unwrap()),
            ["a", "b"]
        );
        assert!(
            rust.inline_modules(rust.code.find("fn g").unwrap())
                .is_empty()
        );
    }
}
