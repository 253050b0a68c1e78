//! How many clusters of bits there are to be.

use super::annealing::Cooling;
use super::kept::State;
use super::passes::Field;
use super::{BitAnnealing, Bits};
use crate::boxed::LocalBoxFuture;
use crate::checkpoint::CheckpointKeeper;
use crate::rank_view::RankView;
use crate::{Checkpoints, ClusterChoice, Control, MiningError};
use motet_comm::Communicator;

impl BitAnnealing {
    /// How many clusters, from 1 to `at_most`, the rows speak for: [`ClusterChoice`] has the rule.
    /// The field `clusters` does not count.
    ///
    /// # Errors
    ///
    /// As [`BitAnnealing::fit`].
    pub fn choose<'a>(
        &'a self,
        comm: &'a Communicator,
        bits: &'a Bits,
        at_most: usize,
        control: &'a Control<'a>,
    ) -> LocalBoxFuture<'a, Result<ClusterChoice, MiningError>> {
        Box::pin(async move { self.choice(comm, bits, at_most, control, None).await })
    }

    /// As [`choose`](BitAnnealing::choose), with checkpoints after temperatures. It goes on from
    /// the one that is there. Give it another name than that of a fit.
    ///
    /// # Errors
    ///
    /// Those of [`choose`](BitAnnealing::choose), and [`MiningError::Checkpoint`].
    ///
    /// # Cancellation
    ///
    /// As for [`fit`](BitAnnealing::fit); the last checkpoint stays.
    pub fn choose_kept<'a>(
        &'a self,
        comm: &'a Communicator,
        bits: &'a Bits,
        at_most: usize,
        control: &'a Control<'a>,
        kept: &'a Checkpoints,
    ) -> LocalBoxFuture<'a, Result<ClusterChoice, MiningError>> {
        Box::pin(async move { self.choice(comm, bits, at_most, control, Some(kept)).await })
    }

    async fn choice(
        &self,
        comm: &Communicator,
        bits: &Bits,
        at_most: usize,
        control: &Control<'_>,
        kept: Option<&Checkpoints>,
    ) -> Result<ClusterChoice, MiningError> {
        self.check(at_most, 0.0)?;
        let team = RankView::new(comm, control);
        let field = Field::new(&team, bits);
        let most = bits.len().min(at_most.saturating_add(1));
        let how = (self, "choice", at_most);
        let mut keeper = CheckpointKeeper::new(comm, kept, &how, |digest| bits.digest(digest));
        let state: Option<State> = keeper.load().await?;
        let mut cooling = Cooling::new(&field, self, (most, 0.0)).await?;
        cooling.splits_only = true;
        if let Some(state) = &state {
            cooling.go_on(state);
        }
        cooling.run(&mut keeper).await?;
        Ok(ClusterChoice::of(&cooling.trace, at_most))
    }
}
