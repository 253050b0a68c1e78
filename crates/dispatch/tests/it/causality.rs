//! Causalities of tasks: how they flow, and who hears of panics.

use crate::support::{go, pause, with_queue};
use motet_dispatch::{
    Causalities, Causality, Dispatcher, Enqueue, Exception, Inline, QueueConfig, Task, spawn,
};
use motet_testkit::{Drops, Log, patience, within};
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::{Context, Waker};

/// The names of the active causalities, innermost first.
fn active() -> Vec<String> {
    names(&Causalities::active())
}

fn names(causalities: &Causalities) -> Vec<String> {
    causalities.iter().map(|c| c.name().to_owned()).collect()
}

/// A causality that writes its name and the panic's message into `log`.
fn hearing(name: &'static str, log: &Log<(&'static str, String)>) -> Causality {
    let log = log.clone();
    Causality::new(name).on_exception(move |exception| {
        assert_eq!(exception.causality(), Some(name));
        log.push((name, exception.message().to_owned()));
        Ok(())
    })
}

fn told(by: &'static str, message: &str) -> (&'static str, String) {
    (by, message.to_owned())
}

#[test]
fn sem_g60_tasks_run_under_what_was_active_when_they_were_made() {
    with_queue(2, |dispatcher, queue| {
        let log = Log::new();
        let (outer, inner) = (Causality::new("outer"), Causality::new("inner"));
        let (first, second) = (log.clone(), log.clone());
        let onward = queue.clone();
        let task = outer.run(|| {
            inner.run(|| {
                Task::new(move || {
                    first.push(active());
                    go(&onward, move || second.push(active()));
                })
            })
        });
        assert!(active().is_empty(), "the scopes have been left");
        Causality::new("where it is queued does not matter").run(|| queue.enqueue(task).unwrap());
        dispatcher.wait_idle();
        go(&queue, {
            let log = log.clone();
            move || log.push(active())
        });
        dispatcher.wait_idle();
        let both = vec!["inner".to_owned(), "outer".to_owned()];
        assert_eq!(log.take(), [both.clone(), both, vec![]]);
    });
}

#[test]
fn sem_g60_the_callers_causalities_are_active_again_after_an_inline_task() {
    let queue = Inline::new("here");
    let task =
        Causality::new("the task's").run(|| Task::new(|| assert_eq!(active(), ["the task's"])));
    let panics = Causality::new("the task's").run(|| Task::new(|| panic!("out of tune")));
    queue.on_exception(|_| ());
    Causality::new("the caller's").run(|| {
        queue.enqueue(task).unwrap();
        assert_eq!(active(), ["the caller's"]);
        queue.enqueue(panics).unwrap();
        assert_eq!(active(), ["the caller's"], "also after a panic");
    });
}

#[test]
fn sem_g60_a_future_keeps_its_causalities_from_poll_to_poll() {
    with_queue(2, |dispatcher, queue| {
        let log = Log::new();
        for name in ["a", "b", "c"] {
            let seen = log.clone();
            let future = async move {
                for _ in 0..50 {
                    pause().await;
                    assert_eq!(active(), [name]);
                }
                seen.push(name);
            };
            Causality::new(name).run(|| spawn(&queue.handle(), future).unwrap());
        }
        dispatcher.wait_idle();
        assert_eq!(log.take_sorted(), ["a", "b", "c"]);
    });
}

#[test]
fn sem_g60_a_causality_that_a_future_adds_stays_to_its_end() {
    with_queue(1, |dispatcher, queue| {
        let log = Log::new();
        let (here, there) = (log.clone(), log.clone());
        let added = Causality::new("added").run(Causalities::active);
        let adds = async move {
            added.add();
            pause().await;
            here.push(active());
        };
        let handle = queue.handle();
        spawn(&handle, adds).unwrap();
        spawn(&handle, async move {
            pause().await;
            there.push(active());
        })
        .unwrap();
        dispatcher.wait_idle();
        assert_eq!(log.take_sorted(), [vec![], vec!["added".to_owned()]]);
    });
}

