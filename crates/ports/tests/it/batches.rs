//! Receives of up to so many items, or after a time.

use crate::support::{dispatcher, here, in_parallel, port_with, post_all, take_all};
use motet_dispatch::{Clock, Dispatcher, Enqueue, ExecutionPolicy, QueueConfig, Replay, spawn};
use motet_ports::timer::sleep;
use motet_ports::{
    Choice, Interleave, JoinedReceive, MultipleItemGather, MultipleItemReceive,
    MultiplePortReceive, Overflow, Port, Receive, join, select, wait_blocking,
};
use motet_testkit::{Log, explore, patience, within};
use proptest::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

const MS: Duration = Duration::from_millis(1);
const HOUR: Duration = Duration::from_secs(3600);

/// Batches of up to `count` items after 10 ms, and what they log.
fn batching(port: &Port<u32>, count: usize) -> (MultipleItemReceive<u32>, Log<Vec<u32>>) {
    let batches = Log::new();
    let log = batches.clone();
    let receive = MultipleItemReceive::persistent(port, count, move |batch| log.push(batch));
    (receive.or_after(10 * MS), batches)
}

#[test]
fn sem_g29_a_batch_is_taken_when_it_is_full_or_its_time_is_over() {
    let replay = Replay::new(1);
    let queue = replay.queue(QueueConfig::named("batches"));
    let port = port_with(1..=7);
    let (receive, batches) = batching(&port, 3);
    let active = receive.activate(&queue).unwrap();
    let posts = port.clone();
    spawn(&queue.handle(), async move {
        sleep(MS).await;
        assert_eq!(posts.items(), [7], "it waits in its port");
        post_all(&posts, [8]);
        sleep(8 * MS).await;
        assert_eq!(posts.items(), [7, 8]);
        sleep(2 * MS).await;
        assert_eq!(posts.items(), [], "10 ms after the first of them");
        sleep(20 * MS).await;
        // The time of a batch begins with its first item.
        post_all(&posts, [9]);
        sleep(9 * MS).await;
        post_all(&posts, [10, 11, 12]);
        sleep(9 * MS).await;
        assert_eq!(posts.items(), [12], "a new batch, a new time");
    })
    .unwrap();
    replay.run();
    let all = [
        vec![1, 2, 3],
        vec![4, 5, 6],
        vec![7, 8],
        vec![9, 10, 11],
        vec![12],
    ];
    assert_eq!(batches.take_sorted(), all, "their tasks run in any order");
    assert_eq!(replay.elapsed(), 50 * MS, "31, 9, and 10 for the last");
    active.cleanup();
    post_all(&port, [13]);
    replay.run();
    assert_eq!((port.items(), batches.len()), (vec![13], 0));
    let held = port.clone();
    drop((port, held, active));
}

#[test]
fn sem_g29_full_batches_leave_no_timer_behind() {
    let replay = Replay::new(1);
    let (queue, port) = (replay.queue(QueueConfig::named("batches")), Port::new());
    let (receive, batches) = batching(&port, 2);
    receive.activate(&queue).unwrap();
    post_all(&port, 1..=6);
    replay.run();
    assert_eq!((batches.len(), replay.elapsed()), (3, Duration::ZERO));
    // Nor does a receive whose port goes.
    post_all(&port, [7]);
    drop(port);
    replay.run();
    assert_eq!((batches.len(), replay.elapsed()), (3, Duration::ZERO));
}

#[test]
fn sem_g29_no_item_is_lost_or_doubled_or_waits_longer() {
    explore(0..100, |replay| {
        let queue = replay.queue(QueueConfig::named("any order"));
        let (port, log) = (Port::<(u32, Instant)>::new(), Log::new());
        let told = log.clone();
        MultipleItemReceive::persistent(&port, 4, move |batch: Vec<(u32, Instant)>| {
            let now = Clock::current().now();
            assert!((1..=4).contains(&batch.len()));
            assert!(batch.iter().all(|(_, posted)| now <= *posted + 3 * MS));
            for poster in 0..3 {
                let of = batch.iter().filter(|(n, _)| n / 100 == poster);
                assert!(of.is_sorted_by_key(|(n, _)| *n), "in order");
            }
            batch.into_iter().for_each(|(n, _)| told.push(n));
        })
        .or_after(3 * MS)
        .activate(&queue)
        .unwrap();
        for poster in 0..3 {
            let port = port.clone();
            let posts = async move {
                for n in 0..10 {
                    sleep((n * 7 + poster) % 4 * MS).await;
                    let now = Clock::current().now();
                    port.post((poster * 100 + n, now)).unwrap();
                }
            };
            spawn(&queue.handle(), posts).unwrap();
        }
        replay.run();
        let all = (0..3).flat_map(|poster| poster * 100..poster * 100 + 10);
        assert_eq!(log.take_sorted(), all.collect::<Vec<_>>());
        assert_eq!(port.item_count(), 0);
    });
}

