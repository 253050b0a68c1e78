//! Ports that are closed.

use crate::support::{dispatcher, here, port_with, take_all};
use futures_util::{SinkExt, StreamExt};
use motet_dispatch::{Dispatcher, Enqueue, QueueConfig, QueueError, Replay, Task, spawn};
use motet_ports::{
    BlockingError, BroadcastPort, Choice, Closed, Interleave, JoinedReceive, MultipleItemGather,
    MultipleItemReceive, Overflow, Port, PostRefusal, Receive, join, select, wait_blocking,
};
use motet_testkit::{Log, within};
use std::time::Duration;

const LONG: Duration = Duration::from_secs(600);

/// What a future gives when it ends while `close` runs on another thread.
fn while_closing<R: Send + 'static>(
    wait: impl Future<Output = R> + Send + 'static,
    close: impl FnOnce(),
) -> R {
    let (dispatcher, queue) = dispatcher(2);
    let result = Port::new();
    let out = result.clone();
    spawn(&queue.handle(), async move {
        assert!(out.post(wait.await).is_ok());
    })
    .unwrap();
    while dispatcher.waiting().is_empty() {
        motet_sync::thread::yield_now();
    }
    close();
    let got = within(Duration::from_secs(20), move || result.recv_blocking());
    got.unwrap()
}

#[test]
fn sem_g279_a_closed_port_refuses_posts_and_keeps_what_is_left() {
    let port = port_with([1, 2]);
    port.close();
    port.close();
    assert!(port.is_closed());
    let refused = port.post(3).unwrap_err();
    assert_eq!((refused.item, refused.reason), (3, PostRefusal::Closed));
    assert_eq!(refused.to_string(), "item not posted: the port is closed");
    assert_eq!(port.put_back(0).unwrap_err().reason, PostRefusal::Closed);
    assert_eq!(
        port.post_blocking(3).unwrap_err().reason,
        PostRefusal::Closed
    );
    let sunk = wait_blocking(port.sink().send(3)).unwrap();
    assert_eq!(sunk.unwrap_err().reason, PostRefusal::Closed);
    assert_eq!((port.capacity(), port.receiver_count()), (None, 0));
    assert_eq!(take_all(&port), [1, 2]);
    let counters = port.counters();
    assert_eq!((counters.posted, counters.refused), (2, 4));
}

#[test]
fn sem_g279_a_poster_that_waits_for_room_gets_its_item_back() {
    let port = Port::bounded(1, Overflow::Wait);
    port.post(1).unwrap();
    let poster = port.clone();
    let wait = async move { poster.post_wait(2).await };
    let refused = while_closing(wait, || port.close()).unwrap_err();
    assert_eq!((refused.item, refused.reason), (2, PostRefusal::Closed));
    assert_eq!(take_all(&port), [1]);
    assert_eq!(port.capacity(), Some(1));
}

#[test]
fn sem_g279_items_on_a_pile_and_in_a_row_are_left() {
    let port = port_with(0..1000);
    assert_eq!(port.test(), Some(0));
    port.close();
    assert_eq!(port.post(7).unwrap_err().reason, PostRefusal::Closed);
    assert_eq!(take_all(&port), (1..1000).collect::<Vec<_>>());

    let (batched, sets) = (Port::new(), Port::new());
    let out = sets.clone();
    let batch = MultipleItemReceive::persistent(&batched, 3, move |set| out.post(set).unwrap())
        .activate(&here())
        .unwrap();
    (1..=4).for_each(|n| batched.post(n).unwrap());
    batched.close();
    assert_eq!(batched.post(5).unwrap_err().reason, PostRefusal::Closed);
    assert_eq!(
        (sets.items(), batched.items()),
        (vec![vec![1, 2, 3]], vec![4])
    );
    assert!(!batch.is_active(), "one item is left, and it needs three");
}

