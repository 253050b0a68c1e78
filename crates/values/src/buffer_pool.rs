//! Buffers with numbers that others read where they lie, or that one other takes with the buffer
//! they are in.
//!
//! A core that fills a buffer waits for each cache line that another core has read last. That takes
//! many times as long as for a line that the core itself has read last. So what has one reader goes
//! to it as a [`PooledBuffer`], and the reader fills that buffer next.

use crate::{Local, Plain};
use motet_sync::Mutex;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use smallvec::{SmallVec, smallvec};
use std::any::Any;
use std::cell::RefCell;
use std::ops::{Deref, Range};
use std::sync::Arc;

/// A copy of somebody's numbers that nobody changes as long as anybody may read it.
///
/// It is a copy, since its owner may drop what it waits with, and then its numbers, while others
/// still read.
#[derive(Debug)]
pub struct SharedBuffer<T>(Arc<Vec<T>>);

/// What one thread has lent. Room that nobody reads any more is used again: it is in the thread's
/// cache, and no pages are to be asked for.
///
/// ```
/// use motet_values::buffer_pool::BufferPool;
///
/// let pool = BufferPool::default();
/// let parcel = pool.pack(&[1.0, 2.0]);
/// let place = parcel.as_ptr();
/// // Its reader gives the room back to its own pool, here the same.
/// pool.keep(parcel);
/// assert_eq!(pool.pack(&[3.0]).as_ptr(), place);
/// ```
#[derive(Debug, Default)]
pub struct BufferPool {
    /// The oldest first.
    kept: RefCell<SmallVec<[Arc<dyn Any + Send + Sync>; BufferPool::KEPT]>>,
    /// Room that came with parcels, the latest last.
    unpacked: RefCell<Vec<Box<dyn Any + Send>>>,
}

/// Room with numbers for one reader, who keeps the room.
#[allow(
    clippy::box_collection,
    reason = "two are to fit into a cell of a collective, and room is kept whatever is in it"
)]
pub type PooledBuffer<T> = Box<Vec<T>>;

/// The numbers of several that have come together, in their order.
#[derive(Debug)]
pub struct SharedRows<T>(SmallVec<[SharedBuffer<T>; 4]>);

impl BufferPool {
    /// Two of each kind: what was brought to one meeting is given back in the next one, and is
    /// free in that after it.
    const KEPT: usize = 4;
    /// So many rooms of parcels are kept.
    const UNPACKED: usize = 64;
    /// Longer ones, in bytes, are not kept: where they come from costs little beside what is done
    /// with them.
    pub const LONGEST: usize = 1 << 20;

    /// Lends a copy of these numbers.
    pub fn copy_in<T: Plain>(&self, numbers: &[T]) -> SharedBuffer<T> {
        if size_of_val(numbers) > Self::LONGEST {
            return SharedBuffer(Arc::new(numbers.to_vec()));
        }
        let mut kept = self.kept.borrow_mut();
        for at in 0..kept.len() {
            let free = Arc::get_mut(&mut kept[at]).and_then(|room| room.downcast_mut::<Vec<T>>());
            if let Some(room) = free {
                room.clear();
                room.extend_from_slice(numbers);
                let shared = kept.remove(at);
                kept.push(Arc::clone(&shared));
                return SharedBuffer(shared.downcast().expect("it was a buffer of this type"));
            }
        }
        let shared = Arc::new(numbers.to_vec());
        if kept.len() == Self::KEPT {
            kept.remove(0);
        }
        kept.push(Arc::clone(&shared) as Arc<dyn Any + Send + Sync>);
        SharedBuffer(shared)
    }

    /// A copy of these numbers for one reader.
    pub fn pack<T: Plain>(&self, numbers: &[T]) -> PooledBuffer<T> {
        let mut unpacked = self.unpacked.borrow_mut();
        let fits = unpacked.iter().rposition(|room| room.is::<Vec<T>>());
        let room = fits.map(|at| unpacked.remove(at).downcast::<Vec<T>>());
        match room {
            Some(Ok(mut room)) => {
                room.clear();
                room.extend_from_slice(numbers);
                room
            }
            _ => Box::new(numbers.to_vec()),
        }
    }

    /// Room for so many numbers, whatever they are.
    pub fn room<T: Plain>(&self, length: usize) -> PooledBuffer<T> {
        let mut room = self.pack(&[]);
        room.resize(length, T::zeroed());
        room
    }

    /// Keeps the room of a parcel that has been read.
    pub fn keep<T: Plain>(&self, parcel: PooledBuffer<T>) {
        if size_of_val(&parcel[..]) > Self::LONGEST {
            return;
        }
        let mut unpacked = self.unpacked.borrow_mut();
        if unpacked.len() == Self::UNPACKED {
            unpacked.remove(0);
        }
        unpacked.push(parcel);
    }

    /// Packs the parts of each of so many readers, but for the own one.
    ///
    /// # Panics
    /// A part does not lie in the numbers.
    pub fn pack_each<T: Plain>(
        &self,
        own: usize,
        readers: usize,
        numbers: &[T],
        part: impl Fn(usize) -> Range<usize>,
    ) -> Local<PooledBuffers<T>> {
        let parcel = |of| (of != own).then(|| self.pack(&numbers[part(of)]));
        let row = (0..readers).map(|of| Mutex::new(parcel(of)));
        Local(PooledBuffers(smallvec![row.collect()]))
    }
}

