//! Whether workers keep the references to an arbiter that its messages have held, for its next
//! messages.
//!
//! They may as long as its port sends items there [directly](crate::direct_delivery): the port
//! notices when that ends, and the workers are told to let go. So an arbiter is not kept by those
//! who have run its handler. What goes with its port goes as soon as they have done what they are
//! doing.

use motet_sync::atomic::{AtomicU8, Ordering};

/// One arbiter's.
#[derive(Default)]
pub(crate) struct HandleCaching(AtomicU8);

/// They may not.
const NOT: u8 = 0;
/// They may, and none has.
const MAY: u8 = 1;
/// Some have.
const HAVE: u8 = 2;

impl HandleCaching {
    /// Direct delivery begins. Called under the port's lock, as [`HandleCaching::end`] is, or when
    /// the port is gone.
    pub(crate) fn begin(&self) {
        // Relaxed: the port's lock orders what is sent after it.
        self.0.store(MAY, Ordering::Relaxed);
    }

    /// It ends. `true`: workers keep references, and are to be told.
    #[must_use]
    pub(crate) fn end(&self) -> bool {
        // Relaxed: a worker that hears of the end by what follows sees this.
        self.0.swap(NOT, Ordering::Relaxed) == HAVE
    }

    /// Whether a worker may keep a reference to the arbiter now. If direct delivery ends meanwhile
    /// it is told after that.
    #[inline]
    pub(crate) fn lets_keep(&self) -> bool {
        // Relaxed: who reads one of these two comes before the end in the order of this value, and
        // so before the workers are told.
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
    use motet_sync::atomic::AtomicUsize;
    use motet_sync::thread;
    use std::sync::Arc;

    /// Two handlers end on a worker while direct delivery does: when it has heard all, the worker
    /// keeps nothing.
    #[test]
    fn loom_the_end_of_direct_delivery_against_a_worker_that_keeps() {
        loom::model(|| {
            // How often the workers have been told, as the dispatcher's version.
            let told = Arc::new(AtomicUsize::new(0));
            let handle_caching = Arc::new(HandleCaching::default());
            handle_caching.begin();
            let worker = thread::spawn({
                let (told, handle_caching) = (Arc::clone(&told), Arc::clone(&handle_caching));
                move || {
                    let (mut version, mut keeps) = (0, false);
                    for _ in 0..2 {
                        keeps |= handle_caching.lets_keep();
                        let now = told.load(Ordering::Acquire);
                        if now != version {
                            (version, keeps) = (now, false);
                        }
                    }
                    (version, keeps)
                }
            });
            if handle_caching.end() {
                told.fetch_add(1, Ordering::Release);
            }
            let (version, keeps) = worker.join().unwrap();
            let hears_more = told.load(Ordering::Relaxed) != version;
            assert!(!keeps || hears_more, "kept, and nobody tells");
            assert!(!handle_caching.lets_keep());
        });
    }
}
