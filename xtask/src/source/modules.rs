//! Which file is which module: follows `mod` from every crate root.

use super::file::{SourceFile, resolve};
use super::manifest::PackageManifest;
use regex_lite::Regex;
use std::collections::BTreeMap;

/// What Cargo takes as the root of a target, from the package's folder.
const ROOTS: &str =
    r"^(src/lib|src/main|build|(src/bin|tests|examples|benches)/[^/]+(/main)?)\.rs$";

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
        let roots = Regex::new(ROOTS).expect("it compiles");
        let mut modules = Modules::default();
        for file in files.keys().filter(|path| path.ends_with(".rs")) {
            let inside = manifests.iter().filter_map(|one| one.inside(file));
            let inside = inside.min_by_key(|inside| inside.len());
            if let Some(inside) = inside.filter(|inside| roots.is_match(inside)) {
                let root = Module {
                    file: file.clone(),
                    root: file.clone(),
                    path: Vec::new(),
                    test_only: inside.starts_with("tests/"),
                };
                modules.follow(files, &root);
            }
        }
        modules
    }

    /// Every module.
    pub(crate) fn all(&self) -> &[Module] {
        &self.all
    }

    /// The root of every crate.
    pub(crate) fn roots(&self) -> impl Iterator<Item = &Module> {
        self.all.iter().filter(|module| module.path.is_empty())
    }

    /// Whether some crate root leads to the file.
    pub(crate) fn reaches(&self, file: &str) -> bool {
        self.all.iter().any(|module| module.file == file)
    }

    /// Whether every way to the file is through test builds.
    pub(crate) fn is_test_only(&self, file: &str) -> bool {
        let mut ways = self.all.iter().filter(|module| module.file == file);
        self.reaches(file) && ways.all(|module| module.test_only)
    }

    fn follow(&mut self, files: &BTreeMap<String, SourceFile>, module: &Module) {
        let rust = files.get(&module.file).and_then(|file| file.rust.as_ref());
        let Some(rust) = rust.filter(|_| !self.all.contains(module)) else {
            return;
        };
        self.all.push(module.clone());
        for (offset, name, stated) in &rust.children {
            let inline = rust.inline_modules(*offset);
            let mut folders: Vec<&str> = module.stem().into_iter().collect();
            folders.extend(inline.iter().map(String::as_str));
            folders.push(name);
            let own = folders.join("/");
            let places = match stated {
                Some(path) => vec![path.clone()],
                None => vec![format!("{own}.rs"), format!("{own}/mod.rs")],
            };
            let places = places.iter();
            let mut places = places.filter_map(|place| resolve(&module.file, place));
            if let Some(file) = places.find(|place| files.contains_key(place)) {
                let mut child = module.clone();
                child.file = file;
                child.path.extend(inline);
                child.path.push(name.clone());
                child.test_only |= rust.in_test(*offset);
                self.follow(files, &child);
            }
        }
    }
}

impl Module {
    /// The folder beside the file that holds the files of its children, if it has one of its own.
    fn stem(&self) -> Option<&str> {
        let (_, name) = self.file.rsplit_once('/').unwrap_or(("", &self.file));
        let stem = name.trim_end_matches(".rs");
        (self.file != self.root && stem != "mod").then_some(stem)
    }
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
