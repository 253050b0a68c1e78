//! Queues with execution policies, for tests.

use motet_dispatch::{
    Dispatcher, DispatcherQueue, ExecutionPolicy, ExecutionPolicyNotification, QueueConfig, Rate,
    Task,
};
use motet_testkit::Log;
use std::num::{NonZeroU32, NonZeroUsize};

pub(crate) fn queue_with(dispatcher: &Dispatcher, policy: ExecutionPolicy) -> DispatcherQueue {
    dispatcher.queue(QueueConfig {
        policy,
        ..QueueConfig::named("policed")
    })
}

pub(crate) fn some(depth: usize) -> NonZeroUsize {
    NonZeroUsize::new(depth).unwrap()
}

pub(crate) fn newest(dispatcher: &Dispatcher, depth: usize) -> DispatcherQueue {
    let depth = some(depth);
    queue_with(
        dispatcher,
        ExecutionPolicy::ConstrainQueueDepthDiscardTasks { depth },
    )
}

pub(crate) fn throttled(dispatcher: &Dispatcher, depth: usize) -> DispatcherQueue {
    let depth = some(depth);
    queue_with(
        dispatcher,
        ExecutionPolicy::ConstrainQueueDepthThrottleExecution { depth },
    )
}

pub(crate) fn rate(per_second: f64, burst: u32) -> Rate {
    let burst = NonZeroU32::new(burst).unwrap();
    Rate::per_second(per_second).unwrap().with_burst(burst)
}

/// Keeps what the queue tells: discarded tasks, and how often somebody was throttled.
pub(crate) fn told(queue: &DispatcherQueue) -> (Log<Task>, Log<()>) {
    let (discarded, throttled) = (Log::new(), Log::new());
    let logs = (discarded.clone(), throttled.clone());
    queue.on_notification(move |told| match told {
        ExecutionPolicyNotification::Discarded(task) => discarded.push(task),
        ExecutionPolicyNotification::Throttled => throttled.push(()),
        other => panic!("{other:?}"),
    });
    logs
}
