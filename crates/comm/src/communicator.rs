//! The communicator of one rank.
use crate::CommError;

/// One rank's handle on its world.
#[derive(Debug)]
pub struct Communicator {
    pub(crate) rank: usize,
    pub(crate) size: usize,
}

impl Communicator {
    /// This rank, from 0.
    pub fn rank(&self) -> usize {
        self.rank
    }
    /// The number of ranks.
    pub fn size(&self) -> usize {
        self.size
    }
    /// Every rank waits until all ranks are here.
    pub async fn barrier(&self) -> Result<(), CommError> {
        Ok(())
    }
    /// Every rank receives the value of `root`; the others pass `None`.
    pub async fn broadcast<T: Clone + Send + 'static>(
        &self,
        _root: usize,
        value: Option<T>,
    ) -> Result<T, CommError> {
        Ok(value.expect("the root has a value"))
    }
    /// Every rank receives `op` folded over the values in rank order.
    pub async fn allreduce<T: Clone + Send + 'static>(
        &self,
        value: T,
        _op: impl Fn(T, T) -> T,
    ) -> Result<T, CommError> {
        Ok(value)
    }
    /// Every rank receives the values of all ranks in rank order.
    pub async fn allgather<T: Clone + Send + 'static>(
        &self,
        value: T,
    ) -> Result<Vec<T>, CommError> {
        Ok(vec![value])
    }
    /// `root` receives the values of all ranks in rank order, the others `None`.
    pub async fn gather<T: Send + 'static>(
        &self,
        _root: usize,
        value: T,
    ) -> Result<Option<Vec<T>>, CommError> {
        Ok(Some(vec![value]))
    }
}
