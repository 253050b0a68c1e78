//! Where two ranks meet that only meet: none of them brings anything, and nothing is made of it.
//!
//! Each shows what it has called and the number of the collective in a line of its own. It waits
//! until the line of the other one shows that number. So nobody counts, nobody is the last, and
//! between the cores goes one line each way:
//!
//! ```text
//!  rank 0: show 7 ─► look for 7 of rank 1 ─► met          rank 1: show 7 ─► look for 7 of rank 0 ─► met
//! ```
//!
//! A rank has a line for collectives with even numbers and one for those with odd ones. It writes
//! the line of a collective before it shows the number, and again when it comes to the collective
//! after the next. By then the other one has come to the next, and so has read this one.

use super::call::{CollectiveArrival, RankCall, mismatch};
use crate::CommError;
use motet_sync::CachePadded;
use motet_sync::atomic::{AtomicU32, Ordering};
use motet_sync::cell::UnsafeCell;

#[derive(Default)]
pub(super) struct FlagBarrier {
    /// By rank, then by the number of the collective, even or odd.
    lines: [CachePadded<[Line; 2]>; 2],
    /// The last collective to which one came with a value and the other without.
    disagreed: AtomicU32,
}

/// What a rank shows. A cache line.
#[repr(C, align(64))]
struct Line {
    number: AtomicU32,
    /// Nobody reads it: see [`FlagBarrier::prepare_next`].
    prepared: AtomicU32,
    call: UnsafeCell<Option<RankCall>>,
}

// SAFETY: the module doc says who touches which line when; the numbers order it.
unsafe impl Sync for FlagBarrier {}

impl FlagBarrier {
    /// Shows that a rank has come.
    ///
    /// # Safety
    /// Each rank comes once per collective, and again only when that has taken place and it has
    /// [agreed](FlagBarrier::agreed).
    #[inline]
    pub(super) unsafe fn show(&self, arrival: &CollectiveArrival) {
        let line = self.line(arrival.rank, arrival.number);
        // SAFETY: nobody reads it any more, or yet.
        line.call
            .with_mut(|call| unsafe { *call = Some(arrival.call) });
        // Release: shows the call.
        line.number.store(arrival.number, Ordering::Release);
    }

    /// Whether the other one has come to the same collective, and only meets too.
    #[inline]
    pub(super) fn has_come(&self, arrival: &CollectiveArrival) -> bool {
        let line = self.line(1 - arrival.rank, arrival.number);
        line.number.load(Ordering::Acquire) == arrival.number
    }

    /// Makes the line that this rank shows next its core's own, while it waits for the other one.
    /// Otherwise it would wait for that line when the other one has come. (The other one has it
    /// still from the last collective but one.)
    #[inline]
    pub(super) fn prepare_next(&self, arrival: &CollectiveArrival) {
        let line = self.line(arrival.rank, arrival.number.wrapping_add(1));
        line.prepared.store(arrival.number, Ordering::Relaxed);
    }

    /// What the other one has called.
    ///
    /// # Safety
    /// The calling rank saw that the other one [has come](FlagBarrier::has_come), and has not come
    /// to the next collective.
    #[inline]
    pub(super) unsafe fn others_call(&self, arrival: &CollectiveArrival) -> RankCall {
        let line = self.line(1 - arrival.rank, arrival.number);
        // SAFETY: the other one writes it again when this rank has come to the next collective.
        let call = line.call.with(|call| unsafe { *call });
        call.expect("who has come has called something")
    }

    /// Whether both have called the same.
    ///
    /// # Safety
    /// As [`FlagBarrier::others_call`].
    #[inline]
    pub(super) unsafe fn agreed(&self, arrival: &CollectiveArrival) -> Result<(), CommError> {
        // SAFETY: the caller promises it.
        let theirs = unsafe { self.others_call(arrival) };
        let (ranks, [one, other]) = in_order(arrival, &theirs);
        mismatch(ranks, one, other).map_or(Ok(()), |failed| Err(*failed))
    }

    /// Whether this rank is the first to say that one has come with a value and the other without.
    pub(super) fn is_first_to_disagree(&self, number: u32) -> bool {
        // Relaxed: who is not the first does nothing more.
        self.disagreed.swap(number, Ordering::Relaxed) != number
    }

    #[inline]
    fn line(&self, rank: usize, number: u32) -> &Line {
        &self.lines[rank][number as usize % 2]
    }
}

