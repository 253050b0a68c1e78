//! How interleaves are combined, and what is left when one is torn down or its dispatcher stops.

use super::{Three, says, stage, until, with_three};
use crate::support::{Bomb, dispatcher, here, on_dispatchers, port_with, post_all, take_all, told};
use motet_dispatch::{Dispatcher, Enqueue, ExecutionPolicy, QueueConfig, QueueError, Rate, Task};
use motet_ports::{
    CombineError, ExceptionPort, Fairness, Interleave, MultipleItemReceive, Port, Receive,
};
use motet_sync::atomic::{AtomicUsize, Ordering};
use motet_sync::{Arc, thread};
use motet_testkit::{Log, patience, within};
use std::panic::catch_unwind;

#[test]
fn ccr_079_sem_g290_teardown_waits_for_those_who_run_and_nothing_new_starts() {
    with_three(Fairness::default(), |dispatcher, three| {
        three.concurrent.post(1).unwrap();
        three.gate.wait_for(1);
        three.teardown.post(()).unwrap();
        assert!(!three.active.is_active());
        three.concurrent.post(2).unwrap();
        three.exclusive.post(3).unwrap();
        assert_eq!(three.begun(), ["C1"]);
        three.gate.open();
        dispatcher.wait_idle();
        assert_eq!(three.log.entries(), ["C1", "-C1", "T"]);
        assert_eq!(
            (three.concurrent.items(), three.exclusive.items()),
            (vec![2], vec![3])
        );
    });
}

#[test]
fn ccr_080_sem_g290_what_comes_after_the_teardown_stays_in_its_port() {
    on_dispatchers(1, |dispatcher, queue| {
        let three = Three::new(queue, Fairness::default());
        dispatcher.wait_idle();
        three.teardown.post(()).unwrap();
        dispatcher.wait_idle();
        let receivers = (
            three.concurrent.receiver_count(),
            three.exclusive.receiver_count(),
            three.teardown.receiver_count(),
        );
        assert_eq!(receivers, (0, 0, 0));
        three.exclusive.post(1).unwrap();
        three.concurrent.post(2).unwrap();
        three.teardown.post(()).unwrap();
        dispatcher.wait_idle();
        assert_eq!(three.log.entries(), ["T"]);
        assert_eq!(
            (three.exclusive.items(), three.concurrent.items()),
            (vec![1], vec![2])
        );
        assert!(format!("{:?}", three.active).contains("torn down"));
    });
}

#[test]
fn ccr_081_sem_g290_the_first_of_several_teardown_items_wins_once() {
    on_dispatchers(20, |dispatcher, queue| {
        let (one, two, log) = (Port::new(), Port::new(), Log::new());
        let (first, second) = (log.clone(), log.clone());
        Interleave::new()
            .teardown(Receive::once(&one, move |()| first.push(1)))
            .teardown(Receive::once(&two, move |()| second.push(2)))
            .activate(queue)
            .unwrap();
        dispatcher.wait_idle();
        let other = two.clone();
        let poster = thread::spawn(move || other.post(()).unwrap());
        one.post(()).unwrap();
        poster.join().unwrap();
        dispatcher.wait_idle();
        let winner = log.take();
        assert_eq!(winner.len(), 1);
        let left = (one.item_count(), two.item_count());
        assert_eq!(left, if winner == [1] { (0, 1) } else { (1, 0) });
        assert_eq!((one.receiver_count(), two.receiver_count()), (0, 0));
    });
}

#[test]
#[should_panic(expected = "a teardown member takes items once: use Receive<u32>::once")]
fn ccr_082_a_persistent_teardown_member_is_refused() {
    let _refused = Interleave::new().teardown(Receive::persistent(&Port::new(), |_: u32| ()));
}

