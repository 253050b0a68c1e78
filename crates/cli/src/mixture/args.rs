//! The options of `motet mixture`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use motet_mining::{Covariance, Criterion};
use serde::Serialize;

use crate::amount::{count, not_negative};
use crate::error::OptionError;
use crate::model::{CURVE, LABELS, MAP, MODEL, ModelArgs, TRACE};
use crate::table::RowArgs;

/// Options of `motet mixture`.
#[derive(Debug, Clone, Args)]
#[command(
    about = "Fit a mixture of normal distributions to a table of numbers",
    long_about = "Fit a mixture of normal distributions to a table of numbers, by expectation and \
                  maximisation.\n\nReads CSV, or a two-dimensional .npy array, plain or packed by \
                  gzip or zstd, with one point per row. Prints the components by weight with their \
                  means and standard deviations. Component 1 has the largest weight.",
    after_help = "Examples: motet mixture --help",
    after_long_help = HELP_TAIL
)]
pub struct MixtureArgs {
    /// The table; - reads standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    /// What the rows are.
    #[command(flatten)]
    pub table: RowArgs,

    /// How to fit.
    #[command(flatten)]
    pub fit: MixtureFitArgs,

    /// Do not fit: give each row its component by this model.json of an earlier run
    #[arg(long, value_name = "FILE", help_heading = "Components")]
    #[arg(conflicts_with_all = [
        "at_most", "criterion", "covariance", "starts", "seed", "floor", "tolerance", "iterations"
    ])]
    pub model: Option<PathBuf>,

    /// What to do with the result.
    #[command(flatten)]
    pub results: ModelArgs,
}

/// Options that say how to fit.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Components")]
pub struct MixtureFitArgs {
    /// Number of components, or auto: the one from 1 to --at-most with the least criterion
    #[arg(short = 'k', long, value_name = "K|auto", value_parser = components)]
    pub components: Option<ComponentCount>,

    /// Most components that auto tries [default: 10]
    #[arg(long, value_name = "K", value_parser = count())]
    pub at_most: Option<usize>,

    /// What auto makes least [default: bic]
    #[arg(long, value_enum)]
    pub criterion: Option<WhichCriterion>,

    /// The shape of the covariances
    #[arg(long, value_enum, default_value_t = ShapeOfCovariance::Full)]
    pub covariance: ShapeOfCovariance,

    /// Starts: the first from annealing, the others from K-means; the largest likelihood counts
    #[arg(long, value_name = "N", value_parser = count(), default_value_t = 1)]
    pub starts: usize,

    /// Seed of the random numbers of the starts after the first [default: 0]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,

    /// What is added to each variance
    #[arg(
        long,
        value_name = "V",
        default_value_t = 1e-6,
        value_parser = not_negative,
        allow_negative_numbers = true
    )]
    pub floor: f64,

    /// A start ends when the mean of ln p grows by less than this
    #[arg(
        long,
        value_name = "D",
        default_value_t = 1e-3,
        value_parser = not_negative,
        allow_negative_numbers = true
    )]
    pub tolerance: f64,

    /// Most steps of a start
    #[arg(long, value_name = "N", value_parser = count(), default_value_t = 100)]
    pub iterations: usize,
}

/// How many components.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ComponentCount {
    /// So many.
    Exactly(usize),
    /// As many as the criterion says.
    Auto,
}

fn components(text: &str) -> Result<ComponentCount, String> {
    match text.parse() {
        _ if text == "auto" => Ok(ComponentCount::Auto),
        Ok(components) if components > 0 => Ok(ComponentCount::Exactly(components)),
        _ => Err("give a number from 1, or auto".to_owned()),
    }
}

/// What is made least.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum WhichCriterion {
    /// Schwarz's criterion, -2 ln L + p ln N
    Bic,
    /// Akaike's criterion, -2 ln L + 2 p
    Aic,
}

