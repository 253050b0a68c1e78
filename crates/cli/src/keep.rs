//! The options that let a run go on after an end that nobody wanted.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use motet_mining::Checkpoints;

use crate::amount::seconds;
use crate::error::{CliError, OptionError, refusal};
use crate::files::{Unwritable, writable};

/// Options that let a run go on after an end that nobody wanted.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Results")]
pub struct KeepArgs {
    /// Folder for checkpoints; a run that finds its own there goes on from it
    ///
    /// The result has the same bits as that of a run without interruption, on any number of
    /// threads and processes. Checkpoints go when the results have been written.
    #[arg(long, value_name = "DIR")]
    pub checkpoint: Option<PathBuf>,

    /// Seconds between two checkpoints [default: 10]
    #[arg(long, value_name = "S", value_parser = seconds, requires = "checkpoint")]
    pub checkpoint_every: Option<Duration>,
}

impl KeepArgs {
    /// The checkpoints of a run of this name, if there are to be any.
    pub(crate) fn kept(&self, name: &str) -> Option<Checkpoints> {
        let kept = Checkpoints::new(self.checkpoint.clone()?, name);
        Some(match self.checkpoint_every {
            Some(every) => kept.every(every),
            None => kept,
        })
    }

    /// Checks, without leaving a trace, that the folder takes checkpoints.
    ///
    /// # Errors
    /// A folder that cannot be made or written to.
    pub(crate) fn check(&self) -> Result<(), CliError> {
        let Some(folder) = &self.checkpoint else {
            return Ok(());
        };
        let what = match writable(folder) {
            Ok(()) => return Ok(()),
            Err(Unwritable::NoFolder(file)) => format!("{} is not a directory", file.display()),
            Err(Unwritable::Fault(source)) => source.to_string(),
        };
        Err(CliError::Data(format!(
            "checkpoints cannot be written to {}: {what}: give another --checkpoint",
            folder.display()
        )))
    }

    /// What has no checkpoints says so.
    pub(crate) fn refuse(&self, other: &'static str) -> Result<(), OptionError> {
        match self.checkpoint {
            None => Ok(()),
            Some(_) => Err(OptionError::Conflict {
                option: "--checkpoint",
                other,
                advice: "leave it out: only fits and distances have them",
            }),
        }
    }
}

/// Those of the choice of a number of clusters, for a fit with these.
pub(crate) fn of_choice(kept: &Checkpoints) -> Checkpoints {
    kept.named("choice")
}

/// Removes checkpoints that nobody needs any more.
pub(crate) fn clear(kept: impl IntoIterator<Item = Checkpoints>) -> Result<(), CliError> {
    let mut all = kept.into_iter().flat_map(|kept| [of_choice(&kept), kept]);
    all.try_for_each(|kept| kept.clear().map_err(refusal))
}
