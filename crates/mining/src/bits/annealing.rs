//! Deterministic annealing of rows of bits.

use super::kept::{Search, State};
use super::passes::Field;
use super::phases::{Phases, Tolerance};
use super::{BitClustering, Bits};
use crate::boxed::LocalBoxFuture;
use crate::checkpoint::{CheckpointKeeper, Checkpoints};
use crate::clustering::TraceStep;
use crate::rank_view::RankView;
use crate::{Clusters, Control, MiningError, ParameterError, Progress};
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
    /// The centres of a temperature stand still when none moves by more than this times the root of
    /// the temperature. No mass may change by more than this either. Positive.
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
        Box::pin(async move { self.run(comm, bits, control, None).await })
    }

    /// As [`fit`](BitAnnealing::fit), with checkpoints after temperatures and during the search.
    /// It goes on from the one that is there.
    ///
    /// # Errors
    ///
    /// Those of [`fit`](BitAnnealing::fit), and [`MiningError::Checkpoint`].
    ///
    /// # Cancellation
    ///
    /// As for [`fit`](BitAnnealing::fit); the last checkpoint stays.
    pub fn fit_kept<'a>(
        &'a self,
        comm: &'a Communicator,
        bits: &'a Bits,
        control: &'a Control<'a>,
        kept: &'a Checkpoints,
    ) -> LocalBoxFuture<'a, Result<BitClustering, MiningError>> {
        Box::pin(async move { self.run(comm, bits, control, Some(kept)).await })
    }

    async fn run(
        &self,
        comm: &Communicator,
        bits: &Bits,
        control: &Control<'_>,
        kept: Option<&Checkpoints>,
    ) -> Result<BitClustering, MiningError> {
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
        let team = RankView::new(comm, control);
        let field = Field::new(&team, bits);
        let mut keeper = CheckpointKeeper::new(comm, kept, self, |digest| bits.digest(digest));
        let state: Option<State> = keeper.load().await?;
        let mut cooling = Cooling::new(&field, self, (most, floor)).await?;
        if let Some(state) = &state {
            cooling.go_on(state);
        }
        cooling.run(&mut keeper).await?;
        let settled = state.and_then(|state| state.settled);
        let Cooling {
            phases,
            trace,
            first,
            ..
        } = cooling;
        let mut search = Search {
            keeper,
            state: State::new(&phases, &trace, (first, None)),
            work: phases.work,
        };
        let mut hard = match settled {
            Some(settled) => {
                search.work = settled.work;
                let own = settled.labels[field.rows.clone()].to_vec();
                field.gathered(own, settled.clusters as usize).await?
            }
            None => {
                let mut hard = field.assign(&phases.clusters).await?;
                if exactly {
                    hard = field.complete(hard, most).await?;
                }
                let work = &mut search.work;
                hard = field
                    .settle(hard.means(&field), f64::INFINITY, work)
                    .await?;
                field.exchange(hard, work).await?
            }
        };
        hard = field.swap(hard, self.search, &mut search).await?;
        hard = field.exchange(hard, &mut search.work).await?;
        team.report(|| Progress {
            temperature: 0.0,
            clusters: hard.clusters(),
            target: most,
            free_energy: hard.inertia / bits.len() as f64,
            done: 1.0,
        });
        field.finish(hard, trace, search.work).await
    }

    pub(super) fn check(&self, most: usize, t_min: f64) -> Result<(), ParameterError> {
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
pub(super) struct Cooling<'a> {
    options: &'a BitAnnealing,
    phases: Phases<'a>,
    most: usize,
    floor: f64,
    /// Cooling ends with the last split.
    pub(super) splits_only: bool,
    pub(super) trace: Vec<TraceStep>,
    /// The first temperature, and the next; `None`: the last is over.
    first: f64,
    next: Option<f64>,
}

impl<'a> Cooling<'a> {
    /// Takes over where an earlier run has been.
    pub(super) fn go_on(&mut self, state: &State) {
        state.restore(&mut self.phases);
        (self.first, self.next) = (state.first, state.next);
        self.trace.clone_from(&state.trace);
    }

    pub(super) async fn new(
        field: &'a Field<'a>,
        options: &'a BitAnnealing,
        (most, floor): (usize, f64),
    ) -> Result<Cooling<'a>, MiningError> {
        Ok(Cooling {
            options,
            phases: Phases::new(field, options.mass_power).await?,
            most,
            floor,
            splits_only: false,
            trace: Vec::new(),
            first: 0.0,
            next: None,
        })
    }

    pub(super) async fn run(
        &mut self,
        keeper: &mut CheckpointKeeper<'_>,
    ) -> Result<(), MiningError> {
        if self.trace.is_empty() {
            self.phases.measure().await?;
            self.first = self.phases.critical(f64::INFINITY).unwrap_or(0.0) * START;
            self.next = (self.first > 0.0).then_some(self.first);
        }
        while let Some(now) = self.next {
            self.phases.heat.temperature = now;
            self.phases.steps = 0;
            self.settle().await?;
            let number = self.trace.len();
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
            self.next = self.after(now);
            if keeper.is_on() {
                let ends = (self.first, self.next);
                keeper
                    .save(false, &State::new(&self.phases, &self.trace, ends))
                    .await?;
            }
        }
        Ok(())
    }

    /// The temperature after this one, unless this was the last.
    fn after(&mut self, now: f64) -> Option<f64> {
        let open = self.phases.clusters.len() < self.most && now > self.floor;
        let hard = self.phases.softness < self.options.softness;
        if !open {
            self.phases.heat.power = self.options.last_mass_power;
            if hard || self.splits_only {
                return None;
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
        (next >= self.first * 1e-9 && self.trace.len() < TEMPERATURES).then_some(next)
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
