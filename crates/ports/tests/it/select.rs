//! The waiting form of a choice: behaviour 49, and what dropping the future does.

use crate::support::{
    Wakes, here, in_parallel, on_dispatchers, poll, port_with, post_all, take_all,
};
use motet_dispatch::{Causality, DispatcherQueue, Enqueue, spawn};
use motet_ports::{FromHandler, Port, Receive, join, select};
use motet_sync::thread;
use motet_testkit::{Log, patience, within};
use std::future::Future;
use std::task::Poll;

/// What came from which port.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Clone, Copy)]
enum Of {
    A(u32),
    B(u32),
    Both(u32, u32),
}

fn start(queue: &DispatcherQueue, future: impl Future<Output = ()> + Send + 'static) {
    spawn(&queue.handle(), future).expect("the queue is open and has room");
}

fn first(a: &Port<u32>, b: &Port<u32>) -> impl Future<Output = Of> + Unpin + Send + use<> {
    select().recv(a, Of::A).recv(b, Of::B)
}

/// A join or a plain item.
fn both_or_one(
    a: &Port<u32>,
    b: &Port<u32>,
    plain: &Port<u32>,
) -> impl Future<Output = Of> + Unpin + Send + use<> {
    select()
        .join((a, b), |(a, b)| Of::Both(a, b))
        .recv(plain, Of::A)
}

fn receivers(ports: &[&Port<u32>]) -> usize {
    ports.iter().map(|port| port.receiver_count()).sum()
}

#[test]
fn ccr_049_sem_g19_a_wait_for_several_ports_leaves_the_item_there() {
    let (numbers, texts, log) = (Port::<u32>::new(), Port::new(), Log::new());
    let (ports, told) = ((numbers.clone(), texts.clone()), log.clone());
    FromHandler::new_async(move || async move {
        let text_came = select()
            .ready(&ports.0, || false)
            .ready(&ports.1, || true)
            .await;
        assert!(text_came);
        told.push(ports.1.test());
    })
    .activate(&here())
    .unwrap();
    assert_eq!((numbers.receiver_count(), texts.receiver_count()), (1, 1));
    texts.post("hello").unwrap();
    assert_eq!(log.take(), [Some("hello")]);
    assert_eq!((numbers.receiver_count(), texts.receiver_count()), (0, 0));
}

#[test]
fn ccr_049_sem_g19_an_item_that_is_only_looked_at_goes_on_to_the_next_receiver() {
    let (port, other, log) = (Port::new(), Port::<u32>::new(), Log::new());
    let (_, waker) = Wakes::new();
    let mut ready = select().ready(&port, || 1).recv(&other, |_| 2);
    assert!(poll(&mut ready, &waker).is_pending());
    let told = log.clone();
    Receive::once(&port, move |n: u32| told.push(n))
        .activate(&here())
        .unwrap();
    port.post(7).unwrap();
    assert_eq!(log.take(), [7]);
    assert_eq!(poll(&mut ready, &waker), Poll::Ready(1));
}

#[test]
fn sem_g19_the_first_that_is_there_is_taken_and_the_other_stays() {
    let (a, b) = (port_with([1, 2]), port_with([3]));
    let (_, waker) = Wakes::new();
    assert_eq!(poll(&mut first(&a, &b), &waker), Poll::Ready(Of::A(1)));
    assert_eq!(poll(&mut first(&b, &a), &waker), Poll::Ready(Of::A(3)));
    assert_eq!((a.items(), b.item_count()), (vec![2], 0));
    assert_eq!(receivers(&[&a, &b]), 0);
}

#[test]
fn sem_g19_one_is_taken_and_the_losers_items_stay_all_the_time() {
    let (a, b) = (Port::new(), Port::new());
    let (wakes, waker) = Wakes::new();
    let mut wait = first(&a, &b);
    assert!(poll(&mut wait, &waker).is_pending());
    assert_eq!(receivers(&[&a, &b]), 2);
    b.post(1).unwrap();
    assert_eq!(
        (wakes.count(), b.item_count()),
        (1, 0),
        "it is meant for the wait"
    );
    assert_eq!(receivers(&[&a, &b]), 0, "at once, not at the next poll");
    post_all(&a, [2, 3]);
    post_all(&b, [4]);
    assert_eq!(
        (a.items(), b.items(), wakes.count()),
        (vec![2, 3], vec![4], 1)
    );
    assert_eq!(poll(&mut wait, &waker), Poll::Ready(Of::B(1)));
    drop(wait);
    assert_eq!((a.items(), b.items()), (vec![2, 3], vec![4]));
}

