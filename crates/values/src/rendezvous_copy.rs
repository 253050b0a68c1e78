//! Numbers that a sender lends to the receiver while it sends them: both copy, and what can be
//! copied once is.
//!
//! A call that sends a slice has it only until it returns, and a future that is leaked is never
//! told so. So nobody looks at a slice but while its owner is in the call that lends it. The sender
//! is in its send, and the receiver in the look in which it has found the message. Neither leaves
//! before the other has finished what it does there; and neither waits for the other to come. While
//! the receiver has not come the sender saves the numbers, in memory of the message; when all are
//! saved, or copied, it goes on.
//!
//! ```text
//!  sender                                          receiver
//!  a  expose: the message has the slice's place      1  show the room
//!  b  claim a piece at its end                     2  claim a piece at the other end
//!  c  copy it to the room, if one is shown;        3  copy it from the slice to the room
//!     else save it                                 4  show how much was fetched; again from 2
//!  d  show how much was brought; again from b      5  all is claimed: until all of d is shown, wait
//!  e  all is claimed: until all of 4 is shown,     6  copy what was saved
//!     wait
//! ```
//!
//! Memory order: `a` comes to the receiver with the message. The store of 1 releases the room
//! to whoever sees it in `c`. The stores of `d` and 4 release what was written, or was read, to 5
//! and `e`. Claims only divide: they need no order.
//!
//! The caller says which end is whose, by who the two are and not by who sends. So two that
//! exchange the same slices again and again find in their caches what they copied last.

mod free_buffers;
pub use free_buffers::FreeBuffers;

use crate::Plain;
use crate::non_temporal;
use motet_sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};
use motet_sync::cell::UnsafeCell;
use motet_sync::{Arc, spin_loop, thread};
use std::any::{Any, TypeId};
use std::fmt;
use std::marker::PhantomData;
use std::mem::{self, MaybeUninit};
use std::ops::Range;
use std::ptr;

/// Slices of fewer bytes are not worth exposure.
pub const LEAST: usize = if cfg!(motet_loom) { 3 } else { 32 * 1024 };

/// Bytes in a unit, of which pieces are made.
const UNIT: usize = if cfg!(motet_loom) { 1 } else { 4096 };

/// Units in a piece: at most, when two copy; and when one saves, whom the other may join.
const MOST: u32 = 64;
const MOST_SAVED: u32 = 4;

/// Bytes of a piece that is saved, at most.
const PIECE: usize = MOST_SAVED as usize * UNIT;

/// So often the sender looks for a receiver before it saves: one that looks for the message comes
/// within that time.
const LOOKS: u32 = if cfg!(motet_loom) { 1 } else { 32 };

/// What sender and receiver share.
struct ExposedSlice {
    /// The numbers. Not touched when the sender has left.
    source: *const u8,
    /// Their bytes.
    length: usize,
    /// The sender begins at the front.
    forward: bool,
    /// The units that nobody has claimed: the first, in the upper half, and the one after the last.
    unclaimed: AtomicU64,
    /// Where the receiver wants the numbers; null until it has come.
    room: AtomicPtr<u8>,
    /// Units that the sender has saved or brought to the room. Only it writes this.
    brought: AtomicU32,
    /// Units that the receiver has fetched from the slice. Only it writes this.
    fetched: AtomicU32,
    /// The sender's until it has brought all, then the receiver's.
    saved: UnsafeCell<Vec<Saved>>,
    /// Where the memory of what was saved comes from and goes to.
    free_buffers: Arc<FreeBuffers>,
    /// Stand for the slice, and for what the sender writes to the room: a model sees who comes
    /// there when.
    slice: UnsafeCell<()>,
    written: UnsafeCell<()>,
}

/// A piece that the sender has saved.
struct Saved {
    from: usize,
    bytes: Vec<u8>,
}

// SAFETY: the slice is of plain numbers, which are Sync; the module doc says who touches what when.
unsafe impl Send for ExposedSlice {}
// SAFETY: as above.
unsafe impl Sync for ExposedSlice {}

/// The sender's part. It copies, and waits for who does, when it is dropped: who has it drops it.
struct SenderCopy<'a> {
    exposed: Arc<ExposedSlice>,
    _numbers: PhantomData<&'a [u8]>,
}

/// The receiver's part, in the message. There is one.
pub struct Borrowed {
    exposed: Arc<ExposedSlice>,
    /// Of the vector that it may be received as.
    vector: TypeId,
    to_vector: fn(Borrowed) -> Box<dyn Any + Send>,
    /// The number of numbers.
    length: usize,
}

