//! Temperature zero: every row belongs to its nearest centre. All sums are whole numbers.

use super::Bits;
use super::kernel::{ByRow, Table};
use super::passes::{Cluster, Field};
use super::tiles::ROWS;
use crate::MiningError;
use crate::lanes::run;

/// Steps at the present pace after which an iteration gives up.
const HOPELESS: f64 = 30.0;

/// Rows in clusters: labels of this rank's rows, and what all rows add up to.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Hard {
    pub(super) labels: Vec<u32>,
    pub(super) sizes: Vec<i64>,
    /// Per cluster and column the number of rows that have the bit.
    pub(super) counts: Vec<i64>,
    /// Σ |x - y|² with y the mean of the cluster.
    pub(super) inertia: f64,
}

impl Hard {
    pub(super) fn clusters(&self) -> usize {
        self.sizes.len()
    }

    pub(super) fn counts_of(&self, cluster: usize) -> &[i64] {
        let width = self.counts.len() / self.sizes.len();
        &self.counts[cluster * width..][..width]
    }

    /// The means.
    pub(super) fn means(&self, field: &Field<'_>) -> Vec<Cluster> {
        let rows = field.bits.len() as f64;
        (0..self.clusters())
            .map(|k| {
                let size = self.sizes[k] as f64;
                let values = self.counts_of(k).iter().map(|count| *count as f64 / size);
                field.cluster(size / rows, values)
            })
            .collect()
    }
}

/// Σ |x - y|² of a cluster is its set bits minus this.
pub(super) fn saved(counts: &[i64], size: i64) -> f64 {
    // Products of whole numbers below 2⁵³ would be exact; the sum is the same everywhere anyway.
    let square: f64 = counts
        .iter()
        .map(|count| (*count as f64) * (*count as f64))
        .sum();
    if size > 0 { square / size as f64 } else { 0.0 }
}

impl Field<'_> {
    /// Assigns all rows to the nearest centres, the first of equals.
    pub(super) async fn assign(&self, centres: &[Cluster]) -> Result<Hard, MiningError> {
        let labels = self.labels(centres, |_, _| ());
        self.gathered(labels, centres.len()).await
    }

    /// The nearest centre of each of this rank's rows; `see` gets each row's sums.
    pub(super) fn labels(
        &self,
        centres: &[Cluster],
        mut see: impl FnMut(usize, &[f64]),
    ) -> Vec<u32> {
        let (table, double) = (self.centres(centres), self.double());
        let mut sums = Table::new(centres.len(), ROWS);
        let mut near = vec![0.0; centres.len()];
        let mut labels = Vec::with_capacity(self.rows.len());
        for tile in &self.tiles {
            run(self.team.instructions, ByRow(tile, &table, &mut sums));
            for row in 0..tile.len() {
                for (k, (near, centre)) in near.iter_mut().zip(centres).enumerate() {
                    *near = double * f64::from(sums.get(row, k)) - centre.square;
                }
                let mut best = 0;
                for (k, value) in near.iter().enumerate() {
                    if *value > near[best] {
                        best = k;
                    }
                }
                see(tile.first + row, &near);
                labels.push(best as u32);
            }
        }
        labels
    }

    /// Adds up clusters of which each rank knows its own rows' labels.
    pub(super) async fn gathered(&self, labels: Vec<u32>, k: usize) -> Result<Hard, MiningError> {
        let width = self.bits.width();
        let mut sums = vec![0_i64; k * (width + 1)];
        for (tile, labels) in self.tiles.iter().zip(labels.chunks(ROWS)) {
            for (row, label) in labels.iter().enumerate() {
                let first = *label as usize * (width + 1);
                sums[first] += 1;
                for column in tile.columns(row) {
                    sums[first + 1 + usize::from(*column)] += 1;
                }
            }
        }
        let sums = self.sum(sums).await?;
        let parts = sums.chunks_exact(width + 1);
        let sizes: Vec<i64> = parts.clone().map(|part| part[0]).collect();
        let counts: Vec<i64> = parts.flat_map(|part| &part[1..]).copied().collect();
        let saved: f64 = counts
            .chunks_exact(width)
            .zip(&sizes)
            .map(|(counts, size)| saved(counts, *size))
            .sum();
        Ok(Hard {
            labels,
            sizes,
            counts,
            inertia: self.ones as f64 - saved,
        })
    }

    /// Means and assignments in turn until the inertia does not fall; gives up where it cannot
    /// come below `target`. Counts passes over the rows times clusters in `work`.
    ///
    /// A cluster that has lost its rows gets the row that is farthest from its centre.
    pub(super) async fn settle(
        &self,
        mut centres: Vec<Cluster>,
        target: f64,
        work: &mut u64,
    ) -> Result<Hard, MiningError> {
        let mut best: Option<Hard> = None;
        loop {
            let mut found = self.assign(&centres).await?;
            *work += centres.len() as u64;
            for k in 0..found.clusters() {
                if found.sizes[k] == 0 {
                    found = self.refill(found, k).await?;
                }
            }
            let before = best.as_ref().map_or(f64::INFINITY, |best| best.inertia);
            let gain = before - found.inertia;
            if gain <= 0.0 {
                break;
            }
            let hopeless = found.inertia - target > gain * HOPELESS;
            centres = found.means(self);
            best = Some(found);
            if hopeless {
                break;
            }
        }
        best.ok_or(MiningError::FewDistinctPoints {
            clusters: centres.len(),
            distinct: 0,
        })
    }

    /// Gives an empty cluster the row that is farthest from the mean of its cluster.
    pub(super) async fn refill(&self, mut found: Hard, empty: usize) -> Result<Hard, MiningError> {
        let row = self.far_row(&found).await?;
        if self.rows.contains(&row) {
            found.labels[row - self.rows.start] = empty as u32;
        }
        let k = found.clusters();
        self.gathered(found.labels, k).await
    }

    /// The row that is farthest from the mean of its own cluster, the first of equals.
    pub(super) async fn far_row(&self, found: &Hard) -> Result<usize, MiningError> {
        let means = found.means(self);
        let mut best = (f64::MIN, 0_u64);
        self.labels(&means, |row, near| {
            let label = found.labels[row - self.rows.start] as usize;
            let value = self.bits.ones(row) as f64 - near[label];
            if value > best.0 && found.sizes[label] > 1 {
                best = (value, row as u64);
            }
        });
        Ok(self.best(vec![best]).await?[0])
    }
}

/// |y|² of a centre.
pub(super) fn square(centre: &[f64]) -> f64 {
    centre.iter().map(|y| y * y).sum()
}

/// The squared distance of a row from a centre whose square is `square`, less the row's own bits.
pub(super) fn apart(bits: &Bits, row: usize, centre: &[f64], square: f64) -> f64 {
    let both: f64 = bits.columns(row).map(|column| centre[column]).sum();
    square - 2.0 * both
}

/// The nearest of some centres of each row, without a field.
pub(super) fn nearest(bits: &Bits, width: usize, centres: &[f64]) -> Vec<u32> {
    let squares: Vec<f64> = centres.chunks_exact(width).map(square).collect();
    (0..bits.len())
        .map(|row| {
            let mut best = (0, f64::INFINITY);
            for (k, (centre, square)) in centres.chunks_exact(width).zip(&squares).enumerate() {
                let value = apart(bits, row, centre, *square);
                if value < best.1 {
                    best = (k as u32, value);
                }
            }
            best.0
        })
        .collect()
}
