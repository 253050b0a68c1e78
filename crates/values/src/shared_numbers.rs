//! Numbers in memory that several processes see, used by one of them at a time.
//!
//! ```text
//!  │ lock │ closed │ … │ numbers …           the first words, in a cache line of their own
//! ```
//!
//! The lock has the number of the process that holds it, or 0. Who wants it asks again and again,
//! and offers its core meanwhile: who holds it copies, or looks for a moment. If it takes long it
//! naps: who holds it may be stopped, or need this core and be less urgent. A process may be gone
//! while it holds it. Then whoever waits takes it over, with what has been written.
//!
//! Memory order: who lets go of the lock releases what was written to whoever takes it next.

use crate::Plain;
use motet_sync::atomic::{AtomicU64, Ordering};
use motet_sync::{spin_loop, thread};
use std::fmt;
use std::marker::PhantomData;
use std::slice;
use std::sync::Arc;
use std::time::Duration;

/// Memory that several processes see.
///
/// # Safety
/// - The words are there, at the same place, and can be written, as long as the memory is. Whoever
///   else has them uses them through [`SharedNumbers`] only.
/// - No two processes that have the words have the same number.
/// - A process of which [`is_gone`](SharedMemory::is_gone) says so does not run any more.
pub unsafe trait SharedMemory: Send + Sync {
    /// The words, at first all 0.
    ///
    /// # Safety
    /// They belong to [`SharedNumbers`], which lends them as numbers. Nobody else looks at them or
    /// changes them once there is one of them.
    unsafe fn words(&self) -> &[AtomicU64];

    /// The number of this process, which is not 0.
    fn process(&self) -> u64;

    /// Whether the process with this number is gone. One of which nothing is known is not.
    fn is_gone(&self, process: u64) -> bool;
}

/// Numbers that several processes use, each through [`SharedMemory`] of its own.
///
/// ```
/// use motet_sync::atomic::AtomicU64;
/// use motet_values::shared_numbers::{SharedMemory, SharedNumbers};
/// use std::sync::Arc;
///
/// struct Words(Box<[AtomicU64]>);
///
/// // SAFETY: a box stays where it is; nobody else has the words.
/// unsafe impl SharedMemory for Words {
///     unsafe fn words(&self) -> &[AtomicU64] {
///         &self.0
///     }
///     fn process(&self) -> u64 {
///         1
///     }
///     fn is_gone(&self, _: u64) -> bool {
///         false
///     }
/// }
///
/// let count = SharedNumbers::<f64>::words(3).unwrap();
/// let memory = Arc::new(Words((0..count).map(|_| AtomicU64::new(0)).collect()));
/// let one = SharedNumbers::new(memory.clone(), 3).unwrap();
/// let other = SharedNumbers::new(memory, 3).unwrap();
/// one.with(|numbers: &mut [f64]| numbers[1] = 2.5);
/// assert_eq!(other.close(), Some(vec![0.0, 2.5, 0.0]));
/// assert_eq!(one.with(|numbers| numbers.len()), None);
/// ```
pub struct SharedNumbers<T> {
    memory: Arc<dyn SharedMemory>,
    length: usize,
    _numbers: PhantomData<fn() -> T>,
}

/// The words of the lock and of the mark that nobody uses the numbers any more.
const LOCK: usize = 0;
const CLOSED: usize = 1;
/// The numbers begin behind so many words.
const FRONT: usize = 8;

/// So often who waits for the lock looks before it offers its core.
const SPINS: u32 = 64;
/// After so many further looks each it asks whether who holds it is there. After the first of these
/// it naps between the looks.
const PATIENCE: u32 = 1024;
/// How long it naps.
const NAP: Duration = Duration::from_micros(50);

impl<T: Plain> SharedNumbers<T> {
    /// How many words of memory so many numbers need; `None`: no memory has so many.
    #[must_use]
    pub fn words(length: usize) -> Option<usize> {
        length
            .checked_mul(size_of::<T>())
            .filter(|bytes| isize::try_from(*bytes).is_ok())
            .map(|bytes| FRONT + bytes.div_ceil(8))
    }

    /// So many numbers in the memory, at first all 0. `None`: it has not enough words, or they do
    /// not lie as such numbers must.
    #[must_use]
    pub fn new(memory: Arc<dyn SharedMemory>, length: usize) -> Option<Self> {
        let words = words_of(&*memory);
        let fits = Self::words(length).is_some_and(|needed| needed <= words.len());
        let lies = fits && words[FRONT..].as_ptr().cast::<T>().is_aligned();
        lies.then_some(SharedNumbers {
            memory,
            length,
            _numbers: PhantomData,
        })
    }

