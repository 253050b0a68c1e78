//! The fall of the temperature: steps until the energies stand still, and splits.

use super::critical::{Critical, LloydLimit};
use super::field::{Field, Sums};
use super::{Pairwise, PairwiseSplit, kernel};
use crate::checkpoint::CheckpointKeeper;
use crate::clustering::TraceStep;
use crate::power::power_of_two_above;
use crate::{MiningError, Progress};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Steps at one temperature at most.
const STEPS: usize = 300;
/// Temperatures at most.
const TEMPERATURES: usize = 400;
/// Two clusters are one if they are nearer than this share of the temperature.
const CLOSE: f64 = 1e-6;
/// Below this share of the first temperature, energies over the temperature may be no numbers.
const FROZEN: f64 = 1e-200;
/// Halvings of a step that raises the free energy, at most.
const HALVINGS: usize = 40;

/// Where a run stands.
#[derive(Debug, Clone)]
pub(super) struct State {
    /// The shares of this rank's rows.
    pub(super) shares: Vec<f64>,
    pub(super) sums: Sums,
    pub(super) fall: Fall,
}

/// How far the temperature has fallen; the same on all ranks.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Fall {
    pub(super) temperature: f64,
    pub(super) power: f64,
    pub(super) free_energy: f64,
    pub(super) steps: usize,
    pub(super) trace: Vec<TraceStep>,
    pub(super) splits: Vec<PairwiseSplit>,
    /// The temperatures up to the last one that says how many clusters there are: there are more
    /// than before, or none that should split stayed whole.
    pub(super) settled: usize,
    /// Whether all rows are in one cluster each.
    pub(super) cold: bool,
}

impl Pairwise {
    /// Cools until every row is in one cluster, or with `splits_only` until there are `most`.
    pub(super) async fn anneal(
        &self,
        field: &Field<'_>,
        (most, t_min, splits_only): (usize, f64, bool),
        keeper: &mut CheckpointKeeper<'_>,
    ) -> Result<State, MiningError> {
        let mut state = match keeper.load::<(Vec<f64>, Fall)>().await? {
            Some((shares, fall)) => State::of(field, &shares, fall).await?,
            None => self.hot(field).await?,
        };
        while !state.fall.cold && state.fall.trace.len() < TEMPERATURES {
            state.fall.steps = 0;
            self.converge(field, &mut state).await?;
            let all_split = self.split(field, &mut state, most, t_min).await?;
            let clusters = state.sums.masses.len();
            let soft = match clusters == most || state.fall.temperature < t_min {
                true => Some(state.soft(field).await?),
                false => None,
            };
            let fall = &mut state.fall;
            let number = fall.trace.len();
            let more = fall
                .trace
                .last()
                .is_none_or(|last| last.clusters < clusters);
            if more || all_split {
                fall.settled = number + 1;
            }
            fall.trace.push(TraceStep {
                temperature: fall.temperature,
                free_energy: fall.free_energy,
                clusters,
                iterations: fall.steps,
            });
            field.team.report(|| Progress {
                temperature: fall.temperature,
                clusters,
                target: most,
                free_energy: fall.free_energy,
                done: number as f64 / (number as f64 + 20.0),
            });
            if let Some(soft) = soft {
                fall.power = self.last_mass_power;
                fall.cold = soft < 1e-4;
            }
            fall.cold |= splits_only && clusters == most;
            let open = clusters < most && fall.temperature > t_min;
            fall.temperature *= self.cooling;
            if open {
                // The last splits are those at the lowest temperature of splitting.
                fall.temperature = fall.temperature.max(t_min);
            }
            fall.cold |= fall.is_frozen();
            if keeper.is_time(state.fall.cold).await? {
                let shares = field.gather(clusters, &state.shares).await?;
                keeper.save(true, &(shares, &state.fall)).await?;
            }
        }
        Ok(state)
    }