/// Lends the numbers while `send` hands the receiver's part over, and until all of them have been
/// copied or saved. `forward`: the sender begins at the front, the receiver at the back. What is to
/// be saved uses the memory of `free_buffers`.
///
/// ```
/// use motet_sync::Arc;
/// use motet_values::rendezvous_copy::lend;
///
/// let (to, from) = std::sync::mpsc::channel();
/// let mut numbers = vec![1.5; 10_000];
/// lend(&numbers, true, &Arc::default(), |lent| to.send(lent).unwrap());
/// // They are the sender's own again: nobody has come for them, so they have been saved.
/// numbers.clear();
/// let mut room = vec![0.0; 10_000];
/// from.recv().unwrap().fetch(&mut room);
/// assert_eq!(room, [1.5; 10_000]);
/// ```
pub fn lend<T: Plain, R>(
    numbers: &[T],
    forward: bool,
    free_buffers: &Arc<FreeBuffers>,
    send: impl FnOnce(Borrowed) -> R,
) -> R {
    let (_copy, borrowed) = expose(numbers, forward, free_buffers);
    send(borrowed)
}

fn expose<'a, T: Plain>(
    numbers: &'a [T],
    forward: bool,
    free_buffers: &Arc<FreeBuffers>,
) -> (SenderCopy<'a>, Borrowed) {
    let bytes = mem::size_of_val(numbers);
    let units = u32::try_from(bytes.div_ceil(UNIT)).expect("no memory has so many units");
    let exposed = Arc::new(ExposedSlice {
        source: numbers.as_ptr().cast(),
        length: bytes,
        forward,
        unclaimed: AtomicU64::new(u64::from(units)),
        room: AtomicPtr::new(ptr::null_mut()),
        brought: AtomicU32::new(0),
        fetched: AtomicU32::new(0),
        saved: UnsafeCell::new(Vec::new()),
        free_buffers: Arc::clone(free_buffers),
        slice: UnsafeCell::new(()),
        written: UnsafeCell::new(()),
    });
    let borrowed = Borrowed {
        exposed: Arc::clone(&exposed),
        vector: TypeId::of::<Vec<T>>(),
        to_vector: |borrowed| Box::new(borrowed.into_vector::<T>()),
        length: numbers.len(),
    };
    let exposure = SenderCopy {
        exposed,
        _numbers: PhantomData,
    };
    (exposure, borrowed)
}

impl ExposedSlice {
    /// Claims the next piece, of at most so many units, at one end.
    fn claim(&self, front: bool, most: u32) -> Option<Range<u32>> {
        // Relaxed: who has claimed what needs no order, see above.
        let mut now = self.unclaimed.load(Ordering::Relaxed);
        loop {
            let (first, end) = ((now >> 32) as u32, now as u32);
            // The less is left, the smaller: nobody is to wait long for the last piece.
            let units = (end - first).div_ceil(4).min(most);
            if units == 0 {
                return None;
            }
            let (left, piece) = match front {
                true => (first + units..end, first..first + units),
                false => (first..end - units, end - units..end),
            };
            let left = u64::from(left.start) << 32 | u64::from(left.end);
            match self.unclaimed.compare_exchange_weak(
                now,
                left,
                Ordering::Relaxed,
                Ordering::Relaxed,
            ) {
                Ok(_) => return Some(piece),
                Err(changed) => now = changed,
            }
        }
    }

    /// The bytes of a piece.
    fn bytes(&self, piece: &Range<u32>) -> Range<usize> {
        piece.start as usize * UNIT..(piece.end as usize * UNIT).min(self.length)
    }

    /// All units.
    fn units(&self) -> u32 {
        self.length.div_ceil(UNIT) as u32
    }

    /// Copies these bytes of the slice.
    ///
    /// # Safety
    /// They have been claimed by the caller, and the sender is in its call until that is shown.
    /// There is as much room.
    unsafe fn copy(&self, bytes: &Range<usize>, to: *mut u8) {
        self.slice.with(|_| {
            // SAFETY: the caller says that the slice and the room are there. They are not the same
            // memory, since one is borrowed and the other borrowed for writing.
            unsafe {
                let from = self.source.add(bytes.start);
                match self.length < non_temporal::LEAST {
                    true => ptr::copy_nonoverlapping(from, to, bytes.len()),
                    false => non_temporal::copy(from, to, bytes.len()),
                }
            }
        });
    }

