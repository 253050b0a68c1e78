//! Async tasks that look for a while before they sleep.

use crate::support::{go, note, until, with_queue};
use motet_dispatch::{
    Advice, Dispatcher, DispatcherConfig, DispatcherQueue, Enqueue, Inline, QueueConfig, SpinWait,
    spawn, spawn_here,
};
use motet_sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use motet_sync::{Arc, Mutex, thread};
use motet_testkit::{Log, patience, within};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// A flag that tasks wait for by looking, then by sleeping.
#[derive(Default)]
struct Flag {
    set: AtomicBool,
    slept: AtomicUsize,
    wakers: Mutex<Vec<Waker>>,
}

impl Flag {
    fn is_set(&self) -> bool {
        self.set.load(Ordering::Acquire)
    }

    fn set(&self) {
        self.set.store(true, Ordering::Release);
        std::mem::take(&mut *self.wakers.lock())
            .into_iter()
            .for_each(Waker::wake);
    }

    fn poll(&self, spin: &mut SpinWait, cx: &Context<'_>) -> Poll<()> {
        match spin.wait(cx, || self.is_set()) {
            Advice::Ready => Poll::Ready(()),
            Advice::Again => Poll::Pending,
            Advice::Sleep => {
                self.slept.fetch_add(1, Ordering::Relaxed);
                self.wakers.lock().push(cx.waker().clone());
                if self.is_set() {
                    Poll::Ready(())
                } else {
                    Poll::Pending
                }
            }
        }
    }

    async fn wait(&self) {
        let mut spin = SpinWait::new();
        std::future::poll_fn(|cx| self.poll(&mut spin, cx)).await;
    }
}

/// A ring of tasks, each of which waits for the one before and lets the next one go.
fn ring(queue: &DispatcherQueue, workers: usize, tasks: usize) -> Vec<Arc<Flag>> {
    let flags: Vec<_> = (0..=tasks).map(|_| Arc::new(Flag::default())).collect();
    for n in 0..tasks {
        let (before, after) = (Arc::clone(&flags[n]), Arc::clone(&flags[n + 1]));
        spawn(&queue.home(n % workers).handle(), async move {
            before.wait().await;
            after.set();
        })
        .unwrap();
    }
    flags
}

#[test]
fn a_task_looks_for_as_long_as_waking_it_costs() {
    let waits = |wake_cost| {
        let dispatcher = Dispatcher::with(DispatcherConfig {
            threads: 1,
            wake_cost,
            ..DispatcherConfig::default()
        });
        let dispatcher = dispatcher.unwrap();
        let queue = dispatcher.queue(QueueConfig::named("test"));
        let flags = ring(&queue, 1, 1);
        let slept = || flags[0].slept.load(Ordering::Relaxed);
        match wake_cost {
            Duration::ZERO => until(|| slept() == 1),
            _ => thread::park_timeout(Duration::from_millis(5)),
        }
        let times = slept();
        flags[0].set();
        until(|| flags[1].is_set());
        times
    };
    within(patience(), move || {
        assert_eq!(waits(Duration::ZERO), 1);
        // Far longer than this test. A wait on a thread that loses its core sleeps earlier.
        let dear = Duration::from_secs(4);
        assert!((0..200).any(|_| waits(dear) == 0));
    });
}

#[test]
fn tasks_that_wait_for_each_other_all_end() {
    for (workers, tasks) in [(1, 2), (1, 100), (2, 2), (2, 101), (4, 64)] {
        with_queue(workers, move |dispatcher, queue| {
            for _ in 0..20 {
                let flags = ring(&queue, workers, tasks);
                flags[0].set();
                until(|| flags[tasks].is_set());
            }
            dispatcher.wait_idle();
            assert_eq!(queue.counters().pending(), 0);
        });
    }
}

