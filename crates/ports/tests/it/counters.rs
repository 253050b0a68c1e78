//! What a port counts.

use crate::support::poll;
use motet_dispatch::{ExecutionPolicy, QueueConfig, Replay};
use motet_ports::{Overflow, Port, Receive};
use std::task::Waker;

/// The counters of a port: posted, taken, waiting, dropped, refused.
fn counted(port: &Port<u32>) -> [u64; 5] {
    let now = port.counters();
    [now.posted, now.taken, now.waiting, now.dropped, now.refused]
}

#[test]
fn sem_g267_a_port_counts_what_went_through_it() {
    let port = Port::new();
    assert_eq!(counted(&port), [0; 5]);
    (1..=4).for_each(|n| port.post(n).unwrap());
    assert_eq!((port.test(), counted(&port)), (Some(1), [4, 1, 3, 0, 0]));
    port.put_back(9).unwrap();
    assert_eq!(
        counted(&port),
        [5, 1, 4, 0, 0],
        "put back by hand: it came in"
    );
    // What comes back from a receive that was given up is one of those that came in before.
    let empty = Port::new();
    let mut recv = empty.recv();
    assert!(poll(&mut recv, Waker::noop()).is_pending());
    empty.post(1).unwrap();
    assert_eq!(counted(&empty), [1, 1, 0, 0, 0]);
    drop(recv);
    assert_eq!(counted(&empty), [1, 0, 1, 0, 0]);
    assert_eq!(empty.test(), Some(1));
    assert!(
        format!("{empty:?}").contains("PortCounters { posted: 1, taken: 1,"),
        "{empty:?}"
    );
}

#[test]
fn sem_g267_what_is_dropped_and_refused_is_counted_as_such() {
    let oldest = Port::bounded(2, Overflow::DropOldest);
    (1..=5).for_each(|n| oldest.post(n).unwrap());
    assert_eq!(counted(&oldest), [5, 0, 2, 3, 0]);
    let newest = Port::bounded(2, Overflow::DropNewest);
    (1..=5).for_each(|n| newest.post(n).unwrap());
    assert_eq!(counted(&newest), [5, 0, 2, 3, 0]);
    let rejects = Port::bounded(2, Overflow::Reject);
    (1..=5).for_each(|n| drop(rejects.post(n)));
    assert_eq!(counted(&rejects), [2, 0, 2, 0, 3]);
}

#[test]
fn sem_g267_who_waits_for_room_is_counted_when_it_is_let_in_and_not_as_refused() {
    let port = Port::bounded(1, Overflow::Wait);
    port.post(1).unwrap();
    let (mut second, mut third) = (port.post_wait(2), port.post_wait(3));
    assert!(
        poll(&mut second, Waker::noop()).is_pending()
            && poll(&mut third, Waker::noop()).is_pending()
    );
    assert_eq!(counted(&port), [1, 0, 1, 0, 0]);
    assert!(port.post(4).is_err(), "nobody goes before those who wait");
    assert_eq!(counted(&port), [1, 0, 1, 0, 1]);
    assert_eq!((port.test(), counted(&port)), (Some(1), [2, 1, 1, 0, 1]));
    drop(third);
    assert_eq!((port.test(), counted(&port)), (Some(2), [2, 2, 0, 0, 1]));
}

#[test]
fn sem_g267_who_waits_for_room_in_a_queue_is_not_counted_as_refused() {
    let replay = Replay::new(1);
    let depth = 1.try_into().unwrap();
    let narrow = replay.queue(QueueConfig {
        policy: ExecutionPolicy::ConstrainQueueDepthThrottleExecution { depth },
        ..QueueConfig::named("narrow")
    });
    let port = Port::new();
    Receive::persistent(&port, |_: u32| ())
        .activate(&narrow)
        .unwrap();
    replay.run();
    port.post(1).unwrap();
    let mut waits = port.post_wait(2);
    assert!(poll(&mut waits, Waker::noop()).is_pending());
    assert_eq!(counted(&port), [1, 1, 0, 0, 0]);
    assert!(port.post(3).is_err());
    assert_eq!(counted(&port), [1, 1, 0, 0, 1]);
    replay.run();
    assert!(poll(&mut waits, Waker::noop()).is_ready());
    assert_eq!(counted(&port), [2, 2, 0, 0, 1]);
}
