//! `motet scale`: places in a plane whose distances are those of pairs.

mod labels;
pub(crate) mod output;

use std::path::PathBuf;
use std::time::Instant;

use clap::{Args, ValueEnum};
use motet::World;
use motet_mining::{
    CancelToken, Checkpoints, Control, Dissimilarities, Progress, Scaled, Scaling, ScalingMethod,
};
use serde::Serialize;

use crate::amount::count;
use crate::error::{CliError, OptionError};
use crate::files::ResultsFolder;
use crate::interrupt::cancel_on_interrupt;
use crate::keep::{KeepArgs, clear};
use crate::pairs::{AlignArgs, Aligned, Pairs, align};
use crate::progress::TerminalBar;
use crate::ranked::{Start, parts};
use crate::spread::SpreadArgs;
use crate::stdout::print;
use crate::text::significant;
use labels::Labels;

/// Options of `motet scale`.
#[derive(Debug, Clone, Args)]
#[command(
    about = "Show pairs in a plane: multidimensional scaling",
    long_about = "Show pairs in a plane: multidimensional scaling.\n\nFinds places whose distances \
                  are as near to those of the pairs as can be. Reads dissimilarities of all pairs \
                  (.npy or a square table; NaN in .npy is not known) or FASTA, whose sequences are \
                  aligned first. A dissimilarity is a distance here, not its square.",
    after_long_help = "Examples:\n  motet scale d.npy --out out\n  motet scale alu.fasta.gz \
                       --labels out/labels.csv --out out\n\nFiles in the folder of --out, \
                       which are replaced:\n  places.csv (row, name, cluster, the places), \
                       plane.svg (the picture,\n  coloured by the clusters of --labels)\n\n\
                       Fields of --json: file, rows, method, dimensions, stress (the sum over the \
                       pairs of the\n  squared differences), relative_stress, eigenvalues, steps, unknown, asymmetry,\n  \
                       seconds, threads, places, aligned, motet"
)]
pub struct ScaleArgs {
    /// The dissimilarities or the sequences; - reads standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    /// How places are found
    #[arg(long, value_enum, default_value_t = ScaleMethod::Majorised)]
    pub method: ScaleMethod,

    /// Dimensions of the places
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = count())]
    pub dim: usize,

    /// A table with one row per place, as labels.csv: its column cluster (else the last) colours
    #[arg(long, value_name = "FILE", requires = "out")]
    pub labels: Option<PathBuf>,

    /// How sequences are aligned.
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

    /// Folder for places.csv and plane.svg
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// Print one JSON object, with the places
    #[arg(long)]
    pub json: bool,

    /// No progress on standard error
    #[arg(short, long)]
    pub quiet: bool,
}

/// How places are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[non_exhaustive]
pub enum ScaleMethod {
    /// Leading eigenvectors: exact for points of a plane
    Classical,
    /// Majorisation of the stress (SMACOF) from the classical places
    Majorised,
    /// Majorisation at falling temperatures
    Annealed,
}

/// The result of `motet scale`; with `--json` this object is printed.
#[derive(Debug, Clone, Serialize)]
pub struct ScaleSummary {
    /// The version of the program.
    pub motet: &'static str,
    /// The file as given.
    pub file: String,
    /// The number of rows.
    pub rows: usize,
    /// How places were found.
    pub method: &'static str,
    /// How the sequences were aligned, if the rows are sequences.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aligned: Option<Aligned>,
    /// The number of dimensions.
    pub dimensions: usize,
    /// Σ (D - d)² over the known pairs.
    pub stress: f64,
    /// The stress over Σ D².
    pub relative_stress: f64,
    /// The leading eigenvalues of the classical start.
    pub eigenvalues: Vec<f64>,
    /// Steps of majorisation.
    pub steps: usize,
    /// The share of the pairs that are not known.
    pub unknown: f64,
    /// The largest difference of D(i, j) and D(j, i), of which the mean was used.
    pub asymmetry: f64,
    /// Seconds that the scaling took.
    pub seconds: f64,
    /// Threads it ran on.
    pub threads: usize,
    /// The places, row after row.
    pub places: Vec<Vec<f64>>,
}

