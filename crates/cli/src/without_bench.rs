//! `motet bench` in a program that was built without the experiments: it says how to get them.

use std::ffi::OsString;

use clap::Args;

use crate::error::{CliError, OptionError};

/// How a program with experiments is built.
const HOW: &str = "this program was built without its experiments; in the project's folder: \
                   cargo run --release --features bench -- bench list";

/// Arguments of `motet bench`, which this program cannot use.
#[derive(Debug, Clone, Args)]
#[command(after_help = HOW)]
pub struct BenchArgs {
    /// An experiment and its options
    #[arg(
        value_name = "EXPERIMENT",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    pub rest: Vec<OsString>,
}

/// Says that there are no experiments.
///
/// # Errors
/// Always [`CliError::Options`].
pub(crate) fn run(_: BenchArgs) -> Result<(), CliError> {
    Err(CliError::Options(OptionError::Usage {
        what: HOW.to_owned(),
        command: "motet".to_owned(),
    }))
}
