//! Clustering points on ranks; how many clusters there are to be, of whatever.

use motet_comm::Communicator;
use motet_mining::{
    Annealing, Checkpoints, ClusterChoice, Clustering, Clusters, Control, KMeans, MiningError,
    Points,
};

use crate::keep::of_choice;
use crate::plan::ClusterSearch;

/// What was found, and why there are so many clusters, if none were asked for.
pub(crate) type Chosen<C> = (C, Option<ClusterChoice>);

/// The clusters that there are to be; `choose` gives their number among so many at most.
pub(crate) async fn clusters(
    search: ClusterSearch,
    choose: impl AsyncFnOnce(usize) -> Result<ClusterChoice, MiningError>,
) -> Result<Chosen<Clusters>, MiningError> {
    Ok(match search {
        ClusterSearch::Exactly(clusters) | ClusterSearch::KMeans { clusters, .. } => {
            (Clusters::Exactly(clusters), None)
        }
        ClusterSearch::Found { t_min, at_most } => (Clusters::Found { t_min, at_most }, None),
        ClusterSearch::Chosen { at_most } => {
            let choice = choose(at_most).await?;
            (Clusters::Exactly(choice.clusters), Some(choice))
        }
    })
}

/// The whole of the parts that ranks have.
pub(crate) fn join<C>(
    parts: Vec<Chosen<C>>,
    join: impl FnOnce(Vec<C>) -> Option<C>,
) -> Option<Chosen<C>> {
    let (parts, choices): (Vec<C>, Vec<Option<ClusterChoice>>) = parts.into_iter().unzip();
    Some((join(parts)?, choices.into_iter().next()?))
}

/// Clusters `points`; all ranks of `comm` call it.
pub(crate) async fn fit(
    comm: &Communicator,
    points: &Points,
    search: ClusterSearch,
    control: &Control<'_>,
    kept: Option<&Checkpoints>,
) -> Result<Chosen<Clustering>, MiningError> {
    if let ClusterSearch::KMeans {
        clusters,
        seed,
        restarts,
    } = search
    {
        let method = KMeans {
            clusters,
            seed,
            restarts,
            ..KMeans::default()
        };
        let found = match kept {
            Some(kept) => method.fit_kept(comm, points, control, kept).await?,
            None => method.fit(comm, points, control).await?,
        };
        return Ok((found, None));
    }
    let mut method = Annealing::default();
    let choose = async |most| match kept.map(of_choice) {
        Some(kept) => method.choose_kept(comm, points, most, control, &kept).await,
        None => method.choose(comm, points, most, control).await,
    };
    let (clusters, choice) = clusters(search, choose).await?;
    method.clusters = clusters;
    let found = match kept {
        Some(kept) => method.fit_kept(comm, points, control, kept).await?,
        None => method.fit(comm, points, control).await?,
    };
    Ok((found, choice))
}
