//! Choices that many threads post to at once: behaviours 47 and 51.

use crate::choice::{logging, receivers};
use crate::support::{dispatcher, here, in_parallel, on_dispatchers, post_all, take_all};
use motet_dispatch::Enqueue;
use motet_ports::{Activation, Choice, JoinedReceive, Port, Receive};
use motet_sync::Arc;
use motet_sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use motet_sync::thread;
use motet_testkit::{Dropped, Drops, Log, patience, within};

#[test]
fn ccr_047_sem_g16_two_posters_race_and_one_handler_runs() {
    const ROUNDS: usize = 100_000;
    within(patience(), || {
        let (dispatcher, queue) = dispatcher(1);
        let rounds: Arc<Vec<[Port<usize>; 2]>> =
            Arc::new((0..ROUNDS).map(|_| [Port::new(), Port::new()]).collect());
        let wins: Arc<Vec<AtomicU32>> = Arc::new((0..ROUNDS).map(|_| AtomicU32::new(0)).collect());
        for (round, ports) in rounds.iter().enumerate() {
            let count = |side: u32| {
                let wins = Arc::clone(&wins);
                Receive::once(&ports[side as usize], move |item| {
                    assert_eq!(item, round);
                    wins[round].fetch_add(1 + 10 * side, Ordering::Relaxed);
                })
            };
            Choice::new()
                .or(count(0))
                .or(count(1))
                .activate(&queue)
                .unwrap();
        }
        dispatcher.wait_idle();
        let begin = Arc::new(AtomicUsize::new(0));
        let (racing, both) = (Arc::clone(&rounds), Arc::clone(&begin));
        in_parallel(2, move |side| {
            for (round, ports) in racing.iter().enumerate() {
                // Side by side into each round, as far as the machine allows.
                both.fetch_add(1, Ordering::AcqRel);
                let mut patience = 200;
                while patience > 0 && both.load(Ordering::Acquire) < 2 * round + 1 {
                    patience -= 1;
                    motet_sync::spin_loop();
                }
                ports[side].post(round).unwrap();
            }
        });
        dispatcher.wait_idle();
        let mut won = [0, 0];
        for (round, ports) in rounds.iter().enumerate() {
            let winner = match wins[round].load(Ordering::Relaxed) {
                1 => 0,
                11 => 1,
                other => panic!("round {round}: handlers ran {other}"),
            };
            won[winner] += 1;
            assert_eq!(
                (ports[winner].item_count(), ports[winner].receiver_count()),
                (0, 0)
            );
            let loser = &ports[1 - winner];
            assert_eq!((loser.test(), loser.receiver_count()), (Some(round), 0));
        }
        println!("rounds won by either side: {won:?}");
    });
}

#[test]
fn ccr_051_sem_g16_a_join_and_a_plain_branch_race() {
    on_dispatchers(300, |dispatcher, queue| {
        let (p, q, plain, log) = (Port::new(), Port::new(), Port::new(), Log::new());
        let joined = log.clone();
        Choice::new()
            .or(JoinedReceive::once((&p, &q), move |(a, b): (u32, u32)| {
                joined.push(10 * a + b)
            }))
            .or(logging(&plain, &log))
            .activate(queue)
            .unwrap();
        post_all(&p, [1, 2]);
        let (on_q, on_plain) = (q.clone(), plain.clone());
        in_parallel(2, move |side| match side {
            0 => post_all(&on_q, [5, 6]),
            _ => on_plain.post(7).unwrap(),
        });
        dispatcher.wait_idle();
        match log.take()[..] {
            [15] => assert_eq!(
                (p.items(), q.items(), plain.items()),
                (vec![2], vec![6], vec![7])
            ),
            [7] => {
                assert_eq!((p.items(), q.items()), (vec![1, 2], vec![5, 6]));
                assert_eq!(plain.item_count(), 0);
            }
            ref other => panic!("one branch runs, but: {other:?}"),
        }
        assert_eq!(receivers(&[&p, &q, &plain]), 0);
    });
}

