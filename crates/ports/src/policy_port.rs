//! Execution policies as items: a port that receives what a queue's policy does.

use crate::Port;
use motet_dispatch::{DispatcherQueue, ExecutionPolicyNotification};

/// Those who can post what their execution policy does to a port.
///
/// ```
/// use motet_dispatch::{Dispatcher, Enqueue, ExecutionPolicy, ExecutionPolicyNotification, QueueConfig, Task};
/// use motet_ports::ExecutionPolicyNotificationPort;
///
/// let dispatcher = Dispatcher::new(1);
/// let queue = dispatcher.queue(QueueConfig {
///     policy: ExecutionPolicy::ConstrainQueueDepthDiscardTasks { depth: 1.try_into().unwrap() },
///     ..QueueConfig::named("newest")
/// });
/// let notifications = queue.execution_policy_notification_port();
/// queue.suspend();
/// (0..2).for_each(|_| queue.enqueue(Task::new(|| ())).unwrap());
/// assert!(matches!(notifications.test(), Some(ExecutionPolicyNotification::Discarded(_))));
/// ```
pub trait ExecutionPolicyNotificationPort {
    /// Makes a port that receives all notifications from now on; it takes the place of an earlier
    /// handler. What the port cannot take is dropped.
    fn execution_policy_notification_port(&self) -> Port<ExecutionPolicyNotification>;
}

impl ExecutionPolicyNotificationPort for DispatcherQueue {
    fn execution_policy_notification_port(&self) -> Port<ExecutionPolicyNotification> {
        let port = Port::new();
        let poster = port.clone();
        // What is refused is counted by the queue all the same.
        self.on_notification(move |told| drop(poster.post(told)));
        port
    }
}
