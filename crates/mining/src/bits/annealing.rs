//! Deterministic annealing of rows of bits.

use super::hard::Hard;
use super::passes::Field;
use super::phases::{Phases, Tolerance};
use super::{BitClustering, Bits};
use crate::boxed::LocalBoxFuture;
use crate::clustering::TraceStep;
use crate::team::Team;
use crate::{Choice, Clusters, Control, MiningError, ParameterError, Progress};
use motet_comm::Communicator;

/// How far above the first critical temperature cooling begins.
const START: f64 = 1.001;
/// How far below a critical temperature it lands at first.
const LANDING: f64 = 0.005;
/// Temperatures at most.
const TEMPERATURES: usize = 400;
/// Rounds of splitting at one temperature.
const ROUNDS: usize = 64;

/// Clustering of rows of bits by deterministic annealing, with centres that say of each column
/// how many of their rows have the bit.
///
/// The cost is that of K-means on the columns as numbers 0 and 1: a squared distance is the
/// number of columns that differ. No random number enters anywhere. The cost of a pass goes with
/// the number of bits that are set, not with the number of columns.
///
/// Masses count by a power: vector annealing has 1, which in many columns breeds clusters of a
/// few rows.
///
/// Source: K. Rose, Deterministic annealing for clustering, Proceedings of the IEEE 86 (1998).
///
/// # Examples
///
/// ```
/// use motet_comm::World;
/// use motet_mining::{BitAnnealing, BitClustering, Bits, Clusters, Control};
///
/// let bits = Bits::new(vec![0b000111, 0b000011, 0b111000, 0b110000, 0b011000], 6)?;
/// let method = BitAnnealing { clusters: Clusters::Exactly(2), ..BitAnnealing::default() };
/// let parts = World::threads(2)
///     .run(async |comm| method.fit(&comm, &bits, &Control::default()).await)
///     .unwrap();
/// let found = BitClustering::join(parts).unwrap();
/// assert_eq!(found.labels, [0, 0, 1, 1, 1]);
/// assert_eq!(found.centre(0), [1.0, 1.0, 0.5, 0.0, 0.0, 0.0]);
/// # Ok::<(), motet_mining::DataError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct BitAnnealing {
    /// How many clusters there are to be. A temperature is in numbers of columns.
    pub clusters: Clusters,
    /// The factor from one temperature to the next, at least 0.1 and below 1.
    pub cooling: f64,
    /// The centres of a temperature stand still when none moves by more than this times the root
    /// of the temperature and no mass changes by more than this; positive.
    pub tolerance: f64,
    /// The most steps before the first and after a split, at each temperature.
    pub iterations: usize,
    /// Cooling ends when the share of the weight that is not with one centre is below this; from
    /// 0 to 1, both excluded.
    pub softness: f64,
    /// Attempts at temperature zero to split one cluster and leave out another that may fail one
    /// after the other before the search ends. 0 leaves out the search.
    pub search: usize,
    /// The power of the masses in the shares until the last split, 0 to 2.
    pub mass_power: f64,
    /// The power of the masses after the last split, 0 to 2.
    pub last_mass_power: f64,
}

impl Default for BitAnnealing {
    fn default() -> BitAnnealing {
        BitAnnealing {
            clusters: Clusters::Exactly(2),
            cooling: 0.9,
            tolerance: 3e-3,
            iterations: 20,
            softness: 1e-4,
            search: 20,
            mass_power: 0.5,
            last_mass_power: 0.0,
        }
    }
}

