//! `motet cluster --pairwise`: cluster rows of which only dissimilarities are known.

mod write;

use std::cmp::Reverse;
use std::io::{self, Write};
use std::path::Path;
use std::time::Instant;

use motet::{Current, World};
use motet_mining::{
    CancelToken, Checkpoints, Choice, Control, Dissimilarities, Pairwise, PairwiseClustering,
    Progress,
};
use serde::Serialize;

use crate::args::ClusterArgs;
use crate::error::{CliError, OptionError};
use crate::files::Folder;
use crate::fit::{Chosen, clusters, join};
use crate::interrupt::cancel_on_interrupt;
use crate::keep::clear;
use crate::mapped;
use crate::pairs::{Aligned, Pairs, align, is_fasta};
use crate::plan::{Plan, Search};
use crate::progress::Bar;
use crate::ranked::{Start, parts};
use crate::read::{OnMissing, Source};
use crate::stdout::print;
use crate::summary::Step;
use crate::text::{chosen, grouped, significant};

/// The result of `motet cluster --pairwise`; with `--json` this object is printed.
#[derive(Debug, Clone, Serialize)]
pub struct PairwiseSummary {
    /// The version of the program.
    pub motet: &'static str,
    /// The path as given, or `<stdin>`.
    pub file: String,
    /// The number of rows.
    pub rows: usize,
    /// How the clusters were found.
    pub method: &'static str,
    /// How the sequences were aligned, if the rows are sequences.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aligned: Option<Aligned>,
    /// The number of clusters.
    pub clusters: usize,
    /// Why so many, if none were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub choice: Option<Choice>,
    /// The mean over the rows of half the mean dissimilarity in their cluster.
    pub cost: f64,
    /// The largest difference of D(i, j) and D(j, i), of which the mean was used.
    pub asymmetry: f64,
    /// Seconds that the clustering took.
    pub run_seconds: f64,
    /// Threads it ran on.
    pub threads: usize,
    /// The clusters, the largest first.
    pub table: Vec<PairwiseCluster>,
    /// The steps of the method, in order.
    pub trace: Vec<Step>,
    /// The splits, in order.
    pub splits: Vec<Split>,
    /// Of each cluster that the splits made, the number of the cluster that it became.
    pub ended: Vec<usize>,
}

/// A cluster has become two. The first cluster is 0; each split makes the next number.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Split {
    /// The number of the cluster, in the order of the splits.
    pub cluster: usize,
    /// Its critical temperature.
    pub critical: f64,
    /// The temperature of the run.
    pub temperature: f64,
}

/// One cluster.
#[derive(Debug, Clone, Serialize)]
pub struct PairwiseCluster {
    /// Its number, from 1.
    pub cluster: usize,
    /// The number of its rows.
    pub size: usize,
    /// The row, from 1, with the least mean dissimilarity to the others.
    pub medoid: usize,
    /// The name of that row, if rows have names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Half the mean dissimilarity of its pairs.
    pub mean_cost: f64,
}

/// Whether the file is one of pairs: said so, or FASTA.
pub(crate) fn is_wanted(args: &ClusterArgs) -> bool {
    // What is no file, as a pipe, can be read once only.
    args.pairs.pairwise
        || args.file.is_file()
            && Source::open(&args.file).is_ok_and(|source| is_fasta(&source.head))
}

