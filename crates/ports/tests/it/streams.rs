//! Ports as streams and sinks.

use crate::support::{Wakes, dispatcher, here, poll, port_with, post_all};
use futures_core::Stream;
use futures_util::{Sink, SinkExt, StreamExt, stream};
use motet_dispatch::{Dispatcher, Enqueue, ExecutionPolicy, QueueConfig, Task};
use motet_ports::{FromHandler, Overflow, Port, Receive, wait_blocking};
use motet_testkit::{Gate, Log, patience, within};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

fn next<S: Stream + Unpin>(stream: &mut S, waker: &Waker) -> Poll<Option<S::Item>> {
    Pin::new(stream).poll_next(&mut Context::from_waker(waker))
}

#[test]
fn sem_g261_a_stream_takes_items_in_order_as_they_come() {
    let port = port_with([1, 2]);
    let (wakes, waker) = Wakes::new();
    let mut stream = port.stream();
    assert_eq!(port.item_count(), 2, "made, it takes nothing");
    assert_eq!(next(&mut stream, &waker), Poll::Ready(Some(1)));
    assert_eq!(next(&mut stream, &waker), Poll::Ready(Some(2)));
    assert_eq!(next(&mut stream, &waker), Poll::Pending);
    post_all(&port, [3, 4]);
    assert_eq!(wakes.count(), 1);
    assert_eq!(next(&mut stream, &waker), Poll::Ready(Some(3)));
    assert_eq!(next(&mut stream, &waker), Poll::Ready(Some(4)));
    assert_eq!(next(&mut stream, &waker), Poll::Pending);
    assert_eq!(port.receiver_count(), 1);
}

#[test]
fn sem_g261_a_stream_that_is_dropped_loses_nothing() {
    let port = Port::new();
    let (_, waker) = Wakes::new();
    let mut stream = port.stream();
    assert_eq!(next(&mut stream, &waker), Poll::Pending);
    post_all(&port, [1, 2]);
    assert_eq!(port.items(), [2], "1 is meant for the stream");
    drop(stream);
    assert_eq!((port.items(), port.receiver_count()), (vec![1, 2], 0));
}

#[test]
fn sem_g261_two_streams_share_the_items() {
    let port = Port::new();
    let (_, waker) = Wakes::new();
    let (mut one, mut two) = (port.stream(), port.stream());
    assert_eq!(next(&mut one, &waker), Poll::Pending);
    assert_eq!(next(&mut two, &waker), Poll::Pending);
    post_all(&port, [1, 2]);
    assert_eq!(next(&mut two, &waker), Poll::Ready(Some(2)));
    assert_eq!(next(&mut one, &waker), Poll::Ready(Some(1)));
}

#[test]
fn sem_g261_until_lets_what_waits_come_and_ends() {
    let (port, end) = (port_with([1, 2]), Port::new());
    let (_, waker) = Wakes::new();
    let mut stream = port.stream().until(end.recv());
    assert_eq!(next(&mut stream, &waker), Poll::Ready(Some(1)));
    end.post(()).unwrap();
    post_all(&port, [3]);
    assert_eq!(next(&mut stream, &waker), Poll::Ready(Some(2)));
    post_all(&port, [4]);
    assert_eq!(next(&mut stream, &waker), Poll::Ready(Some(3)));
    assert_eq!(next(&mut stream, &waker), Poll::Ready(None));
    assert_eq!(next(&mut stream, &waker), Poll::Ready(None), "for good");
    assert_eq!(port.items(), [4], "it came after the end");
}

#[test]
fn sem_g261_until_wakes_a_stream_that_waits_and_counts_what_was_meant_for_it() {
    let (port, end) = (Port::new(), Port::new());
    let (wakes, waker) = Wakes::new();
    let mut stream = port.stream().until(end.recv());
    assert_eq!(next(&mut stream, &waker), Poll::Pending);
    post_all(&port, [1, 2]);
    end.post(()).unwrap();
    assert_eq!(wakes.count(), 2, "of the item and of the end");
    assert_eq!(next(&mut stream, &waker), Poll::Ready(Some(1)));
    assert_eq!(next(&mut stream, &waker), Poll::Ready(Some(2)));
    assert_eq!(next(&mut stream, &waker), Poll::Ready(None));
    assert_eq!((port.receiver_count(), end.receiver_count()), (0, 0));
}

#[test]
fn sem_g261_until_ends_early_when_others_take_the_rest() {
    let (port, end) = (port_with([1, 2, 3]), port_with([()]));
    let (_, waker) = Wakes::new();
    let mut stream = port.stream().until(end.recv());
    assert_eq!(next(&mut stream, &waker), Poll::Ready(Some(1)));
    assert_eq!(port.clear(), 2);
    assert_eq!(next(&mut stream, &waker), Poll::Ready(None));
    post_all(&port, [4]);
    assert_eq!(next(&mut stream, &waker), Poll::Ready(None));
}

#[test]
fn sem_g261_combinators_run_in_handlers() {
    within(patience(), || {
        let (dispatcher, queue) = dispatcher(2);
        let (numbers, sums, end) = (Port::new(), Port::new(), Port::new());
        let (port, mut out, until) = (numbers.clone(), sums.sink(), end.clone());
        FromHandler::new_async(move || async move {
            let mut pairs = port.stream().until(until.recv()).chunks(2);
            while let Some(pair) = pairs.next().await {
                out.send(pair.iter().sum::<u32>()).await.unwrap();
            }
            out.close().await.unwrap();
        })
        .activate(&queue)
        .unwrap();
        post_all(&numbers, 1..=5);
        end.post(()).unwrap();
        dispatcher.wait_idle();
        assert_eq!(sums.items(), [3, 7, 5]);
    });
}

