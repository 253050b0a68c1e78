//! One Rust source: its code, which part of it is test code, its functions, modules and paths.
//!
//! Its tokens are read, not its grammar: so that what macros hold counts as well.

use proc_macro2::{Delimiter, Group, Ident, TokenStream, TokenTree};
use std::collections::BTreeSet;
use std::ops::Range;

/// A Rust source with the questions that checks ask.
#[derive(Debug, Default)]
pub(crate) struct Rust {
    /// The text with comments and the insides of literals blanked; offsets are those of the text.
    pub(crate) code: String,
    /// Every function that has a body, in order.
    pub(crate) functions: Vec<RustFunction>,
    /// The `a::b::c` paths that it names, in order, with the groups of `use` written out.
    pub(crate) paths: Vec<NamedPath>,
    /// Each `mod name;`: where it stands, the name, and what `#[path = "…"]` says.
    pub(super) children: Vec<(usize, String, Option<String>)>,
    line_starts: Vec<usize>,
    tests: Vec<Range<usize>>,
    modules: Vec<(String, Range<usize>)>,
    uses: Vec<Range<usize>>,
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

/// A path in code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NamedPath {
    /// Where it stands, a byte offset of the source.
    pub(crate) offset: usize,
    /// Its parts; `*` for a glob.
    pub(crate) parts: Vec<String>,
    /// The name it brings into scope: `None` for a path outside of `use`.
    pub(crate) brings: Option<String>,
}

impl Rust {
    /// Reads a source. Of what is no Rust only the text is known.
    pub(crate) fn parse(text: &str) -> Rust {
        let starts = text.match_indices('\n').map(|(at, _)| at + 1);
        let mut rust = Rust {
            line_starts: std::iter::once(0).chain(starts).collect(),
            ..Rust::default()
        };
        let blank = |byte| if byte == b'\n' { byte } else { b' ' };
        let mut code: Vec<u8> = text.bytes().map(blank).collect();
        let read = text.parse::<TokenStream>();
        let read = read.map(|tokens| rust.read(tokens, &(0..text.len()), text, &mut code));
        rust.code = match read {
            Ok(()) => String::from_utf8(code).expect("whole tokens are copied"),
            Err(_) => text.to_owned(),
        };
        // Else the library would keep every text.
        proc_macro2::extra::invalidate_current_thread_spans();
        rust.functions.sort_by_key(|function| function.line);
        rust.paths.sort_by_key(|path| path.offset);
        rust
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
        let lines = |span: &Range<usize>| self.line(span.start)..=self.line(span.end - 1);
        let lines = self.tests.iter().flat_map(lines);
        lines.collect::<BTreeSet<usize>>().len()
    }

    /// The names of the inline modules round an offset, outermost first.
    pub(crate) fn inline_modules(&self, offset: usize) -> Vec<String> {
        let modules = self.modules.iter();
        let round = modules.filter(|(_, span)| span.contains(&offset));
        round.map(|(name, _)| name.clone()).collect()
    }

    /// Reads what stands between two brackets, or the whole file: the `round`.
    fn read(&mut self, tokens: TokenStream, round: &Range<usize>, text: &str, code: &mut [u8]) {
        let mut tokens: Vec<TokenTree> = tokens.into_iter().collect();
        // Documentation comes as attributes that stand where the comment does.
        tokens.retain(|token| {
            !text[place(token)].starts_with("//") && !text[place(token)].starts_with("/*")
        });
        self.items(&tokens, round);
        self.paths(&tokens);
        for token in tokens {
            let Range { start, end } = place(&token);
            let (open, close) = match &token {
                TokenTree::Group(_) => (start + 1, end - 1),
                TokenTree::Literal(_) => {
                    let quote = |mark| matches!(mark, '"' | '\'');
                    let literal = &text[start..end];
                    let open = literal.find(quote).map_or(end, |at| start + at + 1);
                    (open, literal.rfind(quote).map_or(end, |at| start + at))
                }
                _ => (end, end),
            };
            code[start..open].copy_from_slice(&text.as_bytes()[start..open]);
            code[close..end].copy_from_slice(&text.as_bytes()[close..end]);
            if let TokenTree::Group(group) = token {
                self.read(group.stream(), &(start..end), text, code);
            }
        }
    }

