//! Calls that block, handlers that hold their worker, and the threads of a dispatcher.

use crate::support::{go, here, hold, until, with_queue};
use motet_dispatch::{
    Causality, Dispatcher, DispatcherConfig, DispatcherQueue, Enqueue, QueueConfig, QueueError,
    RunBlocking, Task, ThreadPriority, spawn,
};
use motet_sync::atomic::{AtomicUsize, Ordering};
use motet_sync::{Arc, block_on, thread};
use motet_testkit::{Gate, Log, Overlap, patience, within};
use std::pin::Pin;
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

fn with(config: DispatcherConfig) -> (Dispatcher, DispatcherQueue) {
    let dispatcher = Dispatcher::with(config).unwrap();
    let queue = dispatcher.queue(QueueConfig::named("test"));
    (dispatcher, queue)
}

/// A call that stands until the gate is opened.
fn standing(queue: &DispatcherQueue) -> (Gate, RunBlocking<()>) {
    let gate = Gate::new();
    let held = gate.clone();
    let call = queue.run_blocking(move || held.pass());
    (gate, call)
}

#[test]
fn sem_g50_a_blocking_call_holds_no_worker_and_its_handler_goes_on_there() {
    with_queue(1, |dispatcher, queue| {
        let (log, gate) = (Log::new(), Gate::new());
        let (calls, seen, held) = (queue.clone(), log.clone(), gate.clone());
        spawn(&queue.handle(), async move {
            let there = calls.run_blocking(move || {
                held.pass();
                here()
            });
            seen.push(there.await.unwrap());
            seen.push(here());
        })
        .unwrap();
        gate.wait_for(1);
        // The only worker is free meanwhile.
        let seen = log.clone();
        go(&queue, move || seen.push("between".to_owned()));
        log.wait_for(1);
        gate.open();
        log.wait_for(3);
        dispatcher.wait_idle();
        assert_eq!(log.take(), ["between", "motet-blocking", "motet-0"]);
    });
}

#[test]
fn sem_g50_threads_for_calls_grow_to_their_limit_and_go() {
    within(patience(), || {
        let (dispatcher, queue) = with(DispatcherConfig {
            threads: 1,
            blocking_threads: 3,
            blocking_idle: Duration::from_millis(5),
            ..DispatcherConfig::default()
        });
        assert_eq!(dispatcher.blocking_threads(), 0);
        let (overlap, ran) = (Overlap::new(), Arc::new(AtomicUsize::new(0)));
        let (gate, first) = standing(&queue);
        let calls: Vec<_> = (0..20)
            .map(|_| {
                let (overlap, ran) = (overlap.clone(), Arc::clone(&ran));
                queue.run_blocking(move || {
                    overlap.during(|| ran.fetch_add(1, Ordering::Relaxed));
                })
            })
            .collect();
        calls.into_iter().for_each(|call| block_on(call).unwrap());
        assert_eq!(ran.load(Ordering::Relaxed), 20);
        assert!(overlap.most() <= 2, "the third stands");
        assert!(dispatcher.blocking_threads() <= 3);
        gate.open();
        block_on(first).unwrap();
        until(|| dispatcher.blocking_threads() == 0);
        assert_eq!(block_on(queue.run_blocking(|| 7)), Ok(7), "they come again");
    });
}

/// A waker that opens a gate when it is woken.
struct Opens(Gate);

impl Wake for Opens {
    fn wake(self: Arc<Self>) {
        self.0.open();
    }
}

/// A waker that, when it is dropped, lets a call end, and waits until that is told.
struct Ends {
    call: Gate,
    told: Gate,
}

impl Wake for Ends {
    fn wake(self: Arc<Self>) {}
}

impl Drop for Ends {
    fn drop(&mut self) {
        self.call.open();
        self.told.pass();
    }
}

#[test]
fn sem_g523_a_waker_that_is_replaced_may_wait_for_the_end_of_the_call() {
    with_queue(1, |_dispatcher, queue| {
        let ((call, mut ended), told) = (standing(&queue), Gate::new());
        let last = Waker::from(Arc::new(Opens(told.clone())));
        let first = Waker::from(Arc::new(Ends { call, told }));
        let mut poll = |waker: &Waker| Pin::new(&mut ended).poll(&mut Context::from_waker(waker));
        assert!(poll(&first).is_pending());
        drop(first);
        assert!(poll(&last).is_pending());
        assert_eq!(poll(&last), Poll::Ready(Ok(())));
    });
}

