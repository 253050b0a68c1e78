//! A queue's handle as a queue that arbiters are activated on.

use motet_dispatch::{Clock, Enqueue, Exception, QueueError, RoomLine, Task, Waiter};
use std::panic::Location;
use std::sync::{Arc, Weak};

/// The queue of a service, to activate arbiters on.
#[derive(Clone)]
pub struct Queue(pub(crate) Arc<dyn Enqueue>);

impl Enqueue for Queue {
    fn reserve(&self) -> Result<(), QueueError> {
        self.0.reserve()
    }

    fn is_free(&self) -> bool {
        self.0.is_free()
    }

    fn is_stopped(&self) -> bool {
        self.0.is_stopped()
    }

    fn release(&self) {
        self.0.release();
    }

    fn admit(&self, task: Task) {
        self.0.admit(task);
    }

    fn admit_here(&self, task: Task) -> Result<bool, Task> {
        self.0.admit_here(task)
    }

    fn readmit(&self, task: Task) {
        self.0.readmit(task);
    }

    fn hold(&self) {
        self.0.hold();
    }

    fn leaves(&self) {
        self.0.leaves();
    }

    fn may_start(&self) -> bool {
        self.0.may_start()
    }

    fn admit_kept(&self, task: Task) {
        self.0.admit_kept(task);
    }

    fn room(&self) -> Option<RoomLine> {
        self.0.room()
    }

    fn is_own_worker(&self) -> bool {
        self.0.is_own_worker()
    }

    fn handle(&self) -> Arc<dyn Enqueue> {
        Arc::clone(&self.0)
    }

    fn name(&self) -> &str {
        self.0.name()
    }

    fn clock(&self) -> Clock {
        self.0.clock()
    }

    fn arbiter_ended(&self) {
        self.0.arbiter_ended();
    }

    fn raise(&self, exception: Exception) {
        self.0.raise(exception);
    }

    fn watch(&self, waiter: Weak<dyn Waiter>, created: &'static Location<'static>) {
        self.0.watch(waiter, created);
    }

    fn start(&self, task: Task) {
        self.0.start(task);
    }
}

impl std::fmt::Debug for Queue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Queue").field(&self.name()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use motet_dispatch::{Dispatcher, ExecutionPolicy, QueueConfig, Rate, Replay};
    use motet_ports::{Port, Receive};
    use std::time::Duration;

    #[test]
    fn what_goes_on_otherwise_counts_in_the_rate_of_the_queue() {
        let replay = Replay::new(1);
        let rate = Rate::per_second(1.0).unwrap();
        let policy = ExecutionPolicy::ConstrainSchedulingRateThrottleExecution { rate };
        let slow = replay.queue(QueueConfig {
            policy,
            ..QueueConfig::named("slow")
        });
        replay.run_for(Duration::from_secs(2));
        let queue = Queue(slow.handle());
        assert_eq!(queue.reserve(), Ok(()));
        queue.leaves();
        assert_eq!(queue.reserve(), Err(QueueError::RateExceeded));
    }

    #[test]
    fn no_arbiter_is_put_to_work_on_the_queue_of_a_host_that_has_ended() {
        let dispatcher = Dispatcher::new(1);
        let queue = Queue(dispatcher.queue(QueueConfig::named("ends")).handle());
        let port = Port::<u8>::new();
        let begun = Receive::persistent(&port, |_| ()).activate(&queue);
        assert!(begun.unwrap().is_active());
        drop(dispatcher);
        let refused = Receive::persistent(&port, |_| ()).activate(&queue);
        assert!(matches!(refused, Err(QueueError::Stopped)));
    }
}
