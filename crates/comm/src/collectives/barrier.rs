//! Barrier.

use crate::Communicator;
use crate::collective_call::{Collective, CollectiveCall, Startable};
use crate::collective_part::CollectivePart;
use crate::fabric::RankCall;
use std::panic::Location;

impl Communicator {
    /// Waits until every rank is here (MPI_BARRIER).
    ///
    /// # Errors
    /// [`CommError::Mismatch`](crate::CommError::Mismatch) when a rank is in another collective.
    #[track_caller]
    pub fn barrier(&self) -> CollectiveCall<impl Startable<'_, Given = ()>> {
        self.barrier_at("barrier", Location::caller()).now()
    }

    fn barrier_at<'c>(
        &'c self,
        name: &'static str,
        location: &'static Location<'static>,
    ) -> impl Collective<'c, ()> {
        let call = RankCall::bare(name, location);
        CollectivePart::new(self, call, Ok(()), |(), ()| (), |()| (), |(): &()| Ok(()))
    }
}