    /// Has `use_it` use the numbers while nobody else does. It is short: whoever wants them waits
    /// for it on its thread. `None` when they are closed.
    ///
    /// # Panics
    /// When `use_it` panics. To use the same numbers inside it blocks the thread for ever.
    pub fn with<R>(&self, use_it: impl FnOnce(&mut [T]) -> R) -> Option<R> {
        self.hold().numbers().map(use_it)
    }

    /// As [`SharedNumbers::with`], but waits for about a millisecond at most: for a thread that has
    /// something else to do meanwhile.
    ///
    /// # Errors
    /// `use_it`, which was not called: somebody else has used them all the time.
    ///
    /// # Panics
    /// As [`SharedNumbers::with`].
    pub fn with_soon<R, F: FnOnce(&mut [T]) -> R>(&self, use_it: F) -> Result<Option<R>, F> {
        match self.take(true) {
            true => Ok(Held(self).numbers().map(use_it)),
            false => Err(use_it),
        }
    }

    /// Nobody uses them any more, in any process; what they are. `None` when they were closed.
    pub fn close(&self) -> Option<Vec<T>> {
        let mut held = self.hold();
        let numbers = held.numbers()?.to_vec();
        held.close();
        Some(numbers)
    }

    /// As [`SharedNumbers::close`], where nobody wants to know what they are.
    pub fn abandon(&self) {
        self.hold().close();
    }

    /// Waits for the lock.
    #[inline]
    fn hold(&self) -> Held<'_, T> {
        let taken = self.take(false);
        debug_assert!(taken, "it was waited for");
        Held(self)
    }

    /// Takes the lock; whether it has it: it has unless it `gives_up`.
    #[inline]
    fn take(&self, gives_up: bool) -> bool {
        let lock = &words_of(&*self.memory)[LOCK];
        let own = self.memory.process();
        // Acquire: as the module says.
        let taken = lock.compare_exchange(0, own, Ordering::Acquire, Ordering::Relaxed);
        taken.is_ok() || self.wait_for(lock, own, gives_up)
    }

    #[cold]
    fn wait_for(&self, lock: &AtomicU64, own: u64, gives_up: bool) -> bool {
        let mut looks = 0_u32;
        loop {
            // Relaxed: only to see whether it is worth asking for.
            let holder = lock.load(Ordering::Relaxed);
            let is_free = holder == 0 || {
                looks = looks.checked_add(1).unwrap_or(PATIENCE);
                let asks = looks.is_multiple_of(PATIENCE) && holder != own;
                asks && self.memory.is_gone(holder)
            };
            if is_free {
                let taken =
                    lock.compare_exchange(holder, own, Ordering::Acquire, Ordering::Relaxed);
                if taken.is_ok() {
                    return true;
                }
            }
            match looks {
                ..SPINS => spin_loop(),
                SPINS..PATIENCE => thread::yield_now(),
                // To yield offers the core to no thread that is less urgent.
                PATIENCE.. => {
                    thread::park_timeout(NAP);
                    if gives_up {
                        return false;
                    }
                }
            }
        }
    }
}

/// The words, of which the numbers are used by the holder of the lock alone.
#[inline]
fn words_of(memory: &dyn SharedMemory) -> &[AtomicU64] {
    // SAFETY: here only the words in front of the numbers are used as words.
    unsafe { memory.words() }
}

/// The lock, while it is held.
struct Held<'a, T: Plain>(&'a SharedNumbers<T>);

impl<T: Plain> Held<'_, T> {
    /// The numbers, if they are not closed.
    fn numbers(&mut self) -> Option<&mut [T]> {
        let words = words_of(&*self.0.memory);
        // Relaxed: the lock orders it.
        if words[CLOSED].load(Ordering::Relaxed) != 0 {
            return None;
        }
        let first = words[FRONT..].as_ptr().cast_mut().cast::<T>();
        // SAFETY: `new` has seen that there are so many words, and that they lie as numbers must.
        // Any bytes are numbers. Atomic words may be written through a shared reference. Of those
        // who use these as numbers only the holder of the lock does so now. If a process that
        // misbehaves writes them meanwhile, it makes other numbers.
        Some(unsafe { slice::from_raw_parts_mut(first, self.0.length) })
    }

    fn close(&self) {
        // Relaxed: the lock orders it.
        words_of(&*self.0.memory)[CLOSED].store(1, Ordering::Relaxed);
    }
}

impl<T: Plain> Drop for Held<'_, T> {
    fn drop(&mut self) {
        // Release: as the module says.
        words_of(&*self.0.memory)[LOCK].store(0, Ordering::Release);
    }
}

impl<T> fmt::Debug for SharedNumbers<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shared = f.debug_struct("SharedNumbers");
        shared.field("length", &self.length).finish_non_exhaustive()
    }
}

#[cfg(all(test, not(any(motet_loom, motet_shuttle))))]
mod tests {
    use super::*;
    use motet_sync::atomic::AtomicBool;

