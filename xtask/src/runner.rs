//! Runs steps one after the other, or two rows of them beside each other, and ends with a table.
//!
//! ```text
//!  step ─► announce ─► child process (or a check in here) ─► row of the table
//!                        │ output streams through, the last lines are kept
//!                        └ ends with the recipe: on Ctrl-C, on its time limit
//! ```
#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "recipes must build when the project's own locks and threads do not"
)]

mod children;
mod output;
mod table;

use anyhow::{Result, anyhow, ensure};
pub(crate) use children::Children;
use output::{Sink, seconds};
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use table::{Outcome, Row};

/// Exit code of a run that Ctrl-C or a request to end stopped.
const INTERRUPTED: u8 = 130;

/// The steps of a recipe.
#[derive(Debug)]
pub(crate) struct Runner {
    children: Children,
    keep_going: bool,
    /// Whether a step failed, here or beside.
    failed: Arc<AtomicBool>,
    began: Instant,
    sink: Sink,
    rows: Vec<Row>,
    left_out: Vec<String>,
}

impl Runner {
    /// A runner that stops at the first failure, or goes on.
    pub(crate) fn new(children: Children, keep_going: bool) -> Runner {
        Runner {
            children,
            keep_going,
            failed: Arc::default(),
            began: Instant::now(),
            sink: Sink::default(),
            rows: Vec::new(),
            left_out: Vec::new(),
        }
    }

    /// Runs a command as a step. Whether it ran and ended well.
    pub(crate) fn command(&mut self, name: &str, command: &mut Command) -> bool {
        self.command_within(name, command, Duration::MAX)
    }

    /// Runs a command that may take so long.
    pub(crate) fn command_within(
        &mut self,
        name: &str,
        command: &mut Command,
        limit: Duration,
    ) -> bool {
        let children = self.children.clone();
        let says = output::spelled(command);
        self.step(name, &says, |_| children.run(command, limit))
    }

    /// Runs a check in this process as a step: what it returns is shown, an error as a failure.
    /// Whether it ran and passed.
    pub(crate) fn check(
        &mut self,
        name: &str,
        says: &str,
        work: impl FnOnce() -> Result<Vec<String>>,
    ) -> bool {
        self.step(name, says, |sink| {
            let shown = work().map_err(|fault| {
                let fault = format!("{fault:#}");
                sink.line(&fault);
                anyhow!(output::last(&fault))
            })?;
            shown.iter().for_each(|line| sink.line(line));
            Ok(())
        })
    }

    /// Runs a check that passes when it finds no fault.
    pub(crate) fn faults(
        &mut self,
        name: &str,
        says: &str,
        find: impl FnOnce() -> Result<Vec<String>>,
    ) -> bool {
        self.check(name, says, || {
            let faults = find()?;
            ensure!(faults.is_empty(), faults.join("\n"));
            Ok(faults)
        })
    }

    /// What a step needs is missing: a failure when it must be there, else the step is left out.
    pub(crate) fn lacking(&mut self, name: &str, lacks: String, strict: bool) {
        match strict {
            true => drop(self.faults(name, "what is needed", || Ok(vec![lacks]))),
            false => self.skip(name, &lacks),
        }
    }

    /// What a check may run child processes with: they end with the recipe.
    pub(crate) fn children(&self) -> Children {
        self.children.clone()
    }

    /// Runs two rows of steps beside each other: for steps that leave a core idle. What a step
    /// writes is shown when it has ended.
    pub(crate) fn beside(
        &mut self,
        one: impl FnOnce(&mut Runner) + Send,
        other: impl FnOnce(&mut Runner) + Send,
    ) {
        let (mut first, mut second) = (self.part(), self.part());
        thread::scope(|scope| {
            scope.spawn(|| one(&mut first));
            other(&mut second);
        });
        for part in [first, second] {
            self.rows.extend(part.rows);
            self.left_out.extend(part.left_out);
        }
    }

    /// A runner of the same recipe that keeps what its steps write.
    fn part(&self) -> Runner {
        let sink = Sink::kept();
        Runner {
            children: self.children.writing_to(sink.clone()),
            failed: Arc::clone(&self.failed),
            sink,
            rows: Vec::new(),
            left_out: Vec::new(),
            ..*self
        }
    }

