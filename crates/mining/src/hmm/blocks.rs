//! Blocks of sequences, and the sums over them.

use super::model::Observations;
use crate::MiningError;
use crate::rank_view::RankView;
use std::ops::Range;

/// Places of a block at least, but for the last one.
const PLACES: usize = 4096;

/// A sum over blocks, and the first sequence and place that are impossible.
pub(super) type Part = (Vec<f64>, Option<(usize, usize)>);

/// Sums of neighbouring blocks; of two impossible sequences the first.
pub(super) fn join((mut left, first): Part, (right, second): Part) -> Part {
    left.iter_mut().zip(&right).for_each(|(l, r)| *l += r);
    (left, first.or(second))
}

pub(super) fn possible(part: Option<Part>) -> Result<Vec<f64>, MiningError> {
    match part {
        Some((_, Some((sequence, position)))) => {
            Err(MiningError::Impossible { sequence, position })
        }
        Some((sums, None)) => Ok(sums),
        None => Ok(Vec::new()),
    }
}

impl Observations {
    /// The number of blocks of neighbouring sequences that ranks share: more ranks than that have
    /// nothing to do.
    pub fn blocks(&self) -> usize {
        Blocks::new(self).count()
    }
}

/// Neighbouring sequences with some thousand places together.
pub(super) struct Blocks {
    /// The first sequence of each block, and the number of sequences.
    edges: Vec<usize>,
}

impl Blocks {
    pub(super) fn new(seen: &Observations) -> Blocks {
        let (mut edges, mut places) = (vec![0], 0);
        for sequence in 0..seen.len() {
            places += seen.places(sequence);
            if places >= PLACES || sequence + 1 == seen.len() {
                edges.push(sequence + 1);
                places = 0;
            }
        }
        Blocks { edges }
    }

    pub(super) fn count(&self) -> usize {
        self.edges.len() - 1
    }

    pub(super) fn sequences(&self, block: usize) -> Range<usize> {
        self.edges[block]..self.edges[block + 1]
    }

    /// The sequences of this rank.
    pub(super) fn share(&self, team: &RankView<'_>) -> Range<usize> {
        let blocks = team.share(self.count());
        self.edges[blocks.start]..self.edges[blocks.end]
    }
}
