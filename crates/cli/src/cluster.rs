//! `motet cluster`: read, cluster, write, print.

mod constant;

use motet::{Current, World};
use motet_comm::Communicator;
use motet_mining::{CancelToken, Checkpoints, Clustering, Control, DataError, Points, Progress};

use crate::args::{ClusterArgs, Method};
use crate::error::{CliError, InputError, OptionError};
use crate::files::{self, Content, ResultsFolder};
use crate::fit::{self, Chosen, fit};
use crate::interrupt::cancel_on_interrupt;
use crate::keep::clear;
use crate::map::{self, MapPicture};
use crate::order;
use crate::plan::{ClusterPlan, ClusterSearch};
use crate::processes;
use crate::progress::TerminalBar;
use crate::ranked::{Measured, measured};
use crate::read::{self, InputTable, OnMissing};
use crate::remark::{KEEP, left_out, remark};
use crate::report;
use crate::sample::{self, Sampled};
use crate::space::Placed;
use crate::stdout::print;
use crate::summary::{Cluster, MethodStep, MissingRows, Profiled, Summary};
use crate::text::grouped;
use constant::{constant, constant_columns};

/// The names of the files of `--out`.
const LABELS: &str = "labels.csv";
const CENTRES: &str = "centres.csv";
const TRACE: &str = "trace.json";
const MAP: &str = "map.svg";

/// What a process has when all is well with options and data.
struct Ready {
    plan: ClusterPlan,
    /// In the first process, if files are wanted.
    folder: Option<ResultsFolder>,
    placed: Placed,
    /// What is to be said of columns that are left out.
    left_out: String,
}

/// Runs the command to its end.
///
/// # Errors
/// Any [`CliError`]; then nothing has been written to the folder and to standard output. Of several
/// processes one has the error of all.
pub(crate) fn run(args: ClusterArgs) -> Result<(), CliError> {
    let keep = args.results.keep.clone();
    let kept = keep.kept("points");
    let launched = World::is_one_of_several();
    check_options(&args)?;
    let spread = args.spread.clone();
    let several = launched || spread.total() > 1;
    let plan = ClusterPlan::of(args, several).map_err(CliError::from);
    let (plan, world) = if launched {
        let threads = plan.as_ref().map_or(None, |plan| plan.threads);
        (plan, processes::current(&spread, threads)?)
    } else {
        let plan = plan?;
        if several {
            // What would fail in every process, or in one that the others wait for, fails here.
            folder(&plan)?;
            read::open_file(&plan.request.file)?;
        }
        let world = processes::start(spread.clone(), plan.threads)?;
        (Ok(plan), world)
    };
    let ready = plan.and_then(|plan| {
        processes::check(&spread, &world)?;
        let ready = prepare(plan, &world)?;
        if world.process().0 == 0 {
            keep.check()?;
        }
        Ok(ready)
    });
    let Some(ready) = processes::agree(&world, ready)? else {
        return Ok(());
    };
    let Ready {
        plan,
        folder,
        placed,
        left_out,
    } = ready;
    remark(plan.quiet, &left_out);
    let cancel = cancel_on_interrupt();
    let Some((fit, sampled)) = cluster(&plan, &world, &placed, kept.as_ref(), &cancel)? else {
        return Ok(());
    };
    let clustering = &fit.found.0;
    check_finite(&placed, clustering)?;
    remark(plan.quiet, &constant(&placed, clustering));
    let numbers = numbers(clustering);
    let labels: Vec<u32> = clustering
        .labels
        .iter()
        .map(|&label| numbers[label as usize])
        .collect();
    let mut summary = summarise(&plan, &placed, &fit, &numbers, &labels);
    summary.sample = sampled;
    if let Some(folder) = folder {
        write_files(&folder, &placed, &labels, &summary, &cancel)?;
    }
    clear(kept)?;
    print(|to| {
        if plan.json {
            report::write_json(to, &summary)
        } else {
            report::write_text(to, &summary)
        }
    })
}

/// Points have no alignments, and are given to the nearest centres of one sample.
fn check_options(args: &ClusterArgs) -> Result<(), OptionError> {
    if let Some(option) = args.pairs.align.given() {
        return Err(OptionError::Conflict {
            option,
            other: "a table of points",
            advice: "leave it out; sequences on standard input want --pairwise",
        });
    }
    let method = &args.method;
    match method.sample.is_some() && method.restarts.is_some() && method.method == Method::Annealing
    {
        false => Ok(()),
        true => Err(OptionError::Conflict {
            option: "--restarts",
            other: "--sample of a table",
            advice: "leave it out: only of bits and pairs several samples are drawn",
        }),
    }
}

