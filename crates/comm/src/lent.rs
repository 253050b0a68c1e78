//! Numbers of a rank that the others read where they lie, or that one other takes with the room they are in.
//!
//! Whoever fills a room whose lines another core has read last waits for each line, many times as long as for one that the
//! core itself has read last, or that the other has written to. So what has one reader goes to it as a [`Parcel`], and the
//! reader fills the room next; or, where all goes one way, it writes something to each line of a [`Loan`].

use crate::{Local, Plain};
use motet_sync::Mutex;
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
    /// Room that came with parcels, the latest last.
    unpacked: RefCell<Vec<Box<dyn Any + Send>>>,
}

/// Room with numbers for one reader, who keeps the room.
#[allow(
    clippy::box_collection,
    reason = "two are to fit into a cell of a meeting, and room is kept whatever is in it"
)]
pub(crate) type Parcel<T> = Box<Vec<T>>;

/// What the two sides of a meeting have for each other, as far as they have come.
#[derive(Serialize, Deserialize)]
pub(crate) struct Swap<T>([Option<Parcel<T>>; 2]);

/// The same when all have come: each side takes what the other had for it.
pub(crate) struct Swapped<T>([Mutex<Option<Parcel<T>>>; 2]);

/// The numbers of all ranks, or of neighbours among them, in rank order.
pub(crate) struct Rows<T>(SmallVec<[Lent<T>; 4]>);

impl Lender {
    /// Two of each kind: what was brought to a meeting is given back in the next one, and is free in that after it.
    const KEPT: usize = 4;
    /// So many rooms of parcels are kept.
    const UNPACKED: usize = 64;
    /// Longer ones, in bytes, are not kept: where they come from costs little beside what is done with them.
    pub(crate) const LONGEST: usize = 1 << 20;

    /// Lends a copy of these numbers.
    pub(crate) fn lend<T: Plain>(&self, numbers: &[T]) -> Lent<T> {
        if size_of_val(numbers) > Self::LONGEST {
            return Lent(Arc::new(numbers.to_vec()));
        }
        Lent(self.filled(|room: &mut Vec<T>| {
            room.clear();
            room.extend_from_slice(numbers);
        }))
    }

    /// Lends a copy of these numbers to so many readers on another core; the last one gives the room back.
    pub(crate) fn loan<T: Plain>(&self, numbers: &[T], readers: usize) -> Loan<T> {
        if size_of_val(numbers) > Self::LONGEST {
            let numbers = numbers.to_vec();
            return Loan(Arc::new(Mutex::new(Lease { numbers, readers })));
        }
        Loan(self.filled(|lease: &mut Mutex<Lease<T>>| {
            let mut lease = lease.lock();
            lease.readers = readers;
            lease.numbers.clear();
            lease.numbers.extend_from_slice(numbers);
        }))
    }

    /// Room of this kind that nobody reads, filled anew.
    fn filled<R: Any + Send + Sync + Default>(&self, fill: impl FnOnce(&mut R)) -> Arc<R> {
        let mut kept = self.kept.borrow_mut();
        for at in 0..kept.len() {
            let room = Arc::get_mut(&mut kept[at]).and_then(|room| room.downcast_mut::<R>());
            if let Some(room) = room {
                fill(room);
                let lent = kept.remove(at);
                kept.push(Arc::clone(&lent));
                return lent.downcast().expect("it was room of this kind");
            }
        }
        let mut room = R::default();
        fill(&mut room);
        let lent = Arc::new(room);
        if kept.len() == Self::KEPT {
            kept.remove(0);
        }
        kept.push(Arc::clone(&lent) as Arc<dyn Any + Send + Sync>);
        lent
    }

    /// A copy of these numbers for one reader.
    pub(crate) fn pack<T: Plain>(&self, numbers: &[T]) -> Parcel<T> {
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
    pub(crate) fn room<T: Plain>(&self, length: usize) -> Parcel<T> {
        let mut room = self.pack(&[]);
        room.resize(length, T::zeroed());
        room
    }

    /// Keeps the room of a parcel that has been read.
    pub(crate) fn keep<T: Plain>(&self, parcel: Parcel<T>) {
        if size_of_val(&parcel[..]) > Self::LONGEST {
            return;
        }
        let mut unpacked = self.unpacked.borrow_mut();
        if unpacked.len() == Self::UNPACKED {
            unpacked.remove(0);
        }
        unpacked.push(parcel);
    }

    /// Packs the parts of each of `ranks` ranks, but for this rank's own.
    pub(crate) fn pack_each<T: Plain>(
        &self,
        own: usize,
        ranks: usize,
        numbers: &[T],
        part: impl Fn(usize) -> Range<usize>,
    ) -> Local<Parcels<T>> {
        let parcel = |of| (of != own).then(|| self.pack(&numbers[part(of)]));
        let row = (0..ranks).map(|of| Mutex::new(parcel(of)));
        Local(Parcels(smallvec![row.collect()]))
    }
}

/// Room that goes back to who has filled it. It has one reader at a time: they take turns on one thread.
pub(crate) struct Loan<T>(Arc<Mutex<Lease<T>>>);

struct Lease<T> {
    numbers: Vec<T>,
    /// Those that have not read it.
    readers: usize,
}

/// What each rank has for each other: a row of parcels of each.
pub(crate) struct Parcels<T>(SmallVec<[ParcelRow<T>; 2]>);

type ParcelRow<T> = Box<[Mutex<Option<Parcel<T>>>]>;

impl<T: Plain> Parcels<T> {
    /// Bytes of the shortest part that is worth a parcel.
    const SHORTEST: usize = 512;

    /// Whether parts of so many elements are worth a parcel each.
    pub(crate) fn are_worth(length: usize) -> bool {
        length * size_of::<T>() >= Self::SHORTEST
    }