#[test]
fn sem_g29_on_threads_too() {
    within(patience(), || {
        let (_dispatcher, queue) = dispatcher(2);
        let (port, sums) = (Port::new(), Port::new());
        let out = sums.clone();
        MultipleItemReceive::persistent(&port, 7, move |batch: Vec<u32>| {
            assert!((1..=7).contains(&batch.len()));
            out.post(batch.len()).unwrap();
        })
        .or_after(MS)
        .activate(&queue)
        .unwrap();
        let posts = port.clone();
        in_parallel(2, move |_| post_all(&posts, 0..500));
        let mut handled = 0;
        while handled < 1000 {
            handled += sums.recv_blocking().unwrap();
        }
        assert_eq!((handled, port.item_count()), (1000, 0));
    });
}

#[test]
fn sem_g29_a_queue_without_room_gets_the_batch_later() {
    within(patience(), || {
        let dispatcher = Dispatcher::new(1);
        let depth = 1.try_into().unwrap();
        let narrow = dispatcher.queue(QueueConfig {
            policy: ExecutionPolicy::ConstrainQueueDepthThrottleExecution { depth },
            ..QueueConfig::named("narrow")
        });
        let (port, done) = (Port::new(), Port::new());
        let out = done.clone();
        MultipleItemReceive::persistent(&port, 2, move |batch: Vec<u32>| out.post(batch).unwrap())
            .or_after(MS)
            .activate(&narrow)
            .unwrap();
        dispatcher.wait_idle();
        narrow.suspend();
        post_all(&port, 1..=3);
        motet_sync::thread::park_timeout(5 * MS);
        assert_eq!(port.items(), [3]);
        narrow.resume();
        assert_eq!(done.recv_blocking(), Ok(vec![1, 2]));
        assert_eq!(done.recv_blocking(), Ok(vec![3]));
        // A stopped one never does: the receive leaves.
        narrow.suspend();
        post_all(&port, [4]);
        drop((narrow, dispatcher));
        motet_sync::thread::park_timeout(5 * MS);
        assert_eq!((take_all(&port), done.item_count()), (vec![4], 0));
        post_all(&port, [5]);
        motet_sync::thread::park_timeout(5 * MS);
        assert_eq!(port.receiver_count(), 0);
    });
}

#[test]
fn sem_g29_it_is_a_member_and_a_branch_like_others() {
    let replay = Replay::new(1);
    let queue = replay.queue(QueueConfig::named("batches"));
    let (port, alone, out) = (Port::new(), Port::new(), Port::new());
    let (receive, batches) = batching(&port, 3);
    Interleave::new()
        .exclusive(receive)
        .concurrent(Receive::persistent(&alone, |()| ()))
        .activate(&queue)
        .unwrap();
    post_all(&port, 1..=4);
    alone.post(()).unwrap();
    replay.run();
    assert_eq!(batches.take(), [vec![1, 2, 3], vec![4]]);
    let (port, other) = (Port::new(), Port::<u32>::new());
    for _ in 0..2 {
        let (told, lost) = (out.clone(), out.clone());
        let batch = MultipleItemReceive::once(&port, 3, move |batch| told.post(batch).unwrap());
        Choice::new()
            .or(batch.or_after(MS))
            .or(Receive::once(&other, move |n| lost.post(vec![n]).unwrap()))
            .activate(&queue)
            .unwrap();
        post_all(&port, [5, 6]);
        replay.run();
        assert_eq!(out.test(), Some(vec![5, 6]));
        assert_eq!((port.receiver_count(), other.receiver_count()), (0, 0));
    }
}

#[test]
fn sem_g29_the_waiting_form_gives_up_without_a_loss() {
    let replay = Replay::new(1);
    let queue = replay.queue(QueueConfig::named("batches"));
    let (port, other, out) = (Port::new(), Port::new(), Port::new());
    let (from, quick, told) = (port.clone(), other.clone(), out.clone());
    spawn(&queue.handle(), async move {
        told.post(from.recv_up_to(3, HOUR).await).unwrap();
        let first = select()
            .recv_up_to(&from, 3, HOUR, |batch| batch)
            .recv(&quick, |n| vec![n]);
        told.post(first.await).unwrap();
        told.post(from.recv_up_to(3, MS).await).unwrap();
    })
    .unwrap();
    replay.run();
    post_all(&port, 1..=4);
    replay.run_for(MS);
    other.post(9).unwrap();
    replay.run();
    assert_eq!(out.items(), [vec![1, 2, 3], vec![9], vec![4]]);
    assert!(replay.elapsed() < HOUR);
    post_all(&port, [5]);
    assert_eq!(wait_blocking(port.recv_up_to(2, MS)), Ok(vec![5]));
}

