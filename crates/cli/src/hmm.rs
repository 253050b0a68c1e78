//! `motet hmm`: fit a hidden Markov model to sequences, or use one.

mod args;
mod found;
mod seen;
mod write;

use motet::{Current, World};
use motet_comm::Communicator;
use motet_mining::{
    CancelToken, Checkpoints, Control, Emissions, Hmm, HmmFitted, HmmModel, HmmPaths, MiningError,
    Progress,
};

pub use args::{HmmArgs, HmmCommand, HmmFitArgs, HmmUseArgs, SeenArgs};
pub use found::{HmmScore, HmmState, HmmSummary};

use crate::error::CliError;
use crate::files::ResultsFolder;
use crate::interrupt::cancel_on_interrupt;
use crate::keep::{KeepArgs, clear};
use crate::model::{ModelRunArgs, StoredModel};
use crate::progress::TerminalBar;
use crate::ranked::{Measured, Start, measured};
use crate::remark::remark;
use crate::stdout::print;
use args::Task;
use found::summarise;
use seen::Seen;

/// What `model.json` says of itself.
const KIND: &str = "hmm";

/// What the ranks have found.
#[derive(Debug, PartialEq)]
struct Found {
    model: HmmModel,
    /// ln p before each step of the fit, whether it came to its tolerance, and its start.
    fitted: Option<(Vec<f64>, bool, usize)>,
    /// ln p of each sequence.
    log_p: Vec<f64>,
    /// The most probable path of each, from 0, unless only scores are wanted.
    paths: Vec<Vec<u32>>,
}

/// What one rank has: the fit and its start, the same on all; ln p of all; own paths.
type RowGroup = (Option<(HmmFitted, usize)>, Vec<f64>, Option<HmmPaths>);

/// Runs the command to its end.
///
/// # Errors
/// Any [`CliError`]; then nothing has been written to the folder and to standard output.
pub(crate) fn run(args: &HmmArgs) -> Result<(), CliError> {
    let task = args.command.task();
    let results = task.results;
    let several = results.spread.total() > 1 || World::is_one_of_several();
    let start = Start {
        spread: &results.spread,
        threads: results.threads,
        file: task.file,
        keep: &task.keep,
    };
    let prepare = |world: &World| prepare(&task, world, several);
    let Some((world, (seen, stored, folder))) = start.begin(prepare)? else {
        return Ok(());
    };
    let cancel = cancel_on_interrupt();
    let quiet = results.quiet || world.process().0 > 0;
    remark(quiet, &seen.left_out);
    let found = match (task.fit, &stored) {
        (Some(args), _) => fit(args, results, &world, &seen, (&cancel, quiet))?,
        (None, Some(model)) => apply(&task, &world, &seen, model, &cancel)?,
        (None, None) => None,
    };
    let Some(found) = found else {
        return Ok(());
    };
    let names = task.files(seen.placed.is_some());
    let summary = summarise(&task, &seen, &found, &names);
    if let Some(folder) = folder {
        let model = StoredModel::new(KIND, &seen.names, found.found.model);
        write::files(&folder, &names, &seen, &model, &summary, &cancel)?;
    }
    let starts = task.fit.map_or(0, |fit| fit.starts);
    clear((0..starts).filter_map(|start| kept(&task.keep, start)))?;
    print(|to| match results.json {
        true => found::write_json(to, &summary),
        false => found::write_text(to, &summary),
    })
}

/// The checkpoints of one start, if there are to be any.
fn kept(keep: &KeepArgs, start: usize) -> Option<Checkpoints> {
    let kept = keep.kept(KIND)?;
    Some(kept.named(&(start + 1).to_string()))
}

/// Checks what can be checked before the run, and reads model and sequences.
fn prepare(
    task: &Task<'_>,
    world: &World,
    several: bool,
) -> Result<(Seen, Option<HmmModel>, Option<ResultsFolder>), CliError> {
    let first = world.process().0 == 0;
    let folder = match (&task.results.out, first) {
        (Some(out), true) => {
            let names = task.files(true);
            let read = [task.file].into_iter().chain(task.model);
            Some(ResultsFolder::check(out, &names)?.apart_from(read, &names)?)
        }
        _ => None,
    };
    let stored = task.model.map(|path| {
        let stored = StoredModel::<HmmModel>::read(path, KIND)?;
        let bad = |what: &str| CliError::Data(format!("{}: {what}: fit it again", path.display()));
        let model = &stored.model;
        let (start, transitions) = (model.start().to_vec(), model.transitions().to_vec());
        // A file may hold anything: the constructor checks it.
        let model = HmmModel::new(start, transitions, model.emissions().clone())
            .map_err(|error| bad(&error.to_string()))?;
        let count = match model.emissions() {
            Emissions::Discrete { symbols, .. } => *symbols,
            Emissions::Gaussian { dim, .. } => *dim,
            _ => stored.names.len(),
        };
        match count == stored.names.len() {
            true => Ok((model, stored.names)),
            false => Err(bad("it names other symbols or columns than it has")),
        }
    });
    let stored = stored.transpose()?;
    let bar = TerminalBar::new(task.results.quiet || !first);
    let seen = Seen::read(task, stored.as_ref(), several, |rows| bar.read(rows));
    // An error must not be printed beside the bar.
    bar.clear();
    Ok((seen?, stored.map(|stored| stored.0), folder))
}

