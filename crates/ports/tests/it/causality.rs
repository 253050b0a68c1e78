//! Causalities of items: behaviours 112 to 122, joins, tokens, cancelled receives.

use crate::support::{dispatcher, here, on_dispatchers, port_with, take_all};
use motet_dispatch::{Causality, Enqueue, Exception, QueueConfig, Replay, Task, spawn};
use motet_ports::{
    CausalityPorts, CoordinateError, ExceptionPort, FromHandler, Interleave, JoinedReceive,
    MultipleItemGather, MultipleItemReceive, MultiplePortReceive, Port, Receive, join, select,
    timer,
};
use motet_testkit::{Drops, Log, patience, within};
use std::time::Duration;

/// The names of the active causalities, innermost first.
fn active() -> Vec<String> {
    let active = Causality::active();
    active.iter().map(|c| c.name().to_owned()).collect()
}

/// A causality with an exception port of its own.
fn hearing(name: &str) -> (Causality, Port<Exception>) {
    let port = Port::new();
    (Causality::new(name).exception_port(&port), port)
}

/// What the port was told of, and by which causality.
fn told(port: &Port<Exception>) -> Vec<(String, Option<String>)> {
    let exceptions = take_all(port).into_iter();
    let pair = |e: Exception| (e.message().to_owned(), e.causality().map(str::to_owned));
    exceptions.map(pair).collect()
}

fn by(message: &str, causality: &str) -> (String, Option<String>) {
    (message.to_owned(), Some(causality.to_owned()))
}

#[test]
fn sem_g62_ccr_112_a_handlers_panic_goes_to_the_posters_causality_alone() {
    on_dispatchers(5, |dispatcher, queue| {
        let global = (dispatcher.exception_port(), queue.exception_port());
        let (it, exceptions) = hearing("it");
        let port = Port::new();
        Receive::persistent(&port, |n: u32| panic!("item {n}"))
            .activate(queue)
            .unwrap();
        it.run(|| port.post(7)).unwrap();
        dispatcher.wait_idle();
        assert_eq!(told(&exceptions), [by("item 7", "it")]);
        assert_eq!((global.0.item_count(), global.1.item_count()), (0, 0));
        port.post(8).unwrap();
        dispatcher.wait_idle();
        assert_eq!(exceptions.item_count(), 0, "not the other posts");
        assert_eq!(global.1.item_count(), 1);
    });
}

#[test]
fn ccr_023_the_fast_path_keeps_the_posters_causality() {
    let (port, log) = (Port::new(), Log::new());
    let seen = log.clone();
    Receive::persistent(&port, move |()| seen.push(active()))
        .activate(&here())
        .unwrap();
    Causality::new("the poster's")
        .run(|| port.post(()))
        .unwrap();
    assert_eq!(log.take(), [["the poster's"]]);
}

#[test]
fn sem_g62_ccr_115_the_panic_of_the_exception_ports_handler_goes_outwards() {
    on_dispatchers(5, |dispatcher, queue| {
        let ((outer, outer_port), (inner, inner_port)) = (hearing("outer"), hearing("inner"));
        Receive::persistent(&inner_port, |first: Exception| {
            panic!("after {}", first.message())
        })
        .activate(queue)
        .unwrap();
        outer
            .run(|| inner.run(|| FromHandler::new(|| panic!("the first")).activate(queue)))
            .unwrap();
        dispatcher.wait_idle();
        assert_eq!(told(&outer_port), [by("after the first", "outer")]);
        assert_eq!(inner_port.item_count(), 0);
    });
}

#[test]
fn sem_g62_ccr_117_a_one_time_handler_sees_the_first_of_several() {
    let (it, exceptions) = hearing("it");
    let (queue, log) = (here(), Log::new());
    let seen = log.clone();
    Receive::once(&exceptions, move |e: Exception| {
        seen.push(e.message().to_owned())
    })
    .activate(&queue)
    .unwrap();
    it.run(|| {
        for message in ["a", "b", "c"] {
            queue
                .enqueue(Task::new(move || panic!("{message}")))
                .unwrap();
        }
    });
    assert_eq!(log.take(), ["a"]);
    assert_eq!(
        told(&exceptions),
        [by("b", "it"), by("c", "it")],
        "they wait"
    );
}

