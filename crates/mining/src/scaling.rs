//! Multidimensional scaling: places in a few dimensions whose distances are those of pairs.
//!
//! Sources: W. S. Torgerson, Multidimensional scaling: I, Psychometrika 17 (1952); J. de Leeuw,
//! Applications of convex analysis to multidimensional scaling (1977), known as SMACOF; S. Bae,
//! J. Qiu and G. Fox, Multidimensional scaling by deterministic annealing with iterative
//! majorization algorithm, IEEE e-Science (2010).
//!
//! Rows are divided among the ranks; one allgather per step brings the new places to all.

mod classical;
mod field;
mod interpolate;
mod kernel;
mod progress;
#[cfg(test)]
mod tests;

use crate::boxed::LocalBoxFuture;
use crate::checkpoint::{CheckpointKeeper, Checkpoints};
use crate::memory_request::MemoryRequest;
use crate::rank_view::RankView;
use crate::{Control, Dissimilarities, MiningError, ParameterError};
use field::{Field, Known};
use motet_comm::Communicator;
use serde::{Deserialize, Serialize};

/// The lowest temperature above zero, as a share of the first.
const LAST: f64 = 0.01;
/// The first temperature is so near to the one at which nothing is left of the distances.
const FIRST: f64 = 0.99;

/// How places are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ScalingMethod {
    /// Leading eigenvectors of the centred squares: exact where the distances are those of points
    /// in as many dimensions.
    Classical,
    /// Majorisation of the stress, from the classical places.
    Majorised,
    /// Majorisation at falling temperatures: at a high one only the large distances count. What
    /// [`Majorised`](ScalingMethod::Majorised) finds is given instead where its stress is lower.
    Annealed,
}

/// Multidimensional scaling.
///
/// Stress is Σ (D - d)² over the known pairs, with d the distances of the places. Pairs that are
/// not known do not count; the classical start takes the mean of what is known for them. Here the
/// dissimilarities are distances, not squares. No random number enters anywhere.
///
/// # Examples
///
/// ```
/// use motet_comm::World;
/// use motet_mining::{Control, Dissimilarities, Scaling};
///
/// // The corners of a square, by their distances.
/// let d = 2.0_f64.sqrt();
/// let pairs = vec![0., 1., d, 1., 1., 0., 1., d, d, 1., 0., 1., 1., d, 1., 0.];
/// let pairs = Dissimilarities::new(pairs, 4)?;
/// let found = World::threads(2)
///     .run(async |comm| Scaling::default().fit(&comm, &pairs, &Control::default()).await)
///     .unwrap()
///     .remove(0);
/// assert!(found.stress < 1e-12);
/// let [a, c] = [found.place(0), found.place(2)];
/// assert!(((a[0] - c[0]).hypot(a[1] - c[1]) - d).abs() < 1e-6);
/// # Ok::<(), motet_mining::DataError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Scaling {
    /// The number of dimensions of the places.
    pub dim: usize,
    /// How places are found.
    pub method: ScalingMethod,
    /// The factor from one temperature to the next, at least 0.1 and below 1.
    pub cooling: f64,
    /// A temperature ends when a step lowers the stress by less than this share of it.
    pub tolerance: f64,
    /// The most steps of a temperature.
    pub iterations: usize,
}

impl Default for Scaling {
    fn default() -> Scaling {
        Scaling {
            dim: 2,
            method: ScalingMethod::Majorised,
            cooling: 0.9,
            tolerance: 1e-6,
            iterations: 300,
        }
    }
}

/// One temperature of a scaling.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ScalingStep {
    /// The temperature, in the units of the distances; 0 at last.
    pub temperature: f64,
    /// The stress of the shortened distances at its end.
    pub stress: f64,
    /// The steps it took.
    pub iterations: usize,
}

/// What [`Scaling::fit`] finds: the same on all ranks, with the same bits for any number of ranks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Scaled {
    /// The number of dimensions.
    pub dim: usize,
    /// The places of all rows, `dim` numbers each. Their mean is zero.
    pub places: Vec<f64>,
    /// Σ (D - d)² over the known pairs.
    pub stress: f64,
    /// The stress over Σ D².
    pub relative_stress: f64,
    /// The leading eigenvalues of the classical start. Of a negative one the places have zeros.
    pub eigenvalues: Vec<f64>,
    /// The temperatures in order, the last of which ended with these places; empty for classical
    /// scaling.
    pub trace: Vec<ScalingStep>,
    /// The share of the pairs that are not known.
    pub unknown: f64,
    /// The largest difference of D(i, j) and D(j, i), of which the mean was used.
    pub asymmetry: f64,
}