proptest! {
    #[test]
    fn prop_sem_g29_batches_are_those_of_a_list_with_a_deadline(
        count in 1..5_usize,
        pauses in proptest::collection::vec(0..4_u32, 0..40),
    ) {
        let replay = Replay::new(1);
        let (queue, port, log) = (replay.queue(QueueConfig::named("batches")), Port::new(), Log::new());
        let told = log.clone();
        MultipleItemReceive::persistent(&port, count, move |batch: Vec<u32>| told.push(batch))
            .or_after(5 * MS)
            .activate(&queue)
            .unwrap();
        replay.run();
        let (mut waiting, mut deadline, mut now, mut batches) = (Vec::new(), 0, 0, Vec::new());
        for (n, pause) in (0_u32..).zip(pauses) {
            port.post(n).unwrap();
            if waiting.is_empty() {
                deadline = now + 5;
            }
            waiting.push(n);
            now += pause;
            if waiting.len() == count || (now >= deadline && pause > 0) {
                batches.push(std::mem::take(&mut waiting));
            }
            replay.run_for(pause * MS);
            prop_assert_eq!(port.items(), waiting.clone());
        }
        replay.run();
        batches.extend(Some(waiting).filter(|batch| !batch.is_empty()));
        prop_assert_eq!(log.take_sorted(), batches);
        prop_assert_eq!(replay.timers(), 0);
    }
}

#[test]
#[should_panic(expected = "post those that are wanted to a port of their own")]
fn a_guard_and_a_time_are_refused() {
    let receive = MultipleItemReceive::persistent(&Port::<u32>::new(), 2, |_| ());
    let _receive = receive.when(|_| true).or_after(MS).activate(&here());
}

/// What the panic says.
fn refused(make: impl FnOnce()) -> String {
    let panic = catch_unwind(AssertUnwindSafe(make)).unwrap_err();
    panic.downcast_ref::<String>().unwrap().clone()
}

#[test]
fn sem_g598_who_wants_more_items_at_once_than_are_ever_there_is_refused() {
    let queue = here();
    let (port, other) = (
        Port::<u32>::bounded(2, Overflow::Reject),
        Port::<u32>::new(),
    );
    port.set_name("narrow");
    let four = || MultipleItemReceive::once(&port, 4, |_| ());
    let refusals = [
        refused(|| drop(four().activate(&queue))),
        refused(|| drop(four().when(|_| true).activate(&queue))),
        refused(|| drop(JoinedReceive::once((&other, port.times(4)), |_| ()))),
        refused(|| drop(MultiplePortReceive::once([port.times(4)], |_| ()))),
        refused(|| drop(join((&other, port.times(4))))),
        refused(|| drop(select().recv_multiple(&port, 4, |_| ()))),
    ];
    for why in refusals {
        let said = "port \"narrow\" of u32 holds 2 items at most, and 4 are wanted at once";
        assert!(why.starts_with(said), "{why}");
    }
    let both =
        || MultipleItemGather::once(5, (&port, &Port::<u32>::bounded(1, Overflow::Wait)), |_| ());
    let why = refused(|| drop(both()));
    assert!(
        why.contains("hold 3 items at most, and 5 are wanted"),
        "{why}"
    );
    assert_eq!(port.receiver_count(), 0);
}

#[test]
fn sem_g598_an_item_that_is_posted_is_one_of_those_that_are_there() {
    let queue = here();
    let (port, other, log) = (Port::bounded(2, Overflow::Reject), Port::new(), Log::new());
    let batches = log.clone();
    let three =
        MultipleItemReceive::persistent(&port, 3, move |batch: Vec<u32>| batches.push(batch));
    three.activate(&queue).unwrap();
    post_all(&port, 1..=3);
    assert_eq!(log.take(), [vec![1, 2, 3]]);
    // It takes fewer in time, and there is room for many at the other port.
    let (late, _) = batching(&port, 4);
    late.activate(&queue).unwrap();
    let gather = MultipleItemGather::once(9, (&port, &other), |_: (Vec<u32>, Vec<u32>)| ());
    gather.activate(&queue).unwrap();
}
