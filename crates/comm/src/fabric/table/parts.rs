//! Ranks of one thread that have something for each other and for those of another thread: all to all.
//!
//! ```text
//!  thread 0:  0, 1 ─┬─► room ───────────► 0, 1
//!                   └─► packet ─┐    ┌──► 0, 1
//!  thread 1:  2, 3 ─┬─► packet ─┼────┘
//!                   │           └───────► 2, 3
//!                   └─► room ───────────► 2, 3
//! ```
//!
//! What is for this thread lies in a room, what is for the other one goes there in one packet; in both the parts of each rank
//! stand together, in the order of those that they are for.

use super::{Table, of_type};
use crate::Plain;
use crate::lent::{Lender, Parcel};
use std::mem;

/// What the ranks of a table bring, and room that is used again.
struct Brought<T> {
    near: Vec<T>,
    far: Option<Parcel<T>>,
}

/// What they read.
struct Lies<T> {
    near: Vec<T>,
    far: Option<Parcel<T>>,
}

impl Table {
    /// A rank has come to a meeting with as many numbers for each. The last one gets what all here have for the other side.
    pub(crate) fn gather_parts<T: Plain>(
        &self,
        meeting: u32,
        rank: usize,
        numbers: &[T],
    ) -> Option<Parcel<T>> {
        let mut state = self.state.lock();
        let came = state.count_in(meeting);
        let brought: &mut Brought<T> = of_type(&mut state.gathered);
        let (here, there) = (self.members.len(), self.others.len());
        let (place, each) = (self.place(rank), numbers.len() / (here + there));
        brought.near.resize(here * here * each, T::zeroed());
        for (at, &to) in self
            .members
            .iter()
            .enumerate()
            .filter(|(at, _)| *at != place)
        {
            part(&mut brought.near, place * here + at, each)
                .copy_from_slice(&numbers[to * each..][..each]);
        }
        if self.alone {
            return None;
        }
        let far = brought.far.get_or_insert_default();
        far.resize(here * there * each, T::zeroed());
        for (at, &to) in self.others.iter().enumerate() {
            part(far, place * there + at, each).copy_from_slice(&numbers[to * each..][..each]);
        }
        (came == here).then(|| mem::take(far))
    }

    /// A rank, which has brought these numbers, reads what a meeting that has taken place has for it. The first one gets what
    /// has come from the other side, if there is one.
    pub(crate) fn read_parts<T: Plain>(
        &self,
        meeting: u32,
        (rank, came): (usize, Option<Parcel<T>>),
        numbers: &[T],
        into: &mut [T],
    ) {
        let mut state = self.state.lock();
        let state = &mut *state;
        let long = size_of_val(numbers) > Lender::LONGEST;
        let lies: &mut Lies<T> = of_type(&mut state.total);
        if state.laid != Some(meeting) {
            let brought: &mut Brought<T> = of_type(&mut state.gathered);
            mem::swap(&mut brought.near, &mut lies.near);
            // All here have read what came before.
            brought.far = mem::replace(&mut lies.far, came);
            if long {
                state.gathered = None;
            }
            state.laid = Some(meeting);
            state.to_read = self.members.len();
        }
        let (here, there) = (self.members.len(), self.others.len());
        let (place, each) = (self.place(rank), numbers.len() / (here + there));
        for (at, &of) in self.members.iter().enumerate() {
            let brought = match at == place {
                true => &numbers[of * each..][..each],
                false => &lies.near[(at * here + place) * each..][..each],
            };
            part(into, of, each).copy_from_slice(brought);
        }
        if let Some(far) = &lies.far {
            for (at, &of) in self.others.iter().enumerate() {
                part(into, of, each).copy_from_slice(&far[(at * here + place) * each..][..each]);
            }
        }
        state.to_read -= 1;
        if state.to_read == 0 && long {
            state.total = None;
        }
    }

    /// Which of the ranks here it is.
    fn place(&self, rank: usize) -> usize {
        let place = self.members.binary_search(&rank);
        place.expect("only ranks of the table come to it")
    }
}

/// Part `at` of so many numbers each.
fn part<T>(numbers: &mut [T], at: usize, each: usize) -> &mut [T] {
    &mut numbers[at * each..][..each]
}

impl<T> Default for Brought<T> {
    fn default() -> Self {
        Brought {
            near: Vec::new(),
            far: None,
        }
    }
}

impl<T> Default for Lies<T> {
    fn default() -> Self {
        Lies {
            near: Vec::new(),
            far: None,
        }
    }
}

#[cfg(all(test, not(motet_loom)))]
mod tests {
    use super::super::Tables;
    use super::*;
    use crate::lent::Swap;

    /// What a rank has for each of `all` in a meeting, and what comes to it.
    fn parts(rank: usize, all: usize, each: usize, number: u32) -> Vec<u32> {
        let of = |to: usize| {
            (0..each).map(move |at| number * 1000 + (rank * all + to * each + at) as u32)
        };
        (0..all).flat_map(of).collect()
    }

    #[test]
    fn everyone_gets_what_everyone_has_for_it_whoever_runs_ahead() {
        for homes in [
            vec![0, 0, 0],
            vec![0, 1, 0, 1, 1],
            vec![3, 3, 1],
            vec![1, 0, 0, 0],
        ] {
            let (all, each) = (homes.len(), 2);
            let tables = Tables::new(homes.iter().copied());
            let expected = |rank: usize, number: u32| -> Vec<u32> {
                let of = |of: usize| parts(of, all, each, number)[rank * each..][..each].to_vec();
                (0..all).flat_map(of).collect()
            };
            let come = |rank: usize, number: u32, swap: Swap<u32>| {
                let table = tables.of(homes[rank]);
                let packet = table.gather_parts(number, rank, &parts(rank, all, each, number));
                swap.join(packet.map_or_else(Swap::empty, |it| Swap::of(table.side(), it)))
            };
            let mut swap = (0..all).fold(Swap::empty(), |swap, rank| come(rank, 1, swap));
            for number in 1..9 {
                let (swapped, mut next) = (swap.lay(), Swap::empty());
                // Each reads, and comes to the next meeting before the others read.
                for at in 0..all {
                    let rank = (at + number as usize) % all;
                    let table = tables.of(homes[rank]);
                    let came = (!table.has_total(number)).then(|| swapped.pick(table.side()));
                    let (mine, mut into) = (parts(rank, all, each, number), vec![0; all * each]);
                    table.read_parts(number, (rank, came.flatten()), &mine, &mut into);
                    assert_eq!(into, expected(rank, number), "{homes:?} {number}");
                    if number == 4 && at == 0 {
                        // A meeting that fails: not all come to it, with other numbers.
                        table.gather_parts(99, rank, &vec![1_u32; 5 * all]);
                        table.gather_parts(98, rank, &vec![1_u8; 7 * all]);
                    }
                    next = come(rank, number + 1, next);
                }
                swap = next;
            }
        }
    }

    #[test]
    fn room_for_long_parts_is_not_kept() {
        let tables = Tables::new([0, 0].into_iter());
        let long = vec![1_u8; Lender::LONGEST + 2];
        (0..2).for_each(|rank| assert!(tables.of(0).gather_parts(1, rank, &long).is_none()));
        for rank in [1, 0] {
            let mut into = vec![0; long.len()];
            tables.of(0).read_parts(1, (rank, None), &long, &mut into);
            assert_eq!(into, long);
        }
        let state = tables.of(0).state.lock();
        assert!(state.gathered.is_none() && state.total.is_none());
    }
}
