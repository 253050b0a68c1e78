//! Programs that take the same steps each time.

use crate::support::{Bell, Traces, go, note};
use motet_dispatch::{
    Awaited, Clock, Enqueue, Inline, QueueConfig, QueueError, Replay, ReplayConfig, ReplayQueue,
    Task, Timescale, Trace, Waiter, inside_task, spawn, timer, watch_here,
};
use motet_sync::{Arc, thread};
use motet_testkit::{Drops, Log, explore, explore_with};
use std::collections::HashSet;
use std::panic::Location;
use std::time::{Duration, Instant};

const MS: Duration = Duration::from_millis(1);
const HOUR: Duration = Duration::from_secs(3600);

fn with_threads(threads: usize, seed: u64) -> Replay {
    Replay::with(ReplayConfig {
        seed,
        threads,
        ..ReplayConfig::default()
    })
}

/// Tasks that queue tasks on several queues, timers and async tasks.
fn program(replay: &Replay) -> Log<u32> {
    fn grow(queues: &[ReplayQueue], log: &Log<u32>, n: u32) {
        log.push(n);
        if n < 100 {
            for child in [2 * n, 2 * n + 1] {
                let (queues, log) = (queues.to_vec(), log.clone());
                let at = child as usize % queues.len();
                go(&queues[at].clone(), move || grow(&queues, &log, child));
            }
        }
    }
    let queues: Vec<_> = (0..3)
        .map(|n| replay.queue(QueueConfig::named(&format!("queue {n}"))))
        .collect();
    let (log, bell) = (Log::new(), Bell::default());
    for n in 0..5 {
        let (log, bell) = (log.clone(), bell.clone());
        let wait = async move {
            bell.rung().await;
            log.push(1000 + n);
        };
        spawn(&queues[0].handle(), wait).unwrap();
    }
    timer::after(&queues[1], 2 * MS, Task::new(move || bell.ring()));
    let told = log.clone();
    let beat = timer::every(&queues[2], MS, move |_| told.push(2000));
    let end = log.clone();
    timer::after(
        &queues[0],
        5 * MS,
        Task::new(move || {
            beat.cancel();
            end.push(3000);
        }),
    );
    grow(&queues, &log, 1);
    replay.run();
    log
}

#[test]
fn sem_g56_the_same_seed_takes_the_same_steps() {
    for config in [(8, Duration::ZERO), (1, Duration::ZERO), (3, MS)] {
        let run = |seed| {
            let replay = Replay::with(ReplayConfig {
                seed,
                threads: config.0,
                task_time: config.1,
                script: None,
            });
            let log = program(&replay).take();
            (log, replay.trace(), replay.decisions(), replay.elapsed())
        };
        for seed in 0..20 {
            let (first, again) = (run(seed), run(seed));
            assert_eq!(first, again);
            assert_eq!(first.1.hash(), again.1.hash());
        }
        let hashes: HashSet<u64> = (0..20).map(|seed| run(seed).1.hash()).collect();
        assert_eq!(hashes.len(), 20, "different seeds take different steps");
    }
}

#[test]
fn sem_g58_tasks_that_take_any_time_leave_a_time_that_can_be_told() {
    const CENTURY: Duration = Duration::from_secs(100 * 365 * 24 * 3600);
    for task_time in [Duration::MAX, Duration::MAX / 8, CENTURY] {
        let replay = Replay::with(ReplayConfig {
            seed: 1,
            task_time,
            ..ReplayConfig::default()
        });
        let queue = replay.queue(QueueConfig::named("slow"));
        (0..50).for_each(|_| queue.enqueue(Task::new(|| ())).unwrap());
        assert_eq!(replay.run(), 50);
        let elapsed = replay.elapsed();
        assert!(elapsed > Duration::ZERO && elapsed <= 50 * CENTURY);
    }
}

#[test]
fn sem_g56_the_decisions_of_one_run_lead_another_the_same_way() {
    let first = Replay::with(ReplayConfig {
        seed: 7,
        task_time: MS,
        ..ReplayConfig::default()
    });
    let log = program(&first).take();
    let script = first
        .decisions()
        .iter()
        .map(|decision| decision.taken)
        .collect();
    let second = Replay::with(ReplayConfig {
        task_time: MS,
        script: Some(script),
        ..ReplayConfig::default()
    });
    assert_eq!(program(&second).take(), log);
    assert_eq!(second.trace(), first.trace());
}

