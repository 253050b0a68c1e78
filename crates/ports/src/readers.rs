//! The concurrent handlers of an interleave: how many run, how many of their tasks are on their
//! way, and whether more may begin.
//!
//! As in a reader-writer lock, concurrent handlers are the readers and exclusive ones the writers.
//! Each thread has a count of its own, so that readers share no cache line; a writer adds the
//! counts up. They only go up: what has ended is subtracted from what has begun.
//!
//! Memory order. A reader that begins counts itself and then looks whether a writer waits; a writer
//! says that it waits and then adds up. All four are sequentially consistent, so one of the two
//! sees the other. The same holds for a reader that ends.
//!
//! A writer that begins at once on its own thread says by one exchange that it is alone, and by
//! another that it has ended, if nobody has said meanwhile that others wait for that:
//!
//! ```text
//!   OPEN ──────────► CLOSED          under the lock: a writer waits, or holds the exclusion
//!    ▲ │                ▲
//!    │ ▼                │ under the lock
//!   ALONE ─────► ALONE and CLOSED    under the lock: others wait for the one that is alone
//! ```
//!
//! When no writer has come for a good while there is a *reader bias* (Dice and Kogan, BRAVO, 2019).
//! Each count says so itself. Readers then count with a plain store and a light fence, and look at
//! nothing else. A writer says that it waits, revokes the bias in all counts, and calls the heavy
//! fence. From there on those who have counted under the bias are seen, or see that it is revoked.
//! The latter then look whether a writer waits, as others do.

use motet_sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering, fence};
use motet_sync::{CachePadded, asymmetric, thread_number, thread_number_if_asked};

/// The counts, and what those who begin and end look at.
pub(crate) struct Readers {
    /// One for each thread with a small number.
    own: Box<[CachePadded<ThreadCounts>]>,
    /// [`OPEN`], or why nobody may begin: [`CLOSED`], [`ALONE`], or both.
    gate: AtomicU8,
    /// The end has been claimed: nothing may be taken any more.
    closing: AtomicBool,
    /// Of all other threads; never biased.
    others: CachePadded<ThreadCounts>,
}

/// Where one thread counts.
#[derive(Default)]
pub(crate) struct ThreadCounts {
    /// Set under the exclusion's lock.
    bias: AtomicBool,
    /// Tasks sent off.
    sent: AtomicUsize,
    /// Handlers that have begun.
    begun: AtomicUsize,
    /// Handlers that have ended.
    ended: AtomicUsize,
}

/// What has come of a handler that wants to begin under the bias.
pub(crate) enum Begun<'a> {
    /// It has, and is counted here.
    Biased(&'a ThreadCounts),
    /// It is counted, but the bias is revoked: it looks as others do.
    Counted,
    /// There is no bias.
    Not,
}

/// Readers may begin, and so may a writer at once.
const OPEN: u8 = 0;

/// A writer waits, or has been let in. Written under the exclusion's lock.
const CLOSED: u8 = 1;

/// A writer that began at once is alone.
const ALONE: u8 = 2;

/// So many handlers are a good many.
const MANY: usize = if cfg!(motet_loom) { 1 } else { 1024 };

