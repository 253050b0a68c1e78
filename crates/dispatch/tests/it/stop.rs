//! The end of a dispatcher: stop, drain and drop in every state.

use crate::support::{Bell, Traces, go, here, hold, note, until};
use motet_dispatch::{
    Dispatcher, DispatcherConfig, DispatcherQueue, Enqueue, ExecutionPolicy, QueueConfig,
    QueueError, Task, spawn,
};
use motet_sync::{Arc, thread};
use motet_testkit::{Drops, Gate, Log, patience, within};

/// Runs a test with a dispatcher and a queue of it.
fn with(workers: usize, body: impl FnOnce(Dispatcher, DispatcherQueue) + Send + 'static) {
    within(patience(), move || {
        let dispatcher = Dispatcher::new(workers);
        let queue = dispatcher.queue(QueueConfig::named("test"));
        body(dispatcher, queue);
    });
}

/// Returns when the queue refuses tasks because it has been stopped.
fn until_stopped(queue: &DispatcherQueue) {
    until(|| queue.reserve() == Err(QueueError::Stopped));
}

fn run_all(tasks: Vec<Task>) {
    tasks.into_iter().for_each(Task::run);
}

#[test]
fn sem_g40_stop_returns_what_never_started_oldest_first() {
    with(1, |dispatcher, queue| {
        let traces = Traces::new();
        queue.suspend();
        (0..100).for_each(|n| traces.queue(&queue, n));
        let rest = dispatcher.stop();
        assert_eq!(rest.len(), 100);
        run_all(rest);
        assert_eq!(traces.ran.take(), (0..100).collect::<Vec<_>>());
        assert_eq!(queue.counters().pending(), 0);
    });
}

#[test]
fn sem_g40_stop_returns_the_tasks_by_queue() {
    with(2, |dispatcher, first| {
        let second = dispatcher.queue(QueueConfig::named("second"));
        let traces = Traces::new();
        first.suspend();
        second.suspend();
        for n in 0..10 {
            traces.queue(&second, (2, n));
            traces.queue(&first, (1, n));
        }
        run_all(dispatcher.stop());
        let expected: Vec<_> = [1, 2]
            .into_iter()
            .flat_map(|queue| (0..10).map(move |n| (queue, n)))
            .collect();
        assert_eq!(traces.ran.take(), expected);
    });
}

#[test]
fn sem_g40_stop_lets_the_running_task_end_and_keeps_the_order_of_the_rest() {
    with(1, |dispatcher, queue| {
        let traces = Traces::new();
        let (inner, own) = (queue.clone(), [0, 1, 2].map(|n| traces.task(n)));
        let (inside, gate) = (Gate::new(), Gate::new());
        let (entered, held, ended) = (inside.clone(), gate.clone(), traces.ran.clone());
        go(&queue, move || {
            own.into_iter()
                .for_each(|task| inner.enqueue(task).unwrap());
            entered.open();
            held.pass();
            ended.push(100);
        });
        inside.pass();
        (3..6).for_each(|n| traces.queue(&queue, n));
        let stopping = thread::spawn(move || dispatcher.stop());
        until_stopped(&queue);
        gate.open();
        let rest = stopping.join().unwrap();
        assert_eq!(traces.ran.take(), [100], "the running one, and no other");
        run_all(rest);
        assert_eq!(traces.ran.take(), [0, 1, 2, 3, 4, 5]);
    });
}

#[test]
fn sem_g40_an_idle_dispatcher_stops_and_drains_with_nothing() {
    for workers in [1, 2, 5] {
        with(workers, |dispatcher, _| {
            assert!(dispatcher.stop().is_empty())
        });
        with(workers, |dispatcher, _| {
            assert!(dispatcher.drain().is_empty())
        });
        with(workers, |dispatcher, _| {
            dispatcher.wait_idle();
            assert!(dispatcher.stop().is_empty());
        });
        with(workers, |dispatcher, _| drop(dispatcher));
    }
    within(patience(), || {
        assert!(Dispatcher::new(3).drain().is_empty())
    });
}

