//! Messages between the ranks of one search.
//!
//! Each rank counts what it sends to each other and gets from it. At the end they compare, and take
//! in what is under way: nothing of a search is left when it has returned.

use crate::SearchError;
use motet_comm::{ANY_SOURCE, CommError, Communicator, Value};
use std::future::{Future, poll_fn};
use std::marker::PhantomData;
use std::task::Poll;

const TAG: u32 = 0;

pub(crate) struct SearchLink<'c, M> {
    comm: &'c Communicator,
    sent: Vec<u64>,
    came: Vec<u64>,
    messages: PhantomData<M>,
}

impl<'c, M: Value> SearchLink<'c, M> {
    /// `comm` is the search's own.
    pub(crate) fn new(comm: &'c Communicator) -> Self {
        SearchLink {
            comm,
            sent: vec![0; comm.size()],
            came: vec![0; comm.size()],
            messages: PhantomData,
        }
    }

    pub(crate) fn rank(&self) -> usize {
        self.comm.rank()
    }

    pub(crate) fn size(&self) -> usize {
        self.comm.size()
    }

    pub(crate) fn send(&mut self, to: usize, message: M) -> Result<(), CommError> {
        self.sent[to] += 1;
        // A send has ended when it has begun.
        self.comm.isend(to, TAG, message).test().unwrap_or(Ok(()))
    }

    /// The next message, if one is there.
    pub(crate) fn next(&mut self) -> Result<Option<(usize, M)>, CommError> {
        let Some(message) = self.comm.improbe(ANY_SOURCE, TAG)? else {
            return Ok(None);
        };
        let from = message.probe().status.source;
        let message = message.recv::<M>()?;
        self.came[from] += 1;
        Ok(Some((from, message)))
    }

    /// Waits for the next message.
    pub(crate) async fn wait(&mut self) -> Result<(usize, M), CommError> {
        let receive = self.comm.recv_with_status::<M>(ANY_SOURCE, TAG);
        let (message, status) = receive.await?;
        self.came[status.source] += 1;
        Ok((status.source, message))
    }

    /// Takes in all that was sent to this rank. All ranks do this, and send nothing more.
    pub(crate) async fn drain(mut self) -> Result<(), SearchError> {
        let sent = std::mem::take(&mut self.sent);
        let expected = self.comm.alltoall(sent).await?;
        while self.came != expected {
            self.wait().await?;
        }
        Ok(())
    }
}

/// Lets other tasks of the thread run.
pub(crate) fn yield_now() -> impl Future<Output = ()> {
    let mut yielded = false;
    poll_fn(move |context| {
        if std::mem::replace(&mut yielded, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
}

/// The neighbours of a rank in the binomial tree whose root is rank 0: its parent, then its
/// children.
pub(crate) fn neighbours(rank: usize, size: usize) -> (Option<usize>, Vec<usize>) {
    let parent = (rank > 0).then(|| rank & (rank - 1));
    let steps = (0..usize::BITS).map(|bit| 1 << bit);
    let lowest = if rank == 0 {
        size
    } else {
        rank & rank.wrapping_neg()
    };
    let steps = steps.take_while(|step| *step < lowest && rank + step < size);
    (parent, steps.map(|step| rank + step).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rank_has_one_parent() {
        for size in 1..70 {
            let mut children: Vec<usize> = (0..size)
                .flat_map(|rank| neighbours(rank, size).1)
                .collect();
            children.sort_unstable();
            assert!(children.into_iter().eq(1..size), "of {size}");
            for rank in 1..size {
                let parent = neighbours(rank, size).0.unwrap();
                assert!(neighbours(parent, size).1.contains(&rank));
            }
        }
    }
}
