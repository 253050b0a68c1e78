//! The command line of `motet bench`.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{PossibleValuesParser, RangedU64ValueParser, TypedValueParser};
use clap::{Args, Subcommand};
use motet_bench::stages::{Pattern, StageMode};

use crate::amount::{PYTHON, count, python, seconds};
use crate::bench::print_args::PrintArgs;
use crate::bench::rank_program::RankProgramArgs;
use crate::bench::results::{self, CompareArgs, JoinArgs, ResultsArgs};
use crate::bench::suite_args::{self, SuiteArgs};
use crate::bench::texts::{
    CORE, CORE_TAIL, RANKS, RANKS_TAIL, SEARCH, SEARCH_TAIL, SIM, SIM_TAIL, STAGES, STAGES_TAIL,
};

/// Options of `motet bench`.
#[derive(Debug, Clone, Args)]
#[command(
    about = "Measure the runtime on this machine",
    subcommand_required = true,
    arg_required_else_help = true,
    disable_help_subcommand = true,
    after_help = "Each experiment explains itself: motet bench stages --help"
)]
pub struct BenchArgs {
    /// What to measure.
    #[command(subcommand)]
    pub experiment: ExperimentCommand,
}

/// The experiments.
#[derive(Debug, Clone, Subcommand)]
#[non_exhaustive]
pub enum ExperimentCommand {
    /// The papers' experiments, by key and name
    List(PrintArgs),
    /// Some of the papers' experiments, or all, with today's peers beside
    #[command(long_about = suite_args::RUN, after_long_help = suite_args::RUN_TAIL)]
    Run(SuiteArgs),
    /// The pictures and tables of a run
    #[command(long_about = results::PLOT)]
    Plot(ResultsArgs),
    /// One page about a run: what is lost, the machine, the experiments, the papers' claims
    #[command(long_about = results::REPORT)]
    Report(ResultsArgs),
    /// Two runs beside each other: which rows differ by more than their spread
    #[command(long_about = results::COMPARE)]
    Compare(CompareArgs),
    /// Two runs of two machines in one folder, for claims that compare machines
    #[command(long_about = results::JOIN)]
    Join(JoinArgs),
    /// What it costs to cut fixed work into stages at whose ends messages are exchanged
    #[command(long_about = STAGES, after_long_help = STAGES_TAIL)]
    Stages(StagesArgs),
    /// What messages, joins and tasks cost, beside other runtimes that do the same
    #[command(long_about = CORE, after_long_help = CORE_TAIL)]
    Core(CoreArgs),
    /// What ranks cost that wait for each other, beside MPI
    #[command(long_about = RANKS, after_long_help = RANKS_TAIL)]
    Ranks(RanksArgs),
    /// What a node of a tree costs that ranks search, beside plain programs and rayon
    #[command(long_about = SEARCH, after_long_help = SEARCH_TAIL)]
    Search(SearchArgs),
    /// What an event of a simulation costs, beside plain loops and SimPy
    #[command(long_about = SIM, after_long_help = SIM_TAIL)]
    Sim(SimArgs),
    /// Many exchange stages in a row: none hangs
    Soak(SoakArgs),
    /// An exchange of two ranks beside other busy processes
    Oversubscribed(OversubscribedArgs),
    /// The processor time of a dispatcher with nothing to do
    Idle(IdleArgs),
    /// A step of annealing beside scikit-learn's Lloyd step, and whole runs
    Annealing(AnnealingArgs),
    /// How good annealing's clusters are, beside the best of many K-means runs
    Quality(QualityArgs),
    /// What `ranks` starts on several processes
    #[command(hide = true)]
    RankProgram(RankProgramArgs),
}

/// Options of `motet bench stages`.
#[derive(Debug, Clone, Args)]
pub struct StagesArgs {
    /// Who sends to whom [default: all]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = pattern_parser())]
    pub pattern: Vec<Pattern>,

    /// How a computation goes on: by a fresh handler, or as a rank that waits [default: both]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = mode_parser())]
    pub mode: Vec<StageMode>,

