//! `motet mixture`: read a table, fit a mixture of normal distributions or use one, write, print.

mod args;
mod found;
mod write;

use motet::{Current, World};
use motet_mining::{
    CancelToken, Control, Covariance, Criterion, Mixture, MixtureLabels, MixtureModel,
    MixtureStart, MixtureTried, Progress,
};

pub use args::{ComponentCount, MixtureArgs, MixtureFitArgs, ShapeOfCovariance, WhichCriterion};
pub use found::{MixtureComponent, MixtureSummary};

use crate::error::CliError;
use crate::files::ResultsFolder;
use crate::interrupt::cancel_on_interrupt;
use crate::keep::clear;
use crate::model::{StoredModel, beyond_numbers, distinct, request};
use crate::progress::TerminalBar;
use crate::ranked::{Measured, Start, measured};
use crate::read;
use crate::remark::{KEEP, left_out, remark};
use crate::space::Placed;
use crate::stdout::print;
use found::{in_columns, summarise};

/// What `model.json` says of itself.
const KIND: &str = "mixture";

/// A model, and the numbers of components that were tried for it.
type Chosen = (MixtureModel, Vec<MixtureTried>);

/// What a process has when all is well with options and data.
struct Ready {
    folder: Option<ResultsFolder>,
    placed: Placed,
    stored: Option<MixtureModel>,
    /// What is to be said of columns that are left out.
    left_out: String,
}

/// Runs the command to its end.
///
/// # Errors
/// Any [`CliError`]; then nothing has been written to the folder and to standard output.
pub(crate) fn run(args: &MixtureArgs) -> Result<(), CliError> {
    let spread = &args.results.run.spread;
    let several = spread.total() > 1 || World::is_one_of_several();
    args.check()?;
    let start = Start {
        spread,
        threads: args.results.run.threads,
        file: &args.file,
        keep: &args.results.keep,
    };
    let names = args.files();
    let prepare = |world: &World| prepare(args, world, several, &names);
    let Some((world, ready)) = start.begin(prepare)? else {
        return Ok(());
    };
    let cancel = cancel_on_interrupt();
    let quiet = args.results.run.quiet || world.process().0 > 0;
    remark(quiet, &ready.left_out);
    let found = match &ready.stored {
        Some(model) => predict(args, &world, model, &ready.placed, &cancel)?,
        None => fit(args, &world, &ready.placed, &cancel, quiet)?,
    };
    let Some(found) = found else {
        return Ok(());
    };
    let summary = summarise(args, &ready.placed, &found);
    if let Some(folder) = ready.folder {
        let model = StoredModel::new(KIND, &ready.placed.names, found.found.0);
        write::files(&folder, &names, &ready.placed, &model, &summary, &cancel)?;
    }
    let kept = args.results.keep.kept(KIND).into_iter();
    clear(kept.flat_map(|kept| {
        let numbers = (1..=args.fit.at_most()).map(|number| number.to_string());
        let named: Vec<_> = numbers.map(|number| kept.named(&number)).collect();
        named.into_iter().chain([kept])
    }))?;
    print(|to| match args.results.run.json {
        true => found::write_json(to, &summary),
        false => found::write_text(to, &summary),
    })
}

/// Checks what can be checked before the run, and reads the table.
fn prepare(
    args: &MixtureArgs,
    world: &World,
    several: bool,
    names: &[&str],
) -> Result<Ready, CliError> {
    let first = world.process().0 == 0;
    let folder = match (&args.results.run.out, first) {
        (Some(out), true) => {
            let read = [&args.file].into_iter().chain(&args.model);
            Some(ResultsFolder::check(out, names)?.apart_from(read, names)?)
        }
        _ => None,
    };
    let stored = args.model.as_deref();
    let stored = stored.map(|path| {
        let stored = StoredModel::<MixtureModel>::read(path, KIND)?;
        let bad = |what| CliError::Data(format!("{}: {what}: fit it again", path.display()));
        stored
            .model
            .check()
            .map_err(|error| bad(error.to_string()))?;
        match stored.names.len() == stored.model.dim {
            true => Ok(stored),
            false => Err(bad("it names other columns than it has".to_owned())),
        }
    });
    let stored = stored.transpose()?;
    let columns = stored.as_ref().map(|stored| &stored.names[..]);
    let request = request(&args.file, args.table.clone(), columns, several)?;
    let bar = TerminalBar::new(args.results.run.quiet || !first);
    let table = read::read_table(&request, |rows| bar.read(rows));
    // An error must not be printed beside the bar.
    bar.clear();
    let table = table?;
    if stored.is_none() && args.results.run.out.is_some() {
        distinct(&table.file, &table.names)?;
    }
    let left_out = left_out(&table.left_out, KEEP);
    let placed = Placed::new(table, false, args.table.numbers.standardise)?;
    Ok(Ready {
        folder,
        left_out,
        placed,
        stored: stored.map(|stored| stored.model),
    })
}

