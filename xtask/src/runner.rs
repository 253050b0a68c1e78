//! Runs steps one after the other and ends with a table.
//!
//! ```text
//!  step ─► announce ─► child process (or a check in here) ─► row of the table
//!                        │ output streams through, the last lines are kept
//!                        └ ends with the recipe: on Ctrl-C, on its time limit
//! ```

mod children;
mod output;
mod table;

pub(crate) use children::Children;
use output::seconds;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};
use table::{Outcome, Row};

/// Exit code of a run that Ctrl-C or a request to end stopped.
const INTERRUPTED: u8 = 130;

/// The steps of a recipe.
#[derive(Debug)]
pub(crate) struct Runner {
    children: Children,
    keep_going: bool,
    rows: Vec<Row>,
    left_out: Vec<String>,
}

impl Runner {
    /// A runner that stops at the first failure, or goes on.
    pub(crate) fn new(children: Children, keep_going: bool) -> Runner {
        Runner {
            children,
            keep_going,
            rows: Vec::new(),
            left_out: Vec::new(),
        }
    }

    /// Runs a command as a step; `limit` is how long it may take. Whether it ran and ended well.
    pub(crate) fn command(
        &mut self,
        name: &str,
        command: &mut Command,
        limit: Option<Duration>,
    ) -> bool {
        let children = self.children.clone();
        let says = output::spelled(command);
        self.step(name, &says, || children.run(command, limit));
        self.passed()
    }

    /// Whether the last step has run and passed.
    fn passed(&self) -> bool {
        let last = self.rows.last();
        last.is_some_and(|row| row.outcome == Outcome::Passed)
    }

    /// Runs a check in this process as a step; an error is what to show. Whether it ran and passed.
    pub(crate) fn check(
        &mut self,
        name: &str,
        says: &str,
        work: impl FnOnce() -> Result<(), Vec<String>>,
    ) -> bool {
        self.step(name, says, || {
            work().map_err(|lines| {
                lines.iter().for_each(|line| println!("{line}"));
                output::last(lines)
            })
        });
        self.passed()
    }

    /// What a check may run child processes with: they end with the recipe.
    pub(crate) fn children(&self) -> Children {
        self.children.clone()
    }

    /// Notes a step that does not run, with the reason.
    pub(crate) fn skip(&mut self, name: &str, reason: &str) {
        self.rows.push(Row {
            name: name.to_owned(),
            outcome: Outcome::Skipped,
            time: Duration::ZERO,
        });
        self.leave_out(format!("{name}: {reason}"));
    }

    /// Notes a part of a step that does not run, with the reason.
    pub(crate) fn leave_out(&mut self, what: String) {
        self.left_out.push(what);
    }

    /// Prints the table; the exit code of the recipe.
    pub(crate) fn finish(self) -> ExitCode {
        // After a single step its last lines stand just above.
        let repeated = self.rows.len() > 1;
        println!("\n{}", table::table(&self.rows, &self.left_out, repeated));
        if self.children.interrupted() {
            return ExitCode::from(INTERRUPTED);
        }
        let failed = self
            .rows
            .iter()
            .any(|row| matches!(row.outcome, Outcome::Failed(_)));
        if failed {
            ExitCode::FAILURE
        } else {
            ExitCode::SUCCESS
        }
    }

    fn step(&mut self, name: &str, says: &str, work: impl FnOnce() -> Result<(), Vec<String>>) {
        let mut row = Row {
            name: name.to_owned(),
            outcome: Outcome::NotRun,
            time: Duration::ZERO,
        };
        if !self.stopped() {
            println!("\n==> {name}: {says}");
            let begin = Instant::now();
            row.outcome = match work() {
                Ok(()) => Outcome::Passed,
                Err(lines) => Outcome::Failed(lines),
            };
            row.time = begin.elapsed();
            println!("<== {name}: {}, {}", row.outcome, seconds(row.time));
        }
        self.rows.push(row);
    }

    fn stopped(&self) -> bool {
        let failed = self
            .rows
            .iter()
            .any(|row| matches!(row.outcome, Outcome::Failed(_)));
        self.children.interrupted() || (failed && !self.keep_going)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn results(keep_going: bool) -> Vec<String> {
        let mut runner = Runner::new(Children::unwatched(), keep_going);
        runner.check("a", "", || Ok(()));
        runner.command("b", Command::new("sh").args(["-c", "exit 3"]), None);
        runner.check("c", "", || Ok(()));
        runner.skip("d", "there is no tool");
        runner
            .rows
            .iter()
            .map(|row| row.outcome.to_string())
            .collect()
    }

    #[test]
    fn a_failure_stops_the_rest_unless_told_to_go_on() {
        assert_eq!(results(false), ["ok", "FAILED", "not run", "skipped"]);
        assert_eq!(results(true), ["ok", "FAILED", "ok", "skipped"]);
    }
}
