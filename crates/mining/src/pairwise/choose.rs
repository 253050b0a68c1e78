//! How many clusters there are to be.

use super::field::Field;
use super::{Dissimilarities, Pairwise};
use crate::boxed::LocalBoxFuture;
use crate::checkpoint::CheckpointKeeper;
use crate::rank_view::RankView;
use crate::weights::normalised;
use crate::{Checkpoints, ClusterChoice, Control, MiningError};
use motet_comm::Communicator;

impl Pairwise {
    /// How many clusters, from 1 to `at_most`, the pairs speak for: [`ClusterChoice`] has the rule.
    /// The field `clusters` does not count.
    ///
    /// # Errors
    ///
    /// As [`Pairwise::fit`].
    pub fn choose<'a>(
        &'a self,
        comm: &'a Communicator,
        pairs: &'a Dissimilarities,
        weights: Option<&'a [f64]>,
        at_most: usize,
        control: &'a Control<'a>,
    ) -> LocalBoxFuture<'a, Result<ClusterChoice, MiningError>> {
        Box::pin(async move {
            self.choice(comm, (pairs, weights), at_most, control, None)
                .await
        })
    }

    /// As [`choose`](Pairwise::choose), with checkpoints after temperatures. It goes on from the
    /// one that is there. Give it another name than that of a fit.
    ///
    /// # Errors
    ///
    /// Those of [`choose`](Pairwise::choose), and [`MiningError::Checkpoint`].
    ///
    /// # Cancellation
    ///
    /// As for [`fit`](Pairwise::fit); the last checkpoint stays.
    pub fn choose_kept<'a>(
        &'a self,
        comm: &'a Communicator,
        (pairs, weights): (&'a Dissimilarities, Option<&'a [f64]>),
        at_most: usize,
        control: &'a Control<'a>,
        kept: &'a Checkpoints,
    ) -> LocalBoxFuture<'a, Result<ClusterChoice, MiningError>> {
        Box::pin(async move {
            self.choice(comm, (pairs, weights), at_most, control, Some(kept))
                .await
        })
    }

    async fn choice(
        &self,
        comm: &Communicator,
        (pairs, weights): (&Dissimilarities, Option<&[f64]>),
        at_most: usize,
        control: &Control<'_>,
        kept: Option<&Checkpoints>,
    ) -> Result<ClusterChoice, MiningError> {
        self.check(at_most, 0.0)?;
        let weights = normalised(weights, pairs.len()).map_err(MiningError::Data)?;
        let team = RankView::new(comm, control);
        let field = Field::new(&team, pairs, &weights);
        let most = pairs.len().min(at_most.saturating_add(1));
        let how = (self, "choice", at_most);
        let mut keeper =
            CheckpointKeeper::new(comm, kept, &how, |digest| pairs.digest(&weights, digest));
        let state = self.anneal(&field, (most, 0.0, true), &mut keeper).await?;
        let settled = &state.fall.trace[..state.fall.settled];
        Ok(ClusterChoice::of(settled, at_most))
    }
}
