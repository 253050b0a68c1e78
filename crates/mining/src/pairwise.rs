//! Deterministic annealing on the dissimilarities of pairs.
//!
//! Sources: T. Hofmann, J. M. Buhmann, Pairwise data clustering by deterministic annealing, IEEE
//! Transactions on Pattern Analysis and Machine Intelligence 19 (1997); K. Rose, Deterministic
//! annealing for clustering, Proceedings of the IEEE 86 (1998).
//!
//! The product of the dissimilarities with the shares is divided among the ranks by rows; one
//! allgather per step brings it to all. Every rank then does the same with the same numbers.

mod choose;
mod critical;
mod dissimilarities;
mod field;
mod found;
mod freeze;
mod kernel;
#[cfg(test)]
mod tests;

use crate::clustering::TraceStep;
use crate::team::Team;
use crate::{Clusters, Control, MiningError, ParameterError, Progress};
use critical::{Critical, Limit};
use dissimilarities::normalised;
use field::{Field, Sums};
use motet_comm::Communicator;

pub use dissimilarities::Dissimilarities;
pub use found::PairwiseClustering;

/// Steps at one temperature at most.
const STEPS: usize = 300;
/// Temperatures at most.
const TEMPERATURES: usize = 400;
/// Halvings of a step that raises the free energy, at most.
const HALVINGS: usize = 40;

/// Clustering by deterministic annealing where only dissimilarities of pairs are known.
///
/// The cost is that of K-means where the dissimilarities are squared distances; no coordinates
/// are needed, the dissimilarities need not be metric, and some may be unknown. No random number
/// enters anywhere. At the end single rows move while that lowers the cost.
///
/// # Examples
///
/// ```
/// use motet_comm::World;
/// use motet_mining::{Clusters, Control, Dissimilarities, Pairwise, PairwiseClustering};
///
/// let at = [0.0_f64, 1.0, 10.0, 11.0, 12.0];
/// let squares = at.iter().flat_map(|x| at.iter().map(move |y| (x - y) * (x - y)));
/// let pairs = Dissimilarities::new(squares.collect(), 5)?;
/// let method = Pairwise { clusters: Clusters::Exactly(2), ..Pairwise::default() };
/// let parts = World::threads(2)
///     .run(async |comm| method.fit(&comm, &pairs, None, &Control::default()).await)
///     .unwrap();
/// let found = PairwiseClustering::join(parts).unwrap();
/// assert_eq!(found.labels, [0, 0, 1, 1, 1]);
/// assert_eq!(found.medoids, [0, 3]);
/// # Ok::<(), motet_mining::DataError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Pairwise {
    /// How many clusters there are to be. A temperature is in the units of the dissimilarities.
    pub clusters: Clusters,
    /// The factor from one temperature to the next.
    pub cooling: f64,
    /// A temperature ends when energies change by less than this share of it.
    pub tolerance: f64,
    /// The power of the masses in the shares until the last split; 0 from then on. Vector
    /// annealing has 1.
    pub mass_power: f64,
    /// The power of the masses after the last split.
    pub last_mass_power: f64,
}

impl Default for Pairwise {
    fn default() -> Pairwise {
        Pairwise {
            clusters: Clusters::Exactly(2),
            cooling: 0.9,
            tolerance: 1e-4,
            mass_power: 0.5,
            last_mass_power: 0.0,
        }
    }
}

/// Where a run stands.
struct State {
    shares: Vec<f64>,
    sums: Sums,
    temperature: f64,
    power: f64,
    free_energy: f64,
    steps: usize,
}

impl Pairwise {
    /// Clusters the rows of `pairs`, all of the same weight if there are no `weights`; all ranks
    /// of `comm` call it with the same input and parameters.
    ///
    /// # Errors
    ///
    /// [`MiningError::Parameter`], [`MiningError::Data`] for bad weights,
    /// [`MiningError::FewPoints`], [`MiningError::Cancelled`], [`MiningError::Comm`]; on all
    /// ranks alike. There are fewer clusters than asked for only where too few rows differ.
    ///
    /// # Cancellation
    ///
    /// By [`Control::cancel`]: all ranks end together within one pass over the pairs.
    pub async fn fit(
        &self,
        comm: &Communicator,
        pairs: &Dissimilarities,
        weights: Option<&[f64]>,
        control: &Control<'_>,
    ) -> Result<PairwiseClustering, MiningError> {
        let (most, t_min, exactly) = match self.clusters {
            Clusters::Exactly(clusters) => (clusters, 0.0, true),
            Clusters::Found { t_min, at_most } => (at_most, t_min, false),
        };
        self.check(most, t_min)?;
        if exactly && most > pairs.len() {
            return Err(MiningError::FewPoints {
                clusters: most,
                points: pairs.len(),
            });
        }
        let weights = normalised(weights, pairs.len()).map_err(MiningError::Data)?;
        let team = Team::new(comm, control);
        let field = Field {
            team: &team,
            data: pairs,
            weights: &weights,
            rows: team.share(pairs.len()),
        };
        let (shares, trace) = self.anneal(&field, most, t_min, false).await?;
        let k = shares.len() / pairs.len();
        let labels = shares.chunks_exact(k).map(first_largest).collect();
        let (labels, sums) = field.freeze(labels, most, exactly).await?;
        let mut sizes = vec![0; sums.masses.len()];
        labels.iter().for_each(|label| sizes[*label] += 1);
        Ok(PairwiseClustering {
            rows: field.rows.clone(),
            labels: labels[field.rows.clone()]
                .iter()
                .map(|l| *l as u32)
                .collect(),
            sizes,
            medoids: field.medoids(&labels, &sums),
            mean_costs: (0..sums.masses.len()).map(|k| sums.mean_cost(k)).collect(),
            cost: sums.cost(),
            masses: sums.masses,
            trace,
            asymmetry: pairs.asymmetry(),
        })
    }

