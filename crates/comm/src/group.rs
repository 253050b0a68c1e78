//! Groups: ordered sets of ranks.

use crate::{CommError, Communicator};
use std::collections::HashMap;
use std::sync::Arc;

/// An ordered set of ranks of the world (MPI_Group). A rank's place in it is its rank in the group.
///
/// Groups are made of the group of a communicator and are the same on whichever rank they are made:
/// no message is needed. Two are equal when they hold the same ranks in the same order (MPI_IDENT).
///
/// ```
/// use motet_comm::{CommError, World};
///
/// World::threads(4)
///     .run(async |comm| -> Result<_, CommError> {
///         let all = comm.group();
///         let (even, low) = (all.incl(&[0, 2])?, all.incl(&[0, 1])?);
///         assert_eq!(even.union(&low).ranks(), [0, 2, 1]);
///         assert_eq!(even.intersection(&low).ranks(), [0]);
///         assert_eq!(all.difference(&even).ranks(), [1, 3]);
///         assert_eq!(even.translate(&[1], &all), [Some(2)]);
///         Ok(())
///     })
///     .unwrap();
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    ranks: Arc<[usize]>,
}

impl Communicator {
    /// The ranks of this communicator (MPI_COMM_GROUP).
    #[must_use]
    pub fn group(&self) -> Group {
        Group::of((0..self.size()).map(|rank| self.team().world_rank(rank)))
    }
}

impl Group {
    /// The group of no rank (MPI_GROUP_EMPTY).
    #[must_use]
    pub fn empty() -> Group {
        Group::of(std::iter::empty())
    }

    fn of(ranks: impl Iterator<Item = usize>) -> Group {
        Group {
            ranks: ranks.collect(),
        }
    }

    /// The number of ranks (MPI_GROUP_SIZE).
    #[must_use]
    pub fn size(&self) -> usize {
        self.ranks.len()
    }

    /// The ranks in the world, in the order of the group.
    #[must_use]
    pub fn ranks(&self) -> &[usize] {
        &self.ranks
    }

    /// The rank in the group of a rank of the world (MPI_GROUP_RANK).
    #[must_use]
    pub fn rank_of(&self, world: usize) -> Option<usize> {
        self.ranks.iter().position(|&rank| rank == world)
    }

    /// The group of these ranks of this one, in this order (MPI_GROUP_INCL).
    ///
    /// # Errors
    /// [`CommError::NoSuchRank`]; [`CommError::Arguments`] when a rank is named twice.
    pub fn incl(&self, ranks: &[usize]) -> Result<Group, CommError> {
        self.check(ranks, "incl")?;
        Ok(Group::of(ranks.iter().map(|&rank| self.ranks[rank])))
    }

    /// The group without these ranks of this one (MPI_GROUP_EXCL).
    ///
    /// # Errors
    /// As [`Group::incl`].
    pub fn excl(&self, ranks: &[usize]) -> Result<Group, CommError> {
        self.check(ranks, "excl")?;
        let mut stays = vec![true; self.size()];
        ranks.iter().for_each(|&rank| stays[rank] = false);
        let pairs = self.ranks.iter().zip(stays);
        Ok(Group::of(pairs.filter(|pair| pair.1).map(|pair| *pair.0)))
    }

    /// The ranks of this group, then those of the other that are not in this one (MPI_GROUP_UNION).
    #[must_use]
    pub fn union(&self, other: &Group) -> Group {
        let mine = self.places();
        let more = other.ranks.iter().filter(|rank| !mine.contains_key(rank));
        Group::of(self.ranks.iter().chain(more).copied())
    }

    /// The ranks of this group that are in the other too (MPI_GROUP_INTERSECTION).
    #[must_use]
    pub fn intersection(&self, other: &Group) -> Group {
        let theirs = other.places();
        let both = self.ranks.iter().filter(|rank| theirs.contains_key(rank));
        Group::of(both.copied())
    }

    /// The ranks of this group that are not in the other (MPI_GROUP_DIFFERENCE).
    #[must_use]
    pub fn difference(&self, other: &Group) -> Group {
        let theirs = other.places();
        let rest = self.ranks.iter().filter(|rank| !theirs.contains_key(rank));
        Group::of(rest.copied())
    }

    /// The ranks in `other` of these ranks of this group; `None` for those that are not in it, or
    /// that do not exist (MPI_GROUP_TRANSLATE_RANKS).
    #[must_use]
    pub fn translate(&self, ranks: &[usize], other: &Group) -> Vec<Option<usize>> {
        let theirs = other.places();
        let translate = |rank: &usize| theirs.get(self.ranks.get(*rank)?).copied();
        ranks.iter().map(translate).collect()
    }

    /// Whether both hold the same ranks, in whatever order (MPI_SIMILAR).
    #[must_use]
    pub fn is_similar(&self, other: &Group) -> bool {
        self.size() == other.size() && self.difference(other).size() == 0
    }

    /// Where each rank of the world stands.
    fn places(&self) -> HashMap<usize, usize> {
        let pairs = self.ranks.iter().enumerate();
        pairs.map(|(place, &rank)| (rank, place)).collect()
    }

    fn check(&self, ranks: &[usize], operation: &str) -> Result<(), CommError> {
        let size = self.size();
        let mut named = vec![false; size];
        for &rank in ranks {
            match named.get_mut(rank) {
                None => return Err(CommError::NoSuchRank { rank, size }),
                Some(true) => {
                    let problem = format!("{operation} names rank {rank} twice");
                    return Err(CommError::Arguments { problem });
                }
                Some(named) => *named = true,
            }
        }
        Ok(())
    }
}