/// What was found, and the sample that it was found in, if not all points were clustered.
type Found = (Measured<Chosen<Clustering>>, Option<Sampled>);

/// Checks what can be checked before the run, and reads the table.
fn prepare(mut plan: ClusterPlan, world: &World) -> Result<Ready, CliError> {
    // One process speaks for all, and writes.
    let first = world.process().0 == 0;
    plan.quiet |= !first;
    let folder = if first { folder(&plan)? } else { None };
    let bar = TerminalBar::new(plan.quiet);
    let table = read::read_table(&plan.request, |rows| bar.read(rows));
    // An error must not be printed beside the bar.
    bar.clear();
    let table = table?;
    check_size(&table, plan.search)?;
    plan.check_sample(table.rows())?;
    let left_out = left_out(&table.left_out, KEEP);
    let placed = Placed::new(table, plan.geo, plan.standardise)?;
    Ok(Ready {
        plan,
        folder,
        placed,
        left_out,
    })
}

/// The folder of `--out`, if it can be written.
fn folder(plan: &ClusterPlan) -> Result<Option<ResultsFolder>, CliError> {
    let names = [LABELS, CENTRES, TRACE, MAP];
    let checked = plan.out.as_ref().map(|path| {
        ResultsFolder::check(path, &names)?.not_overwriting(&plan.request.file, &names)
    });
    Ok(checked.transpose()?)
}

fn check_size(table: &InputTable, search: ClusterSearch) -> Result<(), CliError> {
    let points = table.rows();
    match search {
        ClusterSearch::Exactly(clusters) | ClusterSearch::KMeans { clusters, .. }
            if clusters > points =>
        {
            let file = table.file.clone();
            Err(CliError::Input(InputError::FewPoints {
                file,
                points,
                clusters,
            }))
        }
        _ => Ok(()),
    }
}

/// # Errors
/// Squared distances whose sum no number holds: which centre is near is not known then.
fn check_finite(placed: &Placed, clustering: &Clustering) -> Result<(), CliError> {
    match clustering.inertia.is_finite() {
        true => Ok(()),
        false => Err(CliError::Data(format!(
            "{}: squared distances are beyond all numbers: divide the columns by a large one, or \
             give --standardise",
            placed.file
        ))),
    }
}

/// Clusters on the threads asked for and, for the scaling, on one thread too. All points are
/// clustered, or a sample, to whose clusters the others are given.
fn cluster(
    plan: &ClusterPlan,
    world: &World,
    placed: &Placed,
    kept: Option<&Checkpoints>,
    cancel: &CancelToken,
) -> Result<Option<Found>, CliError> {
    let all = placed.points.len();
    let sample = sample::smaller(plan.sample, all);
    let data = |error: DataError| CliError::Data(format!("{}: {error}", placed.file));
    let Some(sample) = sample else {
        let found = clustered(plan, world, (placed, &placed.points), kept, cancel)?;
        return Ok(found.map(|found| (found, None)));
    };
    let rows = sample.sampling.rows(all, 0);
    let some = sample::some(&placed.points, &rows).map_err(data)?;
    let Some(mut fit) = clustered(plan, world, (placed, &some), kept, cancel)? else {
        return Ok(None);
    };
    let cost = fit.found.0.inertia * placed.space.square();
    sample::give(&mut fit.found.0, &placed.points).map_err(data)?;
    Ok(Some((fit, Some(Sampled::new(sample, 0, all, &rows, cost)))))
}

fn clustered(
    plan: &ClusterPlan,
    world: &World,
    (placed, points): (&Placed, &Points),
    kept: Option<&Checkpoints>,
    cancel: &CancelToken,
) -> Result<Option<Measured<Chosen<Clustering>>>, CliError> {
    let square = placed.space.square();
    let search = match plan.search {
        ClusterSearch::Found { t_min, at_most } => ClusterSearch::Found {
            t_min: t_min / square,
            at_most,
        },
        search => search,
    };
    let bar = TerminalBar::new(plan.quiet);
    let show = |now: &Progress| bar.cool(now.done, now.temperature * square, now.clusters);
    let control = Control {
        progress: Some(&show),
        cancel: Some(cancel),
    };
    let job = async |comm: &Communicator| fit(comm, points, search, &control, kept).await;
    let whole = |parts| fit::join(parts, Clustering::join);
    let found = measured(world, (plan.scaling, plan.profile), job, whole);
    bar.clear();
    found
}

