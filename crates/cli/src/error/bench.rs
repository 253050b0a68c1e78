//! What keeps `motet bench` from its end.

use motet_bench::join::RunsJoinError;
use motet_bench::measuring::UnknownPeer;
use motet_bench::results::ReadError;
use motet_bench::stages::StagesError;
use motet_bench::suite::{StoreError, Unknown};
use thiserror::Error;

/// Something cannot be measured as asked, or has ended early.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BenchError {
    /// The experiment is not defined for these options.
    #[error("{0}")]
    Unmeasurable(#[from] StagesError),
    /// There is no experiment of this name.
    #[error("{0}: see motet bench list")]
    Experiment(#[from] Unknown),
    /// There is no peer of this name.
    #[error("{0}")]
    Peer(#[from] UnknownPeer),
    /// The folder of rows cannot be used.
    #[error("{0}")]
    Rows(#[from] StoreError),
    /// The rows of a run cannot be drawn or told.
    #[error("{0}")]
    Results(#[from] ReadError),
    /// Two runs cannot be joined.
    #[error("{0}")]
    Join(#[from] RunsJoinError),
    /// It was cancelled by the user.
    #[error("cancelled: the rows before are in {out}")]
    Interrupted {
        /// The folder.
        out: String,
    },
}
