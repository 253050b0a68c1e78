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

/// What nodes of a mesh would listen on: nothing.
#[derive(Debug, serde::Serialize)]
pub(crate) struct Listens {
    problem: &'static str,
}

impl Listens {
    pub(crate) fn here() -> Listens {
        Listens { problem: HOW }
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        vec![self.problem.to_owned()]
    }
}

/// Says that there is no mesh.
///
/// # Errors
/// Always [`CliError::Options`].
pub(crate) fn run(_: &MeshArgs) -> Result<(), CliError> {
    Err(CliError::Options(OptionError::Usage {
        what: HOW.to_owned(),
        command: "motet".to_owned(),
    }))
}
