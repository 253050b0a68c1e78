//! [`Parker`] and [`Unparker`].

use motet_sync::atomic::{AtomicUsize, Ordering};
use motet_sync::{Arc, Parker, thread};
use motet_testkit::{Log, patience, within};

/// To and fro, as often as the token can be missed.
#[test]
fn no_token_is_lost_between_two_threads() {
    within(patience(), || {
        let here = Parker::new();
        let (back, there) = (here.unparker(), Log::new());
        let tell = there.clone();
        let other = thread::spawn(move || {
            let parker = Parker::new();
            tell.push(parker.unparker());
            for _ in 0..5_000 {
                parker.park();
                back.unpark();
            }
        });
        there.wait_for(1);
        let forth = there.take().pop().expect("it was told");
        for _ in 0..5_000 {
            forth.unpark();
            here.park();
        }
        other.join().unwrap();
    });
}

/// Each token of one of several wakers ends one park; what they wrote before is seen after it.
#[test]
fn what_was_written_before_unpark_is_seen_after_park() {
    within(patience(), || {
        for _ in 0..200 {
            let parker = Parker::new();
            let written = Arc::new(AtomicUsize::new(0));
            let wakers: Vec<_> = (0..3)
                .map(|_| {
                    let (unparker, written) = (parker.unparker(), Arc::clone(&written));
                    thread::spawn(move || {
                        written.fetch_add(1, Ordering::Relaxed);
                        unparker.unpark();
                    })
                })
                .collect();
            parker.park();
            assert!(written.load(Ordering::Relaxed) >= 1);
            wakers.into_iter().for_each(|waker| waker.join().unwrap());
        }
    });
}

/// The thread's own token belongs to others too: a stray one wakes nobody.
#[test]
fn a_stray_unpark_of_the_thread_does_not_end_a_park() {
    within(patience(), || {
        let parker = Parker::new();
        let (log, unparker) = (Log::new(), parker.unparker());
        let (seen, sleeper) = (log.clone(), thread::current());
        let waker = thread::spawn(move || {
            for _ in 0..100 {
                sleeper.unpark();
                thread::yield_now();
            }
            seen.push("token");
            unparker.unpark();
        });
        parker.park();
        assert_eq!(log.len(), 1, "the token was left before");
        waker.join().unwrap();
    });
}

#[test]
fn an_unparker_may_outlive_the_sleeper() {
    let unparker = thread::spawn(|| Parker::new().unparker()).join().unwrap();
    unparker.unpark();
    unparker.unpark();
}
