//! Interleaves: who may run together, and who goes first.

mod at_once;
mod broken_wakers;
mod ending;
mod stateful;
mod stress;
mod together;

use crate::support::{dispatcher, here, on_dispatchers, post_all};
use motet_dispatch::{Dispatcher, DispatcherQueue, Enqueue, QueueConfig, QueueError, Task};
use motet_ports::{ActiveInterleave, Fairness, Interleave, Port, Receive};
use motet_testkit::{Gate, Log, Overlap, patience, within};

/// A handler that says its word, stands at a gate and says it again in capitals.
type Stage = (Log<String>, Gate);

fn says<T: std::fmt::Display + Send>(
    (log, gate): &Stage,
    letter: char,
) -> impl Fn(T) + Send + Sync + 'static + use<T> {
    let (log, gate) = (log.clone(), gate.clone());
    move |n| {
        log.push(format!("{letter}{n}"));
        gate.pass();
        log.push(format!("-{letter}{n}"));
    }
}

fn stage() -> Stage {
    (Log::new(), Gate::new())
}

/// An interleave with a port for each group; teardown takes a unit.
struct Three {
    concurrent: Port<u32>,
    exclusive: Port<u32>,
    teardown: Port<()>,
    log: Log<String>,
    gate: Gate,
    active: ActiveInterleave,
}

impl Three {
    fn new(queue: &DispatcherQueue, fairness: Fairness) -> Self {
        let (concurrent, exclusive, teardown, stage) =
            (Port::new(), Port::new(), Port::new(), stage());
        let end = stage.0.clone();
        let active = Interleave::new()
            .concurrent(Receive::persistent(&concurrent, says(&stage, 'C')))
            .exclusive(Receive::persistent(&exclusive, says(&stage, 'E')))
            .teardown(Receive::once(&teardown, move |()| end.push("T".to_owned())))
            .fairness(fairness)
            .activate(queue)
            .unwrap();
        let (log, gate) = stage;
        Three {
            concurrent,
            exclusive,
            teardown,
            log,
            gate,
            active,
        }
    }

    /// What has begun, in order, without what has ended.
    fn begun(&self) -> Vec<String> {
        let mut begun = self.log.entries();
        begun.retain(|entry| !entry.starts_with('-'));
        begun
    }
}

/// Runs `body` with an interleave on a dispatcher with four threads; fails if it hangs.
fn with_three(fairness: Fairness, body: impl Fn(&Dispatcher, &Three) + Send + 'static) {
    within(patience(), move || {
        let (dispatcher, queue) = dispatcher(4);
        let three = Three::new(&queue, fairness);
        dispatcher.wait_idle();
        body(&dispatcher, &three);
        three.gate.open();
        dispatcher.wait_idle();
    });
}

/// Waits until `what` holds; other threads bring it about.
fn until(what: impl Fn() -> bool) {
    while !what() {
        motet_sync::thread::yield_now();
    }
}

#[test]
fn ccr_069_sem_g286_two_concurrent_receives_run_at_the_same_time() {
    within(patience(), || {
        let (dispatcher, queue) = dispatcher(2);
        let (one, two, stage) = (Port::new(), Port::new(), stage());
        Interleave::new()
            .concurrent(Receive::persistent(&one, says(&stage, 'A')))
            .concurrent(Receive::persistent(&two, says(&stage, 'B')))
            .activate(&queue)
            .unwrap();
        one.post(1).unwrap();
        two.post(2).unwrap();
        stage.1.wait_for(2);
        stage.1.open();
        dispatcher.wait_idle();
        assert_eq!(stage.0.entries().len(), 4);
    });
}

#[test]
fn ccr_070_sem_g286_two_items_of_one_concurrent_receive_run_at_the_same_time() {
    with_three(Fairness::default(), |_, three| {
        post_all(&three.concurrent, [1, 2]);
        three.gate.wait_for(2);
    });
}

#[test]
fn ccr_071_sem_g286_nothing_starts_while_an_exclusive_handler_runs() {
    with_three(Fairness::default(), |dispatcher, three| {
        three.exclusive.post(1).unwrap();
        three.gate.wait_for(1);
        three.concurrent.post(2).unwrap();
        three.exclusive.post(3).unwrap();
        until(|| three.active.concurrent_waiting() == 1);
        assert_eq!(three.begun(), ["E1"]);
        assert_eq!(three.active.exclusive_waiting(), 1);
        assert_eq!(three.exclusive.item_count(), 0, "taken, and held inside");
        three.gate.open();
        dispatcher.wait_idle();
        assert_eq!(three.log.entries(), ["E1", "-E1", "E3", "-E3", "C2", "-C2"]);
    });
}

