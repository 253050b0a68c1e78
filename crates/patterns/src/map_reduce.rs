//! Iterative MapReduce on ranks (papers R124): data stay where they are, and only parts meet.
//!
//! ```text
//!  rank 0: share of the data ─ map ─► part ─┐             ┌─► update ─► state ─► map …
//!  rank 1: share of the data ─ map ─► part ─┴─ allreduce ─┴─► update ─► state ─► map …
//! ```
//!
//! MapReduce as it is known writes its data out and reads them in again in each step. Here each
//! rank keeps its share; a step is one map over it and one reduction. Parts that add exactly
//! ([`ExactSum`](motet_comm::ExactSum), whole numbers) make the result the same, bit for bit, for
//! any number of ranks.

use motet_comm::{CommError, Communicator, Value};
use std::ops::{ControlFlow, Range};

/// The rows of this rank: a contiguous share of so many, that of each rank as large as the others'
/// or one larger.
#[must_use]
pub fn share(comm: &Communicator, rows: usize) -> Range<usize> {
    let (rank, size) = (comm.rank(), comm.size());
    let begin = |rank: usize| rank * (rows / size) + rank.min(rows % size);
    begin(rank)..begin(rank + 1)
}

/// Repeats a step until `update` breaks. Each rank maps the state to a part, and all parts are
/// merged in the order of the ranks. Every rank updates its state with the total.
///
/// All ranks call it with the same state, and get the same result. `merge` must be associative, and
/// `update` depend on nothing but the state and the total.
///
/// # Errors
/// That of the reduction, when a rank is in another collective.
///
/// # Panics
/// What `map`, `merge` and `update` panic with.
///
/// ```
/// use motet_comm::{CommError, World};
/// use motet_patterns::map_reduce::{iterate, share};
/// use std::ops::ControlFlow;
///
/// // The largest power of two that is no larger than the sum of the numbers below ten.
/// let numbers: Vec<u64> = (0..10).collect();
/// let found = World::threads(3).run(async |comm| -> Result<u64, CommError> {
///     let own = &numbers[share(&comm, numbers.len())];
///     let map = |_: &u64| own.iter().sum::<u64>();
///     iterate(&comm, 1, map, |a, b| a + b, |power, sum: u64| match power * 2 > sum {
///         true => ControlFlow::Break(power),
///         false => ControlFlow::Continue(power * 2),
///     }).await
/// });
/// assert_eq!(found.unwrap(), [32; 3]);
/// ```
pub async fn iterate<S, P: Clone + Value + Sync>(
    comm: &Communicator,
    mut state: S,
    mut map: impl FnMut(&S) -> P,
    merge: impl Fn(P, P) -> P,
    mut update: impl FnMut(S, P) -> ControlFlow<S, S>,
) -> Result<S, CommError> {
    loop {
        let total = comm.allreduce(map(&state), &merge).await?;
        match update(state, total) {
            ControlFlow::Continue(next) => state = next,
            ControlFlow::Break(result) => return Ok(result),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use motet_comm::World;

    #[test]
    fn shares_are_all_rows_in_order() {
        for (ranks, rows) in [(1, 7), (3, 7), (4, 2), (5, 0), (7, 7)] {
            let shares = World::threads(ranks)
                .run(async |comm| -> Result<_, CommError> { Ok(share(&comm, rows)) })
                .unwrap();
            assert_eq!(shares[0].start, 0);
            assert_eq!(shares[ranks - 1].end, rows);
            assert!(shares.windows(2).all(|two| two[0].end == two[1].start));
            assert!(
                shares
                    .iter()
                    .all(|one| one.len().abs_diff(rows / ranks) <= 1)
            );
        }
    }

    #[test]
    fn parts_are_merged_in_the_order_of_ranks() {
        let merged = World::threads(4)
            .run(async |comm| {
                let map = |_: &String| comm.rank().to_string();
                let merge = |a: String, b: String| a + &b;
                iterate(&comm, String::new(), map, merge, |_, total| {
                    ControlFlow::Break(total)
                })
                .await
            })
            .unwrap();
        assert_eq!(merged, ["0123"; 4]);
    }
}