#[test]
fn sem_g50_the_panic_of_a_call_goes_on_in_its_handler() {
    with_queue(1, |dispatcher, queue| {
        let told = Log::new();
        let log = told.clone();
        queue.on_exception(move |e| log.push(e.message().to_owned()));
        let calls = queue.clone();
        spawn(&queue.handle(), async move {
            calls
                .run_blocking(|| panic!("out of paper"))
                .await
                .unwrap_or(());
        })
        .unwrap();
        told.wait_for(1);
        dispatcher.wait_idle();
        assert_eq!(told.take(), ["out of paper"]);
    });
}

#[test]
fn sem_g50_a_call_that_nobody_awaits_is_left_out_or_its_panic_is_told() {
    within(patience(), || {
        let (dispatcher, queue) = with(DispatcherConfig {
            threads: 1,
            blocking_threads: 1,
            ..DispatcherConfig::default()
        });
        let (told, ran) = (Log::new(), Log::new());
        let log = told.clone();
        dispatcher.on_exception(move |e| log.push(e.message().to_owned()));
        let gate = Gate::new();
        let held = gate.clone();
        let fails = queue.run_blocking(move || {
            held.pass();
            panic!("alone");
        });
        gate.wait_for(1);
        let seen = ran.clone();
        drop(queue.run_blocking(move || seen.push(())));
        drop::<RunBlocking<()>>(fails);
        gate.open();
        told.wait_for(1);
        assert_eq!(block_on(queue.run_blocking(|| 1)), Ok(1));
        assert_eq!(told.take(), ["alone"]);
        assert!(ran.is_empty(), "it was given up before it began");
    });
}

#[test]
fn sem_g50_the_end_waits_for_calls_that_run_and_gives_up_the_others() {
    within(patience(), || {
        let (dispatcher, queue) = with(DispatcherConfig {
            threads: 1,
            blocking_threads: 1,
            ..DispatcherConfig::default()
        });
        let (gate, running) = standing(&queue);
        gate.wait_for(1);
        let waiting = queue.run_blocking(|| ());
        let stopper = thread::spawn(move || assert!(dispatcher.stop().is_empty()));
        assert_eq!(block_on(waiting), Err(QueueError::Stopped));
        assert!(!stopper.is_finished());
        gate.open();
        stopper.join().unwrap();
        assert_eq!(block_on(running), Ok(()));
        let late = block_on(queue.run_blocking(|| ()));
        assert_eq!(late, Err(QueueError::Stopped));
    });
}

/// Panics when it is dropped.
struct Fragile;

impl Drop for Fragile {
    fn drop(&mut self) {
        panic!("a call that has not run is dropped");
    }
}

#[test]
fn sem_g34_sem_g50_a_destructor_that_panics_keeps_no_answer_and_no_thread_waiting() {
    within(patience(), || {
        let (dispatcher, queue) = with(DispatcherConfig {
            threads: 1,
            blocking_threads: 1,
            ..DispatcherConfig::default()
        });
        let (gate, running) = standing(&queue);
        gate.wait_for(1);
        let calls: Vec<_> = (0..2)
            .map(|_| {
                let fragile = Fragile;
                queue.run_blocking(move || drop(fragile))
            })
            .collect();
        let opener = thread::spawn(move || {
            for call in calls {
                assert_eq!(block_on(call), Err(QueueError::Stopped));
            }
            gate.open();
        });
        drop(dispatcher);
        assert_eq!(block_on(running), Ok(()), "the end has waited for it");
        opener.join().unwrap();
        let late = queue.run_blocking(|| 1);
        assert_eq!(block_on(late), Err(QueueError::Stopped));
    });
}

#[test]
fn sem_g34_sem_g50_no_panic_of_a_call_goes_past_the_handler_of_the_dispatcher() {
    within(patience(), || {
        let (dispatcher, queue) = with(DispatcherConfig {
            threads: 1,
            blocking_threads: 1,
            ..DispatcherConfig::default()
        });
        let told = Log::new();
        let log = told.clone();
        dispatcher.on_exception(move |e| log.push(e.message().to_owned()));
        let fails: RunBlocking<()> = queue.run_blocking(|| panic!("before the drop"));
        assert_eq!(block_on(queue.run_blocking(|| 1)), Ok(1), "both have ended");
        assert!(told.is_empty());
        drop(fails);
        assert_eq!(told.take(), ["before the drop"]);
        let (gate, running) = standing(&queue);
        gate.wait_for(1);
        let fragile = Fragile;
        let call = queue.run_blocking(move || drop(fragile));
        let opener = thread::spawn(move || {
            assert_eq!(block_on(call), Err(QueueError::Stopped));
            gate.open();
        });
        drop(dispatcher);
        assert_eq!(told.take(), ["a call that has not run is dropped"]);
        opener.join().unwrap();
        assert_eq!(block_on(running), Ok(()));
    });
}

