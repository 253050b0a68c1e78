//! `motet mesh` in a program that was built without links between processes: it says how to get
//! them.

use std::ffi::OsString;

use clap::Args;

use crate::error::{CliError, OptionError};

/// How a program with a mesh is built.
const HOW: &str = "this program was built without the mesh; in the project's folder: \
                   cargo run --release --features mesh -- mesh peers";

/// Arguments of `motet mesh`, which this program cannot use.
#[derive(Debug, Clone, Args)]
#[command(after_help = HOW)]
pub struct MeshArgs {
    /// What to do, and its options
    #[arg(
        value_name = "WHAT",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    pub rest: Vec<OsString>,
}

/// Says that there is no mesh.
///
/// # Errors
/// Always [`CliError::Options`].
pub(crate) fn run(_: &MeshArgs) -> Result<(), CliError> {
    Err(CliError::Options(OptionError::Usage {
        what: HOW.to_owned(),
    }))
}
