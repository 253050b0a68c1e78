//! Dispatchers on stated cores.

use core_affinity::get_core_ids;
use motet_dispatch::{Dispatcher, DispatcherConfig, Enqueue, QueueConfig, Task};
use motet_testkit::{Log, patience, within};
use std::sync::Arc;

/// The cores that the process may use; `None` where the system does not bind threads.
fn there() -> Option<Vec<usize>> {
    let ids = get_core_ids().filter(|_| cfg!(target_os = "linux"))?;
    Some(ids.into_iter().map(|core| core.id).collect())
}

/// What each worker of a dispatcher may use.
fn used(config: DispatcherConfig) -> Vec<Vec<usize>> {
    let dispatcher = Dispatcher::with(config).unwrap();
    let queue = dispatcher.queue(QueueConfig::default());
    let log = Arc::new(Log::new());
    for worker in 0..dispatcher.workers() {
        let log = Arc::clone(&log);
        let task = Task::new(move || log.push((worker, there().unwrap())));
        queue.home(worker).enqueue(task).unwrap();
    }
    assert!(dispatcher.drain().is_empty());
    let mut used = log.take();
    used.sort_unstable();
    used.into_iter().map(|(_, cores)| cores).collect()
}

#[test]
fn sem_g36_threads_stay_on_the_cores_that_are_stated() {
    within(patience(), || {
        let Some(all) = there() else {
            return;
        };
        for &core in &all {
            let config = DispatcherConfig {
                threads: 2,
                cores: vec![core],
                ..DispatcherConfig::default()
            };
            assert_eq!(used(config), [[core], [core]]);
        }
        // One thread for each where no number is given, in the order of the list.
        let backwards: Vec<usize> = all.iter().rev().copied().collect();
        let config = DispatcherConfig {
            cores: backwards.clone(),
            ..DispatcherConfig::default()
        };
        let each: Vec<Vec<usize>> = backwards.into_iter().map(|core| vec![core]).collect();
        assert_eq!(used(config), each);
        let free = used(DispatcherConfig {
            threads: 1,
            ..DispatcherConfig::default()
        });
        assert_eq!(free, [all], "nothing is stated");
    });
}

#[test]
fn sem_g36_no_thread_is_started_for_a_core_that_is_not_there() {
    within(patience(), || {
        let config = DispatcherConfig {
            cores: vec![usize::MAX],
            ..DispatcherConfig::default()
        };
        let error = Dispatcher::with(config).map(drop).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput);
    });
}