#[test]
fn sem_g19_only_the_last_waker_is_woken() {
    let (a, b) = (Port::new(), Port::new());
    let ((old, old_waker), (new, new_waker)) = (Wakes::new(), Wakes::new());
    let mut wait = first(&a, &b);
    assert!(poll(&mut wait, &old_waker).is_pending());
    assert!(poll(&mut wait, &new_waker).is_pending());
    a.post(1).unwrap();
    assert_eq!((old.count(), new.count()), (0, 1));
    assert_eq!(poll(&mut wait, &new_waker), Poll::Ready(Of::A(1)));
}

#[test]
fn sem_g19_a_select_dropped_before_its_first_poll_leaves_no_trace() {
    let (a, b) = (port_with([1]), port_with([2]));
    drop(first(&a, &b));
    drop(join((&a, &b)));
    assert_eq!(
        (a.items(), b.items(), receivers(&[&a, &b])),
        (vec![1], vec![2], 0)
    );
}

#[test]
fn sem_g19_a_select_dropped_while_it_waits_leaves_no_trace() {
    let (a, b, c) = (Port::new(), Port::new(), Port::new());
    let (wakes, waker) = Wakes::new();
    let (mut wait, mut joined, mut both) = (first(&a, &b), both_or_one(&a, &b, &c), join((&a, &c)));
    assert!(poll(&mut wait, &waker).is_pending());
    assert!(poll(&mut joined, &waker).is_pending());
    assert!(poll(&mut both, &waker).is_pending());
    assert_eq!(receivers(&[&a, &b, &c]), 7);
    drop((wait, joined, both));
    assert_eq!(receivers(&[&a, &b, &c]), 0);
    [&a, &b, &c]
        .into_iter()
        .for_each(|port| port.post(1).unwrap());
    assert_eq!(
        (a.items(), b.items(), c.items()),
        (vec![1], vec![1], vec![1])
    );
    assert_eq!(wakes.count(), 0);
}

#[test]
fn sem_g19_an_item_meant_for_a_dropped_select_goes_back_to_the_front() {
    let (a, b) = (Port::new(), Port::new());
    let (_, waker) = Wakes::new();
    let mut wait = first(&a, &b);
    assert!(poll(&mut wait, &waker).is_pending());
    post_all(&a, [1, 2]);
    assert_eq!(a.items(), [2], "1 is meant for the select");
    drop(wait);
    assert_eq!((a.items(), b.item_count()), (vec![1, 2], 0));
}

#[test]
fn sem_g19_an_item_meant_for_a_dropped_select_goes_to_the_next_who_waits() {
    let (a, b) = (Port::new(), Port::new());
    let (_, waker) = Wakes::new();
    let (mut one, mut two) = (first(&a, &b), first(&b, &a));
    assert!(poll(&mut one, &waker).is_pending());
    assert!(poll(&mut two, &waker).is_pending());
    a.post(1).unwrap();
    drop(one);
    assert_eq!(poll(&mut two, &waker), Poll::Ready(Of::B(1)));
    assert_eq!(a.item_count(), 0);
}

#[test]
fn sem_g19_a_join_is_awaited_all_or_nothing() {
    let (a, b) = (Port::new(), Port::new());
    let (wakes, waker) = Wakes::new();
    let mut both = join((&a, &b));
    assert!(poll(&mut both, &waker).is_pending());
    a.post(1).unwrap();
    assert_eq!(
        (a.items(), wakes.count()),
        (vec![1], 0),
        "it waits in its port"
    );
    b.post("one").unwrap();
    assert_eq!((a.item_count(), b.item_count(), wakes.count()), (0, 0, 1));
    assert_eq!(poll(&mut both, &waker), Poll::Ready((1, "one")));
    assert_eq!((a.receiver_count(), b.receiver_count()), (0, 0));
    // And at once, when both are there.
    post_all(&a, [2, 3]);
    b.post("two").unwrap();
    assert_eq!(poll(&mut join((&a, &b)), &waker), Poll::Ready((2, "two")));
    assert_eq!((a.items(), b.item_count()), (vec![3], 0));
}

