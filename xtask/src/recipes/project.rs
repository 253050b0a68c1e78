//! Where the project is, what is in it, and how its Cargo is called.

use crate::runner::{Children, Runner};
use crate::source::{PackageManifest, ProjectTree, Workspace};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The project that a recipe works on.
#[derive(Debug)]
pub(super) struct Project {
    /// Its folder.
    pub(super) root: PathBuf,
    /// Where builds go.
    pub(super) target: PathBuf,
    /// Its files.
    pub(super) tree: ProjectTree,
}

/// What a step is about: the whole workspace or one package.
#[derive(Debug, Clone, Copy)]
pub(super) enum Scope<'a> {
    Workspace,
    Package(&'a PackageManifest),
}

impl Project {
    /// The project round the current folder.
    ///
    /// # Errors
    /// What is missing or cannot be read.
    pub(super) fn find() -> Result<Project, String> {
        let here = std::env::current_dir()
            .map_err(|error| format!("there is no current folder: {error}"))?;
        let root = here
            .ancestors()
            .find(|folder| is_workspace(folder))
            .ok_or_else(|| {
                format!(
                    "no Cargo workspace round {}; go into the project's folder",
                    here.display()
                )
            })?
            .to_owned();
        let tree = ProjectTree::load(&root)
            .map_err(|error| format!("cannot read {}: {error}", root.display()))?;
        // Relative to where Cargo runs: the root.
        let target = root.join(
            std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from),
        );
        Ok(Project { root, target, tree })
    }

    /// The package called so, with or without `motet-`.
    ///
    /// # Errors
    /// The names that there are.
    pub(super) fn scope(&self, name: Option<&str>) -> Result<Scope<'_>, String> {
        let Some(name) = name else {
            return Ok(Scope::Workspace);
        };
        let packages = self.tree.manifests();
        let full = format!("motet-{name}");
        let found = packages
            .iter()
            .find(|package| package.name == full || package.name == name);
        found.map(Scope::Package).ok_or_else(|| {
            let names: Vec<&str> = packages
                .iter()
                .map(|package| package.name.as_str())
                .collect();
            format!(
                "there is no package `{name}`; there are {}",
                names.join(", ")
            )
        })
    }

    /// What the root's manifest says for all packages.
    ///
    /// # Errors
    /// What it does not say.
    pub(super) fn workspace(&self) -> Result<Workspace, String> {
        let text = self.tree.text("Cargo.toml").unwrap_or_default();
        Workspace::parse(text).map_err(|fault| format!("Cargo.toml: {fault}"))
    }

    /// Cargo in the project's folder, with colours where they show.
    pub(super) fn cargo(&self, words: &[&str]) -> Command {
        // Cargo names itself to what it runs; without that the one of the path is meant.
        let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command.args(words).current_dir(&self.root);
        if std::io::stdout().is_terminal() && std::env::var_os("CARGO_TERM_COLOR").is_none() {
            command.env("CARGO_TERM_COLOR", "always");
        }
        command
    }

    /// Whether Cargo has the subcommand.
    pub(super) fn has_cargo(&self, subcommand: &str) -> bool {
        let mut command = self.cargo(&[subcommand, "--version"]);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    }
}

/// The package that the gate does not build: zenoh takes longer than the gate may, and has a recipe
/// of its own.
pub(super) const LEFT_OUT: &str = "motet-mesh-zenoh";

impl Scope<'_> {
    /// The words that choose what is tested, after a Cargo command: as [`Scope::all_words`], but
    /// the extension of Python, which maturin builds and pytest tests.
    pub(super) fn words(&self) -> Vec<&str> {
        let mut words = self.all_words();
        if matches!(self, Scope::Workspace) {
            words.extend(["--exclude", "motet-python"]);
        }
        words
    }

    /// The words that choose it, after a Cargo command, with all that the program can have but
    /// [`LEFT_OUT`].
    pub(super) fn all_words(&self) -> Vec<&str> {
        match self {
            Scope::Workspace => vec![
                "--workspace",
                "--exclude",
                LEFT_OUT,
                "--features",
                "motet-cli/bench",
            ],
            Scope::Package(manifest) if manifest.name == "motet-cli" => {
                vec!["--package", "motet-cli", "--features", "bench"]
            }
            Scope::Package(manifest) => vec!["--package", &manifest.name],
        }
    }

    /// Whether the library for programs in C is among it, which its tests are given.
    pub(super) fn has_c_library(&self) -> bool {
        match self {
            Scope::Workspace => true,
            Scope::Package(manifest) => manifest.name == "motet-c",
        }
    }

    /// The folder it lies in, with a slash; empty for the whole project.
    pub(super) fn folder(&self) -> String {
        match self {
            Scope::Workspace => String::new(),
            Scope::Package(manifest) => format!("{}/", manifest.folder),
        }
    }

    /// Whether it has a library with examples in its documentation.
    pub(super) fn has_library(&self, tree: &ProjectTree) -> bool {
        match self {
            Scope::Workspace => true,
            Scope::Package(manifest) => {
                let root = format!("{}/src/lib.rs", manifest.folder);
                tree.file(&root).is_some() && manifest.says("lib.doctest") != Some(false)
            }
        }
    }
}

/// A runner whose children end with the recipe.
pub(super) fn runner(keep_going: bool) -> Result<Runner, String> {
    Ok(Runner::new(Children::watched()?, keep_going))
}

fn is_workspace(folder: &Path) -> bool {
    std::fs::read_to_string(folder.join("Cargo.toml"))
        .is_ok_and(|text| text.contains("[workspace]"))
}