#[test]
fn sem_g40_drain_runs_what_is_queued_and_what_that_queues() {
    fn tree(queue: &DispatcherQueue, log: &Log<u32>, depth: u32) {
        log.push(depth);
        for _ in 0..if depth > 0 { 2 } else { 0 } {
            let (inner, log) = (queue.clone(), log.clone());
            go(queue, move || tree(&inner, &log, depth - 1));
        }
    }
    with(2, |dispatcher, queue| {
        let log = Log::new();
        let (inner, seen) = (queue.clone(), log.clone());
        go(&queue, move || tree(&inner, &seen, 8));
        assert!(dispatcher.drain().is_empty());
        assert_eq!(log.len(), (1 << 9) - 1);
    });
}

#[test]
fn sem_g40_drain_returns_the_tasks_of_suspended_queues() {
    with(2, |dispatcher, queue| {
        let other = dispatcher.queue(QueueConfig::named("other"));
        let traces = Traces::new();
        queue.suspend();
        (0..5).for_each(|n| traces.queue(&queue, n));
        (5..10).for_each(|n| traces.queue(&other, n));
        let rest = dispatcher.drain();
        assert_eq!(traces.ran.take_sorted(), [5, 6, 7, 8, 9]);
        run_all(rest);
        assert_eq!(traces.ran.take(), [0, 1, 2, 3, 4]);
    });
}

#[test]
fn sem_g40_drop_cleans_up_what_never_started() {
    with(2, |dispatcher, queue| {
        let traces = Traces::new();
        queue.suspend();
        (0..20).for_each(|n| traces.queue(&queue, n));
        (20..30).for_each(|n| traces.queue(&queue.home(n % 2), n));
        drop(dispatcher);
        assert!(traces.ran.is_empty());
        assert_eq!(traces.cleaned.take_sorted(), (0..30).collect::<Vec<_>>());
        assert_eq!(queue.counters().pending(), 0);
    });
}

/// A task at home may hold what must not leave its thread, so it ends there.
#[test]
fn sem_g40_stop_cleans_up_home_tasks_on_their_workers() {
    struct Tells(Log<String>);
    impl Drop for Tells {
        fn drop(&mut self) {
            self.0.push(here());
        }
    }
    with(2, |dispatcher, queue| {
        let log = Log::new();
        queue.suspend();
        for worker in [0, 1] {
            let tells = Tells(log.clone());
            go(&queue.home(worker), move || drop(tells));
        }
        // Whether the workers have heard of the queue or not.
        assert!(dispatcher.stop().is_empty());
        assert_eq!(log.take_sorted(), ["motet-0", "motet-1"]);
    });
}

#[test]
fn sem_g40_a_dispatcher_in_the_background_leaves_home_tasks_to_their_workers() {
    struct Tells(Log<String>);
    impl Drop for Tells {
        fn drop(&mut self) {
            self.0.push(here());
        }
    }
    within(patience(), || {
        for policy in [
            ExecutionPolicy::Unconstrained,
            ExecutionPolicy::ConstrainQueueDepthDiscardTasks {
                depth: 9.try_into().unwrap(),
            },
        ] {
            let dispatcher = Dispatcher::with(DispatcherConfig {
                threads: 1,
                background: true,
                ..DispatcherConfig::default()
            })
            .unwrap();
            let queue = dispatcher.queue(QueueConfig {
                policy,
                ..QueueConfig::default()
            });
            let gate = hold(&queue);
            let log = Log::new();
            let tells = Tells(log.clone());
            go(&queue.home(0), move || drop(tells));
            go(&queue, || ());
            let returned = dispatcher.stop();
            assert_eq!((returned.len(), log.take()), (1, vec![]));
            gate.open();
            log.wait_for(1);
            assert_eq!(log.take(), ["motet-0"]);
        }
    });
}

