//! A cell for one value of any type, without an allocation when the value is small.

use std::any::{Any, TypeId};
use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;
use std::mem::{self, MaybeUninit};
use std::ptr;

/// Room for a value of any `Send` type, of so many words. A value that fits is stored in place, a
/// larger one in a box.
///
/// In this order: a small value lies behind what its readers look at first.
#[repr(C)]
pub struct AnyRoom<const WORDS: usize> {
    /// The type of the value; `None` when empty.
    kind: Option<&'static MessageKind<WORDS>>,
    room: InlineSpace<WORDS>,
}

/// What is combined, or is the total. Several threads may look at it at once.
///
/// ```
/// use motet_values::any_cell::AnyCell;
///
/// let mut cell = AnyCell::new();
/// cell.put(1.5_f64);
/// assert_eq!(cell.get::<u64>(), None);
/// assert_eq!(cell.take::<f64>(), Some(1.5));
/// ```
pub type AnyCell = AnyRoom<6>;

/// What a message holds: one thread at a time has it, so it is not `Sync`, and can show its value
/// whatever it is.
///
/// ```
/// use motet_values::any_cell::AnyLetter;
///
/// let mut letter = AnyLetter::new(7_u16);
/// assert_eq!(letter.any().downcast_ref(), Some(&7_u16));
/// assert_eq!((letter.take::<i16>(), letter.take()), (None, Some(7_u16)));
/// ```
#[derive(Debug)]
pub struct AnyLetter(AnyRoom<4>, PhantomData<Cell<()>>);

/// What is to be known of a value whose type is not.
struct MessageKind<const WORDS: usize> {
    id: TypeId,
    drop: unsafe fn(*mut InlineSpace<WORDS>),
    any: unsafe fn(*const InlineSpace<WORDS>) -> *const (dyn Any + Send),
}

type InlineSpace<const WORDS: usize> = MaybeUninit<[u64; WORDS]>;

/// Gives the kind of a type.
struct Of<T, const WORDS: usize>(PhantomData<T>);

impl<T: Send + 'static, const WORDS: usize> Of<T, WORDS> {
    /// Whether the value is stored in place.
    const FITS: bool = mem::size_of::<T>() <= WORDS * 8
        && mem::align_of::<T>() <= mem::align_of::<InlineSpace<WORDS>>();

    const KIND: &'static MessageKind<WORDS> = if Self::FITS {
        &MessageKind {
            id: TypeId::of::<T>(),
            // SAFETY: called once, on a room with a T in it.
            drop: |room| unsafe { ptr::drop_in_place(room.cast::<T>()) },
            any: |room| room.cast::<T>() as *const (dyn Any + Send),
        }
    } else {
        &MessageKind {
            id: TypeId::of::<T>(),
            // SAFETY: called once, on a room with a Box<T> in it.
            drop: |room| unsafe { ptr::drop_in_place(room.cast::<Box<T>>()) },
            // SAFETY: called on a room with a Box<T> in it.
            any: |room| unsafe { &raw const **room.cast::<Box<T>>() as *const (dyn Any + Send) },
        }
    };
}

impl<const WORDS: usize> AnyRoom<WORDS> {
    /// Without a value.
    #[inline]
    #[must_use]
    pub fn new() -> Self {
        const { assert!(WORDS > 0, "there is room for a box at least") }
        AnyRoom {
            kind: None,
            room: MaybeUninit::uninit(),
        }
    }

    /// With this value.
    #[inline]
    #[must_use]
    pub fn with<T: Send + 'static>(value: T) -> Self {
        let mut room = AnyRoom::new();
        room.put(value);
        room
    }

    /// Stores `value`; drops what was there.
    #[inline]
    pub fn put<T: Send + 'static>(&mut self, value: T) {
        self.clear();
        let room: *mut InlineSpace<WORDS> = &raw mut self.room;
        if Of::<T, WORDS>::FITS {
            // SAFETY: the value fits the room in size and alignment, and the room is free.
            unsafe { room.cast::<T>().write(value) };
        } else {
            // SAFETY: a box is a pointer, which fits.
            unsafe { room.cast::<Box<T>>().write(Box::new(value)) };
        }
        self.kind = Some(Of::<T, WORDS>::KIND);
    }

    /// Takes the value out; `None` when the cell is empty or holds another type.
    #[inline]
    pub fn take<T: Send + 'static>(&mut self) -> Option<T> {
        if !self.holds::<T>() {
            return None;
        }
        self.kind = None;
        let room: *const InlineSpace<WORDS> = &raw const self.room;
        if Of::<T, WORDS>::FITS {
            // SAFETY: a T is there, and `kind` says now that the room is free.
            Some(unsafe { room.cast::<T>().read() })
        } else {
            // SAFETY: as above, for a Box<T>.
            Some(*unsafe { room.cast::<Box<T>>().read() })
        }
    }

    /// Looks at the value. `Sync`, because several threads may look at once.
    #[inline]
    pub fn get<T: Send + Sync + 'static>(&self) -> Option<&T> {
        if !self.holds::<T>() {
            return None;
        }
        let room: *const InlineSpace<WORDS> = &raw const self.room;
        if Of::<T, WORDS>::FITS {
            // SAFETY: a T is there and is borrowed with self.
            Some(unsafe { &*room.cast::<T>() })
        } else {
            // SAFETY: as above, for a Box<T>.
            Some(unsafe { &*room.cast::<Box<T>>() })
        }
    }

    /// Looks at the value as the one who has the room.
    #[inline]
    pub fn get_mut<T: Send + 'static>(&mut self) -> Option<&mut T> {
        if !self.holds::<T>() {
            return None;
        }
        let room: *mut InlineSpace<WORDS> = &raw mut self.room;
        if Of::<T, WORDS>::FITS {
            // SAFETY: a T is there and is borrowed with self.
            Some(unsafe { &mut *room.cast::<T>() })
        } else {
            // SAFETY: as above, for a Box<T>.
            Some(unsafe { &mut *room.cast::<Box<T>>() })
        }
    }

    /// Drops the value.
    #[inline]
    pub fn clear(&mut self) {
        if let Some(kind) = self.kind.take() {
            // SAFETY: `kind` said that a value is there; it is forgotten before the drop.
            unsafe { (kind.drop)(&raw mut self.room) }
        }
    }

    /// Whether a `T` is inside.
    #[inline]
    #[must_use]
    pub fn holds<T: 'static>(&self) -> bool {
        self.kind.is_some_and(|kind| kind.id == TypeId::of::<T>())
    }

    /// Whether both hold values of one type, or both none.
    #[inline]
    #[must_use]
    pub fn is_like(&self, other: &Self) -> bool {
        self.kind.map(|kind| kind.id) == other.kind.map(|kind| kind.id)
    }
}