    /// Computations at once [default: the cores there are]
    #[arg(short = 'P', long, value_name = "LIST", value_delimiter = ',', value_parser = count())]
    pub parallel: Vec<usize>,

    /// Units of work (about 1.4 µs each) per stage
    #[arg(
        short = 'U',
        long,
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "20"
    )]
    pub units: Vec<u64>,

    /// Stages
    #[arg(short = 'S', long, value_name = "S", default_value_t = 20_000, value_parser = long_count())]
    pub stages: u64,

    /// Threads [default: what the runtime takes by itself]
    #[arg(short = 't', long, value_name = "N", value_parser = count())]
    pub threads: Option<usize>,

    /// Pairs of runs, of which the medians are printed
    #[arg(long, value_name = "N", default_value_t = 9, value_parser = count())]
    pub runs: usize,

    /// How results are printed.
    #[command(flatten)]
    pub print: PrintArgs,
}

/// Options of the experiments that are made of rows with peers.
#[derive(Debug, Clone, Args)]
pub struct SelectionArgs {
    /// Little work and few rounds
    #[arg(long)]
    pub quick: bool,

    /// Only rows whose names contain one of these [default: all]
    #[arg(long, value_name = "LIST", value_delimiter = ';')]
    pub rows: Vec<String>,

    /// Rounds, of which the medians are printed [default: what fits the row]
    #[arg(long, value_name = "N", value_parser = count())]
    pub runs: Option<usize>,

    /// The Go compiler
    #[arg(long, value_name = "PATH", default_value = "go")]
    pub go: PathBuf,
}

/// Options of `motet bench core`.
#[derive(Debug, Clone, Args)]
pub struct CoreArgs {
    /// Which rows, and how thoroughly.
    #[command(flatten)]
    pub selection: SelectionArgs,

    /// The folder of the data sets, for the unbalanced tree
    #[arg(long, value_name = "DIR", env = "MOTET_DATA")]
    pub data: Option<PathBuf>,

    /// No rows: exclusive handlers from eight posters for so many seconds; none hangs or overtakes
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, default_missing_value = "600")]
    #[arg(conflicts_with_all = ["rows", "quick", "runs", "go"], value_parser = seconds)]
    pub soak: Option<Duration>,

    /// How results are printed.
    #[command(flatten)]
    pub print: PrintArgs,
}

/// Options of `motet bench ranks`.
#[derive(Debug, Clone, Args)]
pub struct RanksArgs {
    /// Which rows, and how thoroughly.
    #[command(flatten)]
    pub selection: SelectionArgs,

    /// Folders of MPI installations, beside those on the search path [default: of MOTET_MPI]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub mpi: Vec<PathBuf>,

    /// How results are printed.
    #[command(flatten)]
    pub print: PrintArgs,
}

/// Options of `motet bench search`.
#[derive(Debug, Clone, Args)]
pub struct SearchArgs {
    /// Which rows, and how thoroughly.
    #[command(flatten)]
    pub selection: SelectionArgs,

    /// How results are printed.
    #[command(flatten)]
    pub print: PrintArgs,
}

/// Options of `motet bench sim`.
#[derive(Debug, Clone, Args)]
pub struct SimArgs {
    /// Which rows, and how thoroughly.
    #[command(flatten)]
    pub selection: SelectionArgs,

    /// A Python that has SimPy
    #[arg(
        long,
        value_name = "PATH",
        default_value = PYTHON,
        env = "MOTET_PYTHON",
        value_parser = python()
    )]
    pub python: PathBuf,

    /// How results are printed.
    #[command(flatten)]
    pub print: PrintArgs,
}

/// Options of `motet bench soak`.
#[derive(Debug, Clone, Args)]
pub struct SoakArgs {
    /// Ranks, one run for each number
    #[arg(
        short = 'P',
        long,
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "2,3,4,7,8"
    )]
    #[arg(value_parser = count())]
    pub parallel: Vec<usize>,

    /// Exchange stages of each run
    #[arg(short = 'S', long, value_name = "S", default_value_t = 1_000_000, value_parser = long_count())]
    pub stages: u64,

    /// How results are printed.
    #[command(flatten)]
    pub print: PrintArgs,
}

