//! Every example and every benchmark is listed where readers look for it, and what is listed
//! exists.

use crate::source::ProjectTree;
use crate::tidy::Finding;
use regex_lite::Regex;

/// A folder that holds one program or case per file, and the file that lists them.
struct Listing {
    folder: Folder,
    list: &'static str,
    what: &'static str,
}

enum Folder {
    /// A folder of this name in any package.
    Named(&'static str),
    /// This folder.
    At(&'static str),
}

const EXAMPLES: &str = "crates/motet/README.md";
const BENCHES: &str = "bench/README.md";

const LISTINGS: &[Listing] = &[
    Listing {
        folder: Folder::Named("examples"),
        list: EXAMPLES,
        what: "example",
    },
    Listing {
        folder: Folder::Named("benches"),
        list: BENCHES,
        what: "benchmark",
    },
    Listing {
        folder: Folder::At("bench/src/bin"),
        list: BENCHES,
        what: "benchmark",
    },
    Listing {
        folder: Folder::At("bench/src/experiments"),
        list: BENCHES,
        what: "experiment",
    },
];

pub(super) fn check(tree: &ProjectTree) -> Vec<Finding> {
    let mut findings = unlisted(tree);
    findings.extend(unknown(tree));
    findings
}

fn unlisted(tree: &ProjectTree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for listing in LISTINGS {
        let text = tree.text(listing.list).unwrap_or_default();
        for (path, name) in entries(tree, &listing.folder) {
            let named = Regex::new(&format!(r"\b{name}\b")).expect("a file's name is a word");
            if !named.is_match(text) {
                findings.push(Finding::new(
                    &path,
                    1,
                    format!("the {} `{name}` is not listed", listing.what),
                    "nobody finds what no list names",
                    format!("add a row to {}", listing.list),
                ));
            }
        }
    }
    findings
}

/// The files of a folder that stand for one entry each, with their names.
fn entries(tree: &ProjectTree, folder: &Folder) -> Vec<(String, String)> {
    let folders: Vec<String> = match folder {
        Folder::At(folder) => vec![format!("{folder}/")],
        Folder::Named(name) => tree
            .manifests()
            .iter()
            .map(|m| {
                format!("{}/{name}/", m.folder)
                    .trim_start_matches('/')
                    .to_owned()
            })
            .collect(),
    };
    let mut entries = Vec::new();
    for (file, _) in tree.rust() {
        let inside = folders
            .iter()
            .find_map(|folder| file.path.strip_prefix(folder.as_str()));
        let name = match inside
            .map(|inside| inside.strip_suffix(".rs").unwrap_or(inside).split_once('/'))
        {
            Some(None) => inside.and_then(|inside| inside.strip_suffix(".rs")),
            Some(Some((name, "main"))) => Some(name),
            _ => None,
        };
        if let Some(name) = name.filter(|name| *name != "mod") {
            entries.push((file.path.clone(), name.to_owned()));
        }
    }
    entries
}

/// Examples that some text tells the reader to run and that do not exist.
fn unknown(tree: &ProjectTree) -> Vec<Finding> {
    let run = Regex::new(r"--example[ =](\w+)").expect("it compiles");
    let known: Vec<String> = entries(tree, &Folder::Named("examples"))
        .into_iter()
        .map(|(_, name)| name)
        .collect();
    let mut findings = Vec::new();
    for (file, text) in tree.markdown() {
        for (at, line) in text.lines().enumerate() {
            for found in run
                .captures_iter(line)
                .filter(|found| !known.contains(&found[1].to_owned()))
            {
                findings.push(Finding::new(
                    &file.path,
                    at + 1,
                    format!("there is no example `{}`", &found[1]),
                    "a reader who types it gets an error",
                    "correct the name",
                ));
            }
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
        check(&ProjectTree::of(&all))
            .into_iter()
            .map(|finding| finding.path)
            .collect()
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
}
