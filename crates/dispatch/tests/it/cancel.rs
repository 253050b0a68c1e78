//! Causalities that are cancelled, or past their deadline: who learns of it, and what does not
//! start.

use crate::support::{Traces, go, hold, pause, with_queue};
use motet_dispatch::{
    Cancelled, Causality, Enqueue, Inline, QueueConfig, Replay, Task, spawn, timer,
};
use motet_sync::Arc;
use motet_testkit::{Drops, Gate, Log};
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

fn poll_once<F: Future>(future: F) -> Poll<F::Output> {
    pin!(future).poll(&mut Context::from_waker(Waker::noop()))
}

#[test]
fn sem_g64_check_says_why_and_cancelling_the_outer_cancels_the_inner() {
    let outer = Causality::new("outer");
    let inner = outer.run(|| Causality::new("inner"));
    let unrelated = Causality::new("unrelated");
    inner.run(|| {
        assert_eq!(Causality::check(), Ok(()));
        assert!(outer.cancel("no longer wanted"));
        let why = Cancelled::Asked {
            causality: "outer".to_owned(),
            reason: "no longer wanted".to_owned(),
        };
        assert_eq!(Causality::check(), Err(why.clone()));
        assert_eq!(inner.cancellation(), Some(why));
    });
    assert!(!outer.cancel("again"), "once");
    assert!(inner.is_cancelled() && !unrelated.is_cancelled());
    assert_eq!(Causality::check(), Ok(()), "only inside");
}

#[test]
fn sem_g64_work_that_spreads_after_the_cancel_knows_of_it() {
    let (queue, log) = (Inline::new("here"), Log::new());
    let it = Causality::new("it");
    let seen = log.clone();
    it.run(|| {
        it.cancel("enough");
        go(&queue, move || seen.push(Causality::check().is_err()));
    });
    assert_eq!(log.take(), [true]);
}

#[test]
fn sem_g64_a_deadline_cancels() {
    let (now, hour) = (Instant::now(), Duration::from_secs(3600));
    let late = Causality::new("late").with_deadline(now);
    let early = Causality::new("early").with_deadline(now + hour);
    let why = Cancelled::Deadline {
        causality: "late".to_owned(),
    };
    assert_eq!(late.run(Causality::check), Err(why));
    assert!(late.is_cancelled() && !early.is_cancelled());
    assert!(!late.cancel("too late"), "the deadline came first");
    assert_eq!(early.run(Causality::check), Ok(()));
    assert!(early.cancel("by hand"));
}

#[test]
fn sem_g64_waits_are_woken_by_cancel_and_by_the_deadline() {
    with_queue(2, |dispatcher, queue| {
        let log = Log::new();
        let outer = Causality::new("outer");
        let inner = outer.run(|| Causality::new("inner"));
        let soon = Instant::now() + Duration::from_millis(5);
        let timed = Causality::new("timed").with_deadline(soon);
        for causality in [&inner, &timed] {
            let (seen, waits) = (log.clone(), causality.cancelled());
            let future = async move { seen.push(waits.await.to_string()) };
            spawn(&queue.handle(), future).unwrap();
        }
        dispatcher.wait_idle();
        outer.cancel("enough");
        log.wait_for(2);
        assert_eq!(
            log.take_sorted(),
            [
                "causality 'outer' was cancelled (enough): stop its work",
                "the deadline of causality 'timed' has passed: stop its work",
            ]
        );
    });
}

