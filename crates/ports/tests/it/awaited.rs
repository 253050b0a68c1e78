//! Awaited receives: behaviours 33 and 34, and what dropping a future does.

use crate::support::{
    Wakes, dispatcher, here, in_parallel, on_dispatchers, poll, port_with, post_all, take_all,
};
use motet_dispatch::{DispatcherQueue, Enqueue, Task, spawn};
use motet_ports::{
    FromHandler, JoinedReceive, MultipleItemReceive, Overflow, Port, Receive, join, select,
};
use motet_sync::thread;
use motet_testkit::{Drops, Gate, Log, patience, within};
use std::future::Future;
use std::task::Poll;

fn start(queue: &DispatcherQueue, future: impl Future<Output = ()> + Send + 'static) {
    spawn(&queue.handle(), future).expect("the queue is open and has room");
}

#[test]
fn ccr_033_sem_g13_ready_leaves_the_item_there() {
    let (port, log) = (Port::new(), Log::new());
    let (waited, told) = (port.clone(), log.clone());
    FromHandler::new_async(move || async move {
        waited.ready().await;
        told.push("ready");
        waited.ready().await;
        told.push("ready again");
    })
    .activate(&here())
    .unwrap();
    assert!(log.is_empty());
    port.post(7).unwrap();
    assert_eq!(log.take(), ["ready", "ready again"]);
    assert_eq!((port.items(), port.receiver_count()), (vec![7], 0));
}

#[test]
fn sem_g13_an_item_is_news_to_all_who_wait_until_it_is_ready() {
    let port = Port::new();
    let (wakes, waker) = Wakes::new();
    let mut ready = [port.ready(), port.ready()];
    let mut recv = port.recv();
    assert!(
        ready
            .iter_mut()
            .all(|ready| poll(ready, &waker).is_pending())
    );
    assert!(poll(&mut recv, &waker).is_pending());
    port.post(7).unwrap();
    assert_eq!(wakes.count(), 3);
    assert!(ready.iter_mut().all(|ready| poll(ready, &waker).is_ready()));
    assert_eq!(poll(&mut recv, &waker), Poll::Ready(7));
    assert_eq!((port.item_count(), port.receiver_count()), (0, 0));
}

#[test]
fn ccr_034_sem_g12_recv_takes_the_item() {
    let (port, log) = (Port::new(), Log::new());
    let (waited, told) = (port.clone(), log.clone());
    FromHandler::new_async(move || async move {
        told.push(waited.recv().await);
        told.push(waited.recv().await);
    })
    .activate(&here())
    .unwrap();
    port.post(7).unwrap();
    assert_eq!(log.take(), [7], "the second waits");
    port.post(8).unwrap();
    assert_eq!(log.take(), [8]);
    assert_eq!((port.item_count(), port.receiver_count()), (0, 0));
}

#[test]
fn sem_g12_receives_get_items_in_the_order_in_which_they_began_to_wait() {
    let port = Port::new();
    let (wakes, waker) = Wakes::new();
    let mut waiting: Vec<_> = (0..5).map(|_| port.recv()).collect();
    // Began to wait in the order 4, 3, 2, 1, 0; polls in between change nothing.
    waiting
        .iter_mut()
        .rev()
        .for_each(|recv| assert!(poll(recv, &waker).is_pending()));
    waiting
        .iter_mut()
        .for_each(|recv| assert!(poll(recv, &waker).is_pending()));
    post_all(&port, 0..5);
    assert_eq!((wakes.count(), port.item_count()), (5, 0));
    for (n, recv) in (0..5).zip(waiting.iter_mut().rev()) {
        assert_eq!(poll(recv, &waker), Poll::Ready(n));
    }
}

#[test]
fn sem_g12_receives_take_their_turn_among_receivers() {
    let (port, handled) = (Port::new(), Log::new());
    let (_, waker) = Wakes::new();
    let mut first = port.recv();
    assert!(poll(&mut first, &waker).is_pending());
    let log = handled.clone();
    Receive::once(&port, move |n| log.push(n))
        .activate(&here())
        .unwrap();
    let mut last = port.recv();
    assert!(poll(&mut last, &waker).is_pending());
    post_all(&port, [1, 2, 3]);
    assert_eq!(poll(&mut first, &waker), Poll::Ready(1));
    assert_eq!(handled.take(), [2]);
    assert_eq!(poll(&mut last, &waker), Poll::Ready(3));
}