/// What each has for each other: a row of parcels of each.
#[derive(Debug)]
pub struct PooledBuffers<T>(SmallVec<[ParcelRow<T>; 2]>);

type ParcelRow<T> = Box<[Mutex<Option<PooledBuffer<T>>>]>;

impl<T: Plain> PooledBuffers<T> {
    /// Bytes of the shortest part that is worth a parcel.
    const SHORTEST: usize = 512;

    /// Whether parts of so many elements are worth a parcel each.
    pub fn are_worth(length: usize) -> bool {
        length * size_of::<T>() >= Self::SHORTEST
    }

    /// These, and behind them those.
    pub fn join(left: Local<Self>, right: Local<Self>) -> Local<Self> {
        let (Local(mut left), Local(mut right)) = (left, right);
        left.0.append(&mut right.0);
        Local(left)
    }

    /// Takes what number `of` has for number `to`, if it has something, once.
    ///
    /// # Panics
    /// There is no such number.
    pub fn take(&self, of: usize, to: usize) -> Option<PooledBuffer<T>> {
        self.0[of][to].lock().take()
    }
}

impl<T> Deref for SharedBuffer<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T> SharedRows<T> {
    /// One row.
    pub fn one(row: SharedBuffer<T>) -> Self {
        SharedRows(smallvec![row])
    }

    /// These, and behind them those.
    pub fn join(mut self, mut right: Self) -> Self {
        self.0.append(&mut right.0);
        self
    }

    /// The rows, in their order.
    pub fn iter(&self) -> impl Iterator<Item = &[T]> {
        self.0.iter().map(|row| &**row)
    }
}

impl<T: Serialize> Serialize for SharedBuffer<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for SharedBuffer<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(SharedBuffer(Arc::new(Vec::deserialize(deserializer)?)))
    }
}

impl<T: Serialize> Serialize for SharedRows<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(&self.0)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for SharedRows<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::deserialize(deserializer).map(|rows| SharedRows(SmallVec::from_vec(rows)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_used_again_when_nobody_reads_it() {
        let buffer_pool = BufferPool::default();
        let first = buffer_pool.copy_in(&[1, 2, 3]);
        let place = first.as_ptr();
        let second = buffer_pool.copy_in(&[4; 3]);
        assert_ne!(second.as_ptr(), place, "the first is still read");
        assert_eq!(&*first, [1, 2, 3]);
        drop(first);
        let third = buffer_pool.copy_in(&[5]);
        assert_eq!((third.as_ptr(), &*third), (place, &[5][..]));
        assert_eq!(&*second, [4; 3]);
        // Of another type: it is made anew, and so are more than are kept.
        let other = buffer_pool.copy_in(&[0.5]);
        assert_eq!((&*other, &*third), (&[0.5][..], &[5][..]));
        let more = [1.5, 2.5, 3.5].map(|number| buffer_pool.copy_in(&[number]));
        assert_eq!(more.map(|shared| shared[0]), [1.5, 2.5, 3.5]);
        assert_eq!(buffer_pool.kept.borrow().len(), BufferPool::KEPT);
        drop((second, third, other));
        assert_eq!(buffer_pool.copy_in(&[1.5]).len(), 1);
    }

    #[test]
    fn the_room_of_a_parcel_is_its_readers() {
        let pools = [BufferPool::default(), BufferPool::default()];
        let rows: [[u32; 3]; 2] = [[9, 1, 1], [4, 5, 9]];
        let parts = [[0..1, 1..3], [0..2, 2..3]];
        let pack =
            |own: usize| pools[own].pack_each(own, 2, &rows[own], |of| parts[own][of].clone());
        let Local(parcels) = PooledBuffers::join(pack(0), pack(1));
        let [at_0, at_1] = [(1, 0), (0, 1)].map(|(of, to)| parcels.take(of, to).unwrap());
        assert_eq!((&at_0[..], &at_1[..]), (&[4, 5][..], &[1, 1][..]));
        assert!(parcels.take(0, 0).is_none() && parcels.take(1, 0).is_none());
        let place = at_0.as_ptr();
        pools[0].keep(at_0);
        // Of another type: it is made anew, and the room stays.
        assert_eq!(pools[0].pack(&[0.5])[..], [0.5]);
        let next = pools[0].pack(&[7, 8]);
        assert_eq!((next.as_ptr(), &next[..]), (place, &[7, 8][..]));
        for _ in 0..3 {
            pools[1].keep(pools[1].pack(&[1_u8; 9]));
            pools[1].keep(Box::new(vec![2_u8]));
        }
        assert!(pools[1].unpacked.borrow().len() <= 4, "room is used again");
    }

    #[test]
    fn long_ones_are_not_kept() {
        let buffer_pool = BufferPool::default();
        let long = vec![1_u8; BufferPool::LONGEST + 1];
        assert_eq!(&*buffer_pool.copy_in(&long), long);
        buffer_pool.keep(buffer_pool.pack(&long));
        assert!(buffer_pool.kept.borrow().is_empty() && buffer_pool.unpacked.borrow().is_empty());
    }
}
