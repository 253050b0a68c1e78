//! The project's files, read once; checks and recipes ask this instead of the disk.

use super::{Modules, PackageManifest, Rust, SourceFile};
use std::collections::BTreeMap;
use std::path::Path;
use std::{fs, io};

/// Folders of the root that hold results, not sources.
const RESULTS: [&str; 3] = ["target", "out", "third-party"];

/// Larger files are data: they are known by name only.
const TEXT_LIMIT: u64 = 2_000_000;

/// The project's files.
#[derive(Debug)]
pub(crate) struct ProjectTree {
    files: BTreeMap<String, SourceFile>,
    manifests: Vec<PackageManifest>,
    modules: Modules,
}

impl ProjectTree {
    /// Reads every file below `root` that belongs to the project. Left out are the results of
    /// builds, what begins with a dot (but `.ci` and `.cargo`), and Python environments.
    ///
    /// # Errors
    /// The first file that cannot be read.
    pub(crate) fn load(root: &Path) -> io::Result<ProjectTree> {
        let mut files = Vec::new();
        walk(root, "", &mut files)?;
        Ok(ProjectTree::new(files))
    }

    /// A tree of the given paths and texts, for tests.
    #[cfg(test)]
    pub(crate) fn of(files: &[(&str, &str)]) -> ProjectTree {
        let files = files.iter();
        let files = files.map(|(path, text)| ((*path).to_owned(), Some((*text).to_owned())));
        ProjectTree::new(files.collect())
    }

    fn new(texts: Vec<(String, Option<String>)>) -> ProjectTree {
        let manifests = texts
            .iter()
            .filter(|(path, _)| path.ends_with("Cargo.toml"));
        let manifests = manifests.filter_map(|(path, text)| {
            // Cargo says what is wrong with one: it reads them all before it runs this program.
            PackageManifest::parse(path, text.as_deref()?)
                .ok()
                .flatten()
        });
        let manifests = manifests.collect::<Vec<_>>();
        let files = texts.into_iter().map(|(path, text)| {
            let rust = text.as_deref().filter(|_| path.ends_with(".rs"));
            let rust = rust.map(Rust::parse);
            (path.clone(), SourceFile { path, text, rust })
        });
        let files = files.collect();
        let modules = Modules::resolve(&files, &manifests);
        ProjectTree {
            files,
            manifests,
            modules,
        }
    }

    /// Every file, by path.
    pub(crate) fn files(&self) -> impl Iterator<Item = &SourceFile> {
        self.files.values()
    }

    /// Every Rust source.
    pub(crate) fn rust(&self) -> impl Iterator<Item = (&SourceFile, &Rust)> {
        self.files()
            .filter_map(|file| file.rust.as_ref().map(|rust| (file, rust)))
    }

    /// Every Markdown file and its text.
    pub(crate) fn markdown(&self) -> impl Iterator<Item = (&SourceFile, &str)> {
        let markdown = self.files().filter(|file| file.path.ends_with(".md"));
        markdown.filter_map(|file| file.text.as_deref().map(|text| (file, text)))
    }

    /// The file at `path`.
    pub(crate) fn file(&self, path: &str) -> Option<&SourceFile> {
        self.files.get(path)
    }

    /// The text of the file at `path`.
    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        self.file(path)?.text.as_deref()
    }

    /// Whether `path` is a file or a folder with a file in it.
    pub(crate) fn has(&self, path: &str) -> bool {
        let path = path.trim_end_matches('/');
        let below = format!("{path}/");
        path.is_empty()
            || self.files.contains_key(path)
            || self.files.keys().any(|file| file.starts_with(&below))
    }

    /// The packages.
    pub(crate) fn manifests(&self) -> &[PackageManifest] {
        &self.manifests
    }

    /// Which file is which module.
    pub(crate) fn modules(&self) -> &Modules {
        &self.modules
    }

    /// Whether only test builds contain the offset of the file.
    pub(crate) fn is_test(&self, file: &SourceFile, offset: usize) -> bool {
        self.modules.is_test_only(&file.path)
            || file.rust.as_ref().is_some_and(|rust| rust.in_test(offset))
    }
}

fn walk(folder: &Path, prefix: &str, files: &mut Vec<(String, Option<String>)>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = format!("{prefix}/{name}")
            .trim_start_matches('/')
            .to_owned();
        let place = entry.path();
        if name.starts_with('.') && !matches!(name.as_str(), ".ci" | ".cargo" | ".gitignore") {
            continue;
        }
        let kind = entry.file_type()?;
        if kind.is_dir() {
            let skipped = (prefix.is_empty() && RESULTS.contains(&name.as_str()))
                || name == "__pycache__"
                || place.join("CACHEDIR.TAG").exists()
                || place.join("pyvenv.cfg").exists();
            if !skipped {
                walk(&place, &path, files)?;
            }
        } else if kind.is_file() {
            let text = match entry.metadata()?.len() > TEXT_LIMIT {
                true => None,
                false => String::from_utf8(fs::read(&place)?).ok(),
            };
            files.push((path, text.filter(|text| !text.contains('\0'))));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_known_by_what_is_in_them() {
        let tree = ProjectTree::of(&[("docs/adr/0001.md", ""), ("docs-old.md", "")]);
        assert!(tree.has("docs/adr/") && tree.has("docs") && tree.has("docs/adr/0001.md"));
        assert!(!tree.has("doc") && !tree.has("docs/ad"));
    }

    #[test]
    fn the_disk_is_read_without_results_and_hidden_folders() {
        let root = std::env::temp_dir().join(format!("xtask-tree-{}", std::process::id()));
        let write = |path: &str, bytes: &[u8]| {
            let place = root.join(path);
            fs::create_dir_all(place.parent().unwrap()).unwrap();
            fs::write(place, bytes).unwrap();
        };
        write("a/b.rs", b"fn f() {}");
        write("a/picture.png", &[0xff, 0xd8, 0]);
        write(".ci/run", b"x");
        write(".git/config", b"x");
        write("target/debug/x.rs", b"x");
        write("a/out/table.rs", b"fn g() {}");
        write("venv/pyvenv.cfg", b"x");
        let tree = ProjectTree::load(&root).unwrap();
        fs::remove_dir_all(&root).unwrap();
        let paths: Vec<&str> = tree.files().map(|file| file.path.as_str()).collect();
        assert_eq!(
            paths,
            [".ci/run", "a/b.rs", "a/out/table.rs", "a/picture.png"]
        );
        assert!(tree.text("a/picture.png").is_none());
    }
}
