//! Soft assignment: every point belongs to every centre in part, the more the nearer.
//!
//! With masses Pₖ, centres yₖ and temperature T the share of point x in centre k is
//! Pₖ exp(-|x - yₖ|²/T) / Z(x). Kernels work with powers of two: log₂ Pₖ - |x - yₖ|² log₂e / T.

mod kernel;

use crate::MiningError;
use crate::blocks::Blocks;
use crate::lanes::{F64x8, Instructions, LANES, log2_of, run_columns};
use crate::rank_view::RankView;
use crate::tiles::Tiles;
pub(crate) use kernel::SoftScratch;
use kernel::{Axes, Sums};
use std::f64::consts::{LN_2, LOG2_E};
use std::ops::Range;

/// Centres and masses at a temperature, as the kernels read them.
#[derive(Debug, Default)]
pub(crate) struct SoftModel {
    dim: usize,
    temperature: f64,
    /// log₂e / T.
    inverse: f64,
    /// Per centre log₂ of the mass, then coordinates.
    centres: Vec<f64>,
    /// The same, eight centres at a time; those that fill up the last eight weigh nothing.
    groups: Vec<F64x8>,
}

/// What one pass over the data gives.
#[derive(Debug)]
pub(crate) struct Expectation {
    /// F = -T Σ w ln Z.
    pub(crate) free_energy: f64,
    /// 1 - Σ w max q: the weight that does not sit with one centre.
    pub(crate) softness: f64,
    dim: usize,
    /// What the kernel gives.
    sums: Vec<f64>,
}

impl Expectation {
    /// Per centre Σ w q, and Σ w q x of each column.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (f64, &[f64])> {
        let rows = self.sums[2..].chunks_exact(self.dim + 1);
        rows.map(|row| (row[0], &row[1..]))
    }
}

impl SoftModel {
    /// `centres` gives the mass and the coordinates of each.
    pub(crate) fn new<C: AsRef<[f64]>>(
        dim: usize,
        temperature: f64,
        centres: impl ExactSizeIterator<Item = (f64, C)>,
    ) -> SoftModel {
        let mut model = SoftModel::default();
        model.set(dim, temperature, centres);
        model
    }

    /// Becomes what [`new`](SoftModel::new) makes, in the memory that is there.
    pub(crate) fn set<C: AsRef<[f64]>>(
        &mut self,
        dim: usize,
        temperature: f64,
        centres: impl ExactSizeIterator<Item = (f64, C)>,
    ) {
        let groups = centres.len().div_ceil(LANES);
        self.groups.clear();
        self.groups.resize(groups * (dim + 1), F64x8::default());
        for group in self.groups.chunks_exact_mut(dim + 1) {
            group[0] = F64x8::splat(f64::NEG_INFINITY);
        }
        self.centres.clear();
        for (k, (mass, centre)) in centres.enumerate() {
            self.centres.push(log2_of(mass));
            self.centres.extend_from_slice(centre.as_ref());
            let group = &mut self.groups[k / LANES * (dim + 1)..][..dim + 1];
            for (lanes, &value) in group.iter_mut().zip(&self.centres[k * (dim + 1)..]) {
                lanes[k % LANES] = value;
            }
        }
        self.dim = dim;
        self.temperature = temperature;
        self.inverse = LOG2_E / temperature;
    }

    /// The number of centres.
    pub(crate) fn len(&self) -> usize {
        self.centres.len() / (self.dim + 1)
    }

    /// One expectation step, and the sums for the maximisation step.
    pub(crate) async fn expect(
        &self,
        team: &RankView<'_>,
        blocks: &Blocks,
        scratch: &mut SoftScratch,
    ) -> Result<Expectation, MiningError> {
        let sums = blocks
            .sum(team, |tiles, range, sums| {
                self.sums(team.instructions, tiles, range, scratch, sums);
            })
            .await?;
        Ok(self.expectation(sums))
    }

    /// Fills `sums` with what some tiles add to those of an expectation step.
    pub(crate) fn sums(
        &self,
        instructions: Instructions,
        tiles: &Tiles,
        range: Range<usize>,
        scratch: &mut SoftScratch,
        sums: &mut Vec<f64>,
    ) {
        let task = Sums {
            tiles,
            range,
            model: self,
            scratch,
            sums,
        };
        run_columns(instructions, self.dim, task);
    }

    /// What [`sums`](SoftModel::sums) of all tiles, added up, say.
    pub(crate) fn expectation(&self, sums: Vec<f64>) -> Expectation {
        Expectation {
            free_energy: -self.temperature * LN_2 * sums[0],
            softness: 1.0 - sums[1],
            dim: self.dim,
            sums,
        }
    }

