//! Every example and every benchmark is listed where readers look for it, and what is listed
//! exists. An example proves what it shows: it asserts something.

use crate::source::ProjectTree;
use crate::tidy::{Finding, HouseRule};
use regex_lite::Regex;

const EXAMPLES: &str = "crates/motet/README.md";
const BENCHES: &str = "bench/README.md";

/// A folder that holds one program or case per file, the file that lists them, and what they are.
const LISTINGS: [(&str, &str, &str); 4] = [
    ("/examples/", EXAMPLES, "example"),
    ("/benches/", BENCHES, "benchmark"),
    ("bench/src/bin/", BENCHES, "benchmark"),
    ("bench/src/experiments/", BENCHES, "experiment"),
];

const UNLISTED: HouseRule = HouseRule("nobody finds what no list names", "add a row to it");
const UNKNOWN: HouseRule = HouseRule("a reader who types it gets an error", "correct the name");
const MUTE: HouseRule = HouseRule(
    "examples are run as tests, and a test must be able to fail",
    "end it with `assert!` on what it shows",
);

pub(super) fn check(tree: &ProjectTree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (folder, list, kind) in LISTINGS {
        let text = tree.text(list).unwrap_or_default();
        for (path, name) in entries(tree, folder) {
            let named = Regex::new(&format!(r"\b{name}\b")).expect("a file's name is a word");
            if !named.is_match(text) {
                let what = format!("the {kind} `{name}` is not listed in {list}");
                findings.push(UNLISTED.at(path, 1, what));
            }
        }
    }
    findings.extend(unknown(tree));
    findings.extend(mute(tree));
    findings
}

/// The files of a folder that stand for one entry each, with their names.
fn entries<'a>(tree: &'a ProjectTree, folder: &str) -> Vec<(&'a str, &'a str)> {
    let entries = tree.rust().filter_map(|(file, _)| {
        let (_, inside) = file.path.split_once(folder)?;
        let inside = inside.strip_suffix(".rs")?;
        let name = inside.strip_suffix("/main").unwrap_or(inside);
        (!name.contains('/') && name != "mod").then_some((file.path.as_str(), name))
    });
    entries.collect()
}

/// Examples that some text tells the reader to run and that do not exist.
fn unknown(tree: &ProjectTree) -> Vec<Finding> {
    let run = Regex::new(r"--example[ =](\w+)").expect("it compiles");
    let known = entries(tree, "/examples/");
    let mut findings = Vec::new();
    for (file, text) in tree.markdown() {
        for (at, line) in text.lines().enumerate() {
            let named = run.captures_iter(line).map(|found| found[1].to_owned());
            for name in named.filter(|name| !known.iter().any(|(_, known)| known == name)) {
                let what = format!("there is no example `{name}`");
                findings.push(UNKNOWN.at(&file.path, at + 1, what));
            }
        }
    }
    findings
}

/// Examples without an assertion, in any of their files.
fn mute(tree: &ProjectTree) -> Vec<Finding> {
    let assertion = Regex::new(r"\b(?:debug_)?assert(?:_eq|_ne|_matches)?!").expect("it compiles");
    let mut findings = Vec::new();
    let roots = tree.modules().roots().map(|module| &module.root);
    for root in roots.filter(|root| root.split('/').any(|folder| folder == "examples")) {
        let modules = tree.modules().all().iter();
        let mut parts = modules.filter(|module| module.root == *root);
        let asserts = parts.any(|part| {
            let rust = tree.file(&part.file).and_then(|file| file.rust.as_ref());
            rust.is_some_and(|rust| assertion.is_match(&rust.code))
        });
        if !asserts {
            findings.push(MUTE.at(root, 1, "an example without an assertion"));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let mut all = vec![
            ("a/Cargo.toml", "[package]\nname = 'a'\n"),
            ("bench/Cargo.toml", "[package]\nname = 'b'\n"),
        ];
        all.extend(files);
        let mut findings = check(&ProjectTree::of(&all));
        findings.retain(|one| *one != MUTE.at(&one.path, 1, &*one.what));
        findings.into_iter().map(|finding| finding.path).collect()
    }

    #[test]
    fn what_is_not_listed_is_found() {
        let files = [
            ("a/examples/hello.rs", ""),
            ("a/examples/big/main.rs", ""),
            ("a/examples/big/part.rs", ""),
            ("bench/benches/post.rs", ""),
            ("bench/src/experiments/mod.rs", ""),
            ("bench/src/experiments/ring.rs", ""),
            (EXAMPLES, "hello_port"),
            (BENCHES, "| `post` |"),
        ];
        let wanted = [
            "a/examples/big/main.rs",
            "a/examples/hello.rs",
            "bench/src/experiments/ring.rs",
        ];
        assert_eq!(found(&files), wanted);
    }

    #[test]
    fn a_full_list_is_well_and_a_name_too_many_is_not() {
        let full = [("a/examples/hello.rs", ""), (EXAMPLES, "`hello`")];
        assert!(found(&full).is_empty());
        let more = [
            full[0],
            full[1],
            (
                "README.md",
                "cargo run --example hello\ncargo run --example gone",
            ),
        ];
        assert_eq!(found(&more), ["README.md"]);
    }

    #[test]
    fn only_the_example_that_asserts_nothing_is_found() {
        let tree = ProjectTree::of(&[
            ("a/Cargo.toml", "[package]\nname = 'a'\n"),
            ("a/src/lib.rs", ""),
            ("a/examples/good.rs", "fn main() { assert_eq!(1, 1); }"),
            ("a/examples/parts/main.rs", "mod part; fn main() {}"),
            ("a/examples/parts/part.rs", "fn f() { assert!(true); }"),
            ("a/examples/mute.rs", "fn main() { /* assert!(x) */ }"),
        ]);
        let found: Vec<_> = mute(&tree)
            .into_iter()
            .map(|finding| finding.path)
            .collect();
        assert_eq!(found, ["a/examples/mute.rs"]);
    }
}
