//! Passes over all rows, divided among the ranks by tiles.

use super::Bits;
use super::kernel::{ByColumn, ByRow, FINE, FINER, GROUP, Shares, Table, WHOLE, total};
use super::tiles::{ROWS, Tile, tiles};
use crate::MiningError;
use crate::lanes::{log2_of, run};
use crate::rank_view::RankView;
use serde::{Deserialize, Serialize};
use std::f64::consts::{LN_2, LOG2_E};
use std::ops::Range;

/// This rank's share of the rows.
pub(super) struct Field<'a> {
    pub(super) team: &'a RankView<'a>,
    pub(super) bits: &'a Bits,
    pub(super) rows: Range<usize>,
    pub(super) tiles: Vec<Tile>,
    /// Set bits of all rows, and of the row that has most.
    pub(super) ones: u64,
    most: usize,
    /// What 1 is in a table of centres.
    step: f64,
}

/// One cluster: its mass and where it is.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Cluster {
    /// The share of all rows.
    pub(super) mass: f64,
    /// Per column a whole number of steps.
    pub(super) centre: Vec<i32>,
    /// |y|².
    pub(super) square: f64,
    /// The direction of the largest variance.
    pub(super) direction: Vec<f64>,
    pub(super) variance: f64,
    /// The fourth moment along the direction.
    pub(super) fourth: f64,
}

/// What a pass at a temperature gives.
pub(super) struct Expectation {
    pub(super) free_energy: f64,
    /// The share of the weight that is not with one cluster.
    pub(super) softness: f64,
    /// Sums of shares, in steps.
    pub(super) masses: Vec<i64>,
    pub(super) moments: Vec<[i64; GROUP]>,
}

/// A temperature, and the power by which masses count.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Heat {
    pub(super) temperature: f64,
    pub(super) power: f64,
}

