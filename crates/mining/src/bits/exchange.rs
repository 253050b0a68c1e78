//! Moving single rows between clusters until no move lowers the inertia.
//!
//! Source: J. A. Hartigan and M. A. Wong, A k-means clustering algorithm, Applied Statistics 28
//! (1979).

use super::hard::{Hard, saved};
use super::passes::Field;
use crate::MiningError;

/// Passes at most.
const PASSES: usize = 50;
/// A gain below this share of the inertia is none.
const ROUNDING: f64 = 1e-12;

impl Field<'_> {
    /// Each pass finds the rows that gain from a move under the present means, on all ranks at
    /// once. Every rank then makes the moves one after the other, each if it still gains.
    pub(super) async fn exchange(
        &self,
        mut found: Hard,
        work: &mut u64,
    ) -> Result<Hard, MiningError> {
        let k = found.clusters();
        if k < 2 {
            return Ok(found);
        }
        for _ in 0..PASSES {
            let moves = self.moves(&found).await?;
            *work += k as u64;
            let mut made = 0;
            for (row, from) in moves {
                made += u64::from(self.try_move(&mut found, row as usize, from as usize));
            }
            if made == 0 {
                break;
            }
            let labels = found.labels;
            found = self.gathered(labels, k).await?;
        }
        Ok(found)
    }

    /// Rows that gain, with their clusters, in the order of rows.
    async fn moves(&self, found: &Hard) -> Result<Vec<(u64, u32)>, MiningError> {
        let means = found.means(self);
        let mut moves = Vec::new();
        self.labels(&means, |row, near| {
            let from = found.labels[row - self.rows.start] as usize;
            if found.sizes[from] < 2 {
                return;
            }
            let ones = self.bits.ones(row) as f64;
            let size = |k: usize| found.sizes[k] as f64;
            let save = (ones - near[from]) * size(from) / (size(from) - 1.0);
            let cost = |k: usize| (ones - near[k]) * size(k) / (size(k) + 1.0);
            let others = (0..near.len()).filter(|k| *k != from);
            if others.map(cost).fold(f64::INFINITY, f64::min) < save {
                moves.push((row as u64, from as u32));
            }
        });
        let cancelled = self.team.control.is_cancelled();
        let all = self.team.comm.allgather((cancelled, moves)).await?;
        if all.iter().any(|part| part.0) {
            return Err(MiningError::Cancelled);
        }
        Ok(all.into_iter().flat_map(|part| part.1).collect())
    }

    /// Moves a row to where it lowers the inertia most, if it does.
    fn try_move(&self, found: &mut Hard, row: usize, from: usize) -> bool {
        let (k, width) = (found.clusters(), self.bits.width());
        let size = found.sizes[from];
        if size < 2 {
            return false;
        }
        let columns: Vec<usize> = self.bits.columns(row).collect();
        let ones = columns.len() as f64;
        // What Σ |counts|²/size becomes by one row more or less, exactly up to rounding.
        let change = |cluster: usize, sign: i64| {
            let counts = found.counts_of(cluster);
            let own: i64 = columns.iter().map(|column| counts[*column]).sum();
            let (n, s) = (found.sizes[cluster] as f64, sign as f64);
            if n == 0.0 {
                return ones;
            }
            let before = saved(counts, found.sizes[cluster]);
            (before * n + s * 2.0 * own as f64 + ones) / (n + s) - before
        };
        let leaving = change(from, -1);
        let mut best = (None, ROUNDING * found.inertia.max(1e-300) - leaving);
        for to in (0..k).filter(|to| *to != from) {
            let gain = change(to, 1);
            if gain > best.1 {
                best = (Some(to), gain);
            }
        }
        let Some(to) = best.0 else {
            return false;
        };
        for (cluster, sign) in [(from, -1), (to, 1)] {
            found.sizes[cluster] += sign;
            for column in &columns {
                found.counts[cluster * width + column] += sign;
            }
        }
        if self.rows.contains(&row) {
            found.labels[row - self.rows.start] = to as u32;
        }
        true
    }
}