#[test]
fn the_trace_says_which_task_of_which_queue_ran_when() {
    let replay = Replay::new(1);
    let (a, b) = (
        replay.queue(QueueConfig::named("a")),
        replay.queue(QueueConfig::named("b")),
    );
    assert_eq!(replay.trace(), {
        let other = Replay::new(2);
        let _queues = ["a", "b"].map(|name| other.queue(QueueConfig::named(name)));
        other.trace()
    });
    timer::after(&a, 2 * MS, Task::new(|| ()));
    timer::after(&b, MS, Task::new(|| ()));
    timer::after(&a, 3 * MS, Task::new(|| ()));
    replay.run();
    assert_eq!(replay.trace().to_string(), "1ms b#1\n2ms a#1\n3ms a#2\n");
    assert_eq!(replay.trace().steps().len(), 3);
    assert_ne!(replay.trace(), Trace::default());
}

#[test]
fn sem_g57_with_one_thread_a_queue_keeps_its_order() {
    for seed in 0..50 {
        let (replay, log) = (with_threads(1, seed), Log::new());
        let queue = replay.queue(QueueConfig::default());
        (0..100).for_each(|n| note(&queue, &log, n));
        let (inner, seen) = (queue.clone(), log.clone());
        go(&queue, move || {
            (101..200).for_each(|n| note(&inner, &seen, n))
        });
        note(&queue, &log, 100);
        assert_eq!(replay.run(), 201);
        assert_eq!(log.take(), (0..200).collect::<Vec<_>>());
    }
}

#[test]
fn sem_g57_with_one_thread_queues_take_turns() {
    let mut firsts = HashSet::new();
    for seed in 0..50 {
        let (replay, log) = (with_threads(1, seed), Log::new());
        let queues: Vec<_> = (0..3)
            .map(|_| replay.queue(QueueConfig::default()))
            .collect();
        for (name, queue) in queues.iter().enumerate() {
            (0..20).for_each(|_| note(queue, &log, name));
        }
        replay.run();
        let order = log.take();
        for round in order.chunks(3) {
            let round: HashSet<_> = round.iter().collect();
            assert_eq!(round.len(), 3, "one of each in {order:?}");
        }
        firsts.insert(order[..3].to_vec());
    }
    assert_eq!(firsts.len(), 6, "every order of a round is found");
}

#[test]
fn sem_g57_with_n_threads_the_next_task_is_one_of_the_n_oldest() {
    for threads in 2..5 {
        let mut orders = HashSet::new();
        for seed in 0..200 {
            let (replay, log) = (with_threads(threads, seed), Log::new());
            let queue = replay.queue(QueueConfig::default());
            (0..6).for_each(|n| note(&queue, &log, n));
            replay.run();
            let order = log.take();
            let mut waiting: Vec<_> = (0..6).collect();
            for n in &order {
                let at = waiting.iter().position(|other| other == n).unwrap();
                assert!(at < threads, "{order:?} with {threads} threads");
                waiting.remove(at);
            }
            orders.insert(order);
        }
        let possible = threads.pow((6 - threads) as u32) * (1..=threads).product::<usize>();
        assert!(
            orders.len() * 3 > possible.min(200),
            "{} orders",
            orders.len()
        );
    }
}

#[test]
fn sem_g58_hours_pass_in_no_time() {
    let (replay, log) = (Replay::new(1), Log::new());
    let queue = replay.queue(QueueConfig::default());
    let (begun, clock) = (Instant::now(), replay.clock());
    let start = clock.now();
    for hours in [1000, 1, 10] {
        let (log, clock) = (log.clone(), clock.clone());
        let tell = move || log.push(clock.now() - start);
        timer::after(&queue, hours * HOUR, Task::new(tell));
    }
    assert_eq!(replay.run(), 3);
    assert_eq!(log.take(), [HOUR, 10 * HOUR, 1000 * HOUR]);
    assert_eq!(replay.elapsed(), 1000 * HOUR);
    assert!(begun.elapsed() < HOUR);
}

#[test]
fn sem_g58_time_stands_still_while_there_is_something_to_run() {
    let (replay, log) = (Replay::new(1), Log::new());
    let queue = replay.queue(QueueConfig::default());
    let told = log.clone();
    timer::after(
        &queue,
        Duration::from_nanos(1),
        Task::new(move || told.push("timer")),
    );
    fn chain(queue: &ReplayQueue, log: &Log<&'static str>, left: u32) {
        let (next, log) = (queue.clone(), log.clone());
        go(queue, move || match left {
            0 => log.push("end of the chain"),
            _ => chain(&next, &log, left - 1),
        });
    }
    chain(&queue, &log, 1000);
    replay.run();
    assert_eq!(log.take(), ["end of the chain", "timer"]);
}

#[test]
fn sem_g58_tasks_that_take_time_let_timers_come_between() {
    let orders: HashSet<_> = (0..50)
        .map(|seed| {
            let replay = Replay::with(ReplayConfig {
                seed,
                threads: 1,
                task_time: MS,
                script: None,
            });
            let (queue, log) = (replay.queue(QueueConfig::default()), Log::new());
            let told = log.clone();
            replay.clock().after(3 * MS, move |_| told.push(None));
            (0..8).for_each(|n| note(&queue, &log, Some(n)));
            replay.run();
            assert!(replay.elapsed() <= 8 * MS);
            log.take()
        })
        .collect();
    assert!(orders.len() > 2, "{orders:?}");
}

