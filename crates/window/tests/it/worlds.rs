//! The worlds on which everything is tried.

use crate::network::{Endpoint, processes, sharing};
use motet_comm::{Communicator, RunError, World};
use motet_testkit::{explore, patience, within};
use motet_window::WindowError;
use std::sync::Arc;

/// Processes that are threads, and ranks in each.
const LAYOUTS: [(usize, usize); 3] = [(2, 1), (2, 2), (3, 1)];

/// Runs the body on worlds in one process and over several; every rank must end well.
pub(crate) fn everywhere(
    body: impl AsyncFn(Communicator) -> Result<(), WindowError> + Clone + Send + Sync + 'static,
) {
    within(patience(), move || {
        let near = [1, 2, 3, 8].map(World::threads);
        for world in near.into_iter().chain([World::solo(), World::ports(2)]) {
            world.run(&body).unwrap();
        }
        explore(0..4, |replay| {
            World::threads(3).replayed(replay, &body).unwrap();
        });
        for (count, ranks) in LAYOUTS {
            for share in [false, true] {
                over(count, ranks, share, body.clone())
                    .into_iter()
                    .for_each(|ended| ended.unwrap());
            }
        }
    });
}

/// How the run ends in each of so many processes that are threads, and may share memory.
pub(crate) fn over(
    count: usize,
    ranks: usize,
    share: bool,
    body: impl AsyncFn(Communicator) -> Result<(), WindowError> + Send + Sync + 'static,
) -> Vec<Result<(), RunError<WindowError>>> {
    let life = move |end: Arc<Endpoint>| World::over(end, ranks).run(&body).map(drop);
    match share {
        true => sharing(count, life),
        false => processes(count, life),
    }
}
