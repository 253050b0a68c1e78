//! Ranks that tell each other whether all have done their part.

use crate::FileError;
use motet_comm::Communicator;

/// Ends well on all ranks, or on none: who has failed gets its own error, the others the first
/// one's.
pub(crate) async fn agree<R>(
    comm: &Communicator,
    mine: Result<R, FileError>,
) -> Result<R, FileError> {
    let told = mine
        .as_ref()
        .err()
        .map(|error| (comm.rank(), error.to_string()));
    let first = comm.allreduce(told, |one, other| one.or(other)).await?;
    let mine = mine?;
    match first {
        None => Ok(mine),
        Some((rank, problem)) => Err(FileError::Elsewhere { rank, problem }),
    }
}
