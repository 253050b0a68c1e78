//! Memory for the nodes of tasks.
//!
//! Each message is a node, allocated by whoever posts and freed by the worker that has run its
//! handler, which mostly posts the next. So a worker keeps what it frees, up to [`KEPT`] nodes of a
//! size, for the nodes that it makes. Other threads keep nothing: one that only posts has none to
//! keep, and one that ends would have to give them back.
//!
//! Sizes are rounded up to what allocators hand out anyway (8 bytes of their own beside it, 16
//! bytes as unit). So nodes of different types share what is kept.

use std::alloc::{self, Layout};
use std::cell::Cell;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ptr::{self, NonNull};

/// Room for one `N`, without a value; it is freed when this is dropped.
pub(crate) struct NodeMemory<N> {
    room: NonNull<N>,
    owns: PhantomData<N>,
}

/// The calling thread keeps memory as long as this lives.
pub(crate) struct MemoryKeeper(PhantomData<*const ()>);

/// So many nodes of a size are kept.
const KEPT: usize = 64;

/// So many sizes are kept: 24, 40, … 120 bytes.
const CLASSES: usize = 7;

const UNIT: usize = 16;

/// What lies in memory that is kept.
struct Free {
    next: *mut Free,
}

/// What a thread keeps of one size.
struct FreeList {
    /// The one freed last is used next: it is in the cache.
    last: Cell<*mut Free>,
    /// For so many more.
    room: Cell<usize>,
}

motet_sync::thread_local! {
    /// Without a destructor: [`MemoryKeeper`] sees to it that a thread which ends keeps nothing.
    static FREE_LISTS: [FreeList; CLASSES] = const {
        [const { FreeList { last: Cell::new(ptr::null_mut()), room: Cell::new(0) } }; CLASSES]
    };
}

impl<N> NodeMemory<N> {
    /// The place of this size among those that are kept. Not in models, whose threads share one
    /// thread's values, nor where a sanitizer is to see each node go.
    const CLASS: Option<usize> = {
        let (size, align) = (size_of::<N>(), align_of::<N>());
        let class = (size + UNIT / 2).div_ceil(UNIT) - 1;
        let plain = cfg!(any(motet_loom, motet_shuttle, motet_plain_memory));
        if plain || class == 0 || class > CLASSES || align > align_of::<Free>() {
            None
        } else {
            Some(class - 1)
        }
    };

    const LAYOUT: Layout = match Self::CLASS {
        Some(class) => layout(class),
        None => Layout::new::<N>(),
    };

    #[inline]
    pub(crate) fn new() -> Self {
        const { assert!(size_of::<N>() > 0, "a node has a header") };
        let kept =
            Self::CLASS.and_then(|class| FREE_LISTS.with(|free_lists| free_lists[class].take()));
        let room = kept.map_or_else(|| allocate(Self::LAYOUT), NonNull::cast);
        NodeMemory::of(room.cast())
    }

    /// Makes a value there, and passes it on to whoever comes to call [`NodeMemory::holding`].
    #[inline]
    pub(crate) fn hold(self, value: impl FnOnce() -> N) -> NonNull<N> {
        // SAFETY: there is room for one.
        unsafe { self.room.write(value()) };
        ManuallyDrop::new(self).room
    }

    /// The memory of a value that the caller drops or reads, part by part if he likes, before he
    /// drops this.
    ///
    /// # Safety
    /// `held` came from [`NodeMemory::hold`] and belongs to the caller.
    #[inline]
    pub(crate) unsafe fn holding(held: NonNull<N>) -> Self {
        NodeMemory::of(held)
    }

    /// Drops the value where it is, and frees its memory.
    ///
    /// # Safety
    /// As [`NodeMemory::holding`].
    #[inline]
    pub(crate) unsafe fn destroy(held: NonNull<N>) {
        // Freed also when the value's destructor panics.
        let _memory = NodeMemory::of(held);
        // SAFETY: the caller gives it up; it is dropped once.
        unsafe { held.drop_in_place() }
    }

    #[inline]
    fn of(room: NonNull<N>) -> Self {
        NodeMemory {
            room,
            owns: PhantomData,
        }
    }
}

impl<N> Drop for NodeMemory<N> {
    #[inline]
    fn drop(&mut self) {
        let put =
            |class: usize| FREE_LISTS.with(|free_lists| free_lists[class].put(self.room.cast()));
        if !Self::CLASS.is_some_and(put) {
            // SAFETY: allocated with this layout in `new`, and nobody has it any more.
            unsafe { alloc::dealloc(self.room.as_ptr().cast(), Self::LAYOUT) };
        }
    }
}

impl FreeList {
    #[inline]
    fn take(&self) -> Option<NonNull<Free>> {
        let free = NonNull::new(self.last.get())?;
        // SAFETY: what is on the free list belongs to it and holds a `Free`, which `put` wrote.
        self.last.set(unsafe { free.as_ref() }.next);
        self.room.set(self.room.get() + 1);
        Some(free)
    }

    /// `false` when there is no room.
    #[inline]
    fn put(&self, free: NonNull<Free>) -> bool {
        let room = self.room.get();
        if room == 0 {
            return false;
        }
        self.room.set(room - 1);
        let next = self.last.replace(free.as_ptr());
        // SAFETY: the caller has given it up; it is as large and as aligned as a `Free`, or it
        // would have no class.
        unsafe { free.write(Free { next }) };
        true
    }
}

impl MemoryKeeper {
    pub(crate) fn new() -> Self {
        FREE_LISTS.with(|free_lists| {
            free_lists
                .iter()
                .for_each(|free_list| free_list.room.set(KEPT))
        });
        MemoryKeeper(PhantomData)
    }
}

