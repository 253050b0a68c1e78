//! Parallel loops: every block once, results in order, sums with the same bits.

use crate::support::{here, on_dispatchers};
use motet_dispatch::{
    Causality, Dispatcher, Enqueue, ExecutionPolicy, QueueConfig, QueueError, spawn,
};
use motet_ports::{LoopError, ParallelLoop, Schedule, wait_blocking};
use motet_sync::Arc;
use motet_sync::atomic::{AtomicUsize, Ordering};
use motet_testkit::{Drops, Gate, Log, explore};

const SCHEDULES: [Schedule; 4] = [
    Schedule::Static,
    Schedule::Dynamic { chunk: 0 },
    Schedule::Dynamic { chunk: 1 },
    Schedule::Dynamic { chunk: 7 },
];

/// Every schedule with several degrees.
fn loops(queue: &impl Enqueue) -> impl Iterator<Item = ParallelLoop> {
    let one = ParallelLoop::new(queue);
    SCHEDULES.into_iter().flat_map(move |schedule| {
        let one = one.clone().schedule(schedule);
        [0, 1, 2, 5, 1000].map(|degree| one.clone().degree(degree))
    })
}

#[test]
fn sem_g32_each_block_runs_once_and_results_come_in_order() {
    for parallel in loops(&here()) {
        for blocks in [0, 1, 2, 6, 7, 8, 100] {
            let doubled = wait_blocking(parallel.map(0..blocks, |n| 2 * n)).unwrap();
            let expected: Vec<usize> = (0..blocks).map(|n| 2 * n).collect();
            assert_eq!(doubled.unwrap(), expected, "{parallel:?}");
        }
    }
    on_dispatchers(1, |_, queue| {
        for parallel in loops(queue) {
            let runs: Arc<Vec<AtomicUsize>> = Arc::new((0..100).map(|_| 0.into()).collect());
            let counts = Arc::clone(&runs);
            let run = parallel.for_each(0..100, move |n| {
                counts[n].fetch_add(1, Ordering::Relaxed);
            });
            wait_blocking(run).unwrap().unwrap();
            assert!(runs.iter().all(|runs| runs.load(Ordering::Relaxed) == 1));
        }
    });
}

#[test]
fn sem_g32_at_most_degree_bodies_run_at_a_time() {
    on_dispatchers(1, |_, queue| {
        let now = Arc::new(AtomicUsize::new(0));
        for degree in [1, 2] {
            let (now, schedule) = (Arc::clone(&now), Schedule::Dynamic { chunk: 1 });
            let parallel = ParallelLoop::new(queue).degree(degree).schedule(schedule);
            let run = parallel.map(0..50, move |_| {
                let others = now.fetch_add(1, Ordering::SeqCst);
                motet_sync::thread::yield_now();
                now.fetch_sub(1, Ordering::SeqCst);
                others + 1
            });
            let most = wait_blocking(run).unwrap().unwrap().into_iter().max();
            assert!((Some(1)..=Some(degree)).contains(&most), "{most:?}");
        }
    });
}

#[test]
fn sem_g33_a_sum_has_the_same_bits_for_any_schedule_degree_and_dispatcher() {
    /// Neighbours in pairs, then pairs of pairs.
    fn known(values: &[f64]) -> f64 {
        match values {
            [one] => *one,
            _ => {
                let half = values.len().next_power_of_two() / 2;
                known(&values[..half]) + known(&values[half..])
            }
        }
    }
    let term = |n: u32| 1.0 / f64::from(n * n + 1) - 1.0 / f64::from(n + 3);
    for blocks in [1, 2, 3, 5, 1000_u32] {
        let expected = known(&(0..blocks).map(term).collect::<Vec<_>>()).to_bits();
        on_dispatchers(1, move |_, queue| {
            for parallel in loops(queue) {
                let sum = parallel.reduce(0..blocks, term, |a, b| a + b);
                let sum = wait_blocking(sum).unwrap().unwrap().unwrap();
                assert_eq!(sum.to_bits(), expected, "{blocks} {parallel:?}");
            }
        });
    }
    let nothing = ParallelLoop::new(&here()).reduce(0..0, |n| n, |a, b| a + b);
    assert_eq!(wait_blocking(nothing).unwrap().unwrap(), None);
}

