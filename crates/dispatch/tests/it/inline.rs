//! The queue without a dispatcher.

use crate::support::{Bell, go, here, note, with_queue};
use motet_dispatch::{Enqueue, Inline, Task, as_task, inside_task, spawn, spawn_here};
use motet_sync::thread;
use motet_testkit::{Drops, Log, Overlap};
use std::panic::{AssertUnwindSafe, catch_unwind};

#[test]
fn sem_g44_tasks_run_before_enqueue_returns_on_the_same_thread() {
    let (inline, log) = (Inline::new("here"), Log::new());
    let (seen, name) = (log.clone(), here());
    go(&inline, move || seen.push(here() == name));
    assert_eq!(log.take(), [true]);
}

#[test]
fn sem_g44_nested_tasks_run_later_in_order_never_inside() {
    fn grow(inline: &Inline, log: &Log<u32>, overlap: &Overlap, number: u32) {
        let (inner, log, overlap) = (inline.clone(), log.clone(), overlap.clone());
        go(inline, move || {
            overlap.clone().during(|| {
                log.push(number);
                if number < 8 {
                    grow(&inner, &log, &overlap, number * 2);
                    grow(&inner, &log, &overlap, number * 2 + 1);
                }
            });
        });
    }
    let (inline, log, overlap) = (Inline::new("here"), Log::new(), Overlap::new());
    grow(&inline, &log, &overlap, 1);
    assert_eq!(log.take(), (1..16).collect::<Vec<_>>(), "breadth first");
    assert_eq!(overlap.most(), 1);
}

#[test]
fn sem_g44_a_long_chain_does_not_grow_the_stack() {
    fn chain(inline: Inline, left: u32) {
        if left > 0 {
            go(&inline.clone(), move || chain(inline, left - 1));
        }
    }
    chain(Inline::new("here"), 200_000);
}

#[test]
fn sem_g44_what_is_done_as_a_task_has_what_it_queues_run_after_it_also_when_it_panics() {
    let (inline, log) = (Inline::new("here"), Log::new());
    let work = |panics: bool| {
        as_task(|| {
            note(&inline, &log, "queued");
            as_task(|| note(&inline, &log, "queued within"));
            log.push("done");
            assert!(!panics, "as it should");
        });
    };
    let all = ["done", "queued", "queued within"];
    work(false);
    assert_eq!(log.take(), all);
    assert!(catch_unwind(AssertUnwindSafe(|| work(true))).is_err());
    assert_eq!(log.take(), all);
    assert!(!inside_task());
}

#[test]
fn sem_g44_two_inline_queues_of_one_thread_share_the_order() {
    let (a, b, log) = (Inline::new("a"), Inline::new("b"), Log::new());
    let (inner, seen) = ([a.clone(), b], log.clone());
    go(&a, move || {
        for n in 0..6 {
            note(&inner[n % 2], &seen, n);
        }
        seen.push(100);
    });
    assert_eq!(log.take(), [100, 0, 1, 2, 3, 4, 5]);
}

#[test]
fn sem_g44_each_thread_runs_its_own() {
    let (inline, log) = (Inline::new("shared"), Log::new());
    let (inner, seen) = (inline.clone(), log.clone());
    go(&inline, move || {
        let (queue, log) = (inner, seen.clone());
        let other = thread::spawn(move || note(&queue, &log, "other thread"));
        other.join().unwrap();
        seen.push("this thread");
    });
    assert_eq!(log.take(), ["other thread", "this thread"]);
}

#[test]
fn sem_g44_a_panic_is_told_and_the_rest_runs() {
    let (inline, log) = (Inline::new("here"), Log::new());
    let told = log.clone();
    inline.on_exception(move |e| {
        told.push(format!("{} in {}", e.message(), e.queue()));
        panic!("and the handler, too");
    });
    let (inner, seen) = (inline.clone(), log.clone());
    go(&inline, move || {
        note(&inner, &seen, "after".to_owned());
        panic!("first");
    });
    assert_eq!(log.take(), ["first in here", "after"]);
    note(&inline, &log, "again".to_owned());
    assert_eq!(log.take(), ["again"]);
}

#[test]
fn sem_g44_inline_tasks_within_a_worker_run_within_its_task() {
    with_queue(1, |dispatcher, queue| {
        let (inline, log) = (Inline::new("here"), Log::new());
        let seen = log.clone();
        go(&queue, move || {
            note(&inline, &seen, "inline");
            seen.push("after");
        });
        dispatcher.wait_idle();
        assert_eq!(log.take(), ["inline", "after"]);
    });
}

#[test]
fn sem_g44_futures_are_polled_by_whoever_wakes_them() {
    let (inline, bell, log) = (Inline::new("here"), Bell::default(), Log::new());
    let (rung, seen) = (bell.rung(), log.clone());
    spawn(&inline.handle(), async move {
        seen.push(here());
        rung.await;
        seen.push(here());
    })
    .unwrap();
    let ringer = thread::spawn_named("ringer", move || bell.ring()).unwrap();
    ringer.join().unwrap();
    assert_eq!(log.take(), [here(), "ringer".to_owned()]);
}

#[test]
fn sem_g44_a_future_that_wakes_itself_is_polled_again_not_inside() {
    let (inline, log) = (Inline::new("here"), Log::new());
    let seen = log.clone();
    let mut polls = 0;
    let future = std::future::poll_fn(move |cx| {
        polls += 1;
        seen.push(polls);
        cx.waker().wake_by_ref();
        if polls < 4 {
            std::task::Poll::Pending
        } else {
            std::task::Poll::Ready(())
        }
    });
    spawn_here(&inline.handle(), future);
    assert_eq!(log.take(), [1, 2, 3, 4]);
}

#[test]
fn sem_g44_abandoned_futures_are_dropped_at_once() {
    let (inline, bell, drops) = (Inline::new("here"), Bell::default(), Drops::new());
    let (rung, value) = (bell.rung(), drops.make());
    spawn(&inline.handle(), async move {
        rung.await;
        drop(value);
    })
    .unwrap();
    assert_eq!(drops.dropped(), 0);
    bell.abandon();
    assert_eq!(drops.dropped(), 1);
}

#[test]
fn inline_is_never_full() {
    let inline = Inline::new("here");
    assert_eq!((inline.reserve(), inline.name()), (Ok(()), "here"));
    let task = inline.admit_here(Task::new(|| ())).unwrap_err();
    inline.admit(task);
}
