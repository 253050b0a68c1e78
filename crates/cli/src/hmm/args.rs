//! The options of `motet hmm`.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};

use crate::amount::{count, not_negative, positive};
use crate::keep::KeepArgs;
use crate::model::{CURVE, LABELS, MAP, MODEL, ModelArgs, ModelRunArgs, TRACE};
use crate::table::{ColumnArgs, RowArgs, WrittenArgs};

/// One line per sequence.
pub(super) const SCORES: &str = "scores.csv";

/// Options of `motet hmm`.
#[derive(Debug, Clone, Args)]
#[command(
    about = "Fit a hidden Markov model to sequences, or use one",
    long_about = "Fit a hidden Markov model to sequences, or use one.\n\nSequences are the rows of \
                  a table in order: numbers, which states show by normal distributions, or the \
                  symbols of one column. FASTA is read too: each letter is a symbol.",
    subcommand_required = true,
    arg_required_else_help = true
)]
pub struct HmmArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: HmmCommand,
}

/// What `motet hmm` does.
#[derive(Debug, Clone, Subcommand)]
pub enum HmmCommand {
    /// Fit a model by the rule of Baum and Welch
    Fit(HmmFitArgs),
    /// Find the most probable path of states of each sequence
    Decode(HmmUseArgs),
    /// Work out ln p of each sequence
    Score(HmmUseArgs),
}

/// Options of `motet hmm fit`.
#[derive(Debug, Clone, Args)]
#[command(after_long_help = HELP_TAIL)]
#[command(mut_arg("symbol", |symbol| {
    symbol.conflicts_with_all(["columns", "exclude", "standardise"])
}))]
pub struct HmmFitArgs {
    /// The sequences; - reads standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    /// What the rows are.
    #[command(flatten)]
    pub seen: SeenArgs,

    /// The columns of numbers.
    #[command(flatten)]
    pub numbers: ColumnArgs,

    /// The table.
    #[command(flatten)]
    pub written: WrittenArgs,

    /// Number of states
    #[arg(short = 's', long, value_name = "S", value_parser = count(), help_heading = "Model")]
    pub states: usize,

    /// Starts; the largest ln p counts
    ///
    /// Numbers: the first from annealing, the others from K-means. Symbols: all at random.
    #[arg(long, value_name = "N", value_parser = count(), default_value_t = 1)]
    #[arg(help_heading = "Model")]
    pub starts: usize,

    /// Seed of the random numbers of the starts [default: 0]
    #[arg(long, value_name = "N", help_heading = "Model")]
    pub seed: Option<u64>,

    /// The least variance of numbers [default: 0.001]
    #[arg(long, value_name = "V", help_heading = "Model")]
    #[arg(value_parser = positive, allow_negative_numbers = true)]
    pub floor: Option<f64>,

    /// A start ends when ln p of all sequences grows by less than this
    #[arg(long, value_name = "D", default_value_t = 1e-2, help_heading = "Model")]
    #[arg(value_parser = not_negative, allow_negative_numbers = true)]
    pub tolerance: f64,

    /// Most steps of a start
    #[arg(long, value_name = "N", value_parser = count(), default_value_t = 100)]
    #[arg(help_heading = "Model")]
    pub iterations: usize,

    /// What to do with the result.
    #[command(flatten)]
    pub results: ModelArgs,
}

/// Options of `motet hmm decode` and `motet hmm score`.
#[derive(Debug, Clone, Args)]
#[command(after_long_help = HELP_TAIL)]
pub struct HmmUseArgs {
    /// The sequences; - reads standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    /// What the rows are.
    #[command(flatten)]
    pub seen: SeenArgs,

    /// The table.
    #[command(flatten)]
    pub written: WrittenArgs,

    /// The model.json of motet hmm fit
    #[arg(long, value_name = "FILE", help_heading = "Model")]
    pub model: PathBuf,

    /// What to do with the result.
    #[command(flatten)]
    pub results: ModelRunArgs,
}

