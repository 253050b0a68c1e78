//! Gathers: behaviours 64 to 68 and G270.

use crate::support::{here, in_parallel, on_dispatchers, port_with, post_all, take_all};
use motet_dispatch::{Dispatcher, QueueConfig, QueueError, Task};
use motet_ports::{Choice, JoinedReceive, MultipleItemGather, Port, Receive};
use motet_testkit::{Log, patience, within};

type Gathered = Log<(Vec<u32>, Vec<&'static str>)>;

/// A one-time gather that logs what it gets.
fn gathering(
    total: usize,
    (numbers, names): (&Port<u32>, &Port<&'static str>),
    gathered: &Gathered,
) -> MultipleItemGather<(Vec<u32>, Vec<&'static str>)> {
    let log = gathered.clone();
    MultipleItemGather::once(total, (numbers, names), move |all| log.push(all))
}

#[test]
fn ccr_064_sem_g270_all_items_of_a_gather_may_come_from_one_port() {
    let (numbers, names, gathered) = (Port::new(), Port::new(), Log::new());
    gathering(2, (&numbers, &names), &gathered)
        .activate(&here())
        .unwrap();
    post_all(&numbers, [1, 2]);
    assert_eq!(gathered.take(), [(vec![1, 2], vec![])]);
}

#[test]
fn ccr_065_sem_g270_the_result_does_not_depend_on_which_port_was_first() {
    for numbers_first in [false, true] {
        for late in [false, true] {
            let (numbers, names, gathered) = (Port::new(), Port::new(), Log::new());
            let activate = || {
                let gather = gathering(2, (&numbers, &names), &gathered);
                gather.activate(&here()).unwrap()
            };
            let _active = (!late).then(activate);
            if numbers_first {
                numbers.post(1).unwrap();
            }
            names.post("a").unwrap();
            if !numbers_first {
                numbers.post(1).unwrap();
            }
            let _active = late.then(activate);
            assert_eq!(gathered.take(), [(vec![1], vec!["a"])]);
        }
    }
}

#[test]
fn ccr_066_sem_g270_what_comes_after_a_gather_stays_in_its_port() {
    let (numbers, names, gathered) = (Port::new(), Port::new(), Log::new());
    let active = gathering(3, (&numbers, &names), &gathered)
        .activate(&here())
        .unwrap();
    post_all(&numbers, [1, 2]);
    assert!(active.is_active());
    post_all(&names, ["a", "b"]);
    post_all(&numbers, [3]);
    assert_eq!(gathered.take(), [(vec![1, 2], vec!["a"])]);
    assert!(!active.is_active());
    assert_eq!((numbers.items(), names.items()), (vec![3], vec!["b"]));
    assert_eq!((numbers.receiver_count(), names.receiver_count()), (0, 0));
}

#[test]
#[should_panic(expected = "at least one item")]
fn ccr_067_sem_g270_a_gather_of_nothing_is_no_gather() {
    let _ = gathering(0, (&Port::new(), &Port::new()), &Log::new());
}

#[test]
#[should_panic(expected = "names a port twice")]
fn ccr_067_sem_g270_a_gather_does_not_name_a_port_twice() {
    let port = Port::<u32>::new();
    let _ = MultipleItemGather::once(2, (&port, &port), |_| ());
}

#[test]
fn ccr_068_sem_g270_sem_g272_a_gather_that_is_refused_stays_and_takes_nothing() {
    within(patience(), || {
        let dispatcher = Dispatcher::new(1);
        let queue = dispatcher.queue(QueueConfig::bounded("queue", 1));
        let (numbers, names, gathered) = (Port::new(), Port::new(), Log::new());
        let active = gathering(2, (&numbers, &names), &gathered)
            .activate(&queue)
            .unwrap();
        dispatcher.wait_idle();
        queue.suspend();
        motet_dispatch::Enqueue::enqueue(&queue, Task::new(|| ())).unwrap();
        numbers.post(1).unwrap();
        let refused = names.post("a").unwrap_err();
        assert_eq!(
            (refused.item, refused.reason),
            ("a", QueueError::Full.into())
        );
        assert!(active.is_active());
        assert_eq!((numbers.items(), names.item_count()), (vec![1], 0));
        queue.resume();
        dispatcher.wait_idle();
        names.post("b").unwrap();
        dispatcher.wait_idle();
        assert_eq!(gathered.take(), [(vec![1], vec!["b"])]);
    });
}

#[test]
fn sem_g270_while_a_gather_waits_its_items_can_be_seen_and_taken() {
    let (numbers, names, gathered) = (Port::new(), Port::new(), Log::new());
    gathering(3, (&numbers, &names), &gathered)
        .activate(&here())
        .unwrap();
    post_all(&numbers, [1, 2]);
    assert_eq!(numbers.items(), [1, 2]);
    assert_eq!(numbers.test(), Some(1));
    let other = Log::new();
    let log = other.clone();
    Receive::once(&numbers, move |n| log.push(n))
        .activate(&here())
        .unwrap();
    assert_eq!(other.take(), [2]);
    post_all(&names, ["a", "b"]);
    assert!(gathered.is_empty());
    post_all(&names, ["c"]);
    assert_eq!(gathered.take(), [(vec![], vec!["a", "b", "c"])]);
}

#[test]
fn sem_g270_earlier_ports_give_first_when_more_is_there() {
    let (numbers, names, gathered) = (port_with(1..=3), port_with(["a", "b"]), Log::new());
    gathering(4, (&numbers, &names), &gathered)
        .activate(&here())
        .unwrap();
    assert_eq!(gathered.take(), [(vec![1, 2, 3], vec!["a"])]);
    assert_eq!((numbers.item_count(), names.items()), (0, vec!["b"]));
}

#[test]
fn sem_g270_a_persistent_gather_goes_on() {
    let (numbers, names, gathered) = (port_with(1..=3), Port::new(), Log::new());
    let log = gathered.clone();
    MultipleItemGather::persistent(2, (&numbers, &names), move |all| log.push(all))
        .activate(&here())
        .unwrap();
    assert_eq!(gathered.take(), [(vec![1, 2], vec![])]);
    post_all(&names, ["a", "b", "c"]);
    assert_eq!(
        gathered.take(),
        [(vec![3], vec!["a"]), (vec![], vec!["b", "c"])]
    );
}

#[test]
fn sem_g269_sem_g270_a_guarded_port_of_a_gather_gives_what_is_wanted() {
    let (numbers, names, gathered) = (Port::new(), Port::new(), Log::new());
    let log = gathered.clone();
    let even = numbers.when(|n: &u32| n.is_multiple_of(2));
    MultipleItemGather::once(3, (even, &names), move |all| log.push(all))
        .activate(&here())
        .unwrap();
    post_all(&numbers, 1..=4);
    post_all(&names, ["a"]);
    assert_eq!(gathered.take(), [(vec![2, 4], vec!["a"])]);
    assert_eq!(numbers.items(), [1, 3]);
}

#[test]
fn sem_g270_a_number_of_each_port_is_a_join() {
    let (results, failures, done) = (Port::new(), Port::new(), Log::new());
    let log = done.clone();
    JoinedReceive::once((results.times(2), failures.times(1)), move |all| {
        log.push(all)
    })
    .activate(&here())
    .unwrap();
    post_all(&results, [1, 2, 3]);
    assert!(done.is_empty());
    post_all(&failures, ["a"]);
    assert_eq!(done.take(), [(vec![1, 2], vec!["a"])]);
}

#[test]
fn sem_g11_sem_g272_a_gather_that_will_not_run_brings_its_items_back_in_order() {
    within(patience(), || {
        let dispatcher = Dispatcher::new(1);
        let queue = dispatcher.queue(QueueConfig::default());
        let (numbers, names, gathered) = (Port::new(), Port::new(), Log::new());
        gathering(4, (&numbers, &names), &gathered)
            .activate(&queue)
            .unwrap();
        dispatcher.wait_idle();
        queue.suspend();
        post_all(&numbers, [1, 2]);
        post_all(&names, ["a", "b", "c"]);
        assert_eq!((numbers.item_count(), names.items()), (0, vec!["c"]));
        dispatcher.stop().into_iter().for_each(Task::cleanup);
        assert_eq!(
            (numbers.items(), names.items()),
            (vec![1, 2], vec!["a", "b", "c"])
        );
        assert!(gathered.is_empty());
    });
}

#[test]
fn sem_g270_gathers_of_many_posters_lose_and_double_nothing() {
    on_dispatchers(5, |dispatcher, queue| {
        const EACH: u32 = 500;
        let (p, q, gathered) = (Port::new(), Port::new(), Log::new());
        for (first, second) in [(&p, &q), (&q, &p)] {
            let log = gathered.clone();
            MultipleItemGather::persistent(7, (first, second), move |(one, other)| {
                log.push([one, other].concat());
            })
            .activate(queue)
            .unwrap();
        }
        let ports = [p.clone(), q.clone()];
        in_parallel(4, move |number| {
            let from = u32::try_from(number).unwrap() * EACH;
            post_all(&ports[number % 2], from..from + EACH);
        });
        dispatcher.wait_idle();
        let gathered = gathered.take();
        assert!(gathered.iter().all(|set| set.len() == 7));
        let left = [take_all(&p), take_all(&q)].concat();
        assert!(left.len() < 7, "what can be gathered does not wait");
        let mut all = [gathered.concat(), left].concat();
        all.sort_unstable();
        assert!(all.into_iter().eq(0..4 * EACH));
    });
}

#[test]
fn ccr_068_sem_g270_a_gather_is_a_branch_of_a_choice_until_another_wins() {
    let (p, q, other, log) = (Port::new(), Port::new(), Port::new(), Log::new());
    let (gathered, received) = (log.clone(), log.clone());
    let gather = MultipleItemGather::once(2, (&p, &q), move |(p, q): (Vec<u32>, Vec<u32>)| {
        gathered.push([p, q].concat());
    });
    let receive = Receive::once(&other, move |n| received.push(vec![n]));
    let active = Choice::new()
        .or(gather)
        .or(receive)
        .activate(&here())
        .unwrap();
    p.post(1).unwrap();
    assert!(active.is_active());
    other.post(3).unwrap();
    q.post(2).unwrap();
    assert_eq!(log.take(), [[3]]);
    assert_eq!((p.items(), q.items()), (vec![1], vec![2]));
    assert_eq!((p.receiver_count(), q.receiver_count()), (0, 0));
}
