//! `motet distance`: read sequences, align all pairs, write the matrix.

use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;

use crate::amount::count;
use crate::error::{CliError, OptionError};
use crate::files::{Content, ResultsFolder};
use crate::interrupt::cancel_on_interrupt;
use crate::keep::{KeepArgs, clear};
use crate::npy;
use crate::pairs::{AlignArgs, Aligned, Pairs, align};
use crate::ranked::Start;
use crate::spread::SpreadArgs;
use crate::stdout::print;
use crate::text::{grouped, significant};

/// Options of `motet distance`.
#[derive(Debug, Clone, Args)]
#[command(
    about = "Work out the distances of all pairs of sequences",
    long_about = "Work out the distances of all pairs of sequences.\n\nReads FASTA, plain or packed \
                  by gzip. A distance is the share of the columns of the best alignment in which \
                  the letters are not identical. Letters that stand for several, as N does, are \
                  identical to none. Writes a square matrix of float32 for numpy.",
    after_long_help = "Examples:\n  motet distance alu.fasta.gz --out d.npy\n  motet cluster d.npy \
                       --pairwise --clusters 6\n\nFields of --json: file, out, sequences, alphabet, \
                       alignment, scores, gap_open,\n  gap_extend, pairs, seconds, threads, \
                       mean_distance, motet (the version)"
)]
pub struct DistanceArgs {
    /// The sequences; - reads standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    /// The matrix to write; a file of that name is replaced, a pipe of that name gets it
    #[arg(long, value_name = "FILE.npy")]
    pub out: PathBuf,

    /// How to align.
    #[command(flatten)]
    pub align: AlignArgs,

    /// Threads of each process [default: the cores, shared by the processes of a machine]
    #[arg(short = 't', long, value_name = "N", value_parser = count())]
    pub threads: Option<usize>,

    /// Where to run.
    #[command(flatten)]
    pub spread: SpreadArgs,

    /// Whether a run can go on after an end that nobody wanted.
    #[command(flatten)]
    pub keep: KeepArgs,

    /// Print one JSON object instead of the table
    #[arg(long)]
    pub json: bool,

    /// No progress on standard error
    #[arg(short, long)]
    pub quiet: bool,
}

/// What `motet distance` has done.
#[derive(Debug, Clone, Serialize)]
pub struct DistanceSummary {
    /// The version of the program.
    pub motet: &'static str,
    /// The file as given.
    pub file: String,
    /// The matrix written.
    pub out: String,
    /// The number of sequences.
    pub sequences: usize,
    /// How they were aligned.
    #[serde(flatten)]
    pub aligned: Aligned,
    /// Ranks that aligned them.
    pub threads: usize,
    /// The mean over all pairs.
    pub mean_distance: f64,
}

/// Runs the command to its end.
///
/// # Errors
/// Any [`CliError`]; then the file of `--out` is as it was.
pub(crate) fn run(args: &DistanceArgs) -> Result<(), CliError> {
    let (folder, name) = target(&args.out)?;
    let kept = args.keep.kept("distances");
    let start = Start {
        spread: &args.spread,
        threads: args.threads,
        file: &args.file,
        keep: &args.keep,
    };
    let prepare = |world: &motet::World| {
        let folder = match world.process().0 {
            0 => Some(
                ResultsFolder::check(&folder, &[&name])?.not_overwriting(&args.file, &[&name])?,
            ),
            _ => None,
        };
        let (sequences, method) = Pairs::read_sequences(&args.file, &args.align)?;
        Ok((folder, sequences, method))
    };
    let Some((world, (folder, sequences, method))) = start.begin(prepare)? else {
        return Ok(());
    };
    let cancel = cancel_on_interrupt();
    let quiet = args.quiet || world.process().0 > 0;
    let done = align(
        &world,
        false,
        (&sequences, &method),
        kept.as_ref(),
        (&cancel, quiet),
    )?;
    let (Some((matrix, aligned)), Some(folder)) = (done, folder) else {
        return Ok(());
    };
    let write = |to: &mut dyn Write| npy::write(to, sequences.len(), &matrix);
    let file = Content {
        name: &name,
        write: Box::new(write),
    };
    if !folder.write(&[file], || cancel.is_cancelled())? {
        return Err(CliError::Cancelled);
    }
    clear(kept)?;
    let sum: f64 = matrix.iter().map(|value| f64::from(*value)).sum();
    let summary = DistanceSummary {
        motet: env!("CARGO_PKG_VERSION"),
        file: args.file.display().to_string(),
        out: args.out.display().to_string(),
        sequences: sequences.len(),
        threads: world.size(),
        mean_distance: sum / (2 * aligned.pairs.max(1)) as f64,
        aligned,
    };
    print(|to| match args.json {
        true => {
            serde_json::to_writer_pretty(&mut *to, &summary)?;
            writeln!(to)
        }
        false => write_text(to, &summary),
    })
}

/// The folder and the name of the file to write.
fn target(out: &Path) -> Result<(PathBuf, String), OptionError> {
    if out.as_os_str() == "-" {
        return Err(OptionError::Value {
            option: "--out",
            value: "-".to_owned(),
            advice: "a matrix does not go to standard output: name a file, as in --out d.npy",
        });
    }
    match out.file_name().and_then(OsStr::to_str) {
        Some(name) if !out.as_os_str().to_string_lossy().ends_with('/') => {
            let folder = out.parent().filter(|folder| !folder.as_os_str().is_empty());
            let folder = folder.unwrap_or(Path::new("."));
            Ok((folder.to_owned(), name.to_owned()))
        }
        _ => Err(OptionError::Value {
            option: "--out",
            value: out.display().to_string(),
            advice: "name a file, as in --out d.npy",
        }),
    }
}

fn write_text(to: &mut dyn Write, summary: &DistanceSummary) -> std::io::Result<()> {
    let aligned = &summary.aligned;
    let facts = [
        (
            "sequences",
            format!("{}, {}", grouped(summary.sequences), aligned.alphabet),
        ),
        (
            "alignment",
            format!(
                "{}, scores {}, gaps {} and {}",
                aligned.alignment, aligned.scores, aligned.gap_open, aligned.gap_extend
            ),
        ),
        ("pairs", grouped(aligned.pairs)),
        ("mean", significant(summary.mean_distance)),
        (
            "time",
            format!("{:.2} s on {} threads", aligned.seconds, summary.threads),
        ),
        ("matrix", summary.out.clone()),
    ];
    facts
        .iter()
        .try_for_each(|(name, value)| writeln!(to, "{name:<12}{value}"))
}
