//! One sequence against thirty-two others, and one against one.
//!
//! Source: O. Gotoh, An improved algorithm for matching biological sequences, Journal of Molecular
//! Biology 162 (1982). Beside each best score go the identities and the columns of the alignment
//! that has it, so that no path is stored. Of equal scores a pair of letters goes before a gap in
//! the first sequence, and that before a gap in the second. An opened gap goes before a longer one.

use super::scores::Table;
use super::{Alignment, AlignmentKind};
use crate::lanes::{Instructions16, Isa16, SHORTS, Shorts, Task16, run16};

/// What an alignment comes to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) score: i64,
    pub(super) identities: u32,
    pub(super) columns: u32,
}

impl Found {
    /// The share of the columns that are not identical; 1 where nothing is aligned.
    pub(super) fn distance(self) -> f32 {
        match self.columns {
            0 => 1.0,
            columns => (1.0 - f64::from(self.identities) / f64::from(columns)) as f32,
        }
    }
}

/// Less than any score that the lanes can come to.
const LOWEST: i16 = -30_000;

#[derive(Debug, Clone, Copy)]
struct Lines {
    score: Shorts,
    same: Shorts,
    columns: Shorts,
}

impl Lines {
    const fn splat(score: i16, columns: i16) -> Lines {
        Lines {
            score: Shorts::splat(score),
            same: Shorts::splat(0),
            columns: Shorts::splat(columns),
        }
    }
}

/// The best alignments that end in one column of the others: any, and with a gap in the second.
#[derive(Debug, Clone, Copy)]
struct Column {
    any: Lines,
    gap: Lines,
}

/// Up to thirty-two sequences side by side.
#[derive(Debug)]
pub(super) struct Batch {
    lengths: Vec<usize>,
    /// Of each code, the scores in all columns.
    profile: Vec<Shorts>,
    state: Vec<Column>,
}

impl Batch {
    pub(super) fn new(table: &Table, sequences: &[&[u8]]) -> Batch {
        let lengths: Vec<usize> = sequences.iter().map(|codes| codes.len()).collect();
        let columns = lengths.iter().copied().max().unwrap_or(0);
        // What stands below nothing lowers the score.
        let mut profile = vec![Shorts::splat(-2); table.codes() * columns];
        for code in 0..table.codes() {
            for (lane, sequence) in sequences.iter().enumerate() {
                for (column, other) in sequence.iter().enumerate() {
                    profile[code * columns + column].0[lane] = table.both(code as u8, *other);
                }
            }
        }
        let none = Lines::splat(0, 0);
        let column = Column {
            any: none,
            gap: none,
        };
        Batch {
            lengths,
            profile,
            state: vec![column; columns],
        }
    }

    /// Aligns one sequence with all of the batch. `fits` has said yes.
    pub(super) fn align(
        &mut self,
        method: &Alignment,
        instructions: Instructions16,
        first: &[u8],
    ) -> Vec<Found> {
        let best = run16(
            instructions,
            Rows {
                method,
                first,
                profile: &self.profile,
                state: &mut self.state,
            },
        );
        let lanes = self.lengths.iter().enumerate();
        let found = lanes.map(|(lane, length)| {
            let lines = match method.kind {
                AlignmentKind::Global => &self.state[length - 1].any,
                AlignmentKind::Local => &best,
            };
            Found {
                score: i64::from(lines.score.0[lane]),
                identities: lines.same.0[lane] as u32,
                columns: lines.columns.0[lane] as u32,
            }
        });
        found.collect()
    }
}

/// Whether all scores of sequences of these lengths are far from the ends of 16 bits.
pub(super) fn fits(method: &Alignment, table: &Table, first: usize, columns: usize) -> bool {
    let length = first + columns + 2;
    let Ok(letters) = i32::try_from(length) else {
        return false;
    };
    let (open, extend) = (i32::from(method.open), i32::from(method.extend));
    let low = extend
        .saturating_mul(letters)
        .saturating_add(3 * open - table.least);
    let high = table.most.saturating_mul(first.min(columns) as i32);
    letters < 30_000 && low < 29_000 && high < 30_000
}

struct Rows<'a> {
    method: &'a Alignment,
    first: &'a [u8],
    profile: &'a [Shorts],
    state: &'a mut [Column],
}

#[derive(Clone, Copy)]
struct Vectors<V> {
    score: V,
    same: V,
    columns: V,
}

#[inline(always)]
fn load<I: Isa16>(isa: I, from: &Lines) -> Vectors<I::V> {
    Vectors {
        score: isa.load(&from.score),
        same: isa.load(&from.same),
        columns: isa.load(&from.columns),
    }
}

#[inline(always)]
fn store<I: Isa16>(isa: I, from: Vectors<I::V>, to: &mut Lines) {
    isa.store(from.score, &mut to.score);
    isa.store(from.same, &mut to.same);
    isa.store(from.columns, &mut to.columns);
}

/// `b` where its score is higher, else `a`.
#[inline(always)]
fn higher<I: Isa16>(isa: I, a: Vectors<I::V>, b: Vectors<I::V>) -> Vectors<I::V> {
    let wins = isa.greater(b.score, a.score);
    Vectors {
        score: isa.max(a.score, b.score),
        same: isa.select(wins, b.same, a.same),
        columns: isa.select(wins, b.columns, a.columns),
    }
}