/// Runs the command to its end.
///
/// # Errors
/// Any [`CliError`]; then nothing has been written to the folder and to standard output.
pub(crate) fn run(args: ClusterArgs) -> Result<(), CliError> {
    if let Some(option) = unfit(&args) {
        return Err(CliError::Options(OptionError::Conflict {
            option,
            other: "dissimilarities of pairs",
            advice: "leave it out",
        }));
    }
    let (spread, pairs_args) = (args.spread.clone(), args.pairs.clone());
    let kept = args.results.keep.kept("pairwise");
    let plan = Plan::of(args, spread.total() > 1 || World::is_one_of_several())?;
    let file = &plan.request.file;
    let start = Start {
        spread: &spread,
        threads: plan.threads,
        file,
    };
    let prepare = |world: &World| {
        let folder = match (&plan.out, world.process().0) {
            (Some(out), 0) => Some(Folder::check(out, &write::FILES)?),
            _ => None,
        };
        let pairs = match pairs_args.mapped {
            true => Pairs::Matrix(mapped::pairs(file)?),
            false => Pairs::read(file, &pairs_args.align)?,
        };
        check_size(file, pairs.rows(), plan.search)?;
        Ok((folder, pairs))
    };
    let Some((world, (folder, pairs))) = start.begin(prepare)? else {
        return Ok(());
    };
    let cancel = cancel_on_interrupt();
    let quiet = plan.quiet || world.process().0 > 0;
    let (pairs, names, aligned) = match pairs {
        Pairs::Matrix(pairs) => (pairs, None, None),
        Pairs::Sequences(sequences, method) => {
            let done = align(&world, true, (&sequences, &method), &cancel, quiet)?;
            let Some((matrix, aligned)) = done else {
                return Ok(());
            };
            let pairs = Dissimilarities::from_single(matrix, sequences.len());
            let pairs = pairs.map_err(|error| CliError::Data(error.to_string()))?;
            let names = (0..sequences.len()).map(|row| sequences.name(row).to_owned());
            (pairs, Some(names.collect::<Vec<_>>()), Some(aligned))
        }
    };
    let start = Instant::now();
    let Some((found, choice)) = fit(&world, &pairs, &plan, kept.as_ref(), (&cancel, quiet))? else {
        return Ok(());
    };
    let seconds = start.elapsed().as_secs_f64();
    let threads = world.size();
    let facts = (aligned, choice, seconds, threads);
    let (summary, labels) = summarise(&plan, &found, names.as_deref(), facts);
    if let Some(folder) = folder {
        write::files(&folder, &summary, &labels, names.as_deref(), &cancel)?;
    }
    clear(kept)?;
    print(|to| match plan.json {
        true => {
            serde_json::to_writer_pretty(&mut *to, &summary)?;
            writeln!(to)
        }
        false => write_text(to, &summary),
    })
}

/// An option that is for points, or for K-means.
fn unfit(args: &ClusterArgs) -> Option<&'static str> {
    let kmeans = args.method.method == crate::args::Method::Kmeans;
    for_tables(args).or(kmeans.then_some("--method kmeans"))
}

/// An option that is for tables of points.
pub(crate) fn for_tables(args: &ClusterArgs) -> Option<&'static str> {
    let (table, results) = (&args.table, &args.results);
    let given = [
        ("--columns", !table.columns.is_empty()),
        ("--geo", !table.geo.is_empty()),
        ("--weight", table.weight.is_some()),
        ("--standardise", table.standardise),
        ("--missing", table.missing != OnMissing::Error),
        ("--delimiter", table.delimiter.is_some()),
        ("--header", table.header),
        ("--no-header", table.no_header),
        ("--scaling", results.scaling),
        ("--profile", results.profile),
    ];
    given
        .iter()
        .find(|(_, given)| *given)
        .map(|(option, _)| *option)
}

fn check_size(file: &Path, rows: usize, search: Search) -> Result<(), CliError> {
    match search {
        Search::Exactly(clusters) if clusters > rows => Err(CliError::Data(format!(
            "{}: {clusters} clusters are asked for and there are {rows} rows: ask for fewer",
            file.display()
        ))),
        _ => Ok(()),
    }
}

fn fit(
    world: &World,
    pairs: &Dissimilarities,
    plan: &Plan,
    kept: Option<&Checkpoints>,
    (cancel, quiet): (&CancelToken, bool),
) -> Result<Option<Chosen<PairwiseClustering>>, CliError> {
    let bar = Bar::new(quiet);
    let show = |now: &Progress| bar.cool(now.done, now.temperature, now.clusters);
    let control = &Control {
        progress: Some(&show),
        cancel: Some(cancel),
    };
    let found = parts(world, false, async |comm| {
        let mut method = Pairwise::default();
        let choose = async |most| method.choose(comm, pairs, None, most, control).await;
        let (clusters, choice) = clusters(plan.search, choose).await?;
        method.clusters = clusters;
        let found = match kept {
            Some(kept) => method.fit_kept(comm, pairs, None, control, kept).await?,
            None => method.fit(comm, pairs, None, control).await?,
        };
        Ok((found, choice))
    });
    bar.clear();
    let whole = |parts| {
        join(parts, PairwiseClustering::join)
            .ok_or_else(|| CliError::Run("the parts of the ranks do not fit together".to_owned()))
    };
    found?.map(whole).transpose()
}