#[test]
fn sem_g64_a_deadline_in_virtual_time_ends_a_wait_then() {
    let replay = Replay::new(1);
    let queue = replay.queue(QueueConfig::named("virtual"));
    let (log, clock) = (Log::new(), replay.clock());
    let hour = Duration::from_secs(3600);
    let deadline = clock.now() + hour;
    let it = Causality::new("it").with_deadline_of(&clock, deadline);
    let (seen, now) = (log.clone(), clock);
    let waits = async move {
        let why = Causality::unless_cancelled(std::future::pending::<()>()).await;
        seen.push((why.is_err(), now.now()));
    };
    it.run(|| spawn(&queue.handle(), waits)).unwrap();
    let (given_up, other) = (it.cancelled(), replay.queue(QueueConfig::default()));
    spawn(&other.handle(), async move {
        let mut given_up = given_up;
        let mut first = pin!(&mut given_up);
        let poll = poll_fn(|cx| Poll::Ready(first.as_mut().poll(cx).is_pending()));
        assert!(poll.await);
    })
    .unwrap();
    replay.run_for(hour / 2);
    assert!(log.is_empty() && !it.is_cancelled());
    assert_eq!(
        replay.timers(),
        1,
        "the wait that was given up has no timer"
    );
    replay.run();
    assert_eq!(log.take(), [(true, deadline)]);
}

#[test]
fn sem_g64_of_a_future_and_a_cancel_the_future_wins() {
    let it = Causality::new("it");
    it.cancel("enough");
    let both = it.wrap(Causality::unless_cancelled(async { 7 }));
    assert_eq!(poll_once(both), Poll::Ready(Ok(7)));
    let never = it.wrap(Causality::unless_cancelled(std::future::pending::<()>()));
    assert!(matches!(poll_once(never), Poll::Ready(Err(_))));
    let wanted = Causality::unless_cancelled(std::future::pending::<()>());
    assert!(poll_once(wanted).is_pending());
}

#[test]
fn sem_g64_waits_that_are_given_up_leave_nothing_behind() {
    let it = Causality::new("it");
    for _ in 0..1000 {
        let waker = Waker::noop();
        let mut waits = pin!(it.cancelled());
        assert!(
            waits
                .as_mut()
                .poll(&mut Context::from_waker(waker))
                .is_pending()
        );
    }
    let counted = Arc::new(Counted);
    {
        let waker = Waker::from(Arc::clone(&counted));
        let mut waits = pin!(it.cancelled());
        assert!(
            waits
                .as_mut()
                .poll(&mut Context::from_waker(&waker))
                .is_pending()
        );
        assert!(Arc::strong_count(&counted) > 2);
    }
    assert_eq!(Arc::strong_count(&counted), 1);
    let waker = Waker::from(Arc::clone(&counted));
    let mut waits = pin!(it.cancelled());
    assert!(
        waits
            .as_mut()
            .poll(&mut Context::from_waker(&waker))
            .is_pending()
    );
    it.end();
    drop(waker);
    assert_eq!(
        Arc::strong_count(&counted),
        1,
        "what has ended wakes nobody"
    );
}

struct Counted;

impl std::task::Wake for Counted {
    fn wake(self: Arc<Self>) {}
}

/// Waits and cancels on many threads: every wait ends.
#[test]
fn sem_g64_every_wait_ends_whenever_the_cancel_comes() {
    with_queue(4, |dispatcher, queue| {
        for round in 0..200 {
            let (it, ended) = (Causality::new("it"), Log::new());
            for _ in 0..8 {
                let (waits, seen) = (it.cancelled(), ended.clone());
                let future = async move {
                    let _why = waits.await;
                    seen.push(());
                };
                spawn(&queue.handle(), future).unwrap();
            }
            if round % 2 == 0 {
                dispatcher.wait_idle();
            }
            it.cancel("enough");
            ended.wait_for(8);
        }
    });
}

