//! Barrier.

use crate::fabric::Call;
use crate::meet::{Collective, Meet};
use crate::request::Request;
use crate::{CommError, Communicator};
use std::future::Future;
use std::panic::Location;

impl Communicator {
    /// Waits until every rank is here (MPI_BARRIER).
    ///
    /// # Errors
    /// [`CommError::Mismatch`] when a rank is in another collective.
    #[track_caller]
    pub fn barrier(&self) -> impl Future<Output = Result<(), CommError>> {
        self.barrier_at("barrier", Location::caller()).now()
    }

    /// Says that this rank has come, and returns a request that ends when every rank has (MPI_IBARRIER).
    ///
    /// # Errors
    /// The request's: as [`Communicator::barrier`].
    #[track_caller]
    pub fn ibarrier(&self) -> Request<'_, ()> {
        self.barrier_at("ibarrier", Location::caller()).started()
    }

    fn barrier_at<'c>(
        &'c self,
        name: &'static str,
        location: &'static Location<'static>,
    ) -> impl Collective<'c, ()> {
        let call = Call::bare(name, location);
        Meet::new(self, call, Ok(()), |(), ()| (), |()| (), |(): &()| Ok(()))
    }
}