#[test]
fn sem_g19_items_of_a_dropped_join_go_back_to_the_front_of_both_ports() {
    let (a, b) = (Port::new(), Port::new());
    let (_, waker) = Wakes::new();
    let mut both = join((&a, &b));
    assert!(poll(&mut both, &waker).is_pending());
    post_all(&a, [1, 2]);
    post_all(&b, [3, 4]);
    assert_eq!((a.items(), b.items()), (vec![2], vec![4]));
    drop(both);
    assert_eq!((a.items(), b.items()), (vec![1, 2], vec![3, 4]));
}

#[test]
#[should_panic(expected = "names a port twice")]
fn sem_g19_a_join_of_a_port_with_itself_is_refused() {
    let port: Port<u32> = Port::new();
    drop(join((&port, &port)));
}

#[test]
fn sem_g19_a_join_is_one_of_several() {
    let (p, q, plain) = (port_with([1, 2]), Port::new(), Port::new());
    let (_, waker) = Wakes::new();
    let mut wait = both_or_one(&p, &q, &plain);
    assert!(poll(&mut wait, &waker).is_pending());
    plain.post(7).unwrap();
    q.post(5).unwrap();
    assert_eq!(poll(&mut wait, &waker), Poll::Ready(Of::A(7)));
    assert_eq!((p.items(), q.items()), (vec![1, 2], vec![5]));
    plain.post(8).unwrap();
    let mut again = both_or_one(&p, &q, &plain);
    assert_eq!(
        poll(&mut again, &waker),
        Poll::Ready(Of::Both(1, 5)),
        "it is named first"
    );
    assert_eq!((p.items(), plain.items()), (vec![2], vec![8]));
    assert_eq!(receivers(&[&p, &q, &plain]), 0);
}

#[test]
fn sem_g19_several_items_and_any_of_many_ports_are_alternatives() {
    let (batch, many) = (Port::new(), [Port::new(), Port::new(), Port::new()]);
    let (_, waker) = Wakes::new();
    let begin = || {
        select()
            .recv_multiple(&batch, 2, |items: Vec<u32>| (9, items))
            .recv_any(&many, |place, item| (place, vec![item]))
    };
    let mut wait = begin();
    assert!(poll(&mut wait, &waker).is_pending());
    batch.post(1).unwrap();
    many[2].post(5).unwrap();
    assert_eq!(poll(&mut wait, &waker), Poll::Ready((2, vec![5])));
    assert_eq!(receivers(&many.each_ref()), 0);
    let mut wait = begin();
    assert!(poll(&mut wait, &waker).is_pending());
    batch.post(2).unwrap();
    assert_eq!(poll(&mut wait, &waker), Poll::Ready((9, vec![1, 2])));
    post_all(&many[1], [6]);
    assert_eq!(poll(&mut begin(), &waker), Poll::Ready((1, vec![6])));
    post_all(&batch, [3, 4]);
    assert_eq!(poll(&mut begin(), &waker), Poll::Ready((9, vec![3, 4])));
    assert_eq!(receivers(&[&batch, &many[0], &many[1], &many[2]]), 0);
}

#[test]
fn sem_g19_a_select_of_nothing_waits() {
    let (_, waker) = Wakes::new();
    assert!(poll(&mut select::<()>(), &waker).is_pending());
    let mut of_none = select().recv_any(&Vec::<Port<()>>::new(), |_, ()| ());
    assert!(poll(&mut of_none, &waker).is_pending());
}

#[test]
fn sem_g19_a_select_keeps_its_ports() {
    let (a, b) = (Port::new(), Port::new());
    let (wakes, waker) = Wakes::new();
    let mut wait = first(&a, &b);
    assert!(poll(&mut wait, &waker).is_pending());
    let weak = b.downgrade();
    drop((a, b));
    weak.upgrade().expect("the wait keeps it").post(1).unwrap();
    assert_eq!(wakes.count(), 1);
    assert_eq!(poll(&mut wait, &waker), Poll::Ready(Of::B(1)));
    drop(wait);
    assert!(weak.upgrade().is_none());
}

