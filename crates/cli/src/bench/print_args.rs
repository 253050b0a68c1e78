//! How results are printed, for every experiment.

use clap::Args;

/// Options that say how results are printed.
#[derive(Debug, Clone, Copy, Args)]
pub struct PrintArgs {
    /// Print one JSON object per row
    #[arg(long)]
    pub json: bool,

    /// No progress on standard error
    #[arg(short, long)]
    pub quiet: bool,
}
