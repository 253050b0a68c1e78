//! Same program, same result: programs of ports under a replay.

use crate::support::{poll, post_all, take_all};
use motet_dispatch::{Enqueue, QueueConfig, Replay, ReplayConfig, spawn};
use motet_ports::timer::{self, Deadline};
use motet_ports::{JoinedReceive, MultipleItemReceive, Port, Receive};
use motet_testkit::{Log, explore};
use std::collections::HashSet;
use std::sync::Arc;
use std::task::{Wake, Waker};
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

/// Runs `program` with several seeds, each twice: the same steps and results for the same seed, and
/// not one course of events for all seeds.
fn repeats<R: PartialEq + std::fmt::Debug>(program: impl Fn(&Replay) -> R) {
    let mut courses = HashSet::new();
    for seed in 0..30 {
        let run = || {
            let replay = Replay::with(ReplayConfig {
                seed,
                task_time: if seed % 2 == 0 { Duration::ZERO } else { MS },
                ..ReplayConfig::default()
            });
            let result = program(&replay);
            (result, replay.trace(), replay.elapsed())
        };
        let (first, again) = (run(), run());
        assert_eq!(first, again, "seed {seed}");
        courses.insert(first.1.hash());
    }
    assert!(
        courses.len() > 25,
        "{} courses of events for 30 seeds",
        courses.len()
    );
}

#[test]
fn sem_g56_philosophers_eat_in_the_order_of_the_seed() {
    const MEALS: usize = 20;
    repeats(|replay| {
        let queue = replay.queue(QueueConfig::named("table"));
        let forks: Vec<Port<u32>> = (0..5).map(|_| Port::new()).collect();
        let meals = Log::new();
        for input in 0..5 {
            let (left, right) = (forks[input].clone(), forks[(input + 1) % 5].clone());
            let (left_again, right_again, meals) = (left.clone(), right.clone(), meals.clone());
            JoinedReceive::persistent((&left, &right), move |(l, r)| {
                meals.push(input);
                if meals.len() < 5 * MEALS {
                    left_again.post(l).unwrap();
                    right_again.post(r).unwrap();
                }
            })
            .activate(&queue)
            .unwrap();
        }
        for fork in &forks {
            fork.post(0).unwrap();
        }
        replay.run();
        assert!(meals.len() >= 5 * MEALS);
        meals.take()
    });
}

#[test]
fn sem_g56_a_bank_of_ports_repeats() {
    repeats(|replay| {
        let queues = ["counter", "vault"].map(|name| replay.queue(QueueConfig::named(name)));
        let accounts: Vec<Port<i64>> = (0..4).map(|_| Port::new()).collect();
        let (slips, log) = (Port::new(), Log::new());
        for account in &accounts {
            post_all(account, [100]);
        }
        let open = accounts.clone();
        let vault = queues[1].clone();
        let book = log.clone();
        // A transfer takes both balances in one step, then puts them back.
        Receive::persistent(&slips, move |(from, to, sum): (usize, usize, i64)| {
            let (payer, payee, book) = (open[from].clone(), open[to].clone(), book.clone());
            let (payer_again, payee_again) = (payer.clone(), payee.clone());
            JoinedReceive::once((&payer, &payee), move |(a, b): (i64, i64)| {
                book.push((from, to, sum));
                payer_again.post(a - sum).unwrap();
                payee_again.post(b + sum).unwrap();
            })
            .activate(&vault)
            .unwrap();
        })
        .activate(&queues[0])
        .unwrap();
        for n in 0..40 {
            slips.post((n % 4, (n + 1 + n % 3) % 4, n as i64)).unwrap();
        }
        replay.run();
        let balances: Vec<i64> = accounts
            .iter()
            .map(|account| account.test().unwrap())
            .collect();
        assert_eq!(balances.iter().sum::<i64>(), 400);
        assert_eq!(log.len(), 40);
        (balances, log.take())
    });
}

#[test]
fn sem_g56_timers_repeat() {
    repeats(|replay| {
        let queue = replay.queue(QueueConfig::named("clock"));
        let (ticks, begun) = (Port::new(), replay.clock().now());
        let log = Log::new();
        let told = log.clone();
        MultipleItemReceive::persistent(&ticks, 3, move |times| {
            told.push(
                times
                    .into_iter()
                    .map(|time| time - begun)
                    .collect::<Vec<_>>(),
            );
        })
        .activate(&queue)
        .unwrap();
        let timers = [2, 3, 5].map(|ms| timer::enqueue_periodic_timer(&queue, ms * MS, &ticks));
        for _ in 0..8 {
            let told = log.clone();
            let note = move |_| told.push(vec![]);
            Receive::once(&timer::timeout_port(&queue, 10 * MS), note)
                .activate(&queue)
                .unwrap();
        }
        replay.run_for(60 * MS);
        assert!(timers.iter().all(motet_dispatch::Timer::cancel));
        log.take()
    });
}

