//! How many clusters there are to be.

use super::field::Field;
use super::{Dissimilarities, Pairwise};
use crate::boxed::LocalBoxFuture;
use crate::checkpoint::Keeper;
use crate::team::Team;
use crate::weights::normalised;
use crate::{Choice, Control, MiningError};
use motet_comm::Communicator;

impl Pairwise {
    /// How many clusters, from 1 to `at_most`, the pairs speak for: [`Choice`] has the rule. The
    /// field `clusters` does not count.
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
    ) -> LocalBoxFuture<'a, Result<Choice, MiningError>> {
        Box::pin(async move {
            self.check(at_most, 0.0)?;
            let weights = normalised(weights, pairs.len()).map_err(MiningError::Data)?;
            let team = Team::new(comm, control);
            let field = Field::new(&team, pairs, &weights);
            let most = pairs.len().min(at_most + 1);
            let mut keeper = Keeper::new(comm, None, self, |_| ());
            let state = self.anneal(&field, (most, 0.0, true), &mut keeper).await?;
            Ok(Choice::of(&state.fall.trace, at_most))
        })
    }
}
