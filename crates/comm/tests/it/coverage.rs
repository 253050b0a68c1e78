//! `docs/MPI-COVERAGE.md`: every call of MPI stands there once, and what it names of motet exists.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

const DOC: &str = include_str!("../../../../docs/MPI-COVERAGE.md");

/// What the sources say of this crate and those that stand in the table with it: each file's text.
fn sources() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let crates = [
        "src",
        "../sums/src",
        "../trace/src",
        "../values/src",
        "../window/src",
        "../files/src",
    ];
    let mut folders: Vec<_> = crates.map(|folder| root.join(folder)).into();
    let mut texts = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("the crate has sources") {
            let path: PathBuf = entry.expect("it can be read").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                texts.push(fs::read_to_string(path).expect("it is text"));
            }
        }
    }
    texts
}

/// The cells of the rows that begin with names of MPI: three for a call, two for a constant.
fn rows() -> impl Iterator<Item = Vec<&'static str>> {
    let rows = DOC.lines().filter(|line| line.starts_with("| `MPI_"));
    rows.map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
}

/// What stands between backquotes.
fn spans(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

/// The names that a text has after `MPI_`, in capitals, with it.
fn names(text: &str) -> impl Iterator<Item = String> {
    let of = |rest: &str| {
        let length = rest
            .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            .unwrap_or(rest.len());
        format!("MPI_{}", rest[..length].to_uppercase())
    };
    text.split("MPI_").skip(1).map(of)
}

/// Whether a line begins the `impl` of a type.
fn implements(line: &str, of: &str) -> bool {
    let ends = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
    line.starts_with("impl")
        && line
            .split_once(&format!(" {of}"))
            .is_some_and(|(_, rest)| ends(rest))
}

/// Whether a text declares a public item, by the words before its name.
fn declares(text: &str, words: &[&str], name: &str) -> bool {
    words.iter().any(|word| {
        ["(", "<", " ", ":"]
            .iter()
            .any(|end| text.contains(&format!("pub {word} {name}{end}")))
    })
}

#[test]
fn what_the_table_names_is_public() {
    let sources = sources();
    let mut seen = 0;
    for row in rows().filter(|row| row.len() == 3) {
        for span in spans(row[1]) {
            let exists = match span.split_once("::") {
                Some((of, method)) => sources.iter().any(|text| {
                    declares(text, &["fn", "async fn"], method)
                        && text.lines().any(|line| implements(line, of))
                }),
                None => sources
                    .iter()
                    .any(|text| declares(text, &["fn", "struct", "enum", "trait"], span)),
            };
            assert!(exists, "{}: there is no `{span}`", row[0]);
            seen += 1;
        }
    }
    assert!(seen > 100, "the table has few rows: {seen}");
}

#[test]
fn every_call_stands_there_once_and_all_are_counted() {
    let mut known = BTreeSet::new();
    for row in rows().filter(|row| row.len() == 3) {
        for name in spans(row[0]) {
            assert!(known.insert(name), "{name} stands there twice");
        }
    }
    let count = format!("All {} calls of MPI-1.3 and MPI-3.1", known.len());
    let text: Vec<&str> = DOC.split_whitespace().collect();
    assert!(
        text.join(" ").contains(&count),
        "the text does not say: {count}"
    );
}

#[test]
fn the_table_counts_what_has_an_equivalent() {
    let (mut whole, mut partly, mut none) = (0, 0, 0);
    for row in rows().filter(|row| row.len() == 3) {
        let kind = match (row[1], row[2]) {
            ("none", remark) => {
                assert!(!remark.starts_with("partly"), "{}: part of none", row[0]);
                &mut none
            }
            (_, remark) if remark.starts_with("partly: ") => &mut partly,
            (names, _) => {
                assert!(names.contains('`'), "{}: names nothing", row[0]);
                &mut whole
            }
        };
        *kind += spans(row[0]).count();
    }
    let count =
        format!("{whole} have an equivalent, {partly} have one partly, and {none} have none");
    let text: Vec<&str> = DOC.split_whitespace().collect();
    assert!(
        text.join(" ").contains(&count),
        "the text does not say: {count}"
    );
}

#[test]
fn what_the_documentation_of_the_calls_names_stands_in_the_table() {
    let known: BTreeSet<String> = rows()
        .flat_map(|row| names(row[0]).collect::<Vec<_>>())
        .collect();
    for text in sources() {
        let documentation = text.lines().filter(|line| line.trim().starts_with("///"));
        for name in documentation.flat_map(names) {
            let is_type = ["MPI_REQUEST", "MPI_GROUP"].contains(&name.as_str());
            assert!(
                is_type || known.contains(&name),
                "{name} is not in the table"
            );
        }
    }
}
