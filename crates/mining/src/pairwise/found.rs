//! What pairwise annealing gives back.

use super::field::{Field, Sums};
use super::freeze::sizes_of;
use crate::MiningError;
use crate::clustering::TraceStep;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// What [`Pairwise::fit`](crate::Pairwise::fit) finds. Every field but `rows` and `labels` is the
/// same on all ranks.
///
/// Clusters are numbered by their first rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PairwiseClustering {
    /// The rows whose labels are here.
    pub rows: Range<usize>,
    /// The cluster of each of these rows.
    pub labels: Vec<u32>,
    /// The number of rows in each cluster, of all ranks.
    pub sizes: Vec<usize>,
    /// The share of the whole weight in each cluster.
    pub masses: Vec<f64>,
    /// Of each cluster the row with the least mean dissimilarity to its members.
    pub medoids: Vec<usize>,
    /// Half the mean dissimilarity of the pairs of each cluster.
    pub mean_costs: Vec<f64>,
    /// The cost: the mean of `mean_costs` by mass.
    pub cost: f64,
    /// The temperatures in order.
    pub trace: Vec<TraceStep>,
    /// The splits in order. The first cluster is number 0; each split makes the next number.
    pub splits: Vec<PairwiseSplit>,
    /// Of each cluster that the splits made, the cluster in which most of its weight ended.
    pub ended: Vec<u32>,
    /// The largest difference of D(i, j) and D(j, i) in the input, of which the mean was used.
    pub asymmetry: f64,
}

/// A cluster has become two: it keeps its number, and a new one begins.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PairwiseSplit {
    /// The number of the cluster, in the order of the splits.
    pub cluster: usize,
    /// Its critical temperature.
    pub critical: f64,
    /// The temperature of the run.
    pub temperature: f64,
}

impl Field<'_> {
    /// The result at temperature zero, without a trace.
    pub(super) async fn found(
        &self,
        (labels, sums): (Vec<usize>, Sums),
    ) -> Result<PairwiseClustering, MiningError> {
        let sizes = sizes_of(sums.masses.len(), &labels);
        let own = labels[self.rows.clone()].iter();
        Ok(PairwiseClustering {
            rows: self.rows.clone(),
            labels: own.map(|label| *label as u32).collect(),
            ended: (0..sizes.len() as u32).collect(),
            sizes,
            medoids: self.medoids(&labels, &sums).await?,
            mean_costs: (0..sums.masses.len()).map(|k| sums.mean_cost(k)).collect(),
            cost: sums.cost(),
            masses: sums.masses,
            trace: Vec::new(),
            splits: Vec::new(),
            asymmetry: self.data.asymmetry(),
        })
    }
}

impl PairwiseClustering {
    /// Joins the parts of all ranks, in rank order; `None` if there are no parts or one does not
    /// follow the one before.
    pub fn join(parts: impl IntoIterator<Item = PairwiseClustering>) -> Option<PairwiseClustering> {
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
