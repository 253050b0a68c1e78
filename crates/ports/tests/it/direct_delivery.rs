//! Ports with one receiver that wants everything: items are not offered to it, and nobody can tell.

use crate::support::{Probe, dispatcher, here, post_all, take_all};
use allocation_counter::measure;
use motet_dispatch::{Causalities, Causality, DispatcherQueue, Enqueue, Inline, QueueConfig, Task};
use motet_ports::{
    Activation, Interleave, JoinedReceive, MultipleItemReceive, Port, PostRefusal, Receive,
};
use motet_sync::Mutex;
use motet_testkit::{Drops, Log, patience, within};
use std::sync::Arc;
use std::sync::mpsc::channel;

/// A port from which so many items at a time go into the log.
fn batched(count: usize) -> (Port<u32>, Log<Vec<u32>>, Inline) {
    let (port, log, queue) = (Port::new(), Log::new(), here());
    let handled = log.clone();
    MultipleItemReceive::persistent(&port, count, move |items| handled.push(items))
        .activate(&queue)
        .unwrap();
    (port, log, queue)
}

/// As above, on a queue of one worker that is suspended.
fn suspended(count: usize) -> (motet_dispatch::Dispatcher, DispatcherQueue, Port<u32>) {
    let (dispatcher, queue) = dispatcher(1);
    let port = Port::new();
    MultipleItemReceive::persistent(&port, count, |_: Vec<u32>| ())
        .activate(&queue)
        .unwrap();
    dispatcher.wait_idle();
    queue.suspend();
    (dispatcher, queue, port)
}

#[test]
fn sem_g27_items_that_wait_for_each_other_have_no_allocation_of_their_own() {
    let (port, log, _queue) = batched(50);
    let waiting = measure(|| post_all(&port, 0..49)).count_total;
    assert_eq!(waiting, 1, "the row");
    assert_eq!(port.item_count(), 49);
    post_all(&port, [49]);
    assert_eq!(log.take(), [(0..50).collect::<Vec<_>>()]);
    assert_eq!(port.item_count(), 0);
}

#[test]
fn sem_g27_items_of_a_row_are_seen_and_taken_as_any_others() {
    let (port, log, _queue) = batched(4);
    post_all(&port, 0..3);
    assert_eq!((port.item_count(), port.items()), (3, vec![0, 1, 2]));
    assert_eq!(port.test(), Some(0));
    port.put_back(0).unwrap();
    assert_eq!(port.test(), Some(0));
    post_all(&port, [3, 4]);
    assert_eq!(log.take(), [[1, 2, 3, 4]]);
    let counters = port.counters();
    assert_eq!((counters.taken, counters.waiting), (counters.posted, 0));
    post_all(&port, 5..8);
    assert_eq!(port.clear(), 3);
    post_all(&port, 8..16);
    assert_eq!(log.take(), [[8, 9, 10, 11], [12, 13, 14, 15]]);
}

#[test]
fn sem_g27_a_second_receiver_is_offered_what_lies_in_a_row_and_what_comes() {
    let (port, log, queue) = batched(3);
    post_all(&port, 0..2);
    let second = Probe::rejecting();
    second.register(&port);
    assert_eq!(second.asked(), [0, 1]);
    post_all(&port, 2..4);
    assert_eq!(log.take(), [[0, 1, 2]]);
    assert_eq!(second.asked(), [0, 1, 3], "the third went to the first");
    assert!(port.unregister(&second.receiver()));
    let single = Log::new();
    let handled = single.clone();
    post_all(&port, [4]);
    Receive::once(&port, move |n| handled.push(n))
        .activate(&queue)
        .unwrap();
    assert_eq!(single.take(), [3]);
    post_all(&port, 5..7);
    assert_eq!(log.take(), [[4, 5, 6]]);
}

#[test]
fn sem_g27_a_join_finds_what_lies_in_a_row() {
    let (port, log, queue) = batched(3);
    post_all(&port, 0..2);
    let (other, pairs) = (Port::new(), Log::new());
    let handled = pairs.clone();
    JoinedReceive::persistent((&port, &other), move |pair| handled.push(pair))
        .activate(&queue)
        .unwrap();
    post_all(&other, ['a']);
    post_all(&port, 2..4);
    assert_eq!(
        (log.take(), pairs.take()),
        (vec![vec![1, 2, 3]], vec![(0, 'a')])
    );
}