#[test]
fn sem_g61_a_union_holds_each_causality_once() {
    let (root, one, two) = (
        Causality::new("root"),
        Causality::new("one"),
        Causality::new("two"),
    );
    let under = |inner: &Causality| root.run(|| inner.run(Causalities::active));
    let (first, second) = (under(&one), under(&two));
    assert_eq!(names(&first.union(&second)), ["one", "root", "two"]);
    assert_eq!(names(&first.union(&first)), ["one", "root"]);
    assert_eq!(
        names(&first.union(&under(&one))),
        ["one", "root"],
        "made anew"
    );
    assert_eq!(names(&first.union(&Causalities::none())), ["one", "root"]);
    assert_eq!(names(&Causalities::none().union(&second)), ["two", "root"]);
    let thrice = first.union(&second).union(&first);
    assert_eq!(thrice.iter().count(), 3);
}

#[test]
fn sem_g61_what_has_ended_is_not_passed_on() {
    let (root, middle, leaf) = (
        Causality::new("root"),
        Causality::new("middle"),
        Causality::new("leaf"),
    );
    let inside = || {
        let captured = Causalities::active();
        middle.end();
        assert_eq!(active(), ["leaf", "root"]);
        assert_eq!(names(&captured.union(&captured)), ["leaf", "root"]);
        leaf.end();
        assert_eq!(active(), ["root"]);
        root.end();
        assert!(Causalities::active().is_empty());
        assert!(root.run(Causalities::active).is_empty(), "nor entered");
    };
    root.run(|| middle.run(|| leaf.run(inside)));
}

#[test]
fn sem_g61_in_a_union_the_cancelled_give_way_to_those_who_still_want_the_work() {
    let (root, gone, wanted) = (
        Causality::new("root"),
        Causality::new("gone"),
        Causality::new("wanted"),
    );
    let cancelled = root.run(|| gone.run(Causalities::active));
    let live = wanted.run(Causalities::active);
    gone.cancel("enough");
    assert_eq!(names(&live.union(&cancelled)), ["wanted", "root"]);
    assert_eq!(names(&cancelled.union(&live)), ["root", "wanted"]);
    let alone = cancelled.union(&Causalities::none());
    assert!(alone.check().is_err(), "nobody else wants it");
    wanted.cancel("enough");
    let both = live.union(&cancelled);
    assert!(both.check().is_err());
    assert_eq!(names(&both), ["wanted", "root"], "one stands for all");
}

#[test]
fn sem_g61_ccr_119_rounds_of_scopes_do_not_grow_when_they_end() {
    let mut carried = Causalities::none();
    let drops = Drops::new();
    for round in 0..100_000_u32 {
        let dropped = drops.make();
        let causality = Causality::new("round").with_coordination(dropped);
        carried = carried.run(|| causality.run(Causalities::active));
        if round % 2 == 0 {
            causality.end();
        } else {
            causality.cancel("enough");
        }
        assert!(carried.iter().count() <= 2);
        assert!(
            drops.made() - drops.dropped() <= 4,
            "nothing keeps those that have gone"
        );
    }
}

#[test]
fn sem_g62_ccr_113_a_panic_of_a_spawned_task_goes_to_the_causality_alone() {
    with_queue(2, |dispatcher, queue| {
        let log = Log::new();
        let global = Log::new();
        let (ours, theirs) = (global.clone(), global.clone());
        queue.on_exception(move |exception| ours.push(exception.to_string()));
        dispatcher.on_exception(move |exception| theirs.push(exception.to_string()));
        let onward = queue.clone();
        hearing("it", &log).run(|| go(&queue, move || go(&onward, || panic!("out of tune"))));
        dispatcher.wait_idle();
        assert_eq!(log.take(), [told("it", "out of tune")]);
        assert!(global.is_empty());
    });
}

#[test]
fn sem_g62_ccr_114_ccr_115_the_innermost_hears_and_its_own_panic_goes_outwards() {
    let (queue, log) = (Inline::new("here"), Log::new());
    let outer = hearing("outer", &log);
    outer.run(|| {
        hearing("inner", &log).run(|| go(&queue, || panic!("first")));
        assert_eq!(log.take(), [told("inner", "first")]);
        let fails = Causality::new("fails").on_exception(|_| panic!("second"));
        fails.run(|| go(&queue, || panic!("first")));
        assert_eq!(log.take(), [told("outer", "second")]);
        let hands_on = Causality::new("hands on").on_exception(Err);
        hands_on.run(|| go(&queue, || panic!("first")));
        assert_eq!(log.take(), [told("outer", "first")]);
        let deaf = Causality::new("deaf");
        deaf.run(|| go(&queue, || panic!("first")));
        assert_eq!(log.take(), [told("outer", "first")]);
    });
}

