//! Choices: behaviours 43 to 48 and 51; see also `choice_under_load.rs`.

use crate::support::{Bomb, dispatcher, here, port_with, post_all};
use motet_dispatch::{Dispatcher, Enqueue, QueueConfig, Task};
use motet_ports::{Attach, Choice, JoinedReceive, MultipleItemReceive, Port, Receive};
use motet_testkit::{Drops, Gate, Log, patience, within};

/// A branch that logs its item.
pub(crate) fn logging<T: Send>(port: &Port<T>, log: &Log<T>) -> Receive<T> {
    let log = log.clone();
    Receive::once(port, move |item| log.push(item))
}

/// A choice between two ports that logs the item of the winner.
fn between(a: &Port<u32>, b: &Port<u32>, log: &Log<u32>) -> impl Attach {
    Choice::new().or(logging(a, log)).or(logging(b, log))
}

pub(crate) fn receivers(ports: &[&Port<u32>]) -> usize {
    ports.iter().map(|port| port.receiver_count()).sum()
}

#[test]
#[should_panic(expected = "takes items for ever: a choice runs one handler, once")]
fn ccr_043_a_persistent_branch_is_refused() {
    let port: Port<u32> = Port::new();
    let _ = Choice::new().or(Receive::persistent(&port, drop));
}

#[test]
#[should_panic(expected = "tests/it/choice.rs")]
fn ccr_043_a_persistent_branch_of_a_list_is_refused_and_named() {
    let (p, q): (Port<u32>, Port<u32>) = (Port::new(), Port::new());
    let _ = Choice::any([JoinedReceive::persistent((&p, &q), |(_, _): (u32, u32)| ())]);
}

#[test]
fn ccr_044_a_choice_registers_nothing_before_it_is_activated() {
    let (a, b, log) = (port_with([1]), port_with([2]), Log::new());
    drop(between(&a, &b, &log));
    let (dispatcher, queue) = dispatcher(1);
    queue.suspend();
    let active = between(&a, &b, &log).activate(&queue).unwrap();
    assert_eq!(receivers(&[&a, &b]), 0, "the queue is suspended");
    assert_eq!((a.item_count(), b.item_count()), (1, 1));
    assert!(active.is_active());
    queue.resume();
    dispatcher.wait_idle();
    assert!(!active.is_active());
    assert_eq!(log.take(), [1]);
}

#[test]
fn ccr_045_sem_g16_one_branch_runs_once() {
    for (first, second) in [(0, 1), (1, 0)] {
        let (ports, log) = ([Port::new(), Port::new()], Log::new());
        let active = between(&ports[0], &ports[1], &log)
            .activate(&here())
            .unwrap();
        assert_eq!(receivers(&[&ports[0], &ports[1]]), 2);
        assert!(active.is_active());
        ports[first].post(7).unwrap();
        assert_eq!(log.take(), [7]);
        assert!(!active.is_active());
        // Behaviour 46: what comes afterwards stays where it is.
        ports[second].post(8).unwrap();
        ports[first].post(9).unwrap();
        assert!(log.is_empty());
        assert_eq!(
            (ports[second].items(), ports[first].items()),
            (vec![8], vec![9])
        );
    }
}

#[test]
fn ccr_046_sem_g16_what_comes_for_a_loser_stays_in_its_port() {
    let (a, b, log) = (Port::new(), Port::new(), Log::new());
    between(&a, &b, &log).activate(&here()).unwrap();
    a.post(1).unwrap();
    post_all(&b, [2, 3, 4]);
    assert_eq!((log.take(), b.items()), (vec![1], vec![2, 3, 4]));
}

