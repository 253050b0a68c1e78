//! Interleaves that own their state: who gets it how, and what a panic leaves.

use crate::support::{dispatcher, here, on_dispatchers, post_all};
use motet_dispatch::{Enqueue, QueueConfig};
use motet_ports::timer::sleep;
use motet_ports::{Exclusive, Fairness, Interleave, Port, SharedState};
use motet_testkit::{Drops, Log, explore, patience, within};
use std::time::Duration;

/// Two numbers that differ while a writer is between its two steps.
#[derive(Default)]
struct Pair(u32, u32);

/// A port for each kind of handler, and what the teardown handlers have found.
#[derive(Default)]
struct Ports {
    writes: Port<u32>,
    slow_writes: Port<u32>,
    reads: Port<()>,
    slow_reads: Port<()>,
    closes: Port<()>,
    slow_closes: Port<()>,
    /// An item for each write that has ended.
    written: Port<()>,
    ends: Port<(u32, u32)>,
}

const MOMENT: Duration = Duration::from_micros(20);

impl Ports {
    fn open(&self, queue: &impl Enqueue, fairness: Fairness) {
        let [end, slow_end] = [(); 2].map(|()| self.ends.clone());
        let [written, slow_written] = [(); 2].map(|()| self.written.clone());
        Interleave::with_state(Pair::default())
            .exclusive(&self.writes, move |pair, n| {
                pair.0 += n;
                motet_sync::thread::yield_now();
                pair.1 += n;
                written.post(()).unwrap();
            })
            .exclusive_async(&self.slow_writes, move |mut pair, n| {
                let written = slow_written.clone();
                async move {
                    pair.0 += n;
                    sleep(MOMENT).await;
                    pair.1 += n;
                    written.post(()).unwrap();
                }
            })
            .concurrent(&self.reads, |pair, ()| {
                assert_eq!(pair.0, pair.1, "a writer is between its steps");
            })
            .concurrent_async(&self.slow_reads, |pair, ()| async move {
                let before = pair.0;
                sleep(MOMENT).await;
                assert_eq!((pair.0, pair.1), (before, before), "a writer came in");
            })
            .teardown(&self.closes, move |Pair(a, b), ()| {
                end.post((a, b)).unwrap()
            })
            .teardown_async(&self.slow_closes, move |Pair(a, b), ()| async move {
                sleep(MOMENT).await;
                slow_end.post((a, b)).unwrap();
            })
            .fairness(fairness)
            .activate(queue)
            .unwrap();
    }

    fn post(&self, count: u32) {
        for n in 1..=count {
            self.writes.post(n).unwrap();
            self.reads.post(()).unwrap();
            self.slow_writes.post(n).unwrap();
            self.slow_reads.post(()).unwrap();
        }
    }
}

#[test]
fn sem_g294_readers_share_the_state_a_writer_has_it_alone_and_the_end_owns_it() {
    explore(0..60, |replay| {
        for (fairness, slow) in [
            (Fairness::ExclusiveFirst, false),
            (Fairness::Alternate, true),
        ] {
            let (queue, ports) = (
                replay.queue(QueueConfig::named("any order")),
                Ports::default(),
            );
            ports.open(&queue, fairness);
            ports.post(6);
            replay.run();
            let close = if slow {
                &ports.slow_closes
            } else {
                &ports.closes
            };
            close.post(()).unwrap();
            replay.run();
            assert_eq!(ports.ends.test(), Some((42, 42)));
        }
    });
    on_dispatchers(3, |dispatcher, queue| {
        let (ports, told) = (Ports::default(), Log::new());
        let heard = told.clone();
        queue.on_exception(move |exception| heard.push(exception.to_string()));
        ports.open(queue, Fairness::Alternate);
        ports.post(40);
        (0..80).for_each(|_| ports.written.recv_blocking().unwrap());
        ports.slow_closes.post(()).unwrap();
        let all = 2 * (1..=40).sum::<u32>();
        assert_eq!(ports.ends.recv_blocking(), Ok((all, all)));
        dispatcher.wait_idle();
        assert_eq!(told.take(), Vec::<String>::new());
    });
}

#[test]
fn sem_g294_handlers_take_items_guarded_items_batches_and_sets() {
    let (queue, out) = (here(), Port::new());
    let [numbers, even, three, left] = [(); 4].map(|()| Port::<u32>::new());
    let (right, asks) = (Port::<&str>::new(), Port::<()>::new());
    let told = out.clone();
    Interleave::with_state(Vec::new())
        .exclusive(&numbers, |all, n| all.push(format!("{n}")))
        .exclusive(even.when(|n| n % 2 == 0), |all, n| {
            all.push(format!("even {n}"))
        })
        .exclusive(three.times(3), |all, three| all.push(format!("{three:?}")))
        .exclusive((&left, &right), |all, (n, name)| {
            all.push(format!("{name} {n}"))
        })
        .concurrent(&asks, move |all, ()| told.post(all.join(", ")).unwrap())
        .activate(&queue)
        .unwrap();
    post_all(&numbers, [7]);
    post_all(&even, [1, 2]);
    post_all(&three, 1..=4);
    post_all(&left, [5]);
    post_all(&right, ["five"]);
    asks.post(()).unwrap();
    assert_eq!(out.test().as_deref(), Some("7, even 2, [1, 2, 3], five 5"));
    assert_eq!((even.items(), three.items()), (vec![1], vec![4]));
}

