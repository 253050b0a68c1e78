//! Where the ranks of a communicator meet for collectives.

use super::any_cell::AnyCell;
use super::call::CollectiveArrival;
use super::combining_tree::CombiningTree;
use super::operators::Operators;
use super::ports::Gathering;
use super::process_level::ProcessLevel;
use super::processes::RunProcesses;
use crate::CommError;
use std::sync::Arc;

/// A place. Each rank brings a value. The values are combined in rank order. What is made of the
/// combined value is there for all of them to read.
#[allow(
    clippy::large_enum_variant,
    reason = "there is one per communicator, and collectives of the fast fabric take the direct way"
)]
pub(crate) enum MeetingPoint {
    /// In shared memory: a tree over cache lines.
    Tree(CombiningTree),
    /// At a port that gathers one item per rank.
    Port(Gathering),
    /// In several processes. Ranks come to it by a call of its own.
    ProcessLevel(ProcessLevel),
}

/// What kind of places there are on a fabric.
#[derive(Clone)]
pub(crate) enum MeetingPointKind {
    Tree,
    Port,
    ProcessLevel(Arc<RunProcesses>),
}

impl MeetingPointKind {
    /// A place for the members of a communicator, given as ranks of the world, and how many of them
    /// meet here. `None` when none of them does. `started` is the number of the one collective that
    /// the place is for, if it was started beside others.
    pub(crate) fn make(
        &self,
        communicator: u32,
        members: impl ExactSizeIterator<Item = usize>,
        started: Option<u32>,
    ) -> Option<(MeetingPoint, usize)> {
        let size = members.len();
        match self {
            MeetingPointKind::Tree => Some((MeetingPoint::Tree(CombiningTree::new(size)), size)),
            MeetingPointKind::Port => Some((MeetingPoint::Port(Gathering::new(size)), size)),
            MeetingPointKind::ProcessLevel(processes) => {
                let process_level = ProcessLevel::new(processes, communicator, members, started)?;
                let here = process_level.ranks_here();
                Some((MeetingPoint::ProcessLevel(process_level), here))
            }
        }
    }
}

impl MeetingPoint {
    /// A rank comes to the next collective, and says who is to be woken then.
    ///
    /// # Safety
    /// Each rank arrives once per collective, and arrives again only after it has seen
    /// [`MeetingPoint::has_taken_place`] and read the total.
    #[inline]
    pub(crate) unsafe fn arrive(
        &self,
        arrival: &CollectiveArrival,
        value: AnyCell,
        operators: &mut dyn Operators,
    ) -> Vec<usize> {
        match self {
            // SAFETY: the caller promises it.
            MeetingPoint::Tree(collective) => unsafe {
                collective.arrive(arrival, value, operators)
            },
            MeetingPoint::Port(gathering) => gathering.arrive(arrival, value, operators.kind()),
            MeetingPoint::ProcessLevel(process_level) => {
                // SAFETY: the caller promises it.
                unsafe { process_level.arrive(arrival, value, operators) };
                Vec::new()
            }
        }
    }

    /// Whether the collective to which a rank has come has taken place.
    #[inline]
    pub(crate) fn has_taken_place(&self, arrival: &CollectiveArrival) -> bool {
        match self {
            MeetingPoint::Tree(collective) => collective.has_taken_place(arrival),
            MeetingPoint::Port(gathering) => gathering.has_taken_place(arrival.number),
            MeetingPoint::ProcessLevel(process_level) => {
                process_level.has_taken_place(arrival.number)
            }
        }
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
        operators: &mut dyn Operators,
        read: &mut dyn FnMut(&AnyCell),
    ) -> Result<(), CommError> {
        match self {
            // SAFETY: the caller promises it.
            MeetingPoint::Tree(collective) => unsafe { collective.read(arrival, read) },
            MeetingPoint::Port(gathering) => gathering.read(operators, read),
            // SAFETY: the caller promises it.
            MeetingPoint::ProcessLevel(process_level) => unsafe { process_level.read(read) },
        }
    }

    /// Adds a rank that is about to sleep until the collective takes place.
    pub(crate) fn add_sleeper(&self, rank: usize) {
        match self {
            MeetingPoint::Tree(collective) => collective.add_sleeper(rank),
            MeetingPoint::Port(gathering) => gathering.add_sleeper(rank),
            MeetingPoint::ProcessLevel(process_level) => process_level.add_sleeper(rank),
        }
    }
}
