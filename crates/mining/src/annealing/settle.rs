//! Temperature zero: K-means to its fixed point on all points, then the search.

use super::state::{Settled, State};
use super::{Annealing, Clusters, exchange, search};
use crate::MiningError;
use crate::checkpoint::CheckpointKeeper;
use crate::lloyd::{Lloyd, LloydLimit};
use crate::prepare::Prepared;
use crate::rank_view::RankView;

impl Annealing {
    /// Gives back the centres and the work done.
    pub(super) async fn settle(
        &self,
        team: &RankView<'_>,
        prepared: &Prepared<'_>,
        state: &mut State,
        keeper: &mut CheckpointKeeper<'_>,
    ) -> Result<(Vec<f64>, u64), MiningError> {
        let dim = prepared.tree.dim;
        let mut lloyd = Lloyd::new(team, &prepared.blocks, dim);
        if state.settled.is_none() {
            state.settled = Some(self.fixed_point(&mut lloyd, state.phases.centres()).await?);
            keeper.save(false, state).await?;
        }
        let (mut centres, mut best) = match &state.settled {
            Some(settled) => {
                lloyd.cluster_iterations = settled.cluster_iterations;
                (settled.centres.clone(), settled.best.clone())
            }
            None => unreachable!("it has just been put there"),
        };
        if self.search == 0 || centres.len() == dim || best.inertia() == 0.0 {
            return Ok((centres, lloyd.cluster_iterations));
        }
        let (mut trial, work) = search::search(self, team, prepared, state, keeper).await?;
        let (found, _) = lloyd.run(&mut trial, LloydLimit::FIXED_POINT).await?;
        if found.inertia() < best.inertia() {
            (best, centres) = (found, trial);
        }
        let passes = exchange::exchange(team, prepared, &mut centres, &best).await?;
        let passes = passes * centres.len() / dim;
        Ok((centres, lloyd.cluster_iterations + work + passes as u64))
    }

    /// The fixed point that the centres at the end of cooling lead to.
    async fn fixed_point(
        &self,
        lloyd: &mut Lloyd<'_>,
        mut centres: Vec<f64>,
    ) -> Result<Settled, MiningError> {
        if let Clusters::Exactly(clusters) = self.clusters {
            while centres.len() < clusters * lloyd.dim {
                let (_, far) = lloyd.farthest(&centres).await?;
                centres.extend(far);
            }
        }
        let (best, _) = lloyd.run(&mut centres, LloydLimit::FIXED_POINT).await?;
        Ok(Settled {
            centres,
            best,
            cluster_iterations: lloyd.cluster_iterations,
            searched: None,
        })
    }
}
