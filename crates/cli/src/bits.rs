//! `motet cluster --bits`: cluster fingerprints.

mod fit;
mod output;
mod read;

use std::time::Instant;

use motet::{Current, World};
use motet_mining::ClusterChoice;
use serde::Serialize;

use crate::args::ClusterArgs;
use crate::error::{CliError, OptionError};
use crate::files::ResultsFolder;
use crate::interrupt::cancel_on_interrupt;
use crate::order::{greatest_first, largest_first, numbers};
use crate::pairwise::for_tables;
use crate::plan::{ClusterPlan, ClusterSearch};
use crate::ranked::Start;
use crate::sample::{self, Sampled};
use crate::stdout::print;
use crate::summary::MethodStep;
use fit::{Fitted, Run};

/// Columns that the table of a cluster names.
const NAMED: usize = 8;

/// The result of `motet cluster --bits`; with `--json` this object is printed.
#[derive(Debug, Clone, Serialize)]
pub struct BitSummary {
    /// The version of the program.
    pub motet: &'static str,
    /// The path as given, or `<stdin>`.
    pub file: String,
    /// The number of rows.
    pub rows: usize,
    /// Bits of a row.
    pub width: usize,
    /// Columns that are the same in every row.
    pub constant_columns: usize,
    /// Rows without a set bit.
    pub empty_rows: usize,
    /// How the clusters were found.
    pub method: String,
    /// The number of clusters.
    pub clusters: usize,
    /// Why so many, if none were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub choice: Option<ClusterChoice>,
    /// The sum over the rows of the squared distance to the centre.
    pub inertia: f64,
    /// Seconds that the clustering took.
    pub run_seconds: f64,
    /// Threads it ran on.
    pub threads: usize,
    /// The clusters, the largest first.
    pub table: Vec<BitCluster>,
    /// The steps of the method, in order.
    pub trace: Vec<MethodStep>,
    /// The sample, if not all rows were clustered. Sizes and inertia are those of all rows; centres
    /// and the trace are those of the sample.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sample: Option<Sampled>,
}

/// One cluster.
#[derive(Debug, Clone, Serialize)]
pub struct BitCluster {
    /// Its number, from 1.
    pub cluster: usize,
    /// The number of its rows.
    pub size: usize,
    /// The mean number of set bits of its rows.
    pub ones: f64,
    /// Columns, from 0, that set it apart from all rows the most.
    pub columns: Vec<usize>,
}

/// Whether the file is one of bits.
pub(crate) fn is_wanted(args: &ClusterArgs) -> bool {
    args.bits.bits
}

/// Runs the command to its end.
///
/// # Errors
/// Any [`CliError`]; then nothing has been written to the folder and to standard output.
pub(crate) fn run(args: ClusterArgs) -> Result<(), CliError> {
    if let Some(option) = for_tables(&args).or(args.pairs.align.given()) {
        return Err(CliError::Options(OptionError::Conflict {
            option,
            other: "--bits",
            advice: "leave it out",
        }));
    }
    let keep = args.results.keep.clone();
    let kept = keep.kept("bits");
    let (spread, width) = (args.spread.clone(), args.bits.width);
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
                ResultsFolder::check(out, &output::FILES)?.not_overwriting(file, &output::FILES)?,
            ),
            _ => None,
        };
        let bits = read::read(file, width)?;
        check_size(&plan, bits.len())?;
        Ok((folder, bits))
    };
    let Some((world, (folder, bits))) = start.begin(prepare)? else {
        return Ok(());
    };
    let cancel = cancel_on_interrupt();
    let quiet = plan.quiet || world.process().0 > 0;
    let start = Instant::now();
    let run = Run {
        world: &world,
        search: plan.search,
        kept: kept.as_ref(),
        cancel: &cancel,
        quiet,
    };
    let fitted = match sample::smaller(plan.sample, bits.len()) {
        Some(sample) => run.sampled(&bits, sample)?,
        None => run.whole(&bits)?,
    };
    let Some(fitted) = fitted else {
        return Ok(());
    };
    plan.check_found(fitted.found.sizes.len())?;
    let seconds = start.elapsed().as_secs_f64();
    let (summary, labels) = summarise(&plan, &fitted, seconds, world.size());
    if let Some(folder) = folder {
        output::write_files(
            &folder,
            &summary,
            &fitted.found,
            (labels.as_slice(), bits.names()),
            &cancel,
        )?;
    }
    run.clear(plan.sample)?;
    print(|to| output::print_to(to, &summary, plan.json))
}

fn check_size(plan: &ClusterPlan, rows: usize) -> Result<(), CliError> {
    let file = plan.request.file.display();
    match plan.search {
        ClusterSearch::Exactly(clusters) | ClusterSearch::KMeans { clusters, .. }
            if clusters > rows =>
        {
            Err(CliError::Data(format!(
                "{file}: {clusters} clusters are asked for and there are {rows} rows: ask for fewer"
            )))
        }
        _ => plan.check_sample(rows),
    }
}

/// The summary, and the cluster of each row from 1.
fn summarise(
    plan: &ClusterPlan,
    fitted: &Fitted,
    run_seconds: f64,
    threads: usize,
) -> (BitSummary, Vec<usize>) {
    let found = &fitted.found;
    let order = largest_first(&found.sizes);
    let numbers = numbers(&order);
    let rows = found.labels.len();
    let mut mean = vec![0.0; found.width];
    for &cluster in &order {
        let share = found.sizes[cluster] as f64 / rows as f64;
        let pairs = mean.iter_mut().zip(found.centre(cluster));
        pairs.for_each(|(mean, y)| *mean += share * y);
    }
    let table = order.iter().map(|&cluster| {
        let centre = found.centre(cluster);
        let apart: Vec<f64> = centre.iter().zip(&mean).map(|(y, mean)| y - mean).collect();
        let mut columns = greatest_first(&apart);
        columns.retain(|column| apart[*column] > 0.0);
        columns.truncate(NAMED);
        BitCluster {
            cluster: numbers[cluster],
            size: found.sizes[cluster],
            ones: centre.iter().sum(),
            columns,
        }
    });
    let trace = found.trace.iter().map(|step| MethodStep {
        temperature: step.temperature,
        free_energy: step.free_energy,
        clusters: step.clusters,
        iterations: step.iterations,
    });
    let file = plan.request.file.as_os_str();
    let summary = BitSummary {
        motet: env!("CARGO_PKG_VERSION"),
        file: match file == "-" {
            true => "<stdin>".to_owned(),
            false => file.to_string_lossy().into_owned(),
        },
        rows,
        width: found.width,
        constant_columns: found.constant_columns.len(),
        empty_rows: found.empty_rows,
        method: format!("{} of bits", plan.search.method()),
        clusters: order.len(),
        choice: fitted.choice.clone(),
        inertia: found.inertia,
        run_seconds,
        threads,
        table: table.collect(),
        trace: trace.collect(),
        sample: fitted.sampled.clone(),
    };
    let labels = found.labels.iter().map(|&label| numbers[label as usize]);
    (summary, labels.collect())
}