impl AnyLetter {
    /// With this value.
    #[inline]
    pub fn new<T: Send + 'static>(value: T) -> Self {
        AnyLetter(AnyRoom::with(value), PhantomData)
    }

    /// Whether a `T` is inside.
    #[inline]
    pub fn holds<T: 'static>(&self) -> bool {
        self.0.holds::<T>()
    }

    /// Takes the value out, if it is a `T`; then nothing is inside.
    #[inline]
    pub fn take<T: Send + 'static>(&mut self) -> Option<T> {
        self.0.take()
    }

    /// The value, whatever it is.
    ///
    /// # Panics
    /// It has been taken.
    #[inline]
    pub fn any(&self) -> &(dyn Any + Send) {
        let kind = self.0.kind.expect("a letter holds a value");
        // SAFETY: the value is there and borrowed with self, which no other thread can look at.
        unsafe { &*(kind.any)(&raw const self.0.room) }
    }
}

impl<const WORDS: usize> Default for AnyRoom<WORDS> {
    #[inline]
    fn default() -> Self {
        Self::new()
    }
}

impl<const WORDS: usize> fmt::Debug for AnyRoom<WORDS> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut room = f.debug_struct("AnyRoom");
        room.field("full", &self.kind.is_some());
        room.finish_non_exhaustive()
    }
}

impl<const WORDS: usize> Drop for AnyRoom<WORDS> {
    #[inline]
    fn drop(&mut self) {
        self.clear();
    }
}

// SAFETY: only Send values are put in.
unsafe impl<const WORDS: usize> Send for AnyRoom<WORDS> {}
// SAFETY: through a shared reference only `get` reaches the value, which demands Sync, and `any` of
// a letter, which is not Sync itself.
unsafe impl<const WORDS: usize> Sync for AnyRoom<WORDS> {}

#[cfg(all(test, not(motet_loom)))]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn round_trip<T: Send + Sync + Clone + PartialEq + std::fmt::Debug + 'static>(value: T) {
        let mut cell = AnyCell::new();
        assert!(cell.get::<T>().is_none());
        cell.put(value.clone());
        assert_eq!(cell.get::<T>(), Some(&value));
        assert_eq!(cell.get_mut::<T>(), Some(&mut value.clone()));
        assert!(cell.is_like(&AnyCell::with(value.clone())));
        assert!(!cell.is_like(&AnyCell::new()) && !cell.is_like(&AnyCell::with(Arc::new(()))));
        assert!(
            cell.take::<Arc<()>>().is_none(),
            "another type is not handed out"
        );
        assert_eq!(cell.take::<T>(), Some(value));
        assert!(cell.take::<T>().is_none());
    }

    #[test]
    fn small_large_aligned_and_empty_types() {
        #[derive(Clone, PartialEq, Debug)]
        #[repr(align(64))]
        struct Aligned(u8);
        round_trip(7u8);
        round_trip(());
        round_trip([1.5f64; 6]);
        round_trip([1u8; 4096]);
        round_trip(vec![String::from("a"); 3]);
        round_trip(Aligned(3));
    }

    #[test]
    fn a_letter_shows_what_it_holds() {
        let mut letter = AnyLetter::new(7_u16);
        assert_eq!(letter.any().downcast_ref(), Some(&7_u16));
        assert_eq!((letter.take::<i16>(), letter.take()), (None, Some(7_u16)));
        let letter = AnyLetter::new([5_u64; 9]);
        assert_eq!(letter.any().downcast_ref(), Some(&[5_u64; 9]));
        assert!(letter.holds::<[u64; 9]>());
    }

    #[test]
    fn what_is_inside_is_dropped_once() {
        let alive = Arc::new(());
        let mut cell = AnyCell::new();
        cell.put(Arc::clone(&alive));
        cell.put((Arc::clone(&alive), [0u64; 30]));
        assert_eq!(Arc::strong_count(&alive), 2);
        drop(cell);
        assert_eq!(Arc::strong_count(&alive), 1);
    }
}
