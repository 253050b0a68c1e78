//! The threads of a dispatcher.

use crate::support::{go, here};
use motet_dispatch::{Dispatcher, DispatcherConfig, QueueConfig};
use motet_sync::thread;
use motet_testkit::{Log, patience, within};

#[test]
fn ccr_094_without_a_number_there_is_a_thread_per_core() {
    within(patience(), || {
        assert_eq!(Dispatcher::new(0).workers(), thread::cores());
        let dispatcher = Dispatcher::with(DispatcherConfig::default()).unwrap();
        assert_eq!(dispatcher.workers(), thread::cores());
        assert_eq!(
            dispatcher.queue(QueueConfig::default()).workers(),
            thread::cores()
        );
    });
}

#[test]
fn a_dispatcher_has_as_many_threads_as_it_was_told() {
    within(patience(), || {
        for threads in [1, 2, 7, 33] {
            assert_eq!(Dispatcher::new(threads).workers(), threads);
        }
    });
}

#[test]
fn threads_bear_the_dispatchers_name_and_their_number() {
    within(patience(), || {
        let dispatcher = Dispatcher::with(DispatcherConfig {
            threads: 3,
            name: "voices".to_owned(),
            ..DispatcherConfig::default()
        })
        .unwrap();
        let queue = dispatcher.queue(QueueConfig::default());
        let log = Log::new();
        for worker in 0..3 {
            let log = log.clone();
            go(&queue.home(worker), move || log.push(here()));
        }
        dispatcher.wait_idle();
        assert_eq!(log.take_sorted(), ["voices-0", "voices-1", "voices-2"]);
    });
}

/// The threads of an ended dispatcher are gone: joined, not left behind.
#[test]
fn stop_joins_the_threads() {
    within(patience(), || {
        thread_local! {
            static TELLS: Tells = const { Tells(std::cell::Cell::new(None)) };
        }
        struct Tells(std::cell::Cell<Option<Log<String>>>);
        impl Drop for Tells {
            fn drop(&mut self) {
                if let Some(log) = self.0.take() {
                    log.push("ended".to_owned());
                }
            }
        }
        let dispatcher = Dispatcher::new(4);
        let queue = dispatcher.queue(QueueConfig::default());
        let log = Log::new();
        for worker in 0..4 {
            let log = log.clone();
            go(&queue.home(worker), move || {
                TELLS.with(|tells| tells.0.set(Some(log)))
            });
        }
        dispatcher.wait_idle();
        assert!(log.is_empty());
        assert!(dispatcher.stop().is_empty());
        assert_eq!(log.len(), 4);
    });
}

/// On which cores the calling thread may run, as the system says.
#[cfg(target_os = "linux")]
fn allowed() -> String {
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("Cpus_allowed_list:"));
    line.expect("Linux tells")
        .split_whitespace()
        .nth(1)
        .unwrap()
        .to_owned()
}

#[cfg(target_os = "linux")]
#[test]
fn pinned_threads_stay_on_one_core_each() {
    within(patience(), || {
        for pin in [true, false] {
            // A quota of processor time leaves all of them, and makes `cores` less.
            let cores = core_affinity::get_core_ids().unwrap().len();
            let threads = cores + 1;
            let config = DispatcherConfig {
                threads,
                pin,
                ..DispatcherConfig::default()
            };
            let dispatcher = Dispatcher::with(config).unwrap();
            let queue = dispatcher.queue(QueueConfig::default());
            let log = Log::new();
            for worker in 0..threads {
                let log = log.clone();
                go(&queue.home(worker), move || log.push((worker, allowed())));
            }
            dispatcher.wait_idle();
            let places: Vec<_> = log.take_sorted().into_iter().map(|place| place.1).collect();
            if pin {
                assert!(
                    places.iter().all(|place| place.parse::<usize>().is_ok()),
                    "{places:?}"
                );
                assert_eq!(
                    places[0],
                    places[threads - 1],
                    "one more than there are cores"
                );
                let mut taken = places[1..].to_vec();
                taken.sort_unstable();
                taken.dedup();
                assert_eq!(taken.len(), cores, "each core has its thread");
            } else {
                assert!(places.iter().all(|place| *place == allowed()), "{places:?}");
            }
        }
    });
}

#[test]
fn what_a_dispatcher_is_made_of_can_be_shown() {
    within(patience(), || {
        let dispatcher = Dispatcher::new(2);
        let queue = dispatcher.queue(QueueConfig::named("shown"));
        assert!(format!("{dispatcher:?}").contains("workers: 2"));
        assert!(format!("{queue:?}").contains("shown"));
        assert!(format!("{:?}", queue.home(1)).contains("worker: 1"));
        assert!(format!("{:?}", dispatcher.idle_watch()).contains("look"));
    });
}