#[test]
fn sem_g280_who_waits_gets_what_is_left_and_then_the_end() {
    let port = port_with([1]);
    port.close();
    assert_eq!(wait_blocking(port.ready().or_closed()), Ok(Ok(())));
    assert_eq!(wait_blocking(port.recv().or_closed()), Ok(Ok(1)));
    assert_eq!(wait_blocking(port.recv().or_closed()), Ok(Err(Closed)));
    assert_eq!(wait_blocking(port.ready().or_closed()), Ok(Err(Closed)));
    assert_eq!(port.recv_blocking(), Err(BlockingError::Closed));
    assert_eq!(port.ready_blocking(), Err(BlockingError::Closed));
    assert_eq!(port.recv_blocking_for(LONG), Err(BlockingError::Closed));
    let rest: Vec<u32> = wait_blocking(port.stream().collect()).unwrap();
    assert!(rest.is_empty());
}

#[test]
fn sem_g280_who_waits_already_learns_of_the_end() {
    let port = Port::<u32>::new();
    let wait = port.clone();
    let got = while_closing(async move { wait.recv().or_closed().await }, || {
        port.close()
    });
    assert_eq!(got, Err(Closed));

    let port = Port::<u32>::new();
    let wait = port.clone();
    let got = while_closing(async move { wait.ready().or_closed().await }, || {
        port.close()
    });
    assert_eq!(got, Err(Closed));

    let port = Port::<u32>::new();
    let items = port.stream().collect::<Vec<_>>();
    let got = while_closing(items, || {
        port.post(1).unwrap();
        port.close();
    });
    assert_eq!(got, [1]);
}

#[test]
fn sem_g280_a_plain_receive_panics_at_the_end_and_says_what_to_do() {
    let port = Port::<u32>::new();
    port.close();
    let panicked = std::panic::catch_unwind(|| wait_blocking(port.recv())).unwrap_err();
    let message = panicked.downcast_ref::<String>().unwrap();
    assert!(
        message.starts_with("recv: ") && message.contains(".or_closed()"),
        "{message}"
    );
}

#[test]
fn sem_g280_a_select_ends_with_its_last_alternative() {
    let (p, q) = (Port::<u32>::new(), Port::<u32>::new());
    p.close();
    let either = select().recv(&p, |n| n).recv(&q, |n| n);
    assert_eq!(while_closing(either.or_closed(), || q.close()), Err(Closed));
    let (r, s) = (Port::<u32>::new(), Port::<u32>::new());
    let any = select().recv_any(&[r.clone(), s.clone()], |_, n| n);
    let got = while_closing(any.or_closed(), || {
        r.close();
        s.close();
    });
    assert_eq!(got, Err(Closed));
    let t = Port::<u32>::new();
    let either = select().recv(&p, |n| n).recv(&t, |n| n);
    let got = while_closing(either.or_closed(), || t.post(3).unwrap());
    assert_eq!(got, Ok(3), "one alternative has ended, the other goes on");
}

#[test]
fn sem_g280_a_select_of_nothing_is_at_its_end() {
    let ports = || Vec::<Port<u32>>::new();
    let of_none = || select().recv_any(&ports(), |_, n| n);
    let ends = [select::<u32>().or_closed(), of_none().or_closed()];
    for end in ends {
        let got = within(Duration::from_secs(20), move || wait_blocking(end));
        assert_eq!(got, Ok(Err(Closed)));
    }
    // Where all others have ended it does not go on.
    let p = Port::<u32>::new();
    let either = of_none().recv(&p, |n| n).or_closed();
    assert_eq!(while_closing(either, || p.close()), Err(Closed));
}

#[test]
fn sem_g280_a_select_with_a_time_ends_by_the_time() {
    let replay = Replay::new(1);
    let (p, late) = (Port::<u32>::new(), Port::new());
    let (wait, out) = (p.clone(), late.clone());
    spawn(
        &replay.queue(QueueConfig::named("here")).handle(),
        async move {
            let timed = select().recv(&wait, Some).after(LONG, || None);
            out.post(timed.or_closed().await).unwrap();
        },
    )
    .unwrap();
    p.close();
    replay.run();
    assert_eq!(late.test(), Some(Ok(None)));
}

