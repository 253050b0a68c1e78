//! The loops over all set bits. One sums per row what each cluster has at its columns. One sums per
//! column what its rows have of each cluster.
//!
//! Clusters stand in groups of 16, groups in slabs of at most four, so that the sums of a slab stay
//! in registers. All sums are of whole numbers.

use super::tiles::Tile;
use crate::lanes::{F64x8, Isa, LANES, NumericLoop, exp2, log2_of};

/// Clusters of a group.
pub(super) const GROUP: usize = 16;
/// Groups of a slab at most.
const SLAB: usize = 4;
/// A share of one, as a whole number.
pub(super) const WHOLE: f64 = (1_u64 << 21) as f64;
/// The step of quantities of a row that are added up over all rows.
pub(super) const FINE: f64 = (1_u64 << 24) as f64;
/// The step of moments along a direction, which are at most 1.
pub(super) const FINER: f64 = (1_u64 << 32) as f64;

/// What 16 clusters have.
#[derive(Debug, Clone, Copy, Default)]
#[repr(align(64))]
pub(super) struct Group(pub(super) [i32; GROUP]);

/// Numbers of all clusters for each of some places, slab after slab.
#[derive(Debug, Clone, Default)]
pub(super) struct Table {
    clusters: usize,
    places: usize,
    groups: Vec<Group>,
}

impl Table {
    pub(super) fn new(clusters: usize, places: usize) -> Table {
        Table {
            clusters,
            places,
            groups: vec![Group::default(); clusters.div_ceil(GROUP) * places],
        }
    }

    /// The slabs: the first group of each, and how many groups it has.
    #[inline(always)]
    fn slabs(clusters: usize) -> impl Iterator<Item = (usize, usize)> {
        let groups = clusters.div_ceil(GROUP);
        (0..groups)
            .step_by(SLAB)
            .map(move |first| (first, SLAB.min(groups - first)))
    }

    #[inline(always)]
    fn at(&self, place: usize, cluster: usize) -> (usize, usize) {
        let (group, lane) = (cluster / GROUP, cluster % GROUP);
        let first = group / SLAB * SLAB;
        let width = SLAB.min(self.clusters.div_ceil(GROUP) - first);
        (first * self.places + place * width + group - first, lane)
    }

    #[inline(always)]
    pub(super) fn get(&self, place: usize, cluster: usize) -> i32 {
        let (group, lane) = self.at(place, cluster);
        self.groups[group].0[lane]
    }

    #[inline(always)]
    pub(super) fn set(&mut self, place: usize, cluster: usize, value: i32) {
        let (group, lane) = self.at(place, cluster);
        self.groups[group].0[lane] = value;
    }

    #[inline(always)]
    fn slab(&self, first: usize, width: usize) -> &[Group] {
        &self.groups[first * self.places..][..width * self.places]
    }

    #[inline(always)]
    fn slab_mut(&mut self, first: usize, width: usize) -> &mut [Group] {
        &mut self.groups[first * self.places..][..width * self.places]
    }
}

/// Per row of the tile the sums of `table` over its columns.
#[inline(always)]
pub(super) fn by_row(tile: &Tile, table: &Table, out: &mut Table) {
    for (first, width) in Table::slabs(table.clusters) {
        let (from, to) = (table.slab(first, width), out.slab_mut(first, width));
        match width {
            1 => rows_of::<1>(tile, from, to),
            2 => rows_of::<2>(tile, from, to),
            3 => rows_of::<3>(tile, from, to),
            _ => rows_of::<4>(tile, from, to),
        }
    }
}

// Loops by index, here and below: iterators of two things are calls in code for an instruction set.
#[inline(always)]
fn rows_of<const G: usize>(tile: &Tile, table: &[Group], out: &mut [Group]) {
    let (table, _) = table.as_chunks::<G>();
    let (out, _) = out.as_chunks_mut::<G>();
    for (row, out) in out[..tile.len()].iter_mut().enumerate() {
        *out = sum_of(table, tile.columns(row));
    }
}

/// The sum of the groups at some places.
#[inline(always)]
fn sum_of<const G: usize>(table: &[[Group; G]], places: &[u16]) -> [Group; G] {
    let mut sums = [Group::default(); G];
    for &place in places {
        let groups = &table[usize::from(place)];
        for at in 0..G {
            sums[at] = plus(sums[at], &groups[at]);
        }
    }
    sums
}

#[inline(always)]
fn plus(a: Group, b: &Group) -> Group {
    let mut out = a;
    for lane in 0..GROUP {
        out.0[lane] = a.0[lane].wrapping_add(b.0[lane]);
    }
    out
}

/// Adds, per column, what the rows of the tile that have it hold in `weights`.
#[inline(always)]
pub(super) fn by_column(tile: &Tile, weights: &Table, totals: &mut [[i64; GROUP]]) {
    let places = totals.len() / weights.clusters.div_ceil(GROUP);
    for (first, width) in Table::slabs(weights.clusters) {
        let from = weights.slab(first, width);
        let to = &mut totals[first * places..][..width * places];
        match width {
            1 => columns_of::<1>(tile, from, to),
            2 => columns_of::<2>(tile, from, to),
            3 => columns_of::<3>(tile, from, to),
            _ => columns_of::<4>(tile, from, to),
        }
    }
}

#[inline(always)]
fn columns_of<const G: usize>(tile: &Tile, weights: &[Group], totals: &mut [[i64; GROUP]]) {
    let (weights, _) = weights.as_chunks::<G>();
    for (column, totals) in totals.as_chunks_mut::<G>().0.iter_mut().enumerate() {
        let rows = tile.rows(column);
        if rows.is_empty() {
            continue;
        }
        let sums = sum_of(weights, rows);
        for at in 0..G {
            let (total, sum) = (&mut totals[at], &sums[at].0);
            for lane in 0..GROUP {
                total[lane] += i64::from(sum[lane]);
            }
        }
    }
}

