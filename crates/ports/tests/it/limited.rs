//! Receives with a limit on their handlers.

use crate::support::{dispatcher, here, in_parallel, on_dispatchers, port_with, post_all};
use motet_dispatch::{Dispatcher, ExecutionPolicy, Inline, QueueConfig};
use motet_ports::timer::sleep;
use motet_ports::{Interleave, Overflow, Port, Receive};
use motet_sync::Arc;
use motet_sync::atomic::{AtomicUsize, Ordering};
use motet_testkit::{Drops, Log, explore, patience, within};
use proptest::prelude::*;
use std::collections::VecDeque;
use std::time::Duration;

/// How many are in, and how many at most were.
#[derive(Clone, Default)]
struct Readers(Arc<(AtomicUsize, AtomicUsize)>);

impl Readers {
    fn enter(&self) {
        let now = self.0.0.fetch_add(1, Ordering::SeqCst) + 1;
        self.0.1.fetch_max(now, Ordering::SeqCst);
    }

    fn leave(&self) {
        self.0.0.fetch_sub(1, Ordering::SeqCst);
    }

    fn most(&self) -> usize {
        self.0.1.load(Ordering::SeqCst)
    }
}

/// An async receive that waits for an item of `gate` for each item, and logs it then.
fn gated(port: &Port<u32>, gate: &Port<()>, log: &Log<u32>) -> Receive<u32> {
    let (gate, log) = (gate.clone(), log.clone());
    Receive::persistent_async(port, move |n| {
        let (gate, log) = (gate.clone(), log.clone());
        async move {
            gate.recv().await;
            log.push(n);
        }
    })
}

#[test]
fn sem_g28_items_beyond_the_limit_wait_in_the_port() {
    let (port, gate, log) = (Port::bounded(2, Overflow::Reject), Port::new(), Log::new());
    let receive = gated(&port, &gate, &log).at_most(3);
    let active = receive.activate(&here()).unwrap();
    post_all(&port, 1..=5);
    assert_eq!(port.items(), [4, 5], "three are under way");
    assert_eq!(port.post(6).unwrap_err().item, 6, "a bounded port fills up");
    gate.post(()).unwrap();
    assert_eq!((port.items(), log.take()), (vec![5], vec![1]));
    active.cleanup();
    (0..2).for_each(|_| gate.post(()).unwrap());
    assert_eq!(port.items(), [5], "it takes no more");
    let next = gated(&port, &gate, &log).at_most(1);
    next.activate(&here()).unwrap();
    assert_eq!(port.item_count(), 0);
}

#[test]
fn sem_g28_no_more_handlers_run_at_a_time_and_all_items_are_handled() {
    explore(0..60, |replay| {
        let queue = replay.queue(QueueConfig::named("any order"));
        for most in [1, 2, 5] {
            let (port, readers, log) = (port_with(1..=3), Readers::default(), Log::new());
            let (inside, told) = (readers.clone(), log.clone());
            Receive::persistent_async(&port, move |n: u32| {
                let (inside, told) = (inside.clone(), told.clone());
                async move {
                    inside.enter();
                    sleep(Duration::from_millis(1)).await;
                    told.push(n);
                    inside.leave();
                }
            })
            .at_most(most)
            .activate(&queue)
            .unwrap();
            post_all(&port, 4..=12);
            replay.run();
            assert_eq!((readers.most(), port.item_count()), (most, 0));
            let handled = log.take();
            assert_eq!(handled.len(), 12);
            assert!(most > 1 || handled.is_sorted(), "{handled:?}");
        }
    });
}

#[test]
fn sem_g28_one_at_a_time_keeps_the_order_of_each_poster() {
    on_dispatchers(3, |dispatcher, queue| {
        for most in [1, 3] {
            let (port, readers, log) = (Port::new(), Readers::default(), Log::new());
            let (inside, told) = (readers.clone(), log.clone());
            Receive::persistent(&port, move |item: (usize, u32)| {
                inside.enter();
                told.push(item);
                inside.leave();
            })
            .at_most(most)
            .activate(queue)
            .unwrap();
            let posted = port.clone();
            in_parallel(2, move |poster| {
                (0..1000).for_each(|n| posted.post((poster, n)).unwrap());
            });
            dispatcher.wait_idle();
            assert!(readers.most() <= most);
            let handled = log.take();
            assert_eq!(handled.len(), 2000);
            for poster in 0..2 {
                let of = handled.iter().filter(|(by, _)| *by == poster);
                let of: Vec<u32> = of.map(|(_, n)| *n).collect();
                assert!(most > 1 || of.is_sorted());
            }
        }
    });
}

