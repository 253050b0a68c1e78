//! A wait for a number of items of a port, which leaves them there.

use crate::held::come_back;
use motet_ports::{Offer, Port, Receiver, Verdict};
use motet_sync::Mutex;
use std::borrow::Cow;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// Waits until `count` items wait in the port, and leaves them there. `false`: the port is closed,
/// and fewer are left, also with those that somebody holds and may give back.
pub(crate) async fn enough<T: Send + 'static>(port: &Port<T>, count: usize) -> bool {
    enough_of(port, (count, count)).await
}

/// As [`enough`] for the first number, on behalf of several who want so many items up to the second
/// number. `false`: the port is closed, and some of them get no more so many.
pub(crate) async fn enough_of<T: Send + 'static>(
    port: &Port<T>,
    (least, most): (usize, usize),
) -> bool {
    let (count, most) = (least.max(1), most.max(1));
    loop {
        let is_there = if count == 1 {
            port.ready().or_closed().await.is_ok()
        } else {
            let waits = None;
            EnoughItems { port, count, waits }.await
        };
        if is_there || !come_back(port, count, most).await {
            return is_there;
        }
    }
}

struct EnoughItems<'a, T: Send + 'static> {
    port: &'a Port<T>,
    count: usize,
    waits: Option<Arc<CountingReceiver>>,
}

/// Takes nothing, and leaves the port once enough items have come.
struct CountingReceiver {
    count: usize,
    /// Taken once enough have come, or none come any more.
    waker: Mutex<Option<Waker>>,
}

impl<T: Send + 'static> EnoughItems<'_, T> {
    fn leave(&mut self) {
        if let Some(waits) = self.waits.take() {
            let receiver: Arc<dyn Receiver<T>> = waits;
            self.port.unregister(&receiver);
        }
    }
}

impl<T: Send + 'static> Future for EnoughItems<'_, T> {
    type Output = bool;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<bool> {
        let this = self.get_mut();
        loop {
            // Before the count: a closed port gets no more.
            let is_closed = this.port.is_closed();
            let is_there = this.port.item_count() >= this.count;
            if is_there || is_closed {
                this.leave();
                return Poll::Ready(is_there);
            }
            if let Some(waits) = &this.waits
                && waits.goes_on(cx.waker().clone())
            {
                return Poll::Pending;
            }
            let waits = Arc::new(CountingReceiver {
                count: this.count,
                waker: Mutex::new(Some(cx.waker().clone())),
            });
            this.waits = Some(Arc::clone(&waits));
            // It is offered what has come since the last look, and the next round looks again.
            this.port.register(waits);
        }
    }
}

impl<T: Send + 'static> Drop for EnoughItems<'_, T> {
    fn drop(&mut self) {
        self.leave();
    }
}

impl CountingReceiver {
    /// Whether it still waits; then `waker` is woken at the end.
    fn goes_on(&self, waker: Waker) -> bool {
        let mut place = self.waker.lock();
        let goes_on = place.is_some();
        let before = if goes_on {
            place.replace(waker)
        } else {
            Some(waker)
        };
        drop(place);
        // Outside of the lock: it is the user's.
        drop(before);
        goes_on
    }
}

