//! The command line: what it accepts, and its help.

use std::path::PathBuf;

use crate::amount::count;
use crate::call::CallArgs;
use crate::distance::DistanceArgs;
use crate::doctor::DoctorArgs;
use crate::flow::FlowArgs;
use crate::hmm::HmmArgs;
use crate::keep::KeepArgs;
use crate::keys::KeysArgs;
use crate::manual::{CompletionsArgs, ManArgs};
use crate::mixture::MixtureArgs;
use crate::pairs::AlignArgs;
use crate::run::RunArgs;
use crate::scale::ScaleArgs;
use crate::serve::ServeArgs;
use crate::spread::SpreadArgs;
use crate::table::TableArgs;
use crate::watch::WatchArgs;
use crate::{BenchArgs, MeshArgs};
use clap::{Args, Parser, Subcommand, ValueEnum};

/// Parallel data mining from the command line.
#[derive(Debug, Clone, Parser)]
#[command(
    name = "motet",
    version,
    max_term_width = 100,
    about = "Parallel data mining on a messaging runtime",
    after_help = "Example:\n  motet cluster examples/data/places.csv.gz --geo lat,lon \
                  --clusters 24 --out out\n\nEach command explains itself: motet cluster --help",
    subcommand_required = true,
    arg_required_else_help = true
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What the program does.
#[derive(Debug, Clone, Subcommand)]
#[non_exhaustive]
pub enum Command {
    /// Find the clusters in a table of numbers
    Cluster(ClusterArgs),
    /// Fit a mixture of normal distributions to a table of numbers
    Mixture(MixtureArgs),
    /// Fit a hidden Markov model to sequences, or use one
    Hmm(HmmArgs),
    /// Work out the distances of all pairs of sequences
    Distance(DistanceArgs),
    /// Show pairs in a plane: multidimensional scaling
    Scale(ScaleArgs),
    /// Serve services by HTTP
    Serve(ServeArgs),
    /// Call an operation of a service, or print its state
    Call(CallArgs),
    /// Print what a service tells, as it comes
    Watch(WatchArgs),
    /// Run workflows of services, and resume them
    Flow(FlowArgs),
    /// Make the certificate of a node, and tokens for those who may call it
    Keys(KeysArgs),
    /// Publish and subscribe between processes and machines
    Mesh(MeshArgs),
    /// Measure the runtime on this machine
    Bench(BenchArgs),
    /// Start a program on threads, processes and nodes
    Run(RunArgs),
    /// Say what this machine offers
    Doctor(DoctorArgs),
    /// Print what completes commands and options in a shell
    Completions(CompletionsArgs),
    /// Print the manual page, or write those of all commands into a folder
    Man(ManArgs),
    /// Run a program of `motet run` and answer for its end
    #[cfg(unix)]
    #[command(hide = true)]
    Supervise(crate::supervise::SuperviseArgs),
}

/// Options of `motet cluster`.
#[derive(Debug, Clone, Args)]
#[command(
    about = "Find the clusters in a table of numbers",
    long_about = "Find the clusters in a table of numbers.\n\nReads CSV, or a two-dimensional .npy array, \
                  plain or packed by gzip or zstd, with one point per row. Prints the clusters by size with their centres and \
                  spreads (the root of the mean squared distance to the centre). Cluster 1 is the \
                  largest.",
    after_help = "Examples: motet cluster --help",
    after_long_help = HELP_TAIL
)]
pub struct ClusterArgs {
    /// The table; - reads standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    /// What the rows are.
    #[command(flatten)]
    pub table: TableArgs,

    /// How to cluster.
    #[command(flatten)]
    pub method: MethodArgs,

    /// Whether the rows are known by dissimilarities, and how these are made.
    #[command(flatten)]
    pub pairs: PairArgs,

    /// Whether the rows are fingerprints.
    #[command(flatten)]
    pub bits: BitArgs,

    /// Where to run.
    #[command(flatten)]
    pub spread: SpreadArgs,

    /// What to do with the result.
    #[command(flatten)]
    pub results: ResultArgs,
}

/// Options that say how to cluster.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Clusters")]
pub struct MethodArgs {
    /// Number of clusters [default of annealing: the one that lasts longest]
    ///
    /// Without it, and without --t-min, the temperature falls until there are more clusters than
    /// --at-most. The number that lasts over the largest factor of the temperature is taken, and
    /// 1 if none lasts over a factor of 3.
    #[arg(short = 'k', long, value_name = "K", allow_negative_numbers = true)]
    #[arg(conflicts_with = "t_min")]
    pub clusters: Option<i64>,

    /// Find the number of clusters: split while the temperature is above T
    ///
    /// Temperatures are squared distances: a cluster splits when twice its largest variance exceeds
    /// the temperature. So T is twice the square of the half-width that a cluster may have. The
    /// unit is that of the columns, km with --geo, standard deviations with --standardise.
    #[arg(long, value_name = "T", allow_negative_numbers = true)]
    pub t_min: Option<f64>,

    /// Most clusters if --clusters does not say [default: 20, with --t-min 100]
    #[arg(long, value_name = "K", allow_negative_numbers = true)]
    #[arg(conflicts_with = "clusters")]
    pub at_most: Option<i64>,

    /// How to find them
    #[arg(long, value_enum, default_value_t = Method::Annealing)]
    pub method: Method,

    /// Cluster a sample of N rows, and give every other row to the cluster where it costs least
    ///
    /// For tables, bits and pairs; of sequences, only pairs with a row of the sample are aligned. N
    /// is 2 to the number of rows. A sample should have about 40 rows of each cluster: smaller
    /// clusters may be lost.
    #[arg(long, value_name = "N", value_parser = count())]
    pub sample: Option<usize>,

