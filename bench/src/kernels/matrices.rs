//! The product of two square matrices of f64, cut into bands of rows (E33 to E35).
//!
//! The elements are small whole numbers, so that every sum is exact in any order and all programs,
//! in any language, have the same checksum.

use crate::kernels::loops::{LoopSplit, Loops};
use crate::kernels::rayon_rounds;
use ::rayon::ThreadPool;
use ::rayon::prelude::{IndexedParallelIterator, IntoParallelIterator, ParallelIterator};
use motet_sync::Mutex;
use ndarray::linalg::general_mat_mul;
use ndarray::{ArrayView2, ArrayViewMut2};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

/// Two factors and room for their product.
#[derive(Debug)]
pub(crate) struct Matrices {
    size: usize,
    left: Vec<f64>,
    right: Vec<f64>,
    /// The product's rows, a band after the other; a lock each, which nobody else holds, in place
    /// of `unsafe`.
    bands: Vec<Mutex<Vec<f64>>>,
}

/// Bands for each thread of a dynamic split. There are some, so that who is done early finds more.
/// There are few, since each brings the right factor into the kernel's order anew.
const BANDS_PER_THREAD: usize = 4;

impl Matrices {
    /// Matrices of `size` rows whose product is computed in so many bands.
    pub(crate) fn new(size: usize, bands: usize) -> Arc<Matrices> {
        let fill = |element: fn(usize, usize) -> f64| {
            let places = (0..size).flat_map(|row| (0..size).map(move |column| (row, column)));
            places.map(|(row, column)| element(row, column)).collect()
        };
        let mut matrices = Matrices {
            size,
            left: fill(left),
            right: fill(right),
            bands: Vec::new(),
        };
        let rows = (0..bands).map(|band| matrices.rows(band, bands).len());
        matrices.bands = rows
            .map(|rows| Mutex::new(vec![0.0; rows * size]))
            .collect();
        Arc::new(matrices)
    }

    /// The bands that a split on so many threads has.
    pub(crate) fn bands(split: LoopSplit, threads: usize, size: usize) -> usize {
        match split {
            LoopSplit::Static => threads.min(size),
            LoopSplit::Dynamic => (threads * BANDS_PER_THREAD).min(size),
        }
    }

    /// The product so many times, by motet, and how long that took.
    pub(crate) fn multiply(
        self: &Arc<Self>,
        loops: &Loops,
        split: LoopSplit,
        rounds: u32,
    ) -> Result<Duration, String> {
        let here = Arc::clone(self);
        loops.run(split, (self.bands.len(), rounds), move |band| {
            here.band(band);
        })
    }

    /// The product so many times, by rayon, and how long that took.
    pub(crate) fn multiply_by_rayon(&self, pool: &ThreadPool, rounds: u32) -> Duration {
        rayon_rounds(pool, rounds, || {
            let bands = (0..self.bands.len()).into_par_iter().with_max_len(1);
            bands.for_each(|band| self.band(band));
        })
    }

    /// What must come of it: [`checksum`](Matrices::checksum) of the product in whole numbers, from
    /// sums of columns and rows.
    ///
    /// The checksum is Σ cᵢⱼ (i mod 3 + 1) (j mod 5 + 1). It equals Σₖ (Σᵢ aᵢₖ (i mod 3 + 1)) (Σⱼ
    /// bₖⱼ (j mod 5 + 1)).
    pub(crate) fn known(size: usize) -> f64 {
        let of = |inner: usize| -> f64 {
            let columns: f64 = (0..size)
                .map(|row| left(row, inner) * (row % 3 + 1) as f64)
                .sum();
            let rows: f64 = (0..size)
                .map(|column| right(inner, column) * (column % 5 + 1) as f64)
                .sum();
            columns * rows
        };
        (0..size).map(of).sum()
    }