#[test]
fn ccr_083_sem_g291_combined_interleaves_exclude_each_other() {
    for (at_work, reverse) in [(false, false), (false, true), (true, false), (true, true)] {
        within(patience(), move || {
            let (dispatcher, queue) = dispatcher(4);
            let (exclusive, other, stage) = (Port::new(), [Port::new(), Port::new()], stage());
            let main = Interleave::new()
                .exclusive(Receive::persistent(&exclusive, says::<u32>(&stage, 'E')));
            let second = Interleave::new()
                .exclusive(Receive::persistent(&other[0], says(&stage, 'F')))
                .concurrent(Receive::persistent(&other[1], says(&stage, 'C')));
            let active = if at_work {
                let active = main.activate(&queue).unwrap();
                active.combine_with(second, &queue).unwrap();
                active
            } else {
                main.combine_with(second).activate(&queue).unwrap()
            };
            dispatcher.wait_idle();
            let (first, next) = if reverse {
                ((&exclusive, 'E'), (&other[0], 'F'))
            } else {
                ((&other[0], 'F'), (&exclusive, 'E'))
            };
            first.0.post(1).unwrap();
            stage.1.wait_for(1);
            next.0.post(2).unwrap();
            other[1].post(3).unwrap();
            until(|| active.concurrent_waiting() == 1);
            let (first, next) = (first.1, next.1);
            assert_eq!(stage.0.entries(), [format!("{first}1")]);
            stage.1.open();
            dispatcher.wait_idle();
            let all = format!("{first}1 -{first}1 {next}2 -{next}2 C3 -C3");
            assert_eq!(stage.0.entries().join(" "), all);
        });
    }
}

#[test]
fn sem_g291_what_has_been_torn_down_is_not_combined_into() {
    let (end, port, log) = (port_with([()]), port_with([1]), Log::new());
    let handled = log.clone();
    let active = Interleave::new()
        .teardown(Receive::once(&end, |()| ()))
        .activate(&here())
        .unwrap();
    let other =
        Interleave::new().exclusive(Receive::persistent(&port, move |n: u32| handled.push(n)));
    let refused = active.combine_with(other, &here()).unwrap_err();
    assert!(refused.to_string().contains("torn down"), "{refused}");
    assert!(log.is_empty());
    // It is as it was.
    refused.into_interleave().activate(&here()).unwrap();
    assert_eq!(log.take(), [1]);
}

#[test]
fn sem_g291_a_queue_without_room_hands_the_other_interleave_back() {
    within(patience(), || {
        let dispatcher = Dispatcher::new(1);
        let queue = dispatcher.queue(QueueConfig::bounded("narrow", 0));
        let active = Interleave::new().activate(&here()).unwrap();
        let refused = active.combine_with(Interleave::new(), &queue).unwrap_err();
        assert!(matches!(refused, CombineError::Queue(_, QueueError::Full)));
    });
}

#[test]
fn ccr_084_sem_g290_what_has_not_begun_at_the_teardown_is_back_in_its_old_order() {
    on_dispatchers(1, |dispatcher, queue| {
        let three = Three::new(queue, Fairness::default());
        dispatcher.wait_idle();
        three.exclusive.post(0).unwrap();
        three.gate.wait_for(1);
        // Some of these are held, some wait in the queue.
        post_all(&three.concurrent, 1..100);
        post_all(&three.exclusive, 100..200);
        three.teardown.post(()).unwrap();
        post_all(&three.exclusive, 200..210);
        post_all(&three.concurrent, 210..220);
        three.gate.open();
        dispatcher.wait_idle();
        assert_eq!(three.log.entries(), ["E0", "-E0", "T"]);
        let concurrent = (1..100).chain(210..220).collect::<Vec<_>>();
        assert_eq!(take_all(&three.concurrent), concurrent);
        assert_eq!(take_all(&three.exclusive), (100..210).collect::<Vec<_>>());
    });
}

#[test]
fn sem_g293_a_dispatcher_that_stops_gives_everything_back_in_order() {
    within(patience(), || {
        for torn_down in [false, true] {
            let (dispatcher, queue) = dispatcher(2);
            let three = Three::new(&queue, Fairness::default());
            dispatcher.wait_idle();
            three.exclusive.post(0).unwrap();
            three.gate.wait_for(1);
            post_all(&three.exclusive, 1..50);
            post_all(&three.concurrent, 50..100);
            if torn_down {
                three.teardown.post(()).unwrap();
            }
            queue.suspend();
            three.gate.open();
            dispatcher.wait_idle();
            drop(dispatcher);
            assert_eq!(three.log.entries(), ["E0", "-E0"]);
            assert_eq!(take_all(&three.exclusive), (1..50).collect::<Vec<_>>());
            assert_eq!(take_all(&three.concurrent), (50..100).collect::<Vec<_>>());
            assert_eq!(three.teardown.item_count(), usize::from(torn_down));
        }
    });
}

