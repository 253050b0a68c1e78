//! Soak: many exchange stages in a row, to see that none hangs (papers R126: the original's
//! Exchange did not always end).
//!
//! Question: does every one of N stages end? Definition: P ranks on a ring exchange N times; the
//! values they mix keep their sum. Threats: a hang has no time of its own; `progress` tells how far
//! the run has come, and whoever watches ends it.

use motet_comm::{CommError, World};
use motet_sync::atomic::{AtomicU64, Ordering};
use motet_sync::thread;
use serde::Serialize;
use std::time::Instant;

/// What was done.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SoakRecord {
    /// Ranks.
    pub parallel: usize,
    /// Threads that ran them.
    pub threads: usize,
    /// Exchange stages, all of which ended.
    pub stages: u64,
    /// Seconds they took.
    pub seconds: f64,
    /// Time per stage, in µs.
    pub stage_us: f64,
}

/// Runs `stages` exchange stages on `parallel` ranks; tells `progress` the stages done about ten
/// times a second.
///
/// # Panics
/// When the values do not keep their sum, or a rank fails.
pub fn run(parallel: usize, stages: u64, progress: impl Fn(u64) + Sync) -> SoakRecord {
    let (told, started) = (AtomicU64::new(0), Instant::now());
    World::threads(parallel)
        .run(async |comm| -> Result<(), CommError> {
            let mut ring = comm.ring::<f64>().await?;
            let mut value = comm.rank() as f64;
            for stage in 1..=stages {
                let (left, right) = ring.exchange(value, value).await?;
                value = f64::midpoint(left, right);
                if comm.rank() == 0 && stage % 4096 == 0 {
                    let tenths = started.elapsed().as_millis() as u64 / 100;
                    if told.swap(tenths, Ordering::Relaxed) != tenths {
                        progress(stage);
                    }
                }
            }
            let total = comm.allreduce(value, |a, b| a + b).await?;
            let count = comm.size() as f64;
            let expected = count * (count - 1.0) / 2.0;
            assert!(
                (total - expected).abs() <= 1e-6 * expected.max(1.0),
                "{total} ≠ {expected}"
            );
            Ok(())
        })
        .expect("no rank fails");
    let seconds = started.elapsed().as_secs_f64();
    let stage_us = seconds * 1e6 / stages as f64;
    SoakRecord {
        parallel,
        threads: thread::cores().min(parallel),
        stages,
        seconds,
        stage_us,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stage_ends() {
        for parallel in [1, 2, 3, 5] {
            assert_eq!(run(parallel, 10_000, |_| ()).stages, 10_000);
        }
    }
}