#[test]
fn run_for_ends_at_its_time() {
    let (replay, log) = (Replay::new(1), Log::new());
    let queue = replay.queue(QueueConfig::default());
    for ms in [1, 5, 6] {
        let log = log.clone();
        timer::after(&queue, ms * MS, Task::new(move || log.push(ms)));
    }
    assert_eq!(replay.run_for(5 * MS), 2, "the end is included");
    assert_eq!(
        (log.take(), replay.elapsed(), replay.timers()),
        (vec![1, 5], 5 * MS, 1)
    );
    assert_eq!(replay.run_for(HOUR), 1);
    assert_eq!(replay.elapsed(), HOUR + 5 * MS);
    assert!(!replay.step());
}

#[test]
fn a_suspended_queue_starts_nothing_and_ends_the_run() {
    let (replay, log) = (Replay::new(1), Log::new());
    let (a, b) = (
        replay.queue(QueueConfig::default()),
        replay.queue(QueueConfig::default()),
    );
    a.suspend();
    note(&a, &log, "a");
    note(&b, &log, "b");
    assert!(a.is_suspended());
    assert_eq!(replay.run(), 1);
    a.resume();
    assert_eq!(replay.run(), 1);
    assert_eq!(log.take(), ["b", "a"]);
    assert_eq!((a.counters().scheduled, a.counters().executed), (1, 1));
}

#[test]
fn a_full_queue_refuses_but_what_was_admitted_comes_back() {
    let replay = Replay::new(1);
    let queue = replay.queue(QueueConfig::bounded("small", 1));
    go(&queue, || ());
    let refused = queue.enqueue(Task::new(|| ())).unwrap_err();
    assert_eq!(
        (refused.reason, queue.counters().refused),
        (QueueError::Full, 1)
    );
    timer::after(&queue, MS, Task::new(|| ()));
    assert_eq!(replay.run(), 2);
    go(&queue, || ());
    assert_eq!(queue.counters().pending(), 1);
}

#[test]
fn panics_go_to_the_queue_else_to_the_replay() {
    let (replay, log) = (Replay::new(1), Log::new());
    let (own, other) = (
        replay.queue(QueueConfig::named("own")),
        replay.queue(QueueConfig::named("other")),
    );
    let (queue, all) = (log.clone(), log.clone());
    own.on_exception(move |e| queue.push(format!("queue: {}", e.queue())));
    replay.on_exception(move |e| all.push(format!("replay: {}", e.queue())));
    go(&own, || panic!("on purpose"));
    go(&other, || panic!("on purpose"));
    spawn(&own.handle(), async { panic!("on purpose") }).unwrap();
    replay.clock().after(MS, |_| panic!("on purpose"));
    assert_eq!(replay.run(), 3);
    assert_eq!(
        log.take_sorted(),
        ["queue: own", "queue: own", "replay: other", "replay: timer"]
    );
}

#[test]
fn dropping_it_brings_back_what_never_started() {
    let (traces, drops, bell) = (Traces::new(), Drops::new(), Bell::default());
    let replay = Replay::new(1);
    let (queue, clock) = (replay.queue(QueueConfig::default()), replay.clock());
    traces.queue(&queue, "queued");
    timer::after(&queue, HOUR, traces.task("later"));
    let (held, wait) = (drops.make(), bell.clone());
    let waiting = async move {
        wait.rung().await;
        drop(held);
    };
    spawn(&queue.handle(), waiting).unwrap();
    replay.step();
    replay.step();
    drop(replay);
    assert_eq!(
        queue.enqueue(traces.task("refused")).unwrap_err().reason,
        QueueError::Stopped
    );
    queue.readmit(traces.task("late"));
    assert!(!clock.after(HOUR, |_| ()).cancel());
    bell.ring();
    assert_eq!(
        drops.dropped(),
        1,
        "an async task that is woken too late is dropped"
    );
    assert!(traces.cleaned.take().ends_with(&["later", "late"]));
}

/// Panics when it is dropped.
struct Bursts;

impl Drop for Bursts {
    fn drop(&mut self) {
        panic!("it bursts");
    }
}

