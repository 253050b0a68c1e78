//! What clustering of bits gives back.

use super::Bits;
use super::hard::nearest;
use crate::DataError;
use crate::clustering::TraceStep;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// What [`BitAnnealing::fit`](crate::BitAnnealing::fit) and
/// [`BitKMeans::fit`](crate::BitKMeans::fit) find. Every field but `rows` and `labels` is the same
/// on all ranks.
///
/// Clusters are numbered by their first rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct BitClustering {
    /// The number of columns.
    pub width: usize,
    /// The rows whose labels are here.
    pub rows: Range<usize>,
    /// The cluster of each of these rows.
    pub labels: Vec<u32>,
    /// The number of rows in each cluster, of all ranks.
    pub sizes: Vec<usize>,
    /// Per cluster and column the share of its rows that have the bit, `width` numbers per
    /// cluster.
    pub centres: Vec<f64>,
    /// The sum over all rows of the squared distance from the centre.
    pub inertia: f64,
    /// The temperatures in order; empty for K-means.
    pub trace: Vec<TraceStep>,
    /// The work done: passes over the rows times clusters.
    pub cluster_iterations: u64,
    /// The columns that are the same in every row.
    pub constant_columns: Vec<usize>,
    /// The number of rows without a set bit.
    pub empty_rows: usize,
}

impl BitClustering {
    /// The number of clusters.
    pub fn clusters(&self) -> usize {
        self.sizes.len()
    }

    /// The centre of one cluster.
    ///
    /// # Panics
    ///
    /// If there is no such cluster.
    pub fn centre(&self, cluster: usize) -> &[f64] {
        &self.centres[cluster * self.width..][..self.width]
    }

    /// The cluster whose centre is nearest to each row of `bits`, the first of equals.
    ///
    /// # Errors
    ///
    /// [`DataError::Columns`] if rows have not as many columns as the centres.
    pub fn predict(&self, bits: &Bits) -> Result<Vec<u32>, DataError> {
        match bits.width() == self.width {
            true => Ok(nearest(bits, self.width, &self.centres)),
            false => Err(DataError::Columns {
                columns: bits.width(),
                fitted: self.width,
            }),
        }
    }

    /// Joins the parts of all ranks, in rank order; `None` if there are no parts or one does not
    /// follow the one before.
    pub fn join(parts: impl IntoIterator<Item = BitClustering>) -> Option<BitClustering> {
        let mut parts = parts.into_iter();
        let mut whole = parts.next()?;
        for part in parts {
            if part.rows.start != whole.rows.end {
                return None;
            }
            whole.rows.end = part.rows.end;
            whole.labels.extend(part.labels);
        }
        Some(whole)
    }
}