#[test]
fn sem_g27_items_of_a_row_carry_their_causalities() {
    let (port, log, queue) = (Port::new(), Log::new(), here());
    let (seen, handled) = (Log::new(), log.clone());
    let noted = seen.clone();
    MultipleItemReceive::persistent(&port, 3, move |items: Vec<u32>| {
        noted.push(Causalities::active().is_empty());
        handled.push(items);
    })
    .activate(&queue)
    .unwrap();
    post_all(&port, 0..1);
    Causality::new("cause").run(|| post_all(&port, 1..2));
    post_all(&port, 2..6);
    assert_eq!(log.take(), [[0, 1, 2], [3, 4, 5]]);
    assert_eq!(seen.take(), [false, true]);
}

#[test]
fn sem_g27_what_comes_back_from_a_task_stands_where_it_stood() {
    within(patience(), || {
        let (dispatcher, _queue, port) = suspended(5);
        post_all(&port, 0..13);
        assert_eq!(port.item_count(), 3, "the others are in tasks");
        assert_eq!(port.test(), Some(10));
        dispatcher.stop().into_iter().for_each(Task::cleanup);
        assert_eq!(take_all(&port), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12]);
    });
}

#[test]
fn sem_g27_a_queue_that_is_stopped_leaves_items_in_the_port() {
    within(patience(), || {
        let (dispatcher, _queue, rows) = suspended(3);
        let single = Port::new();
        post_all(&rows, 0..2);
        let (second, other) = (motet_dispatch::Dispatcher::new(1), QueueConfig::default());
        Receive::persistent(&single, |_: u32| ())
            .activate(&second.queue(other))
            .unwrap();
        second.wait_idle();
        dispatcher.stop().into_iter().for_each(Task::cleanup);
        second.stop().into_iter().for_each(Task::cleanup);
        post_all(&rows, 2..9);
        post_all(&single, 0..3);
        assert_eq!(take_all(&rows), (0..9).collect::<Vec<_>>());
        assert_eq!(take_all(&single), [0, 1, 2]);
        assert_eq!((rows.receiver_count(), single.receiver_count()), (0, 0));
    });
}

#[test]
fn sem_g27_a_queue_with_a_limit_refuses() {
    within(patience(), || {
        let dispatcher = motet_dispatch::Dispatcher::new(1);
        let queue = dispatcher.queue(QueueConfig::bounded("narrow", 1));
        let (single, rows) = (Port::new(), Port::new());
        Receive::persistent(&single, |_: u32| ())
            .activate(&queue)
            .unwrap();
        dispatcher.wait_idle();
        MultipleItemReceive::persistent(&rows, 2, |_: Vec<u32>| ())
            .activate(&queue)
            .unwrap();
        dispatcher.wait_idle();
        queue.suspend();
        post_all(&single, [1]);
        assert!(matches!(
            single.post(2).unwrap_err().reason,
            PostRefusal::Queue(_)
        ));
        post_all(&rows, [1]);
        assert_eq!(rows.post(2).unwrap_err().item, 2);
        assert_eq!(rows.items(), [1]);
    });
}

#[test]
fn sem_g27_a_receive_that_has_ended_lets_go_of_its_row() {
    let (drops, port) = (Drops::new(), Port::new());
    let held = drops.make();
    let active = MultipleItemReceive::persistent(&port, 3, move |_| _ = &held)
        .activate(&here())
        .unwrap();
    (0..2).for_each(|_| port.post(drops.make()).unwrap());
    active.cleanup();
    drop(active);
    assert_eq!((drops.dropped(), port.item_count()), (1, 2));
    port.post(drops.make()).unwrap();
    assert_eq!(port.item_count(), 3);
    drop(port);
    assert_eq!(drops.dropped(), 4);
}