impl Drop for MemoryKeeper {
    fn drop(&mut self) {
        FREE_LISTS.with(|free_lists| {
            for (class, free_list) in free_lists.iter().enumerate() {
                while let Some(free) = free_list.take() {
                    // SAFETY: only memory with the layout of its class is on a free list.
                    unsafe { alloc::dealloc(free.as_ptr().cast(), layout(class)) };
                }
                free_list.room.set(0);
            }
        });
    }
}

const fn layout(class: usize) -> Layout {
    match Layout::from_size_align((class + 1) * UNIT + UNIT / 2, align_of::<Free>()) {
        Ok(layout) => layout,
        Err(_) => panic!("a few words"),
    }
}

#[inline]
fn allocate(layout: Layout) -> NonNull<Free> {
    // SAFETY: no type whose memory is asked for has the size 0.
    let room = NonNull::new(unsafe { alloc::alloc(layout) });
    room.unwrap_or_else(|| alloc::handle_alloc_error(layout))
        .cast()
}

#[cfg(all(test, not(any(motet_loom, motet_shuttle, motet_plain_memory))))]
mod tests {
    use super::*;
    use motet_sync::Arc;
    use motet_sync::atomic::{AtomicUsize, Ordering};
    use std::panic::{AssertUnwindSafe, catch_unwind};

    fn kept() -> usize {
        FREE_LISTS.with(|free_lists| {
            free_lists
                .iter()
                .map(|free_list| KEPT - free_list.room.get())
                .sum()
        })
    }

    #[test]
    fn a_thread_that_keeps_memory_uses_it_again_for_its_size() {
        let _keeper = MemoryKeeper::new();
        let first = NodeMemory::<[u64; 4]>::new();
        let at = first.room.addr();
        drop(first);
        assert_eq!(kept(), 1);
        let larger = NodeMemory::<[u64; 6]>::new();
        assert_eq!(kept(), 1, "too small for that");
        let same = NodeMemory::<[u64; 5]>::new();
        assert_eq!((same.room.addr(), kept()), (at, 0));
        drop((larger, same));
        assert_eq!(kept(), 2);
    }

    #[test]
    fn a_thread_keeps_no_more_than_its_share_and_nothing_when_it_ends() {
        let many = || -> Vec<_> {
            (0..3 * KEPT)
                .map(|_| NodeMemory::<[u64; 9]>::new())
                .collect()
        };
        let keeper = MemoryKeeper::new();
        drop(many());
        assert_eq!(kept(), KEPT);
        drop(keeper);
        let room = || {
            FREE_LISTS
                .with(|free_lists| free_lists.each_ref().map(|free_list| free_list.room.get()))
        };
        assert_eq!(room(), [0; CLASSES]);
        drop(many());
        assert!(FREE_LISTS.with(|free_lists| {
            free_lists
                .iter()
                .all(|free_list| free_list.last.get().is_null())
        }));
    }

    #[test]
    fn what_is_large_or_wants_an_alignment_is_not_kept() {
        #[repr(align(64))]
        struct Aligned {
            _one: u8,
        }
        let _keeper = MemoryKeeper::new();
        let aligned = NodeMemory::<Aligned>::new();
        assert!(aligned.room.is_aligned());
        drop((aligned, NodeMemory::<[u64; 100]>::new()));
        assert_eq!(kept(), 0);
    }

    #[test]
    fn memory_is_kept_when_its_value_has_gone() {
        let _keeper = MemoryKeeper::new();
        for _ in 0..3 {
            let held = NodeMemory::new().hold(|| [7_u64; 4]);
            assert_eq!(kept(), 0);
            // SAFETY: it comes from `hold` and is given up; its value needs no destructor.
            let (memory, value) = unsafe { (NodeMemory::holding(held), held.read()) };
            drop(memory);
            assert_eq!((value, kept()), ([7; 4], 1));
        }
    }

    #[test]
    fn a_value_is_dropped_once_and_its_memory_is_kept_even_if_that_panics() {
        struct Bad(Arc<AtomicUsize>);
        impl Drop for Bad {
            fn drop(&mut self) {
                self.0.fetch_add(1, Ordering::Relaxed);
                panic!("a destructor's");
            }
        }
        let (_keeper, dropped) = (MemoryKeeper::new(), Arc::new(AtomicUsize::new(0)));
        let bad = NodeMemory::new().hold(|| (Bad(Arc::clone(&dropped)), [0; 4]));
        // SAFETY: it comes from `hold` and is given up.
        let destroyed = catch_unwind(AssertUnwindSafe(|| unsafe { NodeMemory::destroy(bad) }));
        assert!(destroyed.is_err());
        assert_eq!((dropped.load(Ordering::Relaxed), kept()), (1, 1));
    }

    #[test]
    fn what_cannot_be_made_leaves_no_memory_behind() {
        let _keeper = MemoryKeeper::new();
        let made = catch_unwind(|| NodeMemory::<[u64; 2]>::new().hold(|| panic!("a maker's")));
        assert!(made.is_err() && kept() == 1);
    }

    #[test]
    fn classes_hold_what_they_are_for() {
        const fn class<const N: usize>() -> (Option<usize>, usize) {
            (
                NodeMemory::<[u8; N]>::CLASS,
                NodeMemory::<[u8; N]>::LAYOUT.size(),
            )
        }
        assert_eq!(class::<9>(), (Some(0), 24));
        assert_eq!(class::<24>(), (Some(0), 24));
        assert_eq!(class::<25>(), (Some(1), 40));
        assert_eq!(class::<120>(), (Some(6), 120));
        assert_eq!(class::<121>(), (None, 121));
    }
}
