//! Whose code is in the artefacts: names, versions, licences and their texts, in one file.
//!
//! ```text
//!  cargo tree (what is linked) ─┐
//!  cargo metadata (licences) ───┴► packages ─► files of licences in their sources ─► one text
//! ```
//!
//! Every package is named, with the texts that its sources hold. One without a text gets the
//! standard text of a licence that it names, with its authors: Apache-2.0 before MIT. One that
//! names neither is an error.

use super::super::project::Project;
use super::folder::Folder;
use crate::runner::Runner;
use crate::said::said;
use anyhow::{Context, Result, ensure};
use fs_err as fs;
use regex_lite::Regex;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The file with the notices.
pub(super) const NOTICES: &str = "THIRD-PARTY-NOTICES.txt";

/// The same of the library that comes with the compiler, as it comes with it.
pub(super) const LIBRARY: &str = "RUST-LIBRARY-NOTICES.html";

/// What is linked: the package, and the system that it is built for.
const LINKED: [(&str, &str); 2] = [
    ("motet-cli", "x86_64-unknown-linux-musl"),
    ("motet-python", "x86_64-unknown-linux-gnu"),
];

/// Names of files with licences, and of those that only look so.
const TEXTS: &str = "(?i)^(?:licen|copying|notice|unlicense|copyright|authors)";
const CODE: &str = r"(?i)\.(?:rs|toml|json|html)$";

/// Folders of a package whose contents are not linked.
const APART: [&str; 5] = [".git", "tests", "benches", "examples", "target"];

/// The licence MIT, without the line that says whose it is.
const MIT: &str = include_str!("mit.txt");

/// Whose the C library is that the program holds.
const MUSL: &str = "Copyright © 2005-2020 Rich Felker, et al.";

/// A package of others.
#[derive(Debug, Clone)]
struct Package {
    name: String,
    version: String,
    /// As SPDX writes it.
    licence: String,
    authors: Vec<String>,
    repository: String,
    folder: PathBuf,
}

impl Package {
    fn title(&self) -> String {
        format!("{} {}", self.name, self.version)
    }
}

/// Writes both files into the draft.
pub(super) fn steps(runner: &mut Runner, project: &Project, folder: &Folder) {
    let says = "the packages that are linked, with the texts of their licences";
    runner.check("notices", says, || {
        let packages = linked(project)?;
        let apache = read(&project.root.join("LICENSE-APACHE"))?;
        let text = notices(&project.workspace()?.version, &packages, &apache)?;
        fs::write(folder.draft.join(NOTICES), text)?;
        let compiler = said(Command::new("rustc").args(["--print", "sysroot"]))?;
        let library = Path::new(&compiler).join("share/doc/rust/COPYRIGHT-library.html");
        fs::copy(library, folder.draft.join(LIBRARY))
            .context("`rustup component add rustc` brings it")?;
        Ok(vec![format!("{} packages", packages.len())])
    });
}

/// The packages of others whose code is in an artefact, by name and version.
fn linked(project: &Project) -> Result<Vec<Package>> {
    let mut names = BTreeSet::new();
    let mut metadata = project.cargo("metadata --locked --format-version 1");
    for (package, target) in LINKED {
        let mut tree = project.cargo("tree --locked --prefix none");
        tree.args(["--edges", "normal,no-proc-macro", "--format", "{p}"])
            .args(["--package", package, "--target", target]);
        names.extend(said(&mut tree)?.lines().filter_map(named));
        metadata.args(["--filter-platform", target]);
    }
    let mut known = packages(&said(&mut metadata)?, &project.root)?;
    known.retain(|package| names.contains(&(package.name.clone(), package.version.clone())));
    Ok(known)
}

/// The name and the version of a line of `cargo tree`: `name v1.2.3 (where)`.
fn named(line: &str) -> Option<(String, String)> {
    let mut words = line.split_whitespace();
    let name = words.next()?;
    let version = words.next()?.strip_prefix('v')?;
    Some((name.to_owned(), version.to_owned()))
}

/// The packages of others that `cargo metadata` knows.
fn packages(metadata: &str, root: &Path) -> Result<Vec<Package>> {
    let known: Value = serde_json::from_str(metadata).context("`cargo metadata`")?;
    let mut found = Vec::new();
    for package in known["packages"].as_array().into_iter().flatten() {
        let text = |key: &str| package[key].as_str().unwrap_or_default().trim().to_owned();
        let manifest = PathBuf::from(text("manifest_path"));
        // What lies in the project is of others only where it says so.
        if package["source"].is_null() && !manifest.starts_with(root.join("third-party")) {
            continue;
        }
        let authors = package["authors"].as_array().into_iter().flatten();
        found.push(Package {
            name: text("name"),
            version: text("version"),
            licence: text("license"),
            authors: authors
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect(),
            repository: text("repository"),
            folder: manifest.parent().map(Path::to_owned).unwrap_or_default(),
        });
    }
    found.sort_by_key(Package::title);
    Ok(found)
}

