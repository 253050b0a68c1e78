//! What can go wrong, in one line each: what, where, what to do.

#[cfg(feature = "bench")]
mod bench;
mod input;

#[cfg(feature = "bench")]
pub use bench::BenchError;
pub use input::{InputError, InputPosition};

use std::io;
use std::path::PathBuf;

use motet::CurrentError;
use motet_mining::{DataError, MiningError};
use motet_mpi::MpiError;
use thiserror::Error;

/// The program cannot do what was asked.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CliError {
    /// An option is wrong or missing.
    #[error(transparent)]
    Options(#[from] OptionError),
    /// The file cannot be read as a table of numbers.
    #[error(transparent)]
    Input(#[from] InputError),
    /// The results cannot be written.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// The data cannot be clustered as asked.
    #[error("{0}")]
    Data(String),
    /// There are fewer rows than parts they are to have.
    #[error("{asked} {what} are asked for and {there}: ask for fewer")]
    Few {
        /// Clusters, components or states.
        what: &'static str,
        /// How many.
        asked: usize,
        /// What there is, in words.
        there: String,
    },
    /// There is no MPI library to start processes with, or it fails.
    #[error("{0}")]
    Mpi(#[from] MpiError),
    /// This process cannot find the world that it was started in.
    #[error("{0}")]
    World(#[from] CurrentError),
    /// Something cannot be started.
    #[error(transparent)]
    Start(#[from] ProgramStartError),
    /// A service, or the node that should serve it, has refused.
    #[error("{0}")]
    Service(String),
    /// A workflow has not come to its end.
    #[error("{0}")]
    Flow(String),
    /// Another process of the run has refused.
    #[error("process {process}: {message}")]
    Elsewhere {
        /// The process.
        process: usize,
        /// What it says.
        message: String,
    },
    /// The run was cancelled by the user.
    #[error("cancelled: nothing was written")]
    Cancelled,
    /// Something cannot be measured as asked, or has ended early.
    #[cfg(feature = "bench")]
    #[error(transparent)]
    Bench(#[from] BenchError),
    /// The run failed though data and options are right.
    #[error("the run failed: {0}: please report it")]
    Run(String),
}

/// An option is wrong or missing.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum OptionError {
    /// The command line cannot be read.
    #[error("{what}: see {command} --help")]
    Usage {
        /// What is wrong with it.
        what: String,
        /// The command whose help has its options.
        command: String,
    },
    /// Nothing says how many clusters or components there are to be.
    #[error("the number of {what} is missing: {advice}")]
    NoClusters {
        /// Clusters or components.
        what: &'static str,
        /// What to give.
        advice: &'static str,
    },
    /// A value is out of range.
    #[error("{option} is {value}: {advice}")]
    Value {
        /// The option.
        option: &'static str,
        /// Its value.
        value: String,
        /// What it can be.
        advice: &'static str,
    },
    /// Two options do not go together.
    #[error("{option} does not go with {other}: {advice}")]
    Conflict {
        /// The first.
        option: &'static str,
        /// The second.
        other: &'static str,
        /// What to give instead.
        advice: &'static str,
    },
}

/// Results cannot be written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum OutputError {
    /// The folder's path, or one above it, is a file.
    #[error(
        "--out {path}: {file} is not a directory: give another folder",
        path = path.display(),
        file = file.display()
    )]
    NotADirectory {
        /// The folder asked for.
        path: PathBuf,
        /// What is in its way.
        file: PathBuf,
    },
    /// A directory has the name of a result.
    #[error("{path} is a directory: remove it or give another --out", path = path.display())]
    InTheWay {
        /// The directory.
        path: PathBuf,
    },
    /// What has the name of a result takes no bytes one after the other.
    #[error("{path} is no file and no pipe: give another --out", path = path.display())]
    NoFile {
        /// What is there.
        path: PathBuf,
    },
    /// The file that is read has the name of a result.
    #[error("{path} is read, and would be written over: give another --out", path = path.display())]
    Input {
        /// The file.
        path: PathBuf,
    },
    /// A file or folder cannot be written.
    #[error(
        "cannot write {path}: {source}: give another --out or make room",
        path = path.display()
    )]
    Write {
        /// What could not be written.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// Nobody reads standard output any more.
    #[error("standard output is closed: nobody reads the results")]
    Closed,
    /// Standard output cannot be written.
    #[error("cannot write the results to standard output: {source}: check where it goes")]
    Stdout {
        /// The system's reason.
        source: io::Error,
    },
}

