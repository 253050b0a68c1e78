//! `cargo xtask counts`: how many machine instructions the core's paths take, beside a baseline.
//!
//! One program has a row per path (`crates/counts`). Callgrind runs it, forgets what it has counted
//! at the row's beginning and writes it down at its end; what lies between, divided by the steps
//! that were taken, is compared with [`BASELINE`]. Callgrind is called directly: a harness for it
//! would be built longer than all rows take, and counts the bench function's own thread, where most
//! rows here run on a worker.

use super::project::{Project, Scope, runner};
use crate::runner::{Children, Runner};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

const PACKAGE: &str = "motet-counts";

/// Row and instructions per step, one to a line; `#` begins a comment.
const BASELINE: &str = "crates/counts/baseline.txt";

/// The packages whose code is counted.
const COUNTED: [&str; 6] = [
    "motet-sync",
    "motet-dispatch",
    "motet-ports",
    "motet-comm",
    "motet-patterns",
    PACKAGE,
];

/// A row takes a second or two.
const ROW_LIMIT: Duration = Duration::from_secs(300);

/// In percent: more than this above the baseline is a failure.
const LIMIT: u64 = 5;

/// Counts every row; with `bless` what is counted becomes the baseline.
///
/// # Errors
/// What keeps the recipe from starting.
pub(super) fn counts(bless: bool) -> Result<ExitCode, String> {
    let project = Project::find()?;
    let mut runner = runner(false)?;
    steps(&mut runner, &project, bless);
    Ok(runner.finish())
}

/// The counts as steps of a larger recipe; a missing tool is a failure when `strict`.
pub(super) fn step(runner: &mut Runner, project: &Project, scope: Scope<'_>, strict: bool) {
    match scope {
        Scope::Package(manifest) if !COUNTED.contains(&manifest.name.as_str()) => {}
        _ if strict || has_valgrind() => steps(runner, project, false),
        _ => runner.skip("counts", "there is no `valgrind`; install it"),
    }
}

fn steps(runner: &mut Runner, project: &Project, bless: bool) {
    let mut build = project.cargo(&["build", "--release", "--package", PACKAGE]);
    if !runner.command("build counts", &mut build, None) {
        return;
    }
    let children = runner.children();
    let says = "valgrind --tool=callgrind motet-counts ROW, for each row";
    runner.check("counts", says, || {
        let counted = count_all(project, &children).map_err(|error| vec![error])?;
        let compiler = compiler(project);
        if bless {
            let text = written(&compiler, &counted);
            let path = project.root.join(BASELINE);
            std::fs::write(&path, text)
                .map_err(|error| vec![format!("cannot write {}: {error}", path.display())])?;
        }
        let text = std::fs::read_to_string(project.root.join(BASELINE))
            .map_err(|error| vec![format!("cannot read {BASELINE}: {error}; --bless makes it")])?;
        let baseline = Baseline::read(&text).map_err(|error| vec![error])?;
        let (table, faults) = compared(&counted, &baseline.rows);
        let mut lines: Vec<String> = table.lines().map(str::to_owned).collect();
        if faults.is_empty() {
            return Ok(lines);
        }
        if baseline.compiler != compiler {
            lines.push(format!(
                "no failure: the baseline is of {}, this is {compiler}; look, then --bless",
                baseline.compiler
            ));
            return Ok(lines);
        }
        lines.extend(faults);
        Err(lines)
    });
}