#[test]
fn sem_g295_after_a_panic_the_state_is_as_the_handler_left_it() {
    explore(0..20, |replay| {
        let queue = replay.queue(QueueConfig::named("any order"));
        let (told, out) = (Log::new(), Port::new());
        let heard = told.clone();
        queue.on_exception(move |exception| heard.push(exception.message().to_owned()));
        let (writes, slow, asks, closes) = (Port::new(), Port::new(), Port::new(), Port::new());
        let (one, end) = (out.clone(), out.clone());
        Interleave::with_state(0)
            .exclusive(&writes, |total, n: u32| {
                *total += n;
                assert!(n != 10, "ten");
            })
            .exclusive_async(&slow, |mut total: Exclusive<u32>, n| async move {
                *total += n;
                sleep(MOMENT).await;
                assert!(n != 100, "a hundred");
            })
            .concurrent(&asks, move |total, ()| {
                one.post(*total).unwrap();
                panic!("asked");
            })
            .teardown(&closes, move |total, ()| end.post(total).unwrap())
            .activate(&queue)
            .unwrap();
        post_all(&writes, [1, 10, 1]);
        post_all(&slow, [1, 100, 1]);
        replay.run();
        asks.post(()).unwrap();
        replay.run();
        asks.post(()).unwrap();
        replay.run();
        closes.post(()).unwrap();
        replay.run();
        assert_eq!(out.items(), [114, 114, 114]);
        assert_eq!(told.take_sorted(), ["a hundred", "asked", "asked", "ten"]);
    });
}

#[test]
fn sem_g295_a_future_that_is_dropped_leaves_the_state_to_the_next() {
    let (queue, writes, asks) = (here(), Port::new(), Port::<Port<u32>>::new());
    Interleave::with_state(1)
        .exclusive_async(&writes, |mut state, n| async move {
            *state += n;
            // Nobody can wake it: it is dropped.
            std::future::pending::<()>().await;
        })
        .concurrent(&asks, |state, reply| reply.post(*state).unwrap())
        .activate(&queue)
        .unwrap();
    let answers = Port::new();
    post_all(&writes, [1, 2]);
    asks.post(answers.clone()).unwrap();
    assert_eq!(answers.test(), Some(4));
}

#[test]
fn sem_g294_a_handler_that_gives_its_state_away_runs_until_that_is_dropped() {
    let (queue, out) = (here(), Port::new());
    let (takes, looks, asks) = (Port::new(), Port::new(), Port::<Port<u32>>::new());
    let (kept, seen) = (
        Port::<Exclusive<u32>>::new(),
        Port::<SharedState<u32>>::new(),
    );
    let (keep, look) = (kept.clone(), seen.clone());
    Interleave::with_state(1)
        .exclusive_async(&takes, move |state, ()| {
            keep.post(state).unwrap();
            async {}
        })
        .concurrent_async(&looks, move |state, ()| {
            look.post(state).unwrap();
            async {}
        })
        .concurrent(&asks, |state, reply| reply.post(*state).unwrap())
        .activate(&queue)
        .unwrap();
    takes.post(()).unwrap();
    let mut state = kept.test().unwrap();
    asks.post(out.clone()).unwrap();
    assert_eq!(out.item_count(), 0, "the state has been given away");
    *state = 2;
    assert_eq!(format!("{state:?}"), "Exclusive(2)");
    drop(state);
    assert_eq!(out.test(), Some(2));
    looks.post(()).unwrap();
    let state = seen.test().unwrap();
    takes.post(()).unwrap();
    assert_eq!((*state, kept.item_count()), (2, 0), "it is read");
    drop(state);
    assert_eq!(kept.item_count(), 1);
}

#[test]
fn sem_g294_the_state_is_dropped_once() {
    within(patience(), || {
        let (dispatcher, queue) = dispatcher(2);
        let (drops, closes) = (Drops::new(), Port::new());
        let adds = Port::new();
        Interleave::with_state(drops.make())
            .exclusive(&adds, |_, ()| {})
            .teardown(&closes, |_, ()| panic!("at the end"))
            .activate(&queue)
            .unwrap();
        queue.on_exception(|_| ());
        adds.post(()).unwrap();
        dispatcher.wait_idle();
        assert_eq!(drops.dropped(), 0);
        closes.post(()).unwrap();
        dispatcher.wait_idle();
        assert_eq!(drops.dropped(), 1);
        // Without a teardown item: with the members.
        let adds = Port::new();
        Interleave::with_state(drops.make())
            .exclusive(&adds, |_, ()| {})
            .activate(&queue)
            .unwrap();
        dispatcher.wait_idle();
        drop(adds);
        dispatcher.wait_idle();
        assert_eq!((drops.made(), drops.dropped()), (2, 2));
    });
}
