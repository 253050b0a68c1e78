//! Where the ranks of a communicator meet for collectives.

use super::bridge::Bridge;
use super::call::Coming;
use super::meeting::Meeting;
use super::ports::Gathering;
use super::processes::Processes;
use crate::{CommError, Value};
use std::sync::Arc;

/// A meeting place. Each rank brings a value; the values are combined in rank order; what is made
/// of the combined value is there for all of them to read.
#[allow(
    clippy::large_enum_variant,
    reason = "there is one per communicator, and collectives of the fast fabric take the direct way"
)]
pub(crate) enum Place {
    /// In shared memory: a tree over cache lines.
    Tree(Meeting),
    /// At a port that gathers one item per rank.
    Port(Gathering),
    /// In several processes. Ranks come to it by a call of its own.
    Bridge(Bridge),
}

/// What kind of places there are on a fabric.
#[derive(Clone)]
pub(crate) enum PlaceKind {
    Tree,
    Port,
    Bridge(Arc<Processes>),
}

impl PlaceKind {
    /// A place for the members of a communicator, given as ranks of the world, and how many of them
    /// meet here; `None` when none of them does. `started` is the number of the one collective that
    /// the place is for, if it was started beside others.
    pub(crate) fn make(
        &self,
        communicator: u32,
        members: impl ExactSizeIterator<Item = usize>,
        started: Option<u32>,
    ) -> Option<(Place, usize)> {
        let size = members.len();
        match self {
            PlaceKind::Tree => Some((Place::Tree(Meeting::new(size)), size)),
            PlaceKind::Port => Some((Place::Port(Gathering::new(size)), size)),
            PlaceKind::Bridge(processes) => {
                let bridge = Bridge::new(processes, communicator, members, started)?;
                let here = bridge.ranks_here();
                Some((Place::Bridge(bridge), here))
            }
        }
    }
}

/// What the ranks of a meeting do with what they bring. All ranks of a meeting bring the same.
pub(crate) struct Agenda<C, F> {
    /// Combines two neighbours' values, the lower rank's first.
    pub(crate) combine: C,
    /// Makes the total of the combined value; taken by the one rank that does it.
    pub(crate) finish: Option<F>,
}

impl Place {
    /// A rank comes to the next meeting, and says who is to be woken then.
    ///
    /// # Safety
    /// Each rank arrives once per meeting, and arrives again only after it has seen
    /// [`Place::has_taken_place`] and read the total.
    pub(crate) unsafe fn arrive<V, S, C, F>(
        &self,
        coming: &Coming,
        value: V,
        agenda: &mut Agenda<C, F>,
    ) -> Vec<usize>
    where
        V: Value,
        S: Send + Sync + 'static,
        C: Fn(V, V) -> V,
        F: FnOnce(V) -> S,
    {
        match self {
            Place::Tree(meeting) => {
                let finish = |value| {
                    let finish = agenda.finish.take();
                    finish.expect("a meeting is published once")(value)
                };
                // SAFETY: the caller promises it.
                unsafe { meeting.arrive(coming, value, &agenda.combine, finish) }
            }
            Place::Port(gathering) => gathering.arrive(coming.rank, coming.call, value),
            Place::Bridge(_) => unreachable!("ranks come to a bridge by its own arrive"),
        }
    }

    /// Whether the meeting to which a rank has come has taken place.
    #[inline]
    pub(crate) fn has_taken_place(&self, coming: &Coming) -> bool {
        match self {
            Place::Tree(meeting) => meeting.has_taken_place(coming),
            Place::Port(gathering) => gathering.has_taken_place(coming.number),
            Place::Bridge(bridge) => bridge.has_taken_place(coming.number),
        }
    }

    /// Reads the total of the meeting to which a rank came last.
    ///
    /// # Safety
    /// The calling rank saw that the meeting has taken place and has not arrived for the next.
    pub(crate) unsafe fn read<V, S, C, F, R>(
        &self,
        coming: &Coming,
        agenda: &mut Agenda<C, F>,
        read: impl FnOnce(&S) -> R,
    ) -> Result<R, CommError>
    where
        V: Value,
        S: Send + Sync + 'static,
        C: Fn(V, V) -> V,
        F: FnOnce(V) -> S,
    {
        match self {
            // SAFETY: the caller promises it.
            Place::Tree(meeting) => unsafe { meeting.read(coming, read) },
            Place::Port(gathering) => gathering.read(agenda, read),
            // SAFETY: the caller promises it.
            Place::Bridge(bridge) => unsafe { bridge.read(read) },
        }
    }

    /// Adds a rank that is about to sleep until the meeting takes place.
    pub(crate) fn add_sleeper(&self, rank: usize) {
        match self {
            Place::Tree(meeting) => meeting.add_sleeper(rank),
            Place::Port(gathering) => gathering.add_sleeper(rank),
            Place::Bridge(bridge) => bridge.add_sleeper(rank),
        }
    }
}