#[test]
fn sem_g12_only_the_last_waker_is_woken() {
    let port = Port::new();
    let ((old, old_waker), (new, new_waker)) = (Wakes::new(), Wakes::new());
    let mut recv = port.recv();
    assert!(poll(&mut recv, &old_waker).is_pending());
    assert!(poll(&mut recv, &new_waker).is_pending());
    port.post(1).unwrap();
    assert_eq!((old.count(), new.count()), (0, 1));
    assert_eq!(poll(&mut recv, &new_waker), Poll::Ready(1));
}

/// Who takes an item there lets posters in; who finds none waits, behind the join.
#[test]
fn sem_g12_receives_at_a_port_that_a_join_connects() {
    let (port, partner) = (Port::bounded(1, Overflow::Wait), Port::new());
    let (pairs, (_, waker)) = (Log::new(), Wakes::new());
    let log = pairs.clone();
    port.post(1).unwrap();
    JoinedReceive::persistent((&port, &partner), move |pair: (u32, u32)| log.push(pair))
        .activate(&here())
        .unwrap();
    let mut posts = port.post_wait(2);
    assert!(poll(&mut posts, &waker).is_pending());
    assert_eq!(poll(&mut port.recv(), &waker), Poll::Ready(1));
    assert!(poll(&mut posts, &waker).is_ready());
    assert_eq!(poll(&mut port.recv(), &waker), Poll::Ready(2));
    let mut waits = port.recv();
    assert!(poll(&mut waits, &waker).is_pending());
    port.post(3).unwrap();
    assert_eq!(
        poll(&mut waits, &waker),
        Poll::Ready(3),
        "its partner is not there"
    );
    let mut waits = port.recv();
    assert!(poll(&mut waits, &waker).is_pending());
    partner.post(10).unwrap();
    port.post(4).unwrap();
    assert_eq!(pairs.take(), [(4, 10)]);
    port.post(5).unwrap();
    assert_eq!(poll(&mut waits, &waker), Poll::Ready(5));
}

#[test]
fn sem_g12_a_receive_dropped_before_its_first_poll_leaves_no_trace() {
    let port = port_with([1]);
    drop(port.recv());
    drop(port.ready());
    assert_eq!((port.items(), port.receiver_count()), (vec![1], 0));
}

#[test]
fn sem_g12_a_receive_dropped_while_it_waits_leaves_no_trace() {
    let port = Port::new();
    let (wakes, waker) = Wakes::new();
    let (mut recv, mut ready) = (port.recv(), port.ready());
    assert!(poll(&mut recv, &waker).is_pending());
    assert!(poll(&mut ready, &waker).is_pending());
    assert_eq!(port.receiver_count(), 2);
    drop((recv, ready));
    assert_eq!(port.receiver_count(), 0);
    port.post(1).unwrap();
    assert_eq!((port.items(), wakes.count()), (vec![1], 0));
}

#[test]
fn sem_g12_an_item_meant_for_a_dropped_receive_goes_back_to_the_front() {
    let port = Port::new();
    let (_, waker) = Wakes::new();
    let mut recv = port.recv();
    assert!(poll(&mut recv, &waker).is_pending());
    post_all(&port, [1, 2]);
    assert_eq!(port.items(), [2], "1 is meant for the receive");
    drop(recv);
    assert_eq!(port.items(), [1, 2]);
}

#[test]
fn sem_g12_an_item_meant_for_a_dropped_receive_goes_to_the_next_who_waits() {
    let port = Port::new();
    let (wakes, waker) = Wakes::new();
    let (mut first, mut second) = (port.recv(), port.recv());
    assert!(poll(&mut first, &waker).is_pending());
    assert!(poll(&mut second, &waker).is_pending());
    port.post(1).unwrap();
    drop(first);
    assert_eq!(wakes.count(), 2);
    assert_eq!(poll(&mut second, &waker), Poll::Ready(1));
    assert_eq!(port.item_count(), 0);
}