#[test]
fn sem_g280_several_items_of_a_closed_port_all_or_none_but_up_to() {
    let port = port_with([1, 2]);
    let wait = port.clone();
    let three = select().recv_multiple(&wait, 3, |items| items);
    assert_eq!(
        while_closing(three.or_closed(), || port.close()),
        Err(Closed)
    );
    assert_eq!(port.item_count(), 2, "they stay");
    let rest = wait_blocking(port.recv_up_to(3, LONG).or_closed()).unwrap();
    assert_eq!(rest, Ok(vec![1, 2]));
    let none = wait_blocking(port.recv_up_to(3, LONG).or_closed()).unwrap();
    assert_eq!(none, Err(Closed));

    let open = port_with([1, 2]);
    let wait = open.recv_up_to(3, LONG).or_closed();
    assert_eq!(while_closing(wait, || open.close()), Ok(vec![1, 2]));
}

#[test]
fn sem_g280_a_receive_of_up_to_n_takes_what_is_left_also_when_its_queue_is_full() {
    let replay = Replay::new(1);
    let queue = replay.queue(QueueConfig::bounded("narrow", 1));
    let (port, log) = (Port::new(), Log::new());
    let took = log.clone();
    MultipleItemReceive::persistent(&port, 3, move |items: Vec<u32>| took.push(items))
        .or_after(LONG)
        .activate(&queue)
        .unwrap();
    replay.run();
    port.post(1).unwrap();
    port.post(2).unwrap();
    queue.enqueue(Task::new(|| ())).unwrap();
    assert_eq!(queue.reserve(), Err(QueueError::Full));
    port.close();
    replay.run();
    assert_eq!((log.take(), port.item_count()), (vec![vec![1, 2]], 0));
    assert_eq!(queue.reserve(), Ok(()), "the room is there again");
}

#[test]
fn sem_g280_a_join_ends_when_one_of_its_ports_has_too_little() {
    let (p, q) = (port_with([1, 2]), port_with(["a"]));
    q.close();
    assert_eq!(wait_blocking(join((&p, &q)).or_closed()), Ok(Ok((1, "a"))));
    assert_eq!(wait_blocking(join((&p, &q)).or_closed()), Ok(Err(Closed)));
    assert_eq!((p.items(), p.receiver_count()), (vec![2], 0), "it stays");
    let (r, s) = (Port::<u32>::new(), port_with([1]));
    let both = join((&r, &s)).or_closed();
    assert_eq!(while_closing(both, || r.close()), Err(Closed));
    assert_eq!(s.items(), [1]);
}

#[test]
fn sem_g280_a_broadcast_is_closed_with_all_its_subscriptions() {
    let news = BroadcastPort::new();
    let reader = news.subscribe(10, Overflow::Reject);
    assert!(news.post(1).is_complete());
    news.close();
    let late = news.subscribe(10, Overflow::Reject);
    assert!(news.is_closed() && late.is_closed());
    let outcome = wait_blocking(news.post_wait(2)).unwrap();
    assert_eq!(
        (outcome.refused, outcome.reason),
        (2, Some(PostRefusal::Closed))
    );
    assert!(!BroadcastPort::<u32>::clone(&news).post(3).is_complete());
    let items: Vec<u32> = wait_blocking(reader.stream().collect()).unwrap();
    assert_eq!((items, reader.missed()), (vec![1], 0));
}