    /// Notes a step that does not run, with the reason.
    pub(crate) fn skip(&mut self, name: &str, reason: &str) {
        self.row(name, Outcome::Skipped, None);
        self.leave_out(format!("{name}: {reason}"));
    }

    fn row(&mut self, name: &str, outcome: Outcome, time: Option<Duration>) {
        let name = name.to_owned();
        self.rows.push(Row {
            name,
            outcome,
            time,
        });
    }

    /// Notes a part of a step that does not run, with the reason.
    pub(crate) fn leave_out(&mut self, what: String) {
        self.left_out.push(what);
    }

    /// Prints the table; the exit code of the recipe.
    pub(crate) fn finish(self) -> ExitCode {
        // After a single step its last lines stand just above.
        let repeated = self.rows.len() > 1;
        let total = self.began.elapsed();
        let table = table::table(&self.rows, total, &self.left_out, repeated);
        Sink::announce(&format!("\n{table}"));
        if self.children.interrupted() {
            return ExitCode::from(INTERRUPTED);
        }
        match self.has_failed() {
            true => ExitCode::FAILURE,
            false => ExitCode::SUCCESS,
        }
    }

    fn step(&mut self, name: &str, says: &str, work: impl FnOnce(&Sink) -> Result<()>) -> bool {
        if self.children.interrupted() || (self.has_failed() && !self.keep_going) {
            self.row(name, Outcome::NotRun, None);
            return false;
        }
        if self.sink.keeps() {
            Sink::announce(&format!("\n==> {name}, beside others"));
        }
        self.sink.line(&format!("\n==> {name}: {says}"));
        let begin = Instant::now();
        let result = work(&self.sink);
        let (time, passed) = (begin.elapsed(), result.is_ok());
        let outcome = match result {
            Ok(()) => Outcome::Passed,
            Err(fault) => Outcome::Failed(format!("{fault:#}")),
        };
        self.failed.fetch_or(!passed, Ordering::Relaxed);
        let ended = format!("<== {name}: {}, {}", outcome.name(), seconds(time));
        self.sink.line(&ended);
        self.sink.show();
        self.row(name, outcome, Some(time));
        passed
    }

    /// Whether a step has failed.
    pub(crate) fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcomes(runner: &Runner) -> Vec<String> {
        let rows = runner.rows.iter();
        rows.map(|row| row.outcome.name().to_owned()).collect()
    }

    fn results(keep_going: bool) -> Vec<String> {
        let mut runner = Runner::new(Children::unwatched(), keep_going);
        runner.check("a", "", || Ok(Vec::new()));
        runner.command("b", Command::new("sh").args(["-c", "exit 3"]));
        runner.check("c", "", || Ok(Vec::new()));
        runner.skip("d", "there is no tool");
        outcomes(&runner)
    }

    #[test]
    fn a_failure_stops_the_rest_unless_told_to_go_on() {
        assert_eq!(results(false), ["ok", "FAILED", "not run", "skipped"]);
        assert_eq!(results(true), ["ok", "FAILED", "ok", "skipped"]);
    }

    #[test]
    fn rows_beside_each_other_run_at_once_and_stand_in_order() {
        let mut runner = Runner::new(Children::unwatched(), false);
        let (tell, told) = std::sync::mpsc::channel();
        let (begins, begun) = std::sync::mpsc::channel();
        runner.beside(
            // It ends only while the other runs.
            move |one| {
                one.check("a", "", || {
                    begins.send(())?;
                    Ok(told.recv()?)
                });
            },
            move |other| {
                // After a failure it would not begin.
                begun.recv().unwrap();
                other.command("b", Command::new("sh").args(["-c", "exit 0"]));
                tell.send(Vec::new()).unwrap();
                other.check("c", "", || Err(anyhow!("no")));
            },
        );
        runner.check("d", "", || Ok(Vec::new()));
        assert_eq!(outcomes(&runner), ["ok", "ok", "FAILED", "not run"]);
    }
}
