//! Where the project is, what is in it, and how its Cargo is called.

use crate::needs::{self, Need, TestMachine};
use crate::said::{runs, said};
use crate::source::{PackageManifest, ProjectTree, Workspace};
use anyhow::{Context, Result, anyhow};
use serde_json::Value;
use std::env;
use std::ffi::{OsStr, OsString};
use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::Command;

/// The project that a recipe works on.
#[derive(Debug)]
pub(super) struct Project {
    /// Its folder.
    pub(super) root: PathBuf,
    /// Where builds go.
    pub(super) target: PathBuf,
    /// Its files.
    pub(super) tree: ProjectTree,
    /// The package that the recipe is about; all when there is none.
    pub(super) package: Option<PackageManifest>,
    /// What tests may use.
    pub(super) machine: TestMachine,
    /// What Cargo says of the packages.
    metadata: Value,
}

/// The package that the gate does not build: zenoh takes longer than the gate may, and has a recipe
/// of its own.
pub(super) const LEFT_OUT: &str = "motet-mesh-zenoh";

impl Project {
    /// The project round the current folder, for a recipe about the package called so, with or
    /// without `motet-`.
    ///
    /// # Errors
    /// What is missing or cannot be read.
    pub(super) fn find(package: Option<&str>) -> Result<Project> {
        let words = ["metadata", "--no-deps", "--format-version", "1"];
        let metadata: Value = serde_json::from_str(&said(Command::new(cargo()).args(words))?)?;
        let folder = |key: &str| PathBuf::from(metadata[key].as_str().unwrap_or_default());
        let (root, target) = (folder("workspace_root"), folder("target_directory"));
        let tree = ProjectTree::load(&root)?;
        let package = package.map(|name| named(&tree, name)).transpose()?;
        let machine = TestMachine::of_environment(&root, &target);
        Ok(Project {
            root,
            target,
            tree,
            package,
            machine,
            metadata,
        })
    }

    /// The targets that the recipe is about, as Cargo describes them; not those of [`LEFT_OUT`],
    /// unless it is about that.
    pub(super) fn targets(&self) -> impl Iterator<Item = &Value> {
        let packages = self.metadata["packages"].as_array().into_iter().flatten();
        let named = |one: &&Value| match &self.package {
            None => one["name"] != LEFT_OUT,
            Some(package) => one["name"] == *package.name,
        };
        let targets = packages.filter(named).map(|one| &one["targets"]);
        targets.filter_map(Value::as_array).flatten()
    }

    /// What the root's manifest says for all packages.
    ///
    /// # Errors
    /// What it does not say.
    pub(super) fn workspace(&self) -> Result<Workspace> {
        let text = self.tree.text("Cargo.toml").unwrap_or_default();
        Workspace::parse(text).map_err(|fault| anyhow!("Cargo.toml: {fault}"))
    }

    /// Cargo in the project's folder, with colours where they show.
    pub(super) fn cargo(&self, words: &str) -> Command {
        let mut command = Command::new(cargo());
        command
            .args(words.split_whitespace())
            .current_dir(&self.root);
        if std::io::stdout().is_terminal() && env::var_os("CARGO_TERM_COLOR").is_none() {
            command.env("CARGO_TERM_COLOR", "always");
        }
        command
    }

    /// Cargo of another toolchain, in the project's folder.
    pub(super) fn cargo_of(&self, toolchain: &str, words: &str) -> Command {
        let mut command = Command::new("rustup");
        command
            .args(["run", toolchain, "cargo"])
            .args(words.split_whitespace());
        command.current_dir(&self.root);
        // Set by the Cargo that runs this program, for its own toolchain.
        for name in ["CARGO", "RUSTC", "RUSTUP_TOOLCHAIN"] {
            command.env_remove(name);
        }
        command
    }

    /// Whether Cargo has the subcommand.
    pub(super) fn has_cargo(&self, subcommand: &str) -> bool {
        runs(cargo(), &[subcommand, "--version"])
    }

    /// The Python that tests should use, in the project's folder.
    pub(super) fn python(&self, words: &str) -> Command {
        self.python_at(&self.machine.python, words)
    }

    /// Another Python, in the project's folder. If it crashes, it says where.
    pub(super) fn python_at(&self, python: impl AsRef<OsStr>, words: &str) -> Command {
        let mut command = Command::new(python);
        command
            .args(words.split_whitespace())
            .env("PYTHONFAULTHANDLER", "1")
            .current_dir(&self.root);
        command
    }