#[test]
fn sem_g50_sem_g65_a_call_that_was_cancelled_before_it_began_says_so() {
    within(patience(), || {
        let (_dispatcher, queue) = with(DispatcherConfig {
            threads: 1,
            blocking_threads: 1,
            ..DispatcherConfig::default()
        });
        let (gate, running) = standing(&queue);
        gate.wait_for(1);
        let order = Causality::new("order").skipping_unstarted();
        let call = order.run(|| queue.run_blocking(|| 1));
        order.cancel("the customer has left");
        gate.open();
        assert_eq!(block_on(call), Err(QueueError::Cancelled));
        assert_eq!(block_on(running), Ok(()));
    });
}

#[test]
fn sem_g50_a_call_may_drop_its_own_dispatcher() {
    within(patience(), || {
        let (dispatcher, queue) = with(DispatcherConfig {
            threads: 1,
            ..DispatcherConfig::default()
        });
        block_on(queue.run_blocking(move || drop(dispatcher))).unwrap();
        assert_eq!(queue.reserve(), Err(QueueError::Stopped));
    });
}

#[test]
fn sem_g50_a_handler_that_holds_its_worker_is_named_once() {
    within(patience(), || {
        let (dispatcher, queue) = with(DispatcherConfig {
            threads: 2,
            stall_limit: Some(Duration::from_millis(20)),
            ..DispatcherConfig::default()
        });
        let stalls = Log::new();
        let log = stalls.clone();
        dispatcher.on_stall(move |stall| {
            // A worker that loses its core in a short task of the other queue is named too,
            // rightly.
            if stall.queue == "test" {
                log.push(stall);
            }
        });
        let other = dispatcher.queue(QueueConfig::named("other"));
        (0..100).for_each(|_| go(&other, || ()));
        let gate = hold(&queue);
        stalls.wait_for(1);
        thread::park_timeout(Duration::from_millis(60));
        gate.open();
        dispatcher.wait_idle();
        let stalls = stalls.take();
        assert_eq!(stalls.len(), 1, "{stalls:?}");
        assert!(stalls[0].handler.contains("hold"), "{}", stalls[0].handler);
        assert!(stalls[0].held_for >= Duration::from_millis(20));
        assert!(stalls[0].worker < 2);
        let text = stalls[0].to_string();
        assert!(
            text.starts_with("a handler of queue 'test' has held worker"),
            "{text}"
        );
    });
}

#[test]
fn sem_g50_a_poll_that_holds_its_worker_is_named_and_a_wait_is_not() {
    within(patience(), || {
        let (dispatcher, queue) = with(DispatcherConfig {
            threads: 1,
            stall_limit: Some(Duration::from_millis(10)),
            ..DispatcherConfig::default()
        });
        let stalls = Log::new();
        let log = stalls.clone();
        dispatcher.on_stall(move |stall| {
            log.push(stall.handler);
            panic!("a handler of the test");
        });
        async fn long_poll(gate: Gate) {
            gate.pass();
        }
        // A worker that loses its core within the poll is named too, rightly: once it must be left
        // alone.
        until(|| {
            let (waits, wait) = (Gate::new(), queue.clone());
            let held = waits.clone();
            spawn(&queue.handle(), async move {
                wait.run_blocking(move || held.pass()).await.unwrap();
            })
            .unwrap();
            waits.wait_for(1);
            thread::park_timeout(Duration::from_millis(50));
            let unnamed = stalls.take().is_empty();
            waits.open();
            dispatcher.wait_idle();
            unnamed
        });
        for _ in 0..2 {
            let gate = Gate::new();
            spawn(&queue.handle(), long_poll(gate.clone())).unwrap();
            until(|| stalls.take().iter().any(|told| told.contains("long_poll")));
            gate.open();
        }
    });
}