#[test]
fn sem_g40_a_task_that_is_queued_while_the_dispatcher_stops_is_refused() {
    with(1, |dispatcher, queue| {
        let traces = Traces::new();
        let (gate, task) = (hold(&queue), traces.task("refused"));
        go(&queue, || ());
        let stopping = thread::spawn(move || dispatcher.stop());
        until_stopped(&queue);
        let refusal = queue.enqueue(task).unwrap_err();
        assert_eq!(refusal.reason, QueueError::Stopped);
        refusal.task.cleanup();
        gate.open();
        assert_eq!(stopping.join().unwrap().len(), 1);
        assert_eq!(traces.cleaned.take(), ["refused"]);
    });
}

#[test]
fn sem_g40_a_running_task_cannot_queue_any_more() {
    with(1, |dispatcher, queue| {
        let log = Log::new();
        let (gate, inner, seen) = (Gate::new(), queue.clone(), log.clone());
        let held = gate.clone();
        go(&queue, move || {
            held.pass();
            seen.push(inner.enqueue(Task::new(|| ())).map_err(|r| r.reason));
            seen.push(
                inner
                    .home(0)
                    .enqueue(Task::new(|| ()))
                    .map_err(|r| r.reason),
            );
        });
        gate.wait_for(1);
        let stopping = thread::spawn(move || dispatcher.stop());
        until_stopped(&queue);
        gate.open();
        assert!(stopping.join().unwrap().is_empty());
        assert_eq!(log.take(), [Err(QueueError::Stopped); 2]);
    });
}

/// A wake-up from outside, while `stop` waits for a running task, must not take from `stop` what it
/// is going to return.
#[test]
fn sem_g40_a_wake_up_during_stop_takes_nothing_from_it() {
    with(1, |dispatcher, queue| {
        let (bell, traces, drops) = (Bell::default(), Traces::new(), Drops::new());
        let (rung, value) = (bell.rung(), drops.make());
        spawn(&queue.handle(), async move {
            rung.await;
            drop(value);
        })
        .unwrap();
        dispatcher.wait_idle();
        let busy = dispatcher.queue(QueueConfig::named("busy"));
        let gate = hold(&busy);
        (0..3).for_each(|n| traces.queue(&queue, n));
        let stopping = thread::spawn(move || dispatcher.stop());
        until_stopped(&queue);
        bell.ring();
        gate.open();
        let rest = stopping.join().unwrap();
        assert!(
            traces.cleaned.is_empty(),
            "cleaned up: {:?}",
            traces.cleaned
        );
        run_all(rest);
        assert_eq!(traces.ran.take(), [0, 1, 2]);
        assert_eq!(drops.dropped(), 1);
    });
}

#[test]
fn sem_g40_async_tasks_that_wait_are_dropped_when_they_are_woken_after_the_end() {
    for at_home in [false, true] {
        with(2, move |dispatcher, queue| {
            let (bell, drops, log) = (Bell::default(), Drops::new(), Log::new());
            for n in 0..10 {
                let (rung, value, log) = (bell.rung(), drops.make(), log.clone());
                let place = if at_home {
                    queue.home(n % 2).handle()
                } else {
                    queue.handle()
                };
                spawn(&place, async move {
                    rung.await;
                    log.push(n);
                    drop(value);
                })
                .unwrap();
            }
            dispatcher.wait_idle();
            assert_eq!(bell.waiting(), 10);
            assert!(dispatcher.stop().is_empty(), "who waits is in no queue");
            assert_eq!(drops.dropped(), 0);
            bell.ring();
            assert_eq!(drops.dropped(), 10);
            assert!(log.is_empty(), "none went on");
        });
    }
}

#[test]
fn sem_g40_async_tasks_of_an_ended_dispatcher_go_with_their_last_waker() {
    with(1, |dispatcher, queue| {
        let (bell, drops) = (Bell::default(), Drops::new());
        let (rung, value) = (bell.rung(), drops.make());
        spawn(&queue.handle(), async move {
            rung.await;
            drop(value);
        })
        .unwrap();
        dispatcher.wait_idle();
        drop((dispatcher, queue));
        bell.abandon();
        assert_eq!(drops.dropped(), 1);
    });
}

