//! `motet bench list` and `motet bench run`: the papers' experiments.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use motet_bench::measuring::{Case, Listener, Row, RowOutcome, Setting, Stop};
use motet_bench::suite::{Experiment, RunListener, StoreError, all, find};
use motet_mining::CancelToken;
use serde::Serialize;

use crate::bench::print_args::PrintArgs;
use crate::bench::sheet::Sheet;
use crate::bench::suite_args::SuiteArgs;
use crate::error::{BenchError, CliError};
use crate::interrupt::cancel_on_interrupt;
use crate::progress::TerminalBar;
use crate::stderr::tell;
use crate::stdout::print;

/// An experiment in the list.
#[derive(Debug, Serialize)]
struct Listed {
    key: &'static str,
    name: &'static str,
    title: &'static str,
    question: &'static str,
    sources: &'static [String],
}

/// Prints the experiments there are.
pub(super) fn list(args: PrintArgs) -> Result<(), CliError> {
    let mut sheet = Sheet::new(args, &["key", "            name", "title"]);
    for experiment in all() {
        let listed = Listed {
            key: &experiment.key,
            name: &experiment.name,
            title: &experiment.title,
            question: &experiment.question,
            sources: &experiment.sources,
        };
        sheet.row(
            &listed,
            &[&experiment.key, &experiment.name, &experiment.title].map(String::clone),
        )?;
    }
    Ok(())
}

/// Measures the experiments that are named.
pub(super) fn run(args: &SuiteArgs) -> Result<(), CliError> {
    let mut experiments: Vec<&'static Experiment> = Vec::new();
    for name in &args.names {
        for experiment in find(name).map_err(BenchError::from)? {
            if !experiments.iter().any(|known| known.key == experiment.key) {
                experiments.push(experiment);
            }
        }
    }
    let config = args.config();
    config.check_peers().map_err(BenchError::from)?;
    let cancel = cancel_on_interrupt();
    let setting = Setting::new(config);
    let mut screen = Screen::new(args.print, cancel);
    let ended = motet_bench::suite::run(&setting, &experiments, &args.out, &mut screen);
    screen.finish();
    let out = args.out.display().to_string();
    match ended {
        Ok(()) => screen.printed.and_then(|()| {
            if args.print.json {
                return Ok(());
            }
            print(|to| writeln!(to, "the rows are in {out}"))
        }),
        Err(Stop::Failed(error)) => Err(refused(error)),
        Err(_) => Err(BenchError::Interrupted { out }.into()),
    }
}

/// A folder that cannot be used.
fn refused(error: Box<dyn std::error::Error + Send + Sync>) -> CliError {
    match error.downcast::<StoreError>() {
        Ok(source) => BenchError::Rows(*source).into(),
        Err(other) => CliError::Run(other.to_string()),
    }
}

/// What is shown: a bar on a terminal while the suite runs, then a line for each experiment, and
/// reasons, each once.
struct Screen {
    print: PrintArgs,
    bar: TerminalBar,
    cancel: CancelToken,
    begun: Instant,
    now: Option<Now>,
    /// The experiment whose rows come, by key and title.
    ended: Option<(&'static str, &'static str)>,
    counts: Counts,
    /// The most that others had of the processors, by experiment.
    others: BTreeMap<&'static str, f64>,
    reasons: BTreeSet<String>,
    printed: Result<(), CliError>,
}

/// The experiment that runs.
struct Now {
    /// Rounds before this one, and how many there are at most.
    rounds: (usize, usize),
    /// Its place among all, and how many there are.
    place: (usize, usize),
    key: &'static str,
}

/// Rows of an experiment.
#[derive(Debug, Default)]
struct Counts {
    rounds: usize,
    spent: Duration,
    measured: usize,
    absent: usize,
    disturbed: usize,
    /// Why the first absent row is absent.
    why: Option<String>,
}

impl Now {
    /// The share of all rounds that is done, with this share of the experiment's cases.
    fn share(&self, cases: f64) -> f64 {
        let ((round, most), (at, of)) = (self.rounds, self.place);
        let experiments = (at as f64 + cases) / of as f64;
        (round as f64 + experiments) / most as f64
    }
}

