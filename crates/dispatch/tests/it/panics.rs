//! Panics of tasks.

use crate::support::{Bell, go, hold, note, until, with_queue};
use motet_dispatch::{
    Clock, Dispatcher, DispatcherConfig, DispatcherQueue, Enqueue, Inline, QueueConfig, Task, spawn,
};
use motet_sync::Arc;
use motet_sync::atomic::{AtomicUsize, Ordering};
use motet_testkit::{Drops, Log, patience, within};
use std::io::{Read, stdin};
use std::panic::panic_any;
use std::process::{Command, Stdio};
use std::time::Duration;

#[test]
fn sem_g34_ccr_107_the_handler_of_the_queue_is_told_alone() {
    with_queue(1, |dispatcher, queue| {
        let log = Log::new();
        let (ours, theirs) = (log.clone(), log.clone());
        queue.on_exception(move |e| ours.push(("queue", e.queue().to_owned(), e.to_string())));
        dispatcher
            .on_exception(move |e| theirs.push(("other", e.queue().to_owned(), String::new())));
        go(&queue, || panic!("number {}", 7));
        dispatcher.wait_idle();
        let text = "a handler of queue 'test' panicked: number 7".to_owned();
        assert_eq!(log.take(), [("queue", "test".to_owned(), text)]);
    });
}

#[test]
fn sem_g34_ccr_108_else_the_handler_of_the_dispatcher_is_told_once() {
    with_queue(2, |dispatcher, queue| {
        let log = Log::new();
        let told = log.clone();
        dispatcher.on_exception(move |e| told.push((e.queue().to_owned(), e.message().to_owned())));
        let other = dispatcher.queue(QueueConfig::named("other"));
        go(&queue, || panic!("first"));
        dispatcher.wait_idle();
        go(&other.home(1), || panic!("second"));
        dispatcher.wait_idle();
        let pairs = [("test", "first"), ("other", "second")];
        assert_eq!(log.take(), pairs.map(|(q, m)| (q.to_owned(), m.to_owned())));
    });
}

/// The variable that tells this program that it is the child of
/// [`sem_g34_ccr_109_else_standard_error_is_told`].
const CHILD: &str = "MOTET_TEST_PANIC_CHILD";

#[test]
fn sem_g34_ccr_109_else_standard_error_is_told() {
    if std::env::var_os(CHILD).is_some() {
        return panic_with_nobody_told();
    }
    within(patience(), || {
        let program = std::env::current_exe().unwrap();
        let output = Command::new(program)
            .args([
                "--exact",
                "panics::sem_g34_ccr_109_else_standard_error_is_told",
            ])
            .arg("--nocapture")
            .env(CHILD, "1")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "the worker survived: {said}");
        for (queue, message) in [
            ("test", "unheard"),
            ("here", "inline"),
            ("told", "of handler"),
        ] {
            let line = format!("motet: a handler of queue '{queue}' panicked: {message}");
            assert!(said.contains(&line), "{line} in: {said}");
        }
    });
}

fn panic_with_nobody_told() {
    with_queue(1, |dispatcher, queue| {
        let log = Log::new();
        go(&queue, || panic!("unheard"));
        let told = dispatcher.queue(QueueConfig::named("told"));
        told.on_exception(|_| panic!("of handler"));
        go(&told, || panic!("heard"));
        let inline = Inline::new("here");
        go(&inline, || panic!("inline"));
        note(&queue, &log, ());
        log.wait_for(1);
        dispatcher.wait_idle();
    });
}

/// The variable that tells this program that it is the child of
/// [`sem_g547_a_closed_standard_error_ends_no_thread`].
const CLOSED_CHILD: &str = "MOTET_TEST_CLOSED_STDERR_CHILD";

