//! Where the ranks of a world meet: barrier and reductions as a tree over cache lines.
//!
//! Each rank lays its value into its own cell and counts itself in at its node of the tree. The last
//! to arrive at a node combines the values of the node's children, in the [order](super::order) of ranks, and goes on
//! to the node above; everyone else waits. The last at the root publishes the total by raising the epoch.
//! No rank does work while it waits, and each rank is polled once to arrive and once to go on.
//!
//! ```text
//!            root                 arrived: 2 of 2 → the last publishes, epoch += 1
//!          /      \
//!      node        node           arrived: 8 of 8 → the last combines and climbs
//!     / | … \     / | … \
//!    0  1    7   8  9    15       one cell per rank
//! ```
//!
//! # Who may touch what
//!
//! - The cell of rank `r` is written by `r` before it counts itself in; after that it belongs to
//!   whoever counts last at the node, and, as the cell of its subtree's first rank, to the last at
//!   the next node. The counting is `AcqRel`, so each owner sees what the one before wrote.
//! - The total is written by the last at the root before it raises the epoch and read by others after
//!   they saw it raised. It is written again only after all ranks have counted themselves in again,
//!   which each does after it has read.

use super::any_cell::AnyCell;
use super::call::{Call, mismatch, other_type};
use crate::CommError;
use motet_sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use motet_sync::cell::UnsafeCell;
use motet_sync::{CachePadded, Mutex};
use smallvec::SmallVec;

/// Children of a node: a power of two, so that its pairs are those of the [order](super::order).
const FAN: usize = if cfg!(motet_loom) { 2 } else { 8 };

pub(crate) struct Meeting {
    cells: Box<[CachePadded<UnsafeCell<Cell>>]>,
    /// The lowest level first.
    levels: Vec<Box<[CachePadded<Node>]>>,
    published: CachePadded<Published>,
    /// The ranks as the communicator numbers them; `None` when they are the same.
    names: Option<Box<[usize]>>,
    /// Ranks that sleep until the epoch is raised, and how many.
    sleepers: Mutex<Vec<usize>>,
    sleeping: AtomicUsize,
}

/// What those who wait look at and then read: a small total comes in the same cache line as the news of it.
#[repr(C)]
struct Published {
    /// Meetings that have taken place.
    epoch: AtomicU32,
    /// Why the last meeting failed, if it did.
    failed: UnsafeCell<Option<Box<CommError>>>,
    total: UnsafeCell<AnyCell>,
}

struct Node {
    arrived: AtomicU32,
    children: u32,
}

/// What a rank, or the first rank of a subtree for all of it, has brought.
struct Cell {
    value: AnyCell,
    called: Option<Call>,
    failed: Option<Box<CommError>>,
}

// SAFETY: the module doc says who may touch which cell when; the counting and the epoch order it.
unsafe impl Sync for Meeting {}
// SAFETY: the values are Send.
unsafe impl Send for Meeting {}

