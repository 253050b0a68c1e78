//! Models of what meets at a port: posts, joins, awaited receives that give up, cleanups.
//!
//! The queue of these models keeps its tasks; they are run, or cleaned up, at the end.

use crate::{Activation, JoinedReceive, MultipleItemReceive, Overflow, Port, Receive, Recv};
use motet_dispatch::{Enqueue, Exception, QueueError, Task};
use motet_sync::atomic::{AtomicUsize, Ordering};
use motet_sync::{Mutex, thread};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

/// Keeps tasks.
#[derive(Clone, Default)]
pub(crate) struct Keeper(Arc<Mutex<Vec<Task>>>);

impl Keeper {
    pub(crate) fn take(&self) -> Vec<Task> {
        std::mem::take(&mut *self.0.lock())
    }

    /// Runs what has been queued, and what that queues; says how many tasks there were.
    pub(crate) fn run(&self) -> usize {
        let tasks = self.take();
        let count = tasks.len();
        tasks.into_iter().for_each(Task::run);
        count
    }
}

impl Enqueue for Keeper {
    fn reserve(&self) -> Result<(), QueueError> {
        Ok(())
    }

    fn is_free(&self) -> bool {
        true
    }

    fn release(&self) {}

    fn admit(&self, task: Task) {
        self.0.lock().push(task);
    }

    fn readmit(&self, task: Task) {
        self.admit(task);
    }

    fn handle(&self) -> Arc<dyn Enqueue> {
        Arc::new(self.clone())
    }

    fn name(&self) -> &str {
        "keeper"
    }

    fn raise(&self, exception: Exception) {
        std::panic::resume_unwind(exception.into_payload());
    }
}

/// Counts wake-ups.
pub(crate) struct Wakes(AtomicUsize);

impl Wakes {
    pub(crate) fn new() -> (Arc<Self>, Waker) {
        let wakes = Arc::new(Wakes(AtomicUsize::new(0)));
        (Arc::clone(&wakes), Waker::from(wakes))
    }