#[test]
fn sem_g32_a_panic_ends_the_loop_and_comes_to_the_caller() {
    on_dispatchers(3, |dispatcher, queue| {
        for parallel in loops(queue) {
            let drops = Drops::new();
            let blocks: Vec<_> = (0..40).map(|n| (n, drops.make())).collect();
            let run = parallel.map(blocks, |(n, _block)| assert!(n != 20, "block {n} is bad"));
            let error = wait_blocking(run).unwrap().unwrap_err();
            assert!(error.to_string().contains("block 20 is bad"), "{error}");
            dispatcher.wait_idle();
            assert_eq!((drops.made(), drops.dropped()), (40, 40));
        }
    });
    let run = ParallelLoop::new(&here()).reduce(0..2, |n| n, |_, _| panic!("no sum"));
    let error = wait_blocking(run).unwrap().unwrap_err();
    assert!(error.to_string().contains("no sum"), "{error}");
}

#[test]
fn sem_g32_a_loop_that_is_not_awaited_drops_its_blocks_and_tells_its_panic() {
    on_dispatchers(3, |dispatcher, queue| {
        let (drops, told) = (Drops::new(), Log::new());
        let heard = told.clone();
        queue.on_exception(move |exception| heard.push(exception.message().to_owned()));
        queue.suspend();
        let blocks: Vec<_> = (0..40).map(|_| drops.make()).collect();
        drop(ParallelLoop::new(queue).for_each(blocks, |_| unreachable!("given up")));
        queue.resume();
        let gate = Gate::new();
        let held = gate.clone();
        let bad = ParallelLoop::new(queue).degree(1).for_each(0..1, move |_| {
            held.pass();
            panic!("bad");
        });
        gate.wait_for(1);
        drop(bad);
        gate.open();
        dispatcher.wait_idle();
        assert_eq!((drops.dropped(), told.take()), (40, vec!["bad".to_owned()]));
        // The panic comes first.
        let bad = ParallelLoop::new(queue).for_each(0..1, |_| panic!("worse"));
        dispatcher.wait_idle();
        assert!(told.is_empty());
        drop(bad);
        assert_eq!(told.take(), ["worse"]);
        let order = Causality::new("order").on_exception({
            let heard = told.clone();
            move |exception| {
                heard.push(format!("order: {}", exception.message()));
                Ok(())
            }
        });
        let bad = order.run(|| ParallelLoop::new(queue).for_each(0..1, |_| panic!("worst")));
        dispatcher.wait_idle();
        drop(bad);
        assert_eq!(told.take(), ["order: worst"]);
    });
}

#[test]
fn sem_g32_a_queue_that_takes_no_task_is_an_error() {
    let dispatcher = Dispatcher::new(1);
    let depth = 1.try_into().unwrap();
    let narrow = dispatcher.queue(QueueConfig {
        policy: ExecutionPolicy::ConstrainQueueDepthThrottleExecution { depth },
        ..QueueConfig::named("narrow")
    });
    narrow.suspend();
    let parallel = ParallelLoop::new(&narrow).degree(4);
    let first = parallel.map(0..8, |n| n);
    let error = wait_blocking(parallel.map(0..8, |n| n))
        .unwrap()
        .unwrap_err();
    assert!(
        matches!(error, LoopError::Queue(QueueError::Full)),
        "{error}"
    );
    narrow.resume();
    let all = wait_blocking(first).unwrap().unwrap();
    assert!(all.into_iter().eq(0..8), "one task does all of it");
    // Stopped, and cancelled.
    narrow.suspend();
    let waiting = parallel.map(0..8, |n| n);
    drop(dispatcher);
    let error = wait_blocking(waiting).unwrap().unwrap_err();
    assert!(
        matches!(error, LoopError::Dropped | LoopError::Queue(_)),
        "{error}"
    );
    let order = Causality::new("order").skipping_unstarted();
    order.cancel("nobody wants it");
    let run = order.run(|| ParallelLoop::new(&here()).map(0..8, |n| n));
    let error = wait_blocking(run).unwrap().unwrap_err();
    assert!(matches!(error, LoopError::Dropped), "{error}");
}

#[test]
fn sem_g33_a_loop_gives_the_same_in_any_order_of_its_tasks() {
    explore(0..50, |replay| {
        let queue = replay.queue(QueueConfig::named("any order"));
        let log = Log::new();
        for parallel in loops(&queue) {
            let told = log.clone();
            let sums = async move {
                let body = |n: u32| 1.0 / f64::from(n + 1);
                let sum = parallel.reduce(0..33, body, |a, b| a + b).await;
                told.push(sum.unwrap().unwrap().to_bits());
            };
            spawn(&queue.handle(), sums).unwrap();
        }
        replay.run();
        let sums = log.take();
        assert!(sums.len() == 20 && sums.iter().all(|sum| *sum == sums[0]));
    });
}