impl<'a> Field<'a> {
    pub(super) fn new(team: &'a RankView<'a>, bits: &'a Bits) -> Field<'a> {
        let share = team.share(bits.len().div_ceil(ROWS));
        let end = bits.len().min(share.end * ROWS);
        let rows = end.min(share.start * ROWS)..end;
        let ones = (0..bits.len()).map(|row| bits.ones(row));
        let (all, most) = ones.fold((0, 1), |(all, most), ones| {
            (all + ones as u64, most.max(ones))
        });
        Field {
            team,
            bits,
            tiles: tiles(bits, rows.clone()),
            rows,
            ones: all,
            most,
            step: step_of(most),
        }
    }

    /// Adds numbers of all ranks; all leave together if one is to stop.
    pub(super) async fn sum(&self, mine: Vec<i64>) -> Result<Vec<i64>, MiningError> {
        let cancelled = self.team.control.is_cancelled();
        self.team.sum_whole(cancelled, mine).await
    }

    /// Of each place the row with the largest value on any rank, the first of equals.
    pub(super) async fn best(&self, mine: Vec<(f64, u64)>) -> Result<Vec<usize>, MiningError> {
        let most = |a: Vec<(f64, u64)>, b: Vec<(f64, u64)>| {
            let pairs = a.into_iter().zip(b);
            pairs.map(|(a, b)| if b.0 > a.0 { b } else { a }).collect()
        };
        let best = self.team.comm.allreduce(mine, most).await?;
        Ok(best.into_iter().map(|(_, row)| row as usize).collect())
    }

    /// The nearest whole numbers of steps, and the square of the centre that they make.
    pub(super) fn centre(&self, values: impl Iterator<Item = f64>) -> (Vec<i32>, f64) {
        let whole: Vec<i32> = values
            .map(|value| (value.clamp(0.0, 1.0) * self.step).round_ties_even() as i32)
            .collect();
        let square = whole
            .iter()
            .map(|y| (f64::from(*y) / self.step) * (f64::from(*y) / self.step));
        let square = square.sum();
        (whole, square)
    }

    /// Where a centre is.
    pub(super) fn place(&self, centre: &[i32]) -> impl Iterator<Item = f64> {
        centre.iter().map(|y| f64::from(*y) / self.step)
    }

    pub(super) fn cluster(&self, mass: f64, values: impl Iterator<Item = f64>) -> Cluster {
        let (centre, square) = self.centre(values);
        Cluster {
            mass,
            direction: Vec::new(),
            variance: 0.0,
            fourth: 0.0,
            centre,
            square,
        }
    }

    fn table<C: AsRef<[i32]>>(&self, centres: impl ExactSizeIterator<Item = C>) -> Table {
        let mut table = Table::new(centres.len(), self.bits.width());
        for (k, centre) in centres.enumerate() {
            for (column, value) in centre.as_ref().iter().enumerate() {
                table.set(column, k, *value);
            }
        }
        table
    }

    /// The totals that columns add up in.
    fn totals(&self, clusters: usize) -> Vec<[i64; GROUP]> {
        vec![[0; GROUP]; clusters.div_ceil(GROUP) * self.bits.width()]
    }

    /// The shares of all rows at a temperature, added up.
    pub(super) async fn expect(
        &self,
        clusters: &[Cluster],
        heat: Heat,
    ) -> Result<Expectation, MiningError> {
        let (k, table) = (clusters.len(), self.centres(clusters));
        let base = base(clusters, heat);
        let fine = self.fine(&base, heat);
        let mut shares = Table::new(k, ROWS);
        let mut totals = self.totals(k);
        let (mut logs, mut largest, mut masses) = (0, 0, vec![0; k]);
        for tile in &self.tiles {
            let task = Shares {
                base: &base,
                step: self.factor(heat),
                fine,
                tile,
                table: &table,
                shares: &mut shares,
                totals: &mut totals,
                add: true,
            };
            let found = run(self.team.instructions, task);
            logs += found.logs;
            largest += found.largest;
            masses
                .iter_mut()
                .zip(found.masses)
                .for_each(|(a, b)| *a += b);
        }
        let head = [logs, largest].into_iter().chain(masses);
        let sums = self
            .sum(head.chain(totals.into_iter().flatten()).collect())
            .await?;
        let rows = self.bits.len() as f64;
        let logs = sums[0] as f64 / fine / rows;
        Ok(Expectation {
            free_energy: self.ones as f64 / rows - heat.temperature * LN_2 * logs,
            softness: 1.0 - sums[1] as f64 / FINE / rows,
            masses: sums[2..2 + k].to_vec(),
            moments: sums[2 + k..].as_chunks().0.to_vec(),
        })
    }

    pub(super) fn centres(&self, clusters: &[Cluster]) -> Table {
        self.table(clusters.iter().map(|cluster| cluster.centre.as_slice()))
    }

    /// What one step of a row's sum adds to its exponents.
    fn factor(&self, heat: Heat) -> f64 {
        2.0 * LOG2_E / heat.temperature / self.step
    }

    /// The step of log₂ Z, a power of two, the same on all ranks: [`FINE`], or a coarser one where
    /// the sum over all rows might leave the whole numbers, as at the lowest temperatures.
    pub(super) fn fine(&self, base: &[f64], heat: Heat) -> f64 {
        // A row has `most` bits at most, and a centre is 1 at most; Z has a term of each cluster.
        let most = base.iter().fold(0.0_f64, |most, term| most.max(term.abs()))
            + 2.0 * LOG2_E / heat.temperature * self.most as f64
            + base.len() as f64;
        let fit = (1_u64 << 62) as f64 / (most * self.bits.len() as f64);
        let power = f64::from_bits(fit.to_bits() & f64::INFINITY.to_bits());
        FINE.min(power)
    }

    /// What one step of a row's sum adds to |y|² - d, times -1.
    pub(super) fn double(&self) -> f64 {
        2.0 / self.step
    }

    /// Follows each cluster's direction v: the variance and the fourth moment along it, and C v.
    pub(super) async fn spread(
        &self,
        clusters: &mut [Cluster],
        heat: Heat,
    ) -> Result<(), MiningError> {
        let k = clusters.len();
        // |t| is at most twice the root of the set bits.
        let reach = 2.0 * (self.most as f64).sqrt();
        let sums = self.sum(self.along(clusters, heat, reach)).await?;
        let (heads, totals) = sums.split_at(4 * k);
        let totals = totals.as_chunks().0;
        let heads = heads.as_chunks::<4>().0;
        for (c, (cluster, head)) in clusters.iter_mut().zip(heads).enumerate() {
            let mass = (head[0] as f64 / WHOLE).max(f64::MIN_POSITIVE);
            let [_, first, second, fourth] = head.map(|sum| sum as f64 / FINER / mass);
            cluster.variance = (second - first * first) * reach * reach;
            cluster.fourth = fourth * reach.powi(4);
            let image: Vec<f64> = (0..self.bits.width())
                .zip(self.place(&cluster.centre))
                .map(|(j, y)| total(totals, k, j, c) as f64 / WHOLE / mass - y * first)
                .collect();
            if let Some(image) = unit(image) {
                cluster.direction = image;
            }
        }
        Ok(())
    }

    /// What this rank's rows add to [`spread`](Field::spread), with t = v (x - y) / `reach`. Per
    /// cluster it is Σ q, Σ q t, Σ q t² and Σ q t⁴, then Σ q t x.
    fn along(&self, clusters: &[Cluster], heat: Heat, reach: f64) -> Vec<i64> {
        let k = clusters.len();
        let finest = f64::from(29 - (self.most as f64).sqrt().log2().ceil() as i32).exp2();
        let (axes, middles) = self.axes(clusters, finest);
        let (table, base) = (self.centres(clusters), base(clusters, heat));
        let fine = self.fine(&base, heat);
        let (mut shares, mut along) = (Table::new(k, ROWS), Table::new(k, ROWS));
        let mut totals = self.totals(k);
        let mut sums = vec![0_i64; 4 * k];
        for tile in &self.tiles {
            let task = Shares {
                base: &base,
                step: self.factor(heat),
                fine,
                tile,
                table: &table,
                shares: &mut shares,
                totals: &mut [],
                add: false,
            };
            let masses = run(self.team.instructions, task).masses;
            run(self.team.instructions, ByRow(tile, &axes, &mut along));
            for row in 0..tile.len() {
                for (c, sums) in sums.as_chunks_mut::<4>().0.iter_mut().enumerate() {
                    let share = f64::from(shares.get(row, c)) / WHOLE;
                    let t = (f64::from(along.get(row, c)) / finest - middles[c]) / reach;
                    let (first, second) = (share * t, share * t * t);
                    shares.set(row, c, (first * WHOLE).round_ties_even() as i32);
                    sums[1] += (first * FINER).round_ties_even() as i64;
                    sums[2] += (second * FINER).round_ties_even() as i64;
                    sums[3] += (second * t * t * FINER).round_ties_even() as i64;
                }
            }
            (0..k).for_each(|c| sums[4 * c] += masses[c]);
            let task = ByColumn(tile, &shares, &mut totals);
            run(self.team.instructions, task);
        }
        sums.extend(totals.into_iter().flatten());
        sums
    }

    /// The directions of all clusters in steps of 1 / `fine`, and what each has at its centre.
    fn axes(&self, clusters: &[Cluster], fine: f64) -> (Table, Vec<f64>) {
        let whole = |v: &f64| (v * fine).round_ties_even() as i32;
        let directions: Vec<Vec<i32>> = clusters
            .iter()
            .map(|cluster| cluster.direction.iter().map(whole).collect())
            .collect();
        let middles = directions.iter().zip(clusters).map(|(v, cluster)| {
            let pairs = v.iter().zip(self.place(&cluster.centre));
            pairs.map(|(v, y)| f64::from(*v) / fine * y).sum()
        });
        let middles = middles.collect();
        (self.table(directions.iter().map(Vec::as_slice)), middles)
    }

    /// Of each cluster the row that has the largest share times squared distance.
    pub(super) async fn farthest(
        &self,
        clusters: &[Cluster],
        heat: Heat,
    ) -> Result<Vec<usize>, MiningError> {
        let (table, base) = (self.centres(clusters), base(clusters, heat));
        let (k, factor) = (clusters.len(), self.factor(heat));
        let mut sums = Table::new(k, ROWS);
        let mut best = vec![(f64::MIN, 0_u64); k];
        for tile in &self.tiles {
            run(self.team.instructions, ByRow(tile, &table, &mut sums));
            let mut terms = vec![0.0; k];
            for row in 0..tile.len() {
                let ones = tile.columns(row).len() as f64;
                for (c, term) in terms.iter_mut().enumerate() {
                    *term = f64::from(sums.get(row, c)).mul_add(factor, base[c]);
                }
                let top = terms.iter().copied().fold(f64::MIN, f64::max);
                for (c, term) in terms
                    .iter()
                    .enumerate()
                    .filter(|(_, term)| *term - top > -1.0)
                {
                    let square =
                        ones - self.double() * f64::from(sums.get(row, c)) + clusters[c].square;
                    let value = square + (*term - top);
                    if value > best[c].0 {
                        best[c] = (value, (tile.first + row) as u64);
                    }
                }
            }
        }
        self.best(best).await
    }
}

/// What 1 is in a table of centres whose rows are summed over as many columns at most.
pub(super) fn step_of(most: usize) -> f64 {
    f64::from((30 - most.ilog2()).min(24)).exp2()
}

/// Per cluster the exponent of two of a row without bits.
fn base(clusters: &[Cluster], heat: Heat) -> Vec<f64> {
    let cold = LOG2_E / heat.temperature;
    clusters
        .iter()
        .map(|c| heat.power * log2_of(c.mass.max(f64::MIN_POSITIVE)) - c.square * cold)
        .collect()
}

/// The vector of length 1, unless it is zero.
pub(super) fn unit(mut vector: Vec<f64>) -> Option<Vec<f64>> {
    let length = vector.iter().map(|v| v * v).sum::<f64>().sqrt();
    if length < 1e-150 {
        return None;
    }
    vector.iter_mut().for_each(|v| *v /= length);
    Some(vector)
}
