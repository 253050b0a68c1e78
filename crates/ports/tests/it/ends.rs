//! Ends: long chains, panics of destructors, dispatchers that end while somebody waits.

use crate::support::{dispatcher, here};
use motet_dispatch::{
    Dispatcher, DispatcherConfig, DispatcherQueue, Enqueue, ExecutionPolicy, QueueConfig,
    QueueError, Rate, Task, spawn,
};
use motet_ports::{Port, Receive, reply, select, timer};
use motet_sync::Arc;
use motet_sync::atomic::{AtomicUsize, Ordering};
use motet_sync::thread;
use motet_testkit::{Gate, patience, within};
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::time::Duration;

/// A chain long enough to overflow any stack, if a drop took a frame for each.
const LONG: usize = 100_000;

#[test]
fn sem_g273_dropping_the_first_port_of_a_long_chain_takes_a_bounded_stack() {
    within(patience(), || {
        let witness = Arc::new(());
        let last = Port::<Arc<()>>::new();
        let first = (0..LONG).fold(last, |next, _| {
            let port = Port::new();
            let witness = Arc::clone(&witness);
            Receive::persistent(&port, move |item| {
                let _ = &witness;
                next.post(item).unwrap();
            })
            .activate(&here())
            .unwrap();
            port
        });
        drop(first);
        assert_eq!(Arc::strong_count(&witness), 1, "all of it is gone");
    });
}

#[test]
fn sem_g273_ports_that_hold_ports_as_items_are_dropped_flat() {
    struct Nest(#[allow(dead_code, reason = "it is kept")] Option<Port<Nest>>);
    within(patience(), || {
        let mut outer = None;
        for _ in 0..LONG {
            let port = Port::new();
            port.post(Nest(outer)).unwrap();
            outer = Some(port);
        }
        drop(outer);
    });
}

#[test]
fn sem_g273_tasks_in_a_row_that_await_each_other_end_with_their_dispatcher() {
    within(patience(), || {
        let (dispatcher, queue) = dispatcher(1);
        let witness = Arc::new(());
        let (first, mut awaited) = reply::<u32>();
        for _ in 0..LONG {
            let (to, next) = reply();
            let (witness, before) = (Arc::clone(&witness), awaited);
            let task = async move {
                let _witness = witness;
                let _unwanted = to.post(before.await.unwrap_or(0));
            };
            spawn(&queue.handle(), task).unwrap();
            awaited = next;
        }
        dispatcher.wait_idle();
        drop(dispatcher);
        drop(first);
        drop(awaited);
        assert_eq!(Arc::strong_count(&witness), 1);
    });
}

#[test]
fn sem_g275_a_dropped_dispatcher_drops_the_tasks_that_wait_on_ports() {
    within(patience(), || {
        let witness = Arc::new(());
        let (dispatcher, queue) = dispatcher(2);
        let (port, other) = (Port::<u32>::new(), Port::<u32>::new());
        for _ in 0..100 {
            let (port, witness) = (port.clone(), Arc::clone(&witness));
            let task = async move {
                let _witness = witness;
                loop {
                    port.recv().await;
                }
            };
            spawn(&queue.handle(), task).unwrap();
        }
        for _ in 0..10 {
            let (port, other, witness) = (port.clone(), other.clone(), Arc::clone(&witness));
            let task = async move {
                let _witness = witness;
                let either = select().recv(&port, |n| n).recv(&other, |n| n);
                either.await;
            };
            spawn(&queue.handle(), task).unwrap();
        }
        dispatcher.wait_idle();
        assert_eq!(Arc::strong_count(&witness), 111);
        drop(dispatcher);
        assert_eq!(Arc::strong_count(&witness), 1);
        assert_eq!((port.receiver_count(), other.receiver_count()), (0, 0));
        port.post(7).unwrap();
        assert_eq!(port.test(), Some(7), "nobody takes it any more");
    });
}

#[test]
fn sem_g275_sleepers_and_askers_end_with_their_dispatcher() {
    within(patience(), || {
        let witness = Arc::new(());
        let (dispatcher, queue) = dispatcher(1);
        let (to, answer) = reply::<u32>();
        let kept = Arc::clone(&witness);
        let asks = async move {
            let _kept = kept;
            let _never = answer.await;
        };
        spawn(&queue.handle(), asks).unwrap();
        let kept = Arc::clone(&witness);
        let sleeps = async move {
            let _kept = kept;
            timer::sleep(Duration::from_secs(3600)).await;
        };
        spawn(&queue.handle(), sleeps).unwrap();
        dispatcher.wait_idle();
        drop(dispatcher);
        assert_eq!(Arc::strong_count(&witness), 1);
        assert!(!to.is_wanted());
    });
}

#[test]
fn sem_g275_who_begins_to_wait_after_the_end_of_its_dispatcher_is_dropped_too() {
    within(patience(), || {
        let witness = Arc::new(());
        let dispatcher = Dispatcher::with(DispatcherConfig {
            background: true,
            ..DispatcherConfig::default()
        })
        .unwrap();
        let queue = dispatcher.queue(QueueConfig::default());
        let (ran, may_wait) = (Gate::new(), Gate::new());
        let (tell, go_on, kept) = (ran.clone(), may_wait.clone(), Arc::clone(&witness));
        let port = Port::<u32>::new();
        let waits_at = port.clone();
        let task = async move {
            let _kept = kept;
            tell.open();
            go_on.pass();
            waits_at.recv().await;
        };
        spawn(&queue.handle(), task).unwrap();
        ran.pass();
        drop(dispatcher);
        may_wait.open();
        while Arc::strong_count(&witness) > 1 {
            thread::yield_now();
        }
        assert_eq!(port.receiver_count(), 0);
    });
}

/// The policies that hand a task back when there is no room.
fn full_policies() -> [ExecutionPolicy; 3] {
    [
        ExecutionPolicy::RejectTasks { depth: 1 },
        ExecutionPolicy::ConstrainQueueDepthThrottleExecution {
            depth: 1.try_into().unwrap(),
        },
        ExecutionPolicy::ConstrainSchedulingRateThrottleExecution {
            rate: Rate::per_second(200.0).unwrap(),
        },
    ]
}

/// Takes one item, and waits for the next, however full the queue is.
fn arm(port: &Port<u32>, queue: &DispatcherQueue, handled: &Arc<AtomicUsize>) {
    let (again, on, count) = (port.clone(), queue.clone(), Arc::clone(handled));
    let receive = Receive::once(port, move |_| {
        count.fetch_add(1, Ordering::SeqCst);
        while on.enqueue(Task::new(|| ())).is_ok() {}
        arm(&again, &on, &count);
    });
    receive.activate(queue).unwrap();
}

#[test]
fn sem_g277_a_registration_takes_no_room() {
    within(patience(), || {
        for policy in full_policies() {
            let dispatcher = Dispatcher::new(1);
            let config = QueueConfig {
                policy,
                ..QueueConfig::named("full")
            };
            let queue = dispatcher.queue(config);
            let (port, handled) = (Port::new(), Arc::new(AtomicUsize::new(0)));
            arm(&port, &queue, &handled);
            dispatcher.wait_idle();
            for round in 1..=3 {
                // A rate gives room when it likes.
                while port.post(round).is_err() {
                    thread::yield_now();
                }
                dispatcher.wait_idle();
                assert_eq!(handled.load(Ordering::SeqCst), round as usize, "{policy:?}");
                assert_eq!(port.receiver_count(), 1, "{policy:?}");
            }
        }
    });
}

#[test]
fn sem_g277_a_registration_on_a_stopped_queue_is_refused() {
    let (dispatcher, queue) = dispatcher(1);
    drop(dispatcher);
    let refused = Receive::once(&Port::<u32>::new(), drop).activate(&queue);
    assert_eq!(refused.unwrap_err(), QueueError::Stopped);
}

#[test]
fn sem_g278_an_arbiter_is_not_active_once_its_dispatcher_has_ended() {
    let (dispatcher, queue) = dispatcher(1);
    let port = Port::<u32>::new();
    let activation = Receive::persistent(&port, drop).activate(&queue).unwrap();
    dispatcher.wait_idle();
    assert!(activation.is_active());
    drop(dispatcher);
    assert!(!activation.is_active());
}

/// Counts itself when it is dropped; some panic then.
struct Touchy(Arc<AtomicUsize>, bool);

impl Drop for Touchy {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
        assert!(!self.1, "a destructor that panics");
    }
}

