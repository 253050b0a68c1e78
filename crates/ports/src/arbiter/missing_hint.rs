//! Where a join lacks something: the input that the others need not look beyond.
//!
//! Most items that come to a join change nothing, for something is missing at another of its ports.
//! When that comes, it is offered to the join, which looks at all ports. So the join remembers one
//! input at which something is missing, and posts to its other ports ask no more than this. They
//! ask under their port's lock alone, without that of the domain, and may also write so, because of
//! two rules:
//!
//! - That something is missing at an input is written under the lock of the input's port, where it
//!   has been seen.
//! - Who brings something to an input at which it is missing, or may be, looks at all ports after
//!   that. It does so in an attempt, with the lock of the input's port. Or it places what it brings
//!   later.
//!
//! A post to the port P that reads "missing at Q" keeps its item without offering it. Whoever
//! brings Q what it lacks finds "Q" written under Q's lock, or what has been written since, which
//! is as true. It then makes an attempt. That locks P after the post, and finds the item; or
//! before, finds nothing there and writes "P", which the post would have read. If it finds another
//! input written, "R", it was written after "Q" and while R lacked something, and the same holds
//! for whoever brings that.

use motet_sync::atomic::{AtomicUsize, Ordering};

/// No particular input.
const ANYWHERE: usize = usize::MAX;

/// An input at which something is missing, if one is known.
pub(crate) struct MissingHint(AtomicUsize);

// Relaxed everywhere: the locks of the ports order what matters.
impl MissingHint {
    pub(crate) fn new() -> Self {
        MissingHint(AtomicUsize::new(ANYWHERE))
    }

    /// Something is missing at this input, whose port the caller has locked, and the domain.
    #[inline]
    pub(crate) fn at(&self, input: usize) {
        self.0.store(input, Ordering::Relaxed);
    }

    /// Nothing is known: whoever gets an item looks.
    #[inline]
    pub(crate) fn anywhere(&self) {
        self.0.store(ANYWHERE, Ordering::Relaxed);
    }

    /// Whether an item at this input changes nothing, because something is missing at another. The
    /// caller has locked the input's port.
    #[inline]
    pub(crate) fn is_elsewhere(&self, input: usize) -> bool {
        let missing_hint = self.0.load(Ordering::Relaxed);
        missing_hint != input && missing_hint != ANYWHERE
    }
}

#[cfg(all(test, motet_loom))]
mod loom_tests {
    use crate::loom_ports::{Keeper, post_elsewhere};
    use crate::{JoinedReceive, Port};

    /// Posts that keep their items without asking, before and after a firing: none is missed.
    #[test]
    fn loom_posts_to_a_join_that_lacks_something_elsewhere() {
        loom::model(|| {
            let (p, q, queue) = (Port::new(), Port::new(), Keeper::default());
            JoinedReceive::persistent((&p, &q), |_: (u32, u32)| ())
                .activate(&queue)
                .unwrap();
            queue.run();
            let poster = post_elsewhere(&q, 1);
            p.post(1).unwrap();
            p.post(2).unwrap();
            poster.join().unwrap();
            assert_eq!((p.item_count(), q.item_count()), (1, 0));
            q.post(2).unwrap();
            assert_eq!((p.item_count(), q.item_count()), (0, 0));
            assert_eq!(queue.run(), 2);
        });
    }

    /// An item comes to a port that is joined already while another join is registered there.
    #[test]
    fn loom_a_post_that_asks_nobody_against_the_registration_of_a_second_join() {
        loom::model(|| {
            let [p, q, r] = [(); 3].map(|()| Port::<u32>::new());
            let queue = Keeper::default();
            let join = |one, two| {
                JoinedReceive::persistent((one, two), |_: (u32, u32)| ())
                    .activate(&queue)
                    .unwrap()
            };
            join(&p, &q);
            queue.run();
            r.post(1).unwrap();
            join(&r, &q);
            let poster = post_elsewhere(&q, 2);
            let ran = queue.run();
            poster.join().unwrap();
            assert_eq!((r.item_count(), q.item_count()), (0, 0));
            assert_eq!(ran + queue.run(), 2, "the registration, and the handler");
        });
    }
}

#[cfg(all(test, not(any(motet_loom, motet_shuttle))))]
mod tests {
    use crate::{JoinedReceive, Port};
    use motet_dispatch::{Enqueue, Exception, Inline, QueueError, Task};
    use motet_sync::atomic::{AtomicBool, Ordering};
    use motet_sync::thread;
    use std::panic::resume_unwind;
    use std::sync::Arc;
    use std::sync::mpsc::channel;
    use std::time::Duration;

    #[test]
    fn an_item_that_no_join_wants_yet_is_kept_without_the_domain() {
        let (p, q, sums) = (Port::new(), Port::new(), Port::new());
        let out = sums.clone();
        JoinedReceive::persistent((&p, &q), move |(one, two): (u32, u32)| {
            out.post(one + two).unwrap();
        })
        .activate(&Inline::new("here"))
        .unwrap();
        let (tell, told) = channel();
        let locked = p.core().domain().lock();
        let poster = thread::spawn({
            let q = q.clone();
            move || tell.send(q.post(1).is_ok()).unwrap()
        });
        let kept = told.recv_timeout(Duration::from_secs(20));
        drop(locked);
        poster.join().unwrap();
        assert_eq!((kept, q.item_count()), (Ok(true), 1));
        p.post(2).unwrap();
        assert_eq!((sums.test(), q.item_count()), (Some(3), 0));
    }

    /// Takes the registration of one arbiter, and is stopped when that runs.
    #[derive(Clone, Default)]
    struct Ending(Arc<AtomicBool>);

    impl Enqueue for Ending {
        fn reserve(&self) -> Result<(), QueueError> {
            let stopped = self.0.load(Ordering::Relaxed);
            (!stopped).then_some(()).ok_or(QueueError::Stopped)
        }

        fn release(&self) {}

        fn admit(&self, task: Task) {
            task.run();
        }

        fn readmit(&self, task: Task) {
            self.0.store(true, Ordering::Relaxed);
            task.run();
        }

        fn handle(&self) -> Arc<dyn Enqueue> {
            Arc::new(self.clone())
        }

        fn name(&self) -> &str {
            "ending"
        }

        fn raise(&self, exception: Exception) {
            resume_unwind(exception.into_payload());
        }
    }

    #[test]
    fn a_join_whose_queue_is_stopped_when_it_is_registered_leaves_all_its_ports() {
        let (p, q) = (Port::new(), Port::new());
        p.post(1).unwrap();
        q.post(2).unwrap();
        JoinedReceive::persistent((&p, &q), |_: (u32, u32)| ())
            .activate(&Ending::default())
            .unwrap();
        assert_eq!((p.receiver_count(), q.receiver_count()), (0, 0));
        assert_eq!((p.item_count(), q.item_count()), (1, 1));
    }
}
