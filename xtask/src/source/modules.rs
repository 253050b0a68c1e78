//! Which file is which module: follows `mod` from every crate root.

use super::{PackageManifest, SourceFile};
use regex_lite::Regex;
use std::collections::BTreeMap;

/// The module tree of every crate of the project.
#[derive(Debug, Default)]
pub(crate) struct Modules {
    all: Vec<Module>,
}

/// A file as a module of one crate. A file that two roots reach is two modules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Module {
    /// The file.
    pub(crate) file: String,
    /// The crate's root file.
    pub(crate) root: String,
    /// The names from the root; empty for the root.
    pub(crate) path: Vec<String>,
    /// Whether only test builds contain it.
    pub(crate) test_only: bool,
}

impl Modules {
    pub(super) fn resolve(
        files: &BTreeMap<String, SourceFile>,
        manifests: &[PackageManifest],
    ) -> Modules {
        let mut modules = Modules::default();
        for root in files.keys().filter(|path| path.ends_with(".rs")) {
            let owner = manifests
                .iter()
                .filter(|m| is_below(root, &m.folder))
                .max_by_key(|m| m.folder.len());
            if let Some(manifest) = owner.filter(|manifest| is_root(root, manifest)) {
                let test_only = below(root, &manifest.folder).starts_with("tests/");
                modules.follow(
                    files,
                    &Module {
                        file: root.clone(),
                        root: root.clone(),
                        path: Vec::new(),
                        test_only,
                    },
                );
            }
        }
        modules
    }

    /// Every module.
    pub(crate) fn all(&self) -> &[Module] {
        &self.all
    }

    /// Whether some crate root leads to the file.
    pub(crate) fn reaches(&self, file: &str) -> bool {
        self.all.iter().any(|module| module.file == file)
    }

    /// Whether every way to the file is through test builds.
    pub(crate) fn is_test_only(&self, file: &str) -> bool {
        let mut ways = self
            .all
            .iter()
            .filter(|module| module.file == file)
            .peekable();
        ways.peek().is_some() && ways.all(|module| module.test_only)
    }

    fn follow(&mut self, files: &BTreeMap<String, SourceFile>, module: &Module) {
        let Some(SourceFile {
            text: Some(text),
            rust: Some(rust),
            ..
        }) = files.get(&module.file)
        else {
            return;
        };
        if self.all.contains(module) {
            return;
        }
        self.all.push(module.clone());
        let outer = Regex::new(r"\bmod\s+(?:r#)?(\w+)\s*;").expect("it compiles");
        for found in outer.captures_iter(&rust.code) {
            let offset = found.get(0).expect("group 0 is the match").start();
            let name = found[1].to_owned();
            let inline: Vec<String> = rust
                .inline_modules(offset)
                .into_iter()
                .map(str::to_owned)
                .collect();
            let places = match path_attribute(&text[..offset]) {
                Some(path) => vec![join(parent(&module.file), &path)],
                None => {
                    let folder = child_folder(module, &inline);
                    vec![
                        join(&folder, &format!("{name}.rs")),
                        join(&folder, &format!("{name}/mod.rs")),
                    ]
                }
            };
            let Some(file) = places.into_iter().find(|place| files.contains_key(place)) else {
                continue;
            };
            let mut path = module.path.clone();
            path.extend(inline);
            path.push(name);
            let test_only = module.test_only || rust.in_test(offset);
            self.follow(
                files,
                &Module {
                    file,
                    root: module.root.clone(),
                    path,
                    test_only,
                },
            );
        }
    }
}

/// The folder that holds the files of the module's children.
fn child_folder(module: &Module, inline: &[String]) -> String {
    let own = parent(&module.file);
    let stem = module.file[own.len()..]
        .trim_start_matches('/')
        .trim_end_matches(".rs");
    let mut folder = own.to_owned();
    if module.file != module.root && stem != "mod" {
        folder = join(&folder, stem);
    }
    for name in inline {
        folder = join(&folder, name);
    }
    folder
}

/// The value of `#[path = "…"]` among the attributes at the end of `before`.
fn path_attribute(before: &str) -> Option<String> {
    let last = &before[before.rfind("#[path")?..];
    let pattern = r#"^#\[path\s*=\s*"([^"]+)"\]\s*(?:#\[[^\]]*\]\s*)*(?:pub(?:\([^)]*\))?\s+)?$"#;
    let found = Regex::new(pattern).expect("it compiles").captures(last)?;
    Some(found[1].to_owned())
}

