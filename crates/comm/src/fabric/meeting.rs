//! Where the ranks of a world meet: barrier and reductions as a tree over cache lines.
//!
//! Each rank lays its value into its own cell and counts itself in at its node of the tree. The last
//! to arrive at a node combines the values of the node's children, in rank order, and goes on to the
//! node above; everyone else waits. The last at the root publishes the total by raising the epoch.
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
use crate::CommError;
use crate::report::Wait;
use motet_sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use motet_sync::cell::UnsafeCell;
use motet_sync::{CachePadded, Mutex};

/// Children of a node.
const FAN: usize = if cfg!(motet_loom) { 2 } else { 8 };

pub(crate) struct Meeting {
    cells: Box<[CachePadded<UnsafeCell<Cell>>]>,
    /// The lowest level first.
    levels: Vec<Box<[CachePadded<Node>]>>,
    /// Meetings that have taken place.
    epoch: CachePadded<AtomicU32>,
    total: CachePadded<UnsafeCell<AnyCell>>,
    /// Why the last meeting failed, if it did.
    failed: UnsafeCell<Option<CommError>>,
    /// Ranks that sleep until the epoch is raised, and how many.
    sleepers: Mutex<Vec<usize>>,
    sleeping: AtomicUsize,
}

struct Node {
    arrived: AtomicU32,
    children: u32,
}

/// What a rank, or the first rank of a subtree for all of it, has brought.
struct Cell {
    value: AnyCell,
    called: Option<Called>,
    failed: Option<CommError>,
}

/// What a rank called to get here.
#[derive(Clone, Copy)]
struct Called {
    rank: usize,
    wait: Wait,
    /// Of the value it has brought.
    type_name: fn() -> &'static str,
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
            epoch: CachePadded::new(AtomicU32::new(0)),
            total: CachePadded::new(UnsafeCell::new(AnyCell::new())),
            failed: UnsafeCell::new(None),
            sleepers: Mutex::default(),
            sleeping: AtomicUsize::new(0),
        }
    }

    /// Rank `rank` arrives with `value` for the meeting it calls `wait`. `true` when it was the last
    /// of all: the total is published, and the caller must wake the [`Meeting::sleepers`].
    ///
    /// # Safety
    /// Each rank arrives once per meeting, and arrives again only after it has seen
    /// [`Meeting::has_taken_place`] and read the total.
    pub(crate) unsafe fn arrive<T: Send + 'static>(
        &self,
        rank: usize,
        wait: Wait,
        value: T,
        combine: impl Fn(T, T) -> T,
    ) -> bool {
        // SAFETY: nobody else touches this rank's cell before it has counted itself in.
        self.cells[rank].with_mut(|cell| unsafe {
            (*cell).value.put(value);
            (*cell).called = Some(Called {
                rank,
                wait,
                type_name: std::any::type_name::<T>,
            });
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
            let ranks = (0..node.children as usize).map(|child| first + child * width);
            self.combine_cells(ranks, &combine);
            width *= FAN;
        }
        self.publish();
        true
    }

    /// Whether the meeting with this number (the first is 1) has taken place.
    #[inline]
    pub(crate) fn has_taken_place(&self, number: u32) -> bool {
        // Meetings cannot run ahead of a rank, so this is equality in spite of the wrap-around.
        self.epoch.load(Ordering::Acquire) == number
    }

    /// Reads the total of the last meeting.
    ///
    /// # Safety
    /// The calling rank saw that the meeting has taken place and has not arrived for the next; no
    /// rank calls [`Meeting::take`] for this meeting.
    pub(crate) unsafe fn read<T, R>(&self, read: impl FnOnce(&T) -> R) -> Result<R, CommError>
    where
        T: Send + Sync + 'static,
    {
        if let Some(failed) = self.failure() {
            return Err(failed);
        }
        // SAFETY: nobody writes the total before all ranks have arrived again.
        Ok(self
            .total
            .with(|total| read(unsafe { (*total).get() }.expect("the total is a T"))))
    }

    /// Takes the total of the last meeting.
    ///
    /// # Safety
    /// As [`Meeting::read`], and no other rank reads or takes this total.
    pub(crate) unsafe fn take<T: Send + 'static>(&self) -> Result<T, CommError> {
        if let Some(failed) = self.failure() {
            return Err(failed);
        }
        // SAFETY: only this rank touches the total before all ranks have arrived again.
        Ok(self
            .total
            .with_mut(|total| unsafe { (*total).take() })
            .expect("the total is a T"))
    }

    /// Why the last meeting failed, if it did. For a rank that saw it take place and has not arrived
    /// for the next.
    pub(crate) fn failure(&self) -> Option<CommError> {
        // SAFETY: written only by the publisher, as the module doc says.
        self.failed.with(|failed| unsafe { (*failed).clone() })
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

    /// Combines the values of `ranks` into the cell of the first.
    fn combine_cells<T: Send + 'static>(
        &self,
        ranks: impl Iterator<Item = usize>,
        combine: &impl Fn(T, T) -> T,
    ) {
        let mut ranks = ranks.map(|rank| &*self.cells[rank]);
        let Some(first) = ranks.next() else { return };
        // SAFETY: the caller was the last to arrive at the node: it owns its children's cells.
        first.with_mut(|total| unsafe {
            for other in ranks {
                other.with_mut(|cell| (*total).add(&mut *cell, combine));
            }
        });
    }

    /// Makes the value in the first rank's cell the total.
    fn publish(&self) {
        self.cells[0].with_mut(|cell| {
            // SAFETY: the caller was the last to arrive at the root: it owns cell 0.
            let cell = unsafe { &mut *cell };
            // SAFETY: nobody reads the total between the arrival of all ranks and the raise of the
            // epoch; the same holds for `failed`.
            self.total
                .with_mut(|total| unsafe { (*total).swap(&mut cell.value) });
            // SAFETY: as above.
            self.failed
                .with_mut(|failed| unsafe { *failed = cell.failed.take() });
        });
        self.epoch.fetch_add(1, Ordering::Release);
    }
}

