//! What a post costs, and what it does not do.

use crate::support::{dispatcher, here, poll, post_all};
use allocation_counter::measure;
use motet_dispatch::{Dispatcher, Enqueue, ExecutionPolicy, QueueConfig, Replay, Task, Timer};
use motet_ports::timer::Deadline;
use motet_ports::{
    JoinedReceive, MultipleItemGather, MultipleItemReceive, MultiplePortReceive, Overflow, Port,
    Receive,
};
use motet_testkit::{Gate, Log, patience, within};
use std::num::NonZeroUsize;
use std::task::Waker;
use std::time::Duration;

/// How often `body` allocates on this thread.
fn allocations(body: impl FnOnce()) -> u64 {
    measure(body).count_total
}

#[test]
fn sem_g03_a_post_allocates_once() {
    let port = Port::new();
    assert_eq!(allocations(|| port.post(1).unwrap()), 1, "it waits");
    let queue = here();
    let port = Port::new();
    Receive::persistent(&port, |_: u32| ())
        .activate(&queue)
        .unwrap();
    assert_eq!(allocations(|| port.post(1).unwrap()), 1, "it is handled");
    let wanting = Port::new();
    Receive::persistent(&wanting, |_: u32| ())
        .when(|n| *n > 1)
        .activate(&queue)
        .unwrap();
    assert_eq!(
        allocations(|| wanting.post(1).unwrap()),
        1,
        "a predicate rejects it"
    );
    assert_eq!(
        allocations(|| wanting.post(2).unwrap()),
        1,
        "a predicate accepts it"
    );
}

#[test]
fn sem_g03_a_post_to_a_dispatcher_allocates_once() {
    within(patience(), || {
        let (dispatcher, queue) = dispatcher(1);
        let (port, counted) = (Port::new(), Log::new());
        Receive::persistent(&port, |_: u32| ())
            .activate(&queue)
            .unwrap();
        dispatcher.wait_idle();
        assert_eq!(allocations(|| port.post(1).unwrap()), 1, "from outside");
        dispatcher.wait_idle();
        let (poster, log) = (port, counted.clone());
        let inside = Task::new(move || log.push(allocations(|| poster.post(2).unwrap())));
        queue.enqueue(inside).unwrap();
        dispatcher.wait_idle();
        // The worker has the memory of the first item's node still.
        let fresh = u64::from(cfg!(motet_plain_memory));
        assert_eq!(counted.take(), [fresh], "from a handler");
    });
}

#[test]
fn sem_g03_joins_add_one_task_to_the_nodes_of_their_items_and_batches_have_a_row() {
    let (p, q, batched) = (Port::new(), Port::new(), Port::new());
    JoinedReceive::persistent((&p, &q), |_: (u32, u32)| ())
        .activate(&here())
        .unwrap();
    assert_eq!(allocations(|| p.post(1).unwrap()), 1);
    assert_eq!(allocations(|| q.post(2).unwrap()), 2);
    MultipleItemReceive::persistent(&batched, 2, |_: Vec<u32>| ())
        .activate(&here())
        .unwrap();
    assert_eq!(allocations(|| batched.post(1).unwrap()), 1);
    // The first made the row, which the handler gets.
    assert_eq!(allocations(|| batched.post(2).unwrap()), 1);
}

#[test]
fn sem_g03_an_item_that_waits_for_a_join_of_many_costs_its_own_node() {
    let ports: Vec<Port<u32>> = (0..4).map(|_| Port::new()).collect();
    let other = Port::new();
    MultiplePortReceive::persistent(&ports, |_| ())
        .activate(&here())
        .unwrap();
    let guarded = ports[1].when(|n| *n > 0).times(2);
    MultipleItemGather::persistent(100, (&ports[0], &other), |_: (Vec<u32>, Vec<u32>)| ())
        .activate(&here())
        .unwrap();
    JoinedReceive::persistent((&ports[0], guarded, &other), |_| ())
        .activate(&here())
        .unwrap();
    for _ in 0..3 {
        for port in &ports[..3] {
            assert_eq!(allocations(|| port.post(1).unwrap()), 1);
        }
    }
}

#[test]
fn sem_g03_a_port_that_is_full_adds_nothing_to_the_node_of_an_item() {
    for overflow in [
        Overflow::Reject,
        Overflow::DropOldest,
        Overflow::DropNewest,
        Overflow::Wait,
    ] {
        let port = Port::bounded(1, overflow);
        post_all(&port, [1]);
        let post = || drop(port.post(2));
        assert_eq!(allocations(post), 1, "{overflow:?}");
        let over = port.overflow_port();
        assert_eq!(allocations(post), 1, "{overflow:?}, with an overflow port");
        assert_eq!(
            (port.item_count() as u64, over.item_count() as u64),
            (1, port.dropped().saturating_sub(1))
        );
    }
}

