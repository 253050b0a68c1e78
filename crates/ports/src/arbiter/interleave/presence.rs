//! How many concurrent handlers run, and how many of their tasks are on their way.
//!
//! Each thread counts at a place of its own, so that concurrent work meets nobody; whoever wants to
//! know adds the places up. The counts only go up: what has ended is subtracted from what has begun.
//!
//! Memory order. A handler that begins counts itself and then looks whether someone wants to be alone;
//! who wants to be alone says so and then adds up. The count and the look, the word and the sum are
//! sequentially consistent, so one of the two sees the other. The same holds for a handler that ends.
//! While the floor is calm (`signal.rs`) handlers count without that, with a light fence only; who ends the
//! calm calls the heavy one.

#[cfg(motet_loom)]
use motet_sync::atomic::fence;
use motet_sync::atomic::{AtomicUsize, Ordering};
use motet_sync::{CachePadded, asymmetric};

/// The counts. Threads are known by [`thread_number`](motet_sync::thread_number).
pub(super) struct Presence {
    /// One for each thread with a small number, and a last one for all others.
    places: Box<[CachePadded<Place>]>,
}

#[derive(Default)]
struct Place {
    /// Tasks sent off.
    sent: AtomicUsize,
    /// Handlers that have begun.
    begun: AtomicUsize,
    /// Handlers that have ended.
    ended: AtomicUsize,
}

/// So many handlers are a good many.
const MANY: usize = if cfg!(motet_loom) { 1 } else { 1024 };

impl Presence {
    /// With places of their own for so many threads.
    pub(super) fn new(threads: usize) -> Self {
        Presence {
            places: (0..=threads).map(|_| CachePadded::default()).collect(),
        }
    }

    /// A task is sent off. Called under a port's lock, whose owner later reads the counts.
    #[inline]
    pub(super) fn sent(&self, thread: usize) {
        let sent = &self.place(thread).sent;
        if self.has_own(thread) {
            add_own(sent, Ordering::Relaxed);
        } else {
            sent.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// A handler begins; the caller looks next whether it may, and whether it is still calm. `true`: this
    /// thread has counted a good many, not in a calm.
    #[inline]
    pub(super) fn begin(&self, thread: usize, calm: bool) -> bool {
        let begun = &self.place(thread).begun;
        if calm && self.has_own(thread) {
            add_own(begun, Ordering::Relaxed);
            asymmetric::light();
            return false;
        }
        let before = begun.fetch_add(1, Ordering::SeqCst);
        order();
        before % MANY == MANY - 1
    }

    /// It may not.
    pub(super) fn take_back(&self, thread: usize) {
        self.place(thread).begun.fetch_sub(1, Ordering::SeqCst);
        order();
    }

    /// A handler has ended; the caller looks next whether someone waits for that, and whether it is
    /// still calm.
    #[inline]
    pub(super) fn end(&self, thread: usize, calm: bool) {
        let ended = &self.place(thread).ended;
        if calm && self.has_own(thread) {
            // Release: who adds up sees what the handler did, and that it had begun.
            add_own(ended, Ordering::Release);
            asymmetric::light();
        } else {
            ended.fetch_add(1, Ordering::SeqCst);
            order();
        }
    }

    /// Whether a handler runs. Called after everybody has been told not to begin.
    pub(super) fn anyone(&self) -> bool {
        // What has ended is added up first: then nobody is counted as ended that has not been
        // counted as begun. Those who begin and take it back at once may make the answer `true`; they look again
        // after that.
        let ended = self.sum(|place| &place.ended);
        self.sum(|place| &place.begun) != ended
    }

    /// How many tasks are on their way: sent off, and not begun.
    pub(super) fn on_their_way(&self) -> usize {
        let begun = self.sum(|place| &place.begun);
        self.sum(|place| &place.sent).wrapping_sub(begun)
    }

    #[inline]
    fn has_own(&self, thread: usize) -> bool {
        thread < self.places.len() - 1
    }

    #[inline]
    fn place(&self, thread: usize) -> &Place {
        &self.places[thread.min(self.places.len() - 1)]
    }

    fn sum(&self, count: impl Fn(&Place) -> &AtomicUsize) -> usize {
        let counts = self
            .places
            .iter()
            .map(|place| count(place).load(Ordering::SeqCst));
        counts.fold(0, usize::wrapping_add)
    }
}

/// Adds one to a count that no other thread writes.
#[inline]
fn add_own(count: &AtomicUsize, order: Ordering) {
    count.store(count.load(Ordering::Relaxed).wrapping_add(1), order);
}

/// The model checker knows sequential consistency of fences only; elsewhere that of the operations is
/// enough.
#[inline]
pub(super) fn order() {
    #[cfg(motet_loom)]
    fence(Ordering::SeqCst);
}
