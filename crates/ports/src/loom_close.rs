//! Models of the end of a port: a close meets a post, a wait, a join and the handlers of a
//! pipeline.

use crate::loom_ports::{Keeper, Wakes};
use crate::{Closed, JoinedReceive, OrClosed, Overflow, Port, PostRefusal, Receive, Recv};
use motet_sync::thread;
use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

fn close_elsewhere(port: &Port<u32>) -> thread::JoinHandle<()> {
    let port = port.clone();
    thread::spawn(move || port.close())
}

fn poll(wait: &mut OrClosed<Recv<'_, u32>>, waker: &Waker) -> Poll<Result<u32, Closed>> {
    Pin::new(wait).poll(&mut Context::from_waker(waker))
}

/// An item is refused, or handled before the receive ends.
#[test]
fn loom_close_against_a_post() {
    loom::model(|| {
        let (port, queue) = (Port::new(), Keeper::default());
        let active = Receive::persistent(&port, |_| ()).activate(&queue).unwrap();
        queue.run();
        let closer = close_elsewhere(&port);
        let posted = port.post(7);
        closer.join().unwrap();
        let refused = posted.is_err_and(|refused| refused.reason == PostRefusal::Closed);
        assert_eq!(queue.run(), usize::from(!refused));
        assert!(!active.is_active());
        assert_eq!((port.item_count(), port.receiver_count()), (0, 0));
    });
}

/// A wait that begins, or has begun, learns of the end.
#[test]
fn loom_close_against_an_awaited_receive() {
    loom::model(|| {
        let port = Port::new();
        let ((old, old_waker), (new, new_waker)) = (Wakes::new(), Wakes::new());
        let mut wait = port.recv().or_closed();
        let closer = close_elsewhere(&port);
        let mut seen = poll(&mut wait, &old_waker);
        if seen.is_pending() {
            seen = poll(&mut wait, &new_waker);
        }
        closer.join().unwrap();
        if seen.is_pending() {
            assert_eq!((old.count(), new.count()), (0, 1));
            seen = poll(&mut wait, &new_waker);
        }
        assert_eq!(seen, Poll::Ready(Err(Closed)));
        assert_eq!(port.receiver_count(), 0);
    });
}

/// A poster that waits for room is let in, or gets its item back; it is woken either way.
#[test]
fn loom_close_against_a_poster_that_waits_for_room() {
    loom::model(|| {
        let port = Port::bounded(1, Overflow::Wait);
        let (wakes, waker) = Wakes::new();
        port.post(1).unwrap();
        let mut wait = pin!(port.post_wait(2));
        let cx = &mut Context::from_waker(&waker);
        assert!(wait.as_mut().poll(cx).is_pending());
        let closer = close_elsewhere(&port);
        assert_eq!(port.test(), Some(1));
        closer.join().unwrap();
        assert_eq!(wakes.count(), 1);
        match wait.as_mut().poll(cx) {
            Poll::Ready(Ok(())) => assert_eq!(port.test(), Some(2)),
            Poll::Ready(Err(refused)) => assert_eq!(refused.reason, PostRefusal::Closed),
            Poll::Pending => panic!("woken for nothing"),
        }
        assert_eq!(port.item_count(), 0);
    });
}

/// A join that is being registered ends with the port.
#[test]
fn loom_close_against_the_registration_of_a_join() {
    loom::model(|| {
        let (p, q, queue) = (Port::<u32>::new(), Port::<u32>::new(), Keeper::default());
        let active = JoinedReceive::persistent((&p, &q), |_| ())
            .activate(&queue)
            .unwrap();
        let closer = close_elsewhere(&q);
        queue.run();
        closer.join().unwrap();
        assert!(!active.is_active());
        assert_eq!((p.receiver_count(), q.receiver_count()), (0, 0));
    });
}

/// The last handler ends while the port is closed: the next port is closed, behind its item.
#[test]
fn loom_close_against_the_last_handler_of_a_pipeline() {
    loom::model(|| {
        let (first, second, queue) = (Port::new(), Port::new(), Keeper::default());
        let out = second.clone();
        Receive::persistent(&first, move |n: u32| out.post(n).unwrap())
            .closes(&second)
            .activate(&queue)
            .unwrap();
        queue.run();
        first.post(1).unwrap();
        let closer = close_elsewhere(&first);
        assert_eq!(queue.run(), 1);
        closer.join().unwrap();
        assert!(second.is_closed());
        assert_eq!(second.items(), [1]);
    });
}