/// Runs the command to its end.
///
/// # Errors
/// Any [`CliError`]; then nothing has been written.
pub(crate) fn run(args: &ScaleArgs) -> Result<(), CliError> {
    let start = Start {
        spread: &args.spread,
        threads: args.threads,
        file: &args.file,
        keep: &args.keep,
    };
    let prepare = |world: &World| {
        let folder = match (&args.out, world.process().0) {
            (Some(out), 0) => {
                let (read, names) = ([&args.file].into_iter().chain(&args.labels), &output::FILES);
                Some(ResultsFolder::check(out, names)?.apart_from(read, names)?)
            }
            _ => None,
        };
        let labels = args.labels.as_deref().map(Labels::read).transpose()?;
        let pairs = Pairs::read(&args.file, &args.align)?;
        if let Some(labels) = &labels {
            labels.check(pairs.rows())?;
        }
        // A picture has two dimensions, also of one row.
        if args.dim > pairs.rows().max(2) {
            return Err(CliError::Options(OptionError::Value {
                option: "--dim",
                value: args.dim.to_string(),
                advice: "there are fewer rows, which lie in fewer dimensions; give at most as many",
            }));
        }
        Ok((folder, labels, pairs))
    };
    let Some((world, (folder, labels, pairs))) = start.begin(prepare)? else {
        return Ok(());
    };
    let cancel = cancel_on_interrupt();
    let kept = args.keep.kept("scale");
    let aligning = kept.as_ref().map(|kept| kept.named("distances"));
    let quiet = args.quiet || world.process().0 > 0;
    let (pairs, names, aligned) = match pairs {
        Pairs::Matrix(pairs) => (pairs, None, None),
        Pairs::Sequences(sequences, method) => {
            let rows = (&sequences, &method);
            let done = align(&world, true, rows, aligning.as_ref(), (&cancel, quiet))?;
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
    let Some(found) = fit(&world, &pairs, (args, kept.as_ref()), &cancel, quiet)? else {
        return Ok(());
    };
    let seconds = start.elapsed().as_secs_f64();
    let summary = summarise(args, found, aligned, seconds, world.size());
    if let Some(folder) = folder {
        output::write_files(
            &folder,
            &summary,
            names.as_deref(),
            labels.as_ref(),
            &cancel,
        )?;
    }
    clear(kept.into_iter().chain(aligning))?;
    print(|to| output::print_to(to, &summary, args.json))
}

fn fit(
    world: &World,
    pairs: &Dissimilarities,
    (args, kept): (&ScaleArgs, Option<&Checkpoints>),
    cancel: &CancelToken,
    quiet: bool,
) -> Result<Option<Scaled>, CliError> {
    let method = Scaling {
        dim: args.dim,
        method: match args.method {
            ScaleMethod::Classical => ScalingMethod::Classical,
            ScaleMethod::Majorised => ScalingMethod::Majorised,
            ScaleMethod::Annealed => ScalingMethod::Annealed,
        },
        ..Scaling::default()
    };
    let bar = TerminalBar::new(quiet);
    let show = |now: &Progress| {
        let stress = significant(now.free_energy);
        let what = match now.temperature {
            0.0 => format!("stress {stress}"),
            temperature => format!("temperature {temperature:.3}, stress {stress}"),
        };
        bar.at(now.done, what);
    };
    let control = &Control {
        progress: Some(&show),
        cancel: Some(cancel),
    };
    let method = &method;
    let found = parts(world, false, async |comm| match kept {
        Some(kept) => method.fit_kept(comm, pairs, control, kept).await,
        None => method.fit(comm, pairs, control).await,
    });
    bar.clear();
    Ok(found?.and_then(|mut parts| parts.pop()))
}

fn summarise(
    args: &ScaleArgs,
    found: Scaled,
    aligned: Option<Aligned>,
    seconds: f64,
    threads: usize,
) -> ScaleSummary {
    ScaleSummary {
        motet: env!("CARGO_PKG_VERSION"),
        file: match args.file.as_os_str() == "-" {
            true => "<stdin>".to_owned(),
            false => args.file.display().to_string(),
        },
        rows: found.places.len() / found.dim,
        method: match args.method {
            ScaleMethod::Classical => "classical scaling",
            ScaleMethod::Majorised => "majorisation (SMACOF)",
            ScaleMethod::Annealed => "annealed majorisation",
        },
        aligned,
        dimensions: found.dim,
        stress: found.stress,
        relative_stress: found.relative_stress,
        steps: found.trace.iter().map(|step| step.iterations).sum(),
        unknown: found.unknown,
        asymmetry: found.asymmetry,
        seconds,
        threads,
        places: found
            .places
            .chunks_exact(found.dim)
            .map(<[f64]>::to_vec)
            .collect(),
        eigenvalues: found.eigenvalues,
    }
}
