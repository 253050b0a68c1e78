//! The fall of the temperature: steps until the energies stand still, and splits.

use super::critical::{Critical, Limit};
use super::field::{Field, Sums};
use super::{Pairwise, PairwiseSplit, kernel};
use crate::checkpoint::Keeper;
use crate::clustering::TraceStep;
use crate::{MiningError, Progress};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Steps at one temperature at most.
const STEPS: usize = 300;
/// Temperatures at most.
const TEMPERATURES: usize = 400;
/// Two clusters are one if they are nearer than this share of the temperature.
const CLOSE: f64 = 1e-6;
/// Halvings of a step that raises the free energy, at most.
const HALVINGS: usize = 40;

/// Where a run stands.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct State {
    pub(super) shares: Vec<f64>,
    pub(super) sums: Sums,
    pub(super) temperature: f64,
    pub(super) power: f64,
    pub(super) free_energy: f64,
    pub(super) steps: usize,
    pub(super) trace: Vec<TraceStep>,
    pub(super) splits: Vec<PairwiseSplit>,
    /// Whether all rows are in one cluster each.
    pub(super) cold: bool,
}

impl Pairwise {
    /// Cools until every row is in one cluster, or with `splits_only` until there are `most`.
    pub(super) async fn anneal(
        &self,
        field: &Field<'_>,
        (most, t_min, splits_only): (usize, f64, bool),
        keeper: &mut Keeper<'_>,
    ) -> Result<State, MiningError> {
        let mut state = match keeper.load().await? {
            Some(state) => state,
            None => self.hot(field).await?,
        };
        while !state.cold && state.trace.len() < TEMPERATURES {
            state.steps = 0;
            self.converge(field, &mut state).await?;
            self.split(field, &mut state, most, t_min).await?;
            let (number, clusters) = (state.trace.len(), state.sums.masses.len());
            state.trace.push(TraceStep {
                temperature: state.temperature,
                free_energy: state.free_energy,
                clusters,
                iterations: state.steps,
            });
            field.team.report(|| Progress {
                temperature: state.temperature,
                clusters,
                target: most,
                free_energy: state.free_energy,
                done: number as f64 / (number as f64 + 20.0),
            });
            if clusters == most || state.temperature < t_min {
                state.power = self.last_mass_power;
                let rows = state.shares.chunks_exact(clusters).zip(field.weights);
                let soft = rows.map(|(row, w)| w * (1.0 - row.iter().copied().fold(0.0, f64::max)));
                state.cold = soft.sum::<f64>() < 1e-4;
            }
            state.cold |= splits_only && clusters == most;
            let open = clusters < most && state.temperature > t_min;
            state.temperature *= self.cooling;
            if open {
                // The last splits are those at the lowest temperature of splitting.
                state.temperature = state.temperature.max(t_min);
            }
            keeper.save(state.cold, &state).await?;
        }
        Ok(state)
    }

    /// One cluster, just above its critical temperature.
    async fn hot(&self, field: &Field<'_>) -> Result<State, MiningError> {
        let shares = vec![1.0; field.weights.len()];
        let sums = field.sums(1, &shares).await?;
        let limit = Limit {
            steps: 300,
            tolerance: 1e-9,
        };
        let temperature = field.critical(&shares, &sums, limit).await?[0].temperature * 1.001;
        Ok(State {
            shares,
            sums,
            temperature,
            power: self.mass_power,
            free_energy: 0.0,
            steps: 0,
            trace: Vec::new(),
            splits: Vec::new(),
            cold: temperature <= 0.0,
        })
    }

    /// Steps at one temperature until the energies stand still. A step that would raise the free
    /// energy, as can be where the dissimilarities are not Euclidean, is halved.
    pub(super) async fn converge(
        &self,
        field: &Field<'_>,
        state: &mut State,
    ) -> Result<(), MiningError> {
        let (t, power, k) = (state.temperature, state.power, state.sums.masses.len());
        state.free_energy = field.free_energy(&state.shares, &state.sums, t, power);
        for _ in 0..STEPS {
            let old = state.sums.energies();
            let mut shares = field.shares(&state.sums, t, power);
            let mut sums = field.sums(k, &shares).await?;
            let mut free = field.free_energy(&shares, &sums, t, power);
            let limit = state.free_energy + 1e-12 * (state.sums.cost() + t);
            for _ in 0..HALVINGS {
                if free <= limit {
                    break;
                }
                let halves = shares.iter().zip(&state.shares).map(|(a, b)| (a + b) / 2.0);
                shares = halves.collect();
                sums = field.sums(k, &shares).await?;
                free = field.free_energy(&shares, &sums, t, power);
            }
            state.steps += 1;
            if free > limit {
                return Ok(());
            }
            let new = sums.energies();
            let r = field.weighted(k, &shares);
            let moved: f64 = (0..r.len())
                .map(|at| r[at] * (new[at] - old[at]) * (new[at] - old[at]))
                .sum();
            (state.shares, state.sums, state.free_energy) = (shares, sums, free);
            if moved.sqrt() <= self.tolerance * t {
                break;
            }
        }
        Ok(())
    }

