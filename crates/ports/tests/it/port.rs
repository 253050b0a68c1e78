//! The port by itself, and how it asks its receivers: behaviours 1 to 23.

use crate::support::{
    Probe, accept, dispatcher, here, in_parallel, on_dispatchers, port_with, post_all, take_all,
};
use motet_dispatch::{Enqueue, Task};
use motet_ports::{Port, Receive, Verdict};
use motet_sync::Arc;
use motet_testkit::{Log, patience, within};

#[test]
fn ccr_001_sem_g01_items_come_out_in_the_order_they_were_posted() {
    let port = port_with([10, 20, 30]);
    assert_eq!(
        [port.test(), port.test(), port.test()],
        [Some(10), Some(20), Some(30)]
    );
}

#[test]
fn ccr_002_test_of_an_empty_port_is_none() {
    let port = Port::<u32>::new();
    assert_eq!(port.test(), None);
    let port = port_with([1]);
    assert_eq!((port.test(), port.test()), (Some(1), None));
}

#[test]
fn ccr_003_without_receivers_items_gather_and_nothing_runs() {
    let port = Port::new();
    for count in 1..=3 {
        port.post(count).unwrap();
        assert_eq!(port.item_count(), count);
    }
    assert_eq!(port.receiver_count(), 0);
}

#[test]
fn ccr_004_looking_at_items_leaves_them_there() {
    let port = port_with(["a", "b"]);
    assert_eq!(port.items(), ["a", "b"]);
    assert_eq!(port.items(), ["a", "b"]);
    assert_eq!(port.item_count(), 2);
}

#[test]
fn ccr_005_clear_drops_the_items_and_may_be_repeated() {
    let port = port_with([1, 2, 3]);
    assert_eq!((port.clear(), port.item_count()), (3, 0));
    assert_eq!((port.clear(), port.item_count()), (0, 0));
}

#[test]
fn ccr_006_sem_g04_receivers_are_asked_in_order_until_one_accepts() {
    let port = Port::new();
    let probes = [
        Probe::rejecting(),
        Probe::accepting(false),
        Probe::accepting(false),
    ];
    probes.iter().for_each(|probe| probe.register(&port));
    port.post(7).unwrap();
    let asked = probes.each_ref().map(|probe| probe.asked());
    assert_eq!(asked, [vec![7], vec![7], vec![]]);
}

#[test]
fn ccr_007_sem_g04_what_all_reject_waits() {
    let port = Port::new();
    let probes = [Probe::rejecting(), Probe::rejecting()];
    probes.iter().for_each(|probe| probe.register(&port));
    port.post(7).unwrap();
    assert_eq!(port.items(), [7]);
    assert!(probes.iter().all(|probe| probe.asked() == [7]));
}

#[test]
fn ccr_008_what_is_accepted_never_enters_the_queue() {
    let port = Port::new();
    Probe::accepting(false).register(&port);
    port.post(7).unwrap();
    assert_eq!((port.item_count(), port.test()), (0, None));
}

#[test]
fn ccr_009_sem_g10_a_one_time_receive_takes_one_item() {
    let (port, handled) = (Port::new(), Log::new());
    let log = handled.clone();
    let active = Receive::once(&port, move |n| log.push(n))
        .activate(&here())
        .unwrap();
    assert!(active.is_active());
    post_all(&port, [1, 2]);
    assert_eq!(handled.take(), [1]);
    assert_eq!(port.items(), [2]);
    assert!(!active.is_active());
    assert_eq!(port.receiver_count(), 0);
}

#[test]
fn ccr_010_a_persistent_receive_takes_every_item_and_stays() {
    within(patience(), || {
        let (dispatcher, queue) = dispatcher(1);
        let (port, handled) = (Port::new(), Log::new());
        let log = handled.clone();
        let active = Receive::persistent(&port, move |n| log.push(n))
            .activate(&queue)
            .unwrap();
        dispatcher.wait_idle();
        queue.suspend();
        let before = queue.counters().scheduled;
        post_all(&port, [1, 2]);
        assert_eq!(queue.counters().scheduled - before, 2, "a task for each");
        assert_eq!((port.item_count(), port.receiver_count()), (0, 1));
        queue.resume();
        dispatcher.wait_idle();
        assert_eq!(handled.take(), [1, 2]);
        assert!(active.is_active());
    });
}

