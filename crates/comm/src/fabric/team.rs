//! What the ranks of a communicator share.

use super::place::Place;
use motet_sync::Mutex;
use std::collections::HashMap;
use std::sync::Arc;

/// One per communicator: its number, its members, where they meet.
pub(crate) struct Team {
    /// Tells its messages from those of other communicators; 0 is the world.
    pub(crate) communicator: u32,
    size: usize,
    /// The members' ranks in the world, in the order of their ranks here; `None` when they are the same.
    members: Option<Box<[usize]>>,
    /// `None` when there is one rank only.
    place: Option<Place>,
    /// Makes a meeting place for so many ranks.
    make_place: fn(usize) -> Place,
    /// The places of collectives that were started and to which not all have come yet, and how many are
    /// to come; by their number.
    started: Mutex<HashMap<u32, (Arc<Place>, usize)>>,
}

impl Team {
    /// All ranks of a world.
    pub(crate) fn world(size: usize, make_place: fn(usize) -> Place) -> Self {
        Team::new(0, size, None, make_place)
    }

    fn new(
        communicator: u32,
        size: usize,
        members: Option<Box<[usize]>>,
        make_place: fn(usize) -> Place,
    ) -> Self {
        Team {
            communicator,
            size,
            members,
            place: (size > 1).then(|| make_place(size)),
            make_place,
            started: Mutex::default(),
        }
    }

    /// A communicator of these ranks of this one, in this order.
    pub(crate) fn part(&self, communicator: u32, ranks: &[usize]) -> Self {
        let all = ranks.len() == self.size && ranks.iter().copied().eq(0..self.size);
        let members = if all {
            self.members.clone()
        } else {
            Some(ranks.iter().map(|&rank| self.world_rank(rank)).collect())
        };
        Team::new(communicator, ranks.len(), members, self.make_place)
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
    pub(crate) fn place(&self) -> Option<&Place> {
        self.place.as_ref()
    }

    /// Where the ranks meet for the started collective with this number; each rank asks once.
    pub(crate) fn started_place(&self, number: u32) -> Arc<Place> {
        let mut started = self.started.lock();
        if !started.contains_key(&number) {
            // Not under the lock: a place for many ranks is large. If another rank makes one too, one is in vain.
            drop(started);
            let place = Arc::new((self.make_place)(self.size));
            started = self.started.lock();
            started.entry(number).or_insert((place, self.size));
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
