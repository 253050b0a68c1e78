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
                             hosts or chromium; may be repeated
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
  cargo xtask counts         instructions that the core's paths take, beside the baseline (valgrind)
      --bless                what is counted becomes the baseline
  cargo xtask sanitize [CRATE]   the tests under AddressSanitizer and, with nightly, ThreadSanitizer
      --keep-going
  cargo xtask docs           the API documentation, warnings are errors
      --open                 show it in a browser
  cargo xtask bench [ARGS]   motet bench ARGS, in release

CRATE is a package, with or without `motet-`.";

/// What to do.
#[derive(Debug, PartialEq)]
pub(crate) enum Command {
    Help,
    Test(TestOptions),
    Preflight { keep_going: bool },
    Tidy,
    Models(Checker, ModelOptions),
    Stress(StressOptions),
    Deep(DeepOptions),
    Counts { bless: bool },
    Sanitize(SanitizeOptions),
    Docs { open: bool },
    Bench(Vec<OsString>),
}

/// How to run the gate.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct TestOptions {
    /// Leave out the slow steps.
    pub(crate) quick: bool,
    /// What is missing is a failure.
    pub(crate) ci: bool,
    /// The needs that may be missing all the same.
    pub(crate) optional: Vec<String>,
    /// The crate, the models and whether to go on after a failure.
    pub(crate) models: ModelOptions,
}

/// Who decides, in a model, which thread goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Checker {
    Loom,
    Shuttle,
}

/// How to run the models.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ModelOptions {
    /// Only this package.
    pub(crate) package: Option<String>,
    /// The bound on preemptions of each loom model.
    pub(crate) preemptions: usize,
    /// The number of schedules of each shuttle program.
    pub(crate) schedules: usize,
    /// Go on after a failure.
    pub(crate) keep_going: bool,
}

impl Default for ModelOptions {
    fn default() -> ModelOptions {
        ModelOptions {
            package: None,
            preemptions: 2,
            schedules: 1000,
            keep_going: false,
        }
    }
}

/// How to run the stress tests.
#[derive(Debug, PartialEq)]
pub(crate) struct StressOptions {
    /// Only this package.
    pub(crate) package: Option<String>,
    /// How long they take in all.
    pub(crate) seconds: f64,
}

/// How to run what takes long.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct DeepOptions {
    /// Only this package.
    pub(crate) package: Option<String>,
    /// Go on after a failure.
    pub(crate) keep_going: bool,
}

/// How to run the tests under the sanitizer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SanitizeOptions {
    /// Only this package.
    pub(crate) package: Option<String>,
    /// Go on after a failure.
    pub(crate) keep_going: bool,
}

/// Reads the arguments that follow `cargo xtask`.
///
/// # Errors
/// What is wrong with them.
pub(crate) fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Command, String> {
    let mut args = args.into_iter();
    let recipe = args.next().map_or_else(
        || "help".to_owned(),
        |arg| arg.to_string_lossy().into_owned(),
    );
    let known: &[&str] = match recipe.as_str() {
        "bench" => return Ok(Command::Bench(args.collect())),
        "test" => &[
            "CRATE",
            "quick",
            "keep-going",
            "ci",
            "optional",
            "preemptions",
            "schedules",
        ],
        "preflight" => &["keep-going"],
        "loom" => &["CRATE", "keep-going", "preemptions"],
        "shuttle" => &["CRATE", "keep-going", "schedules"],
        "stress" => &["CRATE", "seconds"],
        "counts" => &["bless"],
        "deep" => &["CRATE", "keep-going"],
        "sanitize" => &["CRATE", "keep-going"],
        "docs" => &["open"],
        "tidy" => &[],
        "help" | "-h" | "--help" => return Ok(Command::Help),
        _ => return Err(format!("there is no recipe `{recipe}`")),
    };
    let given = Given::read(args, known).map_err(|error| format!("{recipe}: {error}"))?;
    let Given {
        help,
        open,
        bless,
        seconds,
        test,
    } = given;
    Ok(match recipe.as_str() {
        _ if help => Command::Help,
        "test" => Command::Test(test),
        "preflight" => Command::Preflight {
            keep_going: test.models.keep_going,
        },
        "loom" => Command::Models(Checker::Loom, test.models),
        "shuttle" => Command::Models(Checker::Shuttle, test.models),
        "stress" => Command::Stress(StressOptions {
            package: test.models.package,
            seconds: seconds.unwrap_or(600.0),
        }),
        "counts" => Command::Counts { bless },
        "deep" => Command::Deep(DeepOptions {
            package: test.models.package,
            keep_going: test.models.keep_going,
        }),
        "sanitize" => Command::Sanitize(SanitizeOptions {
            package: test.models.package,
            keep_going: test.models.keep_going,
        }),
        "docs" => Command::Docs { open },
        _ => Command::Tidy,
    })
}

