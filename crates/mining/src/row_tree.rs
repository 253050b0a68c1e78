//! A balanced k-d tree over the distinct rows.
//!
//! It gives the rows an order in which neighbours in memory are neighbours in space, so that a tile
//! of rows has a small box. It summarises the rows at any scale: [`RowTree::summary`].
//!
//! Source: J. L. Bentley, Multidimensional binary search trees, CACM 18 (1975); summaries of tree
//! cells as data in clustering: A. Moore, Very fast EM-based mixture model clustering using
//! multiresolution kd-trees, NIPS 11 (1999).

use crate::MiningError;
use crate::distinct::Distinct;
use crate::rank_view::RankView;
use std::ops::Range;

/// Rows per leaf.
const LEAF: usize = 8;

/// The rows in tree order, and the cells of the tree.
#[derive(Debug)]
pub(crate) struct RowTree {
    pub(crate) dim: usize,
    /// Row after row, in tree order.
    rows: Vec<f64>,
    weights: Vec<f64>,
    /// Preorder.
    cells: Vec<Cell>,
    /// `dim` per cell.
    means: Vec<f64>,
}

#[derive(Debug, Clone, Copy)]
struct Cell {
    first: u32,
    rows: u32,
    /// The next cell in preorder that is not below this one.
    next: u32,
    weight: f64,
    /// Summed over columns.
    variance: f64,
}

impl RowTree {
    /// Every rank arranges a share of the rows.
    pub(crate) async fn new(
        team: &RankView<'_>,
        distinct: &Distinct,
    ) -> Result<RowTree, MiningError> {
        let dim = distinct.dim;
        let mut order: Vec<u32> = (0..distinct.len() as u32).collect();
        let mine = team.share(distinct.len());
        arrange(distinct, &mut order, 0, &mine);
        let order = team.comm.allgather(order[mine].to_vec()).await?.concat();
        let rows = order
            .iter()
            .flat_map(|&i| distinct.row(i as usize))
            .copied()
            .collect();
        let weights = order
            .iter()
            .map(|&i| distinct.weights[i as usize])
            .collect();
        let mut tree = RowTree {
            dim,
            rows,
            weights,
            cells: Vec::new(),
            means: Vec::new(),
        };
        tree.grow(0, distinct.len());
        Ok(tree)
    }

    /// The number of rows.
    pub(crate) fn len(&self) -> usize {
        self.weights.len()
    }

    /// One row and its weight.
    pub(crate) fn row(&self, row: usize) -> (&[f64], f64) {
        (&self.rows[row * self.dim..][..self.dim], self.weights[row])
    }

    /// The mean of all rows.
    pub(crate) fn mean(&self) -> &[f64] {
        &self.means[..self.dim]
    }

    /// Adds the cell of some rows and those below it; gives back its number.
    fn grow(&mut self, first: usize, rows: usize) -> usize {
        let dim = self.dim;
        let at = self.cells.len();
        let (first32, rows32) = (first as u32, rows as u32);
        self.cells.push(Cell {
            first: first32,
            rows: rows32,
            next: 0,
            weight: 0.0,
            variance: 0.0,
        });
        self.means.resize(self.means.len() + dim, 0.0);
        let parts: Vec<(f64, f64, Vec<f64>)> = if rows <= LEAF {
            (first..first + rows)
                .map(|i| (self.weights[i], 0.0, self.row(i).0.to_vec()))
                .collect()
        } else {
            let middle = middle(rows);
            [(first, middle), (first + middle, rows - middle)]
                .map(|(first, rows)| {
                    let child = self.grow(first, rows);
                    let cell = self.cells[child];
                    (
                        cell.weight,
                        cell.variance,
                        self.means[child * dim..][..dim].to_vec(),
                    )
                })
                .into()
        };
        let weight: f64 = parts.iter().map(|part| part.0).sum();
        let mean: Vec<f64> = (0..dim)
            .map(|j| parts.iter().map(|p| p.0 / weight * p.2[j]).sum())
            .collect();
        let apart = |p: &[f64]| {
            p.iter()
                .zip(&mean)
                .map(|(a, b)| (a - b) * (a - b))
                .sum::<f64>()
        };
        let variance = parts
            .iter()
            .map(|p| p.0 / weight * (p.1 + apart(&p.2)))
            .sum();
        self.means[at * dim..][..dim].copy_from_slice(&mean);
        let next = self.cells.len() as u32;
        self.cells[at] = Cell {
            first: first32,
            rows: rows32,
            next,
            weight,
            variance,
        };
        at
    }

    /// The largest cells whose variance, summed over columns, is at most `limit`, each as one row
    /// at its mean. Rows of leaves that spread further stand for themselves.
    pub(crate) fn summary(&self, limit: f64) -> Vec<(&[f64], f64)> {
        let mut out = Vec::new();
        let mut at = 0;
        while let Some(cell) = self.cells.get(at) {
            if cell.variance <= limit {
                out.push((&self.means[at * self.dim..][..self.dim], cell.weight));
                at = cell.next as usize;
            } else {
                if cell.rows as usize <= LEAF {
                    let first = cell.first as usize;
                    out.extend((first..first + cell.rows as usize).map(|i| self.row(i)));
                }
                at += 1;
            }
        }
        out
    }
}

/// Where to cut `rows` rows in two. The cut is near the half, at a multiple of the largest power of
/// [`LEAF`] below `rows`. So tiles and blocks are whole cells.
fn middle(rows: usize) -> usize {
    let mut step = 1;
    while step * LEAF < rows {
        step *= LEAF;
    }
    ((rows / 2 + step / 2) / step).max(1) * step
}

/// Puts rows, the first of which has the place `start`, into tree order: cuts across the widest
/// column, again and again. Places outside `wanted` need not be right.
fn arrange(distinct: &Distinct, order: &mut [u32], start: usize, wanted: &Range<usize>) {
    if start >= wanted.end || start + order.len() <= wanted.start {
        return;
    }
    if order.len() <= LEAF {
        order.sort_unstable();
        return;
    }
    let value = |i: &u32, j: usize| distinct.rows[*i as usize * distinct.dim + j];
    let width = |j: usize| {
        let (low, high) = order
            .iter()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), i| {
                (l.min(value(i, j)), h.max(value(i, j)))
            });
        high - low
    };
    let mut widest = (0, f64::NEG_INFINITY);
    for j in 0..distinct.dim {
        let width = width(j);
        if width > widest.1 {
            widest = (j, width);
        }
    }
    let middle = middle(order.len());
    // Ties go by the number of the row, which is its rank in lexicographic order.
    order.select_nth_unstable_by(middle, |a, b| {
        value(a, widest.0)
            .total_cmp(&value(b, widest.0))
            .then(a.cmp(b))
    });
    let (low, high) = order.split_at_mut(middle);
    arrange(distinct, low, start, wanted);
    arrange(distinct, high, start + middle, wanted);
}
