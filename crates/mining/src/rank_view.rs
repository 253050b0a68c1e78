//! The ranks of one run and how they add up.

use crate::lanes::Instructions;
use crate::memory_request::MemoryRequest;
use crate::{Control, MiningError, Progress};
use motet_comm::{Communicator, Dyadic, Value};
use std::ops::Range;

/// One rank's view of the run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RankView<'a> {
    pub(crate) comm: &'a Communicator,
    pub(crate) control: &'a Control<'a>,
    pub(crate) instructions: Instructions,
}

impl<'a> RankView<'a> {
    pub(crate) fn new(comm: &'a Communicator, control: &'a Control<'a>) -> RankView<'a> {
        RankView {
            comm,
            control,
            instructions: Instructions::best(),
        }
    }

    /// This rank's share of `items` things: neighbours, and as even as it gets.
    pub(crate) fn share(&self, items: usize) -> Range<usize> {
        let edge = |rank: usize| rank * items / self.comm.size();
        edge(self.comm.rank())..edge(self.comm.rank() + 1)
    }

    /// Tells the caller where the run stands, on rank 0.
    pub(crate) fn report(&self, progress: impl FnOnce() -> Progress) {
        if let (0, Some(call)) = (self.comm.rank(), self.control.progress) {
            call(&progress());
        }
    }

    /// Ends the run on all ranks if one is to `stop`.
    pub(crate) async fn agree(&self, stop: bool) -> Result<(), MiningError> {
        match self.comm.allreduce(stop, |l, r| l || r).await? {
            true => Err(MiningError::Cancelled),
            false => Ok(()),
        }
    }

    /// Ends the run on all ranks where one of them has not the memory, each asked by itself.
    pub(crate) async fn ask_for(&self, memory: MemoryRequest) -> Result<(), MiningError> {
        if memory.is_small() {
            return Ok(());
        }
        let there = memory.is_there();
        match self.comm.allreduce(there, |l, r| l && r).await? {
            true => Ok(()),
            false => Err(MiningError::Data(memory.error())),
        }
    }

    /// The numbers of all ranks one after the other; all leave together if one is to `stop`.
    pub(crate) async fn gather(&self, stop: bool, mine: Vec<f64>) -> Result<Vec<f64>, MiningError> {
        let all = self.comm.allgather((stop, mine)).await?;
        match all.iter().any(|part| part.0) {
            true => Err(MiningError::Cancelled),
            false => Ok(all.into_iter().flat_map(|part| part.1).collect()),
        }
    }

    /// Adds up whole numbers of all ranks, place by place; all leave together if one is to `stop`.
    pub(crate) async fn sum_whole(
        &self,
        stop: bool,
        mine: Vec<i64>,
    ) -> Result<Vec<i64>, MiningError> {
        let add = |mut left: (bool, Vec<i64>), right: (bool, Vec<i64>)| {
            let pairs = left.1.iter_mut().zip(&right.1);
            pairs.for_each(|(left, right)| *left += right);
            (left.0 || right.0, left.1)
        };
        match self.comm.allreduce((stop, mine), add).await? {
            (true, _) => Err(MiningError::Cancelled),
            (false, sums) => Ok(sums),
        }
    }

    /// Combines the values of all blocks in the fixed tree over blocks. Every rank computes its
    /// share of the blocks and receives the result; `None` if there are no blocks.
    ///
    /// The same reduction agrees on cancellation, so all ranks leave together.
    pub(crate) async fn reduce<T: Clone + Value + Sync>(
        &self,
        blocks: usize,
        mut value: impl FnMut(usize) -> T,
        combine: fn(T, T) -> T,
    ) -> Result<Option<T>, MiningError> {
        let share = self.share(blocks);
        let mut part = Dyadic::new(share.start);
        for block in share {
            part.push(value(block), combine);
        }
        self.join(part, combine).await
    }

    /// Joins what the ranks have combined. Apart from [`RankView::reduce`]: compiled once for all
    /// that give the same type of value.
    async fn join<T: Clone + Value + Sync>(
        &self,
        part: Dyadic<T>,
        combine: fn(T, T) -> T,
    ) -> Result<Option<T>, MiningError> {
        if self.comm.size() == 1 {
            // Every rank copies what it gets: nothing is sent where there is nobody to get it.
            self.agree(self.control.is_cancelled()).await?;
            return Ok(part.finish(combine));
        }
        let mine = (self.control.is_cancelled(), part);
        let (cancelled, whole) = self
            .comm
            .allreduce(mine, |l, r| (l.0 || r.0, l.1.join(r.1, combine)))
            .await?;
        if cancelled {
            return Err(MiningError::Cancelled);
        }
        Ok(whole.finish(combine))
    }

    /// Adds up the values of all blocks, element by element.
    pub(crate) async fn sum(
        &self,
        blocks: usize,
        mut value: impl FnMut(usize) -> Vec<f64>,
    ) -> Result<Vec<f64>, MiningError> {
        self.sum_filled(blocks, |block, numbers| *numbers = value(block))
            .await
    }

    /// As [`RankView::sum`], of what `fill` puts into a vector. The vector may hold the numbers of
    /// a block that has been added up.
    pub(crate) async fn sum_filled(
        &self,
        blocks: usize,
        mut fill: impl FnMut(usize, &mut Vec<f64>),
    ) -> Result<Vec<f64>, MiningError> {
        let share = self.share(blocks);
        let mut part = Dyadic::new(share.start);
        let mut spare = Vec::new();
        for block in share {
            let mut numbers = std::mem::take(&mut spare);
            fill(block, &mut numbers);
            part.push(numbers, |mut left: Vec<f64>, right| {
                add(&mut left, &right);
                spare = right;
                left
            });
        }
        let combine = |mut left: Vec<f64>, right: Vec<f64>| {
            add(&mut left, &right);
            left
        };
        Ok(self.join(part, combine).await?.unwrap_or_default())
    }
}

fn add(left: &mut [f64], right: &[f64]) {
    left.iter_mut().zip(right).for_each(|(l, r)| *l += r);
}

#[cfg(test)]
mod tests {
    use super::*;
    use motet_comm::World;

    #[test]
    fn sem_g617_all_ranks_are_told_what_one_has_no_room_for() {
        let told = World::threads(2)
            .run(async |comm| {
                let control = Control::default();
                // 2^50 bytes, which no process can have, and 2^30.
                let numbers = [1 << 47, 1 << 27][comm.rank()];
                let memory = MemoryRequest::new("the numbers", numbers, "ask for fewer");
                let end = RankView::new(&comm, &control).ask_for(memory).await;
                Ok::<_, MiningError>(end.is_err())
            })
            .unwrap();
        assert_eq!(told, [true, true]);
    }
}
