//! The table at the end of a recipe.

use super::output::seconds;
use std::fmt;
use std::time::Duration;

/// What became of a step.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Passed,
    /// With its last lines.
    Failed(Vec<String>),
    Skipped,
    /// A step before it failed.
    NotRun,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Outcome::Passed => "ok",
            Outcome::Failed(_) => "FAILED",
            Outcome::Skipped => "skipped",
            Outcome::NotRun => "not run",
        })
    }
}

/// One step of the table.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) name: String,
    pub(super) outcome: Outcome,
    pub(super) time: Duration,
}

/// The last lines of what failed when they are to be `repeated`, then the table with the time of
/// all, then what was left out and why.
pub(super) fn table(rows: &[Row], all: Duration, left_out: &[String], repeated: bool) -> String {
    let mut text = String::new();
    for row in rows.iter().filter(|_| repeated) {
        if let Outcome::Failed(lines) = &row.outcome {
            text += &format!("--- {} failed; its last lines:\n", row.name);
            lines
                .iter()
                .for_each(|line| text += &format!("    {line}\n"));
            text += "\n";
        }
    }
    let width = rows
        .iter()
        .map(|row| row.name.chars().count())
        .max()
        .unwrap_or(0)
        .max("step".len());
    text += &format!("{:width$}  {:8}  {:>9}\n", "step", "result", "time");
    for row in rows {
        let ran = matches!(row.outcome, Outcome::Passed | Outcome::Failed(_));
        let time = if ran {
            seconds(row.time)
        } else {
            String::new()
        };
        text += format!("{:width$}  {:8}  {time:>9}", row.name, row.outcome).trim_end();
        text += "\n";
    }
    let total = seconds(all);
    text += &format!("{:width$}  {:8}  {total:>9}\n", "total", "");
    if !left_out.is_empty() {
        text += "\nLeft out:\n";
        left_out
            .iter()
            .for_each(|what| text += &format!("  - {what}\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, outcome: Outcome, millis: u64) -> Row {
        Row {
            name: name.to_owned(),
            outcome,
            time: Duration::from_millis(millis),
        }
    }

    #[test]
    fn failures_come_first_and_reasons_last() {
        let rows = [
            row("fmt", Outcome::Passed, 1500),
            row(
                "doc tests",
                Outcome::Failed(vec!["assertion failed".to_owned()]),
                60_000,
            ),
            row("loom", Outcome::NotRun, 0),
        ];
        let wanted = "--- doc tests failed; its last lines:\n    assertion failed\n\n\
            step       result         time\n\
            fmt        ok            1.5 s\n\
            doc tests  FAILED       60.0 s\n\
            loom       not run\n\
            total                   61.0 s\n\n\
            Left out:\n  - 2 tests: no data\n";
        let left_out = ["2 tests: no data".to_owned()];
        let all = Duration::from_secs(61);
        assert_eq!(table(&rows, all, &left_out, true), wanted);
        assert!(table(&rows, all, &left_out, false).starts_with("step"));
    }
}