    /// Seed of the random numbers of kmeans and of --sample [default: 1]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,

    /// Starts of kmeans, the best is kept [default: 10]; samples of bits and pairs [default: 1]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub restarts: Option<i64>,

    /// Threads of each process [default: the cores, shared by the processes of a machine]
    #[arg(short = 't', long, value_name = "N", allow_negative_numbers = true)]
    pub threads: Option<i64>,
}

/// Options for rows of which only dissimilarities are known.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Pairs")]
pub struct PairArgs {
    /// FILE holds the dissimilarities of all pairs: .npy or a square table; so does FASTA, unasked
    ///
    /// A dissimilarity plays the part of a squared distance. In .npy NaN means not known. The
    /// temperature of --t-min is in the unit of the dissimilarities.
    #[arg(long)]
    pub pairwise: bool,

    /// Leave .npy in its file: the matrix is mapped, not read, and may be larger than the memory
    ///
    /// The matrix must be symmetric, and must not be changed during the run: if it was, that is an
    /// error, and a file that is cut short ends the program by a signal. The result has the same
    /// bits as that of a matrix that is read.
    #[arg(long, requires = "pairwise")]
    pub mapped: bool,

    /// How sequences are aligned.
    #[command(flatten)]
    pub align: AlignArgs,
}

/// Options for rows of bits.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Bits")]
pub struct BitArgs {
    /// FILE holds fingerprints: .npy of bytes, .fps, or lines of the digits 0 and 1
    ///
    /// In .npy a row is packed as numpy.packbits(a, axis=1, bitorder="little") does. A squared
    /// distance is the number of bits that differ; so is a temperature.
    #[arg(long, conflicts_with = "pairwise")]
    pub bits: bool,

    /// Bits of a row of .npy [default: all that its bytes have]
    #[arg(long, value_name = "N", value_parser = count(), requires = "bits")]
    pub width: Option<usize>,
}

/// Options that say what to do with the result.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Results")]
pub struct ResultArgs {
    /// Whether a run can go on after an end that nobody wanted.
    #[command(flatten)]
    pub keep: KeepArgs,

    /// Run with one thread too, and print the overhead f = (P·T_P − T_1)/T_1 and the efficiency
    #[arg(long, conflicts_with = "checkpoint")]
    pub scaling: bool,

    /// Print where the time went: the overhead in parts, and every rank and stage
    #[arg(long)]
    pub profile: bool,

    /// Folder for labels.csv, centres.csv, trace.json and map.svg
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// Print one JSON object instead of the table
    #[arg(long)]
    pub json: bool,

    /// No progress and no remarks on standard error
    #[arg(short, long)]
    pub quiet: bool,
}

/// How clusters are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[non_exhaustive]
pub enum Method {
    /// Deterministic annealing: no random numbers, one run
    Annealing,
    /// K-means from k-means++ starts
    Kmeans,
}

const HELP_TAIL: &str = "\
Examples:
  motet cluster places.csv.gz --geo lat,lon --clusters 24 --out out
      24 clusters on the globe; files and a map go to the folder out
  motet cluster iris.csv --columns 1,2,3,4 --t-min 0.5
      as many clusters as there are at temperature 0.5
  zcat wine.csv.gz | motet cluster - --standardise -k 3 --json
      standard input; one JSON object on standard output
  motet cluster blocks.csv --columns lon,lat --weight pop -k 30 --threads 2 --scaling
      points with weights; how well two threads are used
  motet cluster points.npy --columns 1,2 -k 3
      an array of numpy: one point per row, columns by number, NaN where a value lacks
  motet cluster alu.fasta.gz -k 6 --out out
      sequences: all pairs are aligned, then clustered; medoids.csv instead of centres.csv, and
      map.svg (classical scaling), trace.svg (temperature), splits.svg (dendrogram of the splits)
  motet cluster alu.fasta.gz -k 6 --sample 1000 --restarts 3
      1,000 sequences are aligned with each other and with all; the best of three samples
  motet cluster keys1052.npy --bits --width 1052 -k 30 --out out
      fingerprints: bits packed in bytes; no map
  motet cluster keys1052.npy --bits --width 1052 -k 30 --sample 2000
      2,000 fingerprints are clustered; each other one goes to the nearest centre

Files in the folder of --out, all or none; files of these names are replaced:
  labels.csv   row (from 1), the columns of --keep, the columns, cluster
  centres.csv  cluster, size, [weight], the columns, spread
  trace.json   temperature, free_energy, clusters, iterations of every step
  map.svg      a picture: two columns as they are, the globe, or principal components

Fields of --json: points, columns, dimensions, method, clusters, inertia, spread_unit,
  square_unit (of inertia, temperature and free_energy), run_seconds, threads,
  choice (clusters, lasts, appear: temperatures), scaling (threads, t1_seconds, tp_seconds, overhead, efficiency, same_result),
  profile (seconds, threads, ranks with their stages, overhead, model),
  table (cluster, size, weight, centre, spread), trace (as in trace.json),
  sample (rows, of, seed, draws, draw, cost, drawn: row numbers from 1),
  missing (what, dropped_rows, filled_cells), file, geo, standardised, weight,
  constant_columns, files (those written), motet (the version)
Of pairs: file, rows, method, aligned, clusters, choice, cost, asymmetry, run_seconds, threads,
  table (cluster, size, medoid: a row from 1, name, mean_cost), trace, sample, motet,
  splits (cluster: by number of the split, critical, temperature), ended
Of bits: file, rows, width, constant_columns (how many), empty_rows, method, clusters, choice,
  inertia, run_seconds, threads, table (cluster, size, ones, columns from 0), trace, sample, motet

Exit codes: 0 done, 2 a wrong file, column, value or option, 130 interrupted, 1 a fault";
