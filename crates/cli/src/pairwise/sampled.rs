//! `--sample`: some rows are clustered, and the others are given to their clusters.

use motet::World;
use motet_mining::{
    CancelToken, Choice, Control, Dissimilarities, Given, PairwiseClustering, Progress, Sampling,
};
use serde::Serialize;

use super::fit;
use crate::error::CliError;
use crate::pairs::{Aligned, Pairs, align};
use crate::plan::Search;
use crate::progress::Bar;
use crate::ranked::parts;

/// What was sampled.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Sample {
    /// The rows that were clustered.
    pub rows: usize,
    /// How many samples were tried; the one counts with the least cost of the rows of another.
    pub draws: usize,
    /// What they were drawn from.
    pub seed: u64,
    /// The cost of the sample itself.
    pub cost: f64,
}

/// What was found for all rows.
pub(super) struct Found {
    /// Of all rows; trace and splits are those of the sample.
    pub(super) clustering: PairwiseClustering,
    pub(super) choice: Option<Choice>,
    /// How the sample was aligned.
    pub(super) aligned: Option<Aligned>,
    pub(super) sample: Sample,
}

/// The rows of one sample, and what was found for them.
struct Drawn {
    rows: Vec<usize>,
    found: PairwiseClustering,
    aligned: Option<Aligned>,
    /// What the rows of another sample cost in these clusters.
    cost: f64,
}

/// Clusters so many samples, and gives all rows to the clusters of the best. All processes get the
/// result; `None` where the first has told an error.
pub(super) fn run(
    world: &World,
    pairs: &Pairs,
    (sampling, draws): (Sampling, usize),
    mut search: Search,
    (cancel, quiet): (&CancelToken, bool),
) -> Result<Option<Found>, CliError> {
    let all = pairs.rows();
    let others = sampling.rows(all, draws);
    let (mut best, mut choice): (Option<Drawn>, _) = (None, None);
    for draw in 0..draws {
        let rows = sampling.rows(all, draw);
        let Some((matrix, aligned)) = among(world, pairs, &rows, (cancel, quiet))? else {
            return Ok(None);
        };
        let ways = (None, true, cancel, quiet);
        let Some((found, chosen)) = fit(world, &matrix, search, ways)? else {
            return Ok(None);
        };
        if let Some(chosen) = chosen {
            // Costs can be compared only if there are as many clusters.
            search = Search::Exactly(chosen.clusters);
            choice = Some(chosen);
        }
        let Some(given) = give(world, pairs, &found, (&others, &rows), (cancel, quiet))? else {
            return Ok(None);
        };
        if best.as_ref().is_none_or(|best| given.cost < best.cost) {
            best = Some(Drawn {
                rows,
                found,
                aligned,
                cost: given.cost,
            });
        }
    }
    let Some(Drawn {
        rows,
        mut found,
        aligned,
        ..
    }) = best
    else {
        return Ok(None);
    };
    let every: Vec<usize> = (0..all).collect();
    let Some(given) = give(world, pairs, &found, (&every, &rows), (cancel, quiet))? else {
        return Ok(None);
    };
    let sample = Sample {
        rows: rows.len(),
        draws,
        seed: sampling.seed,
        cost: found.cost,
    };
    found.rows = 0..all;
    found.sizes.fill(0);
    for label in &given.labels {
        found.sizes[*label as usize] += 1;
    }
    let share = |size: &usize| *size as f64 / all as f64;
    found.masses = found.sizes.iter().map(share).collect();
    found.medoids.iter_mut().for_each(|row| *row = rows[*row]);
    (found.labels, found.cost) = (given.labels, given.cost);
    Ok(Some(Found {
        clustering: found,
        choice,
        aligned,
        sample,
    }))
}

/// The dissimilarities of some rows.
fn among(
    world: &World,
    pairs: &Pairs,
    rows: &[usize],
    (cancel, quiet): (&CancelToken, bool),
) -> Result<Option<(Dissimilarities, Option<Aligned>)>, CliError> {
    let data = |error: motet_mining::DataError| CliError::Data(format!("of the sample, {error}"));
    match pairs {
        Pairs::Matrix(matrix) => Ok(Some((matrix.among(rows).map_err(data)?, None))),
        Pairs::Sequences(sequences, method) => {
            let some = sequences.some(rows);
            let Some((matrix, aligned)) = align(world, true, (&some, method), cancel, quiet)?
            else {
                return Ok(None);
            };
            let matrix = Dissimilarities::from_single(matrix, rows.len()).map_err(data)?;
            Ok(Some((matrix, Some(aligned))))
        }
    }
}

/// Gives rows to the clusters of a sample.
fn give(
    world: &World,
    pairs: &Pairs,
    found: &PairwiseClustering,
    (rows, sample): (&[usize], &[usize]),
    (cancel, quiet): (&CancelToken, bool),
) -> Result<Option<Given>, CliError> {
    let bar = Bar::new(quiet);
    let show = |now: &Progress| bar.at(now.done, "giving rows to clusters".to_owned());
    let control = &Control {
        progress: Some(&show),
        cancel: Some(cancel),
    };
    let make = |rows: &[usize], to: &mut [f64]| match pairs {
        Pairs::Matrix(matrix) => matrix.between(rows, sample, to),
        Pairs::Sequences(sequences, method) => {
            let done = method.between(sequences, rows, sample, to);
            done.expect("the sample was aligned by the same costs");
        }
    };
    let given = parts(world, true, async |comm| {
        found.give(comm, (rows, sample), make, control).await
    });
    bar.clear();
    Ok(given?.and_then(|parts| parts.into_iter().next()))
}
