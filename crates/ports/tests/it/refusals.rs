//! Queues that refuse, handlers that panic, destructors that use ports: nothing is lost.

use crate::support::{
    dispatcher, here, in_parallel, on_dispatchers, port_with, post_all, take_all,
};
use motet_dispatch::{
    Dispatcher, DispatcherQueue, Enqueue, Exception, Inline, QueueConfig, QueueError, Replay, Task,
};
use motet_ports::{ExceptionPort, JoinedReceive, MultipleItemReceive, Port, PostRefusal, Receive};
use motet_sync::Arc;
use motet_testkit::{Drops, Log, patience, within};
use proptest::prelude::*;

/// A queue of one thread on which so many tasks may wait.
fn bounded(depth: usize) -> (Dispatcher, DispatcherQueue) {
    let dispatcher = Dispatcher::new(1);
    let queue = dispatcher.queue(QueueConfig::bounded("queue", depth));
    (dispatcher, queue)
}

type Pair = (u32, u32);

/// A join and what it logs.
pub(crate) fn joining(p: &Port<u32>, q: &Port<u32>) -> (JoinedReceive<Pair>, Log<Pair>) {
    let pairs = Log::new();
    let log = pairs.clone();
    let join = JoinedReceive::persistent((p, q), move |pair| log.push(pair));
    (join, pairs)
}

/// A receive of batches and what it logs.
pub(crate) fn batching(
    port: &Port<u32>,
    count: usize,
) -> (MultipleItemReceive<u32>, Log<Vec<u32>>) {
    let batches = Log::new();
    let log = batches.clone();
    let receive = MultipleItemReceive::persistent(port, count, move |batch| log.push(batch));
    (receive, batches)
}

#[test]
fn sem_g02_an_item_that_is_refused_comes_back_to_its_poster() {
    within(patience(), || {
        let (dispatcher, queue) = bounded(2);
        let (port, handled) = (Port::new(), Log::new());
        let log = handled.clone();
        Receive::persistent(&port, move |n| log.push(n))
            .activate(&queue)
            .unwrap();
        dispatcher.wait_idle();
        queue.suspend();
        post_all(&port, [1, 2]);
        for post in [Port::post, Port::put_back] {
            let refused = post(&port, 3).unwrap_err();
            assert_eq!(
                (refused.item, refused.reason),
                (3, PostRefusal::Queue(QueueError::Full))
            );
        }
        assert_eq!((port.item_count(), queue.counters().refused), (0, 2));
        queue.resume();
        dispatcher.wait_idle();
        port.post(3).unwrap();
        dispatcher.wait_idle();
        assert_eq!(handled.take(), [1, 2, 3]);
    });
}

#[test]
fn ccr_057_sem_g02_a_join_that_is_refused_takes_nothing() {
    within(patience(), || {
        let (dispatcher, queue) = bounded(1);
        let (p, q) = (Port::new(), Port::new());
        let (join, pairs) = joining(&p, &q);
        join.activate(&queue).unwrap();
        dispatcher.wait_idle();
        queue.suspend();
        post_all(&p, [1, 2, 3]);
        q.post(10).unwrap();
        assert_eq!(q.post(20).unwrap_err().item, 20);
        assert_eq!((p.items(), q.item_count()), (vec![2, 3], 0));
        queue.resume();
        dispatcher.wait_idle();
        q.post(20).unwrap();
        dispatcher.wait_idle();
        assert_eq!(pairs.take(), [(1, 10), (2, 20)]);
        assert_eq!(p.items(), [3]);
    });
}

#[test]
fn sem_g02_a_batch_that_is_refused_takes_nothing() {
    within(patience(), || {
        let (dispatcher, queue) = bounded(1);
        let port = Port::new();
        let (receive, batches) = batching(&port, 3);
        receive.activate(&queue).unwrap();
        dispatcher.wait_idle();
        queue.suspend();
        post_all(&port, 1..=5);
        assert_eq!(port.post(6).unwrap_err().item, 6);
        assert_eq!(port.items(), [4, 5]);
        queue.resume();
        dispatcher.wait_idle();
        port.post(6).unwrap();
        dispatcher.wait_idle();
        assert_eq!(batches.take(), [[1, 2, 3], [4, 5, 6]]);
    });
}

