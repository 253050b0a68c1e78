//! Execution policies in a replay: the same, in virtual time.

use crate::support::note;
use motet_dispatch::{
    Enqueue, ExecutionPolicy, ExecutionPolicyNotification, QueueConfig, QueueError, Rate, Replay,
    ReplayQueue, Task, spawn,
};
use motet_testkit::{Log, patience, within};
use std::num::NonZeroUsize;
use std::time::Duration;

fn queue(replay: &Replay, policy: ExecutionPolicy) -> ReplayQueue {
    replay.queue(QueueConfig {
        policy,
        ..QueueConfig::named("policed")
    })
}

#[test]
fn sem_g45_a_replay_keeps_the_newest() {
    let replay = Replay::new(1);
    let depth = NonZeroUsize::new(2).unwrap();
    let policy = ExecutionPolicy::ConstrainQueueDepthDiscardTasks { depth };
    let (queue, log, discarded) = (queue(&replay, policy), Log::new(), Log::new());
    let told = discarded.clone();
    queue.on_notification(move |event| match event {
        ExecutionPolicyNotification::Discarded(task) => told.push(task),
        other => panic!("{other:?}"),
    });
    queue.readmit(Task::new({
        let log = log.clone();
        move || log.push(0)
    }));
    (1..=4).for_each(|n| note(&queue, &log, n));
    replay.run();
    assert_eq!(log.take_sorted(), [0, 3, 4]);
    discarded.take().into_iter().for_each(Task::run);
    assert_eq!(log.take(), [1, 2]);
    assert_eq!(
        (queue.counters().discarded, queue.counters().pending()),
        (2, 0)
    );
}

#[test]
fn sem_g48_who_waits_in_a_replay_is_served_in_order() {
    let replay = Replay::new(3);
    let depth = NonZeroUsize::MIN;
    let policy = ExecutionPolicy::ConstrainQueueDepthThrottleExecution { depth };
    let (queue, log) = (queue(&replay, policy), Log::new());
    let free = replay.queue(QueueConfig::default());
    for poster in 0..2 {
        let (queue, log) = (queue.clone(), log.clone());
        spawn(&free.handle(), async move {
            for n in 0..5 {
                let log = log.clone();
                let task = Task::new(move || log.push((poster, n)));
                queue.enqueue_wait(task).await.unwrap();
            }
        })
        .unwrap();
    }
    replay.run();
    let all = log.take();
    assert_eq!(all.len(), 10);
    for poster in 0..2 {
        let own = all.iter().filter(|entry| entry.0 == poster);
        assert!(own.map(|entry| entry.1).eq(0..5));
    }
}

#[test]
fn sem_g46_the_rate_of_a_replay_is_one_of_virtual_time() {
    within(patience(), || {
        let replay = Replay::new(5);
        let rate = Rate::per_second(0.01).unwrap();
        let policy = ExecutionPolicy::ConstrainSchedulingRateThrottleExecution { rate };
        let queue = queue(&replay, policy);
        let free = replay.queue(QueueConfig::default());
        let begun = replay.clock().now();
        let (posts, log) = (queue.clone(), Log::new());
        let (seen, clock) = (log.clone(), replay.clock());
        spawn(&free.handle(), async move {
            for _ in 0..4 {
                posts.enqueue_wait(Task::new(|| ())).await.unwrap();
                seen.push(clock.now() - begun);
            }
        })
        .unwrap();
        replay.run();
        let times = log.take();
        assert_eq!(times.len(), 4);
        for (n, time) in (0..).zip(times) {
            let due = Duration::from_secs(100) * n;
            assert!(
                time >= due && time < due + Duration::from_secs(1),
                "{n}: {time:?}"
            );
        }
        assert_eq!(
            queue.enqueue(Task::new(|| ())).unwrap_err().reason,
            QueueError::RateExceeded
        );
    });
}