/// Options that say what the rows are.
#[derive(Debug, Clone, Args)]
pub struct SeenArgs {
    /// Column of symbols, name or number from 1 [default: the rows are numbers]
    #[arg(long, value_name = "COL", help_heading = "Sequences")]
    pub symbol: Option<String>,

    /// Column that names the sequence of each row [default: all rows are one sequence]
    ///
    /// The rows of a sequence follow each other.
    #[arg(long, value_name = "COL", help_heading = "Sequences")]
    pub sequence: Option<String>,
}

/// What the three commands have in common.
pub(super) struct Task<'a> {
    pub(super) file: &'a Path,
    pub(super) seen: &'a SeenArgs,
    pub(super) table: RowArgs,
    pub(super) results: &'a ModelRunArgs,
    pub(super) keep: KeepArgs,
    pub(super) fit: Option<&'a HmmFitArgs>,
    pub(super) model: Option<&'a Path>,
    /// Whether paths are wanted.
    pub(super) paths: bool,
}

/// Rows without weights, of which nothing is kept.
fn rows(numbers: &ColumnArgs, written: &WrittenArgs) -> RowArgs {
    RowArgs {
        numbers: numbers.clone(),
        keep: Vec::new(),
        weight: None,
        written: written.clone(),
    }
}

impl HmmCommand {
    pub(super) fn task(&self) -> Task<'_> {
        fn of(args: &HmmUseArgs, paths: bool) -> Task<'_> {
            Task {
                file: &args.file,
                seen: &args.seen,
                table: rows(&ColumnArgs::default(), &args.written),
                results: &args.results,
                keep: KeepArgs::default(),
                fit: None,
                model: Some(&args.model),
                paths,
            }
        }
        match self {
            HmmCommand::Fit(args) => Task {
                file: &args.file,
                seen: &args.seen,
                table: rows(&args.numbers, &args.written),
                results: &args.results.run,
                keep: args.results.keep.clone(),
                fit: Some(args),
                model: None,
                paths: true,
            },
            HmmCommand::Decode(args) => of(args, true),
            HmmCommand::Score(args) => of(args, false),
        }
    }
}

impl Task<'_> {
    /// The files that will be written.
    pub(super) fn files(&self, numbers: bool) -> Vec<&'static str> {
        match (self.fit, self.paths) {
            (Some(_), _) if numbers => vec![LABELS, SCORES, MODEL, TRACE, CURVE, MAP],
            (Some(_), _) => vec![LABELS, SCORES, MODEL, TRACE, CURVE],
            (None, true) => vec![LABELS, SCORES],
            (None, false) => vec![SCORES],
        }
    }
}

const HELP_TAIL: &str = "\
Examples:
  motet hmm fit readings.csv --columns x,y --sequence day -s 3 --out out
      three states that show numbers; each day is a sequence
  motet hmm fit words.csv --symbol letter --sequence word -s 2 --starts 5 --out out
      two states that show symbols, from five starts
  motet hmm decode other.csv --sequence day --model out/model.json --out paths
      the most probable path of each sequence
  motet hmm score genes.fasta --model out/model.json --json
      ln p of each record

Files in the folder of --out, all or none; files of these names are replaced:
  labels.csv   sequence, place (from 1), state (from 1) on the most probable path
  scores.csv   sequence, places, log_p
  model.json   the model, for --model
  trace.json   ln p of all sequences before each step
  trace.svg    the same as a picture
  map.svg      numbers in the plane by state, with ellipses of two standard deviations

Fields of --json: sequences, places, emissions, names (columns or symbols), states, log_p,
  converged, start, run_seconds, threads, scaling, profile, trace, file, files,
  table (state, places, start, transitions, probabilities or mean and deviation),
  scores (sequence, places, log_p, path: states from 1), motet (the version)

Exit codes: 0 done, 2 a wrong file, column, value or option, 130 interrupted, 1 a fault";