/// Another program cannot be started.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ProgramStartError {
    /// There is no such program here, or it may not be executed.
    #[error("no program {program}: give the path of an executable file after --", program = program.display())]
    NoProgram {
        /// The program asked for.
        program: PathBuf,
    },
    /// There is no Slurm here.
    #[error("no program sbatch here: print the script with --dry-run and submit it where Slurm is")]
    NoSlurm,
    /// The MPI library that was named cannot be opened.
    #[error("{library} does not work: {problem}", library = library.display())]
    Library {
        /// The library.
        library: PathBuf,
        /// What happened when it was to be opened, and what to do.
        problem: String,
    },
    /// The launcher does not start.
    #[error("cannot start {launcher}: {source}: check its permissions", launcher = launcher.display())]
    Launcher {
        /// The launcher.
        launcher: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The launcher has refused.
    #[error(
        "{launcher} ended with {code}: see what it says above",
        launcher = launcher.display(),
        code = code.map_or("a signal".to_owned(), |code| format!("exit code {code}"))
    )]
    Refused {
        /// The launcher.
        launcher: PathBuf,
        /// Its exit code.
        code: Option<i32>,
    },
}

impl CliError {
    /// The same, where the parts of the rows are no clusters.
    pub(crate) fn of(self, what: &'static str) -> CliError {
        match self {
            CliError::Few { asked, there, .. } => CliError::Few { what, asked, there },
            other => other,
        }
    }
}

/// A launcher, or the program that it is to start, cannot be started.
pub(crate) fn not_started(launcher: PathBuf, source: std::io::Error) -> CliError {
    CliError::Start(ProgramStartError::Launcher { launcher, source })
}

/// Tells apart what the user can mend and what is a fault of the program.
pub(crate) fn refusal(error: MiningError) -> CliError {
    match error {
        MiningError::Cancelled => CliError::Cancelled,
        MiningError::FewPoints { clusters, points } => CliError::Few {
            what: "clusters",
            asked: clusters,
            there: format!("there are {points} points"),
        },
        MiningError::FewDistinctPoints { clusters, distinct } => CliError::Few {
            what: "clusters",
            asked: clusters,
            there: format!("only {distinct} points of positive weight are different"),
        },
        MiningError::Parameter(error) => CliError::Data(error.to_string()),
        // Numbers are from 1 in all that the program says.
        MiningError::Degenerate { component, problem } => {
            CliError::Data(format!("component {} {problem}", component + 1))
        }
        MiningError::Impossible { sequence, position } => CliError::Data(format!(
            "sequence {} is impossible from place {} on: give the model a chance of it",
            sequence + 1,
            position + 1
        )),
        MiningError::Fell {
            quantity,
            step,
            before,
            after,
        } => moved(quantity, "fell", step, [before, after]),
        MiningError::Rose {
            quantity,
            step,
            before,
            after,
        } => moved(quantity, "rose", step, [before, after]),
        MiningError::Checkpoint { .. } => CliError::Data(error.to_string()),
        // As all errors of pairs: numpy counts so.
        MiningError::Data(
            error @ (DataError::NoKnownPair { .. } | DataError::NotLinked { .. }),
        ) => CliError::Data(format!("{error} (rows from 0)")),
        // Columns that are left out have no number there.
        MiningError::Data(DataError::LargeValue { column, value, .. }) => CliError::Data(format!(
            "column {} of those in use holds {value:e}: sums of its squares are beyond all \
             numbers: divide it by a large one, or give --standardise",
            column + 1
        )),
        MiningError::Data(error) => CliError::Data(error.to_string()),
        other => CliError::Run(format!("{other:?}")),
    }
}

/// A quantity that went the way that it cannot go.
fn moved(quantity: &str, way: &str, step: usize, [before, after]: [f64; 2]) -> CliError {
    CliError::Run(format!(
        "{quantity} {way} from {before} to {after} at step {}",
        step + 1
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_pairs_say_that_they_are_numbered_from_0() {
        for error in [
            DataError::NoKnownPair { row: 3 },
            DataError::NotLinked { row: 3 },
        ] {
            let told = refusal(MiningError::Data(error)).to_string();
            assert!(told.contains("row 3"), "{told}");
            assert!(told.ends_with("(rows from 0)"), "{told}");
        }
    }

    #[test]
    fn a_column_of_large_values_is_counted_from_1() {
        let (row, column, value) = (7, 2, -1e200);
        let error = DataError::LargeValue { row, column, value };
        let told = refusal(MiningError::Data(error)).to_string();
        assert!(
            told.contains("column 3 of those in use holds -1e200"),
            "{told}"
        );
    }

    #[test]
    fn faults_of_a_run_are_told_in_words() {
        let error = MiningError::Fell {
            quantity: "ln p",
            step: 4,
            before: -2.0,
            after: -2.5,
        };
        let told = refusal(error).to_string();
        let words = "the run failed: ln p fell from -2 to -2.5 at step 5: please report it";
        assert_eq!(told, words);
    }

    #[test]
    fn sequences_and_places_are_numbered_from_1() {
        let error = MiningError::Impossible {
            sequence: 0,
            position: 2,
        };
        let told = refusal(error).to_string();
        assert!(
            told.starts_with("sequence 1 is impossible from place 3 on"),
            "{told}"
        );
    }
}
