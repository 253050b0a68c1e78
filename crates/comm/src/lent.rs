//! Numbers of a rank that the others read where they lie.

use crate::Plain;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use smallvec::{SmallVec, smallvec};
use std::any::Any;
use std::cell::RefCell;
use std::ops::{Deref, Range};
use std::sync::Arc;

/// A copy of a rank's numbers that nobody changes as long as anybody may read it.
///
/// It is a copy, since the rank may drop what it waits with, and then its numbers, while others still read.
pub(crate) struct Lent<T>(Arc<Vec<T>>);

/// What one rank has lent in a communicator. Room that nobody reads any more is used again: it is in the rank's
/// cache, and no pages are to be asked for.
#[derive(Default)]
pub(crate) struct Lender {
    /// The oldest first.
    kept: RefCell<SmallVec<[Arc<dyn Any + Send + Sync>; Lender::KEPT]>>,
}

/// The numbers of all ranks, or of neighbours among them, in rank order.
pub(crate) struct Rows<T>(SmallVec<[Lent<T>; 4]>);

impl Lender {
    /// Two: what was brought to a meeting is given back in the next one, and is free in that after it.
    const KEPT: usize = 2;
    /// Longer ones, in bytes, are not kept: where they come from costs little beside what is done with them.
    const LONGEST: usize = 1 << 20;

    /// Lends a copy of these numbers.
    pub(crate) fn lend<T: Plain>(&self, numbers: &[T]) -> Lent<T> {
        if size_of_val(numbers) > Self::LONGEST {
            return Lent(Arc::new(numbers.to_vec()));
        }
        let mut kept = self.kept.borrow_mut();
        for at in 0..kept.len() {
            let room = Arc::get_mut(&mut kept[at]).and_then(|room| room.downcast_mut::<Vec<T>>());
            if let Some(room) = room {
                room.clear();
                room.extend_from_slice(numbers);
                let lent = kept.remove(at);
                kept.push(Arc::clone(&lent));
                return Lent(lent.downcast().expect("it was a vector of these"));
            }
        }
        let lent = Arc::new(numbers.to_vec());
        if kept.len() == Self::KEPT {
            kept.remove(0);
        }
        kept.push(Arc::clone(&lent) as Arc<dyn Any + Send + Sync>);
        Lent(lent)
    }
}

impl<T> Deref for Lent<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T> Rows<T> {
    pub(crate) fn one(row: Lent<T>) -> Self {
        Rows(smallvec![row])
    }

    /// These, and behind them those.
    pub(crate) fn join(mut self, mut right: Self) -> Self {
        self.0.append(&mut right.0);
        self
    }

    /// The rows of ranks 0, 1 ….
    pub(crate) fn iter(&self) -> impl Iterator<Item = &[T]> {
        self.0.iter().map(|row| &**row)
    }

    /// The same range of each row.
    pub(crate) fn cut(&self, range: &Range<usize>) -> SmallVec<[&[T]; 8]> {
        self.iter().map(|row| &row[range.clone()]).collect()
    }
}

impl<T: Serialize> Serialize for Lent<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Lent<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Lent(Arc::new(Vec::deserialize(deserializer)?)))
    }
}

impl<T: Serialize> Serialize for Rows<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(&self.0)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Rows<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::deserialize(deserializer).map(|rows| Rows(SmallVec::from_vec(rows)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_used_again_when_nobody_reads_it() {
        let lender = Lender::default();
        let first = lender.lend(&[1, 2, 3]);
        let place = first.as_ptr();
        let second = lender.lend(&[4; 3]);
        assert_ne!(second.as_ptr(), place, "the first is still read");
        assert_eq!(&*first, [1, 2, 3]);
        drop(first);
        let third = lender.lend(&[5]);
        assert_eq!((third.as_ptr(), &*third), (place, &[5][..]));
        assert_eq!(&*second, [4; 3]);
        // Of another type, and more than are kept: they are made anew.
        let other = lender.lend(&[0.5]);
        assert_eq!((&*other, &*third), (&[0.5][..], &[5][..]));
        assert_eq!(lender.kept.borrow().len(), Lender::KEPT);
        drop((second, third, other));
        assert_eq!(lender.lend(&[1.5]).len(), 1);
    }

    #[test]
    fn long_ones_are_not_kept() {
        let lender = Lender::default();
        let long = vec![1_u8; Lender::LONGEST + 1];
        assert_eq!(&*lender.lend(&long), long);
        assert!(lender.kept.borrow().is_empty());
    }
}