fn has_valgrind() -> bool {
    let mut command = Command::new("valgrind");
    command
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// The version of the compiler; what another one makes takes other counts.
fn compiler(project: &Project) -> String {
    let mut command = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    let said = command.arg("--version").current_dir(&project.root).output();
    let said = said.map_or_else(
        |_| String::new(),
        |output| String::from_utf8_lossy(&output.stdout).into_owned(),
    );
    said.split_whitespace()
        .take(2)
        .collect::<Vec<_>>()
        .join(" ")
}

/// Instructions per step of each row, in the program's order.
fn count_all(project: &Project, children: &Children) -> Result<Vec<(String, u64)>, String> {
    let program = project.target.join("release").join(PACKAGE);
    let listed = Command::new(&program)
        .output()
        .map_err(|error| format!("cannot start {}: {error}", program.display()))?;
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    let mut lines = listed.lines();
    let steps: u64 = lines
        .next()
        .and_then(|line| line.parse().ok())
        .ok_or("motet-counts does not say how many steps it takes")?;
    let folder = project.target.join("counts");
    std::fs::create_dir_all(&folder)
        .map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    lines
        .map(|row| {
            let total = count(&program, row, &folder, children)?;
            Ok((row.to_owned(), (total + steps / 2) / steps))
        })
        .collect()
}

/// Runs one row; the instructions between its beginning and its end.
fn count(program: &Path, row: &str, folder: &Path, children: &Children) -> Result<u64, String> {
    let out: PathBuf = folder.join(format!("{row}.out"));
    // The first part is what the row's end has had written down; what came after it is the rest.
    let part = folder.join(format!("{row}.out.1"));
    // One of an earlier run must not stand for this one's.
    let _ = std::fs::remove_file(&part);
    let mut command = Command::new("valgrind");
    command
        .args(["--quiet", "--tool=callgrind"])
        .arg("--zero-before=*counted_begin*")
        .arg("--dump-before=*counted_end*")
        .arg(format!("--callgrind-out-file={}", out.display()))
        .arg(program)
        .arg(row);
    children
        .run(&mut command, Some(ROW_LIMIT))
        .map_err(|lines| format!("{row}: {}", lines.join("\n")))?;
    let text = std::fs::read_to_string(&part)
        .map_err(|error| format!("{row}: callgrind has written nothing down: {error}"))?;
    total(&text).ok_or_else(|| format!("{row}: there is no total in {}", part.display()))
}

/// The sum over all functions in a file of callgrind's.
fn total(text: &str) -> Option<u64> {
    text.lines()
        .find_map(|line| line.strip_prefix("totals: "))
        .and_then(|number| number.trim().parse().ok())
}

/// What is kept in the repository.
struct Baseline {
    compiler: String,
    rows: BTreeMap<String, u64>,
}

impl Baseline {
    fn read(text: &str) -> Result<Baseline, String> {
        let mut baseline = Baseline {
            compiler: String::new(),
            rows: BTreeMap::new(),
        };
        for (at, line) in text.lines().enumerate() {
            if let Some(compiler) = line.strip_prefix("compiler ") {
                compiler.trim().clone_into(&mut baseline.compiler);
                continue;
            }
            if line.starts_with('#') || line.trim().is_empty() {
                continue;
            }
            let row = line.split_once(char::is_whitespace);
            let row = row.and_then(|(name, count)| Some((name, count.trim().parse().ok()?)));
            let (name, count) =
                row.ok_or_else(|| format!("{BASELINE}, line {}: `{line}` is no row", at + 1))?;
            baseline.rows.insert(name.to_owned(), count);
        }
        Ok(baseline)
    }
}

/// The baseline's file.
fn written(compiler: &str, counted: &[(String, u64)]) -> String {
    let mut text = "# Machine instructions per step of each row of crates/counts; `cargo xtask counts` compares,\n\
         # `cargo xtask counts --bless` writes this file.\n"
        .to_owned();
    let _ = writeln!(text, "compiler {compiler}");
    for (name, count) in counted {
        let _ = writeln!(text, "{name:24}{count:>6}");
    }
    text
}

/// A table of all rows, and what is wrong with them.
fn compared(counted: &[(String, u64)], baseline: &BTreeMap<String, u64>) -> (String, Vec<String>) {
    let mut table = format!(
        "{:24}{:>10}{:>10}{:>10}",
        "instructions per step", "baseline", "now", "change"
    );
    let mut faults = Vec::new();
    for (name, now) in counted {
        let Some(before) = baseline.get(name) else {
            let _ = write!(table, "\n{name:24}{:>10}{now:>10}{:>10}", "-", "new");
            faults.push(format!("`{name}` has no baseline; --bless writes it"));
            continue;
        };
        let change = (*now as f64 / (*before).max(1) as f64 - 1.0) * 100.0;
        let _ = write!(table, "\n{name:24}{before:>10}{now:>10}{change:>+9.1}%");
        if now * 100 > before * (100 + LIMIT) {
            faults.push(format!(
                "`{name}` takes {now} instructions, {change:.1} % more than {before}; mend it, or \
                 --bless if it is worth it"
            ));
        }
    }
    for name in baseline.keys() {
        if !counted.iter().any(|(row, _)| row == name) {
            faults.push(format!("`{name}` has a baseline and is counted no more"));
        }
    }
    (table, faults)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(counts: &[(&str, u64)]) -> Vec<(String, u64)> {
        counts
            .iter()
            .map(|(name, count)| ((*name).to_owned(), *count))
            .collect()
    }

    #[test]
    fn what_is_written_is_read() {
        let text = written("rustc 1.0.0", &rows(&[("a", 7), ("b-c", 1200)]));
        let baseline = Baseline::read(&text).unwrap();
        assert_eq!(baseline.compiler, "rustc 1.0.0");
        assert_eq!(
            baseline.rows.into_iter().collect::<Vec<_>>(),
            rows(&[("a", 7), ("b-c", 1200)])
        );
        assert!(Baseline::read("a seven").is_err());
    }

    #[test]
    fn more_than_the_limit_is_a_fault_and_less_is_not() {
        let baseline = rows(&[("same", 100), ("up", 100), ("far", 100), ("down", 100)]);
        let counted = rows(&[("same", 100), ("up", 105), ("far", 106), ("down", 10)]);
        let (table, faults) = compared(&counted, &baseline.into_iter().collect());
        assert_eq!(faults.len(), 1, "{faults:?}");
        assert!(faults[0].contains("`far`"), "{faults:?}");
        assert!(
            table.contains("+6.0%") && table.contains("-90.0%"),
            "{table}"
        );
    }

    #[test]
    fn rows_that_stand_on_one_side_only_are_faults() {
        let (_, faults) = compared(
            &rows(&[("new", 1)]),
            &rows(&[("gone", 1)]).into_iter().collect(),
        );
        assert_eq!(faults.len(), 2, "{faults:?}");
    }

    #[test]
    fn the_total_is_that_of_all_functions() {
        let text = "events: Ir\nsummary: 9000\n\nfn=(1) f\n0 12\n\ntotals: 8017\n";
        assert_eq!(total(text), Some(8017));
        assert_eq!(total("events: Ir\n"), None);
    }
}
