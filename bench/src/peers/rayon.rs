//! rayon: a pool of its own, `rayon::spawn` for messages and parallel iterators for trees.

use super::ring::ComputationRing;
use crate::program::WorkProgram;
use ::rayon::{ThreadPool, ThreadPoolBuilder};
use std::sync::Arc;
use std::time::Duration;

/// Each message is a spawned job; the first of two waits under a lock.
pub(crate) fn spawn(program: &WorkProgram) -> Result<Duration, String> {
    let (ring, ended) = ComputationRing::new(program);
    let pool = pool(program.threads, program.pin)?;
    ring.time(&ended, |at| {
        if ring.arrives(at) {
            let ring = Arc::clone(&ring);
            pool.spawn(move || stage(&ring, at));
        }
    })
}

fn stage(ring: &Arc<ComputationRing>, at: usize) {
    ring.stage(at, |next| {
        if ring.arrives(next) {
            let ring = Arc::clone(ring);
            ::rayon::spawn(move || stage(&ring, next));
        }
    });
}

/// A pool with so many threads, bound to their cores or not.
pub(crate) fn pool(threads: usize, pin: bool) -> Result<ThreadPool, String> {
    let cores = core_affinity::get_core_ids().unwrap_or_default();
    ThreadPoolBuilder::new()
        .num_threads(threads)
        .start_handler(move |index| {
            if pin && !cores.is_empty() {
                core_affinity::set_for_current(cores[index % cores.len()]);
            }
        })
        .build()
        .map_err(|error| format!("the pool does not start: {error}"))
}