#[test]
fn ccr_011_sem_g05_a_one_time_receiver_is_offered_waiting_items_until_it_takes_one() {
    let port = port_with([1, 2, 3]);
    let probe = Probe::accepting(true);
    probe.register(&port);
    assert_eq!(probe.asked(), [1]);
    assert_eq!(port.items(), [2, 3]);
    assert_eq!(port.receiver_count(), 0);
}

#[test]
fn ccr_012_sem_g05_a_persistent_receive_takes_all_that_waits_in_order() {
    let (port, handled) = (port_with([1, 2, 3]), Log::new());
    let log = handled.clone();
    Receive::persistent(&port, move |n| log.push(n))
        .activate(&here())
        .unwrap();
    assert_eq!(handled.take(), [1, 2, 3]);
    assert_eq!((port.item_count(), port.receiver_count()), (0, 1));
}

#[test]
fn ccr_013_sem_g05_what_a_new_receiver_rejects_keeps_its_order() {
    let port = port_with([1, 2, 3]);
    let probe = Probe::rejecting();
    probe.register(&port);
    assert_eq!(probe.asked(), [1, 2, 3]);
    assert_eq!(port.items(), [1, 2, 3]);
    assert_eq!(port.receiver_count(), 1);
}

#[test]
fn sem_g05_items_between_those_taken_keep_their_order() {
    let port = port_with(1..=6);
    let odd = Probe::new(|offer| {
        if offer.item() % 2 == 0 {
            return Verdict::Reject;
        }
        accept(offer)
    });
    odd.register(&port);
    assert_eq!(odd.asked(), [1, 2, 3, 4, 5, 6]);
    assert_eq!(port.items(), [2, 4, 6]);
}

#[test]
fn ccr_014_sem_g05_a_new_receiver_changes_nothing_for_the_others() {
    let port = Port::new();
    let old = Probe::rejecting();
    old.register(&port);
    post_all(&port, [1, 2, 3]);
    assert_eq!(old.asked(), [1, 2, 3]);
    Probe::rejecting().register(&port);
    assert_eq!(old.asked(), [1, 2, 3], "not asked again");
}

/// A receiver that takes nothing but queues a task for each item it sees.
fn scheduling(queue: Arc<dyn Enqueue>, ran: Log<(String, u32)>) -> Arc<Probe<u32>> {
    Probe::new(move |offer| {
        let (ran, entry) = (ran.clone(), (queue.name().to_owned(), *offer.item()));
        if let Err(verdict) = offer.claim_room(&queue) {
            return verdict;
        }
        offer.schedule(&queue, Task::new(move || ran.push(entry)));
        Verdict::Reject
    })
}

#[test]
fn ccr_015_a_receiver_that_rejects_may_schedule_a_task() {
    let (port, ran) = (Port::new(), Log::new());
    scheduling(here().handle(), ran.clone()).register(&port);
    port.post(7).unwrap();
    assert_eq!(ran.take(), [("here".to_owned(), 7)]);
    assert_eq!(port.items(), [7]);
    assert_eq!(port.receiver_count(), 1);
}

#[test]
fn ccr_016_each_such_task_runs_on_its_own_queue() {
    let (port, ran) = (Port::new(), Log::new());
    for name in ["one", "two"] {
        let queue = motet_dispatch::Inline::new(name).handle();
        scheduling(queue, ran.clone()).register(&port);
    }
    port.post(7).unwrap();
    assert_eq!(ran.take(), [("one".to_owned(), 7), ("two".to_owned(), 7)]);
    assert_eq!(port.items(), [7]);
}

#[test]
fn ccr_017_a_receiver_may_leave_the_port_while_it_is_asked() {
    let port = Port::new();
    let (leaver, stayer) = (
        Probe::new(|offer| {
            offer.leave_port();
            Verdict::Reject
        }),
        Probe::rejecting(),
    );
    leaver.register(&port);
    stayer.register(&port);
    post_all(&port, [1, 2]);
    assert_eq!(leaver.asked(), [1]);
    assert_eq!(stayer.asked(), [1, 2], "the next one is not skipped");
    assert_eq!(port.receiver_count(), 1);
    assert_eq!(port.items(), [1, 2]);
}

#[test]
fn ccr_018_sem_g11_what_is_put_back_stands_at_the_front() {
    let port = port_with([10, 20]);
    port.put_back(30).unwrap();
    port.put_back(40).unwrap();
    assert_eq!(take_all(&port), [40, 30, 10, 20]);
}

