//! `motet cluster --bits`: cluster fingerprints.

mod output;
mod read;

use std::cmp::Reverse;
use std::time::Instant;

use motet::{Current, World};
use motet_mining::{
    BitAnnealing, BitClustering, BitKMeans, Bits, CancelToken, Checkpoints, Choice, Control,
    Progress,
};
use serde::Serialize;

use crate::args::ClusterArgs;
use crate::error::{CliError, OptionError};
use crate::files::Folder;
use crate::fit::{Chosen, clusters, join};
use crate::interrupt::cancel_on_interrupt;
use crate::keep::{clear, of_choice};
use crate::pairwise::for_tables;
use crate::plan::{Plan, Search};
use crate::progress::Bar;
use crate::ranked::{Start, parts};
use crate::stdout::print;
use crate::summary::Step;

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
    pub choice: Option<Choice>,
    /// The sum over the rows of the squared distance to the centre.
    pub inertia: f64,
    /// Seconds that the clustering took.
    pub run_seconds: f64,
    /// Threads it ran on.
    pub threads: usize,
    /// The clusters, the largest first.
    pub table: Vec<BitCluster>,
    /// The steps of the method, in order.
    pub trace: Vec<Step>,
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
    if let Some(option) = for_tables(&args) {
        return Err(CliError::Options(OptionError::Conflict {
            option,
            other: "--bits",
            advice: "leave it out",
        }));
    }
    let kept = args.results.keep.kept("bits");
    let (spread, width) = (args.spread.clone(), args.bits.width);
    let plan = Plan::of(args, spread.total() > 1 || World::is_one_of_several())?;
    let file = &plan.request.file;
    let start = Start {
        spread: &spread,
        threads: plan.threads,
        file,
    };
    let prepare = |world: &World| {
        let folder = match (&plan.out, world.process().0) {
            (Some(out), 0) => Some(Folder::check(out, &output::FILES)?),
            _ => None,
        };
        let bits = read::read(file, width)?;
        match plan.search {
            Search::Exactly(clusters) | Search::KMeans { clusters, .. }
                if clusters > bits.len() =>
            {
                Err(CliError::Data(format!(
                    "{}: {clusters} clusters are asked for and there are {} rows: ask for fewer",
                    file.display(),
                    bits.len()
                )))
            }
            _ => Ok((folder, bits)),
        }
    };
    let Some((world, (folder, bits))) = start.begin(prepare)? else {
        return Ok(());
    };
    let cancel = cancel_on_interrupt();
    let quiet = plan.quiet || world.process().0 > 0;
    let start = Instant::now();
    let how = (plan.search, kept.as_ref());
    let Some((found, choice)) = fit(&world, &bits, how, &cancel, quiet)? else {
        return Ok(());
    };
    let seconds = start.elapsed().as_secs_f64();
    let (summary, labels) = summarise(&plan, &found, choice, seconds, world.size());
    if let Some(folder) = folder {
        output::write_files(
            &folder,
            &summary,
            &found,
            (labels.as_slice(), bits.names()),
            &cancel,
        )?;
    }
    clear(kept)?;
    print(|to| output::print_to(to, &summary, plan.json))
}

/// The clusters, in the first process, and why so many.
fn fit(
    world: &World,
    bits: &Bits,
    (search, kept): (Search, Option<&Checkpoints>),
    cancel: &CancelToken,
    quiet: bool,
) -> Result<Option<Chosen<BitClustering>>, CliError> {
    let bar = Bar::new(quiet);
    let show = |now: &Progress| bar.cool(now.done, now.temperature, now.clusters);
    let control = &Control {
        progress: Some(&show),
        cancel: Some(cancel),
    };
    let found = parts(world, false, async |comm| {
        if let Search::KMeans {
            clusters,
            seed,
            restarts,
        } = search
        {
            let method = BitKMeans {
                clusters,
                seed,
                restarts,
            };
            let found = match kept {
                Some(kept) => method.fit_kept(comm, bits, control, kept).await?,
                None => method.fit(comm, bits, control).await?,
            };
            return Ok((found, None));
        }
        let mut method = BitAnnealing::default();
        let choose = async |most| match kept.map(of_choice) {
            Some(kept) => method.choose_kept(comm, bits, most, control, &kept).await,
            None => method.choose(comm, bits, most, control).await,
        };
        let (clusters, choice) = clusters(search, choose).await?;
        method.clusters = clusters;
        let found = match kept {
            Some(kept) => method.fit_kept(comm, bits, control, kept).await?,
            None => method.fit(comm, bits, control).await?,
        };
        Ok((found, choice))
    });
    bar.clear();
    let whole = |parts| {
        join(parts, BitClustering::join)
            .ok_or_else(|| CliError::Run("the parts of the ranks do not fit together".to_owned()))
    };
    found?.map(whole).transpose()
}

/// The summary, and the cluster of each row from 1.
fn summarise(
    plan: &Plan,
    found: &BitClustering,
    choice: Option<Choice>,
    run_seconds: f64,
    threads: usize,
) -> (BitSummary, Vec<usize>) {
    let mut order: Vec<usize> = (0..found.clusters()).collect();
    order.sort_by_key(|&cluster| Reverse(found.sizes[cluster]));
    let mut numbers = vec![0; order.len()];
    for (number, &cluster) in (1..).zip(&order) {
        numbers[cluster] = number;
    }
    let rows = found.labels.len();
    let mut mean = vec![0.0; found.width];
    for &cluster in &order {
        let share = found.sizes[cluster] as f64 / rows as f64;
        let pairs = mean.iter_mut().zip(found.centre(cluster));
        pairs.for_each(|(mean, y)| *mean += share * y);
    }
    let table = order.iter().map(|&cluster| {
        let centre = found.centre(cluster);
        let mut columns: Vec<usize> = (0..found.width).collect();
        let apart = |column: &usize| centre[*column] - mean[*column];
        columns.sort_by(|a, b| apart(b).total_cmp(&apart(a)).then(a.cmp(b)));
        columns.retain(|column| apart(column) > 0.0);
        columns.truncate(NAMED);
        BitCluster {
            cluster: numbers[cluster],
            size: found.sizes[cluster],
            ones: centre.iter().sum(),
            columns,
        }
    });
    let trace = found.trace.iter().map(|step| Step {
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
        choice,
        inertia: found.inertia,
        run_seconds,
        threads,
        table: table.collect(),
        trace: trace.collect(),
    };
    let labels = found.labels.iter().map(|&label| numbers[label as usize]);
    (summary, labels.collect())
}
