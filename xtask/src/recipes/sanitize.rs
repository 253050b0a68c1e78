//! `cargo xtask sanitize`: the tests of the concurrent crates under AddressSanitizer and
//! ThreadSanitizer.
//!
//! ThreadSanitizer must see every lock, also those of the standard library, which therefore is
//! built with it: only a nightly toolchain that has the library's source can. It does not
//! understand fences: what crossbeam's deque does behind one is left out ([`SUPPRESSED`]).

use super::project::{Project, runner};
use crate::args::Options;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// The packages with `unsafe` code or with an order of memory of their own.
const PACKAGES: [&str; 4] = ["motet-sync", "motet-dispatch", "motet-ports", "motet-comm"];

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
/// What keeps the recipe from starting.
pub(super) fn sanitize(options: &Options) -> Result<ExitCode, String> {
    let project = Project::find()?;
    let packages = chosen(options.package.as_deref())?;
    let mut runner = runner(options.keep_going)?;
    for package in &packages {
        let mut command = tests(&project, "cargo", package, ADDRESS, "sanitize");
        // The compiler has sanitizers, but promises nothing about them yet.
        command.env("RUSTC_BOOTSTRAP", "1");
        // Tests leave handlers at ports that they hold themselves: such cycles stay, as `WeakPort`
        // says.
        command.env("ASAN_OPTIONS", "detect_leaks=0");
        runner.command(&format!("address {package}"), &mut command, None);
    }
    match nightly_source() {
        Err(reason) => runner.skip("thread", &reason),
        Ok(()) => {
            let racing = packages.iter().filter(|package| RACING.contains(package));
            for package in racing {
                let mut command = tests(&project, "nightly", package, THREAD, "races");
                let suppressed = project.root.join(SUPPRESSED);
                command.args(["-Z", "build-std"]);
                command.env(
                    "TSAN_OPTIONS",
                    format!("suppressions={}", suppressed.display()),
                );
                runner.command(&format!("thread {package}"), &mut command, None);
            }
        }
    }
    Ok(runner.finish())
}

/// The tests of a package, built by a toolchain with these flags: otherwise than the rest, so in a
/// folder of their own.
fn tests(project: &Project, toolchain: &str, package: &str, flags: &str, folder: &str) -> Command {
    let mut command = match toolchain {
        "cargo" => project.cargo(&["test"]),
        toolchain => {
            let mut command = Command::new("rustup");
            command.args(["run", toolchain, "cargo", "test"]);
            // Set by the Cargo that runs this program, for its own toolchain.
            for name in ["CARGO", "RUSTC", "RUSTUP_TOOLCHAIN"] {
                command.env_remove(name);
            }
            command.current_dir(&project.root);
            command
        }
    };
    command
        .args(["--tests", "--target", TARGET, "--package", package])
        .env("RUSTFLAGS", flags)
        .env("CARGO_TARGET_DIR", project.target.join(folder));
    command
}

/// Whether a nightly toolchain has the standard library's source; else why not.
fn nightly_source() -> Result<(), String> {
    let said = Command::new("rustup")
        .args(["run", "nightly", "rustc", "--print", "sysroot"])
        .env_remove("RUSTUP_TOOLCHAIN")
        .output();
    let sysroot = match said {
        Ok(said) if said.status.success() => said.stdout,
        _ => {
            return Err("there is no nightly toolchain; `rustup toolchain install nightly`".into());
        }
    };
    let sysroot = PathBuf::from(String::from_utf8_lossy(&sysroot).trim());
    has_source(&sysroot).then_some(()).ok_or_else(|| {
        "nightly has no source of the standard library; \
         `rustup component add rust-src --toolchain nightly`"
            .into()
    })
}

fn has_source(sysroot: &Path) -> bool {
    sysroot
        .join("lib/rustlib/src/rust/library/Cargo.toml")
        .is_file()
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
    fn a_toolchain_without_source_is_found_out() {
        assert!(!has_source(Path::new("nowhere")));
    }

    #[test]
    fn packages_are_chosen_by_either_name() {
        assert_eq!(chosen(None).unwrap(), PACKAGES);
        assert_eq!(chosen(Some("ports")).unwrap(), ["motet-ports"]);
        assert_eq!(chosen(Some("motet-comm")).unwrap(), ["motet-comm"]);
        assert!(chosen(Some("cli")).is_err());
    }
}
