//! `cargo xtask counts`: how many machine instructions the core's paths take, beside a baseline.
//!
//! One program has a row per path (`crates/counts`). Callgrind runs it, forgets what it has counted
//! at the row's beginning and writes it down at its end. What lies between, divided by the steps
//! that were taken, is compared with [`BASELINE`]. Callgrind is called directly. A harness for it
//! would be built longer than all rows take. It also counts the bench function's own thread, where
//! most rows here run on a worker.

use super::project::Project;
use crate::runner::{Children, Runner};
use crate::said::{runs, said};
use anyhow::{Context, Result, ensure};
use fs_err as fs;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

const PACKAGE: &str = "motet-counts";

/// Row and instructions per step, one to a line; `#` begins a comment.
const BASELINE: &str = "crates/counts/baseline.txt";

const HEAD: &str = "\
# Machine instructions per step of each row of crates/counts; `cargo xtask counts` compares,
# `cargo xtask counts --bless` writes this file.
";

/// The packages whose code is counted.
const COUNTED: [&str; 7] = [
    "motet-sync",
    "motet-dispatch",
    "motet-ports",
    "motet-values",
    "motet-comm",
    "motet-patterns",
    PACKAGE,
];

/// A row takes a second or two.
const ROW_LIMIT: Duration = Duration::from_secs(300);

/// In percent: more than this above the baseline is a failure.
const LIMIT: u64 = 5;

/// The counts as steps of a larger recipe; a missing tool is a failure when `strict`.
pub(super) fn step(runner: &mut Runner, project: &Project, strict: bool) {
    if COUNTED.iter().any(|name| project.concerns(name)) {
        match strict || runs("valgrind", &["--version"]) {
            true => steps(runner, project, false),
            false => runner.skip("counts", "there is no `valgrind`; install it"),
        }
    }
}

/// Counts every row; with `bless` what is counted becomes the baseline.
pub(super) fn steps(runner: &mut Runner, project: &Project, bless: bool) {
    let mut build = project.cargo("build --release --package");
    if !runner.command("build counts", build.arg(PACKAGE)) {
        return;
    }
    let children = runner.children();
    let says = "valgrind --tool=callgrind motet-counts ROW, for each row";
    runner.check("counts", says, || {
        let counted = count_all(project, &children)?;
        let compiler = compiler(project);
        let path = project.root.join(BASELINE);
        if bless {
            fs::write(&path, written(&compiler, &counted))?;
        }
        let text = fs::read_to_string(&path).context("--bless makes it")?;
        let (before, rows) = read(&text)?;
        let (mut lines, faults) = compared(&counted, &rows);
        if !faults.is_empty() && before != compiler {
            lines.push(format!(
                "no failure: the baseline is of {before}, this is {compiler}; look, then --bless"
            ));
            return Ok(lines);
        }
        let failed = !faults.is_empty();
        lines.extend(faults);
        ensure!(!failed, lines.join("\n"));
        Ok(lines)
    });
}

/// The version of the compiler; what another one makes takes other counts.
fn compiler(project: &Project) -> String {
    let mut rustc = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    let said = said(rustc.arg("--version").current_dir(&project.root)).unwrap_or_default();
    let words: Vec<&str> = said.split_whitespace().take(2).collect();
    words.join(" ")
}

/// Instructions per step of each row, in the program's order.
fn count_all(project: &Project, children: &Children) -> Result<Vec<(String, u64)>> {
    let program = project.target.join("release").join(PACKAGE);
    let listed = said(&mut Command::new(&program))?;
    let mut lines = listed.lines();
    let steps = lines.next().and_then(|line| line.parse::<u64>().ok());
    let steps = steps.context("motet-counts does not say how many steps it takes")?;
    let folder = project.target.join("counts");
    fs::create_dir_all(&folder)?;
    let rows = lines.map(|row| {
        let total = count(&program, row, &folder, children).with_context(|| row.to_owned())?;
        Ok((row.to_owned(), (total + steps / 2) / steps))
    });
    rows.collect()
}

