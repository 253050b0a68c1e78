//! Running a method on ranks.

use std::time::Instant;

use motet_comm::{CommError, Communicator, Profile, World};
use motet_mining::{Annealing, Clustering, Clusters, Control, KMeans, MiningError, Points};

use crate::error::{CliError, refusal};
use crate::plan::Search;
use crate::processes;

/// A clustering and how long it took.
#[derive(Debug)]
pub(crate) struct Fit {
    /// The clustering, with the labels of all rows.
    pub(crate) clustering: Clustering,
    /// Seconds from the start of the ranks to their end.
    pub(crate) seconds: f64,
    /// The ranks it ran on.
    pub(crate) threads: usize,
    /// Where the time went, if the world is to say so.
    pub(crate) profile: Option<Profile>,
}

/// Clusters `points` on the ranks of `world`; the outcome in its first process, `None` in others.
pub(crate) fn fit(
    points: &Points,
    search: Search,
    world: &World,
    control: &Control<'_>,
) -> Result<Option<Fit>, CliError> {
    let start = Instant::now();
    let outcome = match search {
        Search::Exactly(clusters) | Search::Chosen { at_most: clusters } => {
            let method = Annealing {
                clusters: Clusters::Exactly(clusters),
                ..Annealing::default()
            };
            world.run_outcome(async |comm| {
                gather(&comm, method.fit(&comm, points, control).await).await
            })
        }
        Search::Found { t_min, at_most } => {
            let clusters = Clusters::Found { t_min, at_most };
            let method = Annealing {
                clusters,
                ..Annealing::default()
            };
            world.run_outcome(async |comm| {
                gather(&comm, method.fit(&comm, points, control).await).await
            })
        }
        Search::KMeans {
            clusters,
            seed,
            restarts,
        } => {
            let method = KMeans {
                clusters,
                seed,
                restarts,
                ..KMeans::default()
            };
            world.run_outcome(async |comm| {
                gather(&comm, method.fit(&comm, points, control).await).await
            })
        }
    };
    let seconds = start.elapsed().as_secs_f64();
    let (parts, profile) = match outcome {
        Ok(mut outcome) => (outcome.results.swap_remove(0), outcome.profile),
        Err(error) if processes::speaks(world, &error) => {
            return Err(CliError::Run(error.to_string()));
        }
        Err(_) => return Ok(None),
    };
    let parts = match parts {
        Err(error) if world.process().0 == 0 => return Err(refusal(error)),
        Ok(Some(parts)) => parts,
        Ok(None) | Err(_) => return Ok(None),
    };
    let threads = parts.len();
    let clustering = Clustering::join(parts)
        .ok_or_else(|| CliError::Run("the parts of the ranks do not fit together".to_owned()))?;
    Ok(Some(Fit {
        clustering,
        seconds,
        threads,
        profile,
    }))
}

/// The parts of all ranks, on rank 0. What all ranks find alike is a result; an error is what ends
/// their run.
async fn gather(
    comm: &Communicator,
    part: Result<Clustering, MiningError>,
) -> Result<Result<Option<Vec<Clustering>>, MiningError>, CommError> {
    match part {
        Ok(part) => Ok(Ok(comm.gather(0, part).await?)),
        Err(MiningError::Comm(error)) => Err(error),
        Err(alike) => Ok(Err(alike)),
    }
}
