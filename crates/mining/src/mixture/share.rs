//! One rank's rows, and the sums over the rows of all ranks.

use super::kernel::{From, Shares, Sums};
use super::model::{Covariance, Factors};
use super::rows::{ROWS, Scratch, Tiles};
use crate::lanes::run;
use crate::power::power_of_two_above;
use crate::rank_view::RankView;
use crate::{MiningError, Points};
use std::f64::consts::LN_2;
use std::ops::Range;

/// What one rank has of the data.
pub(super) struct Share<'a> {
    pub(super) team: &'a RankView<'a>,
    pub(super) points: &'a Points,
    pub(super) middle: Vec<f64>,
    blocks: Vec<Tiles>,
    /// The block that is the first of `blocks`.
    first: usize,
    pub(super) rows: Range<usize>,
}

/// Where the shares of all rows come from.
#[derive(Clone, Copy)]
pub(super) enum Source<'a> {
    Model(&'a Factors),
    Labels(&'a [u32]),
}

impl<'a> Share<'a> {
    pub(super) async fn new(
        team: &'a RankView<'a>,
        points: &'a Points,
    ) -> Result<Share<'a>, MiningError> {
        let (dim, rows) = (points.dim(), points.len());
        let count = rows.div_ceil(ROWS);
        let block = |block: usize| block * ROWS..((block + 1) * ROWS).min(rows);
        // Weights may be in any unit. A power of two changes no bit.
        let most = |weights: &[f64]| weights.iter().copied().fold(0.0, f64::max);
        let unit = points
            .weights()
            .map_or(1.0, |w| power_of_two_above(most(w)));
        let weight = |row: usize| points.weight(row) / unit;
        let sums = |number: usize| {
            let mut sums = vec![0.0; dim + 1];
            for row in block(number) {
                let weight = weight(row);
                sums[0] += weight;
                for (sum, value) in sums[1..].iter_mut().zip(points.row(row)) {
                    *sum += weight * value;
                }
            }
            sums
        };
        let sums = team.sum(count, sums).await?;
        let middle: Vec<f64> = sums[1..].iter().map(|sum| sum / sums[0]).collect();
        let own = team.share(count);
        let blocks = own.clone().map(|number| {
            let shifted: Vec<f64> = block(number)
                .flat_map(|row| points.row(row).iter().zip(&middle).map(|(x, m)| x - m))
                .collect();
            let weights = block(number).map(|row| weight(row) / sums[0] * rows as f64);
            Tiles::new(dim, &shifted, &weights.collect::<Vec<_>>())
        });
        Ok(Share {
            team,
            points,
            blocks: blocks.collect(),
            first: own.start,
            rows: own.start * ROWS..(own.end * ROWS).min(rows),
            middle,
        })
    }

    /// The sums of all blocks of all ranks.
    pub(super) async fn sums(
        &self,
        kind: Covariance,
        around: &[f64],
        source: Source<'_>,
    ) -> Result<Vec<f64>, MiningError> {
        let mut scratch = Scratch::default();
        let of_block = |block: usize| {
            let from = match source {
                Source::Model(factors) => From::Model(factors),
                Source::Labels(labels) => {
                    let end = ((block + 1) * ROWS).min(labels.len());
                    From::Labels(&labels[block * ROWS..end])
                }
            };
            let sums = Sums {
                tiles: &self.blocks[block - self.first],
                around,
                from,
                triangle: kind.triangle(),
                scratch: &mut scratch,
            };
            run(self.team.instructions, sums)
        };
        let count = self.points.len().div_ceil(ROWS);
        self.team.sum(count, of_block).await
    }

    /// Refuses a column whose sums, with or without those of `products`, are not finite.
    pub(super) fn fits(
        &self,
        kind: Covariance,
        components: usize,
        sums: &[f64],
        products: bool,
    ) -> Result<(), MiningError> {
        match kind.beyond(self.points.dim(), components, sums, products) {
            Some(column) => Err(MiningError::Data(self.points.too_large(column))),
            None => Ok(()),
        }
    }

    /// The mean of ln p, and the component of each own row.
    pub(super) async fn assign(
        &self,
        means: &[f64],
        factors: &Factors,
    ) -> Result<(f64, Vec<u32>), MiningError> {
        let (mut scratch, mut labels) = (Scratch::default(), Vec::new());
        let components = means.len() / self.points.dim();
        let of_block = |block: usize| {
            let tiles = &self.blocks[block - self.first];
            let shares = Shares {
                tiles,
                means,
                factors,
                scratch: &mut scratch,
            };
            let sum = run(self.team.instructions, shares);
            let rows = ((block + 1) * ROWS).min(self.points.len()) - block * ROWS;
            labels.extend((0..rows).map(|row| scratch.largest(components, row) as u32));
            vec![sum]
        };
        let count = self.points.len().div_ceil(ROWS);
        let sums = self.team.sum(count, of_block).await?;
        Ok((sums[0] * LN_2 / self.points.len() as f64, labels))
    }
}