#[test]
fn sem_g274_an_item_whose_drop_panics_does_not_keep_those_behind_it() {
    // A few in nodes, many on a pile.
    for count in [5, 1_000] {
        let fill = || {
            let (port, dropped) = (Port::new(), Arc::new(AtomicUsize::new(0)));
            for number in 0..count {
                let item = Touchy(Arc::clone(&dropped), number % 3 == 1);
                assert!(port.post(item).is_ok());
            }
            (port, dropped)
        };
        let (port, dropped) = fill();
        assert!(catch_unwind(AssertUnwindSafe(|| port.clear())).is_err());
        assert_eq!(dropped.load(Ordering::SeqCst), count, "clear");
        assert_eq!(port.item_count(), 0);
        let (port, dropped) = fill();
        assert!(catch_unwind(AssertUnwindSafe(|| drop(port))).is_err());
        assert_eq!(dropped.load(Ordering::SeqCst), count, "the last handle");
    }
}

#[test]
fn sem_g276_replies_sleeps_and_calls_are_in_the_waiting_list() {
    within(patience(), || {
        let (dispatcher, queue) = dispatcher(1);
        let (to, answer) = reply::<u32>();
        let gate = Gate::new();
        let (calls, held) = (queue.clone(), gate.clone());
        let tasks: [Pin<Box<dyn Future<Output = ()> + Send>>; 3] = [
            Box::pin(async move { assert_eq!(answer.await, Ok(7)) }),
            Box::pin(timer::sleep(Duration::from_secs(3600))),
            Box::pin(async move {
                calls.run_blocking(move || held.pass()).await.unwrap();
            }),
        ];
        for task in tasks {
            spawn(&queue.handle(), task).unwrap();
        }
        dispatcher.wait_idle();
        let who = || {
            let waiting = dispatcher.waiting();
            let names = waiting.waits().iter().map(|wait| wait.awaited.who);
            let mut names: Vec<_> = names.collect();
            names.sort_unstable();
            names
        };
        assert_eq!(who(), ["reply", "run_blocking", "sleep"]);
        for wait in dispatcher.waiting().waits() {
            assert_eq!(wait.created.file(), file!(), "{wait}");
        }
        to.post(7).unwrap();
        gate.open();
        while who().len() > 1 {
            thread::yield_now();
        }
        assert_eq!(who(), ["sleep"]);
    });
}
