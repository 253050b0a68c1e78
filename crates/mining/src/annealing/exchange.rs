//! Moving single points between clusters until no move lowers inertia.
//!
//! A fixed point of Lloyd's iteration need not be a minimum under the move of one point, because
//! the move shifts both means. Every minimum under such moves is a fixed point.
//!
//! Source: J. A. Hartigan and M. A. Wong, A k-means clustering algorithm, Applied Statistics 28
//! (1979); M. Telgarsky and A. Vattani, Hartigan's method: k-means clustering without Voronoi,
//! AISTATS (2010). Here each pass over the data finds all points that gain from a move under the
//! present means, on all ranks at once. The moves are then made one after the other, each only if
//! it still gains.

use crate::MiningError;
use crate::hard::{Assignment, Centres, HardScratch};
use crate::prepare::Prepared;
use crate::rank_view::RankView;
use serde::{Deserialize, Serialize};

/// Passes at most: there is nearly always nothing left after a few.
const PASSES: usize = 50;

/// Clusters whose points move one at a time.
struct Exchange {
    dim: usize,
    centres: Vec<f64>,
    masses: Vec<f64>,
}

/// A point that gains from a move.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Move {
    row: usize,
    from: usize,
}

/// Improves a fixed point of Lloyd's iteration; gives back the passes made. The centres are then
/// the means of clusters that no move of a point improves, up to rounding.
pub(super) async fn exchange(
    team: &RankView<'_>,
    prepared: &Prepared<'_>,
    centres: &mut Vec<f64>,
    assignment: &Assignment,
) -> Result<usize, MiningError> {
    let tree = &prepared.tree;
    let mut state = Exchange {
        dim: tree.dim,
        centres: std::mem::take(centres),
        masses: assignment.masses.clone(),
    };
    let mut passes = 0;
    while passes < PASSES && state.masses.len() > 1 {
        passes += 1;
        let moves = state.find(team, prepared).await?;
        let mut made = 0;
        for Move { row, from } in moves {
            let (point, weight) = tree.row(row);
            if let Some(to) = state.better(point, weight, from) {
                state.carry_out(point, weight, from, to);
                made += 1;
            }
        }
        if made == 0 {
            break;
        }
    }
    *centres = state.centres;
    Ok(passes)
}

impl Exchange {
    /// All points that gain from a move, in the order of the blocks.
    async fn find(
        &self,
        team: &RankView<'_>,
        prepared: &Prepared<'_>,
    ) -> Result<Vec<Move>, MiningError> {
        let table = Centres::new(self.dim, &self.centres);
        let least = self.masses.iter().copied().fold(f64::INFINITY, f64::min);
        let mut scratch = HardScratch::default();
        let join = |mut a: Vec<Move>, b: Vec<Move>| {
            a.extend(b);
            a
        };
        let (tree, blocks) = (&prepared.tree, &prepared.blocks);
        let found = blocks
            .reduce(
                team,
                |tiles, range| {
                    let first = blocks.first_row(&range);
                    let all = table.label::<true>(team.instructions, tiles, range, &mut scratch);
                    let mut moves = Vec::new();
                    for (i, &from) in all.labels.iter().enumerate() {
                        let from = from as usize;
                        let (point, weight) = tree.row(first + i);
                        // No move gains more than one to a cluster of least mass would.
                        let reach = self.leave(from, weight) * (1.0 + weight / least);
                        if all.seconds[i] < all.squares[i] * reach
                            && self.better(point, weight, from).is_some()
                        {
                            moves.push(Move {
                                row: first + i,
                                from,
                            });
                        }
                    }
                    moves
                },
                join,
            )
            .await?;
        Ok(found.unwrap_or_default())
    }

    /// The factor on the squared distance that leaving a cluster saves. Zero for the only point.
    fn leave(&self, from: usize, weight: f64) -> f64 {
        let rest = self.masses[from] - weight;
        if rest > 1e-12 * self.masses[from] {
            self.masses[from] / rest
        } else {
            0.0
        }
    }

    /// The cluster to which a point of `from` moves with the greatest gain, if any gains.
    fn better(&self, point: &[f64], weight: f64, from: usize) -> Option<usize> {
        let saved = self.square(point, from) * self.leave(from, weight);
        let mut best = (None, saved * (1.0 - 1e-9));
        for to in (0..self.masses.len()).filter(|&to| to != from) {
            let cost = self.square(point, to) * (self.masses[to] / (self.masses[to] + weight));
            if cost < best.1 {
                best = (Some(to), cost);
            }
        }
        best.0
    }

    fn square(&self, point: &[f64], cluster: usize) -> f64 {
        let centre = &self.centres[cluster * self.dim..][..self.dim];
        point
            .iter()
            .zip(centre)
            .map(|(a, b)| (a - b) * (a - b))
            .sum()
    }

    fn carry_out(&mut self, point: &[f64], weight: f64, from: usize, to: usize) {
        for (cluster, weight) in [(from, -weight), (to, weight)] {
            self.masses[cluster] += weight;
            let step = weight / self.masses[cluster];
            let centre = &mut self.centres[cluster * self.dim..][..self.dim];
            centre
                .iter_mut()
                .zip(point)
                .for_each(|(y, x)| *y += step * (x - *y));
        }
    }
}
