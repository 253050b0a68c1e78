//! A pair of fences of which one costs nothing and the other very much.
//!
//! Of two threads that each write and then look at what the other writes, at least one must see the
//! other. Usually both pay for that with a fence ([`Ordering::SeqCst`](crate::atomic::Ordering)).
//! One may do it all the time and the other hardly ever. Then the first calls [`light`] between its
//! write and its look, and the second [`heavy`]. The latter makes every running thread of the
//! process pass a fence (Linux: `membarrier`, private and expedited).
//!
//! ```
//! use motet_sync::asymmetric;
//!
//! if asymmetric::is_available() {
//!     asymmetric::light();
//!     asymmetric::heavy();
//! }
//! ```

pub use imp::{heavy, is_available, light};

#[cfg(all(target_os = "linux", not(any(motet_loom, motet_shuttle))))]
mod imp {
    use rustix::thread::{MembarrierCommand, MembarrierQuery, membarrier, membarrier_query};
    use std::sync::OnceLock;
    use std::sync::atomic::{Ordering, compiler_fence};

    /// Whether there is such a pair here. The first call may take milliseconds.
    #[must_use]
    pub fn is_available() -> bool {
        static AVAILABLE: OnceLock<bool> = OnceLock::new();
        *AVAILABLE.get_or_init(|| {
            membarrier_query().contains(MembarrierQuery::PRIVATE_EXPEDITED)
                && membarrier(MembarrierCommand::RegisterPrivateExpedited).is_ok()
        })
    }

    /// The cheap side, where the pair [is available](is_available): as good as a fence towards
    /// threads that call [`heavy`], and towards nobody else.
    #[inline]
    pub fn light() {
        // The processor's part is done by `heavy`.
        compiler_fence(Ordering::SeqCst);
    }

    /// The dear side, where the pair [is available](is_available): a fence towards all other
    /// threads. It is a system call that takes some microseconds.
    ///
    /// # Panics
    /// When the pair is not available.
    pub fn heavy() {
        membarrier(MembarrierCommand::PrivateExpedited).expect("the process has been registered");
    }
}

/// In models both are fences.
#[cfg(motet_loom)]
mod imp {
    use loom::sync::atomic::{Ordering, fence};

    #[must_use]
    pub fn is_available() -> bool {
        true
    }

    pub fn light() {
        fence(Ordering::SeqCst);
    }

    pub fn heavy() {
        fence(Ordering::SeqCst);
    }
}

/// Elsewhere both would be fences, which is no gain.
#[cfg(all(any(not(target_os = "linux"), motet_shuttle), not(motet_loom)))]
mod imp {
    use crate::atomic::{Ordering, fence};

    /// Whether there is such a pair here.
    #[must_use]
    pub fn is_available() -> bool {
        false
    }

    /// A fence.
    #[inline]
    pub fn light() {
        fence(Ordering::SeqCst);
    }

    /// A fence.
    pub fn heavy() {
        fence(Ordering::SeqCst);
    }
}

#[cfg(all(test, not(any(motet_loom, motet_shuttle))))]
mod tests {
    use super::*;
    use crate::atomic::{AtomicU32, Ordering};
    use crate::{Arc, CachePadded, thread};

    /// Each writes its round and looks for the other's: if neither saw the other, a fence is
    /// missing.
    #[test]
    fn one_of_two_sees_the_other() {
        const ROUNDS: u32 = 10_000;
        if !is_available() {
            return;
        }
        let words = Arc::new([(); 2].map(|()| CachePadded::new(AtomicU32::new(0))));
        let seen = |side: usize| {
            let words = Arc::clone(&words);
            move || {
                let look = |round| {
                    words[side].store(round, Ordering::Relaxed);
                    if side == 0 {
                        light()
                    } else {
                        heavy()
                    }
                    words[1 - side].load(Ordering::Relaxed)
                };
                (1..=ROUNDS).map(look).collect::<Vec<u32>>()
            }
        };
        let other = thread::spawn(seen(1));
        let mine = seen(0)();
        let theirs = other.join().unwrap();
        for (round, &saw) in (1..=ROUNDS).zip(&mine) {
            // When this side looked the other had not reached its next round: there it sees this
            // one.
            if let Some(&there) = theirs.get(saw as usize) {
                assert!(
                    there >= round,
                    "neither saw the other in {round} and {}",
                    saw + 1
                );
            }
        }
    }
}
