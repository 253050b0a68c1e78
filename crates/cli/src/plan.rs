//! The options, checked: what `motet cluster` will do.

use std::path::PathBuf;

use crate::args::{ClusterArgs, Method, MethodArgs};
use crate::error::{CliError, OptionError};
use crate::read::TableRequest;
use crate::sample::RowSample;
use crate::table::request;
use motet_mining::Sampling;

/// What to do.
#[derive(Debug)]
pub(crate) struct ClusterPlan {
    /// The table to read.
    pub(crate) request: TableRequest,
    /// Whether the columns are a latitude and a longitude.
    pub(crate) geo: bool,
    /// Whether to bring every column to mean 0 and standard deviation 1.
    pub(crate) standardise: bool,
    /// How to cluster.
    pub(crate) search: ClusterSearch,
    /// The sample to cluster, if not all rows are.
    pub(crate) sample: Option<RowSample>,
    /// Threads to run on, in each process, if somebody says so.
    pub(crate) threads: Option<usize>,
    /// Whether to run with one thread too.
    pub(crate) scaling: bool,
    pub(crate) profile: bool,
    /// Where the files go.
    pub(crate) out: Option<PathBuf>,
    /// Whether to print JSON.
    pub(crate) json: bool,
    /// Whether to print nothing but results and errors.
    pub(crate) quiet: bool,
}

/// How to cluster.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum ClusterSearch {
    /// Annealing to so many clusters.
    Exactly(usize),
    /// Annealing down to a temperature, with at most so many clusters.
    Found {
        /// The lowest temperature at which clusters split.
        t_min: f64,
        /// The most clusters.
        at_most: usize,
    },
    /// Annealing to the number of clusters that lasts longest, of so many at most.
    Chosen {
        /// The most clusters.
        at_most: usize,
    },
    /// K-means.
    KMeans {
        /// The number of clusters.
        clusters: usize,
        /// What the random starts come from.
        seed: u64,
        /// The number of starts.
        restarts: usize,
    },
}

impl ClusterSearch {
    /// The method in words.
    pub(crate) fn method(self) -> String {
        match self {
            ClusterSearch::Exactly(_) | ClusterSearch::Chosen { .. } => {
                "deterministic annealing".to_owned()
            }
            ClusterSearch::Found { t_min, .. } => {
                format!("deterministic annealing down to T = {t_min}")
            }
            ClusterSearch::KMeans { seed, restarts, .. } => {
                format!("K-means, best of {restarts} k-means++ starts, seed {seed}")
            }
        }
    }
}

impl ClusterPlan {
    /// Checks the options that can be checked without the data. `several` processes have been, or
    /// will be, started.
    pub(crate) fn of(args: ClusterArgs, several: bool) -> Result<ClusterPlan, OptionError> {
        let ClusterArgs {
            file,
            table,
            method,
            results,
            ..
        } = args;
        if several && file.as_os_str() == "-" {
            return Err(OptionError::Value {
                option: "FILE",
                value: "-".to_owned(),
                advice: "several processes cannot share standard input: name a file",
            });
        }
        let search = search(&method)?;
        let sample = sample(&method)?;
        let threads = method.threads.map(|t| at_least_one("--threads", t));
        let threads = threads.transpose()?;
        Ok(ClusterPlan {
            geo: !table.geo.is_empty(),
            standardise: table.rows.numbers.standardise,
            request: request(file, table)?,
            search,
            sample,
            threads,
            scaling: results.scaling,
            profile: results.profile,
            out: results.out,
            json: results.json,
            quiet: results.quiet,
        })
    }

    /// Whether so many rows have such a sample, and that as many clusters as are asked for.
    ///
    /// # Errors
    /// A sample of more rows than there are, or of fewer rows than clusters.
    pub(crate) fn check_sample(&self, rows: usize) -> Result<(), CliError> {
        let Some(size) = self.sample.map(|sample| sample.sampling.size) else {
            return Ok(());
        };
        let file = self.request.file.display();
        if size > rows {
            return Err(CliError::Data(format!(
                "{file}: a sample of {size} rows is asked for and there are {rows}: \
                 give --sample {rows} at most, or leave it out"
            )));
        }
        match self.search {
            ClusterSearch::Exactly(clusters) | ClusterSearch::KMeans { clusters, .. }
                if clusters > size =>
            {
                Err(CliError::Data(format!(
                    "{file}: {clusters} clusters are asked for and the sample has {size} rows: \
                     ask for fewer, or give a larger --sample"
                )))
            }
            _ => Ok(()),
        }
    }