#[test]
fn ccr_048_sem_g16_the_order_of_branches_decides_at_the_activation() {
    let (a, b, log) = (port_with([1]), port_with([2]), Log::new());
    between(&a, &b, &log).activate(&here()).unwrap();
    assert_eq!(
        (log.take(), a.item_count(), b.items()),
        (vec![1], 0, vec![2])
    );
    assert_eq!(receivers(&[&a, &b]), 0);
    a.post(3).unwrap();
    between(&b, &a, &log).activate(&here()).unwrap();
    assert_eq!(
        (log.take(), b.item_count(), a.items()),
        (vec![2], 0, vec![3])
    );
    assert_eq!(receivers(&[&a, &b]), 0);
}

#[test]
fn ccr_051_sem_g16_a_join_that_loses_leaves_its_items_in_order() {
    let (p, q, plain, log) = (port_with([1, 2]), Port::new(), Port::new(), Log::new());
    let joined = log.clone();
    Choice::new()
        .or(JoinedReceive::once((&p, &q), move |(a, b): (u32, u32)| {
            joined.push(10 * a + b)
        }))
        .or(logging(&plain, &log))
        .activate(&here())
        .unwrap();
    assert_eq!(p.items(), [1, 2], "it waits for its partner in its port");
    plain.post(7).unwrap();
    post_all(&q, [5, 6]);
    assert_eq!(log.take(), [7]);
    assert_eq!((p.items(), q.items()), (vec![1, 2], vec![5, 6]));
    assert_eq!(receivers(&[&p, &q, &plain]), 0);
}

#[test]
fn ccr_051_sem_g16_a_join_wins_with_all_its_items() {
    let (p, q, plain, log) = (Port::new(), Port::new(), Port::new(), Log::new());
    let joined = log.clone();
    Choice::new()
        .or(logging(&plain, &log))
        .or(JoinedReceive::once((&p, &q), move |(a, b): (u32, u32)| {
            joined.push(10 * a + b)
        }))
        .activate(&here())
        .unwrap();
    q.post(2).unwrap();
    assert!(log.is_empty());
    p.post(1).unwrap();
    plain.post(7).unwrap();
    assert_eq!((log.take(), plain.items()), (vec![12], vec![7]));
    assert_eq!(receivers(&[&p, &q, &plain]), 0);
}

#[test]
fn sem_g16_several_items_of_one_port_are_a_branch() {
    let (p, stop, log) = (Port::new(), Port::new(), Log::new());
    let sum = log.clone();
    let batch = || {
        let sum = sum.clone();
        MultipleItemReceive::once(&p, 3, move |items: Vec<u32>| sum.push(items.iter().sum()))
    };
    Choice::new()
        .or(batch())
        .or(logging(&stop, &log))
        .activate(&here())
        .unwrap();
    post_all(&p, [1, 2]);
    stop.post(9).unwrap();
    p.post(3).unwrap();
    assert_eq!((log.take(), p.items()), (vec![9], vec![1, 2, 3]));
    Choice::new()
        .or(logging(&stop, &log))
        .or(batch())
        .activate(&here())
        .unwrap();
    assert_eq!((log.take(), p.item_count()), (vec![6], 0));
    assert_eq!(receivers(&[&p, &stop]), 0);
}

#[test]
fn sem_g16_a_predicate_is_asked_before_the_decision() {
    let (a, b, log) = (Port::new(), Port::new(), Log::new());
    Choice::new()
        .or(logging(&a, &log).when(|n| *n > 10))
        .or(logging(&b, &log))
        .activate(&here())
        .unwrap();
    a.post(1).unwrap();
    assert!(log.is_empty());
    b.post(2).unwrap();
    assert_eq!((log.take(), a.items()), (vec![2], vec![1]));
}

#[test]
fn sem_g16_two_branches_on_one_port_share_its_items_by_predicate() {
    let (port, log) = (Port::new(), Log::new());
    let small = log.clone();
    Choice::new()
        .or(Receive::once(&port, move |n: u32| small.push((n, "small"))).when(|n| *n < 10))
        .or(Receive::once(&port, {
            let large = log.clone();
            move |n| large.push((n, "large"))
        }))
        .activate(&here())
        .unwrap();
    post_all(&port, [50, 5]);
    assert_eq!((log.take(), port.items()), (vec![(50, "large")], vec![5]));
    assert_eq!(port.receiver_count(), 0);
}

