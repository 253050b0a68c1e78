//! `cargo xtask sanitize`: the tests of the concurrent crates under AddressSanitizer and
//! ThreadSanitizer.
//!
//! ThreadSanitizer must see every lock, also those of the standard library, which therefore is
//! built with it. Only a nightly toolchain that has the library's source can do so. It does not
//! understand fences: what crossbeam's deque does behind one is left out ([`SUPPRESSED`]).

use super::project::{FLAGS, Project};
use crate::runner::Runner;
use crate::said::said;
use anyhow::{Context, Result, ensure};
use std::path::Path;
use std::process::Command;

/// The packages with `unsafe` code or with an order of memory of their own.
const PACKAGES: [&str; 5] = [
    "motet-sync",
    "motet-dispatch",
    "motet-ports",
    "motet-values",
    "motet-comm",
];

/// Those of them whose races ThreadSanitizer looks for.
const RACING: [&str; 3] = ["motet-sync", "motet-dispatch", "motet-ports"];

/// What sanitizers are there for on the machines that the project is built on.
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// The standard library is not built with the sanitizer, which the compiler must be told is meant.
/// Workers keep no memory, so that each node's end is seen.
const ADDRESS: &str =
    "-Zsanitizer=address -Cunsafe-allow-abi-mismatch=sanitizer --cfg motet_plain_memory";
const THREAD: &str = "-Zsanitizer=thread --cfg motet_plain_memory";

/// Who is not reported, relative to the project.
const SUPPRESSED: &str = "xtask/thread-sanitizer.txt";

/// Runs the tests of one package, or of all that are worth it, each as a step.
///
/// # Errors
/// The package is none of those.
pub(super) fn steps(runner: &mut Runner, project: &Project) -> Result<()> {
    let chosen = |name: &&str| project.package.as_ref().is_none_or(|one| one.name == *name);
    let packages: Vec<&str> = PACKAGES.into_iter().filter(chosen).collect();
    let known = PACKAGES.join(", ");
    ensure!(!packages.is_empty(), "sanitize: one of {known}");
    // Built otherwise than the rest, so in a folder of their own.
    let tests = |mut cargo: Command, package: &str, flags: &str, folder: &str| {
        cargo.args(["test", "--tests", "--target", TARGET, "--package", package]);
        cargo.env("RUSTFLAGS", flags).env_remove(FLAGS);
        cargo.env("CARGO_TARGET_DIR", project.target.join(folder));
        cargo
    };
    for package in &packages {
        let mut command = tests(project.cargo(""), package, ADDRESS, "sanitize");
        // The compiler has sanitizers, but promises nothing about them yet.
        command.env("RUSTC_BOOTSTRAP", "1");
        // Tests leave handlers at ports that they hold themselves: such cycles stay, as `WeakPort`
        // says.
        command.env("ASAN_OPTIONS", "detect_leaks=0");
        runner.command(&format!("address {package}"), &mut command);
    }
    if let Err(reason) = nightly_source() {
        runner.skip("thread", &format!("{reason:#}"));
        return Ok(());
    }
    for package in packages.iter().filter(|package| RACING.contains(package)) {
        let cargo = project.cargo_of("nightly", "");
        let mut command = tests(cargo, package, THREAD, "races");
        command.args(["-Z", "build-std"]);
        let suppressed = project.root.join(SUPPRESSED);
        let options = format!("suppressions={}", suppressed.display());
        command.env("TSAN_OPTIONS", options);
        runner.command(&format!("thread {package}"), &mut command);
    }
    Ok(())
}

/// A nightly toolchain has the standard library's source; else why not.
fn nightly_source() -> Result<()> {
    let mut rustc = Command::new("rustup");
    rustc.args(["run", "nightly", "rustc", "--print", "sysroot"]);
    let sysroot = said(rustc.env_remove("RUSTUP_TOOLCHAIN"))
        .context("there is no nightly toolchain; `rustup toolchain install nightly`")?;
    let source = Path::new(&sysroot).join("lib/rustlib/src/rust/library/Cargo.toml");
    ensure!(
        source.is_file(),
        "nightly has no source of the standard library; \
         `rustup component add rust-src --toolchain nightly`"
    );
    Ok(())
}
