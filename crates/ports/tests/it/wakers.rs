//! Wakers that others keep, and what their destructors do.

use crate::support::poll;
use motet_ports::{Overflow, Port, reply, select};
use motet_sync::Mutex;
use motet_testkit::{patience, within};
use std::sync::Arc;
use std::task::{Poll, Wake, Waker};

/// A waker that does something when the last of it is dropped, as one that holds a task.
struct Acts(Mutex<Option<Box<dyn FnOnce() + Send>>>);

impl Wake for Acts {
    fn wake(self: Arc<Self>) {}
}

impl Drop for Acts {
    fn drop(&mut self) {
        let act = self.0.lock().take();
        act.into_iter().for_each(|act| act());
    }
}

/// Polls with such a waker, then with another: the first is dropped then.
fn polled_by_two<F: Future + Unpin>(wait: &mut F, act: impl FnOnce() + Send + 'static) {
    let acts = Acts(Mutex::new(Some(Box::new(act))));
    let first = Waker::from(Arc::new(acts));
    assert!(poll(wait, &first).is_pending());
    drop(first);
    assert!(poll(wait, Waker::noop()).is_pending());
}

#[test]
fn sem_g523_a_waker_that_is_replaced_may_post() {
    within(patience(), || {
        let port = Port::new();
        let (mut recv, poster) = (port.recv(), port.clone());
        polled_by_two(&mut recv, move || poster.post(5).unwrap());
        assert_eq!(poll(&mut recv, Waker::noop()), Poll::Ready(5));

        let (mut ready, poster) = (port.ready(), port.clone());
        polled_by_two(&mut ready, move || poster.post(6).unwrap());
        assert!(poll(&mut ready, Waker::noop()).is_ready());
        assert_eq!(port.test(), Some(6));

        let other = Port::<u32>::new();
        let mut either = select().recv(&port, |item| item).recv(&other, |item| item);
        let poster = port.clone();
        polled_by_two(&mut either, move || poster.post(7).unwrap());
        assert_eq!(poll(&mut either, Waker::noop()), Poll::Ready(7));
    });
}

#[test]
fn sem_g523_a_waker_that_is_replaced_may_answer() {
    within(patience(), || {
        let (to, mut answer) = reply();
        polled_by_two(&mut answer, move || to.post(7).unwrap());
        assert_eq!(poll(&mut answer, Waker::noop()), Poll::Ready(Ok(7)));
        // A task that is dropped with it had the reply port.
        let (to, mut answer) = reply::<u32>();
        polled_by_two(&mut answer, move || drop(to));
        assert!(matches!(
            poll(&mut answer, Waker::noop()),
            Poll::Ready(Err(_))
        ));
    });
}

#[test]
fn sem_g523_a_waker_that_is_replaced_may_take() {
    within(patience(), || {
        let port = Port::bounded(1, Overflow::Wait);
        port.post(1).unwrap();
        let (mut posted, taker) = (port.post_wait(2), port.clone());
        polled_by_two(&mut posted, move || assert_eq!(taker.test(), Some(1)));
        assert!(matches!(
            poll(&mut posted, Waker::noop()),
            Poll::Ready(Ok(()))
        ));
        assert_eq!(port.test(), Some(2));
    });
}