#[test]
fn sem_g40_a_worker_may_drop_its_own_dispatcher() {
    with(2, |dispatcher, queue| {
        let (traces, gate) = (Traces::new(), Gate::new());
        let (inner, own) = (queue.clone(), [1, 2, 3].map(|n| traces.task(n)));
        let (held, cleaned) = (gate.clone(), traces.cleaned.clone());
        let at_home = traces.task(4);
        go(&queue, move || {
            held.pass();
            own.into_iter()
                .for_each(|task| inner.enqueue(task).unwrap());
            inner.home(0).enqueue(at_home).unwrap();
            inner.suspend();
            drop(dispatcher);
        });
        gate.wait_for(1);
        queue.suspend();
        (5..10).for_each(|n| traces.queue(&queue, n));
        gate.open();
        // The queue's handle lives on: what was queued must come back all the same.
        cleaned.wait_for(9);
        assert_eq!(cleaned.take_sorted(), (1..10).collect::<Vec<_>>());
        assert!(traces.ran.is_empty());
        assert_eq!(queue.reserve(), Err(QueueError::Stopped));
    });
}

#[test]
fn sem_g40_another_thread_may_stop_while_posters_post() {
    for _ in 0..50 {
        with(2, |dispatcher, queue| {
            let drops = Drops::new();
            let posters: Vec<_> = (0..2)
                .map(|_| {
                    let (queue, drops) = (queue.clone(), drops.clone());
                    let mut value = drops.make();
                    thread::spawn(move || {
                        while queue.enqueue(Task::new(move || drop(value))).is_ok() {
                            value = drops.make();
                        }
                    })
                })
                .collect();
            until(|| queue.counters().executed > 10);
            let rest = dispatcher.stop();
            posters
                .into_iter()
                .for_each(|poster| poster.join().unwrap());
            run_all(rest);
            assert_eq!(drops.made(), drops.dropped(), "none is left in the queue");
            assert_eq!(queue.counters().pending(), 0);
        });
    }
}

#[test]
fn sem_g40_waiting_for_oneself_is_a_panic_not_a_hang() {
    with(1, |dispatcher, queue| {
        let (log, dispatcher) = (Log::new(), Arc::new(dispatcher));
        let told = log.clone();
        queue.on_exception(move |e| told.push(e.message().to_owned()));
        let inner = Arc::clone(&dispatcher);
        go(&queue, move || inner.wait_idle());
        log.wait_for(1);
        until(|| Arc::strong_count(&dispatcher) == 1);
        let dispatcher = Arc::into_inner(dispatcher).expect("the last one");
        go(&queue, move || drop(dispatcher.stop()));
        log.wait_for(2);
        let text = |verb| {
            format!("Dispatcher::{verb} on a worker of the same dispatcher would wait for itself")
        };
        assert_eq!(log.take(), [text("wait_idle"), text("stop")]);
    });
}

#[test]
fn sem_g40_a_worker_may_wait_for_and_stop_another_dispatcher() {
    with(1, |dispatcher, queue| {
        let log = Log::new();
        let seen = log.clone();
        go(&queue, move || {
            let other = Dispatcher::new(1);
            let inner = other.queue(QueueConfig::default());
            note(&inner, &seen, "inner");
            other.wait_idle();
            note(&inner, &seen, "drained");
            assert!(other.drain().is_empty());
            seen.push("outer");
        });
        dispatcher.wait_idle();
        assert_eq!(log.take(), ["inner", "drained", "outer"]);
    });
}

#[test]
fn sem_g538_a_destructor_that_panics_keeps_no_other_task_from_its_cleanup() {
    struct Falls;
    impl Drop for Falls {
        fn drop(&mut self) {
            panic!("it falls");
        }
    }
    with(1, |dispatcher, queue| {
        let (traces, told) = (Traces::new(), Log::new());
        let log = told.clone();
        dispatcher.on_exception(move |exception| log.push(exception.message().to_owned()));
        queue.suspend();
        let falls = Falls;
        go(&queue, move || drop(falls));
        traces.queue(&queue, "behind it");
        drop(dispatcher);
        assert_eq!(told.take(), ["it falls"]);
        assert_eq!(traces.cleaned.take(), ["behind it"]);
    });
}
