//! Room that an interleave gives back wakes others, whose wakers may panic.

use super::{says, stage};
use crate::support::{broken, dispatcher, poll, post_all, told};
use motet_dispatch::{Dispatcher, DispatcherQueue, Enqueue, ExecutionPolicy, QueueConfig, Task};
use motet_ports::{ExceptionPort, Interleave, Port, Receive};
use motet_testkit::{Log, patience, within};
use std::num::NonZeroUsize;

/// A queue in which so many tasks may wait, and others for room.
fn throttled(dispatcher: &Dispatcher, depth: usize) -> DispatcherQueue {
    let depth = NonZeroUsize::new(depth).unwrap();
    dispatcher.queue(QueueConfig {
        policy: ExecutionPolicy::ConstrainQueueDepthThrottleExecution { depth },
        ..QueueConfig::named("narrow")
    })
}

#[test]
fn sem_g34_sem_g49_a_waker_that_panics_does_not_take_the_floor_from_exclusive_handlers() {
    within(patience(), || {
        let dispatcher = Dispatcher::new(1);
        let narrow = throttled(&dispatcher, 1);
        let (exceptions, port, log) = (narrow.exception_port(), Port::new(), Log::new());
        let handled = log.clone();
        Interleave::new()
            .exclusive(Receive::persistent(&port, move |n| handled.push(n)))
            .activate(&narrow)
            .unwrap();
        dispatcher.wait_idle();
        narrow.suspend();
        post_all(&port, [1]);
        let mut waits = narrow.enqueue_wait(Task::new(|| ()));
        assert!(poll(&mut waits, &broken()).is_pending(), "it has the room");
        narrow.resume();
        dispatcher.wait_idle();
        assert_eq!(log.take(), [1]);
        assert!(poll(&mut waits, &broken()).is_ready(), "room was granted");
        dispatcher.wait_idle();
        post_all(&port, [2]);
        dispatcher.wait_idle();
        assert_eq!(log.take(), [2], "the exclusion is free");
        assert_eq!(told(&exceptions), ["a waker is broken"]);
    });
}

#[test]
fn sem_g34_sem_g49_a_waker_that_panics_keeps_no_held_concurrent_handler_from_its_turn() {
    within(patience(), || {
        let (dispatcher, wide) = dispatcher(2);
        let narrow = throttled(&dispatcher, 2);
        let exceptions = narrow.exception_port();
        let (alone, together, stage, log) = (Port::new(), Port::new(), stage(), Log::new());
        let handled = log.clone();
        let active = Interleave::new()
            .exclusive(Receive::persistent(&alone, says(&stage, 'E')))
            .activate(&wide)
            .unwrap();
        let member = Receive::persistent(&together, move |n| handled.push(n));
        active
            .combine_with(Interleave::new().concurrent(member), &narrow)
            .unwrap();
        dispatcher.wait_idle();
        post_all(&alone, [1]);
        stage.1.wait_for(1);
        post_all(&together, [2, 3]);
        // The other worker has met the one who is alone, twice.
        super::until(|| active.concurrent_waiting() == 2);
        let mut waits = narrow.enqueue_wait(Task::new(|| ()));
        assert!(
            poll(&mut waits, &broken()).is_pending(),
            "they hold the room"
        );
        stage.1.open();
        dispatcher.wait_idle();
        assert_eq!(log.take_sorted(), [2, 3]);
        assert_eq!(told(&exceptions), ["a waker is broken"]);
        assert!(poll(&mut waits, &broken()).is_ready());
        post_all(&alone, [4]);
        dispatcher.wait_idle();
        assert_eq!(stage.0.take(), ["E1", "-E1", "E4", "-E4"]);
    });
}
