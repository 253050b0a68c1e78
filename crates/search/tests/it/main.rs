//! Tests of `motet-search` through its public face.

mod answers;
mod dispatcher;
mod ends;
mod games;
mod limits;
/// A network through memory, which the tests of `motet-comm` have.
#[allow(dead_code, reason = "those tests use more of it")]
#[path = "../../../comm/tests/it/network.rs"]
mod network;
mod one_rank;
mod over_processes;
mod progress;
mod promises;
mod told;

use motet_comm::{Communicator, World};
use motet_search::SearchError;
use std::fmt::Debug;

/// Ranks that tests run on.
const RANKS: [usize; 3] = [1, 2, 8];

/// Runs on so many ranks; what they agree on.
fn on<R: Send + PartialEq + Debug>(
    ranks: usize,
    body: impl AsyncFn(Communicator) -> Result<R, SearchError> + Sync,
) -> R {
    let mut results = World::threads(ranks).run(body).unwrap();
    let first = results.pop().unwrap();
    assert!(
        results.iter().all(|result| *result == first),
        "ranks differ"
    );
    first
}
