//! [`Mutex`] and [`Condvar`].

use motet_sync::{Arc, Condvar, Mutex, thread};
use motet_testkit::{Gate, Overlap, patience, within};
use std::panic::{AssertUnwindSafe, catch_unwind};

#[test]
fn one_thread_at_a_time_is_inside() {
    within(patience(), || {
        let (sum, overlap) = (Arc::new(Mutex::new(0)), Overlap::new());
        let adders: Vec<_> = (0..4)
            .map(|_| {
                let (sum, overlap) = (Arc::clone(&sum), overlap.clone());
                thread::spawn(move || {
                    for _ in 0..1_000 {
                        let mut sum = sum.lock();
                        overlap.during(|| *sum += 1);
                    }
                })
            })
            .collect();
        adders.into_iter().for_each(|adder| adder.join().unwrap());
        assert_eq!((*sum.lock(), overlap.most()), (4_000, 1));
    });
}

#[test]
fn try_lock_does_not_wait() {
    let mutex = Mutex::new(7);
    let held = mutex.lock();
    assert!(mutex.try_lock().is_none());
    drop(held);
    *mutex.try_lock().expect("it is free") += 1;
    assert_eq!(mutex.into_inner(), 8);
}

#[test]
fn a_panic_inside_does_not_close_the_lock() {
    let mutex = Mutex::new(vec![1]);
    let inside = || {
        mutex.lock().push(2);
        let _held = mutex.lock();
        panic!("inside the lock");
    };
    assert!(catch_unwind(AssertUnwindSafe(inside)).is_err());
    assert_eq!(*mutex.lock(), [1, 2]);
    assert!(mutex.try_lock().is_some(), "the lock is free");
    assert_eq!(mutex.into_inner(), [1, 2]);
}

#[test]
fn a_condition_wakes_everyone_who_waits() {
    within(patience(), || {
        let state = Arc::new((Mutex::new(0), Condvar::new()));
        let inside = Gate::new();
        let waiters: Vec<_> = (0..5)
            .map(|_| {
                let (state, inside) = (Arc::clone(&state), inside.clone());
                thread::spawn(move || {
                    inside.pass();
                    let mut stage = state.0.lock();
                    while *stage == 0 {
                        stage = state.1.wait(stage);
                    }
                    *stage += 1;
                })
            })
            .collect();
        inside.wait_for(5);
        inside.open();
        *state.0.lock() = 1;
        state.1.notify_all();
        waiters
            .into_iter()
            .for_each(|waiter| waiter.join().unwrap());
        assert_eq!(*state.0.lock(), 6);
    });
}

/// Two threads take turns: the lock is released while a thread waits, and held when it goes on.
#[test]
fn two_threads_take_turns() {
    within(patience(), || {
        let turns = Arc::new((Mutex::new(Vec::new()), Condvar::new()));
        let player = |name: usize| {
            let turns = Arc::clone(&turns);
            thread::spawn(move || {
                for _ in 0..500 {
                    let mut seen = turns.0.lock();
                    while seen.len() % 2 != name {
                        seen = turns.1.wait(seen);
                    }
                    seen.push(name);
                    drop(seen);
                    turns.1.notify_all();
                }
            })
        };
        let players = [player(0), player(1)];
        players
            .into_iter()
            .for_each(|player| player.join().unwrap());
        let seen = turns.0.lock();
        assert!(seen.iter().enumerate().all(|(at, &name)| at % 2 == name));
    });
}

/// One of those who wait is woken for each thing that comes.
#[test]
fn each_notification_wakes_someone() {
    within(patience(), || {
        let things = Arc::new((Mutex::new(0), Condvar::new()));
        let takers = [(); 3].map(|()| {
            let things = Arc::clone(&things);
            thread::spawn(move || {
                let mut there = things.0.lock();
                while *there == 0 {
                    there = things.1.wait(there);
                }
                *there -= 1;
            })
        });
        for _ in 0..takers.len() {
            *things.0.lock() += 1;
            things.1.notify_one();
        }
        takers.into_iter().for_each(|taker| taker.join().unwrap());
        assert_eq!(*things.0.lock(), 0);
    });
}

#[test]
fn a_lock_shows_nothing_of_what_it_holds() {
    struct NotDebug;
    assert_eq!(format!("{:?}", Mutex::new(NotDebug)), "Mutex { .. }");
    assert_eq!(Mutex::<u32>::default().into_inner(), 0);
}