    /// Whether so many clusters have been found as were asked for.
    ///
    /// # Errors
    /// Fewer, which there are only where too few rows differ.
    pub(crate) fn check_found(&self, found: usize) -> Result<(), CliError> {
        match self.search {
            ClusterSearch::Exactly(clusters) if found < clusters => Err(CliError::Data(format!(
                "{}: {clusters} clusters are asked for and only {found} of the rows{} are \
                 different: ask for fewer",
                self.request.file.display(),
                match self.sample {
                    Some(_) => " of the sample",
                    None => "",
                },
            ))),
            _ => Ok(()),
        }
    }
}

fn search(args: &MethodArgs) -> Result<ClusterSearch, OptionError> {
    let clusters = args
        .clusters
        .map(|k| at_least_one("--clusters", k))
        .transpose()?;
    match (args.method, clusters, args.t_min) {
        (Method::Annealing, ..) if args.restarts.is_some() && args.sample.is_none() => {
            Err(annealing_is_not_random("--restarts"))
        }
        (Method::Annealing, ..) if args.seed.is_some() && args.sample.is_none() => {
            Err(annealing_is_not_random("--seed"))
        }
        (Method::Annealing, Some(clusters), _) => Ok(ClusterSearch::Exactly(clusters)),
        (Method::Annealing, None, Some(t_min)) if t_min > 0.0 && t_min.is_finite() => {
            let at_most = at_least_one("--at-most", args.at_most.unwrap_or(MOST_FOUND))?;
            Ok(ClusterSearch::Found { t_min, at_most })
        }
        (Method::Annealing, None, Some(t_min)) => Err(OptionError::Value {
            option: "--t-min",
            value: t_min.to_string(),
            advice: "give a temperature above 0",
        }),
        (Method::Annealing, None, None) => {
            let at_most = at_least_one("--at-most", args.at_most.unwrap_or(MOST_CHOSEN))?;
            Ok(ClusterSearch::Chosen { at_most })
        }
        (Method::Kmeans, Some(clusters), _) => Ok(ClusterSearch::KMeans {
            clusters,
            seed: args.seed.unwrap_or(SEED),
            restarts: at_least_one("--restarts", args.restarts.unwrap_or(RESTARTS))?,
        }),
        (Method::Kmeans, None, Some(_)) => Err(OptionError::Conflict {
            option: "--method kmeans",
            other: "--t-min",
            advice: "give --clusters K: only annealing finds their number",
        }),
        (Method::Kmeans, None, None) => Err(OptionError::NoClusters {
            what: "clusters",
            advice: "give --clusters K",
        }),
    }
}

fn sample(args: &MethodArgs) -> Result<Option<RowSample>, OptionError> {
    let draws = match args.method {
        Method::Annealing => at_least_one("--restarts", args.restarts.unwrap_or(1))?,
        Method::Kmeans => 1,
    };
    let seed = args.seed.unwrap_or(SEED);
    if args.sample == Some(1) {
        return Err(OptionError::Value {
            option: "--sample",
            value: "1".to_owned(),
            advice: "give 2 rows or more",
        });
    }
    Ok(args.sample.map(|size| RowSample {
        sampling: Sampling { size, seed },
        draws,
    }))
}

/// Defaults that the help names.
const MOST_FOUND: i64 = 100;
const MOST_CHOSEN: i64 = 20;
const SEED: u64 = 1;
const RESTARTS: i64 = 10;

fn annealing_is_not_random(option: &'static str) -> OptionError {
    OptionError::Conflict {
        option,
        other: "--method annealing",
        advice: "it uses no random numbers; drop the option, or add --method kmeans or --sample",
    }
}

fn at_least_one(option: &'static str, value: i64) -> Result<usize, OptionError> {
    usize::try_from(value)
        .ok()
        .filter(|&value| value > 0)
        .ok_or_else(|| OptionError::Value {
            option,
            value: value.to_string(),
            advice: "give 1 or more",
        })
}