#[test]
fn sem_g28_a_panic_and_a_dropped_future_give_their_place_up() {
    let (queue, log) = (Inline::new("here"), Log::new());
    let (port, told) = (Port::new(), log.clone());
    queue.on_exception(move |exception| told.push(exception.message().to_owned()));
    Receive::persistent(&port, |n: u32| panic!("{n}"))
        .at_most(1)
        .activate(&queue)
        .unwrap();
    post_all(&port, 1..=3);
    assert_eq!(log.take(), ["1", "2", "3"]);
    let (port, drops) = (Port::new(), Drops::new());
    Receive::persistent_async(&port, move |item| async move {
        let _item = item;
        // Nobody can wake it: it is dropped.
        std::future::pending::<()>().await;
    })
    .at_most(1)
    .activate(&queue)
    .unwrap();
    (0..3).for_each(|_| port.post(drops.make()).unwrap());
    assert_eq!((drops.dropped(), port.item_count()), (3, 0));
}

#[test]
fn sem_g28_items_that_are_not_wanted_and_other_receivers_are_left_alone() {
    let (port, gate, log) = (Port::new(), Port::new(), Log::new());
    let even = gated(&port, &gate, &log).when(|n| n % 2 == 0).at_most(1);
    even.activate(&here()).unwrap();
    post_all(&port, 1..=6);
    assert_eq!(port.items(), [1, 3, 4, 5, 6]);
    gate.post(()).unwrap();
    assert_eq!((port.items(), log.take()), (vec![1, 3, 5, 6], vec![2]));
    // A later receiver gets what the first has no place for.
    let others = Log::new();
    let told = others.clone();
    Receive::persistent(&port, move |n| told.push(n))
        .activate(&here())
        .unwrap();
    assert_eq!((port.item_count(), others.take()), (0, vec![1, 3, 5, 6]));
    post_all(&port, [8]);
    assert_eq!(others.take(), [8]);
    gate.post(()).unwrap();
    post_all(&port, [10]);
    gate.post(()).unwrap();
    assert_eq!((log.take(), others.take()), (vec![4, 10], vec![]));
}

#[test]
fn sem_g28_a_task_that_is_given_up_takes_no_place() {
    within(patience(), || {
        let (port, log) = (Port::new(), Log::new());
        let (narrow_dispatcher, narrow) = dispatcher(1);
        let told = log.clone();
        let receive = |told: Log<u32>| Receive::persistent(&port, move |n| told.push(n)).at_most(2);
        receive(told).activate(&narrow).unwrap();
        narrow_dispatcher.wait_idle();
        narrow.suspend();
        post_all(&port, 1..=4);
        assert_eq!(port.items(), [3, 4]);
        drop((narrow, narrow_dispatcher));
        assert_eq!(port.items(), [1, 2, 3, 4], "what was queued is back");
        receive(log.clone()).activate(&here()).unwrap();
        assert_eq!(log.take(), [1, 2, 3, 4]);
    });
}

#[test]
fn sem_g28_a_queue_of_little_room_and_a_limit_get_along() {
    within(patience(), || {
        let dispatcher = Dispatcher::new(2);
        let depth = 1.try_into().unwrap();
        let narrow = dispatcher.queue(QueueConfig {
            policy: ExecutionPolicy::ConstrainQueueDepthThrottleExecution { depth },
            ..QueueConfig::named("narrow")
        });
        let (port, log) = (port_with(0..500_u32), Log::new());
        let told = log.clone();
        Receive::persistent(&port, move |n| told.push(n))
            .at_most(2)
            .activate(&narrow)
            .unwrap();
        dispatcher.wait_idle();
        assert_eq!(log.take_sorted(), (0..500).collect::<Vec<_>>());
    });
}

