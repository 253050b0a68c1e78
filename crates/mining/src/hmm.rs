//! Hidden Markov models: probability, path, posteriors, fit.
//!
//! Source: L. R. Rabiner, A tutorial on hidden Markov models and selected applications in speech
//! recognition, Proceedings of the IEEE 77 (1989).
//!
//! Ranks share whole sequences, in blocks that depend on the sequences alone; a step of the fit is
//! one pass over them and one reduction.

mod blocks;
mod in_logs;
mod infer;
mod kernel;
mod lost;
mod model;
mod packed;
mod start;
#[cfg(test)]
mod tests;

use crate::boxed::LocalBoxFuture;
use crate::checkpoint::{CheckpointKeeper, Checkpoints};
use crate::lanes::LANES;
use crate::rank_view::RankView;
use crate::{Control, MiningError, ParameterError, Progress};
use blocks::{Blocks, Part, join, possible};
use in_logs::passed;
use kernel::{Pass, Scratch, Want};
use motet_comm::Communicator;
use packed::Packed;
use serde::{Deserialize, Serialize};
use std::f64::consts::LN_2;

pub use infer::{HmmPaths, HmmPosteriors};
pub use model::{Emissions, HmmModel, Observations};

/// Fits a hidden Markov model to sequences, by the rule of Baum and Welch.
///
/// # Examples
///
/// ```
/// use motet_comm::World;
/// use motet_mining::{Control, Emissions, Hmm, HmmModel, Observations};
///
/// // Runs of one symbol, then of the other.
/// let place = |s: u32, i: u32| (i + 3 * s) / 10 % 2;
/// let run = |s: u32| (0..60).map(|i| place(s, i)).collect::<Vec<u32>>();
/// let runs: Vec<Vec<u32>> = (0..8).map(run).collect();
/// let seen = Observations::symbols(&runs, 2)?;
/// let shown = Emissions::Discrete { symbols: 2, probabilities: vec![0.6, 0.4, 0.3, 0.7] };
/// let start = HmmModel::new(vec![0.5; 2], vec![0.6, 0.4, 0.4, 0.6], shown)?;
/// let fitted = World::threads(2)
///     .run(async |comm| Hmm::default().fit(&comm, &start, &seen, &Control::default()).await)
///     .unwrap()
///     .remove(0);
/// assert!(fitted.model.transitions()[0] > 0.85);
/// assert!(fitted.trace.windows(2).all(|pair| pair[1] >= pair[0]));
/// # Ok::<(), motet_mining::DataError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hmm {
    /// A run ends when ln p of all sequences grows by less than this.
    pub tolerance: f64,
    /// The most steps.
    pub iterations: usize,
    /// The least variance.
    pub floor: f64,
}

impl Default for Hmm {
    fn default() -> Hmm {
        Hmm {
            tolerance: 1e-2,
            iterations: 100,
            floor: 1e-3,
        }
    }
}

/// What [`Hmm::fit`] finds, the same on all ranks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct HmmFitted {
    /// The model after the last step.
    pub model: HmmModel,
    /// ln p of all sequences before each step.
    pub trace: Vec<f64>,
    /// Whether the last step raised it by less than the tolerance.
    pub converged: bool,
}