#[test]
fn ccr_072_sem_g287_concurrent_work_waits_for_exclusive_work_that_waits() {
    with_three(Fairness::default(), |dispatcher, three| {
        three.concurrent.post(1).unwrap();
        three.gate.wait_for(1);
        three.exclusive.post(2).unwrap();
        three.concurrent.post(3).unwrap();
        until(|| three.active.concurrent_waiting() == 1);
        assert_eq!(three.begun(), ["C1"]);
        three.gate.open();
        dispatcher.wait_idle();
        assert_eq!(three.log.entries(), ["C1", "-C1", "E2", "-E2", "C3", "-C3"]);
    });
}

#[test]
fn ccr_073_sem_g287_exclusive_work_goes_before_concurrent_work_that_came_earlier() {
    with_three(Fairness::default(), |dispatcher, three| {
        three.exclusive.post(1).unwrap();
        three.gate.wait_for(1);
        three.concurrent.post(2).unwrap();
        until(|| three.active.concurrent_waiting() == 1);
        three.exclusive.post(3).unwrap();
        three.gate.open();
        dispatcher.wait_idle();
        assert_eq!(three.begun(), ["E1", "E3", "C2"]);
    });
}

#[test]
fn ccr_074_sem_g288_exclusive_items_are_handled_in_order_and_never_overlap() {
    on_dispatchers(2, |dispatcher, queue| {
        let (ports, log, overlap) = ([(); 3].map(|()| Port::new()), Log::new(), Overlap::new());
        let mut interleave = Interleave::new();
        for port in &ports {
            let (log, overlap) = (log.clone(), overlap.clone());
            interleave = interleave.exclusive(Receive::persistent(port, move |n: u32| {
                overlap.during(|| log.push(n));
            }));
        }
        interleave.activate(queue).unwrap();
        dispatcher.wait_idle();
        // One order over all ports of the group.
        for n in 0..600 {
            ports[n as usize * 7 % 3].post(n).unwrap();
        }
        dispatcher.wait_idle();
        assert_eq!(log.take(), (0..600).collect::<Vec<_>>());
        assert_eq!(overlap.most(), 1);
    });
}

#[test]
fn ccr_075_sem_g289_a_panic_releases_the_group() {
    within(patience(), || {
        let (dispatcher, queue) = dispatcher(2);
        let (exclusive, concurrent, log, panics) =
            (Port::new(), Port::new(), Log::new(), Log::new());
        let told = panics.clone();
        queue.on_exception(move |exception| told.push(exception.message().to_owned()));
        let [one, two] = [log.clone(), log.clone()];
        Interleave::new()
            .exclusive(Receive::persistent(&exclusive, move |n: u32| {
                assert!(n.is_multiple_of(2), "odd {n}");
                one.push(n);
            }))
            .concurrent(Receive::persistent(&concurrent, move |n: u32| {
                assert!(n.is_multiple_of(2), "odd {n}");
                two.push(n);
            }))
            .activate(&queue)
            .unwrap();
        for round in 0..100 {
            post_all(&exclusive, [round * 4, round * 4 + 1]);
            post_all(&concurrent, [round * 4 + 2, round * 4 + 3]);
        }
        dispatcher.wait_idle();
        let mut handled = log.take();
        handled.sort_unstable();
        assert_eq!(handled, (0..200).map(|n| n * 2).collect::<Vec<_>>());
        assert_eq!(panics.take().len(), 200);
    });
}

#[test]
fn ccr_076_sem_g289_an_async_exclusive_handler_holds_its_group_until_it_ends() {
    on_dispatchers(1, |dispatcher, queue| {
        let (exclusive, concurrent, go, log) =
            (Port::new(), Port::new(), Port::<()>::new(), Log::new());
        let (waits, begun, other) = (go.clone(), log.clone(), log.clone());
        let active = Interleave::new()
            .exclusive(Receive::persistent_async(&exclusive, move |n: u32| {
                let (go, log) = (waits.clone(), begun.clone());
                async move {
                    log.push(format!("E{n}"));
                    go.recv().await;
                    log.push(format!("-E{n}"));
                }
            }))
            .concurrent(Receive::persistent(&concurrent, move |n: u32| {
                other.push(format!("C{n}"));
            }))
            .activate(queue)
            .unwrap();
        post_all(&exclusive, [1, 2]);
        dispatcher.wait_idle();
        concurrent.post(3).unwrap();
        dispatcher.wait_idle();
        assert_eq!(log.entries(), ["E1"]);
        let shown = format!("{active:?}");
        assert!(
            shown.contains("the async exclusive handler of Receive<u32> goes on"),
            "{shown}"
        );
        go.post(()).unwrap();
        dispatcher.wait_idle();
        assert_eq!(log.entries(), ["E1", "-E1", "E2"]);
        go.post(()).unwrap();
        dispatcher.wait_idle();
        assert_eq!(log.entries(), ["E1", "-E1", "E2", "-E2", "C3"]);
        assert!(format!("{active:?}").contains("open to concurrent work"));
    });
}