/// The summary, and the cluster of each row from 1.
fn summarise(
    plan: &Plan,
    found: &PairwiseClustering,
    names: Option<&[String]>,
    (aligned, choice, run_seconds, threads): (Option<Aligned>, Option<Choice>, f64, usize),
) -> (PairwiseSummary, Vec<usize>) {
    let mut order: Vec<usize> = (0..found.sizes.len()).collect();
    order.sort_by_key(|&cluster| Reverse(found.sizes[cluster]));
    let mut numbers = vec![0; order.len()];
    for (number, &cluster) in (1..).zip(&order) {
        numbers[cluster] = number;
    }
    let table = order.iter().map(|&cluster| PairwiseCluster {
        cluster: numbers[cluster],
        size: found.sizes[cluster],
        medoid: found.medoids[cluster] + 1,
        name: names.map(|names| names[found.medoids[cluster]].clone()),
        mean_cost: found.mean_costs[cluster],
    });
    let trace = found.trace.iter().map(|step| Step {
        temperature: step.temperature,
        free_energy: step.free_energy,
        clusters: step.clusters,
        iterations: step.iterations,
    });
    let splits = found.splits.iter().map(|split| Split {
        cluster: split.cluster,
        critical: split.critical,
        temperature: split.temperature,
    });
    let ended = found.ended.iter().map(|&label| numbers[label as usize]);
    let file = plan.request.file.as_os_str();
    let summary = PairwiseSummary {
        motet: env!("CARGO_PKG_VERSION"),
        file: match file == "-" {
            true => "<stdin>".to_owned(),
            false => file.to_string_lossy().into_owned(),
        },
        rows: found.labels.len(),
        method: "pairwise deterministic annealing",
        aligned,
        clusters: order.len(),
        choice,
        cost: found.cost,
        asymmetry: found.asymmetry,
        run_seconds,
        threads,
        table: table.collect(),
        trace: trace.collect(),
        splits: splits.collect(),
        ended: ended.collect(),
    };
    let labels = found.labels.iter().map(|&label| numbers[label as usize]);
    (summary, labels.collect())
}

fn write_text(to: &mut dyn Write, summary: &PairwiseSummary) -> io::Result<()> {
    writeln!(to, "cluster      size    medoid  mean cost  name")?;
    for row in &summary.table {
        writeln!(
            to,
            "{:>7}  {:>8}  {:>8}  {:>9}  {}",
            row.cluster,
            grouped(row.size),
            row.medoid,
            significant(row.mean_cost),
            row.name.as_deref().unwrap_or_default()
        )?;
    }
    writeln!(to)?;
    let mut facts = vec![
        ("rows", grouped(summary.rows)),
        ("method", summary.method.to_owned()),
    ];
    facts.extend(
        summary
            .choice
            .iter()
            .map(|choice| ("chosen", chosen(choice))),
    );
    if let Some(aligned) = &summary.aligned {
        let what = format!(
            "{}, {}, {} pairs in {:.2} s",
            aligned.alphabet,
            aligned.alignment,
            grouped(aligned.pairs),
            aligned.seconds
        );
        facts.push(("alignment", what));
    }
    if summary.asymmetry > 0.0 {
        let what = format!("up to {}: means were used", significant(summary.asymmetry));
        facts.push(("asymmetry", what));
    }
    facts.push(("cost", significant(summary.cost)));
    facts.push((
        "time",
        format!(
            "{:.2} s on {} threads",
            summary.run_seconds, summary.threads
        ),
    ));
    facts
        .iter()
        .try_for_each(|(name, value)| writeln!(to, "{name:<12}{value}"))
}