#[test]
fn sem_g12_dropping_a_receive_races_with_a_post_and_loses_nothing() {
    within(patience(), || {
        const ROUNDS: u32 = 20_000;
        let port = Port::new();
        let (_, waker) = Wakes::new();
        let posting = port.clone();
        let poster = thread::spawn(move || post_all(&posting, 0..ROUNDS));
        let mut taken = Vec::new();
        // Nobody waits for anybody: the poster runs through, and now and then a receive waits when
        // an item comes and is dropped at that moment.
        while !poster.is_finished() || port.item_count() > 0 {
            let mut recv = port.recv();
            if let Poll::Ready(n) = poll(&mut recv, &waker) {
                taken.push(n);
            }
            drop(recv);
            taken.extend(port.test());
        }
        poster.join().unwrap();
        assert!(taken.into_iter().eq(0..ROUNDS));
    });
}

#[test]
fn sem_g12_futures_dropped_on_a_dispatcher_lose_and_double_nothing() {
    on_dispatchers(10, |dispatcher, queue| {
        const EACH: u32 = 200;
        let (port, taken) = (Port::new(), Log::new());
        let (posting, log, on) = (port.clone(), taken.clone(), queue.clone());
        in_parallel(3, move |number| {
            let from = u32::try_from(number).unwrap() * EACH;
            for n in from..from + EACH {
                posting.post(n).unwrap();
                let (port, log) = (posting.clone(), log.clone());
                // Waits, gives up for another receive, and so on.
                start(&on, async move {
                    for patience in 0..3 {
                        if let Some(n) = give_up_after(port.recv(), patience).await {
                            return log.push(n);
                        }
                    }
                });
            }
        });
        dispatcher.wait_idle();
        let mut all = [taken.take(), take_all(&port)].concat();
        all.sort_unstable();
        assert!(all.into_iter().eq(0..3 * EACH));
        assert_eq!(port.receiver_count(), 0);
    });
}

/// Polls so many times, then drops the future.
async fn give_up_after<F: Future + Unpin>(mut future: F, mut polls: u32) -> Option<F::Output> {
    std::future::poll_fn(|cx| match std::pin::Pin::new(&mut future).poll(cx) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending if polls == 0 => Poll::Ready(None),
        Poll::Pending => {
            polls -= 1;
            cx.waker().wake_by_ref();
            Poll::Pending
        }
    })
    .await
}

#[test]
fn sem_g15_a_hundred_thousand_waiting_handlers_hold_no_thread() {
    const WAITERS: u64 = 100_000;
    within(patience(), || {
        let (dispatcher, queue) = dispatcher(1);
        let (port, sum) = (Port::new(), Port::new());
        let (waited, sums, on) = (port.clone(), sum.clone(), queue.clone());
        // Started on the worker: each allocates there, so the measure sees everything.
        let measured = Log::new();
        let log = measured.clone();
        let begin = Task::new(move || {
            log.push(allocation_counter::measure(|| {
                for _ in 0..WAITERS {
                    let (port, sums) = (waited.clone(), sums.clone());
                    motet_dispatch::spawn_here(&on.handle(), async move {
                        let n: u64 = port.recv().await;
                        sums.post(n).unwrap();
                    });
                }
            }));
        });
        queue.enqueue(begin).unwrap();
        dispatcher.wait_idle();
        let used = measured.take().remove(0);
        println!(
            "a waiting handler takes {} bytes in {} allocations",
            used.bytes_current / WAITERS.cast_signed(),
            used.count_current / WAITERS.cast_signed(),
        );
        assert_eq!(port.receiver_count() as u64, WAITERS);
        // The only thread is free for others.
        let gate = Gate::new();
        let open = gate.clone();
        queue.enqueue(Task::new(move || open.open())).unwrap();
        gate.pass();
        (0..WAITERS).for_each(|n| port.post(n).unwrap());
        dispatcher.wait_idle();
        assert_eq!(sum.item_count() as u64, WAITERS);
        assert_eq!(
            take_all(&sum).into_iter().sum::<u64>(),
            WAITERS * (WAITERS - 1) / 2
        );
    });
}

