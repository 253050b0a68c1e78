//! What the ranks of a communicator share.

use super::meeting_point::{MeetingPoint, MeetingPointKind};
use crate::report::Members;
use motet_sync::Mutex;
use std::collections::HashMap;
use std::sync::Arc;

/// One per communicator: its number, its members, where they meet.
pub(crate) struct Team {
    /// Tells its messages from those of other communicators; 0 is the world.
    pub(crate) communicator: u32,
    size: usize,
    /// The members' ranks in the world, in the order of their ranks here; `None` when they are the
    /// same.
    members: Members,
    /// `None` when there is one rank only.
    place: Option<MeetingPoint>,
    kind: MeetingPointKind,
    /// The places of collectives that were started and to which not all have come yet, and how many
    /// are to come; by their number.
    started: Mutex<HashMap<u32, (Arc<MeetingPoint>, usize)>>,
}

impl Team {
    /// All ranks of a world.
    pub(crate) fn world(size: usize, kind: MeetingPointKind) -> Self {
        Team::new(0, size, None, kind)
    }

    fn new(communicator: u32, size: usize, members: Members, kind: MeetingPointKind) -> Self {
        let mut team = Team {
            communicator,
            size,
            members,
            place: None,
            kind,
            started: Mutex::default(),
        };
        if size > 1 {
            team.place = team.make_place(None).map(|(place, _)| place);
        }
        team
    }

    /// A place where the members meet, and how many of them meet here.
    fn make_place(&self, started: Option<u32>) -> Option<(MeetingPoint, usize)> {
        let members = (0..self.size).map(|rank| self.world_rank(rank));
        self.kind.make(self.communicator, members, started)
    }

    /// A communicator of these ranks of this one, in this order.
    pub(crate) fn part(&self, communicator: u32, ranks: &[usize]) -> Self {
        let all = ranks.len() == self.size && ranks.iter().copied().eq(0..self.size);
        let members = if all {
            self.members.clone()
        } else {
            Some(ranks.iter().map(|&rank| self.world_rank(rank)).collect())
        };
        Team::new(communicator, ranks.len(), members, self.kind.clone())
    }

    /// The members as ranks of the world.
    pub(crate) fn members(&self) -> &Members {
        &self.members
    }

    #[inline]
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// The rank in the world of a rank of this communicator.
    #[inline]
    pub(crate) fn world_rank(&self, rank: usize) -> usize {
        self.members.as_ref().map_or(rank, |members| members[rank])
    }

    /// Where the ranks meet; `None` for one rank alone.
    #[inline]
    pub(crate) fn place(&self) -> Option<&MeetingPoint> {
        self.place.as_ref()
    }

    /// Where the ranks meet for the started collective with this number; each rank asks once.
    pub(crate) fn started_place(&self, number: u32) -> Arc<MeetingPoint> {
        let mut started = self.started.lock();
        if !started.contains_key(&number) {
            // Not under the lock: a place for many ranks is large. If another rank makes one too,
            // one is in vain.
            drop(started);
            let made = self.make_place(Some(number));
            let (place, ranks) = made.expect("a rank that asks meets here");
            started = self.started.lock();
            started.entry(number).or_insert((Arc::new(place), ranks));
        }
        let entry = started
            .get_mut(&number)
            .expect("a place stays until all have come");
        entry.1 -= 1;
        let (place, to_come) = (Arc::clone(&entry.0), entry.1);
        if to_come == 0 {
            started.remove(&number);
        }
        place
    }
}