#[test]
fn sem_g16_a_choice_is_a_branch_of_a_choice() {
    let (a, b, c, log) = (Port::new(), Port::new(), Port::new(), Log::new());
    for winner in [&a, &b, &c] {
        Choice::new()
            .or(logging(&a, &log))
            .or(Choice::new().or(logging(&b, &log)).or(logging(&c, &log)))
            .activate(&here())
            .unwrap();
        assert_eq!(receivers(&[&a, &b, &c]), 3);
        winner.post(1).unwrap();
        assert_eq!(log.take(), [1]);
        assert_eq!(receivers(&[&a, &b, &c]), 0);
    }
}

#[test]
fn sem_g16_a_full_queue_decides_nothing() {
    let dispatcher = Dispatcher::new(1);
    let queue = dispatcher.queue(QueueConfig::bounded("queue", 1));
    let (a, b, log) = (Port::new(), Port::new(), Log::new());
    let active = between(&a, &b, &log).activate(&queue).unwrap();
    dispatcher.wait_idle();
    queue.suspend();
    queue.enqueue(Task::new(|| ())).unwrap();
    assert_eq!(a.post(1).unwrap_err().item, 1);
    assert!(active.is_active());
    queue.resume();
    dispatcher.wait_idle();
    b.post(2).unwrap();
    dispatcher.wait_idle();
    assert_eq!((log.take(), a.item_count()), (vec![2], 0));
    assert_eq!(receivers(&[&a, &b]), 0);
}

#[test]
fn sem_g16_an_item_of_the_winner_that_is_not_handled_goes_back() {
    let (a, b, log) = (Port::new(), Port::new(), Log::new());
    let (dispatcher, queue) = dispatcher(1);
    let active = between(&a, &b, &log).activate(&queue).unwrap();
    dispatcher.wait_idle();
    queue.suspend();
    post_all(&a, [1, 2]);
    drop(dispatcher);
    assert_eq!(a.items(), [1, 2], "in its old order");
    assert!(log.is_empty() && !active.is_active());
}

#[test]
fn sem_g17_losers_are_off_their_ports_when_the_handler_starts() {
    let (a, b, log) = (Port::new(), Port::new(), Log::new());
    let (seen, port) = (log.clone(), b.clone());
    Choice::new()
        .or(Receive::once(&a, move |_: u32| {
            seen.push(port.receiver_count())
        }))
        .or(Receive::once(&b, |_: u32| ()))
        .activate(&here())
        .unwrap();
    assert_eq!(b.receiver_count(), 1);
    a.post(1).unwrap();
    assert_eq!(log.take(), [0]);
}

#[test]
fn sem_g17_losers_are_dropped_with_their_handlers() {
    let (a, b, drops) = (Port::new(), Port::new(), Drops::new());
    let value = drops.make();
    Choice::new()
        .or(Receive::once(&a, |_: u32| ()))
        .or(Receive::once(&b, move |_: u32| drop(value)))
        .activate(&here())
        .unwrap();
    assert_eq!(drops.dropped(), 0);
    a.post(1).unwrap();
    assert_eq!(drops.dropped(), 1, "though nothing is ever posted to b");
}

#[test]
fn sem_g17_a_choice_whose_ports_are_gone_is_gone() {
    let drops = Drops::new();
    let (a, b, p, q) = (Port::new(), Port::new(), Port::new(), Port::new());
    let held = [drops.make(), drops.make()];
    let [first, second] = held;
    let active = Choice::new()
        .or(Receive::once(&a, move |_: u32| drop(first)))
        .or(JoinedReceive::once((&p, &q), move |(_, _): (u32, u32)| {
            drop(second)
        }))
        .or(Choice::any([Receive::once(&b, |_: u32| ())]))
        .activate(&here())
        .unwrap();
    drop((a, b, p, q, active));
    assert_eq!(drops.dropped(), 2);
}

