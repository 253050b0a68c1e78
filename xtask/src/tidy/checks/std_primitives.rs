//! Atomics, locks and threads come from `motet-sync`, so that models see them.
//!
//! Tests and examples may use what they like; programs at the edge are listed by name.

use crate::source::{NamedPath, ProjectTree, Rust, SourceFile};
use crate::tidy::Finding;
use crate::tidy::allow_list::AllowList;

const LIST: &str = "xtask/allow-std.txt";

/// The crate that the rule is about.
const FACADE: &str = "crates/sync/";

/// What `std` offers, and what stands in its place.
const FORBIDDEN: &[(&str, &str)] = &[
    ("sync::atomic", "motet_sync::atomic"),
    ("sync::Mutex", "motet_sync::Mutex"),
    ("sync::RwLock", "motet_sync::Mutex"),
    ("sync::Condvar", "motet_sync::Condvar"),
    ("sync::Barrier", "a barrier of motet_comm"),
    ("thread::spawn", "motet_sync::thread::spawn"),
    ("thread::scope", "motet_sync::thread::spawn"),
    ("thread::Builder", "motet_sync::thread::spawn_named"),
    ("thread::sleep", "a timer, or motet_sync::Parker"),
];

pub(super) fn check(tree: &ProjectTree) -> Vec<Finding> {
    let allowed = AllowList::read(tree, LIST);
    let mut findings = Vec::new();
    for (file, rust) in tree.rust().filter(|(file, _)| concerns(tree, file)) {
        let uses = uses(tree, file, rust);
        if uses.is_empty() || allowed.allows(&file.path) {
            continue;
        }
        for (offset, name, instead) in uses {
            findings.push(Finding::new(
                &file.path,
                rust.line(offset),
                format!("`std::{name}`"),
                "the model checker cannot see it",
                format!("use {instead}, or name the file and the reason in {LIST}"),
            ));
        }
    }
    findings.extend(allowed.findings());
    findings
}

fn concerns(tree: &ProjectTree, file: &SourceFile) -> bool {
    !file.path.starts_with(FACADE)
        && !tree.modules().is_test_only(&file.path)
        && !file
            .path
            .split('/')
            .any(|folder| folder == "examples" || folder == "benches")
}

type Use = (usize, &'static str, &'static str);

fn uses(tree: &ProjectTree, file: &SourceFile, rust: &Rust) -> Vec<Use> {
    let paths = &rust.paths;
    let aliases: Vec<&NamedPath> = paths
        .iter()
        .filter(|path| path.brings.is_some() && is_std(path))
        .collect();
    let mut uses = Vec::new();
    for path in paths.iter().filter(|path| !tree.is_test(file, path.offset)) {
        let mut whole = path.parts.clone();
        if path.brings.is_none() {
            let alias = aliases
                .iter()
                .find(|alias| alias.brings.as_ref() == path.parts.first());
            if let Some(alias) = alias {
                whole.splice(0..1, alias.parts.clone());
            }
        }
        uses.extend(forbidden(&whole).map(|(name, instead)| (path.offset, name, instead)));
    }
    uses.sort_unstable();
    uses.dedup_by_key(|(offset, ..)| rust.line(*offset));
    uses
}

fn is_std(path: &NamedPath) -> bool {
    path.parts
        .first()
        .is_some_and(|first| first == "std" || first == "core")
}

fn forbidden(parts: &[String]) -> Option<(&'static str, &'static str)> {
    let (first, rest) = parts.split_first()?;
    if first != "std" && first != "core" {
        return None;
    }
    let spelled = rest.join("::");
    let begins = |name: &str| {
        spelled
            .strip_prefix(name)
            .is_some_and(|more| more.is_empty() || more.starts_with("::"))
    };
    FORBIDDEN.iter().copied().find(|(name, _)| begins(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(files: &[(&str, &str)]) -> Vec<(String, usize)> {
        let mut all = vec![("a/Cargo.toml", "[package]\nname = 'a'\n")];
        all.extend(files);
        check(&ProjectTree::of(&all))
            .into_iter()
            .map(|finding| (finding.path, finding.line))
            .collect()
    }

    fn in_lib(text: &str) -> Vec<usize> {
        lines(&[("a/src/lib.rs", text)])
            .into_iter()
            .map(|(_, line)| line)
            .collect()
    }

    #[test]
    fn every_spelling_is_found() {
        assert_eq!(in_lib("use std::sync::{Arc,\n atomic::AtomicU8};"), [2]);
        assert_eq!(
            in_lib("use std::thread;\nfn f() { thread::spawn(g); }"),
            [2]
        );
        assert_eq!(
            in_lib("use std::sync as s;\nstatic X: s::Mutex<u8> = s::Mutex::new(1);"),
            [2]
        );
        assert_eq!(
            in_lib("fn f() { core::sync::atomic::fence(x); std::thread::sleep(y) }"),
            [1]
        );
    }

    #[test]
    fn what_is_harmless_or_the_facades_is_not() {
        assert!(
            in_lib(
                "use std::sync::{Arc, mpsc, OnceLock};\nuse std::thread::available_parallelism;"
            )
            .is_empty()
        );
        assert!(in_lib("use motet_sync::thread;\nfn f() { thread::spawn(g); }").is_empty());
        assert!(
            in_lib("// std::sync::Mutex\n#[cfg(test)]\nmod tests { use std::sync::Mutex; }")
                .is_empty()
        );
    }

    #[test]
    fn tests_examples_and_the_facade_are_free() {
        let text = "use std::sync::Mutex;";
        let free = [
            ("a/tests/t.rs", text),
            ("a/examples/e.rs", text),
            ("crates/sync/src/x.rs", text),
        ];
        assert!(lines(&free).is_empty());
    }

    #[test]
    fn a_listed_folder_is_free_and_an_unused_line_is_found() {
        let list = (LIST, "a/  it is a program\nb/  so was this\n");
        assert_eq!(
            lines(&[list, ("a/src/lib.rs", "use std::sync::Mutex;")]),
            [(LIST.to_owned(), 2)]
        );
    }
}