#[test]
fn sem_g28_a_member_of_an_interleave_may_have_a_limit() {
    explore(0..40, |replay| {
        let queue = replay.queue(QueueConfig::named("any order"));
        let (together, alone, closes) = (Port::new(), Port::new(), Port::new());
        let (readers, log) = (Readers::default(), Log::new());
        let (inside, writer, told) = (readers.clone(), readers.clone(), log.clone());
        let reads = Receive::persistent_async(&together, move |n: u32| {
            let (inside, told) = (inside.clone(), told.clone());
            async move {
                inside.enter();
                sleep(Duration::from_millis(1)).await;
                told.push(n);
                inside.leave();
            }
        });
        Interleave::new()
            .concurrent(reads.at_most(2))
            .exclusive(Receive::persistent(&alone, move |()| {
                assert_eq!(writer.0.0.load(Ordering::SeqCst), 0);
            }))
            .teardown(Receive::once(&closes, |()| ()))
            .activate(&queue)
            .unwrap();
        for n in 0..8 {
            together.post(n).unwrap();
            alone.post(()).unwrap();
        }
        replay.run();
        assert_eq!((readers.most(), log.take_sorted()), (2, (0..8).collect()));
        closes.post(()).unwrap();
        together.post(9).unwrap();
        replay.run();
        assert_eq!(together.items(), [9]);
    });
}

#[test]
fn sem_g28_many_items_that_wait_are_not_looked_at_again_and_again() {
    let (port, looks, log) = (
        port_with(0..20_000_u32),
        Arc::new(AtomicUsize::new(0)),
        Log::new(),
    );
    let (count, told) = (Arc::clone(&looks), log.clone());
    Receive::persistent(&port, move |n| told.push(n))
        .when(move |_| {
            count.fetch_add(1, Ordering::Relaxed);
            true
        })
        .at_most(1)
        .activate(&here())
        .unwrap();
    assert_eq!(log.take(), (0..20_000).collect::<Vec<_>>());
    // Once at the registration, once when there is a place.
    assert!(looks.load(Ordering::Relaxed) <= 40_000);
}

#[derive(Debug, Clone, Copy)]
enum Step {
    Post,
    PutBack,
    Take,
    Finish,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => Just(Step::Post),
        1 => Just(Step::PutBack),
        1 => Just(Step::Take),
        3 => Just(Step::Finish),
    ]
}

proptest! {
    #[test]
    fn prop_sem_g28_a_limited_receive_is_a_queue_before_so_many_servers(
        most in 1..4_usize,
        steps in proptest::collection::vec(step(), 0..60),
    ) {
        let (port, gate, started) = (Port::new(), Port::<()>::new(), Log::new());
        let (opened, told) = (gate.clone(), started.clone());
        Receive::persistent_async(&port, move |n: u32| {
            let gate = opened.clone();
            told.push(n);
            async move { gate.recv().await }
        })
        .at_most(most)
        .activate(&here())
        .unwrap();
        let (mut waiting, mut running, mut begun) = (VecDeque::new(), 0, Vec::new());
        for (n, step) in (0_u32..).zip(steps) {
            match step {
                Step::Post => {
                    port.post(n).unwrap();
                    waiting.push_back(n);
                }
                Step::PutBack => {
                    port.put_back(n).unwrap();
                    waiting.push_front(n);
                }
                Step::Take => prop_assert_eq!(port.test(), waiting.pop_front()),
                Step::Finish if running > 0 => {
                    gate.post(()).unwrap();
                    running -= 1;
                }
                Step::Finish => {}
            }
            if running < most && let Some(next) = waiting.pop_front() {
                begun.push(next);
                running += 1;
            }
            prop_assert_eq!(port.items(), Vec::from(waiting.clone()));
        }
        prop_assert_eq!(started.take(), begun);
    }
}

#[test]
#[should_panic(expected = "give it 1 at least")]
fn a_limit_of_0_is_refused() {
    let _receive = Receive::persistent(&Port::<u32>::new(), |_| ()).at_most(0);
}