    struct Words {
        words: Box<[AtomicU64]>,
        gone: AtomicBool,
    }

    /// The memory as one of the processes sees it.
    struct Seen(Arc<Words>, u64);

    // SAFETY: a box stays where it is, and nobody but these tests has the words.
    unsafe impl SharedMemory for Seen {
        unsafe fn words(&self) -> &[AtomicU64] {
            &self.0.words
        }

        fn process(&self) -> u64 {
            self.1
        }

        fn is_gone(&self, process: u64) -> bool {
            process == 7 && self.0.gone.load(Ordering::Relaxed)
        }
    }

    fn seen<T: Plain>(words: &Arc<Words>, process: u64, length: usize) -> SharedNumbers<T> {
        SharedNumbers::new(Arc::new(Seen(Arc::clone(words), process)), length).unwrap()
    }

    fn words(count: usize) -> Arc<Words> {
        Arc::new(Words {
            words: (0..count).map(|_| AtomicU64::new(0)).collect(),
            gone: AtomicBool::new(false),
        })
    }

    #[test]
    fn one_at_a_time_uses_them() {
        let memory = words(FRONT + 2);
        let adding = (1..=4).map(|process| {
            let numbers = seen::<u64>(&memory, process, 2);
            thread::spawn(move || {
                for _ in 0..20_000 {
                    numbers.with(|both| {
                        let next = both[0] + 1;
                        both[0] = next;
                        both[1] = next;
                    });
                }
            })
        });
        let adding: Vec<_> = adding.collect();
        adding.into_iter().for_each(|added| added.join().unwrap());
        assert_eq!(seen::<u64>(&memory, 1, 2).close(), Some(vec![80_000; 2]));
    }

    #[test]
    fn what_is_closed_is_closed_to_all() {
        let memory = words(FRONT + 1);
        let [one, other] = [1, 2].map(|process| seen::<u32>(&memory, process, 2));
        one.with(|numbers| numbers.fill(3));
        assert_eq!(other.close(), Some(vec![3; 2]));
        assert_eq!((one.with(|_| ()), one.close()), (None, None));
        let memory = words(FRONT + 1);
        let [one, other] = [1, 2].map(|process| seen::<u32>(&memory, process, 2));
        one.abandon();
        assert_eq!((other.with(|_| ()), other.close()), (None, None));
    }

    #[test]
    fn the_lock_of_a_process_that_is_gone_is_taken_over() {
        let memory = words(FRONT + 1);
        memory.words[LOCK].store(7, Ordering::Relaxed);
        let numbers = seen::<u64>(&memory, 1, 1);
        let waiting = thread::spawn(move || numbers.with(|numbers| numbers[0]));
        for _ in 0..100 {
            thread::yield_now();
        }
        assert!(!waiting.is_finished(), "7 runs");
        memory.gone.store(true, Ordering::Relaxed);
        assert_eq!(waiting.join().unwrap(), Some(0));
        assert_eq!(memory.words[LOCK].load(Ordering::Relaxed), 0);
    }

    #[test]
    fn who_does_not_wait_long_gets_what_it_wanted_to_do_again() {
        let memory = words(FRONT + 1);
        memory.words[LOCK].store(7, Ordering::Relaxed);
        let numbers = seen::<u64>(&memory, 1, 1);
        let add = |numbers: &mut [u64]| {
            numbers[0] += 1;
            numbers[0]
        };
        let Err(again) = numbers.with_soon(add) else {
            panic!("7 uses them");
        };
        memory.gone.store(true, Ordering::Relaxed);
        assert_eq!(numbers.with_soon(again).ok(), Some(Some(1)));
        numbers.abandon();
        assert_eq!(numbers.with_soon(add).ok(), Some(None));
    }

    #[test]
    fn memory_that_is_too_short_is_refused() {
        let short: Arc<dyn SharedMemory> = Arc::new(Seen(words(FRONT), 1));
        assert!(SharedNumbers::<f64>::new(Arc::clone(&short), 1).is_none());
        assert!(SharedNumbers::<f64>::new(short, 0).is_some());
        assert_eq!(SharedNumbers::<f64>::words(usize::MAX / 4), None);
        assert_eq!(SharedNumbers::<u8>::words(9), Some(FRONT + 2));
    }

    #[test]
    fn who_panics_lets_go_of_them() {
        let memory = words(FRONT + 1);
        let numbers = seen::<u64>(&memory, 1, 1);
        let panicking = seen::<u64>(&memory, 2, 1);
        let ended = thread::spawn(move || panicking.with(|_| panic!("as the test wants")));
        assert!(ended.join().is_err());
        assert_eq!(numbers.with(|numbers| numbers[0]), Some(0));
    }
}