#[test]
fn sem_g289_an_async_concurrent_handler_keeps_exclusive_work_waiting_until_it_ends() {
    on_dispatchers(1, |dispatcher, queue| {
        let (exclusive, concurrent, go, log) =
            (Port::new(), Port::new(), Port::<()>::new(), Log::new());
        let (waits, begun, other) = (go.clone(), log.clone(), log.clone());
        Interleave::new()
            .concurrent(Receive::persistent_async(&concurrent, move |n: u32| {
                let (go, log) = (waits.clone(), begun.clone());
                async move {
                    log.push(format!("C{n}"));
                    go.recv().await;
                }
            }))
            .exclusive(Receive::persistent(&exclusive, move |n: u32| {
                other.push(format!("E{n}"));
            }))
            .activate(queue)
            .unwrap();
        dispatcher.wait_idle();
        concurrent.post(1).unwrap();
        dispatcher.wait_idle();
        exclusive.post(2).unwrap();
        dispatcher.wait_idle();
        assert_eq!(log.entries(), ["C1"]);
        go.post(()).unwrap();
        dispatcher.wait_idle();
        assert_eq!(log.entries(), ["C1", "E2"]);
    });
}

#[test]
fn sem_g289_a_future_that_is_dropped_releases_the_group() {
    on_dispatchers(1, |dispatcher, queue| {
        let (exclusive, concurrent, log) = (Port::new(), Port::new(), Log::new());
        let (begun, other) = (log.clone(), log.clone());
        Interleave::new()
            .exclusive(Receive::persistent_async(&exclusive, move |n: u32| {
                begun.push(format!("E{n}"));
                // Nobody keeps the waker: the future is dropped.
                std::future::pending()
            }))
            .concurrent(Receive::persistent_async(&concurrent, move |n: u32| {
                other.push(format!("C{n}"));
                std::future::pending()
            }))
            .activate(queue)
            .unwrap();
        dispatcher.wait_idle();
        post_all(&exclusive, [1, 2]);
        dispatcher.wait_idle();
        concurrent.post(3).unwrap();
        dispatcher.wait_idle();
        exclusive.post(4).unwrap();
        dispatcher.wait_idle();
        assert_eq!(log.take(), ["E1", "E2", "C3", "E4"]);
    });
}

#[test]
fn ccr_077_an_exclusive_handler_may_post_to_its_own_group() {
    on_dispatchers(1, |dispatcher, queue| {
        let (port, log) = (Port::new(), Log::new());
        let (again, handled) = (port.clone(), log.clone());
        Interleave::new()
            .exclusive(Receive::persistent(&port, move |n: u32| {
                if n > 0 {
                    again.post(n - 1).unwrap();
                }
                // Not before this one has ended.
                handled.push(n);
            }))
            .activate(queue)
            .unwrap();
        port.post(100).unwrap();
        dispatcher.wait_idle();
        assert_eq!(log.take(), (0..=100).rev().collect::<Vec<_>>());
    });
}

#[test]
fn ccr_078_an_exclusive_handler_that_awaits_its_own_group_never_ends_and_shows() {
    let (asks, answers) = (Port::<Port<u32>>::new(), Port::<Port<u32>>::new());
    let inner = answers.clone();
    let active = Interleave::new()
        .exclusive(Receive::persistent_async(&asks, move |reply: Port<u32>| {
            let answers = inner.clone();
            async move {
                let own = Port::new();
                answers.post(own.clone()).unwrap();
                reply.post(own.recv().await).unwrap();
            }
        }))
        .exclusive(Receive::persistent(&answers, |reply: Port<u32>| {
            reply.post(7).unwrap()
        }))
        .activate(&here())
        .unwrap();
    let replies = Port::new();
    asks.post(replies.clone()).unwrap();
    assert_eq!(replies.item_count(), 0);
    let shown = format!("{active:?}");
    assert!(
        shown.contains("the async exclusive handler of Receive<"),
        "{shown}"
    );
    assert!(shown.contains("exclusive_waiting: 1"), "{shown}");
}