/// The number from 1 that each cluster is called by: the largest is 1.
fn numbers(clustering: &Clustering) -> Vec<u32> {
    let numbers = order::numbers(&order::largest_first(&clustering.sizes));
    numbers.into_iter().map(|number| number as u32).collect()
}

fn summarise(
    plan: &ClusterPlan,
    placed: &Placed,
    fit: &Measured<Chosen<Clustering>>,
    numbers: &[u32],
    labels: &[u32],
) -> Summary {
    let (clustering, choice) = &fit.found;
    let square = placed.space.square();
    let spreads = placed.space.spreads(clustering);
    let weights = placed.points.weights().map(|weights| {
        let mut sums = vec![0.0; numbers.len()];
        for (&label, weight) in labels.iter().zip(weights) {
            sums[label as usize - 1] += weight;
        }
        sums
    });
    let mut table: Vec<Cluster> = numbers
        .iter()
        .enumerate()
        .map(|(cluster, &number)| Cluster {
            cluster: number as usize,
            size: clustering.sizes[cluster],
            weight: weights.as_ref().map(|weights| weights[number as usize - 1]),
            centre: placed.space.centre(clustering.centre(cluster)),
            spread: spreads[cluster],
        })
        .collect();
    table.sort_by_key(|row| row.cluster);
    let trace = clustering.trace.iter().map(|step| MethodStep {
        temperature: step.temperature * square,
        free_energy: step.free_energy * square,
        clusters: step.clusters,
        iterations: step.iterations,
    });
    Summary {
        motet: env!("CARGO_PKG_VERSION"),
        file: placed.file.clone(),
        points: labels.len(),
        columns: placed.names.clone(),
        dimensions: placed.points.dim(),
        geo: plan.geo,
        standardised: plan.standardise,
        weight: placed.weight.clone(),
        missing: missing(plan, placed),
        constant_columns: constant_columns(placed, clustering),
        method: plan.search.method(),
        clusters: table.len(),
        choice: choice.clone().map(|mut choice| {
            choice.appear.iter_mut().for_each(|t| *t *= square);
            choice
        }),
        inertia: clustering.inertia * square,
        square_unit: placed.space.square_unit(),
        spread_unit: placed.space.spread_unit(),
        run_seconds: fit.seconds,
        threads: fit.threads,
        scaling: fit.scaling,
        profile: fit.profile.clone().map(Profiled::from),
        table,
        trace: trace.collect(),
        sample: None,
        files: files_of(plan),
    }
}

fn missing(plan: &ClusterPlan, placed: &Placed) -> Option<MissingRows> {
    let what = plan.request.missing;
    (what != OnMissing::Error).then_some(MissingRows {
        what,
        dropped_rows: placed.dropped.len(),
        filled_cells: placed.filled,
    })
}

/// The files that will have been written.
fn files_of(plan: &ClusterPlan) -> Vec<String> {
    let names = [LABELS, CENTRES, TRACE, MAP].into_iter();
    let folder = plan.out.as_deref();
    let paths = names.filter_map(|name| Some(folder?.join(name).display().to_string()));
    paths.collect()
}

fn write_files(
    folder: &ResultsFolder,
    placed: &Placed,
    labels: &[u32],
    summary: &Summary,
    cancel: &CancelToken,
) -> Result<(), CliError> {
    let scale = placed.scale();
    let picture = MapPicture {
        points: map::MapPoints {
            names: &placed.names,
            values: placed.values(),
            scale: &scale,
            geo: summary.geo,
        },
        labels,
        summary,
        subtitle: format!("{} points, {}", grouped(summary.points), summary.method),
        extents: &[],
    };
    let svg = map::draw(&picture);
    let files = [
        Content {
            name: LABELS,
            write: Box::new(|to| files::write_labels(to, placed, labels)),
        },
        Content {
            name: CENTRES,
            write: Box::new(|to| files::write_centres(to, summary)),
        },
        Content {
            name: TRACE,
            write: Box::new(|to| files::write_trace(to, summary)),
        },
        Content {
            name: MAP,
            write: Box::new(|to| to.write_all(svg.as_bytes())),
        },
    ];
    match folder.write(&files, || cancel.is_cancelled())? {
        true => Ok(()),
        false => Err(CliError::Cancelled),
    }
}
