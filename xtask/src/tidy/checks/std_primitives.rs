//! Atomics, locks and threads come from `motet-sync`, so that models see them.
//!
//! Tests and examples may use what they like; programs at the edge are listed by name.

use crate::source::{NamedPath, ProjectTree, Rust, SourceFile};
use crate::tidy::allow_list::excuse;
use crate::tidy::{Finding, HouseRule};
use std::collections::BTreeMap;

const LIST: &str = "xtask/allow-std.txt";

/// The crate that the rule is about.
const FACADE: &str = "crates/sync/";

type Forbidden = (&'static str, &'static str);

/// What `std` offers, and what stands in its place.
const FORBIDDEN: &[Forbidden] = &[
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

const SEEN: HouseRule = HouseRule(
    "the model checker cannot see it",
    "use what motet has, or name the file and the reason in xtask/allow-std.txt",
);

pub(super) fn check(tree: &ProjectTree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, rust) in tree.rust().filter(|(file, _)| concerns(tree, file)) {
        for (line, (name, instead)) in uses(tree, file, rust) {
            let what = format!("`std::{name}`, where motet has {instead}");
            findings.push(SEEN.at(&file.path, line, what));
        }
    }
    excuse(tree, LIST, findings, |finding| &finding.path)
}

fn concerns(tree: &ProjectTree, SourceFile { path, .. }: &SourceFile) -> bool {
    let mut folders = path.split('/');
    !path.starts_with(FACADE)
        && !tree.modules().is_test_only(path)
        && !folders.any(|folder| folder == "examples" || folder == "benches")
}

/// The lines that name what is forbidden, each with the first of it.
fn uses(tree: &ProjectTree, file: &SourceFile, rust: &Rust) -> BTreeMap<usize, Forbidden> {
    let is_std = |path: &&NamedPath| ["std", "core"].contains(&path.parts[0].as_str());
    let std = rust.paths.iter().filter(is_std);
    let brought = std.filter_map(|path| Some((path.brings.as_deref()?, &path.parts)));
    let brought: BTreeMap<&str, &Vec<String>> = brought.collect();
    let mut uses = BTreeMap::new();
    let paths = rust.paths.iter();
    for path in paths.filter(|path| !tree.is_test(file, path.offset)) {
        let alias = brought
            .get(&*path.parts[0])
            .filter(|_| path.brings.is_none());
        let whole = match alias {
            Some(alias) => [alias, &path.parts[1..]].concat(),
            None => path.parts.clone(),
        };
        if !["std", "core"].contains(&whole[0].as_str()) {
            continue;
        }
        let spelled = whole[1..].join("::") + "::";
        let begins = |(name, _): &&Forbidden| spelled.starts_with(&format!("{name}::"));
        if let Some(found) = FORBIDDEN.iter().find(begins) {
            uses.entry(rust.line(path.offset)).or_insert(*found);
        }
    }
    uses
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