/// Fits from all starts on all ranks; the first with the largest ln p counts.
fn fit(
    args: &HmmFitArgs,
    results: &ModelRunArgs,
    world: &World,
    seen: &Seen,
    (cancel, quiet): (&CancelToken, bool),
) -> Result<Option<Measured<Found>>, CliError> {
    let method = Hmm {
        tolerance: args.tolerance,
        iterations: args.iterations,
        floor: args.floor.unwrap_or(Hmm::default().floor),
    };
    let bar = TerminalBar::new(quiet);
    let (states, starts, seed) = (args.states, args.starts, args.seed.unwrap_or(0));
    let job = async |comm: &Communicator| {
        let mut best = None::<(HmmFitted, usize)>;
        for number in 0..starts {
            let show = |now: &Progress| {
                let what = format!("start {}, ln p {:.3}", number + 1, -now.free_energy);
                bar.at((number as f64 + now.done) / starts as f64, what);
            };
            let control = Control {
                progress: Some(&show),
                cancel: Some(cancel),
            };
            let seen = &seen.observed;
            let start = method.start(comm, seen, states, (number, seed), &control);
            let start = start.await?;
            let fitted = match kept(&args.results.keep, number) {
                Some(kept) => method.fit_kept(comm, &start, seen, &control, &kept).await?,
                None => method.fit(comm, &start, seen, &control).await?,
            };
            let last = |fitted: &HmmFitted| fitted.trace.last().copied();
            if best
                .as_ref()
                .is_none_or(|(best, _)| last(best) < last(&fitted))
            {
                best = Some((fitted, number));
            }
        }
        let model = best.as_ref().map(|(fitted, _)| fitted.model.clone());
        let (log_p, paths) = match &model {
            Some(model) => used(model, comm, seen, cancel, true).await?,
            None => (Vec::new(), None),
        };
        Ok((best, log_p, paths))
    };
    let join = |parts: Vec<RowGroup>| {
        let (fitted, start) = parts.first()?.0.clone()?;
        let found = join(fitted.model, parts)?;
        let fitted = Some((fitted.trace, fitted.converged, start));
        Some(Found { fitted, ..found })
    };
    let found = measured(world, (results.scaling, results.profile), job, join);
    bar.clear();
    let Some(mut found) = found.map_err(|error| error.of("states"))? else {
        return Ok(None);
    };
    found.found = seen.in_columns(found.found)?;
    Ok(Some(found))
}

/// Scores and, if wanted, paths by a model that is there already.
fn apply(
    task: &Task<'_>,
    world: &World,
    seen: &Seen,
    model: &HmmModel,
    cancel: &CancelToken,
) -> Result<Option<Measured<Found>>, CliError> {
    let job = async |comm: &Communicator| {
        let (log_p, paths) = used(model, comm, seen, cancel, task.paths).await?;
        Ok((None, log_p, paths))
    };
    let join = |parts: Vec<RowGroup>| join(model.clone(), parts);
    let results = task.results;
    measured(world, (results.scaling, results.profile), job, join)
}

async fn used(
    model: &HmmModel,
    comm: &Communicator,
    seen: &Seen,
    cancel: &CancelToken,
    paths: bool,
) -> Result<(Vec<f64>, Option<HmmPaths>), MiningError> {
    let control = Control {
        progress: None,
        cancel: Some(cancel),
    };
    let log_p = model.score(comm, &seen.observed, &control).await?;
    let paths = match paths {
        true => Some(model.decode(comm, &seen.observed, &control).await?),
        false => None,
    };
    Ok((log_p, paths))
}

/// The paths of all ranks one after the other.
fn join(model: HmmModel, parts: Vec<RowGroup>) -> Option<Found> {
    let log_p = parts.first()?.1.clone();
    let paths = parts.into_iter().filter_map(|part| part.2);
    Some(Found {
        model,
        fitted: None,
        log_p,
        paths: paths.flat_map(|own| own.paths).collect(),
    })
}