    pub(crate) fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

fn poll(recv: &mut Recv<'_, u32>, waker: &Waker) -> Poll<u32> {
    Pin::new(recv).poll(&mut Context::from_waker(waker))
}

pub(crate) fn post_elsewhere(port: &Port<u32>, item: u32) -> thread::JoinHandle<()> {
    let port = port.clone();
    thread::spawn(move || port.post(item).unwrap())
}

fn join(p: &Port<u32>, q: &Port<u32>, queue: &Keeper) -> Activation {
    JoinedReceive::persistent((p, q), |_| ())
        .activate(queue)
        .unwrap()
}

/// A receive that waits is dropped while its item comes: the item stays in the port.
#[test]
fn loom_post_against_the_end_of_an_awaited_receive() {
    loom::model(|| {
        let port = Port::new();
        let (_, waker) = Wakes::new();
        let mut recv = port.recv();
        assert!(poll(&mut recv, &waker).is_pending());
        let poster = post_elsewhere(&port, 7);
        drop(recv);
        poster.join().unwrap();
        assert_eq!(port.test(), Some(7));
        assert_eq!(port.receiver_count(), 0);
    });
}

/// A receive begins to wait, then gets another waker, while its item comes: it has the item, or its
/// last waker is woken.
#[test]
fn loom_post_against_the_begin_of_an_awaited_receive() {
    loom::model(|| {
        let port = Port::new();
        let ((old, old_waker), (new, new_waker)) = (Wakes::new(), Wakes::new());
        let mut recv = port.recv();
        let poster = post_elsewhere(&port, 7);
        let mut seen = poll(&mut recv, &old_waker);
        if seen.is_pending() {
            seen = poll(&mut recv, &new_waker);
        }
        poster.join().unwrap();
        if seen.is_pending() {
            assert_eq!((old.count(), new.count()), (0, 1));
            assert_eq!(poll(&mut recv, &new_waker), Poll::Ready(7));
        }
        assert_eq!((port.item_count(), port.receiver_count()), (0, 0));
    });
}

/// Both items of a join come at once: it fires, once.
#[test]
fn loom_two_posts_against_a_join() {
    loom::model(|| {
        let (p, q, queue) = (Port::new(), Port::new(), Keeper::default());
        join(&p, &q, &queue);
        queue.run();
        let poster = post_elsewhere(&p, 1);
        q.post(2).unwrap();
        poster.join().unwrap();
        assert_eq!((p.item_count(), q.item_count()), (0, 0));
        assert_eq!(queue.run(), 1);
    });
}

/// A join connects two ports while items come to both: nobody misses the other.
#[test]
fn loom_two_posts_against_the_registration_of_a_join() {
    loom::model(|| {
        let (p, q, queue) = (Port::new(), Port::new(), Keeper::default());
        join(&p, &q, &queue);
        let posters = [post_elsewhere(&p, 1), post_elsewhere(&q, 2)];
        queue.run();
        for poster in posters {
            poster.join().unwrap();
        }
        assert_eq!((p.item_count(), q.item_count()), (0, 0));
        assert_eq!(queue.run(), 1);
    });
}

/// An item comes to one port of a join that is just being registered, then one to the other.
#[test]
fn loom_a_post_against_a_join_that_begins() {
    loom::model(|| {
        let (p, q, queue) = (Port::new(), Port::new(), Keeper::default());
        join(&p, &q, &queue);
        let poster = post_elsewhere(&p, 1);
        let (port, registering) = (q.clone(), queue.clone());
        let other = thread::spawn(move || {
            registering.run();
            port.post(2).unwrap();
        });
        poster.join().unwrap();
        other.join().unwrap();
        assert_eq!((p.item_count(), q.item_count()), (0, 0));
        assert_eq!(queue.run(), 1);
    });
}

/// The last items of a join of three ports, of which one brings two, come at once: it fires, once.
#[test]
fn loom_two_posts_against_a_join_of_three() {
    loom::model(|| {
        let (p, q, r, queue) = (Port::new(), Port::new(), Port::new(), Keeper::default());
        JoinedReceive::persistent((&p, q.times(2), &r), |_| ())
            .activate(&queue)
            .unwrap();
        queue.run();
        p.post(1).unwrap();
        q.post(2).unwrap();
        let poster = post_elsewhere(&q, 3);
        r.post(4).unwrap();
        poster.join().unwrap();
        assert_eq!((p.item_count(), q.item_count(), r.item_count()), (0, 0, 0));
        assert_eq!(queue.run(), 1);
    });
}

/// Both items of two joins on the same ports, named in either order, come at once: one fires.
#[test]
fn loom_two_posts_against_crossing_joins() {
    loom::model(|| {
        let (p, q, queue) = (Port::new(), Port::new(), Keeper::default());
        join(&p, &q, &queue);
        join(&q, &p, &queue);
        queue.run();
        let poster = post_elsewhere(&p, 1);
        q.post(2).unwrap();
        poster.join().unwrap();
        assert_eq!((p.item_count(), q.item_count()), (0, 0));
        assert_eq!(queue.run(), 1);
    });
}

/// An item of a join is taken while the other comes: the join fires with both, or with neither.
#[test]
fn loom_a_post_against_a_test() {
    loom::model(|| {
        let (p, q, queue) = (Port::new(), Port::new(), Keeper::default());
        join(&p, &q, &queue);
        queue.run();
        p.post(1).unwrap();
        let poster = post_elsewhere(&q, 2);
        let taken = p.test();
        poster.join().unwrap();
        let fired = queue.run();
        assert_eq!(fired, usize::from(taken.is_none()));
        assert_eq!((p.item_count(), q.item_count()), (0, 1 - fired));
    });
}

/// Two joins on the same ports, named in either order, are registered at once: one fires.
#[test]
fn loom_crossing_joins() {
    loom::model(|| {
        let (p, q) = (Port::new(), Port::new());
        p.post(1).unwrap();
        q.post(2).unwrap();
        let queues = [Keeper::default(), Keeper::default()];
        join(&p, &q, &queues[0]);
        join(&q, &p, &queues[1]);
        let other = queues[1].clone();
        let registering = thread::spawn(move || other.run());
        queues[0].run();
        registering.join().unwrap();
        assert_eq!((p.item_count(), q.item_count()), (0, 0));
        let fired: usize = queues.iter().map(Keeper::run).sum();
        assert_eq!(fired, 1);
    });
}

/// A one-time receive is cleaned up while two items come: each is in the port or in its one task.
#[test]
fn loom_two_posts_against_a_cleanup() {
    loom::model(|| {
        let (port, queue) = (Port::new(), Keeper::default());
        let active = Receive::once(&port, |_| ()).activate(&queue).unwrap();
        queue.run();
        let poster = post_elsewhere(&port, 1);
        let closer = thread::spawn(move || {
            active.cleanup();
            assert!(!active.is_active());
        });
        port.post(2).unwrap();
        poster.join().unwrap();
        closer.join().unwrap();
        let tasks = queue.take();
        assert!(tasks.len() <= 1);
        assert_eq!(tasks.len() + port.item_count(), 2);
        assert_eq!(port.receiver_count(), 0);
    });
}

/// Two items that make a batch come while it is registered: it is taken, once.
#[test]
fn loom_two_posts_against_the_registration_of_a_batch() {
    loom::model(|| {
        let (port, queue) = (Port::new(), Keeper::default());
        MultipleItemReceive::persistent(&port, 2, |two: Vec<u32>| assert_eq!(two.len(), 2))
            .activate(&queue)
            .unwrap();
        let poster = post_elsewhere(&port, 1);
        let other = post_elsewhere(&port, 2);
        queue.run();
        poster.join().unwrap();
        other.join().unwrap();
        assert_eq!((port.item_count(), queue.run()), (0, 1));
    });
}

/// A receive of batches is cleaned up while two items come: both are in the port, or in its one
/// task.
#[test]
fn loom_two_posts_against_the_cleanup_of_a_batch() {
    loom::model(|| {
        let (port, queue) = (Port::new(), Keeper::default());
        let batch = MultipleItemReceive::persistent(&port, 2, |_: Vec<u32>| ());
        let active = batch.activate(&queue).unwrap();
        queue.run();
        let poster = post_elsewhere(&port, 1);
        let closer = thread::spawn(move || active.cleanup());
        port.post(2).unwrap();
        poster.join().unwrap();
        closer.join().unwrap();
        let tasks = queue.take();
        assert!(tasks.len() <= 1);
        assert_eq!(2 * tasks.len() + port.item_count(), 2);
        tasks.into_iter().for_each(Task::cleanup);
        assert_eq!((port.item_count(), port.receiver_count()), (2, 0));
    });
}

/// A batch comes back while another item is posted: nothing is lost, and the batch can be had
/// again.
#[test]
fn loom_a_batch_that_comes_back_against_a_post() {
    loom::model(|| {
        let (port, queue) = (Port::new(), Keeper::default());
        let batch = || MultipleItemReceive::once(&port, 2, |_: Vec<u32>| ());
        batch().activate(&queue).unwrap();
        queue.run();
        port.post(1).unwrap();
        port.post(2).unwrap();
        let poster = post_elsewhere(&port, 3);
        queue.take().into_iter().for_each(Task::cleanup);
        poster.join().unwrap();
        assert_eq!(port.test_multiple(3), Some(vec![1, 2, 3]));
    });
}

/// A post that waits joins the line of a full port while the item in it is taken: it is let in.
#[test]
fn loom_a_post_that_waits_against_a_take() {
    loom::model(|| {
        let port = Port::bounded(1, Overflow::Wait);
        port.post(1).unwrap();
        let taker = thread::spawn({
            let port = port.clone();
            move || assert_eq!(port.test(), Some(1))
        });
        motet_sync::block_on(port.post_wait(2)).unwrap();
        taker.join().unwrap();
        assert_eq!(port.test(), Some(2));
    });
}

/// Someone waits to post; an item is taken while someone else posts without waiting: he does not
/// get ahead, and no item is lost.
#[test]
fn loom_a_post_against_one_that_waits() {
    loom::model(|| {
        let port = Port::bounded(1, Overflow::Wait);
        port.post(1).unwrap();
        let (wakes, waker) = Wakes::new();
        let mut waits = port.post_wait(2);
        let mut cx = Context::from_waker(&waker);
        assert!(Pin::new(&mut waits).poll(&mut cx).is_pending());
        let other = thread::spawn({
            let port = port.clone();
            move || port.post(3).is_ok()
        });
        assert_eq!(port.test(), Some(1));
        assert!(!other.join().unwrap(), "the port is never free for him");
        assert_eq!(wakes.count(), 1);
        assert!(Pin::new(&mut waits).poll(&mut cx).is_ready());
        assert_eq!((port.test(), port.test()), (Some(2), None));
    });
}

/// A post that waits is given up while room comes: the item is posted or comes back, not both.
#[test]
fn loom_a_post_that_is_given_up_against_a_take() {
    loom::model(|| {
        let port = Port::bounded(1, Overflow::Wait);
        port.post(1).unwrap();
        let (_, waker) = Wakes::new();
        let mut waits = port.post_wait(2);
        let mut cx = Context::from_waker(&waker);
        assert!(Pin::new(&mut waits).poll(&mut cx).is_pending());
        let taker = thread::spawn({
            let port = port.clone();
            move || assert_eq!(port.test(), Some(1))
        });
        let back = waits.into_item();
        taker.join().unwrap();
        assert_eq!(back.xor(port.test()), Some(2));
        assert_eq!(port.item_count(), 0);
    });
}