#[test]
fn a_task_that_looks_lets_the_others_of_its_worker_run() {
    with_queue(1, |dispatcher, queue| {
        let (flag, log) = (Arc::new(Flag::default()), Log::new());
        let waited = Arc::clone(&flag);
        spawn(&queue.handle(), async move { waited.wait().await }).unwrap();
        let (inner, seen) = (queue.clone(), log.clone());
        go(&queue, move || {
            note(&inner, &seen, 1);
            go(&inner, move || flag.set());
        });
        dispatcher.wait_idle();
        assert_eq!(log.take(), [1]);
        assert_eq!(queue.counters().pending(), 0);
    });
}

#[test]
fn a_wait_that_lasts_ends_in_sleep() {
    with_queue(1, |dispatcher, queue| {
        let flag = Arc::new(Flag::default());
        let waited = Arc::clone(&flag);
        spawn(&queue.handle(), async move { waited.wait().await }).unwrap();
        dispatcher.wait_idle();
        assert_eq!(flag.slept.load(Ordering::Relaxed), 1);
        let setter = Arc::clone(&flag);
        thread::spawn(move || setter.set()).join().unwrap();
        dispatcher.wait_idle();
        assert_eq!(queue.counters().pending(), 0);
        assert_eq!(Arc::strong_count(&flag), 1, "the task has ended");
    });
}

#[test]
fn outside_a_worker_a_wait_sleeps_at_once() {
    let flag = Arc::new(Flag::default());
    let waited = Arc::clone(&flag);
    spawn(
        &Inline::new("here").handle(),
        async move { waited.wait().await },
    )
    .unwrap();
    assert_eq!(flag.slept.load(Ordering::Relaxed), 1);
    flag.set();
    assert_eq!(Arc::strong_count(&flag), 1);
}

/// Polls `first`, then does something once, while the task has been promised another turn.
async fn wait_and(flag: Arc<Flag>, between: impl FnOnce()) {
    let (mut spin, mut between) = (SpinWait::new(), Some(between));
    std::future::poll_fn(|cx| {
        let polled = flag.poll(&mut spin, cx);
        if let Some(between) = between.take() {
            between();
        }
        polled
    })
    .await;
}

/// The turn that a task has been promised is its own, whatever it polls inside its poll.
#[test]
fn a_poll_inside_a_poll_does_not_take_its_turn() {
    for inside in ["inline", "here", "panic"] {
        with_queue(1, move |dispatcher, queue| {
            let (flag, log) = (Arc::new(Flag::default()), Log::new());
            let (waited, done, inner) = (Arc::clone(&flag), log.clone(), queue.clone());
            let between = move || match inside {
                "inline" => spawn(&Inline::new("inside").handle(), async {}).unwrap(),
                "here" => spawn_here(&inner.handle(), async {}),
                _ => spawn(&Inline::new("inside").handle(), async { panic!("inside") }).unwrap(),
            };
            spawn(&queue.handle(), async move {
                wait_and(waited, between).await;
                done.push(inside);
            })
            .unwrap();
            dispatcher.wait_idle();
            flag.set();
            dispatcher.wait_idle();
            assert_eq!(log.take(), [inside], "the task was lost");
        });
    }
}

/// The same with a task inside that waits, too.
#[test]
fn two_waits_inside_each_other_both_end() {
    with_queue(1, |dispatcher, queue| {
        let (outer, inner, log) = (
            Arc::new(Flag::default()),
            Arc::new(Flag::default()),
            Log::new(),
        );
        let (waited, inside, place) = (Arc::clone(&outer), Arc::clone(&inner), queue.clone());
        let (done, also) = (log.clone(), log.clone());
        spawn(&queue.handle(), async move {
            wait_and(waited, move || {
                spawn_here(&place.handle(), async move {
                    inside.wait().await;
                    also.push("inner");
                });
            })
            .await;
            done.push("outer");
        })
        .unwrap();
        dispatcher.wait_idle();
        inner.set();
        dispatcher.wait_idle();
        outer.set();
        dispatcher.wait_idle();
        assert_eq!(log.take(), ["inner", "outer"]);
    });
}
