//! Hard assignment: every point belongs to its nearest centre, the first of equals.

mod kernel;

use crate::MiningError;
use crate::blocks::Blocks;
use crate::lanes::{F64x8, Instructions, LANES, run_columns};
use crate::rank_view::RankView;
use crate::tiles::Tiles;
pub(crate) use kernel::HardScratch;
use kernel::{Labels, Sums};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Centres as the kernels read them.
#[derive(Debug)]
pub(crate) struct Centres<'a> {
    dim: usize,
    rows: &'a [f64],
    /// Eight centres at a time; those that fill up the last eight are infinitely far.
    groups: Vec<F64x8>,
}

/// What one pass over the data gives, per centre.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Assignment {
    /// Σ w.
    pub(crate) masses: Vec<f64>,
    /// Σ w |x - y|².
    pub(crate) squares: Vec<f64>,
    /// Σ w (second - |x - y|²), second the squared distance of the second nearest centre: what
    /// leaving the centre out costs. Zero unless asked for.
    pub(crate) losses: Vec<f64>,
    /// Σ w x, `dim` numbers each.
    pub(crate) moments: Vec<f64>,
}

/// Rows and their nearest centres.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Labelled {
    pub(crate) labels: Vec<u32>,
    /// Squared distances from the nearest centre.
    pub(crate) squares: Vec<f64>,
    /// Squared distances from the second nearest, if asked for.
    pub(crate) seconds: Vec<f64>,
}

impl Assignment {
    /// Σ w |x - y|² of all points.
    pub(crate) fn inertia(&self) -> f64 {
        self.squares.iter().sum()
    }
}

impl<'a> Centres<'a> {
    /// `rows` holds the coordinates, centre after centre.
    pub(crate) fn new(dim: usize, rows: &'a [f64]) -> Centres<'a> {
        let mut groups =
            vec![F64x8::splat(f64::INFINITY); (rows.len() / dim).div_ceil(LANES) * dim];
        for (k, centre) in rows.chunks_exact(dim).enumerate() {
            for (j, &value) in centre.iter().enumerate() {
                groups[k / LANES * dim + j][k % LANES] = value;
            }
        }
        Centres { dim, rows, groups }
    }

    /// The number of centres.
    pub(crate) fn len(&self) -> usize {
        self.rows.len() / self.dim
    }

    /// Assigns all points; with `SECOND` it also finds the losses.
    pub(crate) async fn assign<const SECOND: bool>(
        &self,
        team: &RankView<'_>,
        blocks: &Blocks,
        scratch: &mut HardScratch,
    ) -> Result<Assignment, MiningError> {
        let centres = self;
        let sums = blocks
            .sum(team, |tiles, range, sums| {
                let task = Sums::<SECOND> {
                    tiles,
                    range,
                    centres,
                    scratch,
                    sums,
                };
                run_columns(team.instructions, self.dim, task);
            })
            .await?;
        let rows = sums.chunks_exact(3 + self.dim);
        Ok(Assignment {
            masses: rows.clone().map(|row| row[0]).collect(),
            squares: rows.clone().map(|row| row[1]).collect(),
            losses: rows.clone().map(|row| row[2]).collect(),
            moments: rows.flat_map(|row| &row[3..]).copied().collect(),
        })
    }

    /// The nearest centre of every row of some tiles.
    pub(crate) fn label<const SECOND: bool>(
        &self,
        instructions: Instructions,
        tiles: &Tiles,
        range: Range<usize>,
        scratch: &mut HardScratch,
    ) -> Labelled {
        let task = Labels::<SECOND> {
            tiles,
            range,
            centres: self,
            scratch,
        };
        run_columns(instructions, self.dim, task)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Debug, Clone)]
    struct Case {
        dim: usize,
        rows: Vec<f64>,
        weights: Vec<f64>,
        centres: Vec<f64>,
    }

    impl Case {
        fn tiles(&self) -> Tiles {
            let rows = self
                .rows
                .chunks_exact(self.dim)
                .zip(self.weights.iter().copied());
            Tiles::new(self.dim, rows)
        }

        /// The nearest centre of a row, its squared distance, and that of the second nearest.
        fn nearest(&self, row: &[f64]) -> (usize, f64, f64) {
            let mut found = (0, f64::INFINITY, f64::INFINITY);
            for (k, centre) in self.centres.chunks_exact(self.dim).enumerate() {
                let mut square = 0.0_f64;
                for (x, y) in row.iter().zip(centre) {
                    square = (x - y).mul_add(x - y, square);
                }
                if square < found.1 {
                    found = (k, square, found.1);
                } else if square < found.2 {
                    found.2 = square;
                }
            }
            found
        }

