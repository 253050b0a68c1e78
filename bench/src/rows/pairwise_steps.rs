//! Steps of pairwise annealing on the ranks of a world, each with its share of the rows, or with
//! blocks of rows that threads take.

use crate::kernels::loops::Loops;
use crate::peers::rayon;
use crate::said::Said;
use crate::sequences;
use ::rayon::ThreadPool;
use ::rayon::prelude::{IntoParallelIterator, ParallelIterator};
use motet_comm::{Communicator, World};
use motet_mining::{Dissimilarities, MiningError, PairSteps, PairWork};
use motet_sync::{Mutex, thread};
use std::sync::Arc;
use std::time::Instant;

/// Below the temperatures at which the families part.
const TEMPERATURE: f64 = 0.05;

/// Rounds at least.
pub(crate) const LEAST: u64 = 3;

/// Who computes a rank's rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hands {
    /// The rank.
    Own,
    /// So many threads of motet, each a block after the other; bound to their cores or not.
    Loop(usize, bool),
    /// So many threads of rayon.
    Rayon(usize, bool),
}

/// The threads of a rank.
enum Crew {
    None,
    Loop(Loops),
    Rayon(ThreadPool),
}

impl Hands {
    /// So many threads of motet, bound to their cores if they fill the machine.
    pub(crate) fn filling_by_loop(threads: usize) -> Hands {
        Hands::Loop(threads, threads == thread::cores())
    }

    /// The same of rayon.
    pub(crate) fn filling_by_rayon(threads: usize) -> Hands {
        Hands::Rayon(threads, threads == thread::cores())
    }

    fn crew(self) -> Result<Crew, String> {
        Ok(match self {
            Hands::Own => Crew::None,
            Hands::Loop(threads, pin) => Crew::Loop(Loops::new(threads, pin)?),
            Hands::Rayon(threads, pin) => Crew::Rayon(rayon::pool(threads, pin)?),
        })
    }
}

impl Crew {
    /// The product of all blocks, one after the other.
    async fn product(&self, work: PairWork) -> Result<Vec<f64>, String> {
        let blocks = work.blocks();
        match self {
            Crew::None => Ok((0..blocks).flat_map(|block| work.block(block)).collect()),
            Crew::Rayon(pool) => {
                let parts = || (0..blocks).into_par_iter().map(|block| work.block(block));
                let parts: Vec<Vec<f64>> = pool.install(|| parts().collect());
                Ok(parts.concat())
            }
            Crew::Loop(loops) => {
                let parts: Arc<[Mutex<Vec<f64>>]> =
                    (0..blocks).map(|_| Mutex::new(Vec::new())).collect();
                let to = Arc::clone(&parts);
                let body = move |block: usize| *to[block].lock() = work.block(block);
                loops.once(blocks, body).await?;
                Ok(parts
                    .iter()
                    .flat_map(|part| std::mem::take(&mut *part.lock()))
                    .collect())
            }
        }
    }
}

/// The dissimilarities of so many sequences.
pub(crate) fn pairs(rows: usize) -> Arc<Dissimilarities> {
    Arc::new(sequences::distances(rows))
}

/// The time of one of so many steps on the ranks of `world`, in µs.
pub(crate) fn run_on(
    world: &World,
    (pairs, clusters): (&Arc<Dissimilarities>, usize),
    hands: Hands,
    rounds: u64,
) -> Result<f64, String> {
    let times = world
        .run(async |comm| Ok::<_, MiningError>(steps(&comm, pairs, clusters, hands, rounds).await))
        .said()?;
    times
        .into_iter()
        .try_fold(0.0, |longest: f64, time| Ok(longest.max(time?.0)))
}

/// The time of a step in µs, and the last one's free energy.
async fn steps(
    comm: &Communicator,
    pairs: &Arc<Dissimilarities>,
    clusters: usize,
    hands: Hands,
    rounds: u64,
) -> Result<(f64, f64), String> {
    let told = |error: MiningError| error.to_string();
    let crew = hands.crew()?;
    let mut all = PairSteps::new(comm, Arc::clone(pairs), clusters);
    let mut started = Instant::now();
    for round in 0..=rounds {
        let free = match &crew {
            Crew::None => all.step(TEMPERATURE).await.map_err(told)?,
            crew => {
                let product = crew.product(all.work()).await?;
                all.end(product, TEMPERATURE).await.map_err(told)?
            }
        };
        if round == rounds {
            let us = started.elapsed().as_secs_f64() * 1e6 / rounds as f64;
            return Ok((us, free));
        }
        if round == 0 {
            // The first one brings the rows into the caches and the ranks together.
            started = Instant::now();
        }
    }
    Err("no rounds were asked for".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_splits_compute_the_same_step() {
        let pairs = pairs(150);
        let free = |ranks: usize, hands: Hands| {
            let run = World::threads(ranks).run(async |comm| {
                Ok::<_, MiningError>(steps(&comm, &pairs, 7, hands, 2).await.unwrap())
            });
            let all = run.unwrap();
            assert!(all.iter().all(|(us, free)| *us > 0.0 && *free == all[0].1));
            all[0].1
        };
        let alone = free(1, Hands::Own);
        for (ranks, hands) in [
            (3, Hands::Own),
            (1, Hands::Loop(2, false)),
            (2, Hands::Loop(2, false)),
            (1, Hands::Rayon(2, false)),
        ] {
            assert_eq!(free(ranks, hands), alone, "{ranks} ranks, {hands:?}");
        }
    }
}