#[test]
fn sem_g65_tasks_that_have_not_started_do_not_run_when_asked_for() {
    with_queue(1, |dispatcher, queue| {
        let traces = Traces::new();
        let (drops, gate) = (Drops::new(), hold(&queue));
        let skipping = Causality::new("skipping").skipping_unstarted();
        let inside = skipping.run(|| Causality::new("inside"));
        let running = Causality::new("running");
        for causality in [&skipping, &inside, &running] {
            let task = causality.run(|| traces.task(causality.name().to_owned()));
            queue.enqueue(task).unwrap();
        }
        let dropped = drops.make();
        let future = async move {
            drop(dropped);
            panic!("it has not started");
        };
        skipping.run(|| spawn(&queue.handle(), future).unwrap());
        skipping.cancel("enough");
        running.cancel("enough");
        gate.open();
        dispatcher.wait_idle();
        assert_eq!(traces.ran.take(), ["running"]);
        assert!(traces.cleaned.is_empty(), "they are dropped");
        assert_eq!(drops.dropped(), 1);
    });
}

#[test]
fn sem_g65_a_future_that_has_started_goes_on() {
    with_queue(1, |dispatcher, queue| {
        let (log, gate) = (Log::new(), Gate::new());
        let it = Causality::new("it").skipping_unstarted();
        let (seen, passes) = (log.clone(), gate.clone());
        let future = async move {
            passes.pass();
            pause().await;
            seen.push(Causality::check().is_err());
        };
        it.run(|| spawn(&queue.handle(), future).unwrap());
        gate.wait_for(1);
        it.cancel("enough");
        gate.open();
        dispatcher.wait_idle();
        assert_eq!(log.take(), [true]);
    });
}

/// A waker that notes that it was called, and panics.
struct Breaks(&'static str, Log<&'static str>);

impl Wake for Breaks {
    fn wake(self: Arc<Self>) {
        self.1.push(self.0);
        panic!("{} breaks", self.0);
    }
}

#[test]
fn sem_g535_a_waker_that_panics_leaves_no_other_wait_asleep() {
    let (it, log) = (Causality::new("it"), Log::new());
    let names = ["first", "second", "third"];
    let mut waits = names.map(|_| it.cancelled());
    for (wait, name) in waits.iter_mut().zip(names) {
        let waker = Waker::from(Arc::new(Breaks(name, log.clone())));
        assert!(
            pin!(wait)
                .poll(&mut Context::from_waker(&waker))
                .is_pending()
        );
    }
    let told = catch_unwind(AssertUnwindSafe(|| it.cancel("enough"))).unwrap_err();
    assert_eq!(told.downcast_ref::<String>().unwrap(), "first breaks");
    assert_eq!(log.take(), names);
    assert!(it.is_cancelled() && !it.cancel("again"));
}

#[test]
fn sem_g65_timers_fire_and_what_they_queue_is_skipped() {
    let replay = Replay::new(1);
    let queue = replay.queue(QueueConfig::named("virtual"));
    let (log, traces) = (Log::new(), Traces::new());
    let it = Causality::new("it").skipping_unstarted();
    let second = Duration::from_secs(1);
    let rings = log.clone();
    it.run(|| {
        replay.clock().after(second, move |_| rings.push("it rang"));
        let task = traces.task("a task of a timer");
        timer::after(&queue, second, task);
    });
    it.cancel("enough");
    replay.run();
    assert_eq!(log.take(), ["it rang"]);
    assert!(traces.ran.is_empty());
}

#[test]
fn sem_g60_sem_g62_a_replay_runs_tasks_under_their_causalities_too() {
    let replay = Replay::new(7);
    let queue = replay.queue(QueueConfig::named("virtual"));
    let log = Log::new();
    let (seen, heard, onward) = (log.clone(), log.clone(), queue.clone());
    let it = Causality::new("it").on_exception(move |exception| {
        heard.push(exception.message().to_owned());
        Ok(())
    });
    let later = move || {
        seen.push(Causality::active()[0].name().to_owned());
        let panics = Task::new(|| panic!("out of tune"));
        timer::after(&onward, Duration::from_secs(1), panics);
    };
    it.run(|| go(&queue, later));
    replay.run();
    assert_eq!(log.take(), ["it", "out of tune"]);
    assert!(Causality::active().is_empty());
}
