//! Receives with and without predicates, and how arbiters start and end: behaviours 24 to 32.

use crate::support::{
    dispatcher, here, in_parallel, on_dispatchers, port_with, post_all, take_all,
};
use motet_dispatch::{Dispatcher, DispatcherQueue, Inline, QueueConfig, QueueError, Task};
use motet_ports::{
    Activation, ExceptionPort, JoinedReceive, MultipleItemReceive, Port, PostRefusal, Receive,
};
use motet_testkit::{Gate, Log, Overlap, patience, within};
use std::sync::Arc;

/// A persistent receive that logs what it handles.
fn logging(port: &Port<u32>, handled: &Log<u32>) -> Receive<u32> {
    let log = handled.clone();
    Receive::persistent(port, move |n| log.push(n))
}

#[test]
fn ccr_024_what_the_predicate_rejects_stays_in_the_port() {
    let (port, handled) = (Port::new(), Log::new());
    logging(&port, &handled)
        .when(|n| *n > 10)
        .activate(&here())
        .unwrap();
    post_all(&port, [1, 11]);
    assert_eq!(handled.take(), [11]);
    assert_eq!(port.items(), [1]);
}

#[test]
fn ccr_025_a_rejecting_predicate_asks_nobody_else() {
    within(patience(), || {
        let dispatcher = Dispatcher::new(1);
        let queue = dispatcher.queue(QueueConfig::bounded("queue", 1));
        let port = Port::new();
        Receive::persistent(&port, |_| ())
            .when(|n| *n > 10)
            .activate(&queue)
            .unwrap();
        dispatcher.wait_idle();
        queue.suspend();
        port.post(11).unwrap();
        port.post(1)
            .expect("not wanted, so its queue is not asked for room");
        assert_eq!(queue.counters().refused, 0);
        let refused = port.post(12).unwrap_err();
        assert_eq!(
            (refused.item, refused.reason),
            (12, PostRefusal::Queue(QueueError::Full))
        );
    });
}

#[test]
fn ccr_026_disjoint_predicates_share_a_port() {
    on_dispatchers(3, |dispatcher, queue| {
        let port = Port::new();
        let handled = [Log::new(), Log::new()];
        for (parity, handled) in handled.iter().enumerate() {
            let parity = u32::try_from(parity).unwrap();
            logging(&port, handled)
                .when(move |n| n % 2 == parity)
                .activate(queue)
                .unwrap();
        }
        let poster = port.clone();
        in_parallel(2, move |number| {
            let from = 500 * u32::try_from(number).unwrap();
            post_all(&poster, from..from + 500);
        });
        dispatcher.wait_idle();
        let [even, odd] = handled.each_ref().map(Log::take_sorted);
        assert!(even.into_iter().eq((0..1_000).step_by(2)));
        assert!(odd.into_iter().eq((1..1_000).step_by(2)));
        assert_eq!(port.item_count(), 0);
    });
}

#[test]
fn ccr_027_what_is_built_but_not_activated_does_nothing() {
    let (port, handled) = (Port::new(), Log::new());
    let receive = logging(&port, &handled);
    post_all(&port, [1, 2]);
    assert_eq!((port.items(), port.receiver_count()), (vec![1, 2], 0));
    receive.activate(&here()).unwrap();
    assert_eq!(handled.take(), [1, 2]);
}

#[test]
fn ccr_028_sem_g06_activation_waits_for_its_queue() {
    within(patience(), || {
        let (dispatcher, queue) = dispatcher(2);
        let (port, handled) = (Port::new(), Log::new());
        queue.suspend();
        logging(&port, &handled).activate(&queue).unwrap();
        post_all(&port, [1, 2]);
        dispatcher.wait_idle();
        assert_eq!((port.items(), port.receiver_count()), (vec![1, 2], 0));
        queue.resume();
        handled.wait_for(2);
        assert_eq!(handled.take_sorted(), [1, 2]);
        assert_eq!(port.receiver_count(), 1);
    });
}