#[test]
fn sem_g09_batches_that_had_no_room_at_first_keep_the_order() {
    within(patience(), || {
        let (dispatcher, queue) = bounded(1);
        // Room for one batch while the registration runs; the rest waits in the port for room.
        let port = port_with(1..=7);
        let (receive, batches) = batching(&port, 2);
        receive.activate(&queue).unwrap();
        dispatcher.wait_idle();
        assert_eq!(batches.take(), [[1, 2], [3, 4], [5, 6]], "the oldest first");
        assert_eq!(port.items(), [7]);
    });
}

#[test]
fn sem_g07_pairs_that_had_no_room_at_first_keep_the_order() {
    within(patience(), || {
        for to_first in [true, false] {
            let (dispatcher, queue) = bounded(1);
            let (p, q) = (port_with(1..=3), port_with(11..=13));
            let (join, pairs) = joining(&p, &q);
            join.activate(&queue).unwrap();
            dispatcher.wait_idle();
            let three = [(1, 11), (2, 12), (3, 13)];
            assert_eq!(pairs.take(), three, "the oldest with the oldest");
            let (port, item) = if to_first { (&p, 4) } else { (&q, 14) };
            port.post(item).unwrap();
            dispatcher.wait_idle();
            let all = [p.items(), q.items()].concat();
            assert_eq!(all, [item], "its partner is missing");
        }
    });
}

#[test]
fn sem_g07_sem_g11_what_is_put_back_comes_first_in_its_pair() {
    within(patience(), || {
        let (dispatcher, queue) = bounded(1);
        let (p, q) = (port_with(1..=3), port_with(11..=12));
        let (join, pairs) = joining(&p, &q);
        join.activate(&queue).unwrap();
        dispatcher.wait_idle();
        assert_eq!(pairs.take(), [(1, 11), (2, 12)]);
        p.put_back(9).unwrap();
        q.post(13).unwrap();
        dispatcher.wait_idle();
        assert_eq!(pairs.take(), [(9, 13)]);
        assert_eq!(p.items(), [3]);
    });
}

#[test]
fn sem_g09_sem_g11_what_is_put_back_comes_first_in_its_batch() {
    let port = port_with([5, 6]);
    let (receive, batches) = batching(&port, 3);
    receive.activate(&here()).unwrap();
    port.put_back(4).unwrap();
    assert_eq!(batches.take(), [[4, 5, 6]]);
}

#[test]
fn sem_g09_sem_g11_a_batch_that_comes_back_is_taken_in_its_old_order() {
    within(patience(), || {
        let (dispatcher, queue) = dispatcher(1);
        let port = Port::new();
        batching(&port, 3).0.activate(&queue).unwrap();
        dispatcher.wait_idle();
        queue.suspend();
        post_all(&port, 1..=4);
        let tasks = dispatcher.stop();
        assert_eq!(port.items(), [4]);
        let (receive, batches) = batching(&port, 3);
        receive.activate(&here()).unwrap();
        tasks.into_iter().for_each(Task::cleanup);
        assert_eq!(
            batches.take(),
            [[2, 3, 4]],
            "three are there before the first is back"
        );
        assert_eq!(port.items(), [1]);
    });
}

#[test]
fn sem_g11_a_batch_that_comes_back_stands_in_its_old_order() {
    within(patience(), || {
        let (dispatcher, queue) = dispatcher(1);
        let (port, p, q) = (Port::new(), Port::new(), Port::new());
        batching(&port, 3).0.activate(&queue).unwrap();
        joining(&p, &q).0.activate(&queue).unwrap();
        dispatcher.wait_idle();
        queue.suspend();
        post_all(&port, 1..=7);
        post_all(&p, [1, 2, 3]);
        post_all(&q, [11, 12]);
        assert_eq!(
            (port.items(), p.items(), q.item_count()),
            (vec![7], vec![3], 0)
        );
        drop(dispatcher);
        assert_eq!(port.item_count(), 7);
        assert_eq!((take_all(&p).len(), take_all(&q).len()), (3, 2));
    });
}