        /// The plain twin of [`Sums`].
        fn sums(&self) -> Vec<f64> {
            let width = 3 + self.dim;
            let mut sums = vec![0.0; self.centres.len() / self.dim * width];
            for (row, weight) in self.rows.chunks_exact(self.dim).zip(&self.weights) {
                let (k, square, second) = self.nearest(row);
                let sums = &mut sums[k * width..][..width];
                sums[0] += weight;
                sums[1] += weight * square;
                sums[2] += weight * (second - square);
                sums[3..]
                    .iter_mut()
                    .zip(row)
                    .for_each(|(s, x)| *s += weight * x);
            }
            sums
        }

        /// The sums by the code for `columns` columns.
        fn fast(&self, columns: usize, instructions: Instructions, tiles: &Tiles) -> Vec<f64> {
            let mut sums = Vec::new();
            let task = Sums::<true> {
                tiles,
                range: 0..tiles.len(),
                centres: &Centres::new(self.dim, &self.centres),
                scratch: &mut HardScratch::default(),
                sums: &mut sums,
            };
            run_columns(instructions, columns, task);
            sums
        }

        /// As [`fast`](Case::fast), of the labels.
        fn labels(&self, columns: usize, instructions: Instructions, tiles: &Tiles) -> Labelled {
            let task = Labels::<true> {
                tiles,
                range: 0..tiles.len(),
                centres: &Centres::new(self.dim, &self.centres),
                scratch: &mut HardScratch::default(),
            };
            run_columns(instructions, columns, task)
        }
    }

    fn cases(dims: std::ops::Range<usize>) -> impl Strategy<Value = Case> {
        (dims, 1_usize..200, 2_usize..20).prop_flat_map(|(dim, n, k)| {
            // A coarse grid, so that there are ties.
            let step = prop_oneof![
                (-1.0_f64..1.0),
                (-4_i32..4).prop_map(|i| f64::from(i) / 4.0)
            ];
            let weights = prop::collection::vec(prop_oneof![Just(0.0), 0.1_f64..2.0], n);
            (
                prop::collection::vec(step.clone(), n * dim),
                weights,
                prop::collection::vec(step, k * dim),
            )
                .prop_map(move |(rows, weights, centres)| Case {
                    dim,
                    rows,
                    weights,
                    centres,
                })
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn sums_are_those_of_the_plain_twin(case in cases(1..12)) {
            let fast = case.fast(0, Instructions::best(), &case.tiles());
            for (i, (a, b)) in fast.iter().zip(case.sums()).enumerate() {
                prop_assert!((a - b).abs() < 1e-10, "sum {i}: {a} and {b}");
            }
        }

        #[test]
        fn labels_are_those_of_the_plain_twin(case in cases(1..12)) {
            let (tiles, centres) = (case.tiles(), Centres::new(case.dim, &case.centres));
            let (range, scratch) = (0..tiles.len(), &mut HardScratch::default());
            let fast = centres.label::<true>(Instructions::best(), &tiles, range, scratch);
            for (i, row) in case.rows.chunks_exact(case.dim).enumerate() {
                let plain = case.nearest(row);
                prop_assert_eq!((fast.labels[i] as usize, fast.squares[i], fast.seconds[i]), plain);
            }
            prop_assert_eq!(fast.labels.len(), case.weights.len());
        }

        #[test]
        fn every_form_gives_the_same_bits(case in cases(1..5)) {
            let tiles = case.tiles();
            let bits = |sums: &[f64]| sums.iter().map(|sum| sum.to_bits()).collect::<Vec<_>>();
            let expected = bits(&case.fast(0, Instructions::Plain, &tiles));
            let labelled = case.labels(0, Instructions::Plain, &tiles);
            for instructions in Instructions::available() {
                for columns in [0, case.dim] {
                    let here = bits(&case.fast(columns, instructions, &tiles));
                    prop_assert_eq!(&here, &expected, "{:?}, {}", instructions, columns);
                    let labels = case.labels(columns, instructions, &tiles);
                    prop_assert_eq!(&labels, &labelled, "{:?}, {}", instructions, columns);
                }
            }
        }

        #[test]
        fn leaving_out_far_centres_changes_nothing(case in cases(1..4)) {
            let mut sorted = case;
            sorted.rows.sort_by(f64::total_cmp);
            let tiles = sorted.tiles();
            let near = sorted.fast(0, Instructions::best(), &tiles);
            let all = sorted.fast(0, Instructions::best(), &tiles.without_boxes());
            prop_assert_eq!(near, all);
        }
    }
}