#[test]
fn sem_g06_items_wait_for_an_activation_although_nobody_holds_their_port() {
    within(patience(), || {
        let (dispatcher, queue) = dispatcher(1);
        let handled = Log::new();
        queue.suspend();
        let port = Port::new();
        logging(&port, &handled).activate(&queue).unwrap();
        let (p, q, log) = (Port::new(), Port::new(), handled.clone());
        JoinedReceive::once((&p, &q), move |(a, b): (u32, u32)| log.push(a * b))
            .activate(&queue)
            .unwrap();
        let (batched, log) = (Port::new(), handled.clone());
        MultipleItemReceive::once(&batched, 2, move |batch: Vec<u32>| {
            log.push(batch.iter().sum())
        })
        .activate(&queue)
        .unwrap();
        post_all(&port, [1, 2]);
        post_all(&p, [3]);
        post_all(&q, [4]);
        post_all(&batched, [5, 6]);
        drop((port, p, q, batched));
        queue.resume();
        dispatcher.wait_idle();
        assert_eq!(handled.take(), [1, 2, 12, 11]);
    });
}

#[test]
fn sem_g06_activation_is_refused_where_its_queue_refuses() {
    within(patience(), || {
        let (dispatcher, queue) = dispatcher(1);
        assert_eq!(dispatcher.stop().len(), 0);
        let port = port_with([1]);
        let refused = Receive::once(&port, |_| ()).activate(&queue).unwrap_err();
        assert_eq!(refused, QueueError::Stopped);
        assert_eq!((port.items(), port.receiver_count()), (vec![1], 0));
    });
}

#[test]
fn ccr_029_sem_g10_after_cleanup_nothing_is_accepted() {
    let (port, handled) = (Port::new(), Log::new());
    let active = logging(&port, &handled).activate(&here()).unwrap();
    port.post(1).unwrap();
    active.cleanup();
    active.cleanup();
    assert!(!active.is_active());
    port.post(2).unwrap();
    assert_eq!(handled.take(), [1]);
    assert_eq!((port.items(), port.receiver_count()), (vec![2], 0));
}

#[test]
fn sem_g10_cleanup_comes_before_a_registration_that_has_not_run() {
    within(patience(), || {
        let (dispatcher, queue) = dispatcher(1);
        let (port, handled) = (port_with([1]), Log::new());
        queue.suspend();
        let active = logging(&port, &handled).activate(&queue).unwrap();
        active.cleanup();
        queue.resume();
        dispatcher.wait_idle();
        assert!(handled.is_empty());
        assert_eq!((port.items(), port.receiver_count()), (vec![1], 0));
    });
}

#[test]
fn sem_g10_handlers_that_are_queued_run_after_cleanup() {
    within(patience(), || {
        let (dispatcher, queue) = dispatcher(1);
        let (port, handled) = (Port::new(), Log::new());
        let active = logging(&port, &handled).activate(&queue).unwrap();
        dispatcher.wait_idle();
        queue.suspend();
        post_all(&port, [1, 2]);
        active.cleanup();
        post_all(&port, [3]);
        queue.resume();
        dispatcher.wait_idle();
        assert_eq!(handled.take(), [1, 2]);
        assert_eq!(port.items(), [3]);
    });
}

/// Each kind of arbiter, at work on `a` (and `b`).
fn one_of_each(a: &Port<u32>, b: &Port<u32>, queue: &Inline) -> [Activation; 3] {
    [
        Receive::persistent(a, |_| ())
            .when(|_| false)
            .activate(queue)
            .unwrap(),
        MultipleItemReceive::persistent(a, 100, |_| ())
            .activate(queue)
            .unwrap(),
        JoinedReceive::persistent((a, b), |_| ())
            .activate(queue)
            .unwrap(),
    ]
}

#[test]
fn sem_g10_cleanup_ends_an_arbiter_whose_port_is_gone() {
    let (a, b) = (Port::new(), Port::new());
    let active = one_of_each(&a, &b, &here());
    drop(a);
    for active in active {
        active.cleanup();
        assert!(!active.is_active());
    }
    b.post(1).unwrap();
    assert_eq!((b.items(), b.receiver_count()), (vec![1], 0));
}

