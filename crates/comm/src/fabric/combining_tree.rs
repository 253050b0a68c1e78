//! Where the ranks of a communicator meet: barrier and reductions as a tree over cache lines.
//!
//! Each rank lays its value into its own cell and counts itself in at its node. The last to arrive
//! at a node combines the values of its children, in the [order](super::order) of ranks. It goes on
//! to the node above; all others wait. The last at the root publishes the total with the number of
//! the collective. No rank works while it waits, and each is polled once to arrive and once to go
//! on. Two ranks that bring nothing meet beside the tree, by [flags](super::flag_barrier).
//!
//! ```text
//!            root                 arrived: 2 of 2 → the last publishes
//!          /      \
//!      node        node           arrived: 8 of 8 → the last combines and climbs
//!     / | … \     / | … \
//!    0  1    7   8  9    15       one cell per rank
//! ```
//!
//! # Who may touch what
//!
//! - Rank `r` writes its cell before it counts itself in. Then the cell belongs to whoever counts
//!   last at the node. As the cell of its subtree's first rank, it goes to the last at the next
//!   node. The counting is `AcqRel`, so each owner sees what the one before wrote.
//! - The total is written by the last at the root and [published](super::published).

use super::any_cell::AnyCell;
use super::call::{CollectiveArrival, RankCall, mismatch, other_type};
use super::flag_barrier::{FlagBarrier, in_order};
use super::operators::{Operators, ValueKind};
use super::published::PublishedTotal;
use super::tree_cell::Cell;
use crate::CommError;
use motet_sync::atomic::{AtomicU32, AtomicUsize, Ordering, fence};
use motet_sync::cell::UnsafeCell;
use motet_sync::{CachePadded, Mutex};
use smallvec::{SmallVec, smallvec};
use std::mem;

/// Children of a node: a power of two, so that its pairs are those of the [order](super::order).
const FAN: usize = if cfg!(motet_loom) { 2 } else { 8 };

pub(crate) struct CombiningTree {
    cells: Box<[CachePadded<UnsafeCell<Cell>>]>,
    /// The lowest level first.
    levels: Vec<Box<[CachePadded<Node>]>>,
    published: CachePadded<PublishedTotal>,
    /// The ranks as the communicator numbers them; `None` when they are the same.
    names: Option<Box<[usize]>>,
    /// Ranks that sleep until the collective has taken place, and how many.
    sleepers: Mutex<Vec<usize>>,
    sleeping: AtomicUsize,
    /// Where two ranks only meet.
    flags: Option<Box<FlagBarrier>>,
}

struct Node {
    arrived: AtomicU32,
    children: u32,
}

// SAFETY: the module doc says who may touch which cell when. The counting and the number that is
// published order it.
unsafe impl Sync for CombiningTree {}
// SAFETY: the values are Send.
unsafe impl Send for CombiningTree {}

impl CombiningTree {
    pub(crate) fn new(ranks: usize) -> Self {
        let cell = || Cell {
            value: AnyCell::new(),
            called: None,
            failed: None,
        };
        let mut levels = Vec::new();
        let mut below = ranks;
        while below > 1 || levels.is_empty() {
            let nodes = below.div_ceil(FAN);
            let children = |node: usize| u32::try_from(FAN.min(below - node * FAN));
            levels.push(
                (0..nodes)
                    .map(|node| Node {
                        arrived: AtomicU32::new(0),
                        children: children(node).expect("a node has few children"),
                    })
                    .map(CachePadded::new)
                    .collect(),
            );
            below = nodes;
        }
        CombiningTree {
            cells: (0..ranks)
                .map(|_| CachePadded::new(UnsafeCell::new(cell())))
                .collect(),
            levels,
            published: CachePadded::new(PublishedTotal::new()),
            names: None,
            sleepers: Mutex::default(),
            sleeping: AtomicUsize::new(0),
            flags: (ranks == 2).then(Box::default),
        }
    }

    /// A collective's part in one process, of the ranks with these numbers in their communicator.
    pub(crate) fn of(names: Box<[usize]>) -> Self {
        let collective = CombiningTree::new(names.len());
        CombiningTree {
            names: Some(names),
            flags: None,
            ..collective
        }
    }