#[test]
fn sem_g27_a_concurrent_member_takes_nothing_when_the_end_has_come() {
    within(patience(), || {
        let (dispatcher, queue) = dispatcher(1);
        let (port, end, handled, left) = (Port::new(), Port::new(), Log::new(), Log::new());
        let (log, at_the_end, back) = (handled.clone(), left.clone(), port.clone());
        Interleave::new()
            .concurrent(Receive::persistent(&port, move |n: u32| log.push(n)))
            .teardown(Receive::once(&end, move |()| at_the_end.push(back.items())))
            .activate(&queue)
            .unwrap();
        dispatcher.wait_idle();
        post_all(&port, 0..3);
        dispatcher.wait_idle();
        queue.suspend();
        post_all(&port, 3..5);
        assert_eq!(port.item_count(), 0, "on their way");
        end.post(()).unwrap();
        post_all(&port, 5..7);
        assert_eq!((port.items(), port.receiver_count()), (vec![5, 6], 0));
        queue.resume();
        dispatcher.wait_idle();
        let mut all = handled.take();
        all.extend(left.take().concat());
        assert_eq!(all, (0..7).collect::<Vec<_>>());
    });
}

/// Runs `end` between two tasks of one worker that never rests, right after the handler that
/// `activate` makes has run, and says whether what that handler holds is gone when the next task
/// begins.
fn is_gone_at_once(
    activate: impl FnOnce(
        &Port<u32>,
        &DispatcherQueue,
        Box<dyn Fn() + Send + Sync>,
        Arc<()>,
    ) -> Activation,
    end: impl FnOnce(Port<u32>, Activation) -> Option<Port<u32>> + Send + 'static,
) -> bool {
    let (dispatcher, queue) = dispatcher(1);
    let (port, held) = (Port::new(), Arc::new(()));
    let alive = Arc::downgrade(&held);
    let (tell, told) = channel();
    let then: Arc<Mutex<Option<Task>>> = Arc::default();
    let (next, own) = (Arc::clone(&then), queue.clone());
    let handled = move || {
        if let Some(task) = next.lock().take() {
            own.enqueue(task).unwrap();
        }
    };
    let activation = activate(&port, &queue, Box::new(handled), held);
    dispatcher.wait_idle();
    let (last, own) = (port.clone(), queue.clone());
    let look = Task::new(move || tell.send(alive.upgrade().is_none()).unwrap());
    let ending = Task::new(move || {
        let left = end(last, activation);
        // A handle that is left goes only when somebody has looked.
        own.enqueue(Task::new(move || {
            look.run();
            drop(left);
        }))
        .unwrap();
    });
    // Some handlers first, so that the worker keeps what it can.
    (0..8).for_each(|n| port.post(n).unwrap());
    dispatcher.wait_idle();
    *then.lock() = Some(ending);
    let poster = port.clone();
    drop(port);
    queue
        .enqueue(Task::new(move || {
            (0..2).for_each(|n| poster.post(n).unwrap());
        }))
        .unwrap();
    told.recv().unwrap()
}

#[test]
fn sem_g22_a_handler_goes_with_its_port_although_its_worker_goes_on() {
    let single =
        |port: &Port<u32>, queue: &DispatcherQueue, handled: Box<dyn Fn() + Send + Sync>, held| {
            Receive::persistent(port, move |n| {
                let _held = &held;
                if n == 1 {
                    handled();
                }
            })
            .activate(queue)
            .unwrap()
        };
    let goes = |_: Port<u32>, _: Activation| None;
    let is_cleaned_up = |port: Port<u32>, activation: Activation| {
        activation.cleanup();
        Some(port)
    };
    assert!(is_gone_at_once(single, goes));
    assert!(is_gone_at_once(single, is_cleaned_up));
    let several =
        |port: &Port<u32>, queue: &DispatcherQueue, handled: Box<dyn Fn() + Send + Sync>, held| {
            MultipleItemReceive::persistent(port, 2, move |_| {
                let _held = &held;
                handled();
            })
            .activate(queue)
            .unwrap()
        };
    assert!(is_gone_at_once(several, goes));
    assert!(is_gone_at_once(several, is_cleaned_up));
}