#[test]
fn sem_g62_when_every_causality_hands_on_the_queue_hears() {
    let (queue, log) = (Inline::new("here"), Log::new());
    let heard = log.clone();
    queue.on_exception(move |e| heard.push((e.causality().map(str::to_owned), e.to_string())));
    let outer = Causality::new("outer").on_exception(|_| panic!("a second one"));
    outer.run(|| {
        let inner = Causality::new("inner").on_exception(Err);
        inner.run(|| go(&queue, || panic!("a first one")));
    });
    let text = "a handler of queue 'here' panicked: a second one".to_owned();
    assert_eq!(log.take(), [(None, text)]);
}

#[test]
fn sem_g62_a_scope_inside_the_handler_counts_where_the_panic_began() {
    let (queue, log) = (Inline::new("here"), Log::new());
    let (outer, inner) = (hearing("outer", &log), hearing("inner", &log));
    let within = inner.clone();
    outer.run(|| go(&queue, move || within.run(|| panic!("first"))));
    assert_eq!(log.take(), [told("inner", "first")]);
    let within = inner.clone();
    outer.run(|| {
        go(&queue, move || {
            let caught = catch_unwind(AssertUnwindSafe(|| within.run(|| panic!("caught"))));
            assert!(caught.is_err());
            Causality::new("another scope").run(|| ());
            panic!("after it");
        });
    });
    assert_eq!(
        log.take(),
        [told("outer", "after it")],
        "a panic that was caught is over"
    );
    let future = inner.wrap(async {
        pause().await;
        panic!("in a future");
    });
    outer.run(|| spawn(&queue.handle(), future).unwrap());
    assert_eq!(log.take(), [told("inner", "in a future")]);
}

#[test]
fn sem_g62_a_panic_that_a_task_caught_does_not_mislead_the_next_one() {
    let (queue, log) = (Inline::new("here"), Log::new());
    let heard = log.clone();
    queue.on_exception(move |e| heard.push(("queue", e.message().to_owned())));
    let inner = hearing("inner", &log);
    go(&queue, move || {
        let _caught = catch_unwind(AssertUnwindSafe(|| inner.run(|| panic!("caught"))));
    });
    go(&queue, || panic!("the next"));
    assert_eq!(log.take(), [told("queue", "the next")]);
}

#[test]
fn sem_g62_ccr_116_after_clear_the_queue_hears() {
    let (queue, log) = (Inline::new("here"), Log::new());
    let heard = log.clone();
    queue.on_exception(move |e| heard.push(("queue", e.message().to_owned())));
    hearing("it", &log).run(|| {
        go(&queue, || {
            Causality::clear();
            panic!("cleared");
        });
        assert_eq!(active(), ["it"], "only for that handler");
        go(&queue, || panic!("kept"));
    });
    assert_eq!(log.take(), [told("queue", "cleared"), told("it", "kept")]);
}

#[test]
fn sem_g62_ccr_117_each_fork_that_fails_is_heard_of() {
    with_queue(4, |dispatcher, queue| {
        let log = Log::new();
        hearing("it", &log).run(|| {
            for message in ["a", "b", "c"] {
                go(&queue, move || panic!("{message}"));
            }
        });
        dispatcher.wait_idle();
        assert_eq!(
            log.take_sorted(),
            ["a", "b", "c"].map(|message| told("it", message))
        );
    });
}

