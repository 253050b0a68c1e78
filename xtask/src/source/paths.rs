//! The `a::b::c` paths that a source names, with the groups of `use` written out.

use super::rust::Rust;
use regex_lite::Regex;

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

/// Every path of a source: those of `use` items first, then those in expressions and types.
pub(crate) fn named_paths(rust: &Rust) -> Vec<NamedPath> {
    let use_item = Regex::new(r"\buse\s+([^;]*);").expect("it compiles");
    let inline = Regex::new(r"\w+(?:\s*::\s*\w+)+").expect("it compiles");
    let code = &rust.code;
    let mut paths = Vec::new();
    let mut in_use = Vec::new();
    for found in use_item.captures_iter(code) {
        let tree = found.get(1).expect("the pattern has one group");
        in_use.push(tree.range());
        expand(tree.as_str(), tree.start(), &[], &mut paths);
    }
    for found in inline.find_iter(code) {
        if !in_use.iter().any(|span| span.contains(&found.start())) {
            let parts = found
                .as_str()
                .split("::")
                .map(|part| part.trim().to_owned())
                .collect();
            paths.push(NamedPath {
                offset: found.start(),
                parts,
                brings: None,
            });
        }
    }
    paths
}

/// Writes out one `use` tree that begins at `offset`, below `prefix`.
fn expand(tree: &str, offset: usize, prefix: &[String], out: &mut Vec<NamedPath>) {
    let offset = offset + tree.len() - tree.trim_start().len();
    let tree = tree.trim();
    if let Some(open) = tree.find('{') {
        let mut below = prefix.to_vec();
        below.extend(parts(&tree[..open]));
        let list = tree[open + 1..]
            .strip_suffix('}')
            .unwrap_or(&tree[open + 1..]);
        for (at, part) in split(list) {
            expand(part, offset + open + 1 + at, &below, out);
        }
        return;
    }
    let (path, alias) = match tree.split_once(" as ") {
        Some((path, alias)) => (path, Some(alias.trim().to_owned())),
        None => (tree, None),
    };
    let mut all = prefix.to_vec();
    all.extend(parts(path));
    if all.len() > 1 && all.last().is_some_and(|last| last == "self") {
        all.pop();
    }
    if let Some(last) = all.last() {
        let brings = alias.or_else(|| Some(last.clone()));
        out.push(NamedPath {
            offset,
            parts: all,
            brings,
        });
    }
}

fn parts(path: &str) -> Vec<String> {
    path.split("::")
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .map(str::to_owned)
        .collect()
}

/// The parts of a list with their offsets, split at commas outside of braces.
fn split(list: &str) -> Vec<(usize, &str)> {
    let (mut depth, mut from, mut found) = (0i32, 0, Vec::new());
    for (at, byte) in list.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' => depth -= 1,
            b',' if depth == 0 => {
                found.push((from, &list[from..at]));
                from = at + 1;
            }
            _ => {}
        }
    }
    found.push((from, &list[from..]));
    found.retain(|(_, part)| !part.trim().is_empty());
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spelled(text: &str) -> Vec<String> {
        named_paths(&Rust::parse(text))
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
        let paths = named_paths(&Rust::parse("use std::thread as t;"));
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
        let lines: Vec<usize> = named_paths(&rust)
            .iter()
            .map(|p| rust.line(p.offset))
            .collect();
        assert_eq!(lines, [2, 3]);
    }
}
