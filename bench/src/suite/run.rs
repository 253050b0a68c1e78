//! From a list of experiments to a folder of rows.

use super::experiment::Experiment;
use super::machine::Machine;
use super::store::{RowStore, StoreError, read_machine};
use crate::measuring::{
    CasePlan, Listener, Measurer, MeasuringMethod, Point, Row, RowOutcome, SCHEMA, Setting, Stop,
};
use std::path::Path;
use std::time::{Duration, Instant};

/// What hears how a run of the suite goes on.
pub trait RunListener: Listener {
    /// An experiment begins a round: how many rounds have been and will be at most. Also its place
    /// from 0, how many there are, and what it is.
    fn experiment(
        &mut self,
        rounds: (usize, usize),
        place: (usize, usize),
        experiment: &'static Experiment,
    );

    /// All has been measured, or it was cancelled: the rows of an experiment follow, which has had
    /// so many rounds in so much time.
    fn results(&mut self, experiment: &'static Experiment, rounds: usize, spent: Duration);

    /// A row, which is written.
    fn row(&mut self, row: &Row);
}

/// Measures experiments, round after round, into the folder `out`.
///
/// After each round of an experiment its rows are those of all rounds so far. What cannot be
/// measured here is a row with the reason. When it is cancelled the rows of what has been measured
/// are there, each whole. Those of an earlier run go when an experiment has a whole round.
///
/// # Errors
/// [`Stop::Cancelled`]; [`Stop::Failed`] with a [`StoreError`] when the folder cannot be used.
///
/// ```
/// use motet_bench::measuring::Effort;
/// use motet_bench::measuring::{Case, Listener, Row, Setting, MeasuringConfig};
/// use motet_bench::suite::{Experiment, RunListener, find, read, run};
///
/// struct Quiet;
/// impl RunListener for Quiet {
///     fn experiment(&mut self, _: (usize, usize), _: (usize, usize), _: &'static Experiment) {}
///     fn results(&mut self, _: &'static Experiment, _: usize, _: std::time::Duration) {}
///     fn row(&mut self, _: &Row) {}
/// }
/// impl Listener for Quiet {
///     fn case(&mut self, _: usize, _: usize, _: &Case) {}
///     fn disturbed(&mut self, _: &Case, _: f64, _: bool) {}
///     fn cancelled(&self) -> bool { false }
/// }
///
/// let setting = Setting::new(MeasuringConfig { effort: Effort::Trial, ..MeasuringConfig::default() });
/// let out = std::env::temp_dir().join(format!("motet-suite-example-{}", std::process::id()));
/// run(&setting, &find("E01").unwrap(), &out, &mut Quiet).unwrap();
/// assert!(read(&out).unwrap().len() >= 5);
/// # std::fs::remove_dir_all(&out).unwrap();
/// ```
pub fn run(
    setting: &Setting,
    experiments: &[&'static Experiment],
    out: &Path,
    progress: &mut dyn RunListener,
) -> Result<(), Stop> {
    let mut machine = Machine::here(setting);
    if let Ok(before) = read_machine(out) {
        machine.keep_versions(before);
    }
    let keys: Vec<&str> = experiments.iter().map(|e| e.key.as_str()).collect();
    let mut store = RowStore::open(out, &machine, &keys).map_err(failed)?;
    let method = MeasuringMethod::of(setting.config().effort);
    let mut measurer = Measurer::new(method);
    let mut all: Vec<Measured> = experiments.iter().map(|e| Measured::new(e)).collect();
    let ended = rounds(
        &mut measurer,
        &method,
        setting,
        &mut all,
        &mut store,
        progress,
    );
    if let Err(Stop::Failed(error)) = ended {
        return Err(Stop::Failed(error));
    }
    for measured in &all {
        let (rounds, spent) = match &measured.state {
            State::Planned(plan) => plan.measured(),
            State::Named | State::Absent(_) => (0, Duration::ZERO),
        };
        progress.results(measured.experiment, rounds, spent);
        for row in measured.rows() {
            progress.row(&row);
        }
        // One that has no whole round keeps the rows that it had and has not measured again.
        let is_whole = match measured.state {
            State::Named => false,
            State::Absent(_) => true,
            State::Planned(_) => rounds > 0,
        };
        if is_whole {
            store.end(&measured.experiment.key).map_err(failed)?;
        }
    }
    machine.add_built(setting);
    store.record(&machine).map_err(failed)?;
    ended
}

/// An experiment, as far as it has come.
struct Measured {
    experiment: &'static Experiment,
    state: State,
}

/// How far an experiment has come.
enum State {
    /// Nothing is made of it yet.
    Named,
    /// It cannot be measured here, which its row says.
    Absent(Box<Row>),
    /// Its rounds.
    Planned(CasePlan),
}

/// Round after round through all experiments, until none wants another one or the time is up.
fn rounds(
    measurer: &mut Measurer,
    method: &MeasuringMethod,
    setting: &Setting,
    all: &mut [Measured],
    store: &mut RowStore,
    progress: &mut dyn RunListener,
) -> Result<(), Stop> {
    let (begun, of) = (Instant::now(), all.len());
    for round in 0..method.most {
        for (at, measured) in all.iter_mut().enumerate() {
            let due = match &measured.state {
                State::Named => true,
                State::Absent(_) => false,
                State::Planned(plan) => measurer.wants(plan) && begun.elapsed() < method.limit,
            };
            if !due {
                continue;
            }
            progress.experiment((round, method.most), (at, of), measured.experiment);
            if let State::Named = measured.state {
                measured.begin(setting);
            }
            let done = match &mut measured.state {
                State::Planned(plan) => measurer.round(plan, progress),
                State::Named | State::Absent(_) => Ok(()),
            };
            // Also when it was cancelled: what has been measured is kept.
            store.write(&measured.rows()).map_err(failed)?;
            done?;
        }
    }
    Ok(())
}

impl Measured {
    fn new(experiment: &'static Experiment) -> Measured {
        Measured {
            experiment,
            state: State::Named,
        }
    }

    fn begin(&mut self, setting: &Setting) {
        let key = &self.experiment.key;
        self.state = match (self.experiment.cases)(setting) {
            Ok(cases) => State::Planned(CasePlan::new(key, cases)),
            Err(reason) => State::Absent(Box::new(absent(key, reason))),
        };
    }

    fn rows(&self) -> Vec<Row> {
        match &self.state {
            State::Named => Vec::new(),
            State::Absent(row) => vec![row.as_ref().clone()],
            State::Planned(plan) => plan.rows(),
        }
    }
}

fn failed(error: StoreError) -> Stop {
    Stop::Failed(Box::new(error))
}

/// The row of an experiment of which nothing can be measured here.
fn absent(key: &str, reason: String) -> Row {
    Row {
        schema: SCHEMA,
        experiment: key.to_owned(),
        series: "motet".to_owned(),
        point: Point::new(),
        quantity: "all".to_owned(),
        unit: String::new(),
        outcome: RowOutcome::Absent { absent: reason },
        disturbed: false,
    }
}

#[cfg(test)]
#[path = "run/tests.rs"]
mod tests;