#[test]
fn sem_g286_items_that_waited_are_handled_when_it_begins() {
    on_dispatchers(5, |dispatcher, queue| {
        let (exclusive, concurrent, end) = (port_with(0..50), port_with(50..100), port_with([()]));
        let log = Log::new();
        let [one, two, last] = [(); 3].map(|()| log.clone());
        Interleave::new()
            .exclusive(Receive::persistent(&exclusive, move |n: u32| one.push(n)))
            .concurrent(Receive::persistent(&concurrent, move |n: u32| two.push(n)))
            .teardown(Receive::once(&end, move |()| last.push(1000)))
            .activate(queue)
            .unwrap();
        dispatcher.wait_idle();
        // The end was there from the beginning: nothing else may start.
        assert_eq!(log.take(), [1000]);
        assert_eq!(take_all(&exclusive), (0..50).collect::<Vec<_>>());
        assert_eq!(take_all(&concurrent), (50..100).collect::<Vec<_>>());
    });
}

#[test]
fn sem_g293_nothing_is_left_behind_when_ports_and_dispatcher_are_gone() {
    within(patience(), || {
        let alive = Arc::new(());
        for torn_down in [false, true] {
            let (dispatcher, queue) = dispatcher(2);
            let (exclusive, concurrent, end) = (Port::new(), Port::new(), Port::new());
            let [one, two, three] = [(); 3].map(|()| Arc::clone(&alive));
            let active = Interleave::new()
                .exclusive(Receive::persistent(&exclusive, move |_: u32| {
                    drop(Arc::clone(&one))
                }))
                .concurrent(Receive::persistent(&concurrent, move |_: u32| {
                    drop(Arc::clone(&two))
                }))
                .teardown(Receive::once(&end, move |()| drop(three)))
                .activate(&queue)
                .unwrap();
            for n in 0..100 {
                exclusive.post(n).unwrap();
                concurrent.post(n).unwrap();
            }
            dispatcher.wait_idle();
            if torn_down {
                end.post(()).unwrap();
                dispatcher.wait_idle();
            }
            drop((exclusive, concurrent, end, dispatcher));
            assert_eq!(Arc::strong_count(&alive), 1);
            drop(active);
        }
    });
}

/// Two states of a machine on the same ports, each of which activates the other when it ends.
struct Machine {
    queue: motet_dispatch::DispatcherQueue,
    commands: Port<u32>,
    asks: Port<u32>,
    switch: Port<()>,
    /// The one at work.
    state: AtomicUsize,
    handled: Log<u32>,
    asked: Log<u32>,
}

impl Machine {
    fn activate(self: &Arc<Self>, which: usize) {
        let [command, ask, switch] = [(); 3].map(|()| Arc::clone(self));
        Interleave::new()
            .exclusive(Receive::persistent(&self.commands, move |n: u32| {
                assert_eq!(command.state.load(Ordering::Relaxed), which);
                command.handled.push(n);
            }))
            .concurrent(Receive::persistent(&self.asks, move |n: u32| {
                assert_eq!(ask.state.load(Ordering::Relaxed), which);
                ask.asked.push(n);
            }))
            .teardown(Receive::once(&self.switch, move |()| {
                switch.state.store(1 - which, Ordering::Relaxed);
                switch.activate(1 - which);
            }))
            .activate(&self.queue)
            .unwrap();
    }
}