/// Whether Cargo takes the file as the root of one of the package's targets.
fn is_root(file: &str, manifest: &PackageManifest) -> bool {
    let inside = below(file, &manifest.folder);
    if manifest.target_paths.iter().any(|path| path == file)
        || ["src/lib.rs", "src/main.rs", "build.rs"].contains(&inside)
    {
        return true;
    }
    ["src/bin/", "tests/", "examples/", "benches/"]
        .iter()
        .any(|folder| {
            inside
                .strip_prefix(folder)
                .is_some_and(|rest| match rest.split_once('/') {
                    None => true,
                    Some((_, rest)) => rest == "main.rs",
                })
        })
}

fn is_below(file: &str, folder: &str) -> bool {
    folder.is_empty()
        || file
            .strip_prefix(folder)
            .is_some_and(|rest| rest.starts_with('/'))
}

fn below<'a>(file: &'a str, folder: &str) -> &'a str {
    file.strip_prefix(folder)
        .map_or(file, |rest| rest.trim_start_matches('/'))
}

fn parent(file: &str) -> &str {
    file.rsplit_once('/').map_or("", |(folder, _)| folder)
}

fn join(folder: &str, name: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in name.split('/') {
        match part {
            ".." => drop(parts.pop()),
            "." | "" => {}
            _ => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use crate::source::ProjectTree;

    const MANIFEST: (&str, &str) = ("a/Cargo.toml", "[package]\nname = 'a'\n");

    fn paths(files: &[(&str, &str)]) -> Vec<String> {
        let mut all = vec![MANIFEST];
        all.extend(files);
        let tree = ProjectTree::of(&all);
        tree.modules()
            .all()
            .iter()
            .map(|m| format!("{}={}", m.file, m.path.join("::")))
            .collect()
    }

    #[test]
    fn files_folders_and_inline_modules_are_followed() {
        let found = paths(&[
            ("a/src/lib.rs", "mod x; mod y; mod z { mod w; }"),
            ("a/src/x.rs", "pub(crate) mod deep;"),
            ("a/src/x/deep.rs", ""),
            ("a/src/y/mod.rs", "mod in_y;"),
            ("a/src/y/in_y.rs", ""),
            ("a/src/z/w.rs", ""),
            ("a/src/lost.rs", ""),
        ]);
        assert_eq!(
            found,
            [
                "a/src/lib.rs=",
                "a/src/x.rs=x",
                "a/src/x/deep.rs=x::deep",
                "a/src/y/mod.rs=y",
                "a/src/y/in_y.rs=y::in_y",
                "a/src/z/w.rs=z::w"
            ]
        );
    }

    #[test]
    fn a_path_attribute_is_obeyed() {
        let found = paths(&[
            (
                "a/src/lib.rs",
                "#[cfg(b)]\nmod x;\n#[path = \"odd/name.rs\"]\n#[cfg(not(b))]\nmod x;",
            ),
            ("a/src/odd/name.rs", ""),
            ("a/src/x.rs", ""),
        ]);
        assert_eq!(
            found,
            ["a/src/lib.rs=", "a/src/x.rs=x", "a/src/odd/name.rs=x"]
        );
    }

    #[test]
    fn tests_examples_and_programs_are_roots_and_their_parts_are_not() {
        let found = paths(&[
            ("a/tests/it/main.rs", "mod part;"),
            ("a/tests/it/part.rs", ""),
            ("a/tests/common/helper.rs", ""),
            ("a/examples/e.rs", ""),
            ("a/src/bin/p.rs", ""),
        ]);
        assert_eq!(
            found,
            [
                "a/examples/e.rs=",
                "a/src/bin/p.rs=",
                "a/tests/it/main.rs=",
                "a/tests/it/part.rs=part"
            ]
        );
    }

    #[test]
    fn what_only_tests_reach_is_test_only() {
        let tree = ProjectTree::of(&[
            MANIFEST,
            (
                "a/src/lib.rs",
                "mod x;\n#[cfg(all(test, motet_loom))]\nmod loom_x;",
            ),
            ("a/src/x.rs", ""),
            ("a/src/loom_x.rs", ""),
            ("a/tests/t.rs", ""),
        ]);
        assert!(!tree.modules().is_test_only("a/src/x.rs"));
        assert!(tree.modules().is_test_only("a/src/loom_x.rs"));
        assert!(tree.modules().is_test_only("a/tests/t.rs"));
        assert!(!tree.modules().reaches("a/src/none.rs"));
    }
}