/// The number of `cluster` at `column` among totals of `columns` columns.
pub(super) fn total(
    totals: &[[i64; GROUP]],
    clusters: usize,
    column: usize,
    cluster: usize,
) -> i64 {
    let places = totals.len() / clusters.div_ceil(GROUP);
    let (group, lane) = (cluster / GROUP, cluster % GROUP);
    let first = group / SLAB * SLAB;
    let width = SLAB.min(clusters.div_ceil(GROUP) - first);
    totals[first * places + column * width + group - first][lane]
}

/// Turns the sums of each row into shares, as whole numbers.
pub(super) struct Shares<'a> {
    /// Per cluster the exponent of two of a row without bits.
    pub(super) base: &'a [f64],
    /// What one step of a sum adds to it.
    pub(super) step: f64,
    /// The step of log₂ Z.
    pub(super) fine: f64,
    pub(super) tile: &'a Tile,
    pub(super) table: &'a Table,
    /// In: nothing. Out: the shares.
    pub(super) shares: &'a mut Table,
    pub(super) totals: &'a mut [[i64; GROUP]],
    pub(super) add: bool,
}

/// Of a tile: Σ log₂ Z in steps, the sum of the largest shares, and per cluster the sum of the
/// shares.
pub(super) struct Shared {
    pub(super) logs: i64,
    pub(super) largest: i64,
    pub(super) masses: Vec<i64>,
}

impl NumericLoop for Shares<'_> {
    type Output = Shared;

    #[inline(always)]
    fn run<I: Isa>(self, isa: I) -> Shared {
        by_row(self.tile, self.table, self.shares);
        let clusters = self.base.len();
        let lanes = clusters.div_ceil(GROUP) * GROUP / LANES;
        let mut base = vec![F64x8::splat(f64::MIN); lanes];
        for (k, value) in self.base.iter().enumerate() {
            base[k / LANES][k % LANES] = *value;
        }
        let mut terms = vec![F64x8::default(); lanes];
        let mut masses = vec![[0_i64; GROUP]; lanes / 2];
        let (mut logs, mut largest) = (0, 0);
        for row in 0..self.tile.len() {
            let mut tops = isa.splat(f64::MIN);
            for half in 0..lanes {
                let sums = self.shares.half(row, half);
                let value = isa.fma(isa.load(&sums), isa.splat(self.step), isa.load(&base[half]));
                isa.store(value, &mut terms[half]);
                tops = isa.max(tops, value);
            }
            let mut lane = F64x8::default();
            isa.store(tops, &mut lane);
            let top = lane.0.into_iter().fold(f64::MIN, f64::max);
            let mut sum = isa.splat(0.0);
            for term in &mut terms {
                let value = exp2(isa, isa.sub(isa.load(term), isa.splat(top)));
                isa.store(value, term);
                sum = isa.add(sum, value);
            }
            isa.store(sum, &mut lane);
            let all = lane.sum();
            logs += ((top + log2_of(all)) * self.fine).round_ties_even() as i64;
            largest += (FINE / all).round_ties_even() as i64;
            let factor = isa.splat(WHOLE / all);
            for half in 0..lanes {
                // The nearest whole number, in the lowest bits.
                let round = isa.splat(1.5 * (1_u64 << 52) as f64);
                let whole = isa.fma(isa.load(&terms[half]), factor, round);
                isa.store(whole, &mut terms[half]);
                self.shares
                    .set_half(row, half, &terms[half], &mut masses[half / 2]);
            }
        }
        if self.add {
            by_column(self.tile, self.shares, self.totals);
        }
        let masses = masses.into_iter().flatten().take(clusters).collect();
        Shared {
            logs,
            largest,
            masses,
        }
    }
}

impl Table {
    /// Half a group as numbers.
    #[allow(clippy::needless_range_loop, reason = "vectors, as above")]
    #[inline(always)]
    fn half(&self, place: usize, half: usize) -> F64x8 {
        let (at, _) = self.at(place, half / 2 * GROUP);
        let (halves, _) = self.groups[at].0.as_chunks::<LANES>();
        let from = &halves[half % 2];
        let mut to = F64x8::default();
        for lane in 0..LANES {
            to.0[lane] = f64::from(from[lane]);
        }
        to
    }

    /// Half a group from the lowest bits of numbers, added to masses.
    #[inline(always)]
    fn set_half(&mut self, place: usize, half: usize, from: &F64x8, masses: &mut [i64; GROUP]) {
        let (at, _) = self.at(place, half / 2 * GROUP);
        let (to, _) = self.groups[at].0.as_chunks_mut::<LANES>();
        let (masses, _) = masses.as_chunks_mut::<LANES>();
        let (to, masses) = (&mut to[half % 2], &mut masses[half % 2]);
        for lane in 0..LANES {
            to[lane] = from.0[lane].to_bits() as i32;
            masses[lane] += i64::from(to[lane]);
        }
    }
}

/// Sums of a table over the columns of each row alone.
pub(super) struct ByRow<'a>(
    pub(super) &'a Tile,
    pub(super) &'a Table,
    pub(super) &'a mut Table,
);

impl NumericLoop for ByRow<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self, _: I) {
        by_row(self.0, self.1, self.2);
    }
}

/// Sums of weights over the rows of each column alone.
pub(super) struct ByColumn<'a>(
    pub(super) &'a Tile,
    pub(super) &'a Table,
    pub(super) &'a mut [[i64; GROUP]],
);

impl NumericLoop for ByColumn<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self, _: I) {
        by_column(self.0, self.1, self.2);
    }
}