    /// Σ cᵢⱼ (i mod 3 + 1) (j mod 5 + 1) of the product.
    pub(crate) fn checksum(&self) -> f64 {
        let mut row = 0;
        let mut sum = 0.0;
        for band in &self.bands {
            for numbers in band.lock().chunks_exact(self.size) {
                let weighted = numbers
                    .iter()
                    .enumerate()
                    .map(|(at, number)| number * (at % 5 + 1) as f64);
                sum += weighted.sum::<f64>() * (row % 3 + 1) as f64;
                row += 1;
            }
        }
        sum
    }

    /// Operations of one product: a multiplication and an addition for each element of the sum.
    pub(crate) fn operations(size: usize) -> f64 {
        2.0 * (size as f64).powi(3)
    }

    fn band(&self, band: usize) {
        let (rows, size) = (self.rows(band, self.bands.len()), self.size);
        let view =
            |numbers, rows| ArrayView2::from_shape((rows, size), numbers).expect("whole rows");
        let left = view(&self.left[rows.start * size..rows.end * size], rows.len());
        let mut product = self.bands[band].lock();
        let mut product =
            ArrayViewMut2::from_shape((rows.len(), size), &mut product[..]).expect("whole rows");
        general_mat_mul(1.0, &left, &view(&self.right, size), 0.0, &mut product);
    }

    /// The rows of a band.
    fn rows(&self, band: usize, bands: usize) -> Range<usize> {
        let edge = |band: usize| self.size * band / bands;
        edge(band)..edge(band + 1)
    }
}

/// An element of the left factor, from -5 to 5; the programs of the peers have the same.
fn left(row: usize, column: usize) -> f64 {
    ((row * 7 + column * 3) % 11) as f64 - 5.0
}

/// An element of the right factor, from -3 to 3.
fn right(row: usize, column: usize) -> f64 {
    ((row * 5 + column * 13) % 7) as f64 - 3.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::rayon::ThreadPoolBuilder;

    /// The product as it is defined.
    fn plain(size: usize) -> Vec<f64> {
        let number = |row, column| (0..size).map(|k| left(row, k) * right(k, column)).sum();
        let places = (0..size).flat_map(|row| (0..size).map(move |column| (row, column)));
        places.map(|(row, column)| number(row, column)).collect()
    }

    fn product(matrices: &Matrices) -> Vec<f64> {
        matrices
            .bands
            .iter()
            .flat_map(|band| band.lock().clone())
            .collect()
    }

    #[test]
    fn every_way_gives_the_product() {
        for size in [1, 2, 7, 33, 70] {
            let known = plain(size);
            for threads in [1, 2, 3] {
                let loops = Loops::new(threads, false).unwrap();
                for split in LoopSplit::BOTH {
                    let matrices = Matrices::new(size, Matrices::bands(split, threads, size));
                    // More than once: what is there from before must not be added.
                    for rounds in [1, 2] {
                        matrices.multiply(&loops, split, rounds).unwrap();
                        assert_eq!(
                            product(&matrices),
                            known,
                            "{split:?}, size {size}, {threads} threads"
                        );
                    }
                    assert_eq!(matrices.checksum(), Matrices::known(size));
                }
                let matrices = Matrices::new(size, threads.min(size));
                let pool = ThreadPoolBuilder::new().num_threads(threads).build();
                matrices.multiply_by_rayon(&pool.unwrap(), 2);
                assert_eq!(
                    product(&matrices),
                    known,
                    "rayon, size {size}, {threads} threads"
                );
            }
        }
    }

    #[test]
    fn another_product_has_another_checksum() {
        let matrices = Matrices::new(8, 2);
        assert_ne!(
            matrices.checksum(),
            Matrices::known(8),
            "nothing has been computed"
        );
        matrices
            .multiply(&Loops::new(1, false).unwrap(), LoopSplit::Static, 1)
            .unwrap();
        matrices.bands[1].lock()[3] += 1.0;
        assert_ne!(matrices.checksum(), Matrices::known(8));
    }
}