impl Readers {
    /// Nobody may begin yet. With places of their own for so many threads.
    pub(crate) fn new(threads: usize) -> Self {
        Readers {
            own: (0..threads).map(|_| CachePadded::default()).collect(),
            gate: AtomicU8::new(CLOSED),
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

    /// A task is sent off, if the end has not been claimed. Called as [`Readers::sent`].
    #[inline]
    pub(crate) fn send_if_open(&self) -> bool {
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
        // Relaxed: called under the exclusion's lock, as who reads the counts is.
        self.place().sent.fetch_sub(1, Ordering::Relaxed);
    }

    /// For a thread that is here for the first time, or has no place of its own.
    #[cold]
    fn sent_somewhere(&self) {
        self.place().sent.fetch_add(1, Ordering::Relaxed);
    }

    /// A handler begins, if there is a bias.
    #[inline]
    pub(crate) fn begin_biased(&self) -> Begun<'_> {
        match self.own() {
            Some(place) if place.is_biased() => {
                add_own(&place.begun, Ordering::Relaxed);
                if place.stays_biased() {
                    Begun::Biased(place)
                } else {
                    Begun::Counted
                }
            }
            _ => Begun::Not,
        }
    }

    /// A handler begins, with or without a bias; the caller looks next whether it may. `true`: this
    /// thread has counted a good many.
    pub(crate) fn begin(&self) -> bool {
        let before = self.place().begun.fetch_add(1, Ordering::SeqCst);
        order();
        before % MANY == MANY - 1
    }

    /// It may not. Called under the exclusion's lock, as who adds up is.
    pub(crate) fn take_back(&self) {
        self.place().begun.fetch_sub(1, Ordering::SeqCst);
        order();
    }

    /// A handler has ended. `false`: someone may wait for that.
    #[inline]
    pub(crate) fn end(&self) -> bool {
        match self.own() {
            Some(place) if place.is_biased() => {
                if place.end_biased() {
                    return true;
                }
            }
            _ => {
                self.place().ended.fetch_add(1, Ordering::SeqCst);
                order();
            }
        }
        !self.writer_waits()
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

    /// Whether a writer waits or is alone: nobody may begin.
    #[inline]
    pub(crate) fn writer_waits(&self) -> bool {
        self.gate.load(Ordering::SeqCst) != OPEN
    }

    /// Whether a writer that began at once is alone.
    pub(crate) fn is_alone(&self) -> bool {
        self.gate.load(Ordering::SeqCst) & ALONE != 0
    }

    /// Nobody may begin from here on. Called under the exclusion's lock, as `admit_readers` and
    /// `set_bias` are. `true`: a writer that began at once is alone, and finds at its end that
    /// others wait.
    pub(crate) fn stop_readers(&self) -> bool {
        let before = self.gate.fetch_or(CLOSED, Ordering::SeqCst);
        order();
        self.revoke_bias();
        before & ALONE != 0
    }

    /// Readers may begin. Nobody is alone.
    pub(crate) fn admit_readers(&self) {
        self.gate.store(OPEN, Ordering::SeqCst);
    }

    /// A writer that begins at once wants to be alone: nobody may begin from here on. It looks next
    /// whether anyone runs. Called without the lock.
    ///
    /// # Errors
    /// Whether another one is alone. Else a writer waits, or has been let in.
    #[inline]
    pub(crate) fn try_alone(&self) -> Result<(), bool> {
        // As all who say that they wait. Relaxed where it is not taken: the caller only gives up or
        // looks again.
        let taken = self
            .gate
            .compare_exchange(OPEN, ALONE, Ordering::SeqCst, Ordering::Relaxed);
        taken.map_err(|gate| gate & ALONE != 0)?;
        order();
        self.revoke_bias();
        Ok(())
    }

    /// It has ended. `false`: others wait for that, and it passes the exclusion on under the lock.
    #[inline]
    pub(crate) fn end_alone(&self) -> bool {
        // Readers and writers that find it open see what this one has done. Relaxed where others
        // wait: the lock orders what follows.
        let ended = self
            .gate
            .compare_exchange(ALONE, OPEN, Ordering::SeqCst, Ordering::Relaxed);
        ended.is_ok()
    }

    /// It has ended, and others wait for that. Called under the lock.
    pub(crate) fn ended_alone(&self) {
        self.gate.store(CLOSED, Ordering::SeqCst);
    }

    /// Waits for the writer that is alone, if one is. `false`: readers may begin. Called under the
    /// lock of an exclusion that is open.
    pub(crate) fn wait_for_alone(&self) -> bool {
        let both = ALONE | CLOSED;
        // Also where it fails: who finds the gate open has counted itself before, and is seen by
        // the next one who wants to be alone.
        let waits = self
            .gate
            .compare_exchange(ALONE, both, Ordering::SeqCst, Ordering::SeqCst);
        order();
        waits.is_ok()
    }

    /// Who has counted under the bias is seen from here on, or sees that it is revoked. Called when
    /// nobody may begin.
    #[inline]
    fn revoke_bias(&self) {
        if self.own.first().is_some_and(|place| place.is_biased()) {
            // Release: who finds its bias revoked finds that nobody may begin, too.
            let biases = self.own.iter().map(|place| &place.bias);
            biases.for_each(|bias| bias.store(false, Ordering::Release));
            asymmetric::heavy();
        }
    }

    /// Sets the bias, until a writer comes; not while one is alone. [`asymmetric`] fences are
    /// available, and the exclusion is open.
    pub(crate) fn set_bias(&self) {
        // No writer begins at once meanwhile: it would have looked for the bias too soon.
        // Relaxed where one is alone: nothing is done then.
        let closed = self
            .gate
            .compare_exchange(OPEN, CLOSED, Ordering::SeqCst, Ordering::Relaxed);
        if closed.is_ok() {
            // Release: who begins under the bias sees what the writers before have done.
            let biases = self.own.iter().map(|place| &place.bias);
            biases.for_each(|bias| bias.store(true, Ordering::Release));
            self.admit_readers();
        }
    }

    /// The calling thread's own, if it has been here before.
    #[inline]
    fn own(&self) -> Option<&ThreadCounts> {
        self.own.get(thread_number_if_asked()).map(|place| &**place)
    }

    /// Where the calling thread counts.
    fn place(&self) -> &ThreadCounts {
        let own = self.own.get(thread_number());
        own.map_or(&self.others, |place| &**place)
    }

    fn sum(&self, count: impl Fn(&ThreadCounts) -> &AtomicUsize) -> usize {
        let places = self.own.iter().chain([&self.others]);
        let counts = places.map(|place| count(place).load(Ordering::SeqCst));
        counts.fold(0, usize::wrapping_add)
    }
}

impl ThreadCounts {
    /// A handler that has begun here under the bias has ended. `false`: the bias is revoked, and
    /// the caller looks whether someone waits for that.
    #[inline]
    pub(crate) fn end_biased(&self) -> bool {
        // Release: who adds up sees what the handler did, and that it had begun.
        add_own(&self.ended, Ordering::Release);
        self.stays_biased()
    }

    // Acquire: see `revoke_bias` and `set_bias`.
    #[inline]
    fn is_biased(&self) -> bool {
        self.bias.load(Ordering::Acquire)
    }

    /// Whether those who have just counted themselves under the bias are seen by whoever wants to
    /// be alone.
    #[inline]
    fn stays_biased(&self) -> bool {
        asymmetric::light();
        let biased = self.is_biased();
        if !biased {
            Self::bias_is_revoked();
        }
        biased
    }

    /// What was counted under the bias counts for everyone from here on.
    #[cold]
    fn bias_is_revoked() {
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
