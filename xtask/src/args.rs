//! The command line.

use lexopt::prelude::*;
use std::ffi::OsString;

/// What `cargo xtask --help` says.
pub(crate) const HELP: &str = "\
The project's recipes.

  cargo xtask test [CRATE]   the gate: fmt, clippy, tidy, tests, doc tests, examples, models, docs
      --quick                leave out doc tests, examples, models and docs
      --keep-going           go on after a step that failed
      --ci                   what is missing is a failure (also with CI=1 in the environment)
      --optional NAME        but not this: data, python, scikit-learn, mpi,
                             hosts, chromium or cc; may be repeated
      --preemptions N        of each loom model (2)
      --schedules N          of each shuttle program (1000)
  cargo xtask preflight      fmt, clippy, tidy: before a commit
      --keep-going
  cargo xtask tidy           the house rules
  cargo xtask loom [CRATE]   the models of concurrent code, every schedule of them
      --preemptions N        switches of thread at any point of a model (2)
      --keep-going
  cargo xtask shuttle [CRATE]   whole programs under many random schedules
      --schedules N          of each program and scheduler (1000)
      --keep-going
  cargo xtask stress [CRATE] the tests that repeat themselves, one after the other
      --seconds N            in all (600)
  cargo xtask deep [CRATE]   what takes longer than the gate may: tests called deep_, models
                             with more schedules, ten minutes of stress tests
      --keep-going
  cargo xtask mesh           links between processes by zenoh, and `motet mesh`: lints, tests, docs
      --keep-going
  cargo xtask counts         instructions that the core's paths take, beside the baseline (valgrind)
      --bless                what is counted becomes the baseline
  cargo xtask sanitize [CRATE]   the tests under AddressSanitizer and, with nightly, ThreadSanitizer
      --keep-going
  cargo xtask targets        the libraries are checked for other systems
      --keep-going
  cargo xtask docs           the API documentation, warnings are errors
      --open                 show it in a browser
  cargo xtask release        what is given to others, in target/release-artefacts: packages, program,
                             wheel, lists of what is in them, sums
      --version X.Y.Z        only set the version, and the heading of CHANGELOG.md
      --trial                what is not committed, or has no heading, is told and not refused
      --keep-going
  cargo xtask bench [ARGS]   motet bench ARGS, in release

CRATE is a package, with or without `motet-`.";

/// Each recipe and the options that it takes; `CRATE` is a package.
const RECIPES: &[(&str, &[&str])] = &[
    (
        "test",
        &[
            "CRATE",
            "quick",
            "keep-going",
            "ci",
            "optional",
            "preemptions",
            "schedules",
        ],
    ),
    ("preflight", &["keep-going"]),
    ("tidy", &[]),
    ("loom", &["CRATE", "keep-going", "preemptions"]),
    ("shuttle", &["CRATE", "keep-going", "schedules"]),
    ("stress", &["CRATE", "seconds"]),
    ("deep", &["CRATE", "keep-going"]),
    ("mesh", &["keep-going"]),
    ("counts", &["bless"]),
    ("sanitize", &["CRATE", "keep-going"]),
    ("targets", &["keep-going"]),
    ("docs", &["open"]),
    ("release", &["version", "trial", "keep-going"]),
];

/// What to do.
#[derive(Debug, PartialEq)]
pub(crate) enum Command {
    Help,
    /// A recipe by its name, with its options.
    Recipe(&'static str, Options),
    /// The benchmarks, which read their own command line.
    Bench(Vec<OsString>),
}

/// Every option that some recipe has.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Options {
    /// Only this package.
    pub(crate) package: Option<String>,
    /// Go on after a failure.
    pub(crate) keep_going: bool,
    /// Leave out the slow steps.
    pub(crate) quick: bool,
    /// What is missing is a failure.
    pub(crate) ci: bool,
    /// The needs that may be missing all the same.
    pub(crate) optional: Vec<String>,
    /// The bound on preemptions of each loom model.
    pub(crate) preemptions: usize,
    /// The number of schedules of each shuttle program.
    pub(crate) schedules: usize,
    /// How long stress tests take in all.
    pub(crate) seconds: f64,
    /// What is counted becomes the baseline.
    pub(crate) bless: bool,
    /// Show the documentation.
    pub(crate) open: bool,
    /// The version to set.
    pub(crate) version: Option<String>,
    /// A release that is not to be given to others.
    pub(crate) trial: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            package: None,
            keep_going: false,
            quick: false,
            ci: false,
            optional: Vec::new(),
            preemptions: 2,
            schedules: 1000,
            seconds: 600.0,
            bless: false,
            open: false,
            version: None,
            trial: false,
        }
    }
}

