//! The command line.

use crate::needs::NEEDS;
use clap::builder::PossibleValuesParser;
use clap::{Args, Parser, Subcommand};
use std::ffi::OsString;

/// The project's recipes.
#[derive(Debug, Parser)]
#[command(bin_name = "cargo xtask", flatten_help = true, max_term_width = 100)]
pub(crate) struct Command {
    /// Go on after a step that failed
    #[arg(long, global = true)]
    pub(crate) keep_going: bool,
    #[command(subcommand)]
    pub(crate) recipe: Recipe,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Recipe {
    /// The gate: fmt, clippy, tidy, tests, doc tests, examples, models, docs
    Test(Test),
    /// Fmt, clippy, tidy: before a commit
    Preflight,
    /// The house rules
    Tidy,
    /// The models of concurrent code, every schedule of them
    Loom {
        #[command(flatten)]
        only: Only,
        /// Switches of thread at any point of a model
        #[arg(long, value_name = "N", default_value_t = 2)]
        preemptions: usize,
    },
    /// Whole programs under many random schedules
    Shuttle {
        #[command(flatten)]
        only: Only,
        /// Of each program and scheduler
        #[arg(long, value_name = "N", default_value_t = 1000)]
        schedules: usize,
    },
    /// The tests that repeat themselves, one after the other
    Stress {
        #[command(flatten)]
        only: Only,
        /// In all
        #[arg(long, value_name = "N", default_value_t = 600)]
        seconds: u32,
    },
    /// What takes longer than the gate may: tests called `deep_`, models with more schedules, ten
    /// minutes of stress tests
    Deep(Only),
    /// Links between processes by zenoh, and `motet mesh`: lints, tests, docs
    Mesh,
    /// Instructions that the core's paths take, beside the baseline (valgrind)
    Counts {
        /// What is counted becomes the baseline
        #[arg(long)]
        bless: bool,
    },
    /// The tests under AddressSanitizer and, with nightly, ThreadSanitizer
    Sanitize(Only),
    /// The libraries are checked for other systems
    Targets,
    /// The API documentation, warnings are errors
    Docs {
        /// Show it in a browser
        #[arg(long)]
        open: bool,
    },
    /// What is given to others, in target/release-artefacts: packages, program, wheel, lists of
    /// what is in them, sums
    Release {
        /// Only set the version, and the heading of CHANGELOG.md
        #[arg(long, value_name = "X.Y.Z")]
        version: Option<semver::Version>,
        /// What is not committed, or has no heading, is told and not refused
        #[arg(long)]
        trial: bool,
    },
    /// `motet bench`, in release
    #[command(disable_help_flag = true)]
    Bench {
        /// The benchmarks read their own command line
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<OsString>,
    },
}

/// What a recipe is about.
#[derive(Debug, Args)]
pub(crate) struct Only {
    /// A package, with or without `motet-`
    #[arg(value_name = "CRATE")]
    pub(crate) package: Option<String>,
}

/// The options of the gate.
#[derive(Debug, Args)]
pub(crate) struct Test {
    #[command(flatten)]
    pub(crate) only: Only,
    /// Leave out doc tests, examples, models and docs
    #[arg(long)]
    pub(crate) quick: bool,
    /// What is missing is a failure (also with CI=1 in the environment)
    #[arg(long)]
    pub(crate) ci: bool,
    /// But not this; may be repeated
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(NEEDS.map(|(name, _)| name)))]
    pub(crate) optional: Vec<String>,
    /// Of each loom model
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub(crate) preemptions: usize,
    /// Of each shuttle program
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub(crate) schedules: usize,
}

impl Recipe {
    /// The package that is asked for.
    pub(crate) fn package(&self) -> Option<&str> {
        match self {
            Recipe::Test(Test { only, .. })
            | Recipe::Loom { only, .. }
            | Recipe::Shuttle { only, .. }
            | Recipe::Stress { only, .. }
            | Recipe::Deep(only)
            | Recipe::Sanitize(only) => only.package.as_deref(),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Result<Command, clap::Error> {
        Command::try_parse_from(std::iter::once("xtask").chain(line.split_whitespace()))
    }

    #[test]
    fn the_gate_takes_its_options_in_any_order() {
        let line =
            "test --quick ports --preemptions=3 --schedules 9 --keep-going --ci --optional data";
        let command = of(line).unwrap();
        assert_eq!(command.recipe.package(), Some("ports"));
        let Recipe::Test(test) = command.recipe else {
            panic!("{command:?}");
        };
        assert!(command.keep_going && test.quick && test.ci);
        assert_eq!((test.preemptions, test.schedules), (3, 9));
        assert_eq!(test.optional, ["data"]);
    }

    #[test]
    fn each_recipe_takes_its_options_and_no_others() {
        for line in [
            "preflight --keep-going",
            "loom comm --preemptions 3",
            "shuttle --schedules 5",
            "stress ports --seconds 2",
            "deep mpi",
            "mesh --keep-going",
            "counts --bless",
            "sanitize comm --keep-going",
            "docs --open",
            "release --trial --keep-going",
            "release --version 1.2.3",
            "release --version 1.2.3-rc.1",
        ] {
            assert!(of(line).is_ok(), "{line}");
        }
        for line in [
            "tidy ports",
            "preflight --quick",
            "docs --ci",
            "counts ports",
            "sanitize --bless",
            "deep --quick",
            "mesh ports",
            "loom a b",
            "loom --preemptions x",
            "loom --schedules 5",
            "shuttle --preemptions 2",
            "stress --seconds -1",
            "stress --seconds x",
            "test --optional",
            "test --optional sklearn",
            "release ports",
            "release --version 1.2",
            "release --version v1.2.3",
            "release --version 1.2.3-",
            "odd",
        ] {
            assert!(of(line).is_err(), "{line}");
        }
    }

    #[test]
    fn the_benchmarks_take_everything_that_follows() {
        let Recipe::Bench { args } = of("bench ring --help").unwrap().recipe else {
            panic!("no benchmarks");
        };
        assert_eq!(args, ["ring", "--help"]);
    }

    #[test]
    fn help_names_every_option_of_every_recipe() {
        let help = of("help").unwrap_err().to_string();
        for word in [
            "sanitize",
            "--preemptions",
            "--trial",
            "scikit-learn",
            "X.Y.Z",
        ] {
            assert!(help.contains(word), "{word}");
        }
    }
}