#[test]
fn ccr_123_sem_g290_two_interleaves_that_activate_each_other_lose_nothing() {
    on_dispatchers(2, |dispatcher, queue| {
        let machine = Arc::new(Machine {
            queue: queue.clone(),
            commands: Port::new(),
            asks: Port::new(),
            switch: Port::new(),
            state: AtomicUsize::new(0),
            handled: Log::new(),
            asked: Log::new(),
        });
        let panics = Log::new();
        let told = panics.clone();
        queue.on_exception(move |exception| told.push(exception.message().to_owned()));
        machine.activate(0);
        let switcher = Arc::clone(&machine);
        let switches = thread::spawn(move || {
            for _ in 0..50 {
                switcher.switch.post(()).unwrap();
                for _ in 0..20 {
                    thread::yield_now();
                }
            }
        });
        for n in 0..3000 {
            machine.commands.post(n).unwrap();
            machine.asks.post(n).unwrap();
        }
        switches.join().unwrap();
        dispatcher.wait_idle();
        assert!(panics.is_empty(), "{:?}", panics.take());
        // Not only once: also in their order, whoever was at work.
        assert_eq!(machine.handled.take(), (0..3000).collect::<Vec<_>>());
        assert_eq!(machine.asked.take_sorted(), (0..3000).collect::<Vec<_>>());
        assert_eq!(machine.switch.item_count(), 0);
    });
}

#[test]
fn sem_g290_items_of_both_groups_and_of_batches_are_back_in_the_order_of_their_port() {
    on_dispatchers(1, |dispatcher, queue| {
        let three = Three::new(queue, Fairness::default());
        let port = Port::new();
        let odd = Receive::persistent(&port, |_: u32| ()).when(|n| n % 3 == 1);
        let even = Receive::persistent(&port, |_: u32| ()).when(|n| n % 3 == 2);
        let batch = MultipleItemReceive::persistent(&port, 2, |_: Vec<u32>| ());
        let others = Interleave::new()
            .exclusive(odd)
            .concurrent(even)
            .exclusive(batch);
        three.active.combine_with(others, queue).unwrap();
        dispatcher.wait_idle();
        three.exclusive.post(0).unwrap();
        three.gate.wait_for(1);
        post_all(&port, 0..90);
        three.teardown.post(()).unwrap();
        three.gate.open();
        dispatcher.wait_idle();
        assert_eq!(take_all(&port), (0..90).collect::<Vec<_>>());
    });
}

#[test]
fn sem_g293_a_task_that_its_owner_drops_does_not_hold_up_the_teardown() {
    /// Keeps tasks for the test.
    #[derive(Clone, Default)]
    struct Keeper(Arc<motet_sync::Mutex<Vec<Task>>>);
    impl Enqueue for Keeper {
        fn reserve(&self) -> Result<(), QueueError> {
            Ok(())
        }
        fn release(&self) {}
        fn admit(&self, task: Task) {
            self.0.lock().push(task);
        }
        fn readmit(&self, task: Task) {
            self.admit(task);
        }
        fn handle(&self) -> Arc<dyn Enqueue> {
            Arc::new(self.clone())
        }
        fn name(&self) -> &'static str {
            "keeper"
        }
        fn raise(&self, exception: motet_dispatch::Exception) {
            panic!("{exception}");
        }
    }
    let take = |keeper: &Keeper| std::mem::take(&mut *keeper.0.lock());
    for give_up in [Task::cleanup as fn(Task), drop] {
        let (keeper, concurrent, end, log) =
            (Keeper::default(), port_with(0..3), Port::new(), Log::new());
        let ended = log.clone();
        Interleave::new()
            .concurrent(Receive::persistent(&concurrent, |_: u32| ()))
            .teardown(Receive::once(&end, move |()| ended.push(())))
            .activate(&keeper)
            .unwrap();
        take(&keeper).into_iter().for_each(Task::run);
        let on_their_way = take(&keeper);
        assert_eq!(on_their_way.len(), 3);
        end.post(()).unwrap();
        take(&keeper).into_iter().for_each(Task::run);
        assert!(log.is_empty(), "it waits for those on their way");
        on_their_way.into_iter().for_each(give_up);
        take(&keeper).into_iter().for_each(Task::run);
        assert_eq!(log.take().len(), 1);
    }
}

