//! Many runs and many steps: what goes wrong once in a thousand times.

use motet_comm::{CommError, Communicator, World};
use motet_testkit::{Random, patience, stress, within};
use std::time::{Duration, Instant};

/// Exchanges numbers on a ring `stages` times; the result depends on every one of them.
async fn exchange(comm: &Communicator, stages: u64) -> Result<u64, CommError> {
    let (rank, size) = (comm.rank() as u64, comm.size() as u64);
    let mut ring = comm.ring().await?;
    let mut wrong = 0;
    for stage in 0..stages {
        let came = ring.exchange(stage * size + rank, stage ^ rank).await?;
        let (left, right) = ((rank + size - 1) % size, (rank + 1) % size);
        wrong += u64::from(came != (stage ^ left, stage * size + right));
    }
    Ok(wrong)
}

#[test]
fn sem_g77_a_million_stages_of_exchange() {
    within(patience(), || {
        for (size, stages) in [
            (2, 700_000),
            (3, 60_000),
            (4, 50_000),
            (7, 20_000),
            (8, 20_000),
        ] {
            let world = World::threads(size);
            let one_thread = (world.clone().workers(1), 100_000);
            for (world, stages) in [(world, stages), one_thread] {
                // A machine that is busy with other things gets through fewer of them.
                let start = Instant::now();
                for _ in (0..stages).step_by(1_000) {
                    let wrong = world.run(async |comm| exchange(&comm, 1_000).await);
                    assert_eq!(wrong.expect("it ends well"), vec![0; size], "{world:?}");
                    if start.elapsed() > Duration::from_secs(3) {
                        break;
                    }
                }
            }
        }
    });
}

#[test]
fn stress_two_thousand_worlds_begin_and_end() {
    within(patience(), || {
        stress(2_000, |seed| {
            let mut random = Random::new(seed);
            let world = World::threads(1 + random.below(4)).workers(1 + random.below(3));
            let meets = seed % 3;
            let sums = world.run(async |comm: Communicator| {
                let mut sum = comm.rank();
                for _ in 0..meets {
                    sum = comm.allreduce(sum, |a, b| a + b).await?;
                }
                Ok::<_, CommError>(sum)
            });
            let (size, sum) = (world.size(), world.size() * (world.size() - 1) / 2);
            let expected = match meets {
                0 => Vec::from_iter(0..size),
                1 => vec![sum; size],
                _ => vec![sum * size; size],
            };
            assert_eq!(sums.expect("it ends well"), expected, "seed {seed}");
        });
    });
}

#[test]
fn sem_g76_many_ranks_on_few_threads() {
    within(patience(), || {
        for world in [
            World::threads(300).workers(1),
            World::threads(300).workers(2),
        ] {
            let sums = world.run(async |comm: Communicator| {
                let mut ring = comm.ring().await?;
                let mut held = comm.rank();
                for _ in 0..50 {
                    let (left, right) = ring.exchange(held, held).await?;
                    held = comm.allreduce(left.max(right), std::cmp::max).await?;
                    held = comm.shift(held + comm.rank(), 7).await?;
                }
                Ok::<_, CommError>(held)
            });
            let sums = sums.expect("it ends well");
            // The largest number grows by the largest rank in each round.
            assert_eq!(sums.iter().max(), Some(&(299 * 51)), "{world:?}");
        }
    });
}

#[test]
fn stress_a_barrier_that_ranks_sleep_in_wakes_them_every_time() {
    within(patience(), || {
        stress(16, |seed| {
            let world = World::threads(2 + seed as usize % 3).workers(2);
            let rounds = world.run(async |comm: Communicator| {
                let mut random = Random::new(seed + 100 * comm.rank() as u64);
                for round in 0..375 {
                    // Long enough, now and then, for the others to fall asleep.
                    let pause = if random.below(4) == 0 { 150 } else { 0 };
                    let start = Instant::now();
                    while start.elapsed() < Duration::from_micros(pause) {
                        std::hint::spin_loop();
                    }
                    let rounds = comm.allgather(round).await?;
                    assert_eq!(rounds, vec![round; comm.size()]);
                }
                Ok::<_, CommError>(())
            });
            rounds.expect("it ends well");
        });
    });
}

#[test]
fn stress_two_ranks_that_only_meet_and_now_and_then_do_not_agree() {
    within(patience(), || {
        stress(16, |seed| {
            let world = World::threads(2).workers(2);
            let rounds = world.run(async |comm: Communicator| {
                let (mut same, mut own) = (
                    Random::new(seed),
                    Random::new(seed + 100 * (1 + comm.rank() as u64)),
                );
                for round in 0..1500 {
                    let pause = if own.below(16) == 0 { 150 } else { 0 };
                    let start = Instant::now();
                    while start.elapsed() < Duration::from_micros(pause) {
                        std::hint::spin_loop();
                    }
                    match same.below(6) {
                        0 => assert_eq!(comm.allreduce(round, |a, b| a + b).await?, 2 * round),
                        odd @ (1 | 2) if comm.rank() == odd - 1 => {
                            let told = comm.allreduce(round, |a, b| a + b).await;
                            assert!(matches!(told, Err(CommError::Mismatch { .. })), "{told:?}");
                        }
                        1 | 2 => {
                            let told = comm.barrier().await;
                            assert!(matches!(told, Err(CommError::Mismatch { .. })), "{told:?}");
                        }
                        _ => comm.barrier().await?,
                    }
                }
                Ok::<_, CommError>(())
            });
            rounds.expect("it ends well");
        });
    });
}

#[test]
fn stress_a_neighbour_that_leaves_shows_the_room_it_has_made() {
    within(patience(), || {
        stress(200, |seed| {
            let pause = Duration::from_micros(20 * (seed % 10));
            let ends = World::threads(2)
                .workers(2)
                .run(async |comm: Communicator| {
                    let mut line = comm.line().await?;
                    // Eight messages fill the ring; three are taken before the receiver leaves.
                    for step in 0..if comm.rank() == 0 { 11 } else { 3 } {
                        line.shift_right(step).await?;
                    }
                    let start = Instant::now();
                    while comm.rank() == 1 && start.elapsed() < pause {
                        std::hint::spin_loop();
                    }
                    Ok::<_, CommError>(())
                });
            assert!(ends.is_ok(), "seed {seed}: {ends:?}");
        });
    });
}