#[test]
fn sem_g17_a_post_that_races_with_the_registration_leaves_no_branch_behind() {
    within(patience(), || {
        for _ in 0..2_000 {
            let (ports, log) = ([Port::new(), Port::new(), Port::new()], Log::new());
            let first = ports[0].clone();
            let poster = thread::spawn(move || first.post(1).unwrap());
            Choice::any(ports.iter().map(|port| logging(port, &log)))
                .activate(&here())
                .unwrap();
            poster.join().unwrap();
            assert_eq!(log.take(), [1]);
            assert_eq!(receivers(&ports.each_ref()), 0);
        }
    });
}

/// Re-arms a choice between two ports until `left` have run.
fn rearmed(
    ports: &[Port<Dropped>; 2],
    queue: &(impl Enqueue + Clone),
    left: &Arc<AtomicUsize>,
) -> Activation {
    let again = |won: usize| {
        let (others, queue, left) = (ports.clone(), queue.clone(), Arc::clone(left));
        Receive::once(&ports[won], move |_| {
            if left.fetch_sub(1, Ordering::AcqRel) > 1 {
                let [p, q] = others;
                rearmed(&[q, p], &queue, &left);
            }
        })
    };
    let choice = Choice::new().or(again(0)).or(again(1));
    choice.activate(queue).unwrap()
}

#[test]
fn sem_g16_choices_on_shared_ports_in_opposite_orders_lose_and_double_nothing() {
    const EACH: usize = 2_000;
    on_dispatchers(3, |dispatcher, queue| {
        let (a, b, drops) = (Port::new(), Port::new(), Drops::new());
        let left = Arc::new(AtomicUsize::new(3 * EACH));
        for n in 0..8 {
            let mut ports = [a.clone(), b.clone()];
            if n % 2 == 1 {
                ports.reverse();
            }
            rearmed(&ports, queue, &left);
        }
        let (posting, made) = ([a.clone(), b.clone()], drops.clone());
        in_parallel(3, move |poster| {
            for n in 0..EACH {
                posting[(n + poster) % 2].post(made.make()).unwrap();
            }
        });
        dispatcher.wait_idle();
        assert_eq!(
            left.load(Ordering::Acquire),
            0,
            "every item was handled, once"
        );
        assert_eq!((drops.made(), drops.dropped()), (3 * EACH, 3 * EACH));
        assert_eq!((a.item_count(), b.item_count()), (0, 0));
    });
}

#[test]
fn sem_g16_choices_over_crossing_joins_do_not_deadlock() {
    const EACH: u32 = 300;
    on_dispatchers(3, |dispatcher, queue| {
        let (ports, taken) = (Arc::new([(); 4].map(|()| Port::new())), Log::new());
        let (joining, on, log) = (Arc::clone(&ports), queue.clone(), taken.clone());
        in_parallel(3, move |number| {
            let [p, q, r, s] = &*joining;
            for n in 0..EACH {
                let (one, two) = (log.clone(), log.clone());
                let (left, right) = match (n as usize + number) % 3 {
                    0 => ((p, q), (r, s)),
                    1 => ((s, p), (q, r)),
                    _ => ((q, p), (p, s)),
                };
                Choice::new()
                    .or(JoinedReceive::once(
                        (left.0, left.1),
                        move |(a, b): (u32, u32)| one.push((a, b)),
                    ))
                    .or(JoinedReceive::once(
                        (right.0, right.1),
                        move |(a, b): (u32, u32)| two.push((a, b)),
                    ))
                    .activate(&on)
                    .unwrap();
                joining.iter().for_each(|port| port.post(n).unwrap());
            }
        });
        dispatcher.wait_idle();
        let pairs = taken.take();
        let waiting: Vec<u32> = ports.iter().flat_map(take_all).collect();
        let mut all: Vec<u32> = pairs.iter().flat_map(|pair| [pair.0, pair.1]).collect();
        all.extend(waiting);
        all.sort_unstable();
        // Each number was posted by 3 threads to 4 ports.
        assert!(all.into_iter().eq((0..EACH).flat_map(|n| [n; 12])));
        assert!(pairs.len() <= 3 * EACH as usize);
        assert!(pairs.len() >= EACH as usize, "{} choices ran", pairs.len());
    });
}