#[test]
fn sem_g281_receivers_stay_for_what_is_left_and_are_taken_off_then() {
    let (port, said) = (port_with([1, 2, 3]), Port::new());
    let out = said.clone();
    let odd = Receive::persistent(&port, move |n: u32| out.post(n).unwrap())
        .when(|n| n % 2 == 1)
        .activate(&here())
        .unwrap();
    port.close();
    assert_eq!((said.items(), port.items()), (vec![1, 3], vec![2]));
    assert!(
        odd.is_active() && port.receiver_count() == 1,
        "an item is left"
    );
    assert_eq!(port.test(), Some(2));
    assert!(!odd.is_active());
    assert_eq!((port.receiver_count(), port.receivers().len()), (0, 0));
    assert!(port.to_string().ends_with("0 items; no receiver"));
}

#[test]
fn sem_g281_arbiters_of_a_closed_port_end() {
    let (p, q) = (Port::<u32>::new(), Port::<u32>::new());
    let (dispatcher, queue) = dispatcher(1);
    let all = [
        Receive::once(&p, |_| ()).activate(&queue).unwrap(),
        Receive::persistent(&p, |_| ()).activate(&queue).unwrap(),
        Receive::persistent(&p, |_| ())
            .at_most(2)
            .activate(&queue)
            .unwrap(),
        MultipleItemReceive::persistent(&p, 2, |_| ())
            .activate(&queue)
            .unwrap(),
        JoinedReceive::persistent((&p, &q), |_| ())
            .activate(&queue)
            .unwrap(),
        Choice::new()
            .or(Receive::once(&p, |_| ()))
            .or(JoinedReceive::once((&p, &q), |_| ()))
            .activate(&queue)
            .unwrap(),
    ];
    dispatcher.wait_idle();
    assert!(all.iter().all(|one| one.is_active()));
    p.close();
    assert!(all.iter().all(|one| !one.is_active()));
    assert_eq!((p.receiver_count(), q.receiver_count()), (0, 0));
    assert_eq!(dispatcher.waiting().len(), 0);
}

#[test]
fn sem_g281_an_arbiter_that_comes_to_a_closed_port_takes_what_is_left() {
    let (port, said, other) = (port_with([1, 2]), Port::new(), port_with([7]));
    port.close();
    let (one, two) = (said.clone(), said.clone());
    let joined = JoinedReceive::persistent((&other, &port), move |(n, m): (u32, u32)| {
        one.post(n * m).unwrap();
    })
    .activate(&here())
    .unwrap();
    assert!(joined.is_active(), "an item is left");
    let last = Receive::once(&port, move |n| two.post(n).unwrap())
        .activate(&here())
        .unwrap();
    assert_eq!((said.items(), port.item_count()), (vec![7, 2], 0));
    assert!(!last.is_active() && !joined.is_active());
    assert_eq!(other.receiver_count(), 0);
    let late = Receive::persistent(&port, |_| ())
        .activate(&here())
        .unwrap();
    let both = JoinedReceive::persistent((&other, &port), |_| ()).activate(&here());
    assert!(!late.is_active() && !both.unwrap().is_active());
}

#[test]
fn sem_g281_a_gather_goes_on_with_its_other_ports() {
    let (p, q, said) = (Port::<u32>::new(), Port::<u32>::new(), Port::new());
    let out = said.clone();
    let gather = MultipleItemGather::persistent(2, (&p, &q), move |both| out.post(both).unwrap())
        .activate(&here())
        .unwrap();
    p.close();
    assert!(gather.is_active());
    q.post(1).unwrap();
    q.post(2).unwrap();
    assert_eq!(said.items(), [(vec![], vec![1, 2])]);
    q.close();
    assert!(!gather.is_active());
}

#[test]
fn sem_g281_members_of_an_interleave_end_and_its_teardown_waits_for_its_item() {
    let (work, stop, said) = (Port::new(), Port::new(), Port::new());
    let (one, two) = (said.clone(), said.clone());
    let active = Interleave::new()
        .exclusive(Receive::persistent(&work, move |n: u32| {
            one.post(n).unwrap()
        }))
        .teardown(Receive::once(&stop, move |n: u32| two.post(n).unwrap()))
        .activate(&here())
        .unwrap();
    work.post(1).unwrap();
    work.close();
    assert!(active.is_active(), "its teardown can still come");
    assert_eq!(work.receiver_count(), 0);
    stop.post(2).unwrap();
    assert_eq!(said.items(), [1, 2]);
}