impl From<WhichCriterion> for Criterion {
    fn from(which: WhichCriterion) -> Criterion {
        match which {
            WhichCriterion::Bic => Criterion::Bic,
            WhichCriterion::Aic => Criterion::Aic,
        }
    }
}

/// The shape of the covariances.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ShapeOfCovariance {
    /// Each component has a matrix
    Full,
    /// All components have one matrix
    Tied,
    /// Each component has a variance per column
    Diagonal,
    /// Each component has one variance
    Spherical,
}

impl From<ShapeOfCovariance> for Covariance {
    fn from(shape: ShapeOfCovariance) -> Covariance {
        match shape {
            ShapeOfCovariance::Full => Covariance::Full,
            ShapeOfCovariance::Tied => Covariance::Tied,
            ShapeOfCovariance::Diagonal => Covariance::Diagonal,
            ShapeOfCovariance::Spherical => Covariance::Spherical,
        }
    }
}

impl MixtureFitArgs {
    /// The most components that auto tries.
    pub(super) fn at_most(&self) -> usize {
        self.at_most.unwrap_or(10)
    }

    /// What auto makes least.
    pub(super) fn criterion(&self) -> WhichCriterion {
        self.criterion.unwrap_or(WhichCriterion::Bic)
    }

    /// What is for auto or for several starts goes with nothing else.
    fn check(&self) -> Result<(), OptionError> {
        let of_auto = self.at_most.map(|_| "--at-most");
        let of_auto = of_auto.or(self.criterion.map(|_| "--criterion"));
        match (self.components, of_auto, self.seed) {
            (Some(ComponentCount::Exactly(_)), Some(option), _) => Err(OptionError::Conflict {
                option,
                other: "a number of components",
                advice: "leave it out, or give --components auto",
            }),
            (.., Some(_)) if self.starts == 1 => Err(OptionError::Conflict {
                option: "--seed",
                other: "one start",
                advice: "it uses no random numbers; leave it out, or give more --starts",
            }),
            _ => Ok(()),
        }
    }
}

impl MixtureArgs {
    /// Options that do not go together.
    pub(super) fn check(&self) -> Result<(), OptionError> {
        if self.model.is_some() {
            self.results.keep.refuse("--model")?;
        }
        match (&self.model, self.fit.components) {
            (None, None) => Err(OptionError::NoClusters {
                what: "components",
                advice: "give --components K, or --components auto, or --model FILE",
            }),
            (Some(_), Some(_)) => Err(OptionError::Conflict {
                option: "--components",
                other: "--model",
                advice: "leave one out: a model has its components",
            }),
            _ => self.fit.check(),
        }
    }

    /// The files that will be written.
    pub(super) fn files(&self) -> Vec<&'static str> {
        match self.model {
            Some(_) => vec![LABELS, MAP],
            None => vec![LABELS, MODEL, TRACE, MAP, CURVE],
        }
    }
}

const HELP_TAIL: &str = "\
Examples:
  motet mixture iris.csv --columns 1,2,3,4 -k 3 --out out
      three components; files and pictures go to the folder out
  motet mixture iris.csv --columns 1,2,3,4 -k auto --covariance diagonal --starts 5
      as many components as have the least BIC, each number from five starts
  motet mixture new.csv --model out/model.json --json
      the components of other rows by a model that is there already

Files in the folder of --out, all or none; files of these names are replaced:
  labels.csv   row (from 1), the columns of --keep, the columns, cluster: the component
  model.json   the model, for --model
  trace.json   the mean of ln p before each step
  map.svg      the rows in the plane, with ellipses of two standard deviations
  trace.svg    the mean of ln p before each step, as a picture

Fields of --json: points, columns, covariance, components, criterion, tried (components,
  log_likelihood, bic, aic), log_likelihood (mean of ln p), bic, aic, converged, start,
  run_seconds, threads, scaling, profile, table (component, size, weight, mean,
  deviation, covariance), trace, file, standardised, missing, files, motet (the version)

Exit codes: 0 done, 2 a wrong file, column, value or option, 130 interrupted, 1 a fault";