/// A gap that begins after `any`, or is `gap` made longer, whichever scores higher.
#[inline(always)]
fn gap<I: Isa16>(
    isa: I,
    any: Vectors<I::V>,
    gap: Vectors<I::V>,
    [open, extend, one]: [I::V; 3],
) -> Vectors<I::V> {
    let opened = Vectors {
        score: isa.sub(any.score, open),
        ..any
    };
    let longer = Vectors {
        score: isa.sub(gap.score, extend),
        ..gap
    };
    let best = higher(isa, opened, longer);
    Vectors {
        columns: isa.add(best.columns, one),
        ..best
    }
}

impl Task16 for Rows<'_> {
    type Output = Lines;

    #[inline(always)]
    fn run<I: Isa16>(self, isa: I) -> Lines {
        match self.method.kind {
            AlignmentKind::Global => self.rows::<I, false>(isa),
            AlignmentKind::Local => self.rows::<I, true>(isa),
        }
    }
}

impl Rows<'_> {
    /// The best local alignments; the global ones stay in the state.
    #[inline(always)]
    fn rows<I: Isa16, const LOCAL: bool>(self, isa: I) -> Lines {
        let Alignment { open, extend, .. } = *self.method;
        // The score and the columns of a gap of so many letters before everything.
        let border = |letters: i16| match letters {
            0 => Lines::splat(0, 0),
            _ if LOCAL => Lines::splat(0, 0),
            _ => Lines::splat(-open - extend * (letters - 1), letters),
        };
        for (column, letters) in self.state.iter_mut().zip(1..) {
            column.any = border(letters);
            column.gap = Lines::splat(LOWEST, 0);
        }
        let costs = [isa.splat(open), isa.splat(extend), isa.splat(1)];
        let nothing = load(isa, &Lines::splat(0, 0));
        let mut best = nothing;
        let columns = self.state.len();
        for (&code, row) in self.first.iter().zip(0..) {
            let mut corner = load(isa, &border(row));
            let mut left = load(isa, &border(row + 1));
            let mut across = load(isa, &Lines::splat(LOWEST, 0));
            let scores = &self.profile[usize::from(code) * columns..][..columns];
            for (column, both) in self.state.iter_mut().zip(scores) {
                let above = load(isa, &column.any);
                let down = gap(isa, above, load(isa, &column.gap), costs);
                across = gap(isa, left, across, costs);
                let both = isa.load(both);
                let pair = Vectors {
                    score: isa.add(corner.score, isa.half(both)),
                    same: isa.add(corner.same, isa.and(both, costs[2])),
                    columns: isa.add(corner.columns, costs[2]),
                };
                corner = above;
                left = higher(isa, higher(isa, pair, across), down);
                if LOCAL {
                    left = higher(isa, nothing, left);
                    best = higher(isa, best, left);
                }
                store(isa, left, &mut column.any);
                store(isa, down, &mut column.gap);
            }
        }
        let mut lines = Lines::splat(0, 0);
        store(isa, best, &mut lines);
        lines
    }
}

/// Aligns two sequences of any length, one cell after the other. A gap of millions of letters may
/// cost more than 32 bits hold.
pub(super) fn align_one(method: &Alignment, table: &Table, first: &[u8], second: &[u8]) -> Found {
    let (open, extend) = (i64::from(method.open), i64::from(method.extend));
    let local = method.kind == AlignmentKind::Local;
    let lowest = i64::MIN / 2;
    let cell = |score, identities, columns| Found {
        score,
        identities,
        columns,
    };
    let border = |letters: usize| match letters {
        0 => Found::default(),
        _ if local => Found::default(),
        _ => cell(-open - extend * (letters as i64 - 1), 0, letters as u32),
    };
    let higher = |a: Found, b: Found| if b.score > a.score { b } else { a };
    let gap = |any: Found, gap: Found| {
        let opened = cell(any.score - open, any.identities, any.columns);
        let longer = cell(gap.score - extend, gap.identities, gap.columns);
        let best = higher(opened, longer);
        cell(best.score, best.identities, best.columns + 1)
    };
    let none = cell(lowest, 0, 0);
    let mut state: Vec<[Found; 2]> = (1..=second.len()).map(|l| [border(l), none]).collect();
    let mut best = Found::default();
    for (row, &a) in first.iter().enumerate() {
        let (mut corner, mut left, mut across) = (border(row), border(row + 1), none);
        for ([any, down], &b) in state.iter_mut().zip(second) {
            *down = gap(*any, *down);
            across = gap(left, across);
            let both = table.both(a, b);
            let pair = cell(
                corner.score + i64::from(both >> 1),
                corner.identities + (both & 1) as u32,
                corner.columns + 1,
            );
            corner = *any;
            left = higher(higher(pair, across), *down);
            if local {
                left = higher(Found::default(), left);
                best = higher(best, left);
            }
            *any = left;
        }
    }
    match (local, state.last()) {
        (false, Some([any, _])) => *any,
        _ => best,
    }
}

/// The most sequences in a batch.
pub(super) const MOST: usize = SHORTS;