    /// The words that choose what is tested, after a Cargo command: as [`Project::all_words`], but
    /// the extension of Python, which maturin builds and pytest tests.
    pub(super) fn words(&self) -> Vec<&str> {
        let mut words = self.all_words();
        if self.package.is_none() {
            words.extend(["--exclude", "motet-python"]);
        }
        words
    }

    /// The words that choose what the recipe is about, after a Cargo command, with all that the
    /// program can have but [`LEFT_OUT`].
    pub(super) fn all_words(&self) -> Vec<&str> {
        let mut words = match &self.package {
            None => vec!["--workspace", "--exclude", LEFT_OUT],
            Some(package) => vec!["--package", &package.name],
        };
        if self.concerns("motet-cli") {
            words.extend(["--features", "motet-cli/bench"]);
        }
        words
    }

    /// Whether the package is among what the recipe is about.
    pub(super) fn concerns(&self, name: &str) -> bool {
        let package = self.package.as_ref();
        package.is_none_or(|package| package.name == name)
    }

    /// The folder that the recipe is about, with a slash; empty for the whole project.
    pub(super) fn folder(&self) -> String {
        let package = self.package.as_ref();
        package.map_or_else(String::new, |package| format!("{}/", package.folder))
    }

    /// The needs of tests that the machine does not meet.
    pub(super) fn missing(&self) -> Vec<Need> {
        self.machine.missing(&self.tree, &self.folder())
    }

    /// The tests whose names hold `marker`.
    pub(super) fn tests_named(&self, marker: &str) -> Vec<String> {
        needs::tests_named(&self.tree, &self.folder(), marker)
    }
}

fn named(tree: &ProjectTree, name: &str) -> Result<PackageManifest> {
    let full = format!("motet-{name}");
    let mut packages = tree.manifests().iter();
    let found = packages.find(|package| package.name == full || package.name == name);
    found.cloned().with_context(|| {
        let names = tree.manifests().iter().map(|one| one.name.as_str());
        let names = names.collect::<Vec<_>>().join(", ");
        format!("there is no package `{name}`; there are {names}")
    })
}

/// What gives Cargo flags for the compiler: it hides `RUSTFLAGS`.
pub(super) const FLAGS: &str = "CARGO_ENCODED_RUSTFLAGS";

/// What stands between its words.
const PARTED: &str = "\u{1f}";

/// Gives Cargo flags for the compiler, without spaces in them, beside those of the environment.
pub(super) fn give_flags(command: &mut Command, more: [&str; 2]) {
    let flags = with_flags(more);
    match env::var_os(FLAGS) {
        Some(_) => command.env(FLAGS, flags),
        // As one would type it.
        None => command.env("RUSTFLAGS", flags.replace(PARTED, " ")),
    };
}

/// The flags that the environment has for the compiler, and these, as [`FLAGS`] has them.
pub(super) fn with_flags(more: impl IntoIterator<Item = impl Into<String>>) -> String {
    let (encoded, plain) = (env::var(FLAGS).ok(), env::var("RUSTFLAGS").ok());
    added(encoded.as_deref(), plain.as_deref(), more)
}

/// The words of the first variable, else those of the other, and then more.
fn added(
    encoded: Option<&str>,
    plain: Option<&str>,
    more: impl IntoIterator<Item = impl Into<String>>,
) -> String {
    let mut words: Vec<String> = match (encoded, plain) {
        (Some(words), _) => words.split(PARTED).map(str::to_owned).collect(),
        (None, words) => words
            .unwrap_or_default()
            .split_whitespace()
            .map(str::to_owned)
            .collect(),
    };
    words.extend(more.into_iter().map(Into::into));
    words.retain(|word| !word.is_empty());
    words.join(PARTED)
}

/// Cargo names itself to what it runs; without that the one of the path is meant.
fn cargo() -> OsString {
    env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

#[cfg(test)]
mod tests {
    use super::added;

    #[test]
    fn flags_are_added_to_those_that_cargo_would_take() {
        let of = |encoded, plain| added(encoded, plain, ["--cfg", "x y"]);
        assert_eq!(of(None, None), "--cfg\u{1f}x y");
        let plain = Some(" -C  a ");
        assert_eq!(of(None, plain), "-C\u{1f}a\u{1f}--cfg\u{1f}x y");
        let encoded = Some("-L\u{1f}/a b");
        assert_eq!(of(encoded, plain), "-L\u{1f}/a b\u{1f}--cfg\u{1f}x y");
        assert_eq!(of(Some(""), plain), "--cfg\u{1f}x y");
    }
}
