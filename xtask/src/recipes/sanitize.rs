//! `cargo xtask sanitize`: the tests of the concurrent crates under ThreadSanitizer and AddressSanitizer.

use super::project::{Project, runner};
use crate::args::SanitizeOptions;
use crate::runner::Runner;
use std::process::ExitCode;

/// The packages with `unsafe` code or with an order of memory of their own.
const PACKAGES: [&str; 4] = ["motet-sync", "motet-dispatch", "motet-ports", "motet-comm"];

/// What sanitizers are there for on the machines that the project is built on.
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// What ThreadSanitizer is told not to report, each with its reason.
const SUPPRESSIONS: &str = "xtask/tsan-suppressions.txt";

/// A sanitizer, and the tests that are not for it.
struct Sanitizer {
    name: &'static str,
    /// What its runtime reads, and what it is told.
    options: (&'static str, String),
    /// Parts of names of tests that measure what the sanitizer changes.
    skipped: &'static [&'static str],
}

/// Runs the tests under both sanitizers.
///
/// # Errors
/// What keeps the recipe from starting.
pub(crate) fn sanitize(options: &SanitizeOptions) -> Result<ExitCode, String> {
    let project = Project::find()?;
    let suppressions = project.root.join(SUPPRESSIONS);
    let sanitizers = [
        Sanitizer {
            name: "thread",
            options: (
                "TSAN_OPTIONS",
                format!("suppressions={}", suppressions.display()),
            ),
            skipped: &[],
        },
        Sanitizer {
            name: "address",
            // A program that ends while its threads run leaves what they hold.
            options: ("ASAN_OPTIONS", "detect_leaks=0".to_owned()),
            skipped: &[],
        },
    ];
    let packages: Vec<&str> = match &options.package {
        None => PACKAGES.to_vec(),
        Some(package) => {
            let wanted = [package.clone(), format!("motet-{package}")];
            let found = PACKAGES
                .iter()
                .filter(|name| wanted.iter().any(|wanted| wanted == *name));
            found.copied().collect()
        }
    };
    if packages.is_empty() {
        return Err(format!("sanitize: one of {}", PACKAGES.join(", ")));
    }
    let mut runner = runner(options.keep_going)?;
    for sanitizer in &sanitizers {
        for package in &packages {
            sanitizer.step(&mut runner, &project, package);
        }
    }
    Ok(runner.finish())
}

impl Sanitizer {
    /// The tests of one package. The standard library is not built with the sanitizer, which the compiler must be
    /// told is meant; such a build has a folder of its own.
    fn step(&self, runner: &mut Runner, project: &Project, package: &str) {
        let flags = format!(
            "-Zsanitizer={} -Cunsafe-allow-abi-mismatch=sanitizer",
            self.name
        );
        let mut command = project.cargo(&["test", "--tests", "--target", TARGET]);
        command.args(["--package", package, "--"]);
        command.args(self.skipped.iter().flat_map(|test| ["--skip", test]));
        command
            .env("RUSTC_BOOTSTRAP", "1")
            .env("RUSTFLAGS", flags)
            .env(self.options.0, &self.options.1)
            .env(
                "CARGO_TARGET_DIR",
                project.target.join(format!("sanitize-{}", self.name)),
            );
        runner.command(&format!("{} {package}", self.name), &mut command, None);
    }
}