/// Where a scaling is, in units of the field.
#[derive(Serialize, Deserialize)]
struct State {
    places: Vec<f64>,
    eigenvalues: Vec<f64>,
    /// The temperatures that have ended.
    trace: Vec<ScalingStep>,
    /// Steps at the one after them.
    iterations: usize,
    /// What the annealing has found, once it has ended.
    annealed: Option<Vec<f64>>,
}

impl Scaled {
    /// The place of one row.
    ///
    /// # Panics
    ///
    /// If there is no such row.
    pub fn place(&self, row: usize) -> &[f64] {
        &self.places[row * self.dim..][..self.dim]
    }
}

impl Scaling {
    /// Finds places for the rows of `pairs`; all ranks of `comm` call it with the same input and
    /// parameters.
    ///
    /// # Errors
    ///
    /// [`MiningError::Parameter`], [`MiningError::Data`] if known pairs do not link all rows, or if
    /// there is no room for so many dimensions, [`MiningError::Cancelled`], [`MiningError::Comm`];
    /// on all ranks alike.
    ///
    /// # Cancellation
    ///
    /// By [`Control::cancel`]: all ranks end together within one pass over the pairs.
    pub fn fit<'a>(
        &'a self,
        comm: &'a Communicator,
        pairs: &'a Dissimilarities,
        control: &'a Control<'a>,
    ) -> LocalBoxFuture<'a, Result<Scaled, MiningError>> {
        Box::pin(async move { self.run(comm, pairs, control, None).await })
    }

    /// As [`fit`](Scaling::fit), with checkpoints after steps. It goes on from the one that is
    /// there.
    ///
    /// # Errors
    ///
    /// Those of [`fit`](Scaling::fit), and [`MiningError::Checkpoint`].
    ///
    /// # Cancellation
    ///
    /// As for [`fit`](Scaling::fit); the last checkpoint stays.
    pub fn fit_kept<'a>(
        &'a self,
        comm: &'a Communicator,
        pairs: &'a Dissimilarities,
        control: &'a Control<'a>,
        kept: &'a Checkpoints,
    ) -> LocalBoxFuture<'a, Result<Scaled, MiningError>> {
        Box::pin(async move { self.run(comm, pairs, control, Some(kept)).await })
    }

    async fn run(
        &self,
        comm: &Communicator,
        pairs: &Dissimilarities,
        control: &Control<'_>,
        kept: Option<&Checkpoints>,
    ) -> Result<Scaled, MiningError> {
        self.check()?;
        let team = RankView::new(comm, control);
        let numbers = (pairs.len() as u128 * self.dim as u128).saturating_mul(3);
        let advice = "ask for fewer dimensions";
        team.ask_for(MemoryRequest::new(
            "places in so many dimensions",
            numbers,
            advice,
        ))
        .await?;
        let mut field = Field::new(&team, pairs, self.dim)?;
        let known = field.known().await?;
        let mut keeper =
            CheckpointKeeper::new(comm, kept, &(self, "in units of the largest"), |digest| {
                pairs.digest(&[], digest);
            });
        let mut state = match keeper.load::<State>().await? {
            Some(state) => state,
            None => {
                let told = |rounds| self.report(&field, (0, rounds), (0.0, known.squares));
                let (places, eigenvalues) = field.classical(&known.means, &told).await?;
                State {
                    places,
                    eigenvalues,
                    trace: Vec::new(),
                    iterations: 0,
                    annealed: None,
                }
            }
        };
        let all = self.temperatures(known.largest);
        for temperature in all.into_iter().skip(state.trace.len()) {
            let step = self
                .cool(&field, &mut state, temperature, &mut keeper)
                .await?;
            state.trace.push(step);
            state.iterations = 0;
            let ended = 1 + state.trace.len();
            self.report(&field, (ended, 0), (step.temperature, step.stress));
            keeper.save(false, &state).await?;
        }
        if self.method == ScalingMethod::Annealed {
            self.majorise_too(&field, &known.means, &mut state, &mut keeper)
                .await?;
        }
        self.scaled(&field, &known, state).await
    }

    /// What a run has ended with, in the units of the data.
    async fn scaled(
        &self,
        field: &Field<'_>,
        known: &Known,
        state: State,
    ) -> Result<Scaled, MiningError> {
        let mut places = state.places;
        field.centre(&mut places);
        let stress = field.stress(&places).await?;
        let whole = known.squares;
        let eigenvalues = state.eigenvalues.iter().map(|value| field.square(*value));
        Ok(Scaled {
            dim: self.dim,
            places: places.iter().map(|place| place * field.unit).collect(),
            stress: field.square(stress),
            relative_stress: if whole > 0.0 { stress / whole } else { 0.0 },
            eigenvalues: eigenvalues.collect(),
            trace: state.trace.iter().map(|step| outer(step, field)).collect(),
            unknown: known.unknown,
            asymmetry: field.data.asymmetry(),
        })
    }

    /// Majorises from the classical places, and keeps what was annealed if that is as good. Rows
    /// that no large distance holds lie in one place at a high temperature. Majorisation does not
    /// move rows of one place apart. So of few rows the annealing may lose a dimension.
    async fn majorise_too(
        &self,
        field: &Field<'_>,
        means: &[f64],
        state: &mut State,
        keeper: &mut CheckpointKeeper<'_>,
    ) -> Result<(), MiningError> {
        if state.annealed.is_none() {
            let ended = 1 + state.trace.len();
            let stress = state.trace.last().map_or(0.0, |step| step.stress);
            let told = |rounds| self.report(field, (ended, rounds), (0.0, stress));
            let (classical, _) = field.classical(means, &told).await?;
            state.annealed = Some(std::mem::replace(&mut state.places, classical));
            state.iterations = 0;
        }
        let step = self.cool(field, state, 0.0, keeper).await?;
        match (state.trace.last_mut(), state.annealed.take()) {
            (Some(last), _) if step.stress < last.stress => *last = step,
            (_, Some(annealed)) => state.places = annealed,
            (_, None) => {}
        }
        Ok(())
    }

    /// The temperatures in order, for distances of which this is the largest.
    fn temperatures(&self, largest: f64) -> Vec<f64> {
        let mut all = Vec::new();
        if self.method == ScalingMethod::Annealed {
            let first = FIRST * largest / (2.0 * self.dim as f64).sqrt();
            let mut temperature = first;
            while temperature > LAST * first {
                all.push(temperature);
                temperature *= self.cooling;
            }
        }
        if self.method != ScalingMethod::Classical {
            all.push(0.0);
        }
        all
    }

    /// Steps at one temperature until the stress stands still.
    async fn cool(
        &self,
        field: &Field<'_>,
        state: &mut State,
        temperature: f64,
        keeper: &mut CheckpointKeeper<'_>,
    ) -> Result<ScalingStep, MiningError> {
        let short = temperature * (2.0 * self.dim as f64).sqrt();
        let mut image = field.image(&state.places, short).await?;
        while state.iterations < self.iterations {
            let new = field.step(&state.places, &image).await?;
            let next = field.image(&new, short).await?;
            let fall = image.stress - next.stress;
            if fall < -1e-9 * (image.stress + f64::MIN_POSITIVE) && fall < -1e-12 * image.whole {
                return Err(MiningError::Rose {
                    quantity: "stress",
                    step: state.iterations,
                    before: field.square(image.stress),
                    after: field.square(next.stress),
                });
            }
            let done = fall <= self.tolerance * image.stress;
            (state.places, image) = (new, next);
            state.iterations += 1;
            let ended = 1 + state.trace.len() + usize::from(state.annealed.is_some());
            let now = (temperature, image.stress);
            self.report(field, (ended, state.iterations), now);
            if done {
                break;
            }
            keeper.save(false, state).await?;
        }
        Ok(ScalingStep {
            temperature,
            stress: image.stress,
            iterations: state.iterations,
        })
    }

    fn check(&self) -> Result<(), ParameterError> {
        for (field, value) in [("dim", self.dim), ("iterations", self.iterations)] {
            if value == 0 {
                return Err(ParameterError::Zero { field });
            }
        }
        for (field, value, good, range) in [
            (
                "cooling",
                self.cooling,
                (0.1..1.0).contains(&self.cooling),
                "at least 0.1 and below 1",
            ),
            (
                "tolerance",
                self.tolerance,
                (0.0..1.0).contains(&self.tolerance),
                "at least 0 and below 1",
            ),
        ] {
            if !good {
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

/// A step in the units of the data.
fn outer(step: &ScalingStep, field: &Field<'_>) -> ScalingStep {
    ScalingStep {
        temperature: step.temperature * field.unit,
        stress: field.square(step.stress),
        iterations: step.iterations,
    }
}