impl Meeting {
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
        Meeting {
            cells: (0..ranks)
                .map(|_| CachePadded::new(UnsafeCell::new(cell())))
                .collect(),
            levels,
            published: CachePadded::new(Published {
                epoch: AtomicU32::new(0),
                failed: UnsafeCell::new(None),
                total: UnsafeCell::new(AnyCell::new()),
            }),
            names: None,
            sleepers: Mutex::default(),
            sleeping: AtomicUsize::new(0),
        }
    }

    /// A meeting of ranks with these numbers in their communicator.
    pub(crate) fn of(names: Box<[usize]>) -> Self {
        let meeting = Meeting::new(names.len());
        Meeting {
            names: Some(names),
            ..meeting
        }
    }

    /// Rank `rank` arrives with `value` for the meeting it calls `call`. `true` when it was the last of
    /// all: the total, which `finish` has made of the combined values, is published, and the caller must
    /// wake the [`Meeting::sleepers`].
    ///
    /// # Safety
    /// Each rank arrives once per meeting, and arrives again only after it has seen
    /// [`Meeting::has_taken_place`] and read the total.
    pub(crate) unsafe fn arrive<V: Send + 'static, S: Send + Sync + 'static>(
        &self,
        rank: usize,
        call: Call,
        value: V,
        combine: impl Fn(V, V) -> V,
        finish: impl FnOnce(V) -> S,
    ) -> bool {
        // SAFETY: the caller promises it.
        let last = unsafe { self.come(rank, call, value, combine) };
        if last {
            // SAFETY: this rank was the last to arrive.
            let combined = unsafe { self.combined() };
            // SAFETY: as above.
            unsafe { self.publish(combined.map(finish)) };
        }
        last
    }

    /// As [`Meeting::arrive`], but the last of all publishes nothing yet: the rest is left to it.
    ///
    /// # Safety
    /// As [`Meeting::arrive`].
    pub(crate) unsafe fn come<V: Send + 'static>(
        &self,
        rank: usize,
        call: Call,
        value: V,
        combine: impl Fn(V, V) -> V,
    ) -> bool {
        // SAFETY: nobody else touches this rank's cell before it has counted itself in.
        self.cells[rank].with_mut(|cell| unsafe {
            (*cell).value.put(value);
            (*cell).called = Some(call);
            (*cell).failed = None;
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
            self.combine_cells(first, width, node.children as usize, &combine);
            width *= FAN;
        }
        true
    }

    /// The combined value of all ranks, or why there is none.
    ///
    /// # Safety
    /// For the rank that was the last to come, before it publishes.
    pub(crate) unsafe fn combined<V: Send + 'static>(&self) -> Result<V, Box<CommError>> {
        self.cells[0].with_mut(|cell| {
            // SAFETY: the caller was the last to arrive at the root: it owns cell 0.
            let cell = unsafe { &mut *cell };
            match cell.failed.take() {
                None => Ok(cell.value.take::<V>().expect("what was combined is a V")),
                Some(failed) => Err(failed),
            }
        })
    }

    /// What each rank has called, by its number in the communicator.
    ///
    /// # Safety
    /// For the rank that was the last to come, before it publishes.
    pub(crate) unsafe fn calls(&self) -> Vec<(usize, Call)> {
        let call = |rank: usize| {
            // SAFETY: all ranks have come, and none comes again before the meeting is published.
            let called = self.cells[rank].with(|cell| unsafe { (*cell).called });
            called.map(|call| (self.name(rank), call))
        };
        (0..self.cells.len()).filter_map(call).collect()
    }

    /// Publishes what was made of the combined value: the meeting has taken place. The caller must wake the
    /// [`Meeting::sleepers`].
    ///
    /// # Safety
    /// For the rank that was the last to come, once per meeting.
    pub(crate) unsafe fn publish<S: Send + Sync + 'static>(
        &self,
        total: Result<S, Box<CommError>>,
    ) {
        let (total, failed) = match total {
            Ok(total) => (Some(total), None),
            Err(failed) => (None, Some(failed)),
        };
        // SAFETY: nobody reads the total between the arrival of all ranks and the raise of the
        // epoch; the same holds for `failed`.
        self.published.total.with_mut(|place| unsafe {
            match total {
                Some(total) => (*place).put(total),
                None => (*place).clear(),
            }
        });
        // SAFETY: as above.
        self.published
            .failed
            .with_mut(|place| unsafe { *place = failed });
        // Relaxed: one rank publishes at a time, and has seen the last meeting. Release: shows the total.
        let meetings = self.published.epoch.load(Ordering::Relaxed);
        let meetings = meetings.wrapping_add(1);
        self.published.epoch.store(meetings, Ordering::Release);
    }

    /// Whether the meeting with this number (the first is 1) has taken place.
    #[inline]
    pub(crate) fn has_taken_place(&self, number: u32) -> bool {
        // Meetings cannot run ahead of a rank, so this is equality in spite of the wrap-around.
        self.published.epoch.load(Ordering::Acquire) == number
    }

    /// Reads the total of the last meeting.
    ///
    /// # Safety
    /// The calling rank saw that the meeting has taken place and has not arrived for the next.
    pub(crate) unsafe fn read<T, R>(&self, read: impl FnOnce(&T) -> R) -> Result<R, CommError>
    where
        T: Send + Sync + 'static,
    {
        if let Some(failed) = self.failure() {
            return Err(failed);
        }
        // SAFETY: nobody writes the total before all ranks have arrived again.
        Ok(self
            .published
            .total
            .with(|total| read(unsafe { (*total).get() }.expect("the total is a T"))))
    }

    /// Why the last meeting failed, if it did. For a rank that saw it take place and has not arrived
    /// for the next.
    fn failure(&self) -> Option<CommError> {
        // SAFETY: written only by the publisher, as the module doc says.
        self.published
            .failed
            .with(|failed| unsafe { (*failed).as_deref().cloned() })
    }

    /// Adds a rank that is about to sleep until the epoch is raised.
    pub(crate) fn add_sleeper(&self, rank: usize) {
        let mut sleepers = self.sleepers.lock();
        if !sleepers.contains(&rank) {
            sleepers.push(rank);
            self.sleeping.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The ranks that slept until the epoch was raised. Called after a fence that follows
    /// [`Meeting::arrive`].
    pub(crate) fn sleepers(&self) -> Vec<usize> {
        if self.sleeping.load(Ordering::Relaxed) == 0 {
            return Vec::new();
        }
        let sleepers = std::mem::take(&mut *self.sleepers.lock());
        self.sleeping.fetch_sub(sleepers.len(), Ordering::Relaxed);
        sleepers
    }

    fn name(&self, rank: usize) -> usize {
        self.names.as_ref().map_or(rank, |names| names[rank])
    }

    /// Combines the values of so many children, whose cells are `width` apart, into the cell of the first, if all have
    /// called the same. Each cell is looked at once: it may come from another core.
    fn combine_cells<V: Send + 'static>(
        &self,
        first: usize,
        width: usize,
        children: usize,
        combine: &impl Fn(V, V) -> V,
    ) {
        // SAFETY: the caller was the last to arrive at the node: it owns its children's cells.
        self.cells[first].with_mut(|total| unsafe {
            let total = &mut *total;
            let mut branches: SmallVec<[V; 4]> = SmallVec::new();
            branches.extend(total.value.take::<V>());
            let as_first = !branches.is_empty();
            for child in 1..children {
                let other = first + child * width;
                let names = [first, other].map(|rank| self.name(rank));
                let value =
                    self.cells[other].with_mut(|cell| total.take_from(&mut *cell, names, as_first));
                if total.failed.is_some() {
                    return;
                }
                // None where nobody yet has brought what this rank has: it is the odd one, as its own cell will show.
                let Some(mut value) = value else { continue };
                // The branches that end here.
                for _ in 0..child.trailing_ones() {
                    value = match branches.pop() {
                        Some(left) => combine(left, value),
                        None => value,
                    };
                }
                branches.push(value);
            }
            if let Some(value) = branches
                .into_iter()
                .rev()
                .reduce(|right, left| combine(left, right))
            {
                total.value.put(value);
            }
        });
    }
}