    /// Copies a piece to the room if it is shown, else saves it.
    ///
    /// # Safety
    /// The sender has claimed it, and is in its call.
    unsafe fn bring(&self, piece: &Range<u32>) {
        let bytes = self.bytes(piece);
        // Acquire: see above.
        let room = self.room.load(Ordering::Acquire);
        if room.is_null() {
            let mut saved = self.free_buffers.take(bytes.len());
            // SAFETY: the caller's promise; there is room, which is full afterwards.
            unsafe {
                self.copy(&bytes, saved.as_mut_ptr());
                saved.set_len(bytes.len());
            }
            let from = bytes.start;
            // SAFETY: until all is brought nobody else comes there.
            self.saved
                .with_mut(|all| unsafe { (*all).push(Saved { from, bytes: saved }) });
        } else {
            // SAFETY: the receiver has shown room for all numbers, and stays until this piece is
            // brought.
            self.written
                .with_mut(|_| unsafe { self.copy(&bytes, room.add(bytes.start)) });
        }
    }
}

impl Drop for ExposedSlice {
    /// Both have left: the memory of what was saved is for the next.
    fn drop(&mut self) {
        // SAFETY: there is no other reference.
        let saved = self
            .saved
            .with_mut(|saved| unsafe { mem::take(&mut *saved) });
        self.free_buffers.keep(saved);
    }
}

impl Drop for SenderCopy<'_> {
    fn drop(&mut self) {
        let exposed = &*self.exposed;
        for _ in 0..LOOKS {
            // Relaxed: only to see whether it is worth waiting on.
            if !exposed.room.load(Ordering::Relaxed).is_null() {
                break;
            }
            spin_loop();
        }
        let mut brought = 0;
        loop {
            let alone = exposed.room.load(Ordering::Relaxed).is_null();
            let most = if alone { MOST_SAVED } else { MOST };
            let Some(piece) = exposed.claim(exposed.forward, most) else {
                break;
            };
            // SAFETY: it is claimed, and the slice is borrowed by `self`.
            unsafe { exposed.bring(&piece) };
            brought += piece.len() as u32;
            exposed.brought.store(brought, Ordering::Release);
        }
        let fetched = exposed.units() - brought;
        wait_until(|| exposed.fetched.load(Ordering::Acquire) == fetched);
        // From here on the slice is its owner's alone.
        exposed.slice.with_mut(|_| ());
    }
}

impl fmt::Debug for Borrowed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut borrowed = f.debug_struct("Borrowed");
        borrowed.field("length", &self.length);
        borrowed.finish_non_exhaustive()
    }
}

impl Borrowed {
    /// Whether it may be received as a `V`.
    #[inline]
    #[must_use]
    pub fn holds<V: 'static>(&self) -> bool {
        self.vector == TypeId::of::<V>()
    }

    /// The number of numbers.
    #[inline]
    #[must_use]
    pub fn length(&self) -> usize {
        self.length
    }

    /// The numbers in a vector of their type.
    #[must_use]
    pub fn open(self) -> Box<dyn Any + Send> {
        (self.to_vector)(self)
    }

    /// Puts the numbers into `room`, of which they need all.
    ///
    /// # Panics
    /// They are of another type, or there are more or fewer.
    pub fn fetch<T: Plain>(self, room: &mut [T]) {
        let room: *mut [T] = room;
        // SAFETY: room for numbers is room for numbers that are not there yet; only whole numbers
        // are written.
        self.fetch_to(unsafe { &mut *(room as *mut [MaybeUninit<T>]) });
    }

    fn into_vector<T: Plain>(self) -> Vec<T> {
        let length = self.length;
        let mut numbers = Vec::with_capacity(length);
        self.fetch_to(&mut numbers.spare_capacity_mut()[..length]);
        // SAFETY: all of them have been fetched.
        unsafe { numbers.set_len(length) };
        numbers
    }

    fn fetch_to<T: Plain>(self, room: &mut [MaybeUninit<T>]) {
        assert!(
            self.holds::<Vec<T>>() && self.length == room.len(),
            "the room is for other numbers"
        );
        let exposed = &*self.exposed;
        let room = room.as_mut_ptr().cast::<u8>();
        exposed.room.store(room, Ordering::Release);
        let mut fetched = 0;
        while let Some(piece) = exposed.claim(!exposed.forward, MOST) {
            let bytes = exposed.bytes(&piece);
            // SAFETY: it is claimed here, so the sender waits until that is shown. The room is as
            // large as the slice, and the sender writes only what it has claimed.
            unsafe { exposed.copy(&bytes, room.add(bytes.start)) };
            fetched += piece.len() as u32;
            exposed.fetched.store(fetched, Ordering::Release);
        }
        let brought = exposed.units() - fetched;
        wait_until(|| exposed.brought.load(Ordering::Acquire) == brought);
        exposed.written.with(|_| ());
        // SAFETY: the sender has brought all and does not come there again; there is one receiver.
        exposed.saved.with(|saved| unsafe {
            for Saved { from, bytes } in &*saved {
                ptr::copy_nonoverlapping(bytes.as_ptr(), room.add(*from), bytes.len());
            }
        });
    }
}

