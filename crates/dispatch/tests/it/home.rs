//! Tasks at home on a worker.

use crate::support::{Bell, go, here, hold, with_queue};
use motet_dispatch::{Enqueue, QueueConfig, spawn};
use motet_sync::thread;
use motet_testkit::{Log, Overlap};

#[test]
fn sem_g42_home_tasks_run_on_their_worker_whoever_queues_them() {
    with_queue(3, |dispatcher, queue| {
        let log = Log::new();
        let poster = {
            let (queue, log) = (queue.clone(), log.clone());
            thread::spawn(move || {
                for n in 0..300 {
                    let log = log.clone();
                    go(&queue.home(n % 3), move || log.push((n % 3, here())));
                }
            })
        };
        for n in 0..300 {
            let (inner, log) = (queue.clone(), log.clone());
            go(&queue, move || {
                go(&inner.home(n % 3), move || log.push((n % 3, here())));
            });
        }
        poster.join().unwrap();
        dispatcher.wait_idle();
        let seen = log.take();
        assert_eq!(seen.len(), 600);
        for (home, thread) in seen {
            assert_eq!(thread, format!("motet-{home}"));
        }
    });
}

/// A worker that has nothing to do takes no task that is at home elsewhere.
#[test]
fn sem_g42_home_tasks_are_not_stolen() {
    with_queue(2, |dispatcher, queue| {
        let log = Log::new();
        let gate = hold(&queue.home(0));
        for _ in 0..100 {
            let log = log.clone();
            go(&queue.home(0), move || log.push(here()));
        }
        // The other worker runs, and looks for work, meanwhile.
        for n in 1..=10 {
            let (seen, inner) = (log.clone(), queue.clone());
            go(&queue, move || {
                go(&inner, move || seen.push("other".to_owned()))
            });
            log.wait_for(n);
        }
        assert_eq!(log.take(), ["other"; 10]);
        gate.open();
        dispatcher.wait_idle();
        assert_eq!(log.take(), ["motet-0"; 100]);
    });
}

#[test]
fn sem_g42_a_future_at_home_is_polled_and_dropped_there() {
    struct Tells(Log<(&'static str, String)>);
    impl Drop for Tells {
        fn drop(&mut self) {
            self.0.push(("dropped", here()));
        }
    }
    with_queue(3, |dispatcher, queue| {
        let (log, bell, forgotten) = (Log::new(), Bell::default(), Bell::default());
        for bell in [&bell, &forgotten] {
            let (rung, tells) = (bell.rung(), Tells(log.clone()));
            spawn(&queue.home(2).handle(), async move {
                tells.0.push(("polled", here()));
                rung.await;
                tells.0.push(("polled", here()));
            })
            .unwrap();
        }
        dispatcher.wait_idle();
        go(&queue.home(1), move || bell.ring());
        dispatcher.wait_idle();
        forgotten.abandon();
        dispatcher.wait_idle();
        let seen = log.take();
        assert!(seen.iter().all(|s| s.1 == "motet-2"), "{seen:?}");
        let acts: Vec<_> = seen.iter().map(|s| s.0).collect();
        assert_eq!(acts, ["polled", "polled", "polled", "dropped", "dropped"]);
    });
}

#[test]
fn sem_g42_home_tasks_of_one_worker_never_overlap() {
    with_queue(2, |dispatcher, queue| {
        let other = dispatcher.queue(QueueConfig::named("other"));
        let overlap = Overlap::new();
        for n in 0..1_000 {
            let overlap = overlap.clone();
            let place = if n % 2 == 0 {
                queue.home(1)
            } else {
                other.home(1)
            };
            go(&place, move || overlap.during(thread::yield_now));
        }
        dispatcher.wait_idle();
        assert_eq!(overlap.most(), 1);
    });
}

#[test]
fn a_home_knows_its_worker_and_its_queue() {
    with_queue(2, |_, queue| {
        let home = queue.home(1);
        assert_eq!(
            (home.worker(), home.name(), queue.workers()),
            (1, "test", 2)
        );
    });
}

#[test]
#[should_panic(expected = "worker 2 of 2")]
fn a_home_on_no_worker_is_a_panic() {
    with_queue(2, |_, queue| drop(queue.home(2)));
}