#[test]
fn sem_g547_a_closed_standard_error_ends_no_thread() {
    if std::env::var_os(CLOSED_CHILD).is_some() {
        return tell_where_nobody_reads();
    }
    within(2 * patience(), || {
        let program = std::env::current_exe().unwrap();
        let mut child = Command::new(program)
            .args([
                "--exact",
                "panics::sem_g547_a_closed_standard_error_ends_no_thread",
            ])
            .arg("--nocapture")
            .env(CLOSED_CHILD, "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stderr.take());
        // The end of its input lets the child begin.
        drop(child.stdin.take());
        assert!(child.wait().unwrap().success());
    });
}

fn tell_where_nobody_reads() {
    within(patience(), || {
        stdin().read_to_end(&mut Vec::new()).unwrap();
        let dispatcher = Dispatcher::with(DispatcherConfig {
            threads: 1,
            stall_limit: Some(Duration::from_millis(1)),
            ..DispatcherConfig::default()
        });
        let dispatcher = dispatcher.unwrap();
        let queue = dispatcher.queue(QueueConfig::named("test"));
        let (stalls, log) = (Log::new(), Log::new());
        let stalled = stalls.clone();
        dispatcher.on_stall(move |_| {
            stalled.push(());
            panic!("of the stall handler");
        });
        go(&queue, || panic!("unheard"));
        note(&queue, &log, "the worker");
        log.wait_for(1);
        let (clock, fired) = (Clock::real(), log.clone());
        clock.after(Duration::ZERO, |_| panic!("of a timer"));
        clock.after(Duration::ZERO, move |_| fired.push("the timers"));
        log.wait_for(2);
        // Who tells of the second stall has told of the first.
        for count in 1..=2 {
            let gate = hold(&queue);
            stalls.wait_for(count);
            gate.open();
        }
    });
}

#[test]
fn sem_g34_panics_kill_no_worker_and_no_queue() {
    with_queue(2, |dispatcher, queue| {
        let told = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&told);
        dispatcher.on_exception(move |_| {
            count.fetch_add(1, Ordering::Relaxed);
        });
        let log = Log::new();
        for n in 0..100 {
            go(&queue, || panic!("again"));
            go(&queue.home(n % 2), || panic!("at home"));
            note(&queue, &log, n);
        }
        dispatcher.wait_idle();
        assert_eq!(told.load(Ordering::Relaxed), 200);
        assert_eq!(log.take_sorted(), (0..100).collect::<Vec<_>>());
        assert_eq!(queue.counters().executed, 300);
        both_workers_live(&dispatcher, &queue);
    });
}

/// Two tasks that each wait for the other.
fn both_workers_live(dispatcher: &Dispatcher, queue: &motet_dispatch::DispatcherQueue) {
    let met = Log::new();
    for worker in 0..2 {
        let met = met.clone();
        go(&queue.home(worker), move || {
            met.push(());
            met.wait_for(2);
        });
    }
    dispatcher.wait_idle();
    assert_eq!(met.len(), 2);
}

#[test]
fn sem_g34_a_handler_that_panics_kills_no_worker() {
    with_queue(1, |dispatcher, queue| {
        let log = Log::new();
        let told = log.clone();
        queue.on_exception(move |e| {
            told.push(e.message().to_owned());
            panic!("the handler of exceptions, too");
        });
        go(&queue, || panic!("one"));
        go(&queue, || panic!("two"));
        dispatcher.wait_idle();
        assert_eq!(log.take(), ["one", "two"]);
    });
}

#[test]
fn sem_g34_a_handler_may_queue_tasks_and_set_handlers() {
    with_queue(1, |dispatcher, queue| {
        let log = Log::new();
        let (inner, seen) = (queue.clone(), log.clone());
        queue.on_exception(move |e| {
            seen.push(e.message().to_owned());
            let later = seen.clone();
            inner.on_exception(move |e| later.push(format!("later: {}", e.message())));
            go(&inner, || panic!("from the handler"));
        });
        go(&queue, || panic!("first"));
        dispatcher.wait_idle();
        assert_eq!(log.take(), ["first", "later: from the handler"]);
        // The handlers hold the queue: let them go.
        queue.on_exception(drop);
    });
}

