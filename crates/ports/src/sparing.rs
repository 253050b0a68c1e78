//! Whether workers keep the references to an arbiter that its messages have held, for its next messages.
//!
//! They may as long as its port sends items there the [short way](crate::short): the port notices when that ends, and the workers
//! are told to let go. So an arbiter is not kept by those who have run its handler: what goes with its port goes as soon as they
//! have done what they are doing.

use motet_dispatch::Enqueue;
use motet_sync::atomic::{AtomicU8, Ordering};

/// One arbiter's.
#[derive(Default)]
pub(crate) struct Sparing(AtomicU8);

/// They may not.
const NOT: u8 = 0;
/// They may, and none has.
const MAY: u8 = 1;
/// Some have.
const HAVE: u8 = 2;

impl Sparing {
    /// The short way begins, to that queue. Called under the port's lock, as [`Sparing::end`] is, or when the port is gone.
    pub(crate) fn begin(&self, queue: &dyn Enqueue) {
        if queue.keeps_spares() {
            // Relaxed: the port's lock orders what is sent after it.
            self.0.store(MAY, Ordering::Relaxed);
        }
    }

    /// It ends.
    pub(crate) fn end(&self, queue: &dyn Enqueue) {
        // Relaxed: a worker that hears of the end by what follows sees this.
        if self.0.swap(NOT, Ordering::Relaxed) == HAVE {
            queue.let_go();
        }
    }

    /// Whether a worker may keep a reference to the arbiter now. If the short way ends meanwhile it is told after that.
    #[inline]
    pub(crate) fn lets_keep(&self) -> bool {
        // Relaxed: who reads one of these two comes before the end in the order of this value, and so
        // before the workers are told.
        match self.0.load(Ordering::Relaxed) {
            HAVE => true,
            NOT => false,
            _ => self.is_first(),
        }
    }

    #[cold]
    fn is_first(&self) -> bool {
        let order = Ordering::Relaxed;
        match self.0.compare_exchange(MAY, HAVE, order, order) {
            Ok(_) => true,
            Err(now) => now == HAVE,
        }
    }
}

#[cfg(all(test, motet_loom))]
mod loom_tests {
    use super::*;
    use crate::loom_ports::Keeper;
    use motet_dispatch::{Exception, QueueError, Task};
    use motet_sync::atomic::AtomicUsize;
    use motet_sync::thread;
    use std::sync::Arc;

    /// A queue whose workers count how often they are told.
    #[derive(Clone)]
    struct Telling(Keeper, Arc<AtomicUsize>);

    impl Enqueue for Telling {
        fn reserve(&self) -> Result<(), QueueError> {
            self.0.reserve()
        }

        fn release(&self) {}

        fn admit(&self, task: Task) {
            self.0.admit(task);
        }

        fn readmit(&self, task: Task) {
            self.0.readmit(task);
        }

        fn keeps_spares(&self) -> bool {
            true
        }

        fn let_go(&self) {
            // As the dispatcher's version.
            self.1.fetch_add(1, Ordering::Release);
        }

        fn handle(&self) -> Arc<dyn Enqueue> {
            Arc::new(self.clone())
        }

        fn name(&self) -> &str {
            "telling"
        }

        fn raise(&self, exception: Exception) {
            self.0.raise(exception);
        }
    }

    /// Two handlers end on a worker while the short way does: when it has heard all, the worker keeps nothing.
    #[test]
    fn loom_the_end_of_a_short_way_against_a_worker_that_keeps() {
        loom::model(|| {
            let queue = Telling(Keeper::default(), Arc::default());
            let sparing = Arc::new(Sparing::default());
            sparing.begin(&queue);
            let worker = thread::spawn({
                let (told, sparing) = (Arc::clone(&queue.1), Arc::clone(&sparing));
                move || {
                    let (mut version, mut keeps) = (0, false);
                    for _ in 0..2 {
                        keeps |= sparing.lets_keep();
                        let now = told.load(Ordering::Acquire);
                        if now != version {
                            (version, keeps) = (now, false);
                        }
                    }
                    (version, keeps)
                }
            });
            sparing.end(&queue);
            let (version, keeps) = worker.join().unwrap();
            let hears_more = queue.1.load(Ordering::Relaxed) != version;
            assert!(!keeps || hears_more, "kept, and nobody tells");
            assert!(!sparing.lets_keep());
        });
    }
}
