//! Worlds: the set of ranks one program runs on.
use crate::{Communicator, RunError};
use std::pin::pin;
use std::task::{Context, Poll, Waker};

/// A set of ranks.
#[derive(Debug)]
pub struct World {}

impl World {
    /// One rank on the calling thread.
    pub fn solo() -> World {
        World {}
    }
    /// `ranks` ranks on threads.
    pub fn threads(_ranks: usize) -> World {
        World {}
    }
    /// Runs `body` on every rank; results in rank order. `body` may borrow from the caller.
    ///
    /// # Errors
    /// The first error a rank returned.
    pub fn run<R: Send, E: Send>(
        self,
        body: impl AsyncFn(Communicator) -> Result<R, E> + Sync,
    ) -> Result<Vec<R>, RunError<E>> {
        let mut fut = pin!(body(Communicator { rank: 0, size: 1 }));
        match fut.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(r) => r
                .map(|r| vec![r])
                .map_err(|error| RunError::Rank { rank: 0, error }),
            Poll::Pending => unreachable!(),
        }
    }
}