#[test]
fn sem_g261_a_sink_posts() {
    let (port, log) = (Port::new(), Log::new());
    let told = log.clone();
    Receive::persistent(&port, move |n: u32| told.push(n))
        .activate(&here())
        .unwrap();
    let numbers = stream::iter(1..=3).map(Ok);
    wait_blocking(numbers.forward(port.sink()))
        .unwrap()
        .unwrap();
    assert_eq!(log.take(), [1, 2, 3]);
    // A sink that was closed leaves the port as it is.
    let mut sink = port.sink();
    wait_blocking(sink.close()).unwrap().unwrap();
    wait_blocking(sink.clone().send(4)).unwrap().unwrap();
    assert_eq!(log.take(), [4]);
}

#[test]
fn sem_g265_a_sink_waits_for_room_in_its_port() {
    let port = Port::bounded(2, Overflow::Wait);
    let (wakes, waker) = Wakes::new();
    let mut cx = Context::from_waker(&waker);
    let mut sink = pin!(port.sink());
    for n in 1..=3 {
        assert_eq!(
            sink.as_mut().poll_ready(&mut cx),
            Poll::Ready(Ok(())),
            "{n}"
        );
        sink.as_mut().start_send(n).unwrap();
    }
    assert_eq!(port.items(), [1, 2], "the third waits for room");
    assert!(sink.as_mut().poll_ready(&mut cx).is_pending());
    assert!(sink.as_mut().poll_flush(&mut cx).is_pending());
    assert!(sink.as_mut().poll_close(&mut cx).is_pending());
    assert_eq!(port.test(), Some(1));
    assert_eq!(wakes.count(), 1);
    assert_eq!(port.items(), [2, 3]);
    assert_eq!(sink.as_mut().poll_ready(&mut cx), Poll::Ready(Ok(())));
    assert_eq!(sink.as_mut().poll_flush(&mut cx), Poll::Ready(Ok(())));
}

#[test]
fn sem_g265_a_stream_goes_through_narrow_ports_and_queues_without_loss() {
    within(patience(), || {
        let dispatcher = Dispatcher::new(2);
        let wide = dispatcher.queue(QueueConfig::named("wide"));
        let depth = 2.try_into().unwrap();
        let narrow = dispatcher.queue(QueueConfig {
            policy: ExecutionPolicy::ConstrainQueueDepthThrottleExecution { depth },
            ..QueueConfig::named("narrow")
        });
        let (port, handled, log) = (Port::bounded(2, Overflow::Wait), Port::new(), Log::new());
        let told = log.clone();
        Receive::persistent(&handled, move |n: u32| told.push(n))
            .activate(&narrow)
            .unwrap();
        let (first, then, second) = (port.sink(), port.stream(), handled.sink());
        FromHandler::new_async(move || async move {
            let numbers = stream::iter(0..1_000).map(Ok);
            numbers.forward(first).await.unwrap();
        })
        .activate(&wide)
        .unwrap();
        FromHandler::new_async(move || async move {
            then.take(1_000).map(Ok).forward(second).await.unwrap();
        })
        .activate(&wide)
        .unwrap();
        dispatcher.wait_idle();
        assert_eq!(log.take_sorted(), Vec::from_iter(0..1_000));
    });
}

#[test]
fn sem_g265_a_sink_that_is_dropped_drops_the_item_that_waits() {
    let port = Port::bounded(1, Overflow::Wait);
    let mut sink = port.sink();
    for n in 1..=2 {
        sink.start_send_unpin(n).unwrap();
    }
    drop(sink);
    assert_eq!((port.test(), port.test()), (Some(1), None));
}

#[test]
fn sem_g261_a_sink_hands_a_refused_item_back() {
    within(patience(), || {
        let dispatcher = Dispatcher::new(1);
        let queue = dispatcher.queue(QueueConfig::bounded("queue", 1));
        let port = Port::new();
        Receive::persistent(&port, |_: u32| ())
            .activate(&queue)
            .unwrap();
        dispatcher.wait_idle();
        let (held, gate) = (Gate::new(), Gate::new());
        let (holds, waits) = (held.clone(), gate.clone());
        let holding = Task::new(move || {
            holds.open();
            waits.pass();
        });
        queue.enqueue(holding).unwrap();
        held.pass();
        let mut sink = port.sink();
        wait_blocking(sink.send(1)).unwrap().unwrap();
        assert_eq!(wait_blocking(sink.send(2)).unwrap().unwrap_err().item, 2);
        gate.open();
    });
}

/// A waker that panics.
struct BreaksPoster;

impl Wake for BreaksPoster {
    fn wake(self: Arc<Self>) {
        panic!("the waker breaks");
    }
}

#[test]
fn sem_g34_a_sink_goes_on_after_a_waker_has_panicked() {
    let port = Port::new();
    let mut recv = port.recv();
    assert!(poll(&mut recv, &Waker::from(Arc::new(BreaksPoster))).is_pending());
    let mut sink = port.sink();
    let sent = catch_unwind(AssertUnwindSafe(|| Pin::new(&mut sink).start_send(1)));
    assert!(sent.is_err(), "the poster is told");
    Pin::new(&mut sink).start_send(2).unwrap();
    drop(recv);
    assert_eq!(port.items(), [1, 2]);
}
