//! Parallel loops inside ranks: a rank awaits its loop and holds no worker.

use motet::{CommError, Dispatcher, ParallelLoop, QueueConfig, Schedule, World};
use motet_testkit::{patience, within};

/// A sum of which rounding would show every other order.
fn term(block: u64) -> f64 {
    1.0 / (block as f64 + 0.3)
}

#[test]
fn sem_g32_a_rank_awaits_its_loop_while_others_of_its_worker_run() {
    within(patience(), || {
        let dispatcher = Dispatcher::new(1);
        let queue = dispatcher.queue(QueueConfig::named("loop"));
        // More ranks than threads: one that blocked its worker would keep the others from the
        // barrier.
        for (ranks, schedule) in [(1, Schedule::Static), (8, Schedule::Dynamic { chunk: 3 })] {
            let parallel = ParallelLoop::new(&queue).degree(2).schedule(schedule);
            let world = World::threads(ranks);
            let sums = world.run(async |comm| -> Result<f64, CommError> {
                let mut total = 0.0;
                for _ in 0..5 {
                    comm.barrier().await?;
                    let blocks: Vec<u64> = (0..50).collect();
                    let sum = parallel.reduce(blocks, term, |a, b| a + b).await;
                    total = comm.allreduce(sum.unwrap().unwrap(), f64::max).await?;
                }
                Ok(total)
            });
            let sums = sums.unwrap();
            assert!(sums.iter().all(|sum| sum.to_bits() == sums[0].to_bits()));
        }
    });
}
