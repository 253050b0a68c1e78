//! Windows of ranks in several processes, beside those of the MPI library under them (MPI-3.1,
//! chapter 11).
//!
//! Question: what does an access without the target cost, and the fence that says it is done?
//! Definition: each rank puts so many f64 into the window of the next one, then all meet in a
//! fence. The library's windows lie in memory of the program, as motet's do, and in memory of its
//! own, which processes of a machine may share.

use crate::said::Said;
use motet_comm::World;
use motet_window::{Window, WindowError};
use std::time::Instant;

/// The time of one of so many rounds, in µs.
pub(crate) fn run_on(world: &World, length: usize, rounds: u64) -> Result<f64, String> {
    let spans = world.run(async |comm| -> Result<f64, WindowError> {
        let (rank, size) = (comm.rank(), comm.size());
        let (next, last) = ((rank + 1) % size, (rank + size - 1) % size);
        let window = Window::create(&comm, vec![0.0; length]).await?;
        let numbers = vec![rank as f64 + 1.0; length];
        window.fence().await?;
        let started = Instant::now();
        for _ in 0..rounds {
            window.put(next, 0, &numbers).await?;
            window.fence().await?;
        }
        let span = started.elapsed().as_secs_f64() * 1e6;
        let expected = last as f64 + 1.0;
        let numbers = window.free().await?;
        assert!(numbers.iter().all(|number| *number == expected));
        Ok(span)
    });
    let spans = spans.said()?;
    Ok(spans.into_iter().fold(0.0, f64::max) / rounds as f64)
}