#[test]
fn sem_g61_ccr_118_a_joins_handler_runs_under_both_and_both_hear_once() {
    on_dispatchers(5, |dispatcher, queue| {
        let ((one, first), (two, second)) = (hearing("one"), hearing("two"));
        let (left, right) = (Port::new(), Port::new());
        JoinedReceive::persistent((&left, &right), |(a, b): (u32, u32)| {
            panic!("{:?} {}", active(), a + b)
        })
        .activate(queue)
        .unwrap();
        one.run(|| left.post(1)).unwrap();
        two.run(|| right.post(2)).unwrap();
        dispatcher.wait_idle();
        // The innermost is that of the first port, whoever came last.
        let text = r#"["one", "two"] 3"#;
        assert_eq!(told(&first), [by(text, "one")]);
        assert_eq!(told(&second), [by(text, "two")]);
        one.run(|| right.post(2)).unwrap();
        one.run(|| left.post(1)).unwrap();
        dispatcher.wait_idle();
        assert_eq!(
            told(&first),
            [by(r#"["one"] 3"#, "one")],
            "the same one: once"
        );
        assert_eq!(second.item_count(), 0);
    });
}

#[test]
fn sem_g61_a_batch_runs_under_all_its_items_causalities() {
    let (port, log) = (Port::new(), Log::new());
    let seen = log.clone();
    MultipleItemReceive::persistent(&port, 4, move |_: Vec<u32>| seen.push(active()))
        .activate(&here())
        .unwrap();
    let (one, two) = (Causality::new("one"), Causality::new("two"));
    for (number, causality) in [&one, &two, &one].into_iter().enumerate() {
        causality
            .run(|| port.post(u32::try_from(number).unwrap()))
            .unwrap();
    }
    Causality::new("ended").run(|| {
        port.post(3).unwrap();
    });
    assert_eq!(log.take(), [["one", "two", "ended"]]);
}

#[test]
fn sem_g61_sem_g65_a_join_of_many_and_a_gather_have_all_and_skip_alike() {
    let (dispatcher, queue) = dispatcher(1);
    let ports: Vec<Port<u32>> = (0..3).map(|_| Port::new()).collect();
    let (gathered, log) = (Port::new(), Log::new());
    let (seen, also) = (log.clone(), log.clone());
    MultiplePortReceive::persistent(&ports, move |_| seen.push(active()))
        .activate(&queue)
        .unwrap();
    let nothing = Port::<&str>::new();
    MultipleItemGather::persistent(2, (&gathered, &nothing), move |_| also.push(active()))
        .activate(&queue)
        .unwrap();
    let (one, two) = (Causality::new("one"), Causality::new("two"));
    one.run(|| ports[0].post(1)).unwrap();
    two.run(|| ports[1].post(2)).unwrap();
    one.run(|| ports[2].post(3)).unwrap();
    dispatcher.wait_idle();
    two.run(|| gathered.post(1)).unwrap();
    one.run(|| gathered.post(2)).unwrap();
    dispatcher.wait_idle();
    assert_eq!(log.take(), [["one", "two"], ["two", "one"]]);
    queue.suspend();
    let gone = Causality::new("gone").skipping_unstarted();
    gone.run(|| ports[0].post(4)).unwrap();
    ports[1].post(5).unwrap();
    ports[2].post(6).unwrap();
    gone.run(|| gathered.post(7)).unwrap();
    gathered.post(8).unwrap();
    gone.cancel("enough");
    queue.resume();
    dispatcher.wait_idle();
    assert!(log.is_empty());
    let left: Vec<_> = ports.iter().map(Port::items).collect();
    assert_eq!(left, [vec![], vec![5], vec![6]]);
    assert_eq!(gathered.items(), [8]);
}

#[test]
fn sem_g65_an_arbiter_is_registered_although_its_causality_is_cancelled() {
    let (dispatcher, queue) = dispatcher(1);
    let (ports, log) = ([Port::new(), Port::new(), Port::new()], Log::new());
    let receives = ports.each_ref().map(|port| {
        let seen = log.clone();
        Receive::persistent(port, move |n: u32| seen.push(n))
    });
    queue.suspend();
    let order = Causality::new("order").skipping_unstarted();
    order.run(|| {
        let [one, two, three] = receives;
        one.activate(&queue).unwrap();
        let interleave = Interleave::new().exclusive(two).activate(&queue).unwrap();
        let more = Interleave::new().concurrent(three);
        interleave.combine_with(more, &queue).unwrap();
    });
    order.cancel("nobody wants it");
    queue.resume();
    dispatcher.wait_idle();
    for (n, port) in (1..).zip(&ports) {
        port.post(n).unwrap();
        dispatcher.wait_idle();
    }
    assert_eq!(log.take(), [1, 2, 3]);
}

/// Posts tokens round and round: each round's work is under a causality of its own.
fn rounds(tokens: &Port<u32>, rounds: u32, after: impl Fn(&Causality)) -> Vec<usize> {
    let (work, log, drops) = (Port::new(), Log::new(), Drops::new());
    let (back, seen) = (tokens.clone(), log.clone());
    JoinedReceive::persistent((tokens, &work), move |(token, _): (u32, u32)| {
        seen.push(Causality::active().len());
        back.post(token).unwrap();
    })
    .activate(&here())
    .unwrap();
    for round in 0..rounds {
        let one = Causality::new("round").with_coordination(drops.make());
        one.run(|| work.post(round)).unwrap();
        after(&one);
        drop(one);
        // Counted in each round, so that what is kept cannot pile up in between.
        let kept = drops.made() - drops.dropped();
        assert!(
            kept <= 2 || rounds < 10,
            "{kept} causalities are kept in round {round}"
        );
    }
    log.take()
}

#[test]
fn sem_g61_ccr_119_a_token_of_a_token_port_does_not_grow() {
    let tokens = Port::for_tokens();
    tokens.post(1).unwrap();
    let counts = rounds(&tokens, 100_000, |_| ());
    assert!(counts.len() == 100_000 && counts.iter().all(|&count| count == 1));
}

#[test]
fn sem_g61_ccr_119_a_token_does_not_grow_when_what_it_took_part_in_ends() {
    let tokens = port_with([1]);
    let counts = rounds(&tokens, 100_000, Causality::end);
    assert!(counts.len() == 100_000 && counts.iter().all(|&count| count == 1));
    let tokens = port_with([1]);
    let counts = rounds(&tokens, 100_000, |one| assert!(one.cancel("done")));
    assert!(counts.len() == 100_000 && counts.iter().all(|&count| count == 1));
}

#[test]
fn ccr_119_a_token_of_an_ordinary_port_carries_every_causality_that_goes_on() {
    let tokens = port_with([1]);
    assert_eq!(rounds(&tokens, 5, |_| ()), [1, 2, 3, 4, 5]);
}

#[test]
fn ccr_119_clearing_before_the_post_keeps_a_token_bare() {
    let (tokens, log) = (Port::new(), Log::new());
    let (back, seen) = (tokens.clone(), log.clone());
    Receive::persistent(&tokens, move |left: u32| {
        seen.push(Causality::active().len());
        if left > 0 {
            Causality::new("a round's").run(|| {
                Causality::clear();
                back.post(left - 1).unwrap();
            });
        }
    })
    .activate(&here())
    .unwrap();
    tokens.post(9).unwrap();
    assert_eq!(log.take(), [0; 10]);
}

#[test]
fn sem_g60_ccr_121_an_item_that_waited_keeps_its_causality() {
    on_dispatchers(5, |dispatcher, queue| {
        let (it, exceptions) = hearing("it");
        let port = Port::new();
        it.run(|| port.post(7)).unwrap();
        Causality::new("the receiver's").run(|| {
            Receive::once(&port, |_: u32| panic!("{:?}", active()))
                .activate(queue)
                .unwrap();
        });
        dispatcher.wait_idle();
        assert_eq!(told(&exceptions), [by(r#"["it"]"#, "it")]);
    });
}

#[test]
fn sem_g60_ccr_122_an_async_handler_keeps_it_over_its_awaits() {
    on_dispatchers(5, |dispatcher, queue| {
        let (it, exceptions) = hearing("it");
        let steps = Port::new();
        let wait = steps.clone();
        let handler = FromHandler::new_async(move || async move {
            for _ in 0..3 {
                let _step: u32 = wait.recv().await;
            }
            panic!("after the third wait");
        });
        it.run(|| handler.activate(queue)).unwrap();
        for step in 0..3 {
            dispatcher.wait_idle();
            steps.post(step).unwrap();
        }
        dispatcher.wait_idle();
        assert_eq!(told(&exceptions), [by("after the third wait", "it")]);
    });
}

#[test]
fn sem_g60_a_received_items_causalities_are_added_to_the_task_that_awaits() {
    let (queue, log) = (here(), Log::new());
    // One item waits before the receive, one comes later.
    let (port, seen) = (Port::new(), log.clone());
    Causality::new("first").run(|| port.post(())).unwrap();
    let wait = port.clone();
    let future = async move {
        Causality::scoped(async {
            wait.recv().await;
            seen.push(active());
        })
        .await;
        seen.push(active());
        wait.recv().await;
        seen.push(active());
    };
    Causality::new("own")
        .run(|| spawn(&queue.handle(), future))
        .unwrap();
    assert!(active().is_empty());
    Causality::new("second").run(|| port.post(())).unwrap();
    assert_eq!(
        log.take(),
        [vec!["own", "first"], vec!["own"], vec!["own", "second"]]
    );
}

#[test]
fn sem_g60_a_select_adds_those_of_what_it_took_whether_it_waited_or_not() {
    let (queue, log) = (here(), Log::new());
    let (one, two) = (Port::new(), Port::new());
    let both = (Causality::new("one"), Causality::new("two"));
    let post = |n: u32| {
        both.0.run(|| one.post(n)).unwrap();
        both.1.run(|| two.post(n)).unwrap();
    };
    post(1);
    let (first, second, seen) = (one.clone(), two.clone(), log.clone());
    let round = async move {
        for _ in 0..2 {
            Causality::scoped(async {
                join((&first, &second)).await;
                seen.push(active());
            })
            .await;
        }
        Causality::scoped(async {
            select().recv(&second, |_| ()).recv(&first, |_| ()).await;
            seen.push(active());
        })
        .await;
        seen.push(active());
    };
    spawn(&queue.handle(), round).unwrap();
    post(2);
    post(3);
    let joined = vec!["one", "two"];
    let expected = [joined.clone(), joined, vec!["one"], vec![]];
    assert_eq!(log.take(), expected);
}

#[test]
fn sem_g65_a_future_that_sleeps_is_woken_although_it_is_cancelled() {
    let replay = Replay::new(1);
    let queue = replay.queue(QueueConfig::named("virtual"));
    let (log, port) = (Log::new(), Port::new());
    let it = Causality::new("it").skipping_unstarted();
    let (seen, wait) = (log.clone(), port.clone());
    let sleeps = async move {
        timer::sleep(Duration::from_secs(1)).await;
        seen.push("slept");
        select().recv(&wait, |()| ()).await;
        seen.push("received");
    };
    it.run(|| {
        spawn(&queue.handle(), sleeps).unwrap();
    });
    replay.run_for(Duration::from_millis(1));
    it.run(|| it.cancel("enough"));
    replay.run();
    it.run(|| port.post(())).unwrap();
    replay.run();
    assert_eq!(log.take(), ["slept", "received"]);
}

#[test]
fn sem_g60_the_time_of_a_timer_carries_what_was_active_where_it_was_set() {
    let replay = Replay::new(1);
    let queue = replay.queue(QueueConfig::named("virtual"));
    let (log, port) = (Log::new(), Port::new());
    let seen = log.clone();
    Receive::persistent(&port, move |_| seen.push(active()))
        .activate(&queue)
        .unwrap();
    Causality::new("it").run(|| {
        timer::enqueue_periodic_timer(&queue, Duration::from_secs(1), &port);
    });
    replay.run_for(Duration::from_secs(3));
    assert_eq!(log.take(), [["it"], ["it"], ["it"]]);
}

#[test]
fn sem_g60_test_adds_no_causality() {
    let port = Port::new();
    Causality::new("the item's").run(|| port.post(1)).unwrap();
    assert_eq!(port.test(), Some(1));
    assert!(active().is_empty());
}

#[test]
fn sem_g62_a_predicates_panic_goes_to_the_items_causality() {
    let ((it, exceptions), port) = (hearing("it"), Port::new());
    it.run(|| port.post(1)).unwrap();
    Receive::persistent(&port, |_: u32| ())
        .when(|_| panic!("out of tune"))
        .activate(&here())
        .unwrap();
    assert_eq!(told(&exceptions), [by("out of tune", "it")]);
    assert_eq!(port.item_count(), 1);
}

#[test]
fn sem_g64_a_receive_gives_up_when_cancelled_and_takes_nothing() {
    on_dispatchers(20, |dispatcher, queue| {
        let (it, port, log) = (Causality::new("it"), Port::<u32>::new(), Log::new());
        let (wait, seen) = (port.clone(), log.clone());
        let future = async move {
            let received = wait.recv().or_cancelled().await;
            seen.push(received.map_err(|why| why.to_string()));
        };
        it.run(|| spawn(&queue.handle(), future)).unwrap();
        dispatcher.wait_idle();
        assert!(log.is_empty() && port.receiver_count() == 1);
        it.cancel("enough");
        log.wait_for(1);
        let text = "causality 'it' was cancelled (enough): stop its work".to_owned();
        assert_eq!(log.take(), [Err(text)]);
        dispatcher.wait_idle();
        assert_eq!(port.receiver_count(), 0);
        port.post(7).unwrap();
        assert_eq!(port.test(), Some(7));
    });
}

/// A post against a cancel: the item is received, or it is in the port.
#[test]
fn sem_g64_no_item_is_lost_between_a_post_and_a_cancel() {
    within(patience(), || {
        let (dispatcher, queue) = dispatcher(2);
        for _ in 0..300 {
            let (it, port, log) = (Causality::new("it"), Port::<u32>::new(), Log::new());
            let (wait, seen) = (port.clone(), log.clone());
            let future = async move { seen.push(wait.recv().or_cancelled().await.is_ok()) };
            it.run(|| spawn(&queue.handle(), future)).unwrap();
            let canceller = it.clone();
            queue
                .enqueue(Task::new(move || {
                    canceller.cancel("enough");
                }))
                .unwrap();
            port.post(7).unwrap();
            dispatcher.wait_idle();
            let received = log.take()[0];
            assert_eq!(port.item_count(), usize::from(!received));
        }
    });
}

#[test]
fn sem_g65_skipped_handlers_drop_their_items_and_joined_tokens_go_back() {
    let (dispatcher, queue) = dispatcher(1);
    let (tokens, work, batches) = (Port::for_tokens(), Port::new(), Port::new());
    let (log, drops) = (Log::new(), Drops::new());
    let seen = log.clone();
    JoinedReceive::persistent((&tokens, &work), move |(token, _work): (&str, _)| {
        seen.push(token)
    })
    .activate(&queue)
    .unwrap();
    let seen = log.clone();
    MultipleItemReceive::once(&batches, 2, move |_: Vec<u32>| seen.push("a batch"))
        .activate(&queue)
        .unwrap();
    dispatcher.wait_idle();
    queue.suspend();
    tokens.post("printer").unwrap();
    let it = Causality::new("it").skipping_unstarted();
    it.run(|| work.post(drops.make())).unwrap();
    batches.post(1).unwrap();
    it.run(|| batches.post(2)).unwrap();
    assert_eq!(
        (tokens.item_count(), work.item_count(), batches.item_count()),
        (0, 0, 0)
    );
    it.cancel("enough");
    queue.resume();
    dispatcher.wait_idle();
    assert!(log.is_empty());
    assert_eq!(drops.dropped(), 1, "nobody wants it");
    assert_eq!(
        (tokens.items(), batches.items()),
        (vec!["printer"], vec![1])
    );
    work.post(drops.make()).unwrap();
    dispatcher.wait_idle();
    assert_eq!(log.take(), ["printer"], "for the next one");
}

#[test]
fn sem_g66_coordination_reaches_the_innermost_port_of_that_type() {
    let (queue, words, numbers) = (here(), Port::new(), Port::new());
    let outer = Causality::new("outer").coordination_port::<&str>(&words);
    outer.run(|| {
        let inner = Causality::new("inner").coordination_port::<u32>(&numbers);
        let handler = FromHandler::new(|| {
            Causality::coordinate("a word").unwrap();
            Causality::coordinate(7_u32).unwrap();
            let nobody = Causality::coordinate('c');
            assert!(matches!(nobody, Err(CoordinateError::Nobody('c'))));
        });
        inner.run(|| handler.activate(&queue)).unwrap();
    });
    assert_eq!((words.test(), numbers.test()), (Some("a word"), Some(7)));
}
