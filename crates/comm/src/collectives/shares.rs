//! Long vectors that the ranks of a process combine together: each its share of the places.

use crate::buffer_pool::{PooledBuffer, PooledBuffers, SharedRows};
use crate::collective_part::CollectivePart;
use crate::fabric::{MeetingPoint, RankCall};
use crate::pending::{Either, PendingCall, Then};
use crate::{CommError, Communicator, Local, Plain};
use smallvec::SmallVec;
use std::ops::Range;

impl Communicator {
    /// Whether vectors of so many elements are combined in shares.
    pub(super) fn combines_in_shares<T: Plain>(&self, length: usize) -> bool {
        matches!(self.team().place(), Some(MeetingPoint::Tree(_)))
            && PooledBuffers::<T>::are_worth(length / self.size())
    }

    /// Combines the numbers of all ranks, place by place, into `totals` of every rank. `fold`
    /// combines the same places of all ranks, in rank order.
    ///
    /// Everyone reads its share of the places from all, then the totals of the others' shares: the
    /// ranks meet twice.
    pub(super) fn combined_in_shares<'c, T: Plain>(
        &'c self,
        call: RankCall,
        numbers: &[T],
        totals: &'c mut [T],
        fold: impl Fn(&[&[T]], &mut [T]) + 'c,
    ) -> impl PendingCall<Output = Result<(), CommError>> {
        let (rank, size, length) = (self.rank(), self.size(), numbers.len());
        let share = share::<T>(length, size);
        let mine = part(rank, share, length);
        let of = |rank| part(rank, share, length);
        let value = super::allreduce::same_length(call.name(), length, totals.len())
            .map(|()| self.buffer_pool().pack_each(rank, size, numbers, of));
        let place = mine.clone();
        let read = move |Local(parcels): &Local<PooledBuffers<T>>| {
            let came = (0..size).map(|of| parcels.take(of, rank));
            let came: SmallVec<[Option<PooledBuffer<T>>; 8]> = came.collect();
            let own = &numbers[place.clone()];
            let rows = came.iter();
            let rows: SmallVec<[&[T]; 8]> = rows
                .map(|row| row.as_ref().map_or(own, |row| &row[..]))
                .collect();
            fold(&rows, &mut totals[place]);
            drop(rows);
            let came = came.into_iter().flatten();
            came.for_each(|row| self.buffer_pool().keep(row));
            Ok(totals)
        };
        let call = call.length(length);
        let first = CollectivePart::new(
            self,
            call,
            value,
            PooledBuffers::join,
            |parcels| parcels,
            read,
        );
        Then::new(first, move |totals: &'c mut [T]| {
            if mine.len() == length {
                return Either::One(());
            }
            let value = SharedRows::one(self.buffer_pool().copy_in(&totals[mine]));
            let read = move |rows: &SharedRows<T>| {
                let parts = totals.chunks_mut(share).zip(rows.iter()).enumerate();
                for (_, (to, part)) in parts.filter(|(of, _)| *of != rank) {
                    to.copy_from_slice(part);
                }
                Ok(())
            };
            Either::Other(CollectivePart::new(
                self,
                call,
                Ok(value),
                SharedRows::join,
                |rows| rows,
                read,
            ))
        })
    }
}

/// The length of each share, but for the last ones: whole cache lines.
fn share<T>(length: usize, ranks: usize) -> usize {
    let line = (64 / size_of::<T>()).max(1);
    length.div_ceil(ranks).next_multiple_of(line)
}

/// The share of a rank; empty for the last ones, if the others have taken all.
fn part(rank: usize, share: usize, length: usize) -> Range<usize> {
    let at = |rank: usize| (rank * share).min(length);
    at(rank)..at(rank + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_cover_all_places_once() {
        for (length, ranks) in [(0, 3), (1, 3), (64, 3), (4096, 8), (4097, 8), (1000, 300)] {
            let share = share::<f64>(length, ranks).max(1);
            let parts = (0..ranks).map(|rank| part(rank, share, length));
            let places: Vec<usize> = parts.flatten().collect();
            assert_eq!(places, (0..length).collect::<Vec<_>>(), "{length} {ranks}");
        }
    }
}
