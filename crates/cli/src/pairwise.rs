//! `motet cluster --pairwise`: cluster rows of which only dissimilarities are known.

mod fit;
mod write;

use std::io::{self, Write};
use std::path::Path;

use motet::{Current, World};
use motet_mining::ClusterChoice;
use serde::Serialize;

use crate::args::{ClusterArgs, PairArgs};
use crate::error::{CliError, OptionError};
use crate::files::ResultsFolder;
use crate::interrupt::cancel_on_interrupt;
use crate::mapped::{self, MappedFile};
use crate::order::{largest_first, numbers};
use crate::pairs::{Aligned, Pairs};
use crate::plan::{ClusterPlan, ClusterSearch};
use crate::ranked::Start;
use crate::read::{InputText, is_fasta, is_file};
use crate::sample::{self, Sampled};
use crate::stdout::print;
use crate::summary::MethodStep;
use crate::text::{chosen, grouped, significant};
use fit::{Fitted, Run};

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
    pub choice: Option<ClusterChoice>,
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
    pub trace: Vec<MethodStep>,
    /// The splits, in order.
    pub splits: Vec<Split>,
    /// Of each cluster that the splits made, the number of the cluster that it became.
    pub ended: Vec<usize>,
    /// The sample, if not all rows were clustered. Cost and sizes are those of all rows. The cost
    /// is by the estimate that a row costs what it would add to its cluster of the sample.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sample: Option<Sampled>,
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
    args.pairs.pairwise
        || is_file(&args.file)
            && InputText::open(&args.file).is_ok_and(|source| is_fasta(&source.head))
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
    let keep = args.results.keep.clone();
    let kept = keep.kept("pairwise");
    let plan = ClusterPlan::of(args, spread.total() > 1 || World::is_one_of_several())?;
    let file = &plan.request.file;
    let start = Start {
        spread: &spread,
        threads: plan.threads,
        file,
        keep: &keep,
    };
    let prepare = |world: &World| {
        let folder = match (&plan.out, world.process().0) {
            (Some(out), 0) => Some(
                ResultsFolder::check(out, &write::FILES)?.not_overwriting(file, &write::FILES)?,
            ),
            _ => None,
        };
        let (pairs, mapped) = read(&pairs_args, file)?;
        check_size(file, pairs.rows(), plan.search)?;
        plan.check_sample(pairs.rows())?;
        Ok((folder, pairs, mapped))
    };
    let Some((world, (folder, pairs, mapped))) = start.begin(prepare)? else {
        return Ok(());
    };
    let cancel = cancel_on_interrupt();
    let quiet = plan.quiet || world.process().0 > 0;
    let names = pairs.names();
    let run = Run {
        world: &world,
        plan: &plan,
        kept: kept.as_ref(),
        cancel: &cancel,
        quiet,
    };
    let Some(fitted) = fit(&run, pairs, mapped.as_ref())? else {
        return Ok(());
    };
    plan.check_found(fitted.found.sizes.len())?;
    let places = fitted.places.clone();
    let (summary, labels) = summarise(&plan, fitted, names.as_deref(), world.size());
    if let Some(folder) = folder {
        let rows = (labels.as_slice(), names.as_deref(), places.as_ref());
        write::files(&folder, &summary, rows, &cancel)?;
    }
    run.clear()?;
    print(|to| match plan.json {
        true => {
            serde_json::to_writer_pretty(&mut *to, &summary)?;
            writeln!(to)
        }
        false => write_text(to, &summary),
    })
}

/// The pairs, and their file if it is mapped.
fn read(args: &PairArgs, file: &Path) -> Result<(Pairs, Option<MappedFile>), CliError> {
    match args.mapped {
        true => {
            let (pairs, mapped) = mapped::pairs(file)?;
            Ok((Pairs::Matrix(pairs), Some(mapped)))
        }
        false => Ok((Pairs::read(file, &args.align)?, None)),
    }
}

/// Clusters the rows, or a sample of them; `None` in a process that has nothing more to do.
fn fit(
    run: &Run<'_>,
    pairs: Pairs,
    mapped: Option<&MappedFile>,
) -> Result<Option<Fitted>, CliError> {
    let fitted = match sample::smaller(run.plan.sample, pairs.rows()) {
        Some(sample) => run.sampled(&pairs, sample),
        None => run.whole(pairs),
    };
    let first = run.world.process().0 == 0;
    if let Some(mapped) = mapped.filter(|_| first && !run.cancel.is_cancelled()) {
        // Result and error may come from numbers that were never checked.
        mapped.check()?;
    }
    fitted
}

/// An option that is for points, for K-means, or for sequences where there is a matrix.
fn unfit(args: &ClusterArgs) -> Option<&'static str> {
    let kmeans = args.method.method == crate::args::Method::Kmeans;
    let align = args.pairs.align.given().filter(|_| args.pairs.mapped);
    for_tables(args)
        .or(kmeans.then_some("--method kmeans"))
        .or(align)
}

/// An option that is for tables of points.
pub(crate) fn for_tables(args: &ClusterArgs) -> Option<&'static str> {
    let results = &args.results;
    let table = args.table.given();
    table
        .or(results.scaling.then_some("--scaling"))
        .or(results.profile.then_some("--profile"))
}

fn check_size(file: &Path, rows: usize, search: ClusterSearch) -> Result<(), CliError> {
    match search {
        ClusterSearch::Exactly(clusters) if clusters > rows => Err(CliError::Data(format!(
            "{}: {clusters} clusters are asked for and there are {rows} rows: ask for fewer",
            file.display()
        ))),
        _ => Ok(()),
    }
}

/// The summary, and the cluster of each row from 1.
fn summarise(
    plan: &ClusterPlan,
    fitted: Fitted,
    names: Option<&[String]>,
    threads: usize,
) -> (PairwiseSummary, Vec<usize>) {
    let found = &fitted.found;
    let order = largest_first(&found.sizes);
    let numbers = numbers(&order);
    let table = order.iter().map(|&cluster| PairwiseCluster {
        cluster: numbers[cluster],
        size: found.sizes[cluster],
        medoid: found.medoids[cluster] + 1,
        name: names.map(|names| names[found.medoids[cluster]].clone()),
        mean_cost: found.mean_costs[cluster],
    });
    let trace = found.trace.iter().map(|step| MethodStep {
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
        aligned: fitted.aligned,
        clusters: order.len(),
        choice: fitted.choice,
        cost: found.cost,
        asymmetry: found.asymmetry,
        run_seconds: fitted.seconds,
        threads,
        table: table.collect(),
        trace: trace.collect(),
        splits: splits.collect(),
        ended: ended.collect(),
        sample: fitted.sampled,
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
    facts.extend(summary.sample.iter().map(|s| ("sample", s.text())));
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
