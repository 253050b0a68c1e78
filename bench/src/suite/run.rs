//! From a list of experiments to a folder of rows.

use super::case::Case;
use super::experiment::Experiment;
use super::machine::Machine;
use super::method::{Listener, Measurer, Method, Stop};
use super::row::{Outcome, Point, Row, SCHEMA};
use super::setting::Setting;
use super::store::{Store, StoreError, read_machine};
use std::path::Path;

/// What hears how a run of the suite goes on.
pub trait Progress {
    /// An experiment begins: its place from 0, how many there are, and what it is.
    fn experiment(&mut self, at: usize, of: usize, experiment: &dyn Experiment);

    /// A case begins: its place from 0, how many there are, and what it is.
    fn case(&mut self, at: usize, of: usize, case: &Case);

    /// A row is there, and written.
    fn row(&mut self, row: &Row);

    /// Others had this share of the processors; the case is measured again, or its rows say so.
    fn disturbed(&mut self, case: &Case, share: f64, again: bool);

    /// Whether to stop: asked between runs.
    fn cancelled(&self) -> bool;
}

/// Measures experiments, one after the other, into the folder `out`.
///
/// What cannot be measured here is a row with the reason. When it is cancelled the rows before are there, each whole.
///
/// # Errors
/// [`Stop::Cancelled`]; [`Stop::Failed`] with a [`StoreError`] when the folder cannot be used.
///
/// ```
/// use motet_bench::Effort;
/// use motet_bench::suite::{Case, Experiment, Progress, Row, Setting, SuiteConfig, find, read, run};
///
/// struct Quiet;
/// impl Progress for Quiet {
///     fn experiment(&mut self, _: usize, _: usize, _: &dyn Experiment) {}
///     fn case(&mut self, _: usize, _: usize, _: &Case) {}
///     fn row(&mut self, _: &Row) {}
///     fn disturbed(&mut self, _: &Case, _: f64, _: bool) {}
///     fn cancelled(&self) -> bool { false }
/// }
///
/// let setting = Setting::new(SuiteConfig { effort: Effort::Trial, ..SuiteConfig::default() });
/// let out = std::env::temp_dir().join(format!("motet-suite-example-{}", std::process::id()));
/// run(&setting, &find("E01").unwrap(), &out, &mut Quiet).unwrap();
/// assert!(read(&out).unwrap().len() >= 5);
/// # std::fs::remove_dir_all(&out).unwrap();
/// ```
pub fn run(
    setting: &Setting,
    experiments: &[&'static dyn Experiment],
    out: &Path,
    progress: &mut dyn Progress,
) -> Result<(), Stop> {
    let mut machine = Machine::here(setting);
    if let Ok(before) = read_machine(out) {
        machine.keep_versions(before);
    }
    let keys: Vec<&str> = experiments.iter().map(|e| e.about().key).collect();
    let mut store = Store::open(out, &machine, &keys).map_err(failed)?;
    let mut measurer = Measurer::new(Method::of(setting.config().effort));
    for (at, experiment) in experiments.iter().enumerate() {
        progress.experiment(at, experiments.len(), *experiment);
        let key = experiment.about().key;
        let mut writer = Writer {
            store: &mut store,
            progress: &mut *progress,
        };
        match experiment.cases(setting) {
            Ok(cases) => measurer.measure(key, cases, &mut writer)?,
            Err(missing) => writer.row(&absent(key, missing.reason))?,
        }
        store.end(key).map_err(failed)?;
        machine.add_built(setting);
        store.record(&machine).map_err(failed)?;
    }
    Ok(())
}

/// Writes rows and passes on what happens.
struct Writer<'a> {
    store: &'a mut Store,
    progress: &'a mut dyn Progress,
}

impl Listener for Writer<'_> {
    fn case(&mut self, at: usize, of: usize, case: &Case) {
        self.progress.case(at, of, case);
    }

    fn row(&mut self, row: &Row) -> Result<(), Stop> {
        self.store.write(row).map_err(failed)?;
        self.progress.row(row);
        Ok(())
    }

    fn disturbed(&mut self, case: &Case, share: f64, again: bool) {
        self.progress.disturbed(case, share, again);
    }

    fn cancelled(&self) -> bool {
        self.progress.cancelled()
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
        outcome: Outcome::Absent { absent: reason },
        disturbed: false,
    }
}

#[cfg(test)]
#[path = "run/tests.rs"]
mod tests;
