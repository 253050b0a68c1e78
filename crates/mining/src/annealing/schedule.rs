//! The fall of the temperature.
//!
//! ```text
//!  T just above 2 λmax ─► converge, merge ─► unstable clusters? ─► split, converge, merge ─┐
//!          ▲                                        │ no                                   │
//!          └── next T: × cooling, or just below the next critical temperature ◄────────────┘
//!                       until there are all clusters and the shares are hard
//! ```

use super::phases::Tolerance;
use super::state::State;
use super::{Annealing, Clusters};
use crate::blocks::Blocks;
use crate::checkpoint::CheckpointKeeper;
use crate::prepare::Prepared;
use crate::rank_view::RankView;
use crate::{MiningError, Progress, TraceStep};

/// The variance of a cell that stands for its points is below the temperature by this factor. So
/// critical temperatures of the summary are right to half a percent or so.
const GRAIN: f64 = 200.0;
/// How far below a critical temperature cooling lands at first.
const LANDING: f64 = 0.005;
/// How far above the first critical temperature it begins.
const START: f64 = 1.001;
/// Rounds of splitting at the last temperature of splitting.
const ROUNDS: usize = 64;
/// A temperature so far below the first is never reached by cooling: it means that what is left
/// to split cannot be told apart.
pub(super) const FROZEN: f64 = 1e-30;

/// Where splits alone are wanted, cooling is no slower than by this factor: numbers of clusters are
/// compared by factors of 3.
const COARSE: f64 = 0.95;
/// Temperatures at most where splits alone are wanted: from the first to one 10⁻⁹ of it.
const TEMPERATURES: usize = 400;

/// One run.
pub(super) struct Schedule<'a> {
    options: &'a Annealing,
    team: &'a RankView<'a>,
    prepared: &'a Prepared<'a>,
    /// No more clusters than this.
    most: usize,
    /// No splitting below this.
    floor: f64,
    /// Cooling ends with the last split.
    splits_only: bool,
    state: &'a mut State,
}

impl<'a> Schedule<'a> {
    /// A run that goes on from `state`.
    pub(super) fn new(
        options: &'a Annealing,
        team: &'a RankView<'a>,
        prepared: &'a Prepared<'a>,
        state: &'a mut State,
    ) -> Schedule<'a> {
        let floor = match options.clusters {
            Clusters::Exactly(_) => 0.0,
            Clusters::Found { t_min, .. } => prepared.frame.inner_square(t_min),
        };
        Schedule {
            options,
            team,
            prepared,
            most: options.most(),
            floor,
            splits_only: false,
            state,
        }
    }

    /// The same run, which ends when all clusters are there.
    pub(super) fn until_split(mut self) -> Schedule<'a> {
        self.splits_only = true;
        self
    }

    /// Cools until all clusters are there and the shares are hard.
    pub(super) async fn cool(
        mut self,
        keeper: &mut CheckpointKeeper<'_>,
    ) -> Result<(), MiningError> {
        if self.state.trace.is_empty() {
            self.state.start = self.critical().await? * START;
            self.state.next = (self.state.start > 0.0).then_some(self.state.start);
        }
        while let Some(temperature) = self.state.next {
            self.settle(temperature).await?;
            self.record();
            self.state.next = self.next();
            keeper.save(false, self.state).await?;
        }
        Ok(())
    }

    /// The critical temperature of the whole: below it there is more than one cluster.
    async fn critical(&mut self) -> Result<f64, MiningError> {
        // One cluster has all points whatever the temperature; the directions of many columns
        // take a few rounds to turn.
        self.state.phases.set_temperature(1.0);
        let mut critical = 0.0;
        for _ in 0..4 {
            self.state
                .phases
                .measure(self.team, &self.prepared.blocks)
                .await?;
            critical = self.state.phases.critical(f64::INFINITY).unwrap_or(0.0);
        }
        Ok(critical)
    }

    /// Finds the clusters at one temperature.
    async fn settle(&mut self, temperature: f64) -> Result<(), MiningError> {
        let tree = &self.prepared.tree;
        let coarse;
        let mut blocks = &self.prepared.blocks;
        if !self.state.fine {
            let summary = tree.summary(temperature / GRAIN);
            self.state.fine = summary.len() >= tree.len() / 4 * 3;
            if !self.state.fine {
                coarse = Blocks::new(self.team, tree.dim, summary.len(), |row| summary[row]);
                blocks = &coarse;
            }
        }
        let tolerance = Tolerance {
            movement: self.options.tolerance,
            iterations: self.options.iterations,
        };
        self.state.phases.set_temperature(temperature);
        self.state
            .phases
            .converge(self.team, blocks, tolerance)
            .await?;
        self.state.phases.merge();
        let rounds = if temperature <= self.floor { ROUNDS } else { 1 };
        for _ in 0..rounds {
            if self.state.phases.len() >= self.most || temperature < self.floor {
                break;
            }
            self.state.phases.measure(self.team, blocks).await?;
            if self
                .state
                .phases
                .split(self.team, blocks, self.most)
                .await?
                == 0
            {
                break;
            }
            self.state
                .phases
                .converge(self.team, blocks, tolerance)
                .await?;
            self.state.phases.merge();
        }
        Ok(())
    }

    /// The temperature after this one, unless this was the last.
    fn next(&self) -> Option<f64> {
        let now = self.state.phases.temperature;
        let open = self.state.phases.len() < self.most && now > self.floor;
        let hard = self.state.phases.softness < self.options.softness;
        if !open && (hard || self.splits_only) {
            return None;
        }
        let mut next = now * self.options.cooling;
        if let (true, Some(critical)) = (open, self.state.phases.critical(now)) {
            let landing = critical * (1.0 - LANDING);
            // While nothing is soft nothing changes before the next cluster splits: go there.
            next = if hard { landing } else { next.max(landing) };
        }
        if self.splits_only {
            next = next.min(now * COARSE);
            if self.state.trace.len() >= TEMPERATURES {
                return None;
            }
        }
        if open {
            next = next.max(self.floor);
        }
        (next > self.state.start * FROZEN).then_some(next)
    }

    fn record(&mut self) {
        let (phases, frame) = (&self.state.phases, &self.prepared.frame);
        let step = TraceStep {
            temperature: frame.square(phases.temperature),
            free_energy: frame.square(phases.free_energy),
            clusters: phases.len(),
            iterations: phases.iterations,
        };
        self.state.trace.push(step);
        // Splitting counts for half, hardening for most of the rest.
        let open = phases.temperature > self.floor && phases.len() < self.most;
        let split = if open {
            phases.len() as f64 / self.most as f64
        } else {
            1.0
        };
        let hardness = (phases.softness.ln() / self.options.softness.ln()).clamp(0.0, 1.0);
        self.state.done = self
            .state
            .done
            .max(0.5 * split + if open { 0.0 } else { 0.4 * hardness });
        self.team.report(|| Progress {
            temperature: step.temperature,
            clusters: step.clusters,
            target: self.most,
            free_energy: step.free_energy,
            done: self.state.done,
        });
    }
}