    /// Splits the clusters whose critical temperature is above that of the run, highest first.
    async fn split(
        &self,
        field: &Field<'_>,
        state: &mut State,
        most: usize,
        t_min: f64,
    ) -> Result<(), MiningError> {
        let limit = Limit {
            steps: 100,
            tolerance: 1e-5,
        };
        // Clusters whose halves came together again, alone or with others, at this temperature.
        let mut whole = BTreeSet::new();
        while state.sums.masses.len() < most && state.temperature >= t_min {
            let found = field.critical(&state.shares, &state.sums, limit).await?;
            let unstable = found.iter().enumerate().filter(|(k, critical)| {
                critical.temperature > state.temperature && !whole.contains(k)
            });
            let mut best = None;
            for (k, critical) in unstable {
                if best.is_none_or(|b: usize| critical.temperature > found[b].temperature) {
                    best = Some(k);
                }
            }
            let Some(best) = best else {
                break;
            };
            let before = state.clone();
            state.splits.push(PairwiseSplit {
                cluster: best,
                critical: found[best].temperature,
                temperature: state.temperature,
            });
            state.shares = halve(field, state, best, &found[best]);
            let k = state.sums.masses.len() + 1;
            state.sums = field.sums(k, &state.shares).await?;
            self.converge(field, state).await?;
            match state.coincide(field) {
                true => {
                    *state = State {
                        steps: state.steps,
                        ..before
                    };
                    whole.insert(best);
                }
                false => whole.clear(),
            }
        }
        Ok(())
    }
}

impl State {
    /// Whether two clusters lie in one place: the mean dissimilarity of their members is that
    /// within them.
    fn coincide(&self, field: &Field<'_>) -> bool {
        let (sums, k) = (&self.sums, self.sums.masses.len());
        let rows = self.shares.chunks_exact(k).zip(field.weights);
        let mut apart = vec![0.0; k * k];
        for (row, (shares, weight)) in rows.enumerate() {
            for other in 0..k {
                let at = row * k + other;
                let known = sums.v.as_ref().map_or(sums.masses[other], |v| v[at]);
                let mean = sums.u[at] / known.max(1e-300);
                for own in 0..other {
                    let share = weight * shares[own] / sums.masses[own].max(1e-300);
                    apart[own * k + other] += share * mean;
                }
            }
        }
        let near = |own: usize, other: usize| {
            let within = sums.mean_cost(own) + sums.mean_cost(other);
            apart[own * k + other] - within < CLOSE * self.temperature
        };
        (0..k).any(|other| (0..other).any(|own| near(own, other)))
    }
}

/// The shares after cluster `c` has become two along its direction. The logarithm of the ratio of
/// the two is 4 a u, with a by the normal form of the branch, at most ½.
fn halve(field: &Field<'_>, state: &State, c: usize, critical: &Critical) -> Vec<f64> {
    let (k, mass) = (state.sums.masses.len(), state.sums.masses[c]);
    let rows = state.shares.chunks_exact(k).zip(field.weights);
    let fourth: f64 = rows
        .zip(&critical.direction)
        .map(|((row, w), u)| w * row[c] / mass * u * u * u * u)
        .sum();
    let cold = state.temperature / critical.temperature;
    let a = (0.75 * (1.0 / cold - 1.0) * cold * cold * cold / fourth).max(1e-8);
    let a = a.sqrt().min(0.5);
    let fields: Vec<f64> = critical
        .direction
        .iter()
        .flat_map(|u| {
            let half = (2.0 * a * u).clamp(-15.0, 15.0);
            [-half, half]
        })
        .collect();
    // Two clusters of equal mass at temperature 1 with these energies have the ratio wanted.
    let task = kernel::Shares {
        energies: &fields,
        masses: &[0.5, 0.5],
        temperature: 1.0,
        power: 0.0,
    };
    let halves = crate::lanes::run(field.team.instructions, task);
    let rows = state.shares.chunks_exact(k).zip(halves.chunks_exact(2));
    rows.flat_map(|(row, half)| {
        let mut row = row.to_vec();
        row.push(row[c] * half[1]);
        row[c] *= half[0];
        row
    })
    .collect()
}
