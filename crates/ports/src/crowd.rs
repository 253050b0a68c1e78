//! The concurrent handlers of an interleave: how many run, how many of their tasks are on their
//! way, and whether more may begin.
//!
//! Each thread counts at a place of its own, so that concurrent work meets nobody; whoever wants to
//! know adds the places up. The counts only go up: what has ended is subtracted from what has
//! begun.
//!
//! Memory order. A handler that begins counts itself and then looks whether someone wants to be
//! alone; who wants to be alone says so and then adds up. The count and the look, the word and the
//! sum are sequentially consistent, so one of the two sees the other. The same holds for a handler
//! that ends.
//!
//! When nobody has wanted to be alone for a good while it is *calm*, and each place says so itself:
//! handlers count there with a plain store and a light fence, and look at nothing else. Who ends
//! the calm raises the word, takes the calm from all places, and calls the heavy fence: from there
//! on those who have counted the light way are seen, or see that the calm is over, and then look at
//! the word as others do.

use motet_sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence};
use motet_sync::{CachePadded, asymmetric, thread_number, thread_number_if_asked};

/// The counts, and what those who begin and end look at.
pub(crate) struct Crowd {
    /// One for each thread with a small number.
    own: Box<[CachePadded<Place>]>,
    /// Someone wants to be alone: nobody may begin. Written under the floor's lock.
    raised: AtomicBool,
    /// The end has been claimed: nothing may be taken any more.
    closing: AtomicBool,
    /// Of all other threads; never calm.
    others: CachePadded<Place>,
}

/// Where one thread counts.
#[derive(Default)]
pub(crate) struct Place {
    /// Written under the floor's lock.
    calm: AtomicBool,
    /// Tasks sent off.
    sent: AtomicUsize,
    /// Handlers that have begun.
    begun: AtomicUsize,
    /// Handlers that have ended.
    ended: AtomicUsize,
}

/// What has come of a handler that wants to begin in a calm.
pub(crate) enum Begun<'a> {
    /// It has, and is counted here.
    Calm(&'a Place),
    /// It is counted, but the calm is over: it looks as others do.
    Counted,
    /// There is no calm.
    Not,
}

/// So many handlers are a good many.
const MANY: usize = if cfg!(motet_loom) { 1 } else { 1024 };

impl Crowd {
    /// Nobody may begin yet. With places of their own for so many threads.
    pub(crate) fn new(threads: usize) -> Self {
        Crowd {
            own: (0..threads).map(|_| CachePadded::default()).collect(),
            raised: AtomicBool::new(true),
            closing: AtomicBool::new(false),
            others: CachePadded::default(),
        }
    }

