//! `cargo xtask sanitize`: the tests of the concurrent crates under AddressSanitizer.
//!
//! ThreadSanitizer is not here. It must see every lock, and those of a standard library that is not built
//! with it it does not: a plain lock that two threads contend for is reported, and so is each `Arc` that is dropped
//! behind a fence. Loom and shuttle look for races instead.

use super::project::{Project, runner};
use crate::args::SanitizeOptions;
use std::process::ExitCode;

/// The packages with `unsafe` code or with an order of memory of their own.
const PACKAGES: [&str; 4] = ["motet-sync", "motet-dispatch", "motet-ports", "motet-comm"];

/// What sanitizers are there for on the machines that the project is built on.
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// The standard library is not built with the sanitizer, which the compiler must be told is meant.
const FLAGS: &str = "-Zsanitizer=address -Cunsafe-allow-abi-mismatch=sanitizer";

/// Runs the tests of one package, or of all that are worth it, each as a step.
///
/// # Errors
/// What keeps the recipe from starting.
pub(crate) fn sanitize(options: &SanitizeOptions) -> Result<ExitCode, String> {
    let project = Project::find()?;
    let packages = chosen(options.package.as_deref())?;
    let mut runner = runner(options.keep_going)?;
    for package in packages {
        let mut command = project.cargo(&["test", "--tests", "--target", TARGET]);
        command
            .args(["--package", package])
            // The compiler has sanitizers, but promises nothing about them yet.
            .env("RUSTC_BOOTSTRAP", "1")
            .env("RUSTFLAGS", FLAGS)
            // Built otherwise than the rest, so in a folder of its own.
            .env("CARGO_TARGET_DIR", project.target.join("sanitize"));
        runner.command(&format!("sanitize {package}"), &mut command, None);
    }
    Ok(runner.finish())
}

/// The packages to test: the one that is asked for, with or without `motet-`, else all.
fn chosen(package: Option<&str>) -> Result<Vec<&'static str>, String> {
    let Some(wanted) = package else {
        return Ok(PACKAGES.to_vec());
    };
    let full = format!("motet-{wanted}");
    let found = PACKAGES
        .iter()
        .find(|name| **name == wanted || **name == full);
    found
        .map(|name| vec![*name])
        .ok_or_else(|| format!("sanitize: one of {}", PACKAGES.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_chosen_by_either_name() {
        assert_eq!(chosen(None).unwrap(), PACKAGES);
        assert_eq!(chosen(Some("ports")).unwrap(), ["motet-ports"]);
        assert_eq!(chosen(Some("motet-comm")).unwrap(), ["motet-comm"]);
        assert!(chosen(Some("cli")).is_err());
    }
}