#[test]
fn sem_g62_in_a_union_each_innermost_hears_once_and_the_first_gets_the_payload() {
    let (queue, log, payloads) = (Inline::new("here"), Log::new(), Log::new());
    let root = hearing("root", &log);
    let keeping = |name: &'static str| {
        let (log, payloads) = (log.clone(), payloads.clone());
        Causality::new(name).on_exception(move |exception: Exception| {
            log.push((name, exception.message().to_owned()));
            payloads.push(exception.into_payload().is::<&str>());
            Ok(())
        })
    };
    let (one, two) = (keeping("one"), keeping("two"));
    let (first, second) = root.run(|| (one.run(Causalities::active), two.run(Causalities::active)));
    first.union(&second).run(|| go(&queue, || panic!("both")));
    assert_eq!(log.take(), [told("one", "both"), told("two", "both")]);
    assert_eq!(payloads.take(), [true, false]);
    // One of them deaf: what is outside of it hears in its place, once.
    let (deaf, mute) = (Causality::new("deaf"), Causality::new("mute"));
    let (third, fourth) =
        root.run(|| (deaf.run(Causalities::active), mute.run(Causalities::active)));
    third
        .union(&fourth)
        .union(&first)
        .run(|| go(&queue, || panic!("three")));
    assert_eq!(
        log.take_sorted(),
        [told("one", "three"), told("root", "three")]
    );
}

#[test]
fn sem_g63_ccr_120_after_its_scope_a_causality_is_not_told() {
    let (queue, log) = (Inline::new("here"), Log::new());
    let heard = log.clone();
    queue.on_exception(move |e| heard.push(("queue", e.message().to_owned())));
    let it = hearing("it", &log);
    it.run(|| go(&queue, || panic!("inside")));
    go(&queue, || panic!("outside"));
    it.run(|| {
        it.end();
        go(&queue, || panic!("ended"));
    });
    let expected = [
        told("it", "inside"),
        told("queue", "outside"),
        told("queue", "ended"),
    ];
    assert_eq!(log.take(), expected);
}

#[test]
fn sem_g63_entering_what_is_active_makes_it_the_innermost_once() {
    let (one, two) = (Causality::new("one"), Causality::new("two"));
    let inside = || {
        assert_eq!(active(), ["two", "one"]);
        assert_eq!(one.run(active), ["one", "two"]);
        assert_eq!(active(), ["two", "one"]);
    };
    one.run(|| two.run(inside));
}

#[test]
fn sem_g63_a_causality_brings_those_it_was_made_under() {
    let outer = Causality::new("outer");
    let inner = outer.run(|| Causality::new("inner"));
    assert_eq!(inner.run(active), ["inner", "outer"]);
}

#[test]
fn sem_g63_a_wrapped_future_has_its_scope_on_every_poll() {
    let log = Log::new();
    let seen = log.clone();
    let future = Causality::new("it").wrap(async move {
        seen.push(active());
        pause().await;
        seen.push(active());
    });
    let mut future = pin!(future);
    let mut cx = Context::from_waker(Waker::noop());
    while future.as_mut().poll(&mut cx).is_pending() {
        assert!(active().is_empty(), "not between the polls");
    }
    assert_eq!(log.take(), [["it"], ["it"]]);
}

#[test]
fn sem_g66_coordination_is_found_by_type_from_within() {
    let (queue, log) = (Inline::new("here"), Log::new());
    let outer = Causality::new("outer")
        .with_coordination("a string")
        .run(|| {
            let inner = Causality::new("inner").with_coordination(7_u32);
            let seen = log.clone();
            inner.run(|| {
                go(&queue, move || {
                    seen.push((
                        Causality::coordination::<u32>().as_deref().copied(),
                        Causality::coordination::<&str>().as_deref().copied(),
                        Causality::coordination::<i8>().is_none(),
                    ));
                });
            });
            inner.is_cancelled()
        });
    assert!(!outer);
    assert_eq!(log.take(), [(Some(7), Some("a string"), true)]);
    assert!(Causality::coordination::<u32>().is_none());
}

#[test]
#[should_panic(expected = "set up before")]
fn a_causality_is_not_changed_once_it_is_shared() {
    let it = Causality::new("it");
    let _copy = it.clone();
    let _changed = it.skipping_unstarted();
}

#[test]
fn a_dispatchers_own_handler_hears_when_nobody_is_active() {
    within(patience(), || {
        let dispatcher = Dispatcher::new(1);
        let queue = dispatcher.queue(QueueConfig::named("test"));
        let log = Log::new();
        let heard = log.clone();
        dispatcher.on_exception(move |e| heard.push(e.causality().map(str::to_owned)));
        Causality::new("deaf").run(|| go(&queue, || panic!("unheard")));
        dispatcher.wait_idle();
        assert_eq!(log.take(), [None]);
    });
}