    #[inline]
    pub(crate) fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Acquire)
    }

    /// Claims the end. `true` for one caller.
    pub(crate) fn close(&self) -> bool {
        !self.closing.swap(true, Ordering::AcqRel)
    }

    /// A task is sent off, if the end has not been claimed. Called as [`Crowd::sent`].
    #[inline]
    pub(crate) fn lets_off(&self) -> bool {
        let open = !self.is_closing();
        if open {
            self.sent();
        }
        open
    }

    /// A task is sent off. Called under a port's lock, whose owner later reads the counts.
    #[inline]
    pub(crate) fn sent(&self) {
        match self.own() {
            Some(place) => add_own(&place.sent, Ordering::Relaxed),
            None => self.sent_somewhere(),
        }
    }

    /// It will not begin, and nobody else was told of it.
    pub(crate) fn take_back_sent(&self) {
        // Relaxed: called under the floor's lock, as who reads the counts is.
        self.place().sent.fetch_sub(1, Ordering::Relaxed);
    }

    /// For a thread that is here for the first time, or has no place of its own.
    #[cold]
    fn sent_somewhere(&self) {
        self.place().sent.fetch_add(1, Ordering::Relaxed);
    }

    /// A handler begins, if it is calm.
    #[inline]
    pub(crate) fn begin_calmly(&self) -> Begun<'_> {
        match self.own() {
            Some(place) if place.is_calm() => {
                add_own(&place.begun, Ordering::Relaxed);
                if place.stays_calm() {
                    Begun::Calm(place)
                } else {
                    Begun::Counted
                }
            }
            _ => Begun::Not,
        }
    }

    /// A handler begins, in whatever weather; the caller looks next whether it may. `true`: this
    /// thread has counted a good many.
    pub(crate) fn begin(&self) -> bool {
        let before = self.place().begun.fetch_add(1, Ordering::SeqCst);
        order();
        before % MANY == MANY - 1
    }

    /// It may not. Called under the floor's lock, as who adds up is.
    pub(crate) fn take_back(&self) {
        self.place().begun.fetch_sub(1, Ordering::SeqCst);
        order();
    }

    /// A handler has ended. `false`: someone may wait for that.
    #[inline]
    pub(crate) fn end(&self) -> bool {
        match self.own() {
            Some(place) if place.is_calm() => {
                if place.end_calmly() {
                    return true;
                }
            }
            _ => {
                self.place().ended.fetch_add(1, Ordering::SeqCst);
                order();
            }
        }
        !self.is_raised()
    }

    /// Whether a handler runs. Called after everybody has been told not to begin.
    pub(crate) fn anyone(&self) -> bool {
        // What has ended is added up first: then nobody is counted as ended that has not been
        // counted as begun. Those who begin and take it back at once may make the answer `true`;
        // they look again after that.
        let ended = self.sum(|place| &place.ended);
        self.sum(|place| &place.begun) != ended
    }

    /// How many tasks are on their way: sent off, and not begun.
    pub(crate) fn on_their_way(&self) -> usize {
        let begun = self.sum(|place| &place.begun);
        self.sum(|place| &place.sent).wrapping_sub(begun)
    }

    #[inline]
    pub(crate) fn is_raised(&self) -> bool {
        self.raised.load(Ordering::SeqCst)
    }

    /// Nobody may begin from here on. Called under the floor's lock, as `lower` and `calm_down`
    /// are.
    pub(crate) fn raise(&self) {
        self.raised.swap(true, Ordering::SeqCst);
        order();
        if self.own.first().is_some_and(|place| place.is_calm()) {
            // Release: who finds its place without calm finds the word raised, too.
            let calm = self.own.iter().map(|place| &place.calm);
            calm.for_each(|calm| calm.store(false, Ordering::Release));
            asymmetric::heavy();
        }
    }

    pub(crate) fn lower(&self) {
        self.raised.store(false, Ordering::SeqCst);
    }

    /// It is calm from here on, until someone raises the word. [`asymmetric`] fences are available.
    pub(crate) fn calm_down(&self) {
        // Release: who begins in the calm sees what those have done who were alone before.
        let calm = self.own.iter().map(|place| &place.calm);
        calm.for_each(|calm| calm.store(true, Ordering::Release));
    }

    /// The calling thread's own, if it has been here before.
    #[inline]
    fn own(&self) -> Option<&Place> {
        self.own.get(thread_number_if_asked()).map(|place| &**place)
    }

    /// Where the calling thread counts.
    fn place(&self) -> &Place {
        let own = self.own.get(thread_number());
        own.map_or(&self.others, |place| &**place)
    }

    fn sum(&self, count: impl Fn(&Place) -> &AtomicUsize) -> usize {
        let places = self.own.iter().chain([&self.others]);
        let counts = places.map(|place| count(place).load(Ordering::SeqCst));
        counts.fold(0, usize::wrapping_add)
    }
}

impl Place {
    /// A handler that has begun here in a calm has ended. `false`: the calm is over, and the caller
    /// looks whether someone waits for that.
    #[inline]
    pub(crate) fn end_calmly(&self) -> bool {
        // Release: who adds up sees what the handler did, and that it had begun.
        add_own(&self.ended, Ordering::Release);
        self.stays_calm()
    }

    // Acquire: see `raise` and `calm_down`.
    #[inline]
    fn is_calm(&self) -> bool {
        self.calm.load(Ordering::Acquire)
    }

    /// Whether those who have just counted themselves the light way are seen by whoever wants to be
    /// alone.
    #[inline]
    fn stays_calm(&self) -> bool {
        asymmetric::light();
        let calm = self.is_calm();
        if !calm {
            Self::calm_is_over();
        }
        calm
    }

    /// What was counted the light way counts for everyone from here on.
    #[cold]
    fn calm_is_over() {
        fence(Ordering::SeqCst);
    }
}

/// Adds one to a count that no other thread writes.
#[inline]
fn add_own(count: &AtomicUsize, order: Ordering) {
    count.store(count.load(Ordering::Relaxed).wrapping_add(1), order);
}

/// The model checker knows sequential consistency of fences only; elsewhere that of the operations
/// is enough.
#[inline]
pub(crate) fn order() {
    #[cfg(motet_loom)]
    fence(Ordering::SeqCst);
}
