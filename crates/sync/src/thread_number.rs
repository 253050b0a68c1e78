//! Small numbers for threads.
#![allow(
    clippy::disallowed_types,
    reason = "the numbers are not part of what a model checks"
)]

#[cfg(not(motet_shuttle))]
use std::cell::Cell;

/// Given out to no thread.
const NONE: usize = usize::MAX;

/// A small number that no other living thread has: for choosing among places that threads should
/// not share. It is the smallest that is free when the thread asks first, and free again when the
/// thread has ended. `usize::MAX` for a thread that is ending, and for a thread of a model that was
/// not given another one.
///
/// ```
/// use motet_sync::{thread, thread_number};
///
/// let mine = thread_number();
/// let other = thread::spawn(thread_number).join().unwrap();
/// assert_eq!(thread_number(), mine);
/// assert_ne!(other, mine);
/// ```
#[inline]
#[must_use]
pub fn thread_number() -> usize {
    imp::thread_number()
}

/// As [`thread_number`], but `usize::MAX` for a thread that has not asked for its number before.
#[inline]
#[must_use]
pub fn thread_number_if_asked() -> usize {
    imp::thread_number_if_asked()
}

#[cfg(motet_loom)]
pub use imp::set_thread_number;

#[cfg(not(any(motet_loom, motet_shuttle)))]
mod imp {
    use super::{Cell, NONE};
    use std::cmp::Reverse;
    use std::collections::BinaryHeap;
    use std::sync::{Mutex, PoisonError};

    /// The numbers of threads that have ended, and the first that nobody has had.
    static FREE: Mutex<(BinaryHeap<Reverse<usize>>, usize)> = Mutex::new((BinaryHeap::new(), 0));

    thread_local! {
        /// One more than the number; 0 as long as nobody has asked.
        static NUMBER: Cell<usize> = const { Cell::new(0) };
        static GIVE_BACK: GiveBack = const { GiveBack };
    }

    /// Gives the number back when its thread ends.
    struct GiveBack;

    #[inline]
    pub(super) fn thread_number() -> usize {
        match NUMBER.get() {
            0 => first_asked(),
            number => number - 1,
        }
    }

    #[inline]
    pub(super) fn thread_number_if_asked() -> usize {
        NUMBER.get().wrapping_sub(1)
    }

    #[cold]
    fn first_asked() -> usize {
        // A thread that is ending has given its number back, or never had one.
        if GIVE_BACK.try_with(|_| ()).is_err() {
            return NONE;
        }
        let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
        let number = free.0.pop().map_or(free.1, |Reverse(number)| number);
        free.1 = free.1.max(number + 1);
        NUMBER.set(number + 1);
        number
    }

    impl Drop for GiveBack {
        fn drop(&mut self) {
            let number = NUMBER.replace(0);
            if number > 0 {
                let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
                free.0.push(Reverse(number - 1));
            }
        }
    }
}

/// Programs under shuttle must do the same each time.
#[cfg(motet_shuttle)]
mod imp {
    pub(super) fn thread_number() -> usize {
        super::NONE
    }

    pub(super) use thread_number as thread_number_if_asked;
}

#[cfg(motet_loom)]
mod imp {
    use super::{Cell, NONE};

    loom::thread_local! {
        static NUMBER: Cell<usize> = Cell::new(NONE);
    }

    pub(super) fn thread_number() -> usize {
        NUMBER.with(Cell::get)
    }

    pub(super) use thread_number as thread_number_if_asked;

    /// In a model, gives the calling thread its number.
    pub fn set_thread_number(number: usize) {
        NUMBER.with(|cell| cell.set(number));
    }
}

#[cfg(all(test, not(any(motet_loom, motet_shuttle))))]
mod tests {
    use super::*;
    use crate::thread;

    #[test]
    fn numbers_of_ended_threads_are_given_out_again() {
        let mine = thread_number();
        let mut seen = std::collections::HashSet::new();
        for _ in 0..100 {
            seen.insert(thread::spawn(thread_number).join().unwrap());
        }
        assert!(seen.len() < 100, "one after the other they share a few");
        assert!(!seen.contains(&mine));
    }

    #[test]
    fn a_thread_that_has_not_asked_has_no_number_yet() {
        let seen = thread::spawn(|| {
            (
                thread_number_if_asked(),
                thread_number(),
                thread_number_if_asked(),
            )
        });
        let (before, number, after) = seen.join().unwrap();
        assert_eq!((before, after), (NONE, number));
    }
}