    /// These, and behind them those.
    pub(crate) fn join(left: Local<Self>, right: Local<Self>) -> Local<Self> {
        let (Local(mut left), Local(mut right)) = (left, right);
        left.0.append(&mut right.0);
        Local(left)
    }

    /// Takes what this rank has for that one, if it has something, once.
    pub(crate) fn take(&self, of: usize, to: usize) -> Option<Parcel<T>> {
        self.0[of][to].lock().take()
    }
}

impl<T: Plain> Loan<T> {
    /// Elements of which one lies in each cache line.
    const STEP: usize = 64usize.div_ceil(size_of::<T>());

    /// Reads the numbers. The last reader gives their room back: what is in it is not theirs any more.
    pub(crate) fn take<R>(&self, read: impl FnOnce(&[T]) -> R) -> R {
        let mut lease = self.0.lock();
        let Lease { numbers, readers } = &mut *lease;
        let outcome = read(numbers);
        *readers = readers.saturating_sub(1);
        if *readers == 0
            && let Some(&any) = numbers.first()
        {
            // See the module doc: whoever fills the room next finds lines that were written last.
            numbers
                .iter_mut()
                .step_by(Self::STEP)
                .for_each(|number| *number = any);
        }
        outcome
    }
}

impl<T> Default for Lease<T> {
    fn default() -> Self {
        Lease {
            numbers: Vec::new(),
            readers: 0,
        }
    }
}

impl<T> Swap<T> {
    /// What this side has for the other.
    pub(crate) fn of(side: usize, parcel: Parcel<T>) -> Self {
        let mut parcels = [None, None];
        parcels[side] = Some(parcel);
        Swap(parcels)
    }

    /// A side that has nothing.
    pub(crate) fn empty() -> Self {
        Swap([None, None])
    }

    /// What both sides have.
    pub(crate) fn join(self, other: Self) -> Self {
        let (Swap([low, high]), Swap([other_low, other_high])) = (self, other);
        Swap([low.or(other_low), high.or(other_high)])
    }

    /// Lays it out.
    pub(crate) fn lay(self) -> Swapped<T> {
        Swapped(self.0.map(Mutex::new))
    }
}

impl<T> Swapped<T> {
    /// Takes what the other side had for this one, once.
    pub(crate) fn take(&self, side: usize) -> Parcel<T> {
        let parcel = self.pick(side);
        parcel.expect("each side brings a parcel, and takes one")
    }

    /// The same, if there is something, and nobody has taken it.
    pub(crate) fn pick(&self, side: usize) -> Option<Parcel<T>> {
        self.0[1 - side].lock().take()
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
        // Of another type: it is made anew, and so are more than are kept.
        let other = lender.lend(&[0.5]);
        assert_eq!((&*other, &*third), (&[0.5][..], &[5][..]));
        let more = [1.5, 2.5, 3.5].map(|number| lender.lend(&[number]));
        assert_eq!(more.map(|lent| lent[0]), [1.5, 2.5, 3.5]);
        assert_eq!(lender.kept.borrow().len(), Lender::KEPT);
        drop((second, third, other));
        assert_eq!(lender.lend(&[1.5]).len(), 1);
    }

    #[test]
    fn the_room_of_a_parcel_is_its_readers() {
        let lenders = [Lender::default(), Lender::default()];
        let swap = Swap::of(1, lenders[1].pack(&[4, 5])).join(Swap::of(0, lenders[0].pack(&[1])));
        let swapped = swap.lay();
        let [at_0, at_1] = [0, 1].map(|side| swapped.take(side));
        assert_eq!((&at_0[..], &at_1[..]), (&[4, 5][..], &[1][..]));
        let place = at_0.as_ptr();
        lenders[0].keep(at_0);
        // Of another type: it is made anew, and the room stays.
        assert_eq!(lenders[0].pack(&[0.5])[..], [0.5]);
        let next = lenders[0].pack(&[7, 8]);
        assert_eq!((next.as_ptr(), &next[..]), (place, &[7, 8][..]));
        for _ in 0..3 {
            lenders[1].keep(lenders[1].pack(&[1_u8; 9]));
            lenders[1].keep(Box::new(vec![2_u8]));
        }
        assert!(
            lenders[1].unpacked.borrow().len() <= 4,
            "room is used again"
        );
    }

    #[test]
    fn the_room_of_a_loan_comes_back() {
        let lender = Lender::default();
        let numbers: Vec<u16> = (0..100).collect();
        let first = lender.loan(&numbers, 1);
        let place = first.take(|came| {
            assert_eq!(came, numbers);
            came.as_ptr()
        });
        let second = lender.loan(&[3_u16], 1);
        assert_ne!(
            second.take(<[u16]>::as_ptr),
            place,
            "the first is still lent"
        );
        drop(first);
        let third = lender.loan(&numbers[..99], 2);
        // The numbers are there for the last of the readers, and not after it.
        for _ in 0..2 {
            assert_eq!(third.take(<[u16]>::as_ptr), place);
        }
        third.take(|came| assert!(came.iter().step_by(32).all(|number| *number == 0)));
        assert_eq!(lender.loan::<u8>(&[], 1).take(<[u8]>::len), 0);
        second.take(|came| assert_eq!(came, [3]));
    }

    #[test]
    fn long_ones_are_not_kept() {
        let lender = Lender::default();
        let long = vec![1_u8; Lender::LONGEST + 1];
        assert_eq!(&*lender.lend(&long), long);
        lender.loan(&long, 1).take(|came| assert!(came == long));
        lender.keep(lender.pack(&long));
        assert!(lender.kept.borrow().is_empty() && lender.unpacked.borrow().is_empty());
    }
}