/// The whole text. The same texts of several packages are there once.
///
/// # Errors
/// A package without a text, of a licence that has no standard text here.
fn notices(version: &str, packages: &[Package], apache: &str) -> Result<String> {
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let (mut list, mut missing) = (String::new(), Vec::new());
    for package in packages {
        let (title, licence) = (package.title(), &package.licence);
        let _ = writeln!(list, "{title}: {licence}  {}", package.repository);
        let mut own = texts_of(&package.folder)?;
        if own.is_empty() {
            own.extend(standard(package, apache));
        }
        if own.is_empty() {
            missing.push(format!("{title} ({licence})"));
        }
        for text in own {
            texts.entry(text).or_default().push(title.clone());
        }
    }
    ensure!(
        missing.is_empty(),
        "no text of a licence, and no standard text of it here: {}; add the text to \
         `xtask/src/recipes/release`",
        missing.join(", ")
    );
    let musl = "the C library musl, in the program for x86_64-unknown-linux-musl";
    let mit = format!("{MUSL}\n\n{MIT}");
    texts.entry(mit).or_default().push(musl.to_owned());
    let mut whole = format!(
        "What motet {version} holds of others\n\n\
         The program and the wheel hold code of these packages, under these licences. The library \
         of Rust\nis in both; its notices are {LIBRARY}. The texts follow.\n\n{list}"
    );
    // By the first package, not by the text.
    let mut sorted: Vec<_> = texts.into_iter().collect();
    sorted.sort_by(|one, other| (&one.1, &one.0).cmp(&(&other.1, &other.0)));
    for (text, of) in sorted {
        let line = "-".repeat(80);
        let _ = write!(whole, "\n{line}\n{}\n{line}\n\n{text}\n", of.join(", "));
    }
    Ok(whole)
}

/// The texts of licences in the sources of a package, also of what it has from others in folders.
fn texts_of(folder: &Path) -> Result<Vec<String>> {
    let [is_text, is_code] = [TEXTS, CODE].map(|names| Regex::new(names).expect("it compiles"));
    let mut texts = Vec::new();
    let mut entries = fs::read_dir(folder)?.collect::<std::io::Result<Vec<_>>>()?;
    entries.sort_by_key(|entry| entry.path());
    for entry in entries {
        let name = entry.file_name().to_string_lossy().into_owned();
        // Not through links: they could lead round in a circle.
        let kind = entry.file_type()?;
        if kind.is_dir() && !APART.contains(&name.as_str()) {
            texts.extend(texts_of(&entry.path())?);
        } else if kind.is_file() && is_text.is_match(&name) && !is_code.is_match(&name) {
            texts.push(read(&entry.path())?);
        }
    }
    Ok(texts)
}

/// The standard text of a licence that a package names, if there is one here.
fn standard(package: &Package, apache: &str) -> Option<String> {
    let whose = match package.authors.is_empty() {
        true => format!("the authors of {}", package.name),
        false => package.authors.join(", "),
    };
    let names = |licence: &str| {
        let mut words = package.licence.split([' ', '/', '(', ')']);
        words.any(|word| word == licence)
    };
    // Of alternatives one is chosen; of what counts together none is left out.
    if package.licence.contains(" AND ") {
        return None;
    }
    if names("Apache-2.0") {
        return Some(format!("Copyright {whose}\n\n{}", apache.trim()));
    }
    names("MIT").then(|| format!("Copyright {whose}\n\n{MIT}"))
}

