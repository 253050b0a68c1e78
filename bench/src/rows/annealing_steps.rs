//! Steps of annealing on the ranks of a world, each with its share, or with blocks that rayon's
//! threads take.

use crate::kernels::TEMPERATURE;
use crate::mixture::mixture;
use crate::peers::rayon;
use ::rayon::ThreadPool;
use ::rayon::prelude::{IntoParallelIterator, ParallelIterator};
use motet_comm::{Communicator, World};
use motet_mining::{MiningError, Points, SoftStep, Steps};
use std::time::Instant;

/// The time of one of so many steps of annealing on the ranks of `world`, in µs; so many threads of
/// rayon, bound to their cores or not, compute the blocks of each rank, if they are given.
pub(crate) fn run_on(
    world: &World,
    (points, clusters): (usize, usize),
    threads: Option<(usize, bool)>,
    rounds: u64,
) -> Result<f64, String> {
    let (points, pool) = (
        mixture(points),
        threads.map(|(threads, pin)| rayon::pool(threads, pin)),
    );
    let pool = pool.transpose()?;
    let times = world.run(async |comm| {
        let (us, _) = steps(&comm, &points, clusters, pool.as_ref(), rounds).await?;
        Ok::<_, MiningError>(us)
    });
    let times = times.map_err(|error| error.to_string())?;
    Ok(times.into_iter().fold(0.0, f64::max))
}

/// The time of a step in µs, and the last one's result.
async fn steps(
    comm: &Communicator,
    points: &Points,
    clusters: usize,
    pool: Option<&ThreadPool>,
    rounds: u64,
) -> Result<(f64, SoftStep), MiningError> {
    let mut pass = Steps::new(comm, points).await?;
    let masses = vec![1.0 / clusters as f64; clusters];
    let centres = &points.values()[..clusters * points.dim()];
    let mut started = Instant::now();
    let mut round = 0;
    let add = |mut left: Vec<f64>, right: Vec<f64>| {
        left.iter_mut().zip(&right).for_each(|(l, r)| *l += r);
        left
    };
    loop {
        let step = match pool {
            None => pass.soft(TEMPERATURE, &masses, centres).await?,
            Some(pool) => {
                let by = |blocks, compute: &(dyn Fn(usize) -> Vec<f64> + Sync)| {
                    let sums = (0..blocks).into_par_iter().map(compute);
                    pool.install(|| sums.reduce_with(add)).unwrap_or_default()
                };
                pass.soft_by(TEMPERATURE, &masses, centres, by).await?
            }
        };
        if round == rounds {
            return Ok((started.elapsed().as_secs_f64() * 1e6 / rounds as f64, step));
        }
        if round == 0 {
            // The first one brings the points into the caches and the ranks together.
            started = Instant::now();
        }
        round += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_splits_compute_the_same_step() {
        let points = mixture(20_000);
        let step = |ranks: usize, threads: Option<usize>| {
            let pool = threads.map(|threads| rayon::pool(threads, false).unwrap());
            let mut all = World::threads(ranks)
                .run(async |comm| {
                    let (us, step) = steps(&comm, &points, 7, pool.as_ref(), 2).await?;
                    assert!(us > 0.0);
                    Ok::<_, MiningError>(step)
                })
                .unwrap();
            all.remove(0)
        };
        let alone = step(1, None);
        for (ranks, threads) in [(3, None), (1, Some(2)), (2, Some(3))] {
            let here = step(ranks, threads);
            for (here, alone) in here.centres.iter().zip(&alone.centres) {
                assert!(
                    (here - alone).abs() < 1e-12,
                    "{ranks} ranks, {threads:?} threads"
                );
            }
            assert!((here.free_energy - alone.free_energy).abs() < 1e-12);
        }
    }
}