    /// One cluster, just above its critical temperature.
    async fn hot(&self, field: &Field<'_>) -> Result<State, MiningError> {
        let shares = vec![1.0; field.rows.len()];
        let sums = field.sums(1, &shares).await?;
        let limit = LloydLimit {
            steps: 300,
            tolerance: 1e-9,
        };
        let temperature = field.critical(&shares, &sums, limit).await?[0].temperature * 1.001;
        let fall = Fall {
            temperature,
            power: self.mass_power,
            cold: temperature <= 0.0,
            ..Fall::default()
        };
        Ok(State { shares, sums, fall })
    }

    /// Steps at one temperature until the energies stand still. A step that would raise the free
    /// energy, as can be where the dissimilarities are not Euclidean, is halved.
    pub(super) async fn converge(
        &self,
        field: &Field<'_>,
        state: &mut State,
    ) -> Result<(), MiningError> {
        let (t, power, k) = (
            state.fall.temperature,
            state.fall.power,
            state.sums.masses.len(),
        );
        state.fall.free_energy = state.sums.free_energy(t, power);
        for _ in 0..STEPS {
            let mut shares = field.shares(&state.sums, t, power);
            let mut sums = field.sums(k, &shares).await?;
            let limit = state.fall.free_energy + 1e-12 * (state.sums.cost() + t);
            for _ in 0..HALVINGS {
                if sums.free_energy(t, power) <= limit {
                    break;
                }
                let halves = shares.iter().zip(&state.shares).map(|(a, b)| (a + b) / 2.0);
                shares = halves.collect();
                sums = field.sums(k, &shares).await?;
            }
            state.fall.steps += 1;
            let free = sums.free_energy(t, power);
            if free > limit {
                return Ok(());
            }
            let (old, new) = (state.sums.energies(), sums.energies());
            let weights = field.own_weights();
            // Squares in units of a power of two near the temperature: no bit changes, and those
            // of small numbers are numbers.
            let unit = power_of_two_above(t);
            let moved = |row: usize, sums: &mut [f64]| {
                for at in row * k..(row + 1) * k {
                    let change = (new[at] - old[at]) / unit;
                    sums[0] += weights[row] * shares[at] * change * change;
                }
            };
            let moved = field.total(1, moved).await?[0];
            (state.shares, state.sums, state.fall.free_energy) = (shares, sums, free);
            if moved.sqrt() * unit <= self.tolerance * t {
                break;
            }
        }
        Ok(())
    }

    /// Makes one of clusters that have come to lie in one place. As long as there are two of them
    /// no split of another can be told from one that came together again.
    async fn join(&self, field: &Field<'_>, state: &mut State) -> Result<(), MiningError> {
        while let Some((own, other)) = state.coinciding(field).await? {
            let k = state.sums.masses.len();
            let rows = state.shares.chunks_exact(k).flat_map(|row| {
                let mut row = row.to_vec();
                let share = row.remove(other);
                row[own] += share;
                row
            });
            state.shares = rows.collect();
            state.sums = field.sums(k - 1, &state.shares).await?;
            state.fall.forget(own, other);
            self.converge(field, state).await?;
        }
        Ok(())
    }

