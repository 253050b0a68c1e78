//! A cell for one value of any type, without an allocation when the value is small.

use std::any::TypeId;
use std::mem::{self, MaybeUninit};
use std::ptr;

/// Room for a value of any `Send` type. A value of up to [`AnyCell::INLINE`] bytes is stored in
/// place, a larger one in a box.
#[repr(C)]
pub(crate) struct AnyCell {
    /// The type of the value and how to drop it; `None` when empty.
    kind: Option<Kind>,
    room: Room,
}

type Kind = (TypeId, unsafe fn(*mut Room));

type Room = MaybeUninit<[u64; AnyCell::INLINE / 8]>;

impl AnyCell {
    pub(crate) const INLINE: usize = 48;

    pub(crate) fn new() -> Self {
        AnyCell {
            kind: None,
            room: MaybeUninit::uninit(),
        }
    }

    const fn fits<T>() -> bool {
        mem::size_of::<T>() <= Self::INLINE && mem::align_of::<T>() <= mem::align_of::<Room>()
    }

    /// Stores `value`; drops what was there.
    #[inline]
    pub(crate) fn put<T: Send + 'static>(&mut self, value: T) {
        self.clear();
        let room: *mut Room = &raw mut self.room;
        if Self::fits::<T>() {
            // SAFETY: the value fits the room in size and alignment, and the room is free.
            unsafe { room.cast::<T>().write(value) };
            // SAFETY: called once, on a room with a T in it.
            self.kind = Some((TypeId::of::<T>(), |room| unsafe {
                ptr::drop_in_place(room.cast::<T>())
            }));
        } else {
            // SAFETY: a box is a pointer, which fits.
            unsafe { room.cast::<Box<T>>().write(Box::new(value)) };
            let drop = |room: *mut Room| {
                // SAFETY: called once, on a room with a Box<T> in it.
                unsafe { ptr::drop_in_place(room.cast::<Box<T>>()) }
            };
            self.kind = Some((TypeId::of::<T>(), drop));
        }
    }

    /// Takes the value out; `None` when the cell is empty or holds another type.
    #[inline]
    pub(crate) fn take<T: Send + 'static>(&mut self) -> Option<T> {
        if !self.holds::<T>() {
            return None;
        }
        self.kind = None;
        let room: *const Room = &raw const self.room;
        if Self::fits::<T>() {
            // SAFETY: a T is there, and `kind` says now that the room is free.
            Some(unsafe { room.cast::<T>().read() })
        } else {
            // SAFETY: as above, for a Box<T>.
            Some(*unsafe { room.cast::<Box<T>>().read() })
        }
    }

    /// Looks at the value. `Sync`, because several threads may look at once.
    #[inline]
    pub(crate) fn get<T: Send + Sync + 'static>(&self) -> Option<&T> {
        if !self.holds::<T>() {
            return None;
        }
        let room: *const Room = &raw const self.room;
        if Self::fits::<T>() {
            // SAFETY: a T is there and is borrowed with self.
            Some(unsafe { &*room.cast::<T>() })
        } else {
            // SAFETY: as above, for a Box<T>.
            Some(unsafe { &*room.cast::<Box<T>>() })
        }
    }

    /// Whether both cells hold values of the same type.
    pub(crate) fn has_type_of(&self, other: &AnyCell) -> bool {
        let kind = |cell: &AnyCell| cell.kind.map(|(kind, _)| kind);
        kind(self).is_some() && kind(self) == kind(other)
    }

    /// Drops the value.
    pub(crate) fn clear(&mut self) {
        if let Some((_, drop)) = self.kind.take() {
            // SAFETY: `kind` said that a value is there; it is forgotten before the drop.
            unsafe { drop(&raw mut self.room) }
        }
    }

    fn holds<T: 'static>(&self) -> bool {
        self.kind.is_some_and(|(kind, _)| kind == TypeId::of::<T>())
    }
}

impl Drop for AnyCell {
    fn drop(&mut self) {
        self.clear();
    }
}

// SAFETY: only Send values are put in.
unsafe impl Send for AnyCell {}
// SAFETY: through a shared reference only `get` reaches the value, which demands Sync.
unsafe impl Sync for AnyCell {}

#[cfg(all(test, not(motet_loom)))]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn round_trip<T: Send + Sync + Clone + PartialEq + std::fmt::Debug + 'static>(value: T) {
        let mut cell = AnyCell::new();
        assert!(cell.get::<T>().is_none());
        cell.put(value.clone());
        assert_eq!(cell.get::<T>(), Some(&value));
        let mut other = AnyCell::new();
        assert!(!cell.has_type_of(&other) && !other.has_type_of(&AnyCell::new()));
        other.put(value.clone());
        assert!(cell.has_type_of(&other));
        other.put(Arc::new(()));
        assert!(!cell.has_type_of(&other));
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
