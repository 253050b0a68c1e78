//! A dispatcher with nothing to do.

use crate::support::{Bell, go, hold, note, until, with_queue};
use motet_dispatch::{Enqueue, QueueConfig, spawn};
use motet_testkit::Log;
use std::time::{Duration, Instant};

#[test]
fn wait_idle_waits_for_everything_that_is_queued_anywhere() {
    with_queue(2, |dispatcher, queue| {
        for round in 1..=200 {
            let log = Log::new();
            for n in 0..round % 7 + 1 {
                let (inner, seen) = (queue.clone(), log.clone());
                go(&queue, move || note(&inner.home(n % 2), &seen, ()));
                note(&queue.home(n % 2), &log, ());
            }
            dispatcher.wait_idle();
            assert_eq!(log.len(), (round % 7 + 1) * 2);
        }
    });
}

/// The worker has just run a task and finds no other. Its look takes long, since there are many
/// queues.
#[test]
fn sem_g40_wait_idle_waits_for_what_comes_to_a_worker_that_falls_asleep() {
    with_queue(1, |dispatcher, queue| {
        let _queues: Vec<_> = (0..300)
            .map(|_| dispatcher.queue(QueueConfig::default()))
            .collect();
        let (log, begun) = (Log::new(), Instant::now());
        let rounds = (1..=1_500).take_while(|_| begun.elapsed() < Duration::from_secs(2));
        for round in rounds {
            note(&queue.home(0), &log, ());
            until(|| log.len() == 2 * round - 1);
            let ran = Instant::now();
            while ran.elapsed() < Duration::from_micros(round as u64 % 150) {
                std::hint::spin_loop();
            }
            note(&queue.home(0), &log, ());
            dispatcher.wait_idle();
            assert_eq!(log.len(), 2 * round);
        }
    });
}

#[test]
fn wait_idle_does_not_wait_for_async_tasks_that_wait() {
    with_queue(2, |dispatcher, queue| {
        let bell = Bell::default();
        (0..10).for_each(|_| spawn(&queue.handle(), bell.rung()).unwrap());
        dispatcher.wait_idle();
        assert_eq!(bell.waiting(), 10);
        bell.ring();
        dispatcher.wait_idle();
    });
}

#[test]
fn the_idle_hook_is_called_when_everyone_sleeps_and_may_queue_tasks() {
    with_queue(2, |dispatcher, queue| {
        let (log, calls) = (Log::new(), Log::new());
        let (inner, seen, called) = (queue.clone(), log.clone(), calls.clone());
        dispatcher.on_idle(move || {
            called.push(());
            if seen.len() < 10 {
                note(&inner, &seen, ());
                note(&inner.home(seen.len() % 2), &seen, ());
            }
        });
        go(&queue, || ());
        log.wait_for(10);
        dispatcher.wait_idle();
        until(|| calls.len() >= 5);
        // The hook holds the queue: let it go.
        dispatcher.on_idle(|| ());
    });
}

#[test]
fn an_idle_watch_sees_work_between_two_looks() {
    with_queue(2, |dispatcher, queue| {
        let watch = dispatcher.idle_watch();
        let gate = hold(&queue);
        assert_eq!(watch.look(), None, "a worker is awake");
        gate.open();
        dispatcher.wait_idle();
        let before = watch.look();
        assert!(before.is_some(), "everyone sleeps");
        assert_eq!(watch.look(), before, "nothing happens");
        go(&queue, || ());
        dispatcher.wait_idle();
        assert!(watch.look().is_some_and(|now| Some(now) != before));
    });
}

#[cfg(target_os = "linux")]
mod linux {
    use crate::support::{Bell, go, hold, note, until};
    use motet_dispatch::{Dispatcher, DispatcherConfig, Enqueue, QueueConfig, Task, spawn};
    use motet_sync::thread;
    use motet_testkit::{Log, patience, within};
    use std::fs;
    use std::time::Duration;