impl Screen {
    fn new(print: PrintArgs, cancel: CancelToken) -> Screen {
        Screen {
            print,
            bar: TerminalBar::new(print.quiet),
            cancel,
            begun: Instant::now(),
            now: None,
            ended: None,
            counts: Counts::default(),
            others: BTreeMap::new(),
            reasons: BTreeSet::new(),
            printed: Ok(()),
        }
    }

    /// The line of the experiment that has ended.
    fn finish(&mut self) {
        self.bar.clear();
        let Some((key, title)) = self.ended.take() else {
            return;
        };
        let Counts {
            rounds,
            spent,
            measured,
            absent,
            disturbed,
            why,
        } = std::mem::take(&mut self.counts);
        if disturbed > 0 {
            let percent = 100.0 * self.others.get(key).copied().unwrap_or_default();
            self.warn(&format!(
                "{key}: others had up to {percent:.0} % of the processors: {disturbed} rows are marked as disturbed"
            ));
        }
        if self.print.json {
            return;
        }
        let rows = format!(
            "{key}  {measured:>4} rows, {absent:>3} absent, {disturbed:>3} disturbed, {rounds:>2} rounds in {:>4.1} s  {title}",
            spent.as_secs_f64()
        );
        let line = match why.filter(|_| measured == 0) {
            Some(why) => format!("{rows}: {why}"),
            None => rows,
        };
        self.say(|to| writeln!(to, "{line}"));
    }

    /// Prints, until the reader has gone away.
    fn say(&mut self, write: impl FnOnce(&mut dyn std::io::Write) -> std::io::Result<()>) {
        if self.printed.is_ok() {
            self.printed = print(write);
        }
    }

    /// Says something on standard error.
    fn warn(&mut self, text: &str) {
        self.bar.clear();
        tell(format_args!("{text}"));
        self.bar = TerminalBar::new(self.print.quiet);
    }
}

impl RunListener for Screen {
    fn experiment(
        &mut self,
        rounds: (usize, usize),
        place: (usize, usize),
        experiment: &'static Experiment,
    ) {
        self.now = Some(Now {
            rounds,
            place,
            key: &experiment.key,
        });
    }

    fn results(&mut self, experiment: &'static Experiment, rounds: usize, spent: Duration) {
        self.finish();
        self.ended = Some((&experiment.key, &experiment.title));
        self.counts.rounds = rounds;
        self.counts.spent = spent;
    }

    fn row(&mut self, row: &Row) {
        match &row.outcome {
            RowOutcome::Measured { .. } => self.counts.measured += 1,
            RowOutcome::Absent { absent } => {
                self.counts.absent += 1;
                self.counts.why.get_or_insert_with(|| absent.clone());
                // Once for each peer and reason, not for each of its rows. Motet's own stand in the
                // experiment's line.
                let reason = format!("no {}: {absent}", row.series);
                if row.series != "motet" && self.reasons.insert(reason.clone()) {
                    self.warn(&reason);
                }
            }
        }
        self.counts.disturbed += usize::from(row.disturbed);
        if self.print.json {
            let line = serde_json::to_string(row).expect("a row can be written");
            self.say(|to| writeln!(to, "{line}"));
        }
    }
}

impl Listener for Screen {
    fn case(&mut self, at: usize, of: usize, case: &Case) {
        let Some(now) = &self.now else {
            return;
        };
        let share = now.share(at as f64 / of as f64);
        let left = match share {
            share if share > 0.02 => {
                let seconds = self.begun.elapsed().as_secs_f64() * (1.0 - share) / share;
                format!(", about {seconds:.0} s left")
            }
            _ => String::new(),
        };
        let (round, most) = now.rounds;
        let place = format!(
            "round {} of {most}, {}, case {} of {of}",
            round + 1,
            now.key,
            at + 1
        );
        self.bar.at(share, format!("{place}: {}{left}", case.point));
    }

    fn disturbed(&mut self, _: &Case, share: f64, again: bool) {
        if let (false, Some(now)) = (again, &self.now) {
            let most = self.others.entry(now.key).or_default();
            *most = most.max(share);
        }
    }

    fn cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }
}
