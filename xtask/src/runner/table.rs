//! The table at the end of a recipe.

use super::output::seconds;
use std::time::Duration;

/// What became of a step.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Passed,
    /// With its last lines.
    Failed(String),
    Skipped,
    /// A step before it failed.
    NotRun,
}

impl Outcome {
    /// What the table says.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Outcome::Passed => "ok",
            Outcome::Failed(_) => "FAILED",
            Outcome::Skipped => "skipped",
            Outcome::NotRun => "not run",
        }
    }
}

/// One step of the table.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) name: String,
    pub(super) outcome: Outcome,
    /// How long it ran, if it did.
    pub(super) time: Option<Duration>,
}

/// First the table with the time of all, then what was left out and why. At the end, which is what
/// a shortened log keeps, the last lines of what failed, when they are to be `repeated`.
pub(super) fn table(rows: &[Row], all: Duration, left_out: &[String], repeated: bool) -> String {
    let mut lines = Vec::new();
    let widths = rows.iter().map(|row| row.name.chars().count());
    let width = widths.max().unwrap_or(0).max("step".len());
    let line = |name: &str, result: &str, time: &str| {
        let line = format!("{name:width$}  {result:8}  {time:>9}");
        line.trim_end().to_owned()
    };
    lines.push(line("step", "result", "time"));
    lines.extend(rows.iter().map(|row| {
        let time = row.time.map(seconds).unwrap_or_default();
        line(&row.name, row.outcome.name(), &time)
    }));
    lines.push(line("total", "", &seconds(all)));
    if !left_out.is_empty() {
        lines.push("\nLeft out:".to_owned());
        lines.extend(left_out.iter().map(|what| format!("  - {what}")));
    }
    for row in rows.iter().filter(|_| repeated) {
        if let Outcome::Failed(said) = &row.outcome {
            lines.push(format!("\n--- {} failed; its last lines:", row.name));
            lines.extend(said.lines().map(|line| format!("    {line}")));
        }
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, outcome: Outcome, millis: Option<u64>) -> Row {
        Row {
            name: name.to_owned(),
            outcome,
            time: millis.map(Duration::from_millis),
        }
    }

    #[test]
    fn failures_come_last_behind_what_was_left_out() {
        let rows = [
            row("fmt", Outcome::Passed, Some(1500)),
            row(
                "doc tests",
                Outcome::Failed("assertion failed".to_owned()),
                Some(60_000),
            ),
            row("loom", Outcome::NotRun, None),
        ];
        let wanted = "\
            step       result         time\n\
            fmt        ok            1.5 s\n\
            doc tests  FAILED       60.0 s\n\
            loom       not run\n\
            total                   61.0 s\n\n\
            Left out:\n  - 2 tests: no data\n\n\
            --- doc tests failed; its last lines:\n    assertion failed\n";
        let left_out = ["2 tests: no data".to_owned()];
        let all = Duration::from_secs(61);
        assert_eq!(table(&rows, all, &left_out, true), wanted);
        assert!(table(&rows, all, &left_out, false).starts_with("step"));
    }
}