#[test]
fn workers_count_what_they_do() {
    with_queue(2, |dispatcher, queue| {
        let other = dispatcher.queue(QueueConfig::default());
        dispatcher.wait_idle();
        for _ in 0..50 {
            go(&queue, || ());
            go(&other, || ());
        }
        dispatcher.wait_idle();
        let counters = dispatcher.worker_counters();
        assert_eq!(counters.len(), 2);
        assert_eq!(counters.iter().map(|c| c.executed).sum::<u64>(), 100);
        assert!(
            counters
                .iter()
                .all(|c| c.parked >= 1 && c.woken <= c.parked)
        );
        assert!(counters.iter().any(|c| c.woken >= 1));
        // One worker is held; what the other one's task leaves in its deque is stolen when it is
        // held too.
        let gate = hold(&queue);
        let (inner, stuck) = (queue.clone(), Gate::new());
        let held = stuck.clone();
        go(&queue, move || {
            (0..10).for_each(|_| go(&inner, || ()));
            held.pass();
        });
        stuck.wait_for(1);
        gate.open();
        until(|| queue.counters().executed >= 50 + 2 + 9);
        let stolen: u64 = dispatcher.worker_counters().iter().map(|c| c.stolen).sum();
        assert!(stolen >= 1);
        stuck.open();
        dispatcher.wait_idle();
    });
}

#[test]
fn ccr_111_the_end_waits_for_tasks_that_run_but_not_in_the_background() {
    within(patience(), || {
        for background in [false, true] {
            let (dispatcher, queue) = with(DispatcherConfig {
                threads: 1,
                background,
                ..DispatcherConfig::default()
            });
            let (gate, done) = (Gate::new(), Log::new());
            let (held, log) = (gate.clone(), done.clone());
            go(&queue, move || {
                held.pass();
                log.push("done");
            });
            gate.wait_for(1);
            if background {
                drop(dispatcher);
                assert!(done.is_empty(), "it runs on");
                gate.open();
                done.wait_for(1);
            } else {
                let opener = thread::spawn(move || {
                    thread::park_timeout(Duration::from_millis(5));
                    gate.open();
                });
                drop(dispatcher);
                assert_eq!(done.take(), ["done"]);
                opener.join().unwrap();
            }
            assert_eq!(queue.reserve(), Err(QueueError::Stopped));
        }
    });
}

#[cfg(target_os = "linux")]
#[test]
fn threads_have_the_priority_that_was_asked_for() {
    /// The nice value of the calling thread, as the system shows it.
    fn nice() -> i32 {
        let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
        let (_, after_name) = stat.rsplit_once(')').unwrap();
        after_name
            .split_whitespace()
            .nth(16)
            .unwrap()
            .parse()
            .unwrap()
    }
    within(patience(), || {
        let before = nice();
        for priority in [ThreadPriority::Lowest, ThreadPriority::BelowNormal] {
            let (dispatcher, queue) = with(DispatcherConfig {
                threads: 2,
                priority,
                ..DispatcherConfig::default()
            });
            let log = Log::new();
            for worker in 0..2 {
                let log = log.clone();
                go(&queue.home(worker), move || log.push(nice()));
            }
            dispatcher.wait_idle();
            assert_eq!(log.take(), [(before + priority.nice_step()).min(19); 2]);
        }
        assert_eq!(nice(), before, "of these threads alone");
        let high = Dispatcher::with(DispatcherConfig {
            threads: 2,
            priority: ThreadPriority::Highest,
            ..DispatcherConfig::default()
        });
        match high {
            Ok(dispatcher) => assert_eq!(dispatcher.workers(), 2),
            Err(refused) => {
                let text = refused.to_string();
                assert!(
                    text.contains("Highest") && text.contains("CAP_SYS_NICE"),
                    "{text}"
                );
            }
        }
    });
}

#[test]
fn a_stack_is_as_large_as_asked_for() {
    /// Uses about a kilobyte of stack for each step.
    fn deep(steps: usize) -> u8 {
        let mut room = [1_u8; 1024];
        std::hint::black_box(&mut room);
        if steps == 0 {
            room[0]
        } else {
            room[0] & deep(steps - 1)
        }
    }
    within(patience(), || {
        let (dispatcher, queue) = with(DispatcherConfig {
            threads: 1,
            stack_size: Some(64 << 20),
            ..DispatcherConfig::default()
        });
        let log = Log::new();
        let seen = log.clone();
        go(&queue, move || seen.push(deep(20_000)));
        dispatcher.wait_idle();
        assert_eq!(log.take(), [1]);
    });
}

#[test]
fn a_dispatcher_without_a_limit_watches_nobody() {
    with_queue(1, |dispatcher, queue| {
        let stalls = Log::new();
        let log = stalls.clone();
        dispatcher.on_stall(move |stall| log.push(stall));
        let gate = hold(&queue);
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_millis(30) {
            thread::park_timeout(Duration::from_millis(30));
        }
        gate.open();
        dispatcher.wait_idle();
        assert!(stalls.is_empty());
        assert!(Task::new(|| drop(here())).name().contains("watches_nobody"));
    });
}