    /// A rank arrives with `value`. The last of all publishes the total, which is made of the
    /// combined values. The answer is who is to be woken.
    ///
    /// # Safety
    /// Each rank arrives once per collective, and arrives again only after it has seen
    /// [`CombiningTree::has_taken_place`] and read the total.
    #[inline]
    pub(crate) unsafe fn arrive(
        &self,
        arrival: &CollectiveArrival,
        value: AnyCell,
        operators: &mut dyn Operators,
    ) -> Vec<usize> {
        let &CollectiveArrival { rank, number, call } = arrival;
        if let Some(flags) = self.flag_barrier_for(arrival) {
            // SAFETY: the caller promises it.
            unsafe { flags.show(arrival) };
            // The other's line comes here while the fence waits until this one's is changed.
            flags.has_come(arrival);
            fence(Ordering::SeqCst);
            flags.prepare_next(arrival);
            // Acquire: if the other one has counted itself in, this rank sees its cell. Or it sees
            // that the other one only met too, and has gone on to the next collective.
            if self.root().arrived.load(Ordering::Acquire) > 0 && !flags.has_come(arrival) {
                self.disagree(flags, arrival);
            }
            return self.sleepers();
        }
        let called = (call, operators.kind());
        // SAFETY: the caller promises it.
        if unsafe {
            self.come(rank, called, value, &|left, right| {
                operators.combine(left, right);
            })
        } {
            // SAFETY: this rank was the last to arrive.
            let combined = unsafe { self.combined() };
            let total = combined.map(|combined| operators.finish(combined));
            // SAFETY: as above.
            unsafe { self.published.publish(number, total) };
            fence(Ordering::SeqCst);
        } else if let Some(flags) = &self.flags {
            // One of the two fences is first. If the other came without a value, one sees it.
            fence(Ordering::SeqCst);
            if !flags.has_come(arrival) {
                return Vec::new();
            }
            self.disagree(flags, arrival);
        } else {
            return Vec::new();
        }
        self.sleepers()
    }

    /// One of two came with a value, one without. Both may have seen it; the first publishes it.
    #[cold]
    fn disagree(&self, flags: &FlagBarrier, arrival: &CollectiveArrival) {
        if flags.is_first_to_disagree(arrival.number) {
            let theirs = match arrival.call.is_bare() {
                // SAFETY: the other one touches its cell again when this rank has published, below.
                true => self.cells[1 - arrival.rank]
                    .with(|cell| unsafe { (*cell).called })
                    .map(|it| it.0),
                // SAFETY: the other one came without a value, and this rank is in this collective.
                false => Some(unsafe { flags.others_call(arrival) }),
            };
            let theirs = theirs.expect("who has come has called something");
            let (ranks, [one, other]) = in_order(arrival, &theirs);
            let failed = mismatch(ranks, one, other);
            let failed = failed.unwrap_or_else(|| other_type(ranks, one, other));
            // Who has a value has counted itself in.
            self.root().arrived.store(0, Ordering::Relaxed);
            // SAFETY: both ranks have come, and this is the one that publishes.
            unsafe { self.published.publish(arrival.number, Err(failed)) };
            fence(Ordering::SeqCst);
        }
    }