#[test]
fn sem_g11_receivers_are_asked_about_what_is_put_back() {
    let port = Port::new();
    let (picky, taker) = (Probe::rejecting(), Probe::accepting(true));
    picky.register(&port);
    taker.register(&port);
    port.put_back(1).unwrap();
    port.put_back(2).unwrap();
    assert_eq!((picky.asked(), taker.asked()), (vec![1, 2], vec![1]));
    assert_eq!(port.items(), [2]);
}

#[test]
fn ccr_019_test_multiple_takes_all_or_none() {
    let port = port_with([1, 2, 3]);
    assert_eq!(port.test_multiple(2), Some(vec![1, 2]));
    assert_eq!(port.test_multiple(2), None);
    assert_eq!(port.items(), [3]);
    assert_eq!(port.test_multiple(0), Some(vec![]));
    assert_eq!(port.items(), [3]);
}

#[test]
fn ccr_020_a_receiver_registered_twice_is_asked_twice() {
    let port = Port::new();
    let probe = Probe::rejecting();
    probe.register(&port);
    probe.register(&port);
    port.post(7).unwrap();
    assert_eq!(probe.asked(), [7, 7]);
    assert_eq!(port.receiver_count(), 2);
    assert!(port.unregister(&probe.receiver()));
    assert_eq!(port.receiver_count(), 1);
    assert!(port.unregister(&probe.receiver()));
    assert!(!port.unregister(&probe.receiver()));
}

#[test]
fn ccr_021_unregistering_a_stranger_changes_nothing() {
    let port = Port::<u32>::new();
    let (known, stranger) = (Probe::rejecting(), Probe::rejecting());
    known.register(&port);
    assert!(!port.unregister(&stranger.receiver()));
    assert_eq!(port.receiver_count(), 1);
}

#[test]
fn ccr_022_sem_g01_sem_g02_many_posters_lose_nothing_and_keep_their_order() {
    const POSTERS: usize = 4;
    const EACH: usize = 5_000;
    within(patience(), || {
        let port = Port::new();
        let poster = port.clone();
        let taken = in_parallel(POSTERS + 2, move |number| {
            if number < POSTERS {
                post_all(&poster, (0..EACH).map(|n| (number, n)));
                return Vec::new();
            }
            // Two who take while the others post.
            let mut taken = Vec::new();
            while taken.len() < EACH {
                taken.extend(poster.test());
            }
            taken
        });
        let rest = take_all(&port);
        for taker in taken.iter().chain([&rest]) {
            assert_in_order(POSTERS, taker);
        }
        let mut all: Vec<_> = taken.into_iter().flatten().chain(rest).collect();
        all.sort_unstable();
        let posted = (0..POSTERS).flat_map(|poster| (0..EACH).map(move |n| (poster, n)));
        assert!(all.into_iter().eq(posted));
    });
}

/// What came of each poster came in its order.
fn assert_in_order(posters: usize, items: &[(usize, usize)]) {
    for poster in 0..posters {
        let own = items.iter().filter(|(by, _)| *by == poster);
        assert!(own.is_sorted(), "poster {poster}");
    }
}

#[test]
fn sem_g01_items_are_offered_in_the_order_each_poster_posted_them() {
    on_dispatchers(3, |dispatcher, queue| {
        const POSTERS: usize = 3;
        let (port, offered) = (Port::new(), Log::new());
        let log = offered.clone();
        // The predicate sees each item when it is offered.
        Receive::persistent(&port, |_| ())
            .when(move |item: &(usize, usize)| {
                log.push(*item);
                !item.1.is_multiple_of(3)
            })
            .activate(queue)
            .unwrap();
        dispatcher.wait_idle();
        let poster = port.clone();
        in_parallel(POSTERS, move |number| {
            post_all(&poster, (0..1_000).map(|n| (number, n)));
        });
        assert_in_order(POSTERS, &offered.take());
        let waiting = take_all(&port);
        assert_eq!(waiting.len(), POSTERS * 334);
        assert_in_order(POSTERS, &waiting);
    });
}

#[test]
fn ccr_023_an_only_receiver_that_takes_everything_costs_one_look() {
    let port = Port::new();
    let only = Probe::new(|offer| {
        assert_eq!(offer.waiting_count(), 0, "the item never enters the queue");
        accept(offer)
    });
    only.register(&port);
    post_all(&port, [1, 2, 3]);
    assert_eq!(only.asked(), [1, 2, 3]);
    assert_eq!(port.item_count(), 0);
}
