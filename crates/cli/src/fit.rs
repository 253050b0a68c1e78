//! Running a method on ranks.

use std::time::Instant;

use motet_comm::{Communicator, Profile, RunError, World};
use motet_mining::{Annealing, Clustering, Clusters, Control, KMeans, MiningError, Points};

use crate::error::CliError;
use crate::plan::Search;

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
        Search::Exactly(clusters) => {
            let method = Annealing {
                clusters: Clusters::Exactly(clusters),
                ..Annealing::default()
            };
            world.run_outcome(async |comm| {
                gather(&comm, method.fit(&comm, points, control).await?).await
            })
        }
        Search::Found { t_min, at_most } => {
            let clusters = Clusters::Found { t_min, at_most };
            let method = Annealing {
                clusters,
                ..Annealing::default()
            };
            world.run_outcome(async |comm| {
                gather(&comm, method.fit(&comm, points, control).await?).await
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
                gather(&comm, method.fit(&comm, points, control).await?).await
            })
        }
    };
    let seconds = start.elapsed().as_secs_f64();
    let mut outcome = outcome.map_err(failure)?;
    let Some(parts) = outcome.results.remove(0) else {
        return Ok(None);
    };
    let threads = parts.len();
    let clustering = Clustering::join(parts)
        .ok_or_else(|| CliError::Run("the parts of the ranks do not fit together".to_owned()))?;
    Ok(Some(Fit {
        clustering,
        seconds,
        threads,
        profile: outcome.profile,
    }))
}

/// The parts of all ranks, on rank 0.
async fn gather(
    comm: &Communicator,
    part: Clustering,
) -> Result<Option<Vec<Clustering>>, MiningError> {
    Ok(comm.gather(0, part).await?)
}

/// Tells apart what the user can mend and what is a fault of the program.
fn failure(error: RunError<MiningError>) -> CliError {
    match error {
        RunError::Rank {
            error: MiningError::Cancelled,
            ..
        } => CliError::Cancelled,
        RunError::Rank {
            error: MiningError::FewPoints { clusters, points },
            ..
        } => CliError::Data(format!(
            "{clusters} clusters are asked for and there are {points} points: ask for fewer"
        )),
        RunError::Rank {
            error: MiningError::FewDistinctPoints { clusters, distinct },
            ..
        } => CliError::Data(format!(
            "{clusters} clusters are asked for and only {distinct} points of positive weight \
                 are different: ask for fewer"
        )),
        RunError::Rank {
            error: MiningError::Parameter(error),
            ..
        } => CliError::Data(error.to_string()),
        other => CliError::Run(format!("{other:?}")),
    }
}