#[test]
fn sem_g281_receivers_leave_a_closed_port_on_a_dispatcher() {
    let dispatcher = Dispatcher::new(2);
    let (port, sum) = (Port::new(), Port::new());
    let out = sum.clone();
    let active = Receive::persistent(&port, move |n: u64| out.post(n).unwrap())
        .activate(&dispatcher.queue(QueueConfig::default()))
        .unwrap();
    let posters: Vec<_> = (0..2)
        .map(|_| {
            let port = port.clone();
            motet_sync::thread::spawn(move || {
                (1..).find(|n| port.post(*n).is_err()).unwrap_or(0) - 1
            })
        })
        .collect();
    while sum.item_count() < 1000 {
        motet_sync::thread::yield_now();
    }
    port.close();
    let posted: u64 = posters.into_iter().map(|one| one.join().unwrap()).sum();
    dispatcher.wait_idle();
    assert_eq!(
        sum.item_count() as u64,
        posted,
        "each item that was not refused is handled"
    );
    assert!(!active.is_active());
}

#[test]
fn sem_g282_the_end_goes_through_a_pipeline_behind_the_last_item() {
    let dispatcher = Dispatcher::new(2);
    let queue = dispatcher.queue(QueueConfig::default());
    let (first, second, third) = (Port::<u64>::new(), Port::new(), Port::new());
    let (to_second, to_third, gate) = (second.clone(), third.clone(), Port::<()>::new());
    let opened = gate.clone();
    Receive::persistent_async(&first, move |n| {
        let (out, gate) = (to_second.clone(), opened.clone());
        async move {
            if n == 100 {
                gate.recv().await;
            }
            out.post(n).unwrap();
        }
    })
    .closes(&second)
    .activate(&queue)
    .unwrap();
    Receive::persistent(&second, move |n| to_third.post(n).unwrap())
        .closes(&third)
        .at_most(3)
        .activate(&queue)
        .unwrap();
    (1..=100).for_each(|n| first.post(n).unwrap());
    first.close();
    assert!(!second.is_closed(), "a handler goes on");
    gate.post(()).unwrap();
    let all = within(Duration::from_secs(20), {
        let third = third.clone();
        move || wait_blocking(third.stream().collect::<Vec<_>>()).unwrap()
    });
    assert_eq!((all.len(), all.iter().sum::<u64>()), (100, 5050));
    assert!(second.is_closed() && third.is_closed());
    assert_eq!(dispatcher.waiting().len(), 0);
}

#[test]
fn sem_g282_a_pipeline_ends_inline_and_one_that_is_cleaned_up_closes_nothing() {
    let (first, second, third) = (Port::new(), Port::new(), Port::<u32>::new());
    let (out, unused) = (second.clone(), third.clone());
    Receive::persistent(&first, move |n: u32| out.post(n).unwrap())
        .closes(&second)
        .activate(&here())
        .unwrap();
    let active = Receive::persistent(&second, move |n| unused.post(n).unwrap())
        .closes(&third)
        .activate(&here())
        .unwrap();
    active.cleanup();
    first.post(1).unwrap();
    first.close();
    assert_eq!((second.is_closed(), second.items()), (true, vec![1]));
    assert!(!third.is_closed());
}

#[test]
#[should_panic(expected = "build it with `persistent`")]
fn sem_g282_a_receive_of_one_item_closes_no_port() {
    let (p, q) = (Port::<u32>::new(), Port::<u32>::new());
    let _ = Receive::once(&p, |_| ()).closes(&q);
}
