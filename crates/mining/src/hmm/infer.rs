//! What a model says of sequences: probability, path, posteriors.

use super::blocks::{Blocks, Part, join, possible};
use super::in_logs::passed;
use super::kernel::{Pass, Scratch, Want};
use super::model::{Emissions, HmmModel, Observations, Seen};
use super::packed::{Packed, log2_or_none};
use crate::boxed::LocalBoxFuture;
use crate::rank_view::RankView;
use crate::{Control, MiningError, ParameterError};
use motet_comm::Communicator;
use serde::{Deserialize, Serialize};
use std::f64::consts::LN_2;
use std::ops::Range;

/// The most probable paths of the sequences of one rank.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct HmmPaths {
    /// These sequences.
    pub sequences: Range<usize>,
    /// Of each the states, the first of equals.
    pub paths: Vec<Vec<u32>>,
    /// Of each ln p of path and sequence.
    pub log_p: Vec<f64>,
}

/// The posteriors of the states, of the sequences of one rank.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct HmmPosteriors {
    /// These sequences.
    pub sequences: Range<usize>,
    /// Of each, place after place, the probability of each state given the whole sequence.
    pub shares: Vec<Vec<f64>>,
    /// Of each ln p.
    pub log_p: Vec<f64>,
}

impl HmmModel {
    /// ln p of each sequence, on all ranks.
    ///
    /// # Errors
    ///
    /// [`MiningError::Parameter`] if the observations are of another kind, and
    /// [`MiningError::Impossible`], [`MiningError::Cancelled`], [`MiningError::Comm`]; on all
    /// ranks alike.
    ///
    /// # Cancellation
    ///
    /// By [`Control::cancel`]: all ranks end together after this pass.
    pub fn score<'a>(
        &'a self,
        comm: &'a Communicator,
        seen: &'a Observations,
        control: &'a Control<'a>,
    ) -> LocalBoxFuture<'a, Result<Vec<f64>, MiningError>> {
        Box::pin(async move {
            let own = self.each(comm, seen, control, Want::Score, |_| ()).await?;
            RankView::new(comm, control).gather(false, own.1).await
        })
    }

    /// The posteriors of this rank's sequences.
    ///
    /// # Errors
    ///
    /// As for [`score`](HmmModel::score).
    ///
    /// # Cancellation
    ///
    /// As for [`score`](HmmModel::score).
    pub fn posteriors<'a>(
        &'a self,
        comm: &'a Communicator,
        seen: &'a Observations,
        control: &'a Control<'a>,
    ) -> LocalBoxFuture<'a, Result<HmmPosteriors, MiningError>> {
        Box::pin(async move {
            let mut shares = Vec::new();
            let keep = |scratch: &Scratch| shares.push(scratch.shares.clone());
            let (sequences, log_p) = self.each(comm, seen, control, Want::Shares, keep).await?;
            Ok(HmmPosteriors {
                sequences,
                shares,
                log_p,
            })
        })
    }

    /// The most probable paths of this rank's sequences (Viterbi).
    ///
    /// # Errors
    ///
    /// As for [`score`](HmmModel::score).
    ///
    /// # Cancellation
    ///
    /// As for [`score`](HmmModel::score).
    pub fn decode<'a>(
        &'a self,
        comm: &'a Communicator,
        seen: &'a Observations,
        control: &'a Control<'a>,
    ) -> LocalBoxFuture<'a, Result<HmmPaths, MiningError>> {
        Box::pin(async move {
            self.check(seen)?;
            let team = RankView::new(comm, control);
            let blocks = Blocks::new(seen);
            let (mut paths, mut log_p) = (Vec::new(), Vec::new());
            let of_block = |block: usize| -> Part {
                for sequence in blocks.sequences(block) {
                    match self.path(seen, sequence) {
                        Ok((path, log)) => {
                            paths.push(path);
                            log_p.push(log);
                        }
                        Err(place) => return (Vec::new(), Some((sequence, place))),
                    }
                }
                (Vec::new(), None)
            };
            let part = team.reduce(blocks.count(), of_block, join).await?;
            possible(part)?;
            let sequences = blocks.share(&team);
            Ok(HmmPaths {
                sequences,
                paths,
                log_p,
            })
        })
    }

    /// Passes over this rank's sequences: which they are, and ln p of each.
    async fn each(
        &self,
        comm: &Communicator,
        seen: &Observations,
        control: &Control<'_>,
        want: Want,
        mut keep: impl FnMut(&Scratch),
    ) -> Result<(Range<usize>, Vec<f64>), MiningError> {
        self.check(seen)?;
        let team = RankView::new(comm, control);
        let (packed, blocks) = (Packed::new(self), Blocks::new(seen));
        let (mut scratch, mut log_p) = (Scratch::default(), Vec::new());
        let of_block = |block: usize| -> Part {
            for sequence in blocks.sequences(block) {
                let pass = Pass {
                    packed: &packed,
                    seen,
                    sequence,
                    want,
                    scratch: &mut scratch,
                };
                match passed(team.instructions, pass) {
                    Ok(log) => log_p.push(log * LN_2),
                    Err(place) => return (Vec::new(), Some((sequence, place))),
                }
                keep(&scratch);
            }
            (Vec::new(), None)
        };
        let part = team.reduce(blocks.count(), of_block, join).await?;
        possible(part)?;
        Ok((blocks.share(&team), log_p))
    }

    /// The most probable path of one sequence and its ln p; the place at which there is none.
    fn path(&self, seen: &Observations, sequence: usize) -> Result<(Vec<u32>, f64), usize> {
        let (states, places) = (self.states(), seen.range(sequence));
        let steps: Vec<f64> = self.transitions.iter().map(|p| log2_or_none(*p)).collect();
        let mut best: Vec<f64> = self.start.iter().map(|p| log2_or_none(*p)).collect();
        let mut back: Vec<u32> = Vec::with_capacity(places.len() * states);
        for (number, place) in places.enumerate() {
            if number > 0 {
                let mut next = vec![f64::NEG_INFINITY; states];
                let at = back.len();
                back.resize(at + states, 0);
                for (i, best) in best.iter().enumerate() {
                    let row = &steps[i * states..][..states];
                    let all = next.iter_mut().zip(&mut back[at..]).zip(row);
                    for ((next, from), step) in all {
                        let log = best + step;
                        if log > *next {
                            (*next, *from) = (log, i as u32);
                        }
                    }
                }
                best = next;
            }
            for (state, best) in best.iter_mut().enumerate() {
                *best += self.log2_shown(seen, place, state);
            }
            if best.iter().all(|log| *log == f64::NEG_INFINITY) {
                return Err(number);
            }
        }
        let largest =
            |best: &[f64]| (1..states).fold(0, |a, b| if best[b] > best[a] { b } else { a });
        let mut state = largest(&best);
        let log = best[state] * LN_2;
        let mut path = vec![state as u32];
        for from in back.chunks_exact(states).rev() {
            state = from[state] as usize;
            path.push(state as u32);
        }
        path.reverse();
        Ok((path, log))
    }

    /// log₂ of the density of what is seen at a place, in a state.
    fn log2_shown(&self, seen: &Observations, place: usize, state: usize) -> f64 {
        match (&self.emissions, &seen.values) {
            (
                Emissions::Discrete {
                    symbols,
                    probabilities,
                },
                Seen::Symbols { values, .. },
            ) => log2_or_none(probabilities[state * symbols + values[place] as usize]),
            (
                Emissions::Gaussian {
                    dim,
                    means,
                    variances,
                },
                Seen::Numbers { values, .. },
            ) => {
                let row = &values[place * dim..][..*dim];
                let (means, variances) = (&means[state * dim..], &variances[state * dim..]);
                let terms = row
                    .iter()
                    .zip(means)
                    .zip(variances)
                    .map(|((x, mean), variance)| {
                        let square = (x - mean) * (x - mean) / variance;
                        let constant = log2_or_none(variance * std::f64::consts::TAU);
                        -0.5 * (square * std::f64::consts::LOG2_E + constant)
                    });
                terms.sum()
            }
            // `check` has compared the kinds.
            _ => f64::NEG_INFINITY,
        }
    }

    /// The model and the observations must be of one kind.
    pub(super) fn check(&self, seen: &Observations) -> Result<(), ParameterError> {
        let fits = match (&self.emissions, &seen.values) {
            (Emissions::Discrete { symbols, .. }, Seen::Symbols { symbols: seen, .. }) => {
                seen <= symbols
            }
            (Emissions::Gaussian { dim, .. }, Seen::Numbers { dim: seen, .. }) => dim == seen,
            _ => false,
        };
        match fits {
            true => Ok(()),
            false => Err(ParameterError::Unfit {
                field: "emissions",
                advice: "the observations are of another kind or size: give both the same",
            }),
        }
    }
}