impl Cell {
    /// Adds what `other` holds behind what this cell holds.
    fn add<T: Send + 'static>(&mut self, other: &mut Cell, combine: &impl Fn(T, T) -> T) {
        if self.failed.is_some() {
            return;
        }
        self.failed = other.failed.take();
        let (Some(mine), Some(theirs)) = (self.called, other.called) else {
            return;
        };
        if self.failed.is_none() {
            self.failed = mismatch(&mine, &theirs);
        }
        if self.failed.is_some() {
            return;
        }
        match (self.value.take::<T>(), other.value.take::<T>()) {
            (Some(left), Some(right)) => self.value.put(combine(left, right)),
            // Neither is a T: it is this rank that is the odd one, as its own cell will show.
            (None, None) if self.value.has_type_of(&other.value) => {}
            _ => self.failed = Some(other_type(&mine, &theirs)),
        }
    }
}

impl Called {
    fn describe(&self) -> String {
        format!(
            "rank {} calls {} at {}",
            self.rank, self.wait.operation, self.wait.location
        )
    }
}

fn mismatch(one: &Called, other: &Called) -> Option<CommError> {
    (one.wait.operation != other.wait.operation).then(|| CommError::Mismatch {
        one: one.describe(),
        other: other.describe(),
    })
}

fn other_type(one: &Called, other: &Called) -> CommError {
    let describe = |called: &Called| {
        let name = (called.type_name)();
        format!("{} with a value of type {name}", called.describe())
    };
    CommError::Mismatch {
        one: describe(one),
        other: describe(other),
    }
}

#[cfg(all(test, motet_loom))]
mod loom_tests {
    use super::*;
    use crate::report::Operation;
    use motet_sync::{Arc, thread};
    use std::panic::Location;

    fn wait() -> Wait {
        let operation = Operation::Collective {
            name: "allreduce",
            root: None,
        };
        Wait {
            operation,
            location: Location::caller(),
        }
    }

    /// Rank `rank` takes part in `meetings` meetings of `ranks` ranks.
    fn take_part(meeting: &Meeting, rank: usize, ranks: usize, meetings: u32) {
        for number in 1..=meetings {
            let value = number * (1 << rank);
            // SAFETY: one arrival per meeting, after the total of the last was read.
            unsafe {
                meeting.arrive(rank, wait(), value, |a: u32, b: u32| a + b);
            }
            while !meeting.has_taken_place(number) {
                thread::yield_now();
            }
            // SAFETY: the meeting has taken place and nobody takes its total.
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
                    unsafe { meeting.arrive(rank, wait(), word, |a: String, b: String| a + &b) }
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
            // SAFETY: the meeting has taken place and nobody takes its total.
            let total = unsafe { meeting.read(String::clone) };
            assert_eq!(total.as_deref(), Ok("abc"));
        });
    }
}