impl Cell {
    /// Takes what `other` holds, if it can be combined with what this cell held, which was a `V` or not; `ranks` says
    /// whose cells they are.
    fn take_from<V: Send + 'static>(
        &mut self,
        other: &mut Cell,
        ranks: [usize; 2],
        is_v: bool,
    ) -> Option<V> {
        if self.failed.is_some() {
            return None;
        }
        self.failed = other.failed.take();
        let (Some(mine), Some(theirs)) = (&self.called, &other.called) else {
            return None;
        };
        if self.failed.is_none() {
            self.failed = mismatch(ranks, mine, theirs);
        }
        let value = other.value.take::<V>();
        if self.failed.is_none() && value.is_some() != is_v {
            self.failed = Some(other_type(ranks, mine, theirs));
        }
        value
    }
}

#[cfg(all(test, motet_loom))]
mod loom_tests {
    use super::*;
    use motet_sync::{Arc, thread};
    use std::panic::Location;

    fn call() -> Call {
        Call::new::<u32>("allreduce", Location::caller())
    }

    /// Rank `rank` takes part in `meetings` meetings of `ranks` ranks.
    fn take_part(meeting: &Meeting, rank: usize, ranks: usize, meetings: u32) {
        for number in 1..=meetings {
            let value = number * (1 << rank);
            // SAFETY: one arrival per meeting, after the total of the last was read.
            unsafe {
                meeting.arrive(rank, call(), value, |a: u32, b: u32| a + b, |total| total);
            }
            while !meeting.has_taken_place(number) {
                thread::yield_now();
            }
            // SAFETY: the meeting has taken place.
            let total = unsafe { meeting.read(|total: &u32| *total) };
            assert_eq!(total, Ok(number * ((1 << ranks) - 1)));
        }
    }

    /// A fast rank comes back for the next meeting while the slow one still reads.
    #[test]
    fn loom_meeting_is_reused_by_a_fast_rank() {
        loom::model(|| {
            let meeting = Arc::new(Meeting::new(2));
            let other = thread::spawn({
                let meeting = Arc::clone(&meeting);
                move || take_part(&meeting, 1, 2, 3)
            });
            take_part(&meeting, 0, 2, 3);
            other.join().unwrap();
        });
    }

    /// Two levels (nodes have two children in a model), with an operator that does not commute.
    #[test]
    fn loom_meeting_of_three() {
        loom::model(|| {
            let meeting = Arc::new(Meeting::new(3));
            let arrive = |rank: usize| {
                let meeting = Arc::clone(&meeting);
                move || {
                    let word = ["a", "b", "c"][rank].to_owned();
                    // SAFETY: each rank arrives once.
                    unsafe {
                        let join = |a: String, b: String| a + &b;
                        meeting.arrive(rank, call(), word, join, |total| total)
                    }
                }
            };
            let others = [thread::spawn(arrive(1)), thread::spawn(arrive(2))];
            let mine = arrive(0)();
            let last: Vec<bool> = others
                .into_iter()
                .map(|other| other.join().unwrap())
                .chain([mine])
                .collect();
            assert_eq!(
                last.iter().filter(|last| **last).count(),
                1,
                "one is the last"
            );
            assert!(meeting.has_taken_place(1));
            // SAFETY: the meeting has taken place.
            let total = unsafe { meeting.read(String::clone) };
            assert_eq!(total.as_deref(), Ok("abc"));
        });
    }
}