/// Notes the end of its dispatcher.
struct Told(Log<&'static str>);

impl Waiter for Told {
    fn awaits(&self) -> Option<Awaited> {
        None
    }

    fn dispatcher_ended(&self) {
        self.0.push("ended");
    }
}

#[test]
fn sem_g536_a_destructor_that_panics_cuts_the_end_of_a_replay_not_short() {
    let (traces, log) = (Traces::new(), Log::new());
    let replay = Replay::new(1);
    let queue = replay.queue(QueueConfig::default());
    let heard = log.clone();
    replay.on_exception(move |_| heard.push("panicked"));
    let told: Arc<dyn Waiter> = Arc::new(Told(log.clone()));
    queue.watch(Arc::downgrade(&told), Location::caller());
    for _ in 0..2 {
        let bursts = Bursts;
        go(&queue, move || drop(bursts));
    }
    traces.queue(&queue, "queued");
    let bursts = Bursts;
    replay.clock().after(HOUR, move |_| drop(bursts));
    timer::after(&queue, 2 * HOUR, traces.task("later"));
    drop(replay);
    assert_eq!(log.take(), ["panicked", "panicked", "panicked", "ended"]);
    assert_eq!(traces.cleaned.take(), ["queued", "later"]);
}

#[test]
fn tasks_find_the_virtual_clock() {
    let (replay, log) = (Replay::new(1), Log::new());
    let queue = replay.queue(QueueConfig {
        timescale: Timescale::new(2.0),
        ..QueueConfig::named("slow")
    });
    let told = log.clone();
    go(&queue, move || {
        assert!(inside_task());
        let inline = Inline::new("inside");
        for clock in [Clock::current(), inline.clock()] {
            told.push((clock.is_virtual(), clock.timescale().factor() as u32));
        }
        let other = Replay::new(2);
        other
            .queue(QueueConfig::default())
            .enqueue(Task::new(|| ()))
            .unwrap();
        assert_eq!(other.run(), 1, "a replay may run inside a task of another");
        told.push((Clock::current().is_virtual(), 0));
    });
    timer::after(&queue, MS, Task::new(|| ()));
    replay.run();
    assert_eq!(log.take(), [(true, 2), (true, 2), (true, 0)]);
    assert_eq!(replay.elapsed(), 2 * MS);
    assert!(!Clock::current().is_virtual() && !inside_task());
}

#[test]
fn a_replay_does_not_run_inside_its_own_tasks() {
    let (replay, log) = (Arc::new(Replay::new(1)), Log::new());
    let told = log.clone();
    replay.on_exception(move |exception| told.push(exception.message().to_owned()));
    let inner = Arc::clone(&replay);
    go(&replay.queue(QueueConfig::default()), move || {
        inner.run();
    });
    replay.run();
    let messages = log.take();
    assert!(
        messages[0].starts_with("a replay runs on one thread"),
        "{messages:?}"
    );
}

/// Waits for ever, if asked.
struct Patient;

impl Waiter for Patient {
    fn awaits(&self) -> Option<Awaited> {
        Some(Awaited {
            who: "Patient",
            queue: None,
            parts: Vec::new(),
        })
    }
}

#[test]
fn the_waiting_list_holds_who_waits_in_it_and_on_its_queues() {
    let waiters: [Arc<dyn Waiter>; 3] = [(); 3].map(|()| Arc::new(Patient) as _);
    let [on, inside, outside] = &waiters;
    let replay = Replay::new(1);
    let queue = replay.queue(QueueConfig::default());
    let here = Location::caller();
    queue.watch(Arc::downgrade(on), here);
    let inside = Arc::downgrade(inside);
    go(&queue, move || watch_here(inside, here));
    watch_here(Arc::downgrade(outside), here);
    assert_eq!(replay.waiting().len(), 1);
    replay.run();
    assert_eq!(replay.waiting().len(), 2);
    drop(waiters);
    assert!(replay.waiting().is_empty());
}

#[test]
fn tasks_from_other_threads_are_run() {
    let (replay, log) = (Replay::new(1), Log::new());
    let queue = replay.queue(QueueConfig::default());
    let posters = [0, 1].map(|poster| {
        let (queue, log) = (queue.clone(), log.clone());
        thread::spawn(move || (0..500).for_each(|n| note(&queue, &log, poster * 500 + n)))
    });
    posters
        .into_iter()
        .for_each(|poster| poster.join().unwrap());
    assert_eq!(replay.run(), 1000);
    assert_eq!(log.take_sorted(), (0..1000).collect::<Vec<_>>());
}

#[test]
fn explore_finds_what_only_some_orders_show() {
    let body = |replay: &Replay| {
        let (queue, log) = (replay.queue(QueueConfig::default()), Log::new());
        for act in ["open", "write", "close"] {
            note(&queue, &log, act);
        }
        replay.run();
        assert_eq!(log.take(), ["open", "write", "close"]);
    };
    let found = std::panic::catch_unwind(|| explore(0..100, body)).unwrap_err();
    let report = found.downcast_ref::<String>().unwrap();
    assert!(report.contains("1 are left after"), "{report}");
    assert!(report.contains("MOTET_SEED="), "{report}");
    let one_thread = ReplayConfig {
        threads: 1,
        ..ReplayConfig::default()
    };
    explore_with(&one_thread, 0..100, body);
}