/// Runs one row; the instructions between its beginning and its end.
fn count(program: &Path, row: &str, folder: &Path, children: &Children) -> Result<u64> {
    let out = folder.join(format!("{row}.out"));
    // The first part is what the row's end has had written down; what came after it is the rest.
    let part = folder.join(format!("{row}.out.1"));
    // One of an earlier run must not stand for this one's.
    let _ = fs::remove_file(&part);
    let mut command = Command::new("valgrind");
    command
        .args(["--quiet", "--tool=callgrind"])
        .arg("--zero-before=*counted_begin*")
        .arg("--dump-before=*counted_end*")
        .arg(format!("--callgrind-out-file={}", out.display()))
        .arg(program)
        .arg(row);
    children.run(&mut command, ROW_LIMIT)?;
    let text = fs::read_to_string(&part).context("callgrind has written nothing down")?;
    total(&text).with_context(|| format!("there is no total in {}", part.display()))
}

/// The sum over all functions in a file of callgrind's.
fn total(text: &str) -> Option<u64> {
    let total = text.lines().find_map(|line| line.strip_prefix("totals: "));
    total?.trim().parse().ok()
}

/// What is kept in the repository: the compiler, and the count of each row.
fn read(text: &str) -> Result<(&str, BTreeMap<String, u64>)> {
    let (mut compiler, mut rows) = ("", BTreeMap::new());
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        match line.split_once(char::is_whitespace) {
            Some(("compiler", value)) => compiler = value,
            row => {
                let row = row.and_then(|(name, count)| Some((name, count.trim().parse().ok()?)));
                let (name, count) =
                    row.with_context(|| format!("{BASELINE}: `{line}` is no row"))?;
                rows.insert(name.to_owned(), count);
            }
        }
    }
    Ok((compiler, rows))
}

/// The baseline's file.
fn written(compiler: &str, counted: &[(String, u64)]) -> String {
    let rows = counted
        .iter()
        .map(|(name, count)| format!("{name:24}{count:>6}\n"));
    format!("{HEAD}compiler {compiler}\n{}", rows.collect::<String>())
}

/// A table of all rows, and what is wrong with them.
fn compared(
    counted: &[(String, u64)],
    baseline: &BTreeMap<String, u64>,
) -> (Vec<String>, Vec<String>) {
    let row = |name: &str, before: &str, now: &str, change: &str| {
        format!("{name:24}{before:>10}{now:>10}{change:>10}")
    };
    let mut table = vec![row("instructions per step", "baseline", "now", "change")];
    let mut faults = Vec::new();
    for (name, now) in counted {
        let Some(before) = baseline.get(name) else {
            table.push(row(name, "-", &now.to_string(), "new"));
            faults.push(format!("`{name}` has no baseline; --bless writes it"));
            continue;
        };
        let change = (*now as f64 / (*before).max(1) as f64 - 1.0) * 100.0;
        let shown = format!("{change:+.1}%");
        table.push(row(name, &before.to_string(), &now.to_string(), &shown));
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
        let (compiler, baseline) = read(&text).unwrap();
        assert_eq!(compiler, "rustc 1.0.0");
        assert_eq!(
            baseline.into_iter().collect::<Vec<_>>(),
            rows(&[("a", 7), ("b-c", 1200)])
        );
        assert!(read("a seven").is_err());
    }

    #[test]
    fn more_than_the_limit_is_a_fault_and_less_is_not() {
        let baseline = rows(&[("same", 100), ("up", 100), ("far", 100), ("down", 100)]);
        let counted = rows(&[("same", 100), ("up", 105), ("far", 106), ("down", 10)]);
        let (table, faults) = compared(&counted, &baseline.into_iter().collect());
        assert_eq!(faults.len(), 1, "{faults:?}");
        assert!(faults[0].contains("`far`"), "{faults:?}");
        assert!(
            table[3].ends_with("+6.0%") && table[4].ends_with("-90.0%"),
            "{table:?}"
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