/// Says something when it is dropped.
struct Loud(Log<&'static str>);

impl Drop for Loud {
    fn drop(&mut self) {
        self.0.push("dropped");
        panic!("the payload panics when it is dropped");
    }
}

/// Sets handlers of its queue when it is dropped.
struct SetsHandlers(DispatcherQueue);

impl Drop for SetsHandlers {
    fn drop(&mut self) {
        self.0.on_exception(|_| ());
        self.0.on_notification(|_| ());
    }
}

#[test]
fn sem_g523_a_handler_that_is_replaced_may_set_handlers_as_it_is_dropped() {
    with_queue(1, |_dispatcher, queue| {
        let held = SetsHandlers(queue.clone());
        queue.on_exception(move |_| {
            let _held = &held;
        });
        queue.on_exception(|_| ());
        let held = SetsHandlers(queue.clone());
        queue.on_notification(move |_| {
            let _held = &held;
        });
        queue.on_notification(|_| ());
    });
}

#[test]
fn sem_g34_a_payload_of_any_type_is_kept_and_may_panic_itself() {
    with_queue(1, |dispatcher, queue| {
        let log = Log::new();
        let told = log.clone();
        queue.on_exception(move |e| {
            assert_eq!(e.message(), "a panic whose payload is not text");
            assert_eq!(e.into_payload().downcast_ref::<u32>(), Some(&17));
            told.push("told");
        });
        go(&queue, || panic_any(17_u32));
        dispatcher.wait_idle();
        assert_eq!(log.take(), ["told"]);
        let (dropped, told) = (log.clone(), log.clone());
        queue.on_exception(move |_| told.push("told"));
        go(&queue, move || panic_any(Loud(dropped)));
        dispatcher.wait_idle();
        assert_eq!(log.take(), ["told", "dropped"]);
        note(&queue, &log, "alive");
        dispatcher.wait_idle();
        assert_eq!(log.take(), ["alive"]);
    });
}

#[test]
fn sem_g34_a_future_that_panics_is_dropped_once_and_told() {
    with_queue(1, |dispatcher, queue| {
        let (log, drops, bell) = (Log::new(), Drops::new(), Bell::default());
        let told = log.clone();
        queue.on_exception(move |e| told.push(e.message().to_owned()));
        let (value, rung) = (drops.make(), bell.rung());
        spawn(&queue.handle(), async move {
            rung.await;
            let _value = value;
            panic!("in the future");
        })
        .unwrap();
        dispatcher.wait_idle();
        bell.wake_in_vain();
        bell.ring();
        dispatcher.wait_idle();
        bell.ring();
        assert_eq!(log.take(), ["in the future"]);
        assert_eq!((drops.made(), drops.dropped()), (1, 1));
    });
}

#[test]
fn sem_g34_an_idle_hook_that_panics_is_told_and_kills_no_worker() {
    with_queue(1, |dispatcher, queue| {
        let (told, ran) = (Log::new(), Log::new());
        let log = told.clone();
        dispatcher.on_exception(move |e| log.push(e.message().to_owned()));
        dispatcher.on_idle(|| panic!("idle hook"));
        note(&queue, &ran, 1);
        dispatcher.wait_idle();
        note(&queue, &ran, 2);
        dispatcher.wait_idle();
        assert_eq!(ran.take(), [1, 2]);
        until(|| !told.is_empty());
        assert!(told.take().iter().all(|message| message == "idle hook"));
    });
}

/// Panics when it is dropped without having run.
struct Fragile(bool);

impl Drop for Fragile {
    fn drop(&mut self) {
        assert!(self.0, "dropped without having run");
    }
}

#[test]
fn sem_g34_a_home_task_that_panics_when_it_is_cleaned_up_is_told() {
    within(patience(), || {
        let dispatcher = Dispatcher::new(1);
        let queue = dispatcher.queue(QueueConfig::named("test"));
        let (log, drops) = (Log::new(), Drops::new());
        let told = log.clone();
        queue.on_exception(move |e| told.push(e.message().to_owned()));
        queue.suspend();
        let (fragile, value) = (Fragile(false), drops.make());
        go(&queue.home(0), move || {
            let mut fragile = fragile;
            fragile.0 = true;
        });
        go(&queue.home(0), move || drop(value));
        assert!(dispatcher.stop().is_empty());
        assert_eq!(log.take(), ["dropped without having run"]);
        assert_eq!(drops.dropped(), 1, "the one behind it was cleaned up, too");
    });
}

#[test]
fn sem_g34_a_refused_task_does_not_count_as_panic() {
    with_queue(1, |dispatcher, queue| {
        let told = Log::new();
        let log = told.clone();
        dispatcher.on_exception(move |e| log.push(e.to_string()));
        let inner = queue.clone();
        let full = dispatcher.queue(QueueConfig::bounded("full", 0));
        go(&queue, move || {
            let refused = full
                .enqueue(Task::new(|| panic!("never runs")))
                .unwrap_err();
            inner.enqueue(refused.task).unwrap();
        });
        dispatcher.wait_idle();
        let text = "a handler of queue 'test' panicked: never runs";
        assert_eq!(
            told.take(),
            [text],
            "it ran on the queue that took it at last"
        );
    });
}