#[test]
fn sem_g15_a_handler_that_waits_in_the_middle_lets_others_run() {
    within(patience(), || {
        let (dispatcher, queue) = dispatcher(1);
        let (asks, answers, sums) = (Port::new(), Port::new(), Port::new());
        let (answered, out) = (answers.clone(), sums.clone());
        Receive::persistent_async(&asks, move |n: u32| {
            let (answers, sums) = (answered.clone(), out.clone());
            async move {
                let answer: u32 = answers.recv().await;
                sums.post(n + answer).unwrap();
            }
        })
        .activate(&queue)
        .unwrap();
        post_all(&asks, [10, 20, 30]);
        dispatcher.wait_idle();
        assert_eq!(
            (asks.item_count(), sums.item_count()),
            (0, 0),
            "all three wait"
        );
        post_all(&answers, [1, 2, 3]);
        dispatcher.wait_idle();
        assert_eq!(take_all(&sums), [11, 22, 33]);
    });
}

#[test]
fn sem_g15_every_async_form_waits_without_a_thread() {
    within(patience(), || {
        let (dispatcher, queue) = dispatcher(1);
        let (p, q, go, out) = (Port::new(), Port::new(), Port::new(), Port::new());
        let handler = move |(go, out): (Port<()>, Port<u32>), sum: u32| async move {
            go.recv().await;
            out.post(sum).unwrap();
        };
        let ports = (go.clone(), out.clone());
        MultipleItemReceive::persistent_async(&p, 2, move |batch: Vec<u32>| {
            handler(ports.clone(), batch.iter().sum())
        })
        .activate(&queue)
        .unwrap();
        dispatcher.wait_idle();
        post_all(&p, [1, 2, 5]);
        let ports = (go.clone(), out.clone());
        JoinedReceive::persistent_async((&p, &q), move |(a, b): (u32, u32)| {
            handler(ports.clone(), a * b)
        })
        .activate(&queue)
        .unwrap();
        dispatcher.wait_idle();
        q.post(7).unwrap();
        let ports = (go.clone(), out.clone());
        Receive::once_async(&q, move |n: u32| handler(ports, n))
            .activate(&queue)
            .unwrap();
        dispatcher.wait_idle();
        q.post(9).unwrap();
        dispatcher.wait_idle();
        assert_eq!(out.item_count(), 0, "all wait");
        (0..3).for_each(|_| go.post(()).unwrap());
        dispatcher.wait_idle();
        assert_eq!(take_all(&out), [3, 35, 9]);
    });
}

#[test]
fn sem_g02_items_with_waiting_handlers_are_dropped_once() {
    let drops = Drops::new();
    let port = Port::new();
    let (_, waker) = Wakes::new();
    let mut recv = port.recv();
    assert!(poll(&mut recv, &waker).is_pending());
    (0..3).for_each(|_| assert!(port.post(drops.make()).is_ok()));
    drop(recv);
    assert_eq!((port.item_count(), drops.dropped()), (3, 0));
    drop(port);
    assert_eq!((drops.made(), drops.dropped()), (3, 3));
}

/// A spawned future may hold a receive of an item with a lifetime in its type, `'static` as it is,
/// and other waits of the kind.
#[test]
fn sem_g264_receives_of_borrowed_types_may_be_held_across_an_await() {
    within(patience(), || {
        let (dispatcher, queue) = dispatcher(1);
        let (words, heard) = (
            Port::<&'static str>::new(),
            Port::<(usize, &'static [u8])>::new(),
        );
        let more = Port::<&'static str>::new();
        let (hears, also, tells) = (words.clone(), more.clone(), heard.clone());
        spawn(&queue.handle(), async move {
            hears.ready().await;
            let word = hears.recv().await;
            let either = select().recv(&hears, |word: &'static str| word).await;
            let (both, _) = join((&hears, &also)).await;
            tells
                .post_wait((either.len() + both.len(), word.as_bytes()))
                .await
                .unwrap();
        })
        .unwrap();
        post_all(&words, ["one", "three", "seven"]);
        more.post("eight").unwrap();
        dispatcher.wait_idle();
        assert_eq!(heard.test(), Some((10, "one".as_bytes())));
    });
}