/// Waits for a thread that copies a piece.
fn wait_until(ready: impl Fn() -> bool) {
    /// Then the thread does not run.
    const SPINS: u32 = 4096;
    let mut spins = 0;
    while !ready() {
        if spins < SPINS {
            spins += 1;
            spin_loop();
        } else {
            thread::yield_now();
        }
    }
}

#[cfg(all(test, not(motet_loom)))]
mod tests {
    use super::*;

    fn numbers() -> Vec<u64> {
        (0..100_003).map(|n| n * n).collect()
    }

    #[test]
    fn what_nobody_fetches_meanwhile_is_saved() {
        for forward in [true, false] {
            let mut numbers = numbers();
            let sent = numbers.clone();
            let (exposure, borrowed) = expose(&numbers, forward, &Arc::default());
            drop(exposure);
            numbers.fill(0);
            assert!(borrowed.holds::<Vec<u64>>() && !borrowed.holds::<Vec<i64>>());
            assert_eq!(*borrowed.open().downcast::<Vec<u64>>().unwrap(), sent);
        }
    }

    #[test]
    fn sem_g86_both_copy_and_the_slice_is_its_owners_again() {
        let mut room = vec![0; numbers().len()];
        let free_buffers = Arc::default();
        for round in 0..200_u64 {
            let mut numbers = numbers();
            numbers[0] = round;
            let sent = numbers.clone();
            let (exposure, borrowed) = expose(&numbers, round % 2 == 0, &free_buffers);
            let fetching = thread::spawn(move || {
                (0..round * 20).for_each(|_| spin_loop());
                borrowed.fetch(&mut room);
                room
            });
            drop(exposure);
            numbers.fill(u64::MAX);
            room = fetching.join().unwrap();
            assert!(room == sent, "round {round}");
        }
    }

    #[test]
    #[should_panic(expected = "the room is for other numbers")]
    fn room_of_another_length_is_not_written_to() {
        let (_lending, borrowed) = expose(&[1_u8; 5], true, &Arc::default());
        borrowed.fetch(&mut [0_u8; 4]);
    }

    #[test]
    fn sem_g102_the_memory_of_saved_numbers_is_used_again() {
        let (numbers, free_buffers) = (numbers(), Arc::<FreeBuffers>::default());
        let pieces = size_of_val(&*numbers).div_ceil(PIECE);
        for _ in 0..3 {
            let (exposure, borrowed) = expose(&numbers, true, &free_buffers);
            drop(exposure);
            assert_eq!(free_buffers.kept(), 0, "it is in the message");
            assert!(*borrowed.open().downcast::<Vec<u64>>().unwrap() == numbers);
            assert!(
                free_buffers.kept() >= pieces,
                "{} {pieces}",
                free_buffers.kept()
            );
        }
        let most = free_buffers.kept();
        let (exposure, borrowed) = expose(&numbers, true, &free_buffers);
        drop((exposure, borrowed));
        assert_eq!(free_buffers.kept(), most, "also where nobody fetches");
    }

    #[test]
    fn numbers_that_are_not_fetched_are_dropped() {
        let numbers = numbers();
        let (exposure, borrowed) = expose(&numbers, true, &Arc::default());
        drop(borrowed);
        drop(exposure);
    }
}

#[cfg(all(test, motet_loom))]
mod loom_tests {
    use super::*;

    /// The receiver comes while the sender copies, or after it: it gets all, and the slice is its
    /// owner's afterwards.
    #[test]
    fn loom_sem_g86_sender_and_receiver_copy_a_slice() {
        for forward in [true, false] {
            loom::model(move || {
                let mut numbers = [1_u8, 2, 3];
                let (exposure, borrowed) = expose(&numbers, forward, &Arc::default());
                let fetching = thread::spawn(move || {
                    let mut room = [0_u8; 3];
                    borrowed.fetch(&mut room);
                    assert_eq!(room, [1, 2, 3]);
                });
                drop(exposure);
                numbers.fill(9);
                fetching.join().unwrap();
            });
        }
    }
}