/// The two ranks, and what they have called.
#[inline]
pub(super) fn in_order<'c>(
    mine: &'c CollectiveArrival,
    theirs: &'c RankCall,
) -> ([usize; 2], [&'c RankCall; 2]) {
    let calls = match mine.rank {
        0 => [&mine.call, theirs],
        _ => [theirs, &mine.call],
    };
    ([0, 1], calls)
}

impl Default for Line {
    fn default() -> Self {
        Line {
            number: AtomicU32::new(0),
            prepared: AtomicU32::new(0),
            call: UnsafeCell::new(None),
        }
    }
}

#[cfg(all(test, not(motet_loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_rank_shows_one_cache_line() {
        assert_eq!(size_of::<Line>(), 64);
    }
}

#[cfg(all(test, motet_loom))]
mod loom_tests {
    use super::super::any_cell::AnyCell;
    use super::super::combining_tree::CombiningTree;
    use super::super::operators::TypedOperators;
    use super::*;
    use motet_sync::{Arc, thread};
    use std::panic::Location;

    /// Comes to a collective, with a value or without, waits for it and reads the total, which is
    /// then 0.
    fn meet(
        collective: &CombiningTree,
        (rank, number): (usize, u32),
        value: Option<u32>,
    ) -> Result<u32, CommError> {
        let location = Location::caller();
        let call = match value {
            Some(_) => RankCall::new::<u32>("allreduce", location),
            None => RankCall::bare("barrier", location),
        };
        let arrival = CollectiveArrival { rank, number, call };
        let mut add = TypedOperators::new(|a: u32, b: u32| a + b, |total: u32| total);
        let mut nothing = TypedOperators::new(|(), ()| (), |()| ());
        // SAFETY: one arrival per collective, after the total of the last was read.
        match value {
            Some(value) => unsafe { collective.arrive(&arrival, AnyCell::with(value), &mut add) },
            None => unsafe { collective.arrive(&arrival, AnyCell::with(()), &mut nothing) },
        };
        while !collective.has_taken_place(&arrival) {
            thread::yield_now();
        }
        let mut read = 0;
        let mut look = |total: &AnyCell| match value {
            Some(_) => read = *total.get::<u32>().unwrap(),
            None => assert!(total.holds::<()>()),
        };
        // SAFETY: the collective has taken place.
        unsafe { collective.read(&arrival, &mut look) }.map(|()| read)
    }

    /// Both ranks do the same, each on a thread.
    fn both(act: impl Fn(&CombiningTree, usize) + Send + Sync + Copy + 'static) {
        let collective = Arc::new(CombiningTree::new(2));
        let other = thread::spawn({
            let collective = Arc::clone(&collective);
            move || act(&collective, 1)
        });
        act(&collective, 0);
        other.join().unwrap();
    }

    /// What a rank writes before it comes the other one reads after it.
    #[test]
    fn loom_two_that_only_meet() {
        loom::model(|| {
            let written = Arc::new([(); 2].map(|()| UnsafeCell::new(0)));
            let others = Arc::clone(&written);
            let collective = Arc::new(CombiningTree::new(2));
            let act = |collective: &CombiningTree, written: &[UnsafeCell<u32>; 2], rank: usize| {
                for round in 1..=2 {
                    // SAFETY: the other one reads it between the collectives of a round.
                    written[rank].with_mut(|mine| unsafe { *mine = round });
                    assert_eq!(meet(collective, (rank, 2 * round - 1), None), Ok(0));
                    // SAFETY: the other one writes it before a round and after it.
                    let theirs = written[1 - rank].with(|theirs| unsafe { *theirs });
                    assert_eq!(theirs, round);
                    assert_eq!(meet(collective, (rank, 2 * round), None), Ok(0));
                }
            };
            let other = thread::spawn({
                let collective = Arc::clone(&collective);
                move || act(&collective, &others, 1)
            });
            act(&collective, &written, 0);
            other.join().unwrap();
        });
    }

    /// A fast rank has gone on to a collective with a value while the slow one is still in one
    /// without.
    #[test]
    fn loom_two_that_only_meet_now_and_then() {
        loom::model(|| {
            both(|collective, rank| {
                for (number, value) in (1..).zip([None, Some(3), None, Some(4)]) {
                    let total = value.map_or(0, |value| 2 * value);
                    assert_eq!(meet(collective, (rank, number), value), Ok(total));
                }
            });
        });
    }

    /// One comes with a value and the other without: both are told, and meet again.
    #[test]
    fn loom_two_of_which_one_brings_something() {
        loom::model(|| {
            both(|collective, rank| {
                let failed = meet(collective, (rank, 1), (rank == 1).then_some(7));
                let Err(CommError::Mismatch { one, other }) = failed else {
                    panic!("no mismatch: {failed:?}");
                };
                assert!(one.starts_with("rank 0 calls barrier"), "{one}");
                assert!(other.starts_with("rank 1 calls allreduce"), "{other}");
                assert_eq!(meet(collective, (rank, 2), Some(4)), Ok(8));
            });
        });
    }
}