/// How it is fitted.
fn method(args: &MixtureArgs) -> Mixture {
    let fit = &args.fit;
    Mixture {
        covariance: Covariance::from(fit.covariance),
        floor: fit.floor,
        tolerance: fit.tolerance,
        iterations: fit.iterations,
        start: MixtureStart::Several {
            count: fit.starts,
            seed: fit.seed.unwrap_or(0),
        },
        ..Mixture::default()
    }
}

/// Fits on all ranks; all is in the units of the columns, the largest component first.
fn fit(
    args: &MixtureArgs,
    world: &World,
    placed: &Placed,
    cancel: &CancelToken,
    quiet: bool,
) -> Result<Option<Measured<Chosen>>, CliError> {
    let (fit, method) = (&args.fit, method(args));
    let bar = TerminalBar::new(quiet);
    let show = |now: &Progress| {
        let what = format!(
            "{} components, mean ln p {:.5}",
            now.clusters, -now.free_energy
        );
        bar.at(now.done, what);
    };
    let control = Control {
        progress: Some(&show),
        cancel: Some(cancel),
    };
    let (wanted, points) = (fit.components, &placed.points);
    let kept = args.results.keep.kept(KIND);
    let criterion = Criterion::from(fit.criterion());
    let job = async |comm: &motet_comm::Communicator| match wanted {
        Some(ComponentCount::Exactly(components)) => {
            let method = Mixture {
                components,
                ..method.clone()
            };
            let model = match &kept {
                Some(kept) => method.fit_kept(comm, points, &control, kept).await?,
                None => method.fit(comm, points, &control).await?,
            };
            Ok((model, Vec::new()))
        }
        // `check` has asked for one of the two.
        Some(ComponentCount::Auto) | None => {
            let most = fit.at_most();
            if let Some(kept) = &kept {
                let wanted = (most, criterion);
                return method
                    .choose_kept(comm, points, wanted, &control, kept)
                    .await;
            }
            method.choose(comm, points, most, criterion, &control).await
        }
    };
    let join = |parts: Vec<Chosen>| {
        let tried = parts.first()?.1.clone();
        let model = MixtureModel::join(parts.into_iter().map(|(model, _)| model))?;
        Some(in_columns((model, tried), &placed.space))
    };
    let results = &args.results.run;
    let found = measured(world, (results.scaling, results.profile), job, join);
    bar.clear();
    let found = found.map_err(|error| error.of("components"))?;
    let sound = |found: &Measured<Chosen>| found.found.0.check().is_ok();
    match found.as_ref().is_none_or(sound) {
        true => Ok(found),
        false => Err(beyond_numbers(&placed.file)),
    }
}

/// The components of all rows by a model that is there already.
fn predict(
    args: &MixtureArgs,
    world: &World,
    model: &MixtureModel,
    placed: &Placed,
    cancel: &CancelToken,
) -> Result<Option<Measured<Chosen>>, CliError> {
    let control = Control {
        progress: None,
        cancel: Some(cancel),
    };
    let job =
        async |comm: &motet_comm::Communicator| model.predict(comm, &placed.points, &control).await;
    let join = |parts: Vec<MixtureLabels>| {
        let labels = MixtureLabels::join(parts)?;
        let mut model = model.clone();
        model.log_likelihood = labels.log_likelihood;
        (model.rows, model.labels) = (labels.rows, labels.labels);
        Some((model, Vec::new()))
    };
    let results = &args.results.run;
    measured(world, (results.scaling, results.profile), job, join)
}