impl<T: Send + 'static> Receiver<T> for CountingReceiver {
    fn offer(&self, offer: &mut Offer<'_, T>) -> Verdict {
        if offer.waiting_count() + 1 >= self.count {
            offer.leave_port();
            let waker = self.waker.lock().take();
            waker.into_iter().for_each(|waker| offer.wake(waker));
        }
        Verdict::Reject
    }

    fn needs(&self) -> usize {
        self.count
    }

    fn ended(&self) {
        let waker = self.waker.lock().take();
        waker.into_iter().for_each(Waker::wake);
    }

    fn describe(&self) -> Cow<'static, str> {
        Cow::Borrowed("awaited look at several items")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::held::HeldItems;
    use motet_dispatch::{Enqueue, QueueConfig, Replay, spawn};
    use std::pin::pin;

    /// A port, and another one that is told what a wait for three of its items says.
    fn waits_for_3(replay: &Replay) -> (Port<u32>, Port<bool>) {
        let (port, told) = (Port::new(), Port::new());
        let (items, out) = (port.clone(), told.clone());
        let queue: Arc<dyn Enqueue> = Arc::new(replay.queue(QueueConfig::named("waits")));
        spawn(&queue, async move {
            let _ = out.post(enough(&items, 3).await);
        })
        .expect("the queue is open");
        replay.run();
        (port, told)
    }

    #[test]
    fn a_wait_for_several_items_ends_when_so_many_are_there_at_once() {
        let replay = Replay::new(1);
        let (port, told) = waits_for_3(&replay);
        for n in 0..4 {
            port.post(n).expect("it is open");
            replay.run();
            assert_eq!(port.test(), Some(n));
        }
        assert_eq!((told.test(), port.receiver_count()), (None, 1));
        (0..2).for_each(|n| port.post(n).expect("it is open"));
        replay.run();
        assert_eq!(told.test(), None);
        port.post(2).expect("it is open");
        replay.run();
        assert_eq!((told.test(), port.receiver_count()), (Some(true), 0));
        assert_eq!(port.items(), [0, 1, 2]);
    }

    #[test]
    fn a_wait_for_several_items_ends_when_no_more_can_come() {
        let replay = Replay::new(2);
        let (port, told) = waits_for_3(&replay);
        (0..2).for_each(|n| port.post(n).expect("it is open"));
        port.close();
        replay.run();
        assert_eq!((told.test(), port.item_count()), (Some(false), 2));
        assert_eq!(port.receiver_count(), 0);
    }

    /// What a wait for so many items of a closed port is told, which has one; another is held.
    fn waits_for_held(count: usize) -> (Replay, Port<u32>, HeldItems<u32>, Port<bool>) {
        let (replay, port, told) = (Replay::new(3), Port::new(), Port::new());
        (1..=2).for_each(|n| port.post(n).expect("it is open"));
        let held = HeldItems::take_out(&port, 1).expect("there are two");
        port.close();
        let (items, out) = (port.clone(), told.clone());
        let queue: Arc<dyn Enqueue> = Arc::new(replay.queue(QueueConfig::named("waits")));
        spawn(&queue, async move {
            let _ = out.post(enough(&items, count).await);
        })
        .expect("the queue is open");
        replay.run();
        (replay, port, held, told)
    }

    #[test]
    fn sem_g608_a_closed_port_has_not_ended_while_items_of_it_may_come_back() {
        let (replay, port, held, told) = waits_for_held(2);
        assert_eq!(told.test(), None);
        drop(held);
        replay.run();
        assert_eq!((told.test(), port.items()), (Some(true), vec![1, 2]));
        let (replay, port, held, told) = waits_for_held(2);
        assert_eq!(held.into_items(), [1]);
        replay.run();
        assert_eq!((told.test(), port.items()), (Some(false), vec![2]));
        // More than there are with that one.
        let (_replay, _port, _held, told) = waits_for_held(3);
        assert_eq!(told.test(), Some(false));
    }

    #[test]
    fn sem_g608_one_item_is_waited_for_as_several_are() {
        let (replay, port, held, told) = waits_for_held(1);
        assert_eq!(told.test(), Some(true));
        let (items, out) = (port.clone(), told.clone());
        assert_eq!(port.test(), Some(2));
        {
            // Without a step.
            let mut ends = pin!(port.recv().or_closed());
            let mut context = Context::from_waker(Waker::noop());
            let told = ends.as_mut().poll(&mut context);
            assert!(matches!(told, Poll::Ready(Err(_))));
        }
        let queue: Arc<dyn Enqueue> = Arc::new(replay.queue(QueueConfig::named("waits")));
        spawn(&queue, async move {
            let _ = out.post(enough(&items, 1).await);
        })
        .expect("the queue is open");
        replay.run();
        assert_eq!(told.test(), None);
        drop(held);
        replay.run();
        assert_eq!((told.test(), port.items()), (Some(true), vec![1]));
    }
}