#[test]
fn sem_g19_a_function_that_panics_is_a_panic_of_the_waiting_code() {
    let (a, b) = (Port::new(), Port::new());
    let (_, waker) = Wakes::new();
    let mut wait = select()
        .recv(&a, |_: u32| -> u32 { panic!("its own words") })
        .recv(&b, |n| n);
    assert!(poll(&mut wait, &waker).is_pending());
    a.post(1).unwrap();
    let polled = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| poll(&mut wait, &waker)));
    assert_eq!(
        *polled.unwrap_err().downcast::<&str>().unwrap(),
        "its own words"
    );
    drop(wait);
    b.post(2).unwrap();
    assert_eq!((a.item_count(), b.items()), (0, vec![2]));
}

#[test]
fn sem_g19_dropping_a_select_races_with_posts_and_loses_nothing() {
    within(patience(), || {
        const ROUNDS: u32 = 20_000;
        let ports = [Port::new(), Port::new()];
        let (_, waker) = Wakes::new();
        let posters = [0, 1].map(|side| {
            let port: Port<u32> = ports[side].clone();
            thread::spawn(move || post_all(&port, 0..ROUNDS))
        });
        let mut taken = [Vec::new(), Vec::new()];
        let items = |ports: &[Port<u32>; 2]| ports[0].item_count() + ports[1].item_count();
        while !posters.iter().all(|poster| poster.is_finished()) || items(&ports) > 0 {
            let mut wait = first(&ports[0], &ports[1]);
            match poll(&mut wait, &waker) {
                Poll::Ready(Of::A(n)) => taken[0].push(n),
                Poll::Ready(Of::B(n)) => taken[1].push(n),
                Poll::Ready(Of::Both(..)) => unreachable!("nobody joins"),
                Poll::Pending => {}
            }
            drop(wait);
        }
        posters
            .into_iter()
            .for_each(|poster| poster.join().unwrap());
        // What a poster brings back after the drop may be overtaken by an item that is taken
        // meanwhile.
        for mut taken in taken {
            taken.sort_unstable();
            assert!(taken.into_iter().eq(0..ROUNDS));
        }
    });
}

#[test]
fn sem_g19_selects_on_shared_ports_in_opposite_orders_lose_and_double_nothing() {
    on_dispatchers(5, |dispatcher, queue| {
        const EACH: u32 = 500;
        let (a, b, c, taken) = (Port::new(), Port::new(), Port::new(), Log::new());
        let (ports, log, on) = (
            (a.clone(), b.clone(), c.clone()),
            taken.clone(),
            queue.clone(),
        );
        in_parallel(3, move |number| {
            let from = u32::try_from(number).unwrap() * EACH;
            for n in from..from + EACH {
                let ((a, b, c), log) = (ports.clone(), log.clone());
                [&a, &b, &c][n as usize % 3].post(n).unwrap();
                start(&on, async move {
                    let one = match n % 4 {
                        0 => first(&a, &b).await,
                        1 => first(&c, &a).await,
                        2 => both_or_one(&b, &c, &a).await,
                        _ => both_or_one(&c, &b, &a).await,
                    };
                    log.push(one);
                });
            }
        });
        dispatcher.wait_idle();
        let mut all: Vec<u32> = Vec::new();
        for one in taken.take() {
            match one {
                Of::A(n) | Of::B(n) => all.push(n),
                Of::Both(m, n) => all.extend([m, n]),
            }
        }
        all.extend([&a, &b, &c].into_iter().flat_map(take_all));
        all.sort_unstable();
        assert!(all.into_iter().eq(0..3 * EACH));
    });
}

#[test]
fn sem_g14_the_panics_of_predicates_of_a_wait_that_is_dropped_are_told() {
    let (p, q, told) = (Port::<u32>::new(), Port::<u32>::new(), Log::new());
    let log = told.clone();
    let order = Causality::new("order").on_exception(move |exception| {
        log.push(exception.message().to_owned());
        Ok(())
    });
    order.run(|| {
        let (_wakes, waker) = Wakes::new();
        let mut both = select().join((p.when(|_| panic!("unlucky")), &q), |both| both);
        assert!(poll(&mut both, &waker).is_pending());
        post_all(&p, [13]);
        assert!(told.is_empty(), "the wait panics with it");
        post_all(&p, [14]);
        assert_eq!(told.take(), ["unlucky"]);
        drop(both);
        assert_eq!(told.take(), ["unlucky"]);
    });
}