#[test]
fn sem_g17_a_choice_that_is_cleaned_up_leaves_every_port() {
    let (a, b, log) = (Port::new(), Port::new(), Log::new());
    let active = between(&a, &b, &log).activate(&here()).unwrap();
    active.cleanup();
    assert!(!active.is_active());
    assert_eq!(receivers(&[&a, &b]), 0);
    a.post(1).unwrap();
    b.post(2).unwrap();
    assert_eq!((log.len(), a.items(), b.items()), (0, vec![1], vec![2]));
}

#[test]
fn sem_g17_a_choice_that_is_cleaned_up_before_its_registration_never_registers() {
    let (a, b, log) = (port_with([1]), port_with([2]), Log::new());
    let (dispatcher, queue) = dispatcher(1);
    queue.suspend();
    let active = between(&a, &b, &log).activate(&queue).unwrap();
    active.cleanup();
    queue.resume();
    dispatcher.wait_idle();
    assert_eq!((a.items(), b.items(), log.len()), (vec![1], vec![2], 0));
    assert_eq!(receivers(&[&a, &b]), 0);
}

#[test]
fn sem_g17_a_destructor_that_panics_costs_nobody_the_item() {
    let (a, b, log) = (Port::new(), Port::new(), Log::new());
    let bomb = Bomb;
    Choice::new()
        .or(logging(&a, &log))
        .or(Receive::once(&b, move |_: u32| drop(bomb)))
        .activate(&here())
        .unwrap();
    let posted = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| a.post(1)));
    assert!(posted.is_err());
    assert_eq!(log.take(), [1]);
}

#[test]
fn sem_g17_thousands_of_choices_with_a_silent_port_leave_nothing_there() {
    let (busy, silent, log) = (Port::new(), Port::new(), Log::new());
    for n in 0..5_000 {
        between(&silent, &busy, &log).activate(&here()).unwrap();
        busy.post(n).unwrap();
        assert_eq!(receivers(&[&busy, &silent]), 0);
    }
    assert_eq!(log.len(), 5_000);
}

#[test]
fn sem_g16_an_async_branch_runs_like_another() {
    let (a, b, go, log) = (Port::new(), Port::new(), Port::new(), Log::new());
    let (told, waits) = (log.clone(), go.clone());
    Choice::new()
        .or(Receive::once_async(&a, move |n: u32| async move {
            waits.recv().await;
            told.push(n);
        }))
        .or(logging(&b, &log))
        .activate(&here())
        .unwrap();
    a.post(1).unwrap();
    b.post(2).unwrap();
    assert!(log.is_empty());
    go.post(()).unwrap();
    assert_eq!((log.take(), b.items()), (vec![1], vec![2]));
}

#[test]
fn sem_g17_the_handler_of_a_gated_choice_may_choose_again() {
    within(patience(), || {
        let (dispatcher, queue) = dispatcher(2);
        let (a, b, log, gate) = (Port::new(), Port::new(), Log::new(), Gate::new());
        let (ports, on, told, pass) = (
            (a.clone(), b.clone()),
            queue.clone(),
            log.clone(),
            gate.clone(),
        );
        Choice::new()
            .or(Receive::once(&a, move |n: u32| {
                pass.pass();
                told.push(n);
                between(&ports.0, &ports.1, &told).activate(&on).unwrap();
            }))
            .or(logging(&b, &log))
            .activate(&queue)
            .unwrap();
        a.post(1).unwrap();
        b.post(2).unwrap();
        gate.open();
        dispatcher.wait_idle();
        assert_eq!((log.take(), b.item_count()), (vec![1, 2], 0));
    });
}