#[test]
fn sem_g56_async_chains_repeat() {
    repeats(|replay| {
        let queue = replay.queue(QueueConfig::named("relay"));
        let stations: Vec<Port<u32>> = (0..6).map(|_| Port::new()).collect();
        let log = Log::new();
        for station in 0..5 {
            for runner in 0..2 {
                let (from, to) = (stations[station].clone(), stations[station + 1].clone());
                let log = log.clone();
                let run = async move {
                    while let Ok(baton) = from.recv().within(100 * MS).await {
                        timer::sleep(baton * MS).await;
                        log.push((station, runner, baton));
                        to.post(baton).unwrap();
                    }
                };
                spawn(&queue.handle(), run).unwrap();
            }
        }
        post_all(&stations[0], [1, 2, 3, 4]);
        replay.run();
        let mut arrived = take_all(&stations[5]);
        let order = arrived.clone();
        arrived.sort_unstable();
        assert_eq!(arrived, [1, 2, 3, 4]);
        (log.take(), order)
    });
}

#[test]
fn sem_g08_joins_lose_nothing_in_any_order() {
    explore(0..200, |replay| {
        let queue = replay.queue(QueueConfig::default());
        let (a, b, pairs) = (Port::new(), Port::new(), Log::new());
        for turned in [false, true] {
            let (pairs, first, second) = (pairs.clone(), &a, &b);
            let (first, second) = if turned {
                (second, first)
            } else {
                (first, second)
            };
            JoinedReceive::persistent((first, second), move |(x, y): (u32, u32)| pairs.push(x + y))
                .activate(&queue)
                .unwrap();
        }
        for n in 0..6 {
            for port in [&a, &b] {
                let port = port.clone();
                spawn(&queue.handle(), async move { port.post(n).unwrap() }).unwrap();
            }
        }
        replay.run();
        assert_eq!(pairs.len(), 6);
        assert_eq!(pairs.take().iter().sum::<u32>(), 2 * (1 + 2 + 3 + 4 + 5));
        assert_eq!((a.item_count(), b.item_count()), (0, 0));
    });
}

/// A waker that panics.
struct BreaksBack;

impl Wake for BreaksBack {
    fn wake(self: Arc<Self>) {
        panic!("the waker breaks");
    }
}

/// Ends a replay while a receive whose waker panics waits at a port. Gives up the receive then.
fn end_with_a_panic(port: &Port<u32>, replay: Replay) {
    let told = Log::new();
    let log = told.clone();
    replay.on_exception(move |exception| log.push(exception.message().to_owned()));
    let mut recv = port.recv();
    assert!(poll(&mut recv, &Waker::from(Arc::new(BreaksBack))).is_pending());
    drop(replay);
    assert_eq!(told.take(), ["the waker breaks"]);
}

#[test]
fn sem_g546_a_join_gives_all_items_back_though_a_waker_panics() {
    let (replay, p, q) = (Replay::new(1), Port::new(), Port::new());
    let queue = replay.queue(QueueConfig::named("joins"));
    JoinedReceive::persistent((&p, &q), |_: (u32, u32)| ())
        .activate(&queue)
        .unwrap();
    replay.run();
    p.post(1).unwrap();
    q.post(2).unwrap();
    assert_eq!((p.item_count(), q.item_count()), (0, 0));
    end_with_a_panic(&p, replay);
    assert_eq!((p.items(), q.items()), (vec![1], vec![2]));
}

#[test]
fn sem_g546_a_batch_gives_all_items_back_though_a_waker_panics() {
    let (replay, port) = (Replay::new(1), Port::new());
    let queue = replay.queue(QueueConfig::named("batches"));
    MultipleItemReceive::persistent(&port, 3, |_: Vec<u32>| ())
        .activate(&queue)
        .unwrap();
    replay.run();
    post_all(&port, 1..=3);
    assert_eq!(port.item_count(), 0);
    end_with_a_panic(&port, replay);
    // What the receive had been given has come back to the front.
    let mut items = port.items();
    items.sort_unstable();
    assert_eq!(items, [1, 2, 3]);
}