    /// Cools until every row is in one cluster, or only until there are `most`; gives the last
    /// shares.
    async fn anneal(
        &self,
        field: &Field<'_>,
        most: usize,
        t_min: f64,
        splits_only: bool,
    ) -> Result<(Vec<f64>, Vec<TraceStep>), MiningError> {
        let shares = vec![1.0; field.weights.len()];
        let sums = field.sums(1, &shares).await?;
        let limit = Limit {
            steps: 300,
            tolerance: 1e-9,
        };
        let first = field.critical(&shares, &sums, limit).await?[0].temperature * 1.001;
        let mut trace = Vec::new();
        if first <= 0.0 {
            return Ok((shares, trace));
        }
        let mut state = State {
            shares,
            sums,
            temperature: first,
            power: self.mass_power,
            free_energy: 0.0,
            steps: 0,
        };
        for number in 0..TEMPERATURES {
            state.steps = 0;
            self.converge(field, &mut state).await?;
            self.split(field, &mut state, most, t_min).await?;
            let clusters = state.sums.masses.len();
            trace.push(TraceStep {
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
            if clusters == most && splits_only {
                break;
            }
            if clusters == most || state.temperature < t_min {
                state.power = self.last_mass_power;
                let rows = state.shares.chunks_exact(clusters).zip(field.weights);
                let soft = rows.map(|(row, w)| w * (1.0 - row.iter().copied().fold(0.0, f64::max)));
                if soft.sum::<f64>() < 1e-4 {
                    break;
                }
            }
            state.temperature *= self.cooling;
        }
        Ok((state.shares, trace))
    }

    /// Steps at one temperature until the energies stand still. A step that would raise the free
    /// energy, as can be where the dissimilarities are not Euclidean, is halved.
    async fn converge(&self, field: &Field<'_>, state: &mut State) -> Result<(), MiningError> {
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
        while state.sums.masses.len() < most && state.temperature >= t_min {
            let found = field.critical(&state.shares, &state.sums, limit).await?;
            let mut best = 0;
            for (k, critical) in found.iter().enumerate() {
                if critical.temperature > found[best].temperature {
                    best = k;
                }
            }
            if found[best].temperature <= state.temperature {
                break;
            }
            state.shares = halve(field, state, best, &found[best]);
            let k = state.sums.masses.len() + 1;
            state.sums = field.sums(k, &state.shares).await?;
            self.converge(field, state).await?;
        }
        Ok(())
    }

    fn check(&self, most: usize, t_min: f64) -> Result<(), ParameterError> {
        if most == 0 {
            return Err(ParameterError::Zero { field: "clusters" });
        }
        let between = |value: f64, low: f64, high: f64| value > low && value < high;
        for (field, value, good, range) in [
            (
                "t_min",
                t_min,
                t_min >= 0.0 && t_min.is_finite(),
                "finite and not negative",
            ),
            (
                "cooling",
                self.cooling,
                between(self.cooling, 0.0, 1.0),
                "between 0 and 1",
            ),
            (
                "tolerance",
                self.tolerance,
                between(self.tolerance, 0.0, 1.0),
                "between 0 and 1",
            ),
            (
                "mass_power",
                self.mass_power,
                (0.0..=2.0).contains(&self.mass_power),
                "0 to 2",
            ),
            (
                "last_mass_power",
                self.last_mass_power,
                (0.0..=2.0).contains(&self.last_mass_power),
                "0 to 2",
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

fn first_largest(shares: &[f64]) -> usize {
    let mut best = 0;
    for (k, share) in shares.iter().enumerate() {
        if *share > shares[best] {
            best = k;
        }
    }
    best
}
