//! Real time, and what comes from other threads.

use motet_ports::Port;
use motet_sim::{Sim, Simulation, Time};
use motet_sync::atomic::{AtomicBool, Ordering};
use motet_sync::thread;
use motet_testkit::{Log, patience, within};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

const TICK: Duration = Duration::from_millis(1);

/// The thread does nothing for so long.
pub(crate) fn pause(span: Duration) {
    let begin = Instant::now();
    while begin.elapsed() < span {
        thread::park_timeout(span - begin.elapsed().min(span));
    }
}

#[test]
fn sem_g190_a_paced_run_is_not_ahead_of_real_time() {
    let (simulation, begin) = (Simulation::new(1), Instant::now());
    for step in [7, 10, 15] {
        simulation.spawn("clock", async move |sim| {
            for _ in 0..2 {
                sim.sleep(step).await;
                assert!(begin.elapsed() >= TICK * sim.now() as u32, "{}", sim.now());
            }
        });
    }
    let late = simulation.run_paced(Time::MAX, TICK).unwrap();
    assert_eq!(simulation.now(), 30);
    assert!(late <= begin.elapsed());
    // It stops at its end, also when nothing happens there, and can go on.
    simulation.spawn("late", async |sim| sim.sleep(100).await);
    let again = Instant::now();
    simulation.run_paced(40, TICK).unwrap();
    assert_eq!(simulation.now(), 40);
    assert!(again.elapsed() >= TICK * 10);
    simulation.run().unwrap();
    assert_eq!(simulation.now(), 130);
}

#[test]
fn sem_g190_a_paced_run_without_anything_to_come_is_stuck() {
    let simulation = Simulation::new(1);
    let tank = simulation.container("tank", 10, 0);
    simulation.spawn("car", async move |_| tank.get(5).await);
    let stuck = simulation.run_paced(Time::MAX, TICK).unwrap_err();
    assert!(
        stuck.to_string().contains("car 0 waits for 5 of tank"),
        "{stuck}"
    );
}

#[test]
fn sem_g191_injected_events_come_in_their_order_and_at_their_time() {
    within(patience(), || {
        let (simulation, port) = (Simulation::new(1), Port::<(u32, Time)>::new());
        let (posted, from_thread) = (port.clone(), port);
        let shop = simulation.spawn("shop", async move |sim| {
            let mut orders = Vec::new();
            for _ in 0..21 {
                let (order, at) = posted.recv().await;
                assert_eq!(at, sim.now(), "order {order}");
                orders.push(order);
            }
            orders
        });
        let (injector, begin) = (simulation.injector(), Instant::now());
        let customer = thread::spawn(move || {
            for order in 0..=20 {
                pause(TICK);
                let port = from_thread.clone();
                let act = move |sim: &Sim| {
                    sim.spawn("order", async move |sim| {
                        port.post((order, sim.now())).unwrap();
                    });
                };
                assert!(injector.inject(act), "order {order}");
            }
            // It ends with the last injector.
        });
        simulation.run_paced(Time::MAX, TICK).unwrap();
        customer.join().unwrap();
        assert!(begin.elapsed() >= TICK * 21);
        assert!(simulation.now() >= 20, "{}", simulation.now());
        simulation.spawn("reader", async move |_| {
            assert_eq!(shop.ended().await, (0..=20).collect::<Vec<u32>>());
        });
        simulation.run().unwrap();
    });
}

#[test]
fn sem_g191_a_post_of_another_thread_ends_a_paced_wait() {
    within(patience(), || {
        let (simulation, port) = (Simulation::new(1), Port::<u8>::new());
        let posted = port.clone();
        let told = simulation.spawn("receiver", async move |sim| {
            posted.recv().await;
            sim.now()
        });
        simulation.spawn("clock", async |sim| sim.sleep(10_000).await);
        let (injector, begin) = (simulation.injector(), Instant::now());
        let poster = thread::spawn(move || {
            pause(TICK * 20);
            port.post(1).unwrap();
            drop(injector);
        });
        simulation.spawn("end", async move |_| {
            let at = told.ended().await;
            assert!((15..5_000).contains(&at), "{at}");
        });
        simulation.run_paced(60, TICK).unwrap();
        poster.join().unwrap();
        assert!(begin.elapsed() >= TICK * 60);
    });
}

#[test]
fn sem_g191_what_the_last_injector_brings_is_carried_out() {
    within(patience(), || {
        for round in 0..10_000 {
            let (simulation, begun) = (Simulation::new(1), Arc::new(AtomicBool::new(false)));
            let (injector, begins) = (simulation.injector(), Arc::clone(&begun));
            let outside = thread::spawn(move || {
                while !begins.load(Ordering::Acquire) {
                    std::hint::spin_loop();
                }
                (0..round % 100).for_each(|_| std::hint::spin_loop());
                injector.inject(|sim| {
                    sim.spawn("alarm", async |sim| sim.sleep(1).await);
                })
            });
            begun.store(true, Ordering::Release);
            simulation.run_paced(Time::MAX, TICK / 10_000).unwrap();
            assert!(outside.join().unwrap());
            assert!(simulation.now() > 0, "round {round}");
        }
    });
}

#[test]
fn sem_g191_an_act_takes_place_before_processes_go_on() {
    let simulation = Simulation::new(1);
    simulation.keep_trace();
    let injector = simulation.injector();
    simulation.spawn("first", async |sim| sim.sleep(3).await);
    for number in 0..3 {
        let start = move |sim: &Sim| {
            assert_eq!(sim.now(), 0);
            sim.spawn(format!("injected \"{number}\"\n\u{7f}é"), async |sim| {
                sim.sleep(1).await
            });
        };
        assert!(injector.inject(start));
    }
    // It does not wait for an injector, since it keeps to no real time.
    simulation.run().unwrap();
    let starts: Vec<_> = simulation.trace();
    assert_eq!(
        starts[2],
        "{\"time\":0,\"process\":\"injected \\\"1\\\"\\u000a\u{7f}é 2\",\"does\":\"starts\"}"
    );
    drop(simulation);
    assert!(!injector.inject(|_| ()), "it is gone");
}

#[test]
fn sem_g191_an_act_that_panics_takes_none_with_it_that_was_injected_later() {
    let (simulation, acts) = (Simulation::new(1), Log::new());
    let injector = simulation.injector();
    for number in 0..4 {
        let log = acts.clone();
        assert!(injector.inject(move |_| {
            log.push(number);
            assert!(number != 1, "no act");
        }));
    }
    let ended = catch_unwind(AssertUnwindSafe(|| simulation.run()));
    assert!(ended.is_err());
    assert_eq!(acts.take(), [0, 1]);
    let log = acts.clone();
    assert!(injector.inject(move |_| log.push(4)));
    simulation.run().unwrap();
    assert_eq!(acts.take(), [2, 3, 4]);
}

#[test]
fn sem_g192_statistics_forget_the_warm_up() {
    let simulation = Simulation::new(1);
    let desk = simulation.resource("desk", 1);
    let own = desk.clone();
    simulation.spawn("customers", async move |sim| {
        for stays in [100, 100, 10, 10] {
            let held = own.request().await;
            sim.sleep(stays).await;
            drop(held);
            if stays == 100 {
                own.restart_statistics();
            }
            sim.sleep(10).await;
        }
    });
    simulation.run().unwrap();
    // After the second customer has left: 10 free, 10 held, 10 free, 10 held, 10 free.
    assert!((desk.mean_in_use() - 20.0 / 50.0).abs() < 1e-12);
    assert_eq!(desk.waits().count(), 2);
    assert!(desk.mean_waiting().abs() < 1e-12);
}
