//! Where K-means starts.

use crate::lanes::log2_of;
use crate::prepare::Prepared;
use crate::rank_view::RankView;
use crate::{MiningError, ParameterError};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use std::f64::consts::LN_2;

/// The random numbers of one restart: the same on every rank.
#[derive(Debug)]
pub(crate) struct UniformDraws(ChaCha8Rng);

impl UniformDraws {
    pub(crate) fn new(seed: u64, restart: usize) -> UniformDraws {
        let mut stream = ChaCha8Rng::seed_from_u64(seed);
        stream.set_stream(restart as u64);
        UniformDraws(stream)
    }

    /// A number in (0, 1).
    pub(crate) fn draw(&mut self) -> f64 {
        ((self.0.next_u64() >> 12) as f64 + 0.5) / (1_u64 << 52) as f64
    }
}

/// Squares of inner coordinates up to this are finite, and so are their sums over all columns.
const FARTHEST: f64 = 1e100;

/// The centres that were given, one after the other.
pub(super) fn given(
    prepared: &Prepared<'_>,
    clusters: usize,
    centres: &[f64],
) -> Result<Vec<f64>, ParameterError> {
    let unfit = |advice| ParameterError::Unfit {
        field: "init",
        advice,
    };
    let dim = prepared.frame.dim();
    if centres.len() != clusters * dim {
        return Err(unfit(
            "there must be one centre for each cluster, of as many coordinates as a point",
        ));
    }
    if !centres.iter().all(|coordinate| coordinate.is_finite()) {
        return Err(unfit("the coordinates of centres must be finite"));
    }
    let mut inner = Vec::with_capacity(centres.len());
    for centre in centres.chunks_exact(dim) {
        prepared.frame.enter(centre, &mut inner);
    }
    match inner.iter().all(|coordinate| coordinate.abs() <= FARTHEST) {
        true => Ok(inner),
        false => Err(unfit(
            "a centre is so far from the points that no distance to it can be worked out",
        )),
    }
}

/// Distinct points at random, by weight, without replacement.
///
/// Each point gets the key u^(1/w); the greatest keys win. Source: P. S. Efraimidis and P. G.
/// Spirakis, Weighted random sampling with a reservoir, Information Processing Letters 97 (2006).
pub(super) fn random(
    prepared: &Prepared<'_>,
    clusters: usize,
    draws: &mut UniformDraws,
) -> Vec<f64> {
    let tree = &prepared.tree;
    let mut keys: Vec<(f64, usize)> = (0..tree.len())
        .map(|row| (log2_of(draws.draw()) / tree.row(row).1, row))
        .collect();
    keys.select_nth_unstable_by(clusters - 1, |a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let mut chosen: Vec<usize> = keys[..clusters].iter().map(|key| key.1).collect();
    chosen.sort_unstable();
    chosen
        .iter()
        .flat_map(|&row| tree.row(row).0)
        .copied()
        .collect()
}

/// Rows that are added up together.
const BLOCK: usize = 512;

/// Points at random, each with probability proportional to its weight times its squared distance
/// from those before it. After the first, 2 + ln k are drawn for each centre, and the one that
/// leaves the least of these products counts, the first of equals.
///
/// Source: D. Arthur and S. Vassilvitskii, k-means++: the advantages of careful seeding, SODA
/// (2007); there, too, several are drawn for each centre.
pub(super) async fn plus_plus(
    team: &RankView<'_>,
    prepared: &Prepared<'_>,
    clusters: usize,
    draws: &mut UniformDraws,
) -> Result<Vec<f64>, MiningError> {
    let tree = &prepared.tree;
    let share = team.share(tree.len().div_ceil(BLOCK));
    let first = share.start * BLOCK;
    let mine = first..tree.len().min(share.end * BLOCK).max(first);
    let mut potential: Vec<f64> = mine.clone().map(|row| tree.row(row).1).collect();
    let sums = potential
        .chunks(BLOCK)
        .map(|block| block.iter().sum::<f64>());
    let stop = || team.control.is_cancelled();
    let mut sums = team.gather(stop(), sums.collect()).await?;
    let mut centres = Vec::with_capacity(clusters * tree.dim);
    for chosen in 0..clusters {
        let tries = if chosen == 0 { 1 } else { tries(clusters) };
        let total = sums.iter().sum::<f64>();
        // The rank that has the block of a draw knows its row.
        let mut rows = vec![0; tries];
        for row in &mut rows {
            let (block, rest) = pick(&sums, draws.draw() * total);
            if share.contains(&block) {
                let start = (block - share.start) * BLOCK;
                let end = potential.len().min(start + BLOCK);
                *row = (first + start + pick(&potential[start..end], rest).0) as i64;
            }
        }
        let rows = team.sum_whole(stop(), rows).await?;
        let trials: Vec<&[f64]> = rows.iter().map(|row| tree.row(*row as usize).0).collect();
        let after = |old: f64, row: usize, centre: &[f64]| {
            let (point, weight) = tree.row(row);
            let squares = point.iter().zip(centre).map(|(a, b)| (a - b) * (a - b));
            let new = weight * squares.sum::<f64>();
            if chosen == 0 || new < old { new } else { old }
        };
        let mut left = Vec::<f64>::with_capacity(tries * share.len());
        for (block, start) in potential.chunks(BLOCK).zip(mine.clone().step_by(BLOCK)) {
            for &trial in &trials {
                let rows = block.iter().zip(start..);
                left.push(rows.map(|(old, row)| after(*old, row, trial)).sum());
            }
        }
        let left = team.gather(stop(), left).await?;
        let best = least(&left, tries);
        sums = left.iter().skip(best).step_by(tries).copied().collect();
        for (old, row) in potential.iter_mut().zip(mine.clone()) {
            *old = after(*old, row, trials[best]);
        }
        centres.extend_from_slice(trials[best]);
    }
    Ok(centres)
}

/// What checkpoints go with beside the options, since [`tries`] says how many draws there are.
pub(crate) const SEVERAL_DRAWS: &str = "several draws for each centre";

/// How many points are drawn for each centre after the first.
pub(crate) fn tries(clusters: usize) -> usize {
    2 + (log2_of(clusters as f64) * LN_2) as usize
}

/// The column of the least sum, the first of equals.
fn least(numbers: &[f64], columns: usize) -> usize {
    let column = |at: usize| numbers.iter().skip(at).step_by(columns);
    let (mut best, mut lowest) = (0, f64::INFINITY);
    for at in 0..columns {
        let sum = column(at).sum::<f64>();
        if sum < lowest {
            (best, lowest) = (at, sum);
        }
    }
    best
}

/// The first entry at which the running sum passes `target`, and what of the target is left
/// there. Entries of zero are never picked unless all are zero.
fn pick(values: &[f64], mut target: f64) -> (usize, f64) {
    let mut last = 0;
    for (i, &value) in values.iter().enumerate() {
        if value > 0.0 {
            if target < value {
                return (i, target);
            }
            target -= value;
            last = i;
        }
    }
    // Rounding may carry the target past the end: the last entry that counts takes it.
    (last, values.get(last).copied().unwrap_or(0.0))
}