#[test]
fn sem_g293_a_turn_that_its_queue_gives_up_loses_nothing() {
    within(patience(), || {
        let (first, second) = (Dispatcher::new(1), Dispatcher::new(1));
        let queues = [&first, &second].map(|dispatcher| dispatcher.queue(QueueConfig::default()));
        let (here, there, log) = (Port::new(), Port::new(), Log::new());
        let [one, two] = [log.clone(), log.clone()];
        let active = Interleave::new()
            .exclusive(Receive::persistent(&here, move |n: u32| one.push(n)))
            .activate(&queues[0])
            .unwrap();
        let other =
            Interleave::new().exclusive(Receive::persistent(&there, move |n: u32| two.push(n)));
        active.combine_with(other, &queues[1]).unwrap();
        first.wait_idle();
        second.wait_idle();
        queues[0].suspend();
        queues[1].suspend();
        for n in 0..30 {
            let port = if n % 3 == 0 { &there } else { &here };
            port.post(n).unwrap();
        }
        // What was for the first queue is back; the exclusion goes on to the second.
        drop(first);
        queues[1].resume();
        second.wait_idle();
        let (kept, handled): (Vec<u32>, Vec<u32>) = (0..30).partition(|n| n % 3 != 0);
        assert_eq!(take_all(&here), kept);
        assert_eq!(log.take(), handled);
    });
}

#[test]
fn sem_g45_the_registration_of_an_interleave_is_not_discarded() {
    within(patience(), || {
        let dispatcher = Dispatcher::new(1);
        let rate = Rate::per_second(0.001).unwrap();
        let queue = dispatcher.queue(QueueConfig {
            policy: ExecutionPolicy::ConstrainSchedulingRateDiscardTasks { rate },
            ..QueueConfig::named("slow")
        });
        let (ports, log) = ([Port::new(), Port::new()], Log::new());
        for port in &ports {
            let log = log.clone();
            Interleave::new()
                .exclusive(Receive::persistent(port, move |n: u32| log.push(n)))
                .activate(&queue)
                .unwrap();
        }
        // What waits for the exclusion is not discarded either.
        ports.iter().for_each(|port| post_all(port, [1, 2]));
        dispatcher.wait_idle();
        assert_eq!(log.take().len(), 4);
    });
}

/// Makes a handler own what it mentions.
fn keep(_: &Bomb) {}

#[test]
fn sem_g34_sem_g290_destructors_that_panic_at_the_teardown_do_not_keep_it_from_running() {
    on_dispatchers(1, |dispatcher, queue| {
        let (doomed, waits, ends, stage) = (Port::new(), Port::new(), Port::new(), stage());
        let exceptions = queue.exception_port();
        let (bomb, end) = (Bomb, stage.0.clone());
        Interleave::new()
            .concurrent(Receive::persistent(&doomed, move |_: u32| keep(&bomb)))
            .exclusive(Receive::persistent(&waits, says(&stage, 'E')))
            .teardown(Receive::once(&ends, move |()| end.push("T".to_owned())))
            .activate(queue)
            .unwrap();
        dispatcher.wait_idle();
        waits.register(Arc::new(Bomb));
        post_all(&waits, [1, 2, 3]);
        stage.1.wait_for(1);
        ends.post(()).unwrap();
        stage.1.open();
        dispatcher.wait_idle();
        assert_eq!(stage.0.take(), ["E1", "-E1", "T"]);
        assert_eq!((waits.items(), waits.receiver_count()), (vec![2, 3], 0));
        assert_eq!(doomed.receiver_count(), 0);
        assert_eq!(told(&exceptions), ["a bomb is dropped"; 2]);
    });
}

#[test]
fn a_cleanup_that_panics_has_taken_all_members_off() {
    let (doomed, other) = (Port::<u32>::new(), Port::<u32>::new());
    let bomb = Bomb;
    let active = Interleave::new()
        .concurrent(Receive::persistent(&doomed, move |_| keep(&bomb)))
        .concurrent(Receive::persistent(&other, drop))
        .activate(&here())
        .unwrap();
    catch_unwind(|| active.cleanup()).unwrap_err();
    assert_eq!((doomed.receiver_count(), other.receiver_count()), (0, 0));
}