impl Hmm {
    /// Steps from `start` until ln p stands still; all ranks of `comm` call it with the same
    /// input. A state that is never visited keeps its probabilities.
    ///
    /// # Errors
    ///
    /// As for [`HmmModel::score`], [`MiningError::Fell`], and [`MiningError::Degenerate`] with the
    /// state whose variance no number holds.
    ///
    /// # Cancellation
    ///
    /// By [`Control::cancel`]: all ranks end together after the step they are in.
    pub fn fit<'a>(
        &'a self,
        comm: &'a Communicator,
        start: &'a HmmModel,
        seen: &'a Observations,
        control: &'a Control<'a>,
    ) -> LocalBoxFuture<'a, Result<HmmFitted, MiningError>> {
        Box::pin(async move { self.run(comm, start, seen, control, None).await })
    }

    /// As [`fit`](Hmm::fit), with checkpoints after steps. It goes on from the one that is there.
    ///
    /// # Errors
    ///
    /// Those of [`fit`](Hmm::fit), and [`MiningError::Checkpoint`].
    ///
    /// # Cancellation
    ///
    /// As for [`fit`](Hmm::fit); the last checkpoint stays.
    pub fn fit_kept<'a>(
        &'a self,
        comm: &'a Communicator,
        start: &'a HmmModel,
        seen: &'a Observations,
        control: &'a Control<'a>,
        kept: &'a Checkpoints,
    ) -> LocalBoxFuture<'a, Result<HmmFitted, MiningError>> {
        Box::pin(async move { self.run(comm, start, seen, control, Some(kept)).await })
    }

    async fn run(
        &self,
        comm: &Communicator,
        start: &HmmModel,
        seen: &Observations,
        control: &Control<'_>,
        kept: Option<&Checkpoints>,
    ) -> Result<HmmFitted, MiningError> {
        self.check()?;
        start.check(seen)?;
        let (team, blocks) = (RankView::new(comm, control), Blocks::new(seen));
        let mut keeper =
            CheckpointKeeper::new(comm, kept, &(self, start), |digest| seen.digest(digest));
        let mut scratch = Scratch::default();
        let mut now = keeper.load().await?.unwrap_or_else(|| HmmFitted {
            model: self.raised(start),
            trace: Vec::new(),
            converged: false,
        });
        while now.trace.len() < self.iterations && !now.converged {
            let step = now.trace.len();
            let packed = Packed::new(&now.model);
            let part = pass(&team, &blocks, &packed, seen, &mut scratch).await?;
            let sums = possible(part)?;
            let value = sums[0] * LN_2;
            let last = now.trace.last().copied().unwrap_or(f64::NEG_INFINITY);
            if value < last - 1e-9 * last.abs().max(1.0) {
                return Err(MiningError::Fell {
                    quantity: "ln p",
                    step,
                    before: last,
                    after: value,
                });
            }
            self.maximise(&mut now.model, packed.width, &sums[1..]);
            if let Emissions::Gaussian { dim, variances, .. } = &now.model.emissions {
                all_finite(*dim, variances)?;
            }
            now.trace.push(value);
            now.converged = value - last < self.tolerance;
            let states = now.model.states();
            team.report(|| Progress {
                temperature: 0.0,
                clusters: states,
                target: states,
                free_energy: -value,
                done: (step + 1) as f64 / self.iterations as f64,
            });
            let ended = now.converged || step + 1 == self.iterations;
            keeper.save(ended, &now).await?;
        }
        Ok(now)
    }

    /// The start with variances of the floor at least: each step is the best of such models.
    fn raised(&self, start: &HmmModel) -> HmmModel {
        let mut model = start.clone();
        if let Emissions::Gaussian { variances, .. } = &mut model.emissions {
            variances
                .iter_mut()
                .for_each(|variance| *variance = variance.max(self.floor));
        }
        model
    }

    /// The model that the sums of a pass lead to.
    fn maximise(&self, model: &mut HmmModel, width: usize, sums: &[f64]) {
        let (states, lanes) = (model.states(), width * LANES);
        let (first, rest) = sums.split_at(lanes);
        let (steps, rest) = rest.split_at(lanes * states);
        let (visits, shown) = rest.split_at(lanes);
        let all: f64 = first[..states].iter().sum();
        (0..states).for_each(|state| model.start[state] = first[state] / all);
        let rows = model.transitions.chunks_exact_mut(states);
        for (row, steps) in rows.zip(steps.chunks_exact(lanes)) {
            let counts: Vec<f64> = row.iter().zip(steps).map(|(p, sum)| p * sum).collect();
            divide(row, &counts);
        }
        match &mut model.emissions {
            Emissions::Discrete {
                symbols,
                probabilities,
            } => {
                for (state, row) in probabilities.chunks_exact_mut(*symbols).enumerate() {
                    let counts: Vec<f64> = (0..*symbols)
                        .map(|symbol| shown[symbol * lanes + state])
                        .collect();
                    divide(row, &counts);
                }
            }
            Emissions::Gaussian {
                dim,
                means,
                variances,
            } => {
                for state in (0..states).filter(|state| visits[*state] > 0.0) {
                    for column in 0..*dim {
                        let at = 2 * column * lanes + state;
                        let shift = shown[at] / visits[state];
                        let square = shown[at + lanes] / visits[state];
                        means[state * *dim + column] += shift;
                        let spread = square - shift * shift;
                        // What is no number stays so, and is told.
                        variances[state * *dim + column] = match spread < self.floor {
                            true => self.floor,
                            false => spread,
                        };
                    }
                }
            }
        }
    }

    fn check(&self) -> Result<(), ParameterError> {
        if self.iterations == 0 {
            let field = "iterations";
            return Err(ParameterError::Zero { field });
        }
        for (field, value, good, range) in [
            (
                "tolerance",
                self.tolerance,
                self.tolerance >= 0.0,
                "finite and not negative",
            ),
            ("floor", self.floor, self.floor > 0.0, "finite and above 0"),
        ] {
            if !(good && value.is_finite()) {
                return Err(ParameterError::OutOfRange {
                    field,
                    value,
                    range,
                });
            }
        }
        Ok(())
    }
}

/// Whether all variances are numbers that models may have, `dim` of each state; those that the
/// floor raises are.
fn all_finite(dim: usize, variances: &[f64]) -> Result<(), MiningError> {
    let good = |value: &f64| 1.0 / value >= f64::MIN_POSITIVE;
    match variances.iter().position(|value| !good(value)) {
        None => Ok(()),
        Some(at) => Err(MiningError::Degenerate {
            component: at / dim,
            problem: "has a variance beyond all numbers: divide the columns by a large one",
        }),
    }
}

/// Counts become probabilities; without any count the row stays as it is.
fn divide(row: &mut [f64], counts: &[f64]) {
    let sum: f64 = counts.iter().sum();
    if sum > 0.0 {
        row.iter_mut()
            .zip(counts)
            .for_each(|(p, count)| *p = count / sum);
    }
}

/// The sums over all sequences of all ranks: log₂ p, then those of [`Scratch`].
async fn pass(
    team: &RankView<'_>,
    blocks: &Blocks,
    packed: &Packed,
    seen: &Observations,
    scratch: &mut Scratch,
) -> Result<Option<Part>, MiningError> {
    let of_block = |block: usize| -> Part {
        scratch.begin(packed);
        let mut total = 0.0;
        for sequence in blocks.sequences(block) {
            let pass = Pass {
                packed,
                seen,
                sequence,
                want: Want::Sums,
                scratch,
            };
            match passed(team.instructions, pass) {
                Ok(log) => total += log,
                Err(place) => return (Vec::new(), Some((sequence, place))),
            }
        }
        let lanes = [
            &scratch.first,
            &scratch.steps,
            &scratch.visits,
            &scratch.sums,
        ];
        let lanes = lanes.into_iter().flatten().flat_map(|lane| lane.0);
        ([total].into_iter().chain(lanes).collect(), None)
    };
    team.reduce(blocks.count(), of_block, join).await
}