#[test]
fn sem_g03_a_post_that_its_receivers_queue_refuses_allocates_once() {
    within(patience(), || {
        let dispatcher = Dispatcher::new(1);
        let depth = NonZeroUsize::MIN;
        for policy in [
            ExecutionPolicy::RejectTasks { depth: 1 },
            ExecutionPolicy::ConstrainQueueDepthThrottleExecution { depth },
        ] {
            let queue = dispatcher.queue(QueueConfig {
                policy,
                ..QueueConfig::named("queue")
            });
            let port = Port::new();
            Receive::persistent(&port, |_: u32| ())
                .activate(&queue)
                .unwrap();
            dispatcher.wait_idle();
            queue.suspend();
            post_all(&port, [1]);
            let refused = allocations(|| assert!(port.post(2).is_err()));
            assert_eq!(refused, 1, "{policy:?}");
        }
    });
}

#[test]
fn sem_g03_letting_posters_in_allocates_nothing() {
    let port = Port::bounded(2, Overflow::Wait);
    Receive::persistent(&port, |_: u32| ())
        .when(|n| *n > 10)
        .activate(&here())
        .unwrap();
    post_all(&port, [1, 2]);
    let mut waits: Vec<_> = (3..6).map(|n| port.post_wait(n)).collect();
    let waker = Waker::noop();
    assert!(waits.iter_mut().all(|wait| poll(wait, waker).is_pending()));
    assert_eq!(allocations(|| assert_eq!(port.test(), Some(1))), 0);
    assert_eq!(port.items(), [2, 3]);
    assert_eq!(allocations(|| port.post(11).unwrap()), 1, "it is handled");
    assert_eq!(
        allocations(|| assert_eq!(port.clear(), 2)),
        0,
        "two come in"
    );
    assert_eq!(port.items(), [4, 5]);
}

#[test]
fn sem_g03_a_post_does_not_wait_for_handlers() {
    within(patience(), || {
        let (dispatcher, queue) = dispatcher(1);
        let (port, gate, handled) = (Port::new(), Gate::new(), Log::new());
        let (pass, log) = (gate.clone(), handled.clone());
        Receive::persistent(&port, move |n: u32| {
            pass.pass();
            log.push(n);
        })
        .activate(&queue)
        .unwrap();
        port.post(0).unwrap();
        gate.wait_for(1);
        // The only worker stands at the gate, and every post returns.
        post_all(&port, 1..40);
        assert!(handled.is_empty());
        gate.open();
        dispatcher.wait_idle();
        assert_eq!(handled.take(), (0..40).collect::<Vec<_>>());
    });
}

#[test]
fn sem_g03_a_post_that_is_refused_does_not_wait_for_room() {
    within(patience(), || {
        let dispatcher = Dispatcher::new(1);
        let queue = dispatcher.queue(QueueConfig::bounded("queue", 1));
        let (port, gate, handled) = (Port::new(), Gate::new(), Log::new());
        let (pass, log) = (gate.clone(), handled.clone());
        Receive::persistent(&port, move |n: u32| {
            pass.pass();
            log.push(n);
        })
        .activate(&queue)
        .unwrap();
        dispatcher.wait_idle();
        port.post(0).unwrap();
        gate.wait_for(1);
        port.post(1).unwrap();
        assert_eq!(port.post(2).unwrap_err().item, 2);
        gate.open();
        dispatcher.wait_idle();
        assert_eq!(handled.take(), [0, 1]);
    });
}

#[test]
fn sem_g52_a_timer_is_small_and_a_cancelled_one_nothing() {
    const TIMERS: u64 = 100_000;
    // A clock of its own: nobody else's timers are counted.
    let replay = Replay::new(1);
    let clock = replay.clock();
    let mut timers = Vec::with_capacity(TIMERS as usize);
    let set = measure(|| {
        for n in 0..TIMERS {
            let span = Duration::from_micros(n * 7919 % TIMERS);
            timers.push(clock.after(span, |_| ()));
        }
    });
    let each = set.bytes_current as f64 / TIMERS as f64;
    assert!(each < 128.0, "{each} bytes a timer");
    let cancelled = measure(|| assert!(timers.iter().all(Timer::cancel)));
    assert!(set.bytes_current + cancelled.bytes_current < 1024);
}

#[test]
fn what_is_there_already_needs_no_timer() {
    let (replay, port) = (Replay::new(1), Port::new());
    let queue = replay.queue(QueueConfig::default());
    post_all(&port, [1]);
    let waited = port.clone();
    let wait = async move {
        let _ = waited.recv().within(Duration::from_secs(1)).await;
        std::future::pending::<()>().await;
    };
    motet_dispatch::spawn(&queue.handle(), wait).unwrap();
    replay.run();
    assert_eq!((port.item_count(), replay.elapsed()), (0, Duration::ZERO));
}