    /// As [`CombiningTree::arrive`], but the last of all publishes nothing: that is left to it.
    ///
    /// # Safety
    /// As [`CombiningTree::arrive`].
    pub(crate) unsafe fn come(
        &self,
        rank: usize,
        called: (RankCall, &'static ValueKind),
        value: AnyCell,
        combine: &dyn Fn(&mut AnyCell, &mut AnyCell),
    ) -> bool {
        // SAFETY: nobody else touches this rank's cell before it has counted itself in.
        self.cells[rank].with_mut(|cell| unsafe {
            *cell = Cell {
                value,
                called: Some(called),
                failed: None,
            };
        });
        let (mut index, mut width) = (rank, 1);
        for level in &self.levels {
            index /= FAN;
            let node = &level[index];
            // AcqRel: sees the cells of those who counted before; shows ours to the last.
            if node.arrived.fetch_add(1, Ordering::AcqRel) + 1 < node.children {
                return false;
            }
            node.arrived.store(0, Ordering::Relaxed);
            let first = index * FAN * width;
            self.combine_cells((first, width), node.children as usize, combine);
            width *= FAN;
        }
        true
    }

    /// The combined value of all ranks, or why there is none.
    ///
    /// # Safety
    /// For the rank that was the last to come, before it publishes.
    pub(crate) unsafe fn combined(&self) -> Result<AnyCell, Box<CommError>> {
        self.cells[0].with_mut(|cell| {
            // SAFETY: the caller was the last to arrive at the root: it owns cell 0.
            let cell = unsafe { &mut *cell };
            match cell.failed.take() {
                None => Ok(mem::take(&mut cell.value)),
                Some(failed) => Err(failed),
            }
        })
    }

    /// What each rank has called, by its number in the communicator.
    ///
    /// # Safety
    /// For the rank that was the last to come, before it publishes.
    pub(crate) unsafe fn calls(&self) -> Vec<(usize, RankCall)> {
        let call = |rank: usize| {
            // SAFETY: all ranks have come, and none comes again before the collective is published.
            let called = self.cells[rank].with(|cell| unsafe { (*cell).called });
            called.map(|(call, _)| (self.name(rank), call))
        };
        (0..self.cells.len()).filter_map(call).collect()
    }

    /// Whether the collective to which a rank has come has taken place.
    #[inline]
    pub(crate) fn has_taken_place(&self, arrival: &CollectiveArrival) -> bool {
        self.flag_barrier_for(arrival)
            .is_some_and(|flags| flags.has_come(arrival))
            || self.published.is(arrival.number)
    }

    /// Shows the total of the collective to which a rank came last.
    ///
    /// # Errors
    /// Why there is none.
    ///
    /// # Safety
    /// The calling rank saw that the collective has taken place and has not arrived for the next.
    #[inline]
    pub(crate) unsafe fn read(
        &self,
        arrival: &CollectiveArrival,
        read: &mut dyn FnMut(&AnyCell),
    ) -> Result<(), CommError> {
        let met = self
            .flag_barrier_for(arrival)
            .filter(|flags| flags.has_come(arrival));
        let Some(flags) = met else {
            // SAFETY: the caller promises it.
            return unsafe { self.published.read(read) };
        };
        // SAFETY: the other one has come, and this rank is in this collective.
        unsafe { flags.agreed(arrival) }?;
        // Ranks that only meet get ().
        read(&AnyCell::with(()));
        Ok(())
    }

    /// Adds a rank that is about to sleep until the collective has taken place.
    pub(crate) fn add_sleeper(&self, rank: usize) {
        let mut sleepers = self.sleepers.lock();
        if !sleepers.contains(&rank) {
            sleepers.push(rank);
            self.sleeping.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The ranks that slept until the collective had taken place. Called after a fence that follows
    /// [`CombiningTree::arrive`].
    pub(crate) fn sleepers(&self) -> Vec<usize> {
        if self.sleeping.load(Ordering::Relaxed) == 0 {
            return Vec::new();
        }
        let sleepers = mem::take(&mut *self.sleepers.lock());
        self.sleeping.fetch_sub(sleepers.len(), Ordering::Relaxed);
        sleepers
    }

    /// What the last collective has come to.
    #[inline]
    pub(super) fn published(&self) -> &PublishedTotal {
        &self.published
    }

    /// Where the two ranks meet, if they only meet.
    #[inline]
    fn flag_barrier_for(&self, arrival: &CollectiveArrival) -> Option<&FlagBarrier> {
        match arrival.call.is_bare() {
            true => self.flags.as_deref(),
            false => None,
        }
    }

    /// The node of all ranks of a pair.
    #[inline]
    fn root(&self) -> &Node {
        &self.levels[0][0]
    }

    fn name(&self, rank: usize) -> usize {
        self.names.as_ref().map_or(rank, |names| names[rank])
    }

    /// Combines the values of so many children into the cell of the first, if all called the same.
    /// Cells are `width` apart.
    fn combine_cells(
        &self,
        (first, width): (usize, usize),
        children: usize,
        combine: &dyn Fn(&mut AnyCell, &mut AnyCell),
    ) {
        let cell = |child: usize| first + child * width;
        // SAFETY: the caller was the last to arrive at the node: it owns its children's cells. No
        // two of these are one.
        let both = |left: usize, right: usize, act: &mut dyn FnMut(&mut Cell, &mut Cell)| unsafe {
            self.cells[cell(left)].with_mut(|left| {
                self.cells[cell(right)].with_mut(|right| act(&mut *left, &mut *right));
            });
        };
        let join = |left: usize, right: usize| {
            both(left, right, &mut |one, other| {
                combine(&mut one.value, &mut other.value)
            });
        };
        // The children in whose cells the values of branches lie.
        let mut branches: SmallVec<[usize; 4]> = smallvec![0];
        for child in 1..children {
            let ranks = [cell(0), cell(child)].map(|rank| self.name(rank));
            let mut agree = true;
            both(0, child, &mut |one, other| {
                agree = one.agrees_with(other, ranks);
            });
            if !agree {
                (0..children).for_each(|child| {
                    // SAFETY: as above.
                    self.cells[cell(child)].with_mut(|it| unsafe { (*it).value.clear() });
                });
                return;
            }
            let mut right = child;
            // The branches that end here.
            for _ in 0..child.trailing_ones() {
                if let Some(left) = branches.pop() {
                    join(left, right);
                    right = left;
                }
            }
            branches.push(right);
        }
        while let (Some(right), Some(&left)) = (branches.pop(), branches.last()) {
            join(left, right);
        }
    }
}

#[cfg(all(test, motet_loom))]
mod loom_tests {
    use super::super::operators::TypedOperators;
    use super::*;
    use motet_sync::{Arc, thread};
    use std::panic::Location;

    fn arrival(rank: usize, number: u32) -> CollectiveArrival {
        CollectiveArrival {
            rank,
            number,
            call: RankCall::new::<u32>("allreduce", Location::caller()),
        }
    }

    /// Rank `rank` takes part in `collectives` collectives of `ranks` ranks.
    fn take_part(collective: &CombiningTree, rank: usize, ranks: usize, collectives: u32) {
        for number in 1..=collectives {
            let (arrival, value) = (arrival(rank, number), number * (1 << rank));
            let mut add = TypedOperators::new(|a: u32, b: u32| a + b, |total: u32| total);
            // SAFETY: one arrival per collective, after the total of the last was read.
            unsafe {
                collective.arrive(&arrival, AnyCell::with(value), &mut add);
            }
            while !collective.has_taken_place(&arrival) {
                thread::yield_now();
            }
            // SAFETY: the collective has taken place.
            let read = unsafe {
                collective.read(&arrival, &mut |total| {
                    assert_eq!(total.get::<u32>(), Some(&(number * ((1 << ranks) - 1))));
                })
            };
            assert_eq!(read, Ok(()));
        }
    }

    /// A fast rank comes back for the next collective while the slow one still reads.
    #[test]
    fn loom_collective_is_reused_by_a_fast_rank() {
        loom::model(|| {
            let collective = Arc::new(CombiningTree::new(2));
            let other = thread::spawn({
                let collective = Arc::clone(&collective);
                move || take_part(&collective, 1, 2, 3)
            });
            take_part(&collective, 0, 2, 3);
            other.join().unwrap();
        });
    }

    /// Two levels (nodes have two children in a model), with an operator that does not commute.
    #[test]
    fn loom_collective_of_three() {
        loom::model(|| {
            let collective = Arc::new(CombiningTree::new(3));
            let arrive = |rank: usize| {
                let collective = Arc::clone(&collective);
                move || {
                    let word = ["a", "b", "c"][rank].to_owned();
                    let join = |a: String, b: String| a + &b;
                    let mut join = TypedOperators::new(join, |total: String| total);
                    // SAFETY: each rank arrives once.
                    unsafe {
                        collective.arrive(&arrival(rank, 1), AnyCell::with(word), &mut join);
                    }
                }
            };
            let others = [thread::spawn(arrive(1)), thread::spawn(arrive(2))];
            arrive(0)();
            others.into_iter().for_each(|other| other.join().unwrap());
            assert!(collective.has_taken_place(&arrival(0, 1)));
            // SAFETY: the collective has taken place.
            let read = unsafe {
                collective.read(&arrival(0, 1), &mut |total| {
                    assert_eq!(total.get::<String>().map(String::as_str), Some("abc"));
                })
            };
            assert_eq!(read, Ok(()));
        });
    }
}