    /// Of each thread whose name begins with `name`: its processor time in nanoseconds, and how
    /// often it was put on a core.
    fn used(name: &str) -> Vec<(u64, u64)> {
        let tasks = fs::read_dir("/proc/self/task")
            .unwrap()
            .map(|task| task.unwrap().path());
        let named = tasks.filter(|task| {
            // A thread of another test may end meanwhile.
            fs::read_to_string(task.join("comm")).is_ok_and(|comm| comm.starts_with(name))
        });
        let mut used: Vec<_> = named
            .map(|task| {
                let text = fs::read_to_string(task.join("schedstat")).unwrap();
                let numbers: Vec<u64> =
                    text.split(' ').map(|n| n.trim().parse().unwrap()).collect();
                (numbers[0], numbers[2])
            })
            .collect();
        used.sort_unstable();
        used
    }

    fn pause(milliseconds: u64) {
        // The token never comes; the pause is what is measured over, nothing waits for it.
        thread::park_timeout(Duration::from_millis(milliseconds));
    }

    fn named(threads: usize, name: &str) -> Dispatcher {
        Dispatcher::with(DispatcherConfig {
            threads,
            name: name.to_owned(),
            ..DispatcherConfig::default()
        })
        .unwrap()
    }

    /// Nobody runs during a pause: not once is a worker put on a core. The first pause may be too
    /// early on a machine with much other work, where a worker that has not run yet has no name
    /// either, and threads that end may hide others from the list; one that is quiet must come.
    fn assert_idle(name: &str, threads: usize) {
        until(|| {
            pause(100);
            let before = used(name);
            before.len() == threads && {
                pause(300);
                used(name) == before
            }
        });
    }

    #[test]
    fn sem_g41_a_new_dispatcher_uses_no_processor_time() {
        within(patience(), || {
            let dispatcher = named(3, "g22-new");
            let queue = dispatcher.queue(QueueConfig::default());
            dispatcher.wait_idle();
            assert_idle("g22-new", 3);
            drop(queue);
        });
    }

    #[test]
    fn sem_g41_a_dispatcher_that_has_worked_uses_no_processor_time() {
        within(patience(), || {
            let dispatcher = named(3, "g22-worked");
            let queue = dispatcher.queue(QueueConfig::default());
            for n in 0..1_000 {
                go(&queue, || ());
                go(&queue.home(n % 3), || ());
            }
            dispatcher.wait_idle();
            assert_idle("g22-worked", 3);
        });
    }

    #[test]
    fn sem_g41_what_waits_or_is_suspended_uses_no_processor_time() {
        within(patience(), || {
            let dispatcher = named(2, "g22-waits");
            let queue = dispatcher.queue(QueueConfig::default());
            let suspended = dispatcher.queue(QueueConfig::default());
            suspended.suspend();
            let bell = Bell::default();
            for n in 0..100 {
                spawn(&queue.handle(), bell.rung()).unwrap();
                suspended.enqueue(Task::new(|| ())).unwrap();
                suspended.home(n % 2).enqueue(Task::new(|| ())).unwrap();
            }
            dispatcher.wait_idle();
            assert_idle("g22-waits", 2);
            bell.ring();
        });
    }

    /// The others have nothing to do while one works.
    #[test]
    fn sem_g41_workers_beside_a_busy_one_use_no_processor_time() {
        within(patience(), || {
            let dispatcher = named(4, "g22-beside");
            let queue = dispatcher.queue(QueueConfig::default());
            let gate = hold(&queue);
            assert_idle("g22-beside", 4);
            gate.open();
            dispatcher.wait_idle();
            let log = Log::new();
            note(&queue, &log, ());
            log.wait_for(1);
        });
    }

    /// The measure itself: a thread that works is seen to.
    #[test]
    fn the_measure_sees_a_thread_that_works() {
        within(patience(), || {
            let dispatcher = named(1, "g22-busy");
            let queue = dispatcher.queue(QueueConfig::default());
            dispatcher.wait_idle();
            let before = used("g22-busy");
            for _ in 0..100 {
                go(&queue, || ());
                dispatcher.wait_idle();
            }
            assert_ne!(used("g22-busy"), before);
        });
    }
}

#[cfg(not(target_os = "linux"))]
#[test]
fn sem_g41_is_not_tested_here() {
    eprintln!("G41 is tested on Linux only: the processor time of a thread is read from /proc");
}