impl BitAnnealing {
    /// Clusters the rows of `bits`; all ranks of `comm` call it with the same input and
    /// parameters.
    ///
    /// # Errors
    ///
    /// [`MiningError::Parameter`], [`MiningError::FewPoints`], [`MiningError::Cancelled`],
    /// [`MiningError::Comm`]; on all ranks alike. There are fewer clusters than asked for only
    /// where too few rows differ.
    ///
    /// # Cancellation
    ///
    /// By [`Control::cancel`]: all ranks end together within one pass over the rows.
    pub fn fit<'a>(
        &'a self,
        comm: &'a Communicator,
        bits: &'a Bits,
        control: &'a Control<'a>,
    ) -> LocalBoxFuture<'a, Result<BitClustering, MiningError>> {
        Box::pin(async move {
            let (most, floor, exactly) = match self.clusters {
                Clusters::Exactly(clusters) => (clusters, 0.0, true),
                Clusters::Found { t_min, at_most } => (at_most, t_min, false),
            };
            self.check(most, floor)?;
            if exactly && most > bits.len() {
                return Err(MiningError::FewPoints {
                    clusters: most,
                    points: bits.len(),
                });
            }
            let team = Team::new(comm, control);
            let field = Field::new(&team, bits);
            let mut cooling = Cooling {
                options: self,
                phases: Phases::new(&field, self.mass_power).await?,
                most,
                floor,
                splits_only: false,
                trace: Vec::new(),
            };
            cooling.run().await?;
            let Cooling { phases, trace, .. } = cooling;
            let mut work = phases.work;
            let mut hard = field.assign(&phases.clusters).await?;
            if exactly {
                hard = field.complete(hard, most).await?;
            }
            hard = field
                .settle(hard.means(&field), f64::INFINITY, &mut work)
                .await?;
            hard = field.exchange(hard, &mut work).await?;
            hard = field.swap(hard, self.search, &mut work).await?;
            hard = field.exchange(hard, &mut work).await?;
            team.report(|| Progress {
                temperature: 0.0,
                clusters: hard.clusters(),
                target: most,
                free_energy: hard.inertia / bits.len() as f64,
                done: 1.0,
            });
            field.finish(hard, trace, work).await
        })
    }

    /// How many clusters, from 1 to `at_most`, the rows speak for: [`Choice`] has the rule. The
    /// field `clusters` does not count.
    ///
    /// # Errors
    ///
    /// As [`BitAnnealing::fit`].
    pub fn choose<'a>(
        &'a self,
        comm: &'a Communicator,
        bits: &'a Bits,
        at_most: usize,
        control: &'a Control<'a>,
    ) -> LocalBoxFuture<'a, Result<Choice, MiningError>> {
        Box::pin(async move {
            self.check(at_most, 0.0)?;
            let team = Team::new(comm, control);
            let field = Field::new(&team, bits);
            let mut cooling = Cooling {
                options: self,
                phases: Phases::new(&field, self.mass_power).await?,
                most: bits.len().min(at_most + 1),
                floor: 0.0,
                splits_only: true,
                trace: Vec::new(),
            };
            cooling.run().await?;
            Ok(Choice::of(&cooling.trace, at_most))
        })
    }

    fn check(&self, most: usize, t_min: f64) -> Result<(), ParameterError> {
        for (field, value) in [("clusters", most), ("iterations", self.iterations)] {
            if value == 0 {
                return Err(ParameterError::Zero { field });
            }
        }
        let power = |value: f64| (0.0..=2.0).contains(&value);
        let inside = |value: f64| value > 0.0 && value < 1.0;
        let positive = |value: f64| value > 0.0 && value.is_finite();
        let cooling = (0.1..1.0).contains(&self.cooling);
        for (field, value, good, range) in [
            (
                "t_min",
                t_min,
                t_min >= 0.0 && t_min.is_finite(),
                "finite and not negative",
            ),
            ("cooling", self.cooling, cooling, "at least 0.1 and below 1"),
            (
                "tolerance",
                self.tolerance,
                positive(self.tolerance),
                "positive and finite",
            ),
            (
                "softness",
                self.softness,
                inside(self.softness),
                "between 0 and 1, both excluded",
            ),
            (
                "mass_power",
                self.mass_power,
                power(self.mass_power),
                "0 to 2",
            ),
            (
                "last_mass_power",
                self.last_mass_power,
                power(self.last_mass_power),
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

/// The fall of the temperature.
struct Cooling<'a> {
    options: &'a BitAnnealing,
    phases: Phases<'a>,
    most: usize,
    floor: f64,
    /// Cooling ends with the last split.
    splits_only: bool,
    trace: Vec<TraceStep>,
}

impl Cooling<'_> {
    async fn run(&mut self) -> Result<(), MiningError> {
        self.phases.measure().await?;
        let first = self.phases.critical(f64::INFINITY).unwrap_or(0.0) * START;
        if first <= 0.0 {
            return Ok(());
        }
        self.phases.heat.temperature = first;
        for number in 0..TEMPERATURES {
            self.phases.steps = 0;
            self.settle().await?;
            let now = self.phases.heat.temperature;
            self.trace.push(TraceStep {
                temperature: now,
                free_energy: self.phases.free_energy,
                clusters: self.phases.clusters.len(),
                iterations: self.phases.steps,
            });
            self.phases.field.team.report(|| Progress {
                temperature: now,
                clusters: self.phases.clusters.len(),
                target: self.most,
                free_energy: self.phases.free_energy,
                done: number as f64 / (number as f64 + 20.0),
            });
            let open = self.phases.clusters.len() < self.most && now > self.floor;
            let hard = self.phases.softness < self.options.softness;
            if !open {
                self.phases.heat.power = self.options.last_mass_power;
                if hard || self.splits_only {
                    break;
                }
            }
            let mut next = now * self.options.cooling;
            if let (true, Some(critical)) = (open, self.phases.critical(now)) {
                let landing = critical * (1.0 - LANDING);
                next = if hard { landing } else { next.max(landing) };
            }
            if open {
                next = next.max(self.floor);
            }
            if next < first * 1e-9 {
                break;
            }
            self.phases.heat.temperature = next;
        }
        Ok(())
    }

    /// Finds the clusters at one temperature.
    async fn settle(&mut self) -> Result<(), MiningError> {
        let tolerance = Tolerance {
            movement: self.options.tolerance,
            iterations: self.options.iterations,
        };
        self.phases.converge(tolerance).await?;
        self.phases.merge();
        let now = self.phases.heat.temperature;
        let rounds = if now <= self.floor { ROUNDS } else { 1 };
        for _ in 0..rounds {
            if self.phases.clusters.len() >= self.most || now < self.floor {
                break;
            }
            self.phases.measure().await?;
            if self.phases.split(self.most) == 0 {
                break;
            }
            self.phases.converge(tolerance).await?;
            let before = self.phases.clusters.len();
            self.phases.merge();
            if self.phases.clusters.len() < before {
                break;
            }
        }
        Ok(())
    }
}

impl Field<'_> {
    /// Takes out clusters without rows, and makes new ones of the farthest rows until there are
    /// `most` or nothing is far.
    async fn complete(&self, found: Hard, most: usize) -> Result<Hard, MiningError> {
        let mut found = self.renumbered(found).await?;
        while found.clusters() < most && found.inertia > 0.0 {
            let k = found.clusters();
            let row = self.far_row(&found).await?;
            if self.rows.contains(&row) {
                found.labels[row - self.rows.start] = k as u32;
            }
            let before = found.inertia;
            found = self.gathered(found.labels, k + 1).await?;
            if found.inertia >= before {
                break;
            }
        }
        Ok(found)
    }

    /// The clusters that have rows, by their first rows.
    async fn renumbered(&self, found: Hard) -> Result<Hard, MiningError> {
        let mut firsts = vec![u64::MAX; found.clusters()];
        for (row, label) in self.rows.clone().zip(&found.labels).rev() {
            firsts[*label as usize] = row as u64;
        }
        let least =
            |a: Vec<u64>, b: Vec<u64>| a.into_iter().zip(b).map(|(a, b)| a.min(b)).collect();
        let firsts: Vec<u64> = self.team.comm.allreduce(firsts, least).await?;
        let mut order: Vec<usize> = (0..firsts.len())
            .filter(|k| firsts[*k] != u64::MAX)
            .collect();
        order.sort_by_key(|k| firsts[*k]);
        let mut numbers = vec![0; firsts.len()];
        for (number, k) in order.iter().enumerate() {
            numbers[*k] = number as u32;
        }
        let labels = found.labels.iter().map(|label| numbers[*label as usize]);
        self.gathered(labels.collect(), order.len()).await
    }

    pub(super) async fn finish(
        &self,
        found: Hard,
        trace: Vec<TraceStep>,
        work: u64,
    ) -> Result<BitClustering, MiningError> {
        let found = self.renumbered(found).await?;
        let sizes: Vec<usize> = found.sizes.iter().map(|size| *size as usize).collect();
        let width = self.bits.width();
        let counts = found.counts.iter().enumerate();
        let centres = counts.map(|(at, count)| *count as f64 / sizes[at / width] as f64);
        Ok(BitClustering {
            width,
            rows: self.rows.clone(),
            centres: centres.collect(),
            labels: found.labels,
            sizes,
            inertia: found.inertia,
            trace,
            cluster_iterations: work,
            constant_columns: self.bits.constant_columns().to_vec(),
            empty_rows: self.bits.empty_rows(),
        })
    }
}