/// A text, with line feeds alone.
fn read(path: &Path) -> Result<String> {
    let text = String::from_utf8_lossy(&fs::read(path)?).replace("\r\n", "\n");
    Ok(text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::{Package, Project, linked, named, notices, packages, read};
    use std::fs;
    use std::path::{Path, PathBuf};

    fn package(name: &str, licence: &str, folder: &Path) -> Package {
        Package {
            name: name.to_owned(),
            version: "1.0.0".to_owned(),
            licence: licence.to_owned(),
            authors: vec!["Ada <ada@example.org>".to_owned()],
            repository: format!("https://example.org/{name}"),
            folder: folder.to_owned(),
        }
    }

    /// A folder with these files, which goes with the test.
    struct Sources(PathBuf);

    impl Sources {
        fn of(name: &str, files: &[(&str, &str)]) -> Sources {
            let folder =
                std::env::temp_dir().join(format!("notices-{name}-{}", std::process::id()));
            fs::create_dir_all(&folder).unwrap();
            for (file, text) in files {
                fs::write(folder.join(file), text).unwrap();
            }
            Sources(folder)
        }
    }

    impl Drop for Sources {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn every_package_is_named_with_its_texts_and_the_same_text_is_there_once() {
        let text = "Do what you like.\r\nKeep this.\n";
        let one = Sources::of("one", &[("LICENSE-MIT", text), ("license.rs", "fn x() {}")]);
        let two = Sources::of("two", &[("LICENCE", text), ("NOTICE.md", "By Bob.")]);
        let all = [package("one", "MIT", &one.0), package("two", "MIT", &two.0)];
        let told = notices("0.1.0", &all, "").unwrap();
        assert!(told.contains("one 1.0.0: MIT  https://example.org/one\n"));
        assert!(told.contains("one 1.0.0, two 1.0.0\n"));
        assert_eq!(told.matches("Do what you like.\nKeep this.").count(), 1);
        assert!(told.contains("By Bob.") && !told.contains("fn x()"));
        assert!(
            told.contains("Rich Felker"),
            "the C library is in the program"
        );
    }

    #[test]
    fn a_package_without_a_text_gets_that_of_a_licence_that_it_names_or_is_an_error() {
        let none = Sources::of("none", &[("README.md", "")]);
        let of = |licence: &str| notices("0.1.0", &[package("bare", licence, &none.0)], "APACHE");
        let told = of("EPL-2.0 OR Apache-2.0").unwrap();
        assert!(told.contains("Copyright Ada <ada@example.org>\n\nAPACHE"));
        let told = of("MIT").unwrap();
        assert!(told.contains("Copyright Ada <ada@example.org>\n\nPermission is hereby granted"));
        for licence in ["EPL-2.0", "MIT AND BSD-3-Clause", ""] {
            let fault = of(licence).unwrap_err().to_string();
            assert!(
                fault.contains(&format!("bare 1.0.0 ({licence})")),
                "{fault}"
            );
        }
    }

    #[test]
    fn all_that_this_project_links_has_a_text() {
        let project = Project::find(None).unwrap();
        let packages = linked(&project).unwrap();
        let apache = read(&project.root.join("LICENSE-APACHE")).unwrap();
        let told = notices("0.1.0", &packages, &apache).unwrap();
        for name in ["libmimalloc-sys", "ring", "pyo3", "numpy", "rustls"] {
            assert!(
                packages.iter().any(|package| package.name == name),
                "{name}"
            );
            assert!(told.contains(&format!("\n{name} ")), "{name}");
        }
        // Of the sources in C that a package brings.
        assert!(told.contains("Microsoft Corporation"));
        // What only takes part in the build, and what is the project's own, is not in them.
        for name in ["syn", "motet-comm", "proptest"] {
            assert!(
                !packages.iter().any(|package| package.name == name),
                "{name}"
            );
        }
    }

    #[test]
    fn packages_of_others_are_those_of_a_registry_and_of_third_parties() {
        let metadata = r#"{"packages": [
            {"name": "b", "version": "2.0.0", "license": " MIT", "authors": ["Eve"],
             "repository": null, "source": "registry+x", "manifest_path": "/cargo/b/Cargo.toml"},
            {"name": "motet", "version": "0.1.0", "license": "MIT", "authors": [],
             "source": null, "manifest_path": "/motet/crates/motet/Cargo.toml"},
            {"name": "a", "version": "1.0.0", "license": "MIT", "authors": [],
             "source": null, "manifest_path": "/motet/third-party/a/Cargo.toml"}]}"#;
        let found = packages(metadata, Path::new("/motet")).unwrap();
        let titles: Vec<_> = found.iter().map(Package::title).collect();
        assert_eq!(titles, ["a 1.0.0", "b 2.0.0"]);
        assert_eq!(
            (found[1].licence.as_str(), found[1].repository.as_str()),
            ("MIT", "")
        );
        assert_eq!(found[1].folder, Path::new("/cargo/b"));
        assert!(packages("no JSON", Path::new("/")).is_err());
        assert_eq!(named("b v2.0.0 (*)"), Some(("b".into(), "2.0.0".into())));
        assert_eq!(named(""), None);
    }
}