#[test]
fn ccr_085_an_interleave_without_teardown_works_for_ever() {
    on_dispatchers(1, |dispatcher, queue| {
        let (exclusive, concurrent, log) = (Port::new(), Port::new(), Log::new());
        let (one, two) = (log.clone(), log.clone());
        let active = Interleave::new()
            .exclusive(Receive::persistent(&exclusive, move |n: u32| one.push(n)))
            .concurrent(Receive::persistent(&concurrent, move |n: u32| two.push(n)))
            .activate(queue)
            .unwrap();
        for n in 0..1000 {
            let port = if n % 3 == 0 { &exclusive } else { &concurrent };
            port.post(n).unwrap();
        }
        dispatcher.wait_idle();
        assert_eq!(log.take().len(), 1000);
        assert!(active.is_active());
    });
}

#[test]
fn sem_g287_alternate_lets_concurrent_work_in_after_sixteen_exclusive_handlers() {
    for fairness in [Fairness::Alternate, Fairness::ExclusiveFirst] {
        with_three(fairness, move |dispatcher, three| {
            three.exclusive.post(1000).unwrap();
            three.gate.wait_for(1);
            three.concurrent.post(0).unwrap();
            until(|| three.active.concurrent_waiting() == 1);
            post_all(&three.exclusive, 1..=100);
            three.gate.open();
            dispatcher.wait_idle();
            let at = three
                .begun()
                .iter()
                .position(|entry| entry == "C0")
                .unwrap();
            match fairness {
                Fairness::Alternate => assert!(at <= 16, "after {at}"),
                _ => assert_eq!(at, 101, "after all of them"),
            }
        });
    }
}

#[test]
fn sem_g292_other_tasks_run_between_exclusive_handlers() {
    within(patience(), || {
        let (dispatcher, queue) = dispatcher(1);
        let other = dispatcher.queue(QueueConfig::default());
        let (exclusive, log) = (Port::new(), Log::new());
        let handled = log.clone();
        queue.suspend();
        other.suspend();
        Interleave::new()
            .exclusive(Receive::persistent(&exclusive, move |n: u32| {
                handled.push(n)
            }))
            .activate(&queue)
            .unwrap();
        post_all(&exclusive, 0..200);
        for n in 0..5 {
            let log = log.clone();
            other
                .enqueue(Task::new(move || log.push(1000 + n)))
                .unwrap();
        }
        let start = Task::new(move || {
            queue.resume();
            other.resume();
        });
        dispatcher
            .queue(QueueConfig::default())
            .enqueue(start)
            .unwrap();
        dispatcher.wait_idle();
        let log = log.take();
        assert_eq!(log.len(), 205);
        let places: Vec<usize> = (0..log.len()).filter(|&at| log[at] >= 1000).collect();
        for (n, place) in places.iter().enumerate() {
            assert!(*place <= (n + 1) * 17, "{places:?}");
        }
    });
}

#[test]
fn sem_g292_a_suspended_queue_starts_no_further_exclusive_handler() {
    within(patience(), || {
        let (dispatcher, queue) = dispatcher(2);
        let three = Three::new(&queue, Fairness::default());
        dispatcher.wait_idle();
        post_all(&three.exclusive, 1..=3);
        three.gate.wait_for(1);
        queue.suspend();
        three.gate.open();
        dispatcher.wait_idle();
        assert_eq!(three.begun(), ["E1"]);
        queue.resume();
        dispatcher.wait_idle();
        assert_eq!(three.begun(), ["E1", "E2", "E3"]);
    });
}

#[test]
fn sem_g292_exclusive_items_that_wait_count_in_the_depth_of_their_queue() {
    within(patience(), || {
        let dispatcher = Dispatcher::new(2);
        let queue = dispatcher.queue(QueueConfig::bounded("narrow", 3));
        let three = Three::new(&queue, Fairness::default());
        dispatcher.wait_idle();
        for _ in 0..20 {
            three.exclusive.post(0).unwrap();
            until(|| three.begun() == ["E0"]);
            post_all(&three.exclusive, 1..=3);
            assert_eq!(three.exclusive.post(4).unwrap_err().item, 4);
            three.gate.open();
            dispatcher.wait_idle();
            assert_eq!(three.begun(), ["E0", "E1", "E2", "E3"]);
            assert_eq!(three.log.take().len(), 8);
            three.gate.close();
        }
        // What is held takes up room again.
        three.exclusive.post(0).unwrap();
        until(|| three.begun() == ["E0"]);
        post_all(&three.concurrent, 1..=2);
        until(|| three.active.concurrent_waiting() == 2);
        three.concurrent.post(3).unwrap();
        until(|| three.active.concurrent_waiting() == 3);
        assert_eq!(
            three.concurrent.post(4).unwrap_err().reason,
            QueueError::Full.into()
        );
        three.gate.open();
        dispatcher.wait_idle();
        assert_eq!(three.begun().len(), 4);
        post_all(&three.exclusive, 1..=1);
        dispatcher.wait_idle();
    });
}