/// Reads the arguments that follow `cargo xtask`.
///
/// # Errors
/// What is wrong with them.
pub(crate) fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Command, String> {
    let mut args = args.into_iter();
    let recipe = args.next().unwrap_or_else(|| "help".into());
    let recipe = recipe.to_string_lossy();
    match &*recipe {
        "bench" => return Ok(Command::Bench(args.collect())),
        "help" | "-h" | "--help" => return Ok(Command::Help),
        _ => {}
    }
    let known = RECIPES.iter().find(|(name, _)| *name == recipe);
    let (name, known) = known.ok_or_else(|| format!("there is no recipe `{recipe}`"))?;
    let given = Options::read(args, known).map_err(|error| format!("{recipe}: {error}"))?;
    Ok(given.map_or(Command::Help, |options| Command::Recipe(name, options)))
}

impl Options {
    /// The options that are given, all of them known; nothing when help is asked for.
    fn read(
        args: impl Iterator<Item = OsString>,
        known: &[&str],
    ) -> Result<Option<Options>, lexopt::Error> {
        let mut parser = lexopt::Parser::from_args(args);
        let mut given = Options::default();
        while let Some(arg) = parser.next()? {
            let name = match &arg {
                Short('h') | Long("help") => return Ok(None),
                Long(name) => *name,
                Value(_) if given.package.is_none() => "CRATE",
                _ => return Err(arg.unexpected()),
            };
            if !known.contains(&name) {
                return Err(arg.unexpected());
            }
            match arg {
                Value(package) => given.package = Some(package.string()?),
                Long("keep-going") => given.keep_going = true,
                Long("quick") => given.quick = true,
                Long("ci") => given.ci = true,
                Long("bless") => given.bless = true,
                Long("open") => given.open = true,
                Long("trial") => given.trial = true,
                Long("version") => given.version = Some(version(parser.value()?.string()?)?),
                Long("optional") => given.optional.push(parser.value()?.string()?),
                Long("preemptions") => given.preemptions = parser.value()?.parse()?,
                Long("schedules") => given.schedules = parser.value()?.parse()?,
                Long("seconds") => {
                    given.seconds = parser.value()?.parse()?;
                    if !(given.seconds.is_finite() && given.seconds >= 0.0) {
                        let seconds = given.seconds;
                        return Err(format!("--seconds {seconds} is no length of time").into());
                    }
                }
                other => return Err(other.unexpected()),
            }
        }
        Ok(Some(given))
    }
}

/// A version of three numbers, with what may follow a dash.
fn version(text: String) -> Result<String, String> {
    let (numbers, rest) = text.split_once('-').unwrap_or((&text, "x"));
    let numbers: Vec<&str> = numbers.split('.').collect();
    let all = numbers.len() == 3 && numbers.iter().all(|one| one.parse::<u32>().is_ok());
    let named = |letter: char| letter.is_ascii_alphanumeric() || letter == '.';
    match all && !rest.is_empty() && rest.chars().all(named) {
        true => Ok(text),
        false => Err(format!("--version {text} is no version; write X.Y.Z")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Result<Command, String> {
        parse(line.split_whitespace().map(OsString::from))
    }

    #[test]
    fn the_gate_takes_its_options_in_any_order() {
        let wanted = Options {
            package: Some("ports".to_owned()),
            preemptions: 3,
            schedules: 9,
            keep_going: true,
            quick: true,
            ci: true,
            optional: vec!["data".to_owned()],
            ..Options::default()
        };
        let line =
            "test --quick ports --preemptions=3 --schedules 9 --keep-going --ci --optional data";
        assert_eq!(of(line), Ok(Command::Recipe("test", wanted)));
        assert_eq!(of("test"), Ok(Command::Recipe("test", Options::default())));
    }

    #[test]
    fn each_recipe_takes_its_options_and_no_others() {
        for line in [
            "preflight --keep-going",
            "loom comm --preemptions 3",
            "shuttle --schedules 5",
            "stress ports --seconds 2.5",
            "deep mpi",
            "mesh --keep-going",
            "counts --bless",
            "sanitize comm --keep-going",
            "docs --open",
            "release --trial --keep-going",
            "release --version 1.2.3",
            "release --version 1.2.3-rc.1",
        ] {
            assert!(matches!(of(line), Ok(Command::Recipe(..))), "{line}");
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
        let rest = ["ring", "--help"].map(OsString::from).to_vec();
        assert_eq!(of("bench ring --help"), Ok(Command::Bench(rest)));
    }

    #[test]
    fn nothing_and_help_are_help() {
        for line in ["", "help", "--help", "test --help"] {
            assert_eq!(of(line), Ok(Command::Help), "{line}");
        }
    }
}