#[test]
fn sem_g10_a_one_time_receive_and_its_cleanup_agree() {
    on_dispatchers(20, |dispatcher, queue| {
        let (port, handled) = (Port::new(), Log::new());
        let log = handled.clone();
        let active = Receive::once(&port, move |n| log.push(n))
            .activate(queue)
            .unwrap();
        let (poster, closer) = (port.clone(), active.clone());
        in_parallel(3, move |number| match u32::try_from(number).unwrap() {
            0 => closer.cleanup(),
            n => poster.post(n).unwrap(),
        });
        dispatcher.wait_idle();
        assert!(!active.is_active());
        let (handled, waiting) = (handled.take(), take_all(&port));
        assert!(handled.len() <= 1);
        let mut all = [handled, waiting].concat();
        all.sort_unstable();
        assert_eq!(all, [1, 2]);
    });
}

#[test]
fn ccr_030_sem_g11_a_task_that_is_cleaned_up_gives_its_item_back() {
    within(patience(), || {
        let (dispatcher, queue) = dispatcher(1);
        let port = Port::new();
        Receive::once(&port, |_| panic!("never runs"))
            .activate(&queue)
            .unwrap();
        hold(&dispatcher, &queue);
        post_all(&port, [1, 2]);
        let tasks = dispatcher.stop();
        assert_eq!((port.items(), tasks.len()), (vec![2], 1));
        tasks.into_iter().for_each(Task::cleanup);
        assert_eq!(port.items(), [1, 2]);
    });
}

/// Suspends the queue, whatever it is doing.
fn hold(dispatcher: &Dispatcher, queue: &DispatcherQueue) {
    dispatcher.wait_idle();
    queue.suspend();
}

#[test]
fn sem_g11_what_a_stopped_dispatcher_gives_back_stands_in_its_old_order() {
    on_dispatchers(10, |_, _| {
        let (dispatcher, queue) = dispatcher(2);
        let port = Port::new();
        Receive::persistent(&port, |_| panic!("never runs"))
            .activate(&queue)
            .unwrap();
        hold(&dispatcher, &queue);
        post_all(&port, 1..=5);
        assert_eq!(port.item_count(), 0, "all in tasks");
        let tasks = dispatcher.stop();
        port.post(6).unwrap();
        assert_eq!(tasks.len(), 5);
        tasks.into_iter().rev().for_each(Task::cleanup);
        assert_eq!(port.items(), [1, 2, 3, 4, 5, 6]);
        assert_eq!(port.receiver_count(), 0, "its queue is stopped");
    });
}

#[test]
fn ccr_031_handlers_of_a_persistent_receive_overlap() {
    within(patience(), || {
        let (dispatcher, queue) = dispatcher(4);
        let (port, gate, overlap) = (Port::new(), Gate::new(), Overlap::new());
        let (pass, inside) = (gate.clone(), overlap.clone());
        Receive::persistent(&port, move |_| inside.during(|| pass.pass()))
            .activate(&queue)
            .unwrap();
        post_all(&port, 0..10);
        gate.wait_for(4);
        gate.open();
        dispatcher.wait_idle();
        assert_eq!(overlap.most(), 4);
    });
}

/// Handles items one by one: each handler arms the next receive when it ends.
fn arm(port: &Port<u32>, queue: &DispatcherQueue, handled: &Log<u32>, overlap: &Overlap) {
    let again = (
        port.clone(),
        queue.clone(),
        handled.clone(),
        overlap.clone(),
    );
    Receive::once(port, move |n| {
        let (port, queue, handled, overlap) = again;
        overlap.during(|| handled.push(n));
        arm(&port, &queue, &handled, &overlap);
    })
    .activate(queue)
    .unwrap();
}

#[test]
fn ccr_032_a_receive_that_arms_itself_anew_handles_in_order_and_alone() {
    on_dispatchers(5, |dispatcher, queue| {
        let (port, handled, overlap) = (Port::new(), Log::new(), Overlap::new());
        arm(&port, queue, &handled, &overlap);
        post_all(&port, 0..200);
        handled.wait_for(200);
        dispatcher.wait_idle();
        assert!(handled.take().into_iter().eq(0..200));
        assert_eq!(overlap.most(), 1);
    });
}