    /// Finds functions, modules, and what only test builds contain.
    fn items(&mut self, tokens: &[TokenTree], round: &Range<usize>) {
        let (mut attributes, mut test) = (Vec::new(), None);
        for (at, token) in tokens.iter().enumerate() {
            match &tokens[at..] {
                [mark, TokenTree::Group(group), ..] if is(mark, '#') => {
                    let attribute = within(group);
                    if is_of_tests(&attribute) {
                        test.get_or_insert(place(token).start);
                    }
                    attributes.push(attribute);
                }
                [mark, inner, TokenTree::Group(group), ..] if is(mark, '#') && is(inner, '!') => {
                    let of_tests = is_of_tests(&within(group));
                    self.tests.extend(of_tests.then(|| round.clone()));
                }
                [TokenTree::Ident(word), TokenTree::Ident(name), rest @ ..] if word == "fn" => {
                    let end = rest.iter().find(|next| is(next, ';') || is_block(next));
                    let body = end.filter(|end| is_block(end)).map(place);
                    let line = self.line(place(token).start);
                    let function = body.map(|body| RustFunction {
                        name: bare(name),
                        line,
                        lines: self.line(body.end - 1) - line + 1,
                        is_test: attributes.iter().any(|attribute| is_test(attribute)),
                    });
                    self.functions.extend(function);
                }
                [TokenTree::Ident(word), TokenTree::Ident(name), next, ..] if word == "mod" => {
                    let (start, name) = (place(token).start, bare(name));
                    if is_block(next) {
                        self.modules.push((name, start..place(next).end));
                    } else if is(next, ';') {
                        let path = attributes.iter().find_map(|attribute| path_in(attribute));
                        self.children.push((start, name, path));
                    }
                }
                _ => {}
            }
            if is(token, ';') || is_block(token) {
                attributes.clear();
                let ended = test.take().map(|begin| begin..place(token).end);
                self.tests.extend(ended);
            }
        }
        self.tests.extend(test.map(|begin| begin..round.end));
    }

    /// Finds the paths in `use`, in expressions and in types.
    fn paths(&mut self, tokens: &[TokenTree]) {
        let mut rest = tokens;
        while let [token, more @ ..] = rest {
            rest = more;
            let TokenTree::Ident(word) = token else {
                continue;
            };
            let offset = place(token).start;
            let end = more.iter().position(|token| is(token, ';'));
            if let Some(end) = end.filter(|_| word == "use" && !is(&more[0], '<')) {
                self.uses.push(offset..place(&more[end]).start);
                self.used(&more[..end], &[]);
                rest = &more[end..];
                continue;
            }
            let mut parts = vec![bare(word)];
            while let [one, two, TokenTree::Ident(word), more @ ..] = rest
                && is(one, ':')
                && is(two, ':')
            {
                parts.push(bare(word));
                rest = more;
            }
            let in_use = || self.uses.iter().any(|span| span.contains(&offset));
            if parts.len() > 1 && !in_use() {
                self.paths.push(NamedPath {
                    offset,
                    parts,
                    brings: None,
                });
            }
        }
    }

    /// Writes out a list of `use` trees, below a path.
    fn used(&mut self, trees: &[TokenTree], below: &[String]) {
        for tree in listed(trees) {
            let alias = tree.iter().position(|token| named(token, "as"));
            let path = tree[..alias.unwrap_or(tree.len())].iter();
            let path = path.filter_map(|token| match token {
                TokenTree::Ident(word) => Some(bare(word)),
                token => is(token, '*').then(|| "*".to_owned()),
            });
            let mut parts: Vec<String> = below.iter().cloned().chain(path).collect();
            if let Some(TokenTree::Group(group)) = tree.last() {
                self.used(&within(group), &parts);
                continue;
            }
            if parts.len() > 1 && parts.last().is_some_and(|last| last == "self") {
                parts.pop();
            }
            let brings = match alias {
                Some(at) => tree.get(at + 1).map(ToString::to_string),
                None => parts.last().cloned(),
            };
            self.paths.push(NamedPath {
                offset: place(&tree[0]).start,
                parts,
                brings,
            });
        }
    }
}

fn within(group: &Group) -> Vec<TokenTree> {
    group.stream().into_iter().collect()
}

/// What stands between commas.
fn listed(tokens: &[TokenTree]) -> impl Iterator<Item = &[TokenTree]> {
    let parts = tokens.split(|token| is(token, ','));
    parts.filter(|part| !part.is_empty())
}

fn place(token: &TokenTree) -> Range<usize> {
    token.span().byte_range()
}

fn is(token: &TokenTree, mark: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == mark)
}

fn named(token: &TokenTree, name: &str) -> bool {
    matches!(token, TokenTree::Ident(word) if word == name)
}

fn is_block(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace)
}

fn bare(name: &Ident) -> String {
    name.to_string().trim_start_matches("r#").to_owned()
}

/// What `path = "…"` says.
fn path_in(attribute: &[TokenTree]) -> Option<String> {
    match attribute {
        [name, _, TokenTree::Literal(path)] if named(name, "path") => {
            Some(path.to_string().trim_matches('"').to_owned())
        }
        _ => None,
    }
}

fn is_test(attribute: &[TokenTree]) -> bool {
    attribute.len() == 1 && named(&attribute[0], "test")
}

/// Whether an attribute is a `cfg` that holds only in test builds.
fn is_of_tests(attribute: &[TokenTree]) -> bool {
    match attribute {
        [name, TokenTree::Group(predicate)] if named(name, "cfg") => {
            implies_test(&within(predicate))
        }
        _ => false,
    }
}

