//! From labels at temperature zero to a result: as many clusters as asked for, by their first rows.

use super::BitClustering;
use super::hard::Hard;
use super::passes::Field;
use crate::MiningError;
use crate::clustering::TraceStep;

impl Field<'_> {
    /// Takes out clusters without rows, and makes new ones of the farthest rows until there are
    /// `most` or nothing is far.
    pub(super) async fn complete(&self, found: Hard, most: usize) -> Result<Hard, MiningError> {
        let mut found = self.renumbered(found).await?;
        while found.clusters() < most && found.inertia > 0.0 {
            let k = found.clusters();
            let row = self.far_row(&found).await?;
            if self.rows.contains(&row) {
                found.labels[row - self.rows.start] = k as u32;
            }
            let before = found.inertia;
            found = self.gathered(found.labels, k + 1).await?;
            if found.inertia >= before {
                break;
            }
        }
        Ok(found)
    }

    /// The clusters that have rows, by their first rows.
    async fn renumbered(&self, found: Hard) -> Result<Hard, MiningError> {
        let mut firsts = vec![u64::MAX; found.clusters()];
        for (row, label) in self.rows.clone().zip(&found.labels).rev() {
            firsts[*label as usize] = row as u64;
        }
        let least =
            |a: Vec<u64>, b: Vec<u64>| a.into_iter().zip(b).map(|(a, b)| a.min(b)).collect();
        let firsts: Vec<u64> = self.team.comm.allreduce(firsts, least).await?;
        let mut order: Vec<usize> = (0..firsts.len())
            .filter(|k| firsts[*k] != u64::MAX)
            .collect();
        order.sort_by_key(|k| firsts[*k]);
        let mut numbers = vec![0; firsts.len()];
        for (number, k) in order.iter().enumerate() {
            numbers[*k] = number as u32;
        }
        let labels = found.labels.iter().map(|label| numbers[*label as usize]);
        self.gathered(labels.collect(), order.len()).await
    }

    pub(super) async fn finish(
        &self,
        found: Hard,
        trace: Vec<TraceStep>,
        work: u64,
    ) -> Result<BitClustering, MiningError> {
        let found = self.renumbered(found).await?;
        let sizes: Vec<usize> = found.sizes.iter().map(|size| *size as usize).collect();
        let width = self.bits.width();
        let counts = found.counts.iter().enumerate();
        let centres = counts.map(|(at, count)| *count as f64 / sizes[at / width] as f64);
        Ok(BitClustering {
            width,
            rows: self.rows.clone(),
            centres: centres.collect(),
            labels: found.labels,
            sizes,
            inertia: found.inertia,
            trace,
            cluster_iterations: work,
            constant_columns: self.bits.constant_columns().to_vec(),
            empty_rows: self.bits.empty_rows(),
        })
    }
}