/// Options of `motet bench oversubscribed`.
#[derive(Debug, Clone, Args)]
pub struct OversubscribedArgs {
    /// Busy processes beside the ranks
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "1,2"
    )]
    #[arg(value_parser = busy_count())]
    pub busy: Vec<usize>,

    /// Pairs of runs, of which the medians are printed
    #[arg(long, value_name = "N", default_value_t = 9, value_parser = count())]
    pub runs: usize,

    /// How results are printed.
    #[command(flatten)]
    pub print: PrintArgs,
}

/// Options of `motet bench idle`.
#[derive(Debug, Clone, Args)]
pub struct IdleArgs {
    /// How results are printed.
    #[command(flatten)]
    pub print: PrintArgs,
}

/// Options of `motet bench annealing`.
#[derive(Debug, Clone, Args)]
pub struct AnnealingArgs {
    /// Points, in two columns
    #[arg(long, value_name = "N", default_value_t = 200_000, value_parser = count())]
    pub points: usize,

    /// Numbers of clusters
    #[arg(
        short = 'k',
        long,
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "10,30"
    )]
    #[arg(value_parser = count())]
    pub clusters: Vec<usize>,

    /// Numbers of threads; speed-ups are over the first
    #[arg(
        short = 't',
        long,
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "1,2"
    )]
    #[arg(value_parser = count())]
    pub threads: Vec<usize>,

    /// Repetitions, of which the medians are printed
    #[arg(long, value_name = "N", default_value_t = 9, value_parser = count())]
    pub runs: usize,

    /// Whole runs with 30 clusters; 0 leaves them out
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub whole_runs: usize,

    /// A Python that has scikit-learn
    #[arg(
        long,
        value_name = "PATH",
        default_value = PYTHON,
        env = "MOTET_PYTHON",
        value_parser = python()
    )]
    pub python: PathBuf,

    /// How results are printed.
    #[command(flatten)]
    pub print: PrintArgs,
}

/// Options of `motet bench quality`.
#[derive(Debug, Clone, Args)]
pub struct QualityArgs {
    /// The folder of the data sets
    #[arg(long, value_name = "DIR", env = "MOTET_DATA")]
    pub data: PathBuf,

    /// Labelled sets [default: all]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub sets: Vec<String>,

    /// The census sets too, with 30 clusters
    #[arg(long)]
    pub full: bool,

    /// Sequences and proteins instead, of which only pairs are known, beside Ward's method
    #[arg(long, conflicts_with_all = ["sets", "full", "restarts"])]
    pub pairs: bool,

    /// Runs of K-means per set
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = count())]
    pub restarts: usize,

    /// Threads [default: the cores there are]
    #[arg(short = 't', long, value_name = "N", value_parser = count())]
    pub threads: Option<usize>,

    /// How results are printed.
    #[command(flatten)]
    pub print: PrintArgs,
}

fn pattern_parser() -> impl TypedValueParser<Value = Pattern> {
    named(&Pattern::ALL, Pattern::name)
}

fn mode_parser() -> impl TypedValueParser<Value = StageMode> {
    named(&StageMode::ALL, StageMode::name)
}

/// A value out of a list, by its name.
fn named<T: Copy + Send + Sync + 'static>(
    all: &'static [T],
    name: fn(T) -> &'static str,
) -> impl TypedValueParser<Value = T> {
    let names = all.iter().map(|&value| name(value));
    PossibleValuesParser::new(names).try_map(move |text| {
        let found = all.iter().find(|&&value| name(value) == text);
        found.copied().ok_or("is none of these")
    })
}

/// Processes that only keep a core busy: more of them than this keep a machine from all else.
fn busy_count() -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(0..=1024)
}

fn long_count() -> RangedU64ValueParser<u64> {
    RangedU64ValueParser::new().range(1..=1_000_000_000_000)
}
