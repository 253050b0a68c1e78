//! From the arguments to an exit code.

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};

use crate::args::{Cli, Command};
#[cfg(feature = "bench")]
use crate::bench;
#[cfg(feature = "bench")]
use crate::error::BenchError;
use crate::error::{CliError, OptionError, OutputError};
#[cfg(feature = "mesh")]
use crate::mesh;
use crate::stdout::lost;
use crate::usage::{command_of, one_line};
#[cfg(not(feature = "bench"))]
use crate::without_bench as bench;
#[cfg(not(feature = "mesh"))]
use crate::without_mesh as mesh;
use crate::{
    bits, call, cluster, distance, doctor, flow, hmm, keys, manual, mixture, own, pairwise, run,
    scale, serve, watch,
};
#[cfg(unix)]
use crate::{signals, supervise};

/// Runs the program with these arguments, the first of which is its own name.
///
/// Prints results on standard output and everything else on standard error. The first call in a
/// process takes over its interrupt signal, unless it is ignored, and that of files that grow too
/// large. `motet run` replaces the process by
/// the launcher, so it returns only when that does not start.
///
/// Returns 0 when done, 1 after a fault of the program, 2 after a wrong file, column, value or
/// option, 130 when interrupted.
pub fn main<I, T>(arguments: I) -> ExitCode
where
    I: IntoIterator<Item = T>,
    T: Into<OsString> + Clone,
{
    ExitCode::from(status(arguments))
}

/// As [`main`]; the exit code as a number.
pub fn status<I, T>(arguments: I) -> u8
where
    I: IntoIterator<Item = T>,
    T: Into<OsString> + Clone,
{
    let arguments: Vec<OsString> = arguments.into_iter().map(Into::into).collect();
    own::remember(&arguments);
    #[cfg(unix)]
    signals::large_files_are_errors();
    let cli = match Cli::try_parse_from(&arguments) {
        Ok(cli) => cli,
        Err(error) => return answer(&error, &arguments),
    };
    let done = match cli.command {
        Command::Cluster(args) if bits::is_wanted(&args) => bits::run(args),
        Command::Cluster(args) if pairwise::is_wanted(&args) => pairwise::run(args),
        Command::Cluster(args) => cluster::run(args),
        Command::Mixture(args) => mixture::run(&args),
        Command::Hmm(args) => hmm::run(&args),
        Command::Distance(args) => distance::run(&args),
        Command::Scale(args) => scale::run(&args),
        Command::Serve(args) => serve::run(&args),
        Command::Call(args) => call::run(args),
        Command::Watch(args) => watch::run(&args),
        Command::Flow(args) => flow::run(&args),
        Command::Keys(args) => keys::run(&args),
        Command::Mesh(args) => mesh::run(&args),
        Command::Bench(args) => bench::run(args),
        Command::Run(args) => run::run(&args),
        Command::Doctor(args) => doctor::run(&args),
        Command::Completions(args) => manual::completions(&args, Cli::command()),
        Command::Man(args) => manual::man(&args, Cli::command()),
        #[cfg(unix)]
        Command::Supervise(args) => supervise::run(args),
    };
    ended(done)
}

fn ended(done: Result<(), CliError>) -> u8 {
    match done {
        // A reader that went away, as in `motet --help | head -1`, has seen what it wanted.
        Ok(()) | Err(CliError::Output(OutputError::Closed)) => 0,
        Err(error) => refuse(&error),
    }
}

/// Help and version as clap prints them; wrong arguments as one line.
fn answer(error: &clap::Error, arguments: &[OsString]) -> u8 {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            let printed = error.print().and_then(|()| io::stdout().flush());
            printed.map_or_else(|source| ended(Err(lost(source))), |()| 0)
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let _ = error.print();
            2
        }
        _ => refuse(&CliError::Options(OptionError::Usage {
            what: one_line(error),
            command: command_of(&Cli::command(), arguments),
        })),
    }
}

fn refuse(error: &CliError) -> u8 {
    // One line, whatever the names of files and columns hold.
    let text: String = error
        .to_string()
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    // Nothing is left to do when standard error is gone too.
    let _ = writeln!(io::stderr(), "motet: {text}");
    match error {
        CliError::Cancelled => 130,
        #[cfg(feature = "bench")]
        CliError::Bench(BenchError::Interrupted { .. }) => 130,
        #[cfg(feature = "bench")]
        CliError::Bench(_) => 2,
        CliError::Run(_) | CliError::Flow(_) => 1,
        CliError::Options(_)
        | CliError::Input(_)
        | CliError::Output(_)
        | CliError::Data(_)
        | CliError::Few { .. }
        | CliError::Mpi(_)
        | CliError::World(_)
        | CliError::Elsewhere { .. }
        | CliError::Start(_)
        | CliError::Service(_) => 2,
    }
}