/// Every option that some recipe has.
#[derive(Default)]
struct Given {
    help: bool,
    open: bool,
    bless: bool,
    seconds: Option<f64>,
    test: TestOptions,
}

impl Given {
    fn read(args: impl Iterator<Item = OsString>, known: &[&str]) -> Result<Given, lexopt::Error> {
        let mut parser = lexopt::Parser::from_args(args);
        let mut given = Given::default();
        while let Some(arg) = parser.next()? {
            match arg {
                Short('h') | Long("help") => given.help = true,
                Long("open") if known.contains(&"open") => given.open = true,
                Long("bless") if known.contains(&"bless") => given.bless = true,
                Long("quick") if known.contains(&"quick") => given.test.quick = true,
                Long("ci") if known.contains(&"ci") => given.test.ci = true,
                Long("keep-going") if known.contains(&"keep-going") => {
                    given.test.models.keep_going = true
                }
                Long("optional") if known.contains(&"optional") => {
                    given.test.optional.push(parser.value()?.string()?);
                }
                Long("preemptions") if known.contains(&"preemptions") => {
                    given.test.models.preemptions = parser.value()?.parse()?;
                }
                Long("seconds") if known.contains(&"seconds") => {
                    let seconds: f64 = parser.value()?.parse()?;
                    if !(seconds.is_finite() && seconds >= 0.0) {
                        return Err(format!("--seconds {seconds} is no length of time").into());
                    }
                    given.seconds = Some(seconds);
                }
                Long("schedules") if known.contains(&"schedules") => {
                    given.test.models.schedules = parser.value()?.parse()?;
                }
                Value(package)
                    if known.contains(&"CRATE") && given.test.models.package.is_none() =>
                {
                    given.test.models.package = Some(package.string()?);
                }
                other => return Err(other.unexpected()),
            }
        }
        Ok(given)
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
        let models = ModelOptions {
            package: Some("ports".to_owned()),
            preemptions: 3,
            schedules: 9,
            keep_going: true,
        };
        let wanted = TestOptions {
            quick: true,
            ci: true,
            optional: vec!["data".to_owned()],
            models,
        };
        let line =
            "test --quick ports --preemptions=3 --schedules 9 --keep-going --ci --optional data";
        assert_eq!(of(line), Ok(Command::Test(wanted)));
        assert_eq!(of("test"), Ok(Command::Test(TestOptions::default())));
    }

    #[test]
    fn a_recipe_refuses_what_is_another_recipes() {
        for line in [
            "tidy ports",
            "preflight --quick",
            "docs --ci",
            "counts ports",
            "sanitize --bless",
            "deep --quick",
            "loom a b",
            "loom --preemptions x",
            "loom --schedules 5",
            "shuttle --preemptions 2",
            "stress --seconds -1",
            "stress --seconds x",
            "test --optional",
            "odd",
        ] {
            assert!(of(line).is_err(), "{line}");
        }
    }

    #[test]
    fn stress_lasts_as_long_as_one_says() {
        let wanted = |package: Option<&str>, seconds| {
            let package = package.map(str::to_owned);
            Ok(Command::Stress(StressOptions { package, seconds }))
        };
        assert_eq!(of("stress"), wanted(None, 600.0));
        assert_eq!(of("stress ports --seconds 2.5"), wanted(Some("ports"), 2.5));
    }

    #[test]
    fn counts_and_sanitizers_take_their_options() {
        assert_eq!(of("counts"), Ok(Command::Counts { bless: false }));
        assert_eq!(of("counts --bless"), Ok(Command::Counts { bless: true }));
        let options = SanitizeOptions {
            package: Some("comm".to_owned()),
            keep_going: true,
        };
        let line = "sanitize comm --keep-going";
        assert_eq!(of(line), Ok(Command::Sanitize(options)));
        let options = DeepOptions {
            package: Some("mpi".to_owned()),
            keep_going: false,
        };
        assert_eq!(of("deep mpi"), Ok(Command::Deep(options)));
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