#[test]
fn sem_g02_a_bounded_queue_under_load_hands_back_what_it_refuses() {
    within(patience(), || {
        const EACH: u32 = 2_000;
        for threads in [1, 2, 4] {
            let dispatcher = Dispatcher::new(threads);
            let queue = dispatcher.queue(QueueConfig::bounded("queue", 3));
            let (port, p, q) = (Port::new(), Port::new(), Port::new());
            let (receive, batches) = batching(&port, 3);
            let (join, pairs) = joining(&p, &q);
            receive.activate(&queue).unwrap();
            dispatcher.wait_idle();
            join.activate(&queue).unwrap();
            dispatcher.wait_idle();
            let posting = [port.clone(), p.clone(), q.clone()];
            let refused = in_parallel(3, move |number| {
                let post = |n| posting[number].post(n).err().map(|refused| refused.item);
                (0..EACH).filter_map(post).collect::<Vec<u32>>()
            });
            dispatcher.wait_idle();
            let (a, b): (Vec<_>, Vec<_>) = pairs.take().into_iter().unzip();
            let handled = [batches.take().concat(), a, b];
            let ports = [&port, &p, &q];
            for ((handled, refused), port) in handled.into_iter().zip(refused).zip(ports) {
                let mut all = [handled, refused, take_all(port)].concat();
                all.sort_unstable();
                assert!(all.into_iter().eq(0..EACH), "{threads} threads");
            }
        }
    });
}

#[test]
fn sem_g02_sem_g34_a_handler_that_panics_holding_items_loses_no_others() {
    on_dispatchers(5, |dispatcher, queue| {
        let exceptions = queue.exception_port();
        let drops = Drops::new();
        let (port, p, q) = (Port::new(), Port::new(), Port::new());
        MultipleItemReceive::persistent(&port, 3, |_batch| panic!("batch"))
            .activate(queue)
            .unwrap();
        JoinedReceive::persistent((&p, &q), |_| panic!("join"))
            .activate(queue)
            .unwrap();
        dispatcher.wait_idle();
        for _ in 0..10 {
            for port in [&port, &p, &q] {
                assert!(port.post(drops.make()).is_ok());
            }
        }
        dispatcher.wait_idle();
        assert_eq!(exceptions.item_count(), 3 + 10);
        assert_eq!(port.item_count(), 1);
        assert_eq!(
            drops.dropped(),
            9 + 20,
            "each once, with the handler that held it"
        );
        assert_eq!(
            (
                port.receiver_count(),
                p.receiver_count(),
                q.receiver_count()
            ),
            (1, 1, 1)
        );
        assert_eq!(port.clear(), 1);
        assert_eq!(drops.made(), drops.dropped());
    });
}

