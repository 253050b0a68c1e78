//! How much memory a piece of a test takes: an allocator that counts for each thread.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's allocator, which counts what each thread has: for the binary of a test that asks
/// [`most_memory`].
///
/// ```
/// use motet_testkit::{Counting, most_memory};
///
/// #[global_allocator]
/// static MEMORY: Counting = Counting;
///
/// let (list, most) = most_memory(|| Vec::<u8>::with_capacity(1000));
/// assert!(most >= 1000 && list.is_empty());
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct Counting;

thread_local! {
    /// What this thread has taken and not given back, and the most of it so far. What another
    /// thread gives back is its own.
    static TAKEN: Cell<(isize, isize)> = const { Cell::new((0, 0)) };
}

/// Notes that a thread has `more` bytes.
#[allow(
    clippy::cast_possible_wrap,
    reason = "no allocation is larger than isize::MAX"
)]
fn note(more: usize, fewer: usize) {
    // A thread that ends counts no more.
    let _ended = TAKEN.try_with(|taken| {
        let (now, most) = taken.get();
        let now = now + more as isize - fewer as isize;
        taken.set((now, most.max(now)));
    });
}

/// What `body` gives, and how many bytes its thread had at most, beyond those at its start: 0 where
/// [`Counting`] is not the allocator.
pub fn most_memory<R>(body: impl FnOnce() -> R) -> (R, usize) {
    let before = TAKEN.with(|taken| {
        let (now, _) = taken.get();
        taken.set((now, now));
        now
    });
    let result = body();
    let (_, most) = TAKEN.with(Cell::get);
    (result, (most - before).unsigned_abs())
}

// SAFETY: the system's allocator does all that is asked; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(layout.size(), 0);
        // SAFETY: the caller's promise is handed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        note(0, layout.size());
        // SAFETY: the caller's promise is handed on; the place is the system's.
        unsafe { System.dealloc(place, layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note(size, layout.size());
        // SAFETY: the caller's promise is handed on; the place is the system's.
        unsafe { System.realloc(place, layout, size) }
    }
}