#[test]
fn sem_g14_a_predicate_that_panics_accepts_nothing() {
    let (port, handled, queue) = (Port::new(), Log::new(), here());
    let exceptions = queue.exception_port();
    logging(&port, &handled)
        .when(|n| {
            assert!(*n != 2, "cannot look at two");
            true
        })
        .activate(&queue)
        .unwrap();
    post_all(&port, [1, 2, 3]);
    assert_eq!(handled.take(), [1, 3]);
    assert_eq!(port.items(), [2], "it waits like any that nobody takes");
    let exception = exceptions.test().unwrap();
    assert_eq!(
        (exception.message(), exception.queue()),
        ("cannot look at two", "here")
    );
    assert_eq!(exceptions.item_count(), 0);
    assert_eq!(port.receiver_count(), 1);
}

#[test]
fn sem_g14_a_predicate_that_uses_a_port_panics_instead_of_waiting() {
    let uses: [fn(&Port<u32>); 7] = [
        |port| port.post(5).unwrap(),
        |port| assert_eq!(port.test(), None),
        |port| assert!(port.item_count() < 100),
        |port| drop(port.items()),
        |port| assert!(port.clear() < 100),
        |port| port.put_back(5).unwrap(),
        |port| drop(Receive::once(port, |_| ()).activate(&Inline::new("inside"))),
    ];
    within(patience(), move || {
        for (used, use_port) in uses.into_iter().enumerate() {
            let (port, queue) = (Port::new(), here());
            let exceptions = queue.exception_port();
            let own = port.clone();
            let active = Receive::persistent(&port, |_| ())
                .when(move |_| {
                    use_port(&own);
                    true
                })
                .activate(&queue)
                .unwrap();
            port.post(1).unwrap();
            active.cleanup();
            if used == 6 {
                // The inner queue caught it: the predicate itself went on.
                assert_eq!((port.item_count(), exceptions.item_count()), (0, 0));
                continue;
            }
            assert_eq!(port.items(), [1], "use {used}");
            let message = exceptions.test().expect("told").message().to_owned();
            assert!(
                message.contains("must not use ports"),
                "use {used}: {message}"
            );
        }
    });
}

#[test]
fn sem_g14_a_clone_that_uses_its_port_panics_instead_of_waiting() {
    struct Curious(Port<Curious>);
    impl Clone for Curious {
        fn clone(&self) -> Self {
            assert!(self.0.item_count() < 100);
            Curious(self.0.clone())
        }
    }
    within(patience(), || {
        let port = Port::new();
        port.post(Curious(port.clone())).unwrap();
        let look = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| port.items().len()));
        assert!(look.is_err());
        assert_eq!(port.clear(), 1, "the port goes on");
    });
}

#[test]
fn sem_g22_receivers_go_with_the_last_handle_of_their_port() {
    let (port, alive) = (Port::<u32>::new(), Arc::new(()));
    let (weak, held) = (port.downgrade(), Arc::clone(&alive));
    let activation = Receive::persistent(&port, move |n| {
        let _held = &held;
        if let Some(port) = weak.upgrade().filter(|_| n > 0) {
            port.post(n - 1).unwrap();
        }
    })
    .activate(&here())
    .unwrap();
    let weak = port.downgrade();
    port.post(3).unwrap();
    assert_eq!(Arc::strong_count(&alive), 2);
    drop(port);
    assert!(
        weak.upgrade().is_none(),
        "neither weak handles nor the activation keep it"
    );
    drop(activation);
    assert_eq!(Arc::strong_count(&alive), 1, "the handler is dropped");
}

#[test]
fn sem_g22_a_handler_that_holds_its_port_stays_with_it_until_it_is_cleaned_up() {
    let (port, alive) = (Port::<u32>::new(), Arc::new(()));
    let (own, held) = (port.clone(), Arc::clone(&alive));
    let activation = Receive::persistent(&port, move |_| {
        let _held = &held;
        assert_eq!(own.test(), None);
    })
    .activate(&here())
    .unwrap();
    let weak = port.downgrade();
    drop(port);
    assert!(weak.upgrade().is_some());
    activation.cleanup();
    drop(activation);
    assert!(weak.upgrade().is_none());
    assert_eq!(Arc::strong_count(&alive), 1);
}