    /// How many numbers [`sums`](SoftModel::sums) are.
    pub(crate) fn sums_len(&self) -> usize {
        2 + self.len() * (self.dim + 1)
    }

    /// How the points of each centre spread along directions of its own, as many for each, of `dim`
    /// coordinates. First per centre the mass Σ w q. Then per direction v, with t = (x - y)·v, the
    /// `dim` numbers Σ w q t (x - y) and Σ w q t⁴. Every rank gets the same.
    pub(crate) async fn spread(
        &self,
        team: &RankView<'_>,
        blocks: &Blocks,
        scratch: &mut SoftScratch,
        directions: &[f64],
    ) -> Result<Vec<f64>, MiningError> {
        blocks
            .sum(team, |tiles, range, sums| {
                let task = Axes {
                    tiles,
                    range,
                    model: self,
                    directions,
                    scratch,
                    sums,
                };
                run_columns(team.instructions, self.dim, task);
            })
            .await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lanes::FLUSH;
    use proptest::prelude::*;

    /// Rows, weights, masses, centres and a temperature.
    #[derive(Debug, Clone)]
    struct Case {
        dim: usize,
        rows: Vec<f64>,
        weights: Vec<f64>,
        masses: Vec<f64>,
        centres: Vec<f64>,
        temperature: f64,
    }

    impl Case {
        fn model(&self) -> SoftModel {
            let centres = self
                .masses
                .iter()
                .copied()
                .zip(self.centres.chunks_exact(self.dim));
            SoftModel::new(self.dim, self.temperature, centres)
        }

        fn tiles(&self) -> Tiles {
            let rows = self
                .rows
                .chunks_exact(self.dim)
                .zip(self.weights.iter().copied());
            Tiles::new(self.dim, rows)
        }

        /// The shares of one row, and log₂ Z: the formulae as they stand.
        fn shares(&self, row: &[f64]) -> (Vec<f64>, f64) {
            let exponents: Vec<f64> = self
                .masses
                .iter()
                .zip(self.centres.chunks_exact(self.dim))
                .map(|(mass, centre)| {
                    let square: f64 = row.iter().zip(centre).map(|(x, y)| (x - y) * (x - y)).sum();
                    mass.log2() - square / self.temperature * LOG2_E
                })
                .collect();
            let top = exponents.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let term = |e: &f64| {
                if e - top < FLUSH {
                    0.0
                } else {
                    (e - top).exp2()
                }
            };
            let terms: Vec<f64> = exponents.iter().map(term).collect();
            let total: f64 = terms.iter().sum();
            (
                terms.iter().map(|term| term / total).collect(),
                top + total.log2(),
            )
        }

        /// The plain twin of [`Sums`].
        fn sums(&self) -> Vec<f64> {
            let mut sums = vec![0.0; 2 + self.masses.len() * (1 + self.dim)];
            for (row, weight) in self.rows.chunks_exact(self.dim).zip(&self.weights) {
                let (shares, whole) = self.shares(row);
                sums[0] += weight * whole;
                sums[1] += weight * shares.iter().copied().fold(0.0, f64::max);
                for (share, sums) in shares.iter().zip(sums[2..].chunks_exact_mut(1 + self.dim)) {
                    sums[0] += weight * share;
                    sums[1..]
                        .iter_mut()
                        .zip(row)
                        .for_each(|(s, x)| *s += weight * share * x);
                }
            }
            sums
        }

        /// The plain twin of [`Axes`].
        fn axes(&self, directions: &[f64]) -> Vec<f64> {
            let axes = directions.len() / self.centres.len();
            let width = 1 + axes * (self.dim + 1);
            let mut sums = vec![0.0; self.masses.len() * width];
            for (row, weight) in self.rows.chunks_exact(self.dim).zip(&self.weights) {
                let (shares, _) = self.shares(row);
                for (k, share) in shares.iter().enumerate() {
                    let centre = &self.centres[k * self.dim..][..self.dim];
                    let apart: Vec<f64> = row.iter().zip(centre).map(|(x, y)| x - y).collect();
                    let sums = &mut sums[k * width..][..width];
                    sums[0] += weight * share;
                    for axis in 0..axes {
                        let direction = &directions[(k * axes + axis) * self.dim..][..self.dim];
                        let t: f64 = apart.iter().zip(direction).map(|(a, v)| a * v).sum();
                        let sums = &mut sums[1 + axis * (self.dim + 1)..][..self.dim + 1];
                        for (sum, a) in sums.iter_mut().zip(&apart) {
                            *sum += weight * share * t * a;
                        }
                        sums[self.dim] += weight * share * t.powi(4);
                    }
                }
            }
            sums
        }

        /// The sums by the code for `columns` columns.
        fn fast(&self, columns: usize, instructions: Instructions, tiles: &Tiles) -> Vec<f64> {
            let mut sums = Vec::new();
            let task = Sums {
                tiles,
                range: 0..tiles.len(),
                model: &self.model(),
                scratch: &mut SoftScratch::default(),
                sums: &mut sums,
            };
            run_columns(instructions, columns, task);
            sums
        }

        /// The same of [`Axes`].
        fn fast_axes(
            &self,
            columns: usize,
            instructions: Instructions,
            directions: &[f64],
        ) -> Vec<f64> {
            let (tiles, mut sums) = (self.tiles(), Vec::new());
            let task = Axes {
                tiles: &tiles,
                range: 0..tiles.len(),
                model: &self.model(),
                directions,
                scratch: &mut SoftScratch::default(),
                sums: &mut sums,
            };
            run_columns(instructions, columns, task);
            sums
        }
    }

    fn cases(dims: std::ops::Range<usize>) -> impl Strategy<Value = Case> {
        (dims, 1_usize..200, 1_usize..20, -12.0_f64..3.0).prop_flat_map(|(dim, n, k, heat)| {
            let coordinates = |rows: usize| prop::collection::vec(-1.0_f64..1.0, rows * dim);
            let weights = prop::collection::vec(prop_oneof![Just(0.0), 0.1_f64..2.0], n);
            let masses = prop::collection::vec(1e-6_f64..1.0, k);
            (coordinates(n), weights, masses, coordinates(k)).prop_map(
                move |(rows, weights, masses, centres)| {
                    let temperature = heat.exp2();
                    Case {
                        dim,
                        rows,
                        weights,
                        masses,
                        centres,
                        temperature,
                    }
                },
            )
        })
    }

    fn close(fast: &[f64], plain: &[f64]) -> Result<(), TestCaseError> {
        prop_assert_eq!(fast.len(), plain.len());
        for (i, (a, b)) in fast.iter().zip(plain).enumerate() {
            // Exponents at the lowest temperatures are in the tens of thousands.
            prop_assert!(
                (a - b).abs() <= 1e-9 * (1.0 + b.abs()),
                "sum {i}: {a} and {b}"
            );
        }
        Ok(())
    }

    fn bits(sums: &[f64]) -> Vec<u64> {
        sums.iter().map(|sum| sum.to_bits()).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn sums_are_those_of_the_plain_twin(case in cases(1..12)) {
            close(&case.fast(0, Instructions::best(), &case.tiles()), &case.sums())?;
        }

        #[test]
        fn axes_are_those_of_the_plain_twin(case in cases(1..12), axes in 1_usize..4) {
            let directions: Vec<f64> =
                (0..axes).flat_map(|_| case.centres.iter().rev().copied()).collect();
            let fast = case.fast_axes(0, Instructions::best(), &directions);
            close(&fast, &case.axes(&directions))?;
        }

        #[test]
        fn every_form_gives_the_same_bits(case in cases(1..5)) {
            let tiles = case.tiles();
            let expected = bits(&case.fast(0, Instructions::Plain, &tiles));
            for instructions in Instructions::available() {
                for columns in [0, case.dim] {
                    let here = case.fast(columns, instructions, &tiles);
                    prop_assert_eq!(&bits(&here), &expected, "{:?}, {}", instructions, columns);
                }
            }
        }

        #[test]
        fn every_form_of_axes_gives_the_same_bits(case in cases(1..5), axes in 1_usize..4) {
            let directions: Vec<f64> =
                (0..axes).flat_map(|_| case.centres.iter().rev().copied()).collect();
            let sums = |columns, instructions| {
                bits(&case.fast_axes(columns, instructions, &directions))
            };
            let expected = sums(0, Instructions::Plain);
            for instructions in Instructions::available() {
                for columns in [0, case.dim] {
                    let here = sums(columns, instructions);
                    prop_assert_eq!(&here, &expected, "{:?}, {}", instructions, columns);
                }
            }
        }

        #[test]
        fn leaving_out_far_centres_changes_no_bit(case in cases(1..4)) {
            // Sorted rows, so that tiles are small and there are far centres.
            let mut sorted = case;
            sorted.rows.sort_by(f64::total_cmp);
            sorted.temperature *= 0.01;
            let tiles = sorted.tiles();
            let open = tiles.without_boxes();
            let (near, all) = (
                sorted.fast(0, Instructions::best(), &tiles),
                sorted.fast(0, Instructions::best(), &open),
            );
            prop_assert_eq!(bits(&near), bits(&all));
        }
    }
}