fn implies_test(predicate: &[TokenTree]) -> bool {
    let [name, rest @ ..] = predicate else {
        return false;
    };
    let [TokenTree::Group(list)] = rest else {
        return rest.is_empty() && named(name, "test");
    };
    let list = within(list);
    let mut parts = listed(&list);
    match named(name, "all") {
        true => parts.any(implies_test),
        false => named(name, "any") && !list.is_empty() && parts.all(implies_test),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn implies(predicate: &str) -> bool {
        let tokens: TokenStream = predicate.parse().unwrap();
        implies_test(&tokens.into_iter().collect::<Vec<_>>())
    }

    fn mask(text: &str) -> String {
        Rust::parse(text).code
    }

    #[test]
    fn only_predicates_that_need_test_imply_it() {
        for yes in [
            "test",
            "all(test, motet_loom)",
            "all(unix, all(test, not(x)))",
            "any(test, all(test, y))",
        ] {
            assert!(implies(yes), "{yes}");
        }
        for no in [
            "not(test)",
            "any(test, motet_loom)",
            "motet_loom",
            "all(not(test), unix)",
            "any()",
        ] {
            assert!(!implies(no), "{no}");
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
        let found = rust.functions;
        assert_eq!(found.len(), 1);
        assert_eq!(
            (found[0].name.as_str(), found[0].line, found[0].lines),
            ("a", 2, 6)
        );
    }

    #[test]
    fn a_function_with_a_test_attribute_is_a_test() {
        let rust = Rust::parse("#[test]\n/// doc\n#[should_panic]\nfn a() {}\nfn b() {}\n");
        let tests: Vec<bool> = rust.functions.iter().map(|f| f.is_test).collect();
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

    #[test]
    fn of_what_is_no_rust_the_text_is_known() {
        for text in ["\"abc", "/* abc", "fn f() {", "'\\"] {
            assert_eq!(mask(text), text);
        }
    }

    #[test]
    fn comments_of_each_kind_are_blanked_and_lines_stay() {
        let text = "a // unsafe\n/* x /* nested */ y\n */ b /// doc\nc";
        let masked = mask(text);
        assert_eq!(masked.len(), text.len());
        assert_eq!(
            masked.split_whitespace().collect::<Vec<_>>(),
            ["a", "b", "c"]
        );
        assert_eq!(masked.lines().count(), text.lines().count());
    }

    #[test]
    fn strings_keep_their_quotes_and_lose_their_insides() {
        assert_eq!(mask(r#"f("a\"b{", b"}")"#), r#"f("     ", b" ")"#);
        assert_eq!(mask("r#\"x\"y{\"# ; z"), "r#\"    \"# ; z");
        assert_eq!(mask(r#"r"\" ; "q""#), r#"r" " ; " ""#);
    }

    #[test]
    fn a_lifetime_is_code_and_a_character_is_not() {
        assert_eq!(mask("fn f<'a>(x: &'a str) {}"), "fn f<'a>(x: &'a str) {}");
        assert_eq!(
            mask("['{', '\\'', 'é', '\\u{7d}']"),
            "[' ', '  ', '  ', '      ']"
        );
    }

    #[test]
    fn a_raw_identifier_is_not_a_raw_string() {
        assert_eq!(mask("r#type = \"{\""), "r#type = \" \"");
    }

    fn spelled(text: &str) -> Vec<String> {
        Rust::parse(text)
            .paths
            .iter()
            .map(|path| path.parts.join("::"))
            .collect()
    }

    #[test]
    fn groups_are_written_out() {
        assert_eq!(
            spelled(
                "use std::{sync::{Arc, atomic::{self, AtomicU8}}, thread as t};\nuse crate::*;"
            ),
            [
                "std::sync::Arc",
                "std::sync::atomic",
                "std::sync::atomic::AtomicU8",
                "std::thread",
                "crate::*"
            ]
        );
    }

    #[test]
    fn an_alias_is_what_comes_into_scope() {
        let paths = Rust::parse("use std::thread as t;").paths;
        assert_eq!(paths[0].brings.as_deref(), Some("t"));
    }

    #[test]
    fn paths_in_code_are_found_and_those_in_comments_are_not() {
        assert_eq!(
            spelled(
                "// std::a::b\nfn f() { std::thread::spawn(\"std::x::y\"); Vec::<crate::a::B>::new() }"
            ),
            ["std::thread::spawn", "crate::a::B"]
        );
    }

    #[test]
    fn each_part_of_a_group_has_its_own_place() {
        let rust = Rust::parse("use a::{\n  b,\n  c,\n};");
        let lines: Vec<usize> = rust.paths.iter().map(|p| rust.line(p.offset)).collect();
        assert_eq!(lines, [2, 3]);
    }
}