    /// Splits the clusters whose critical temperature is above that of the run, highest first.
    /// Gives whether none of them stayed whole.
    async fn split(
        &self,
        field: &Field<'_>,
        state: &mut State,
        most: usize,
        t_min: f64,
    ) -> Result<bool, MiningError> {
        let limit = LloydLimit {
            steps: 100,
            tolerance: 1e-5,
        };
        // Clusters whose halves came together again, alone or with others, at this temperature.
        let mut whole = BTreeSet::new();
        if state.sums.masses.len() < most && state.fall.temperature >= t_min {
            self.join(field, state).await?;
        }
        while state.sums.masses.len() < most && state.fall.temperature >= t_min {
            let found = field.critical(&state.shares, &state.sums, limit).await?;
            let unstable = found.iter().enumerate().filter(|(k, critical)| {
                critical.temperature > state.fall.temperature && !whole.contains(k)
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
            state.fall.splits.push(PairwiseSplit {
                cluster: best,
                critical: found[best].temperature,
                temperature: state.fall.temperature,
            });
            state.shares = halve(field, state, best, &found[best]).await?;
            let k = state.sums.masses.len() + 1;
            state.sums = field.sums(k, &state.shares).await?;
            self.converge(field, state).await?;
            match state.coinciding(field).await?.is_some() {
                true => {
                    let steps = state.fall.steps;
                    *state = before;
                    state.fall.steps = steps;
                    whole.insert(best);
                }
                false => whole.clear(),
            }
        }
        Ok(whole.is_empty())
    }
}

impl Fall {
    /// Whether nothing is to be told apart at this temperature, after the first one.
    fn is_frozen(&self) -> bool {
        let first = self.trace.first().map_or(0.0, |step| step.temperature);
        self.temperature < first * FROZEN || self.temperature < f64::MIN_POSITIVE
    }

    /// Leaves out the split that made cluster `other`, which is now a part of `own`, one before it.
    pub(super) fn forget(&mut self, own: usize, other: usize) {
        self.splits.remove(other - 1);
        for split in &mut self.splits {
            split.cluster = match split.cluster {
                cluster if cluster == other => own,
                cluster => cluster - usize::from(cluster > other),
            };
        }
    }
}

impl State {
    /// The state with these shares of all rows.
    async fn of(field: &Field<'_>, shares: &[f64], fall: Fall) -> Result<State, MiningError> {
        let k = shares.len() / field.weights.len();
        let shares = shares[field.rows.start * k..field.rows.end * k].to_vec();
        let sums = field.sums(k, &shares).await?;
        Ok(State { shares, sums, fall })
    }

    /// The weight that is not in the largest share of its row.
    async fn soft(&self, field: &Field<'_>) -> Result<f64, MiningError> {
        let (k, weights) = (self.sums.masses.len(), field.own_weights());
        let soft = |row: usize, sums: &mut [f64]| {
            let shares = self.shares[row * k..][..k].iter();
            sums[0] += weights[row] * (1.0 - shares.copied().fold(0.0, f64::max));
        };
        Ok(field.total(1, soft).await?[0])
    }

    /// The first two clusters that lie in one place: the mean dissimilarity of their members is
    /// that within them.
    async fn coinciding(&self, field: &Field<'_>) -> Result<Option<(usize, usize)>, MiningError> {
        let (sums, k) = (&self.sums, self.sums.masses.len());
        let weights = field.own_weights();
        let add = |row: usize, apart: &mut [f64]| {
            for other in 0..k {
                let at = row * k + other;
                let known = sums.v.as_ref().map_or(sums.masses[other], |v| v[at]);
                let mean = sums.u[at] / known.max(1e-300);
                for own in 0..other {
                    let mass = sums.masses[own].max(1e-300);
                    let share = weights[row] * self.shares[row * k + own] / mass;
                    apart[own * k + other] += share * mean;
                }
            }
        };
        let apart = field.total(k * k, add).await?;
        let near = |own: usize, other: usize| {
            let within = sums.mean_cost(own) + sums.mean_cost(other);
            apart[own * k + other] - within < CLOSE * self.fall.temperature
        };
        let mut pairs = (0..k).flat_map(|other| (0..other).map(move |own| (own, other)));
        Ok(pairs.find(|(own, other)| near(*own, *other)))
    }
}

/// The shares after cluster `c` has become two along its direction. The logarithm of the ratio of
/// the two is 4 a u, with a by the normal form of the branch, at most ½.
async fn halve(
    field: &Field<'_>,
    state: &State,
    c: usize,
    critical: &Critical,
) -> Result<Vec<f64>, MiningError> {
    let (k, mass) = (state.sums.masses.len(), state.sums.masses[c]);
    let weights = field.own_weights();
    let fourth = |row: usize, sums: &mut [f64]| {
        let u = critical.direction[row];
        sums[0] += weights[row] * state.shares[row * k + c] / mass * u * u * u * u;
    };
    let fourth = field.total(1, fourth).await?[0];
    let cold = state.fall.temperature / critical.temperature;
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
    let shares = rows.flat_map(|(row, half)| {
        let mut row = row.to_vec();
        row.push(row[c] * half[1]);
        row[c] *= half[0];
        row
    });
    Ok(shares.collect())
}