/// Posts to a port when it is dropped.
struct Parting(Port<&'static str>);

impl Drop for Parting {
    fn drop(&mut self) {
        self.0.post("gone").unwrap();
        assert!(self.0.item_count() > 0);
    }
}

/// Makes a handler own what it mentions.
fn keep(_: &Parting) {}

#[test]
fn sem_g03_a_handler_may_use_its_own_port_when_it_is_dropped() {
    within(patience(), || {
        // Dropped by its cleanup, by its last item, and with a port that it does not own.
        let (own, farewells) = (Port::new(), Port::new());
        let parting = Parting(own.clone());
        let active = Receive::persistent(&own, move |_| keep(&parting))
            .when(|_| false)
            .activate(&here())
            .unwrap();
        active.cleanup();
        drop(active);
        assert_eq!(take_all(&own), ["gone"]);

        let parting = Parting(own.clone());
        let held = JoinedReceive::persistent((&own, &Port::<u32>::new()), move |_| keep(&parting))
            .activate(&here())
            .unwrap();
        held.cleanup();
        drop(held);
        assert_eq!(take_all(&own), ["gone"]);

        let parting = Parting(own.clone());
        let once = Receive::once(&own, move |_| drop(parting))
            .activate(&here())
            .unwrap();
        own.post("hello").unwrap();
        drop(once);
        assert_eq!(take_all(&own), ["gone"]);

        let (other, parting) = (Port::<u32>::new(), Parting(farewells.clone()));
        Receive::persistent(&other, move |_| keep(&parting))
            .activate(&here())
            .unwrap();
        drop(other);
        assert_eq!(take_all(&farewells), ["gone"]);
    });
}

/// An item whose destructor uses the port that it waited in.
struct Clinging(Port<Clinging>, Log<usize>);

impl Drop for Clinging {
    fn drop(&mut self) {
        self.1.push(self.0.item_count());
    }
}

#[test]
fn sem_g03_an_item_may_use_its_port_when_it_is_dropped() {
    within(patience(), || {
        let (port, counts) = (Port::new(), Log::new());
        let fill = || {
            (0..2).for_each(|_| assert!(port.post(Clinging(port.clone(), counts.clone())).is_ok()))
        };
        fill();
        assert_eq!(port.clear(), 2);
        fill();
        drop(port.test_multiple(2));
        Receive::persistent(&port, drop).activate(&here()).unwrap();
        fill();
        assert_eq!(counts.take(), [0; 6]);
    });
}

/// A queue that gives up what it holds when it is asked for room: what another thread may do at
/// that moment.
struct Forgetful {
    inner: Inline,
    holds: Log<Port<Parting>>,
}

impl Enqueue for Forgetful {
    fn reserve(&self) -> Result<(), QueueError> {
        drop(self.holds.take());
        self.inner.reserve()
    }

    fn release(&self) {
        self.inner.release();
    }

    fn admit(&self, task: Task) {
        self.inner.admit(task);
    }

    fn readmit(&self, task: Task) {
        self.inner.readmit(task);
    }

    fn handle(&self) -> Arc<dyn Enqueue> {
        Arc::new(Forgetful {
            inner: self.inner.clone(),
            holds: self.holds.clone(),
        })
    }

    fn name(&self) -> &str {
        self.inner.name()
    }

    fn raise(&self, exception: Exception) {
        self.inner.raise(exception);
    }
}

#[test]
fn sem_g03_a_port_may_end_while_a_join_looks_into_it() {
    within(patience(), || {
        let (p, q) = (Port::new(), Port::new());
        let (farewells, holds) = (Port::new(), Log::new());
        let queue = Forgetful {
            inner: here(),
            holds: holds.clone(),
        };
        let out = farewells.clone();
        JoinedReceive::persistent((&p, &q), move |(text, _)| out.post(text).unwrap())
            .activate(&queue)
            .unwrap();
        (0..3).for_each(|_| assert!(q.post(Parting(p.clone())).is_ok()));
        holds.push(q);
        p.post("hello").unwrap();
        assert_eq!(take_all(&farewells), ["hello"]);
        assert_eq!(take_all(&p), ["gone"; 3]);
    });
}

#[test]
fn sem_g02_ports_travel_as_items() {
    on_dispatchers(5, |dispatcher, queue| {
        const ASKERS: usize = 3;
        let service = Port::<(u32, Port<u32>)>::new();
        Receive::persistent(&service, |(n, reply): (u32, Port<u32>)| {
            reply.post(n * n).unwrap()
        })
        .activate(queue)
        .unwrap();
        let asked = service;
        let answers = in_parallel(ASKERS, move |number| {
            let base = u32::try_from(number).unwrap() * 1_000;
            (base..base + 300)
                .map(|n| {
                    let reply = Port::new();
                    asked.post((n, reply.clone())).unwrap();
                    (n, reply)
                })
                .collect::<Vec<_>>()
        });
        dispatcher.wait_idle();
        for (n, reply) in answers.into_iter().flatten() {
            assert_eq!(take_all(&reply), [n * n]);
        }
    });
}

proptest! {
    /// A receive of several without a guard does what the kernel of joins does for one whose guard
    /// wants everything: whatever is posted, put in front and taken by hand, and however full its
    /// queue is.
    #[test]
    fn prop_sem_g09_a_batch_without_a_guard_is_as_one_that_wants_all(
        count in 1..4_usize,
        depth in 1..4_usize,
        before in 0..6_usize,
        steps in proptest::collection::vec(0..4_u8, 0..24),
    ) {
        let run = |guarded: bool| {
            let replay = Replay::new(1);
            let queue = replay.queue(QueueConfig::bounded("batches", depth));
            let port = Port::new();
            let mut seen = Vec::new();
            (0..before).for_each(|n| seen.push(port.post(n as u32).is_ok()));
            let (receive, batches) = batching(&port, count);
            let receive = if guarded { receive.when(|_| true) } else { receive };
            receive.activate(&queue).unwrap();
            replay.run();
            for (step, n) in steps.iter().zip(100..) {
                seen.push(match step {
                    0 => port.post(n).is_ok(),
                    1 => port.put_back(n).is_ok(),
                    2 => port.test().is_some(),
                    _ => {
                        replay.run();
                        true
                    }
                });
            }
            replay.run();
            (seen, batches.take(), port.items())
        };
        prop_assert_eq!(run(false), run(true));
    }
}
