//! The fall of the temperature.
//!
//! ```text
//!  T just above 2 λmax ─► converge, merge ─► unstable clusters? ─► split, converge, merge ─┐
//!          ▲                                        │ no                                   │
//!          └── next T: × cooling, or just below the next critical temperature ◄────────────┘
//!                       until there are all clusters and the shares are hard
//! ```

use super::phases::{Phases, Tolerance};
use super::{Annealing, Clusters};
use crate::blocks::Blocks;
use crate::prepare::Prepared;
use crate::team::Team;
use crate::{MiningError, Progress, TraceStep};

/// The variance of a cell that stands for its points is below the temperature by this factor, so
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
const FROZEN: f64 = 1e-30;

/// One run.
pub(super) struct Schedule<'a> {
    options: &'a Annealing,
    team: &'a Team<'a>,
    prepared: &'a Prepared<'a>,
    phases: Phases,
    /// No more clusters than this.
    most: usize,
    /// No splitting below this.
    floor: f64,
    start: f64,
    /// A summary would be hardly shorter than the points. It stays so: temperatures fall, and
    /// summaries grow with them.
    fine: bool,
    /// Cooling ends with the last split.
    splits_only: bool,
    trace: Vec<TraceStep>,
    done: f64,
}

/// What is left when the shares are hard.
pub(super) struct Annealed {
    pub(super) centres: Vec<f64>,
    pub(super) trace: Vec<TraceStep>,
    pub(super) cluster_iterations: u64,
}

impl<'a> Schedule<'a> {
    pub(super) fn new(
        options: &'a Annealing,
        team: &'a Team<'a>,
        prepared: &'a Prepared<'a>,
    ) -> Schedule<'a> {
        let floor = match options.clusters {
            Clusters::Exactly(_) => 0.0,
            Clusters::Found { t_min, .. } => prepared.frame.inner_square(t_min),
        };
        let phases = Phases::new(prepared.tree.mean().to_vec());
        let (most, trace) = (options.most(), Vec::new());
        Schedule {
            options,
            team,
            prepared,
            phases,
            most,
            floor,
            start: 0.0,
            fine: false,
            splits_only: false,
            trace,
            done: 0.0,
        }
    }

    /// Cools until all clusters are there; gives back the temperatures.
    pub(super) async fn splits(mut self) -> Result<Vec<TraceStep>, MiningError> {
        self.splits_only = true;
        self.cool().await?;
        Ok(self.trace)
    }

    /// Cools until all clusters are there and the shares are hard.
    pub(super) async fn run(mut self) -> Result<Annealed, MiningError> {
        self.cool().await?;
        Ok(Annealed {
            centres: self.phases.centres(),
            trace: self.trace,
            cluster_iterations: self.phases.cluster_iterations,
        })
    }

    async fn cool(&mut self) -> Result<(), MiningError> {
        self.start = self.critical().await? * START;
        let mut temperature = self.start;
        while temperature > 0.0 {
            self.settle(temperature).await?;
            self.record();
            match self.next() {
                Some(next) => temperature = next,
                None => break,
            }
        }
        Ok(())
    }

    /// The critical temperature of the whole: below it there is more than one cluster.
    async fn critical(&mut self) -> Result<f64, MiningError> {
        // One cluster has all points whatever the temperature; the directions of many columns
        // take a few rounds to turn.
        self.phases.set_temperature(1.0);
        let mut critical = 0.0;
        for _ in 0..4 {
            self.phases
                .measure(self.team, &self.prepared.blocks)
                .await?;
            critical = self.phases.critical(f64::INFINITY).unwrap_or(0.0);
        }
        Ok(critical)
    }

    /// Finds the clusters at one temperature.
    async fn settle(&mut self, temperature: f64) -> Result<(), MiningError> {
        let tree = &self.prepared.tree;
        let coarse;
        let mut blocks = &self.prepared.blocks;
        if !self.fine {
            let summary = tree.summary(temperature / GRAIN);
            self.fine = summary.len() >= tree.len() / 4 * 3;
            if !self.fine {
                coarse = Blocks::new(self.team, tree.dim, summary.len(), |row| summary[row]);
                blocks = &coarse;
            }
        }
        let tolerance = Tolerance {
            movement: self.options.tolerance,
            iterations: self.options.iterations,
        };
        self.phases.set_temperature(temperature);
        self.phases.converge(self.team, blocks, tolerance).await?;
        self.phases.merge();
        let rounds = if temperature <= self.floor { ROUNDS } else { 1 };
        for _ in 0..rounds {
            if self.phases.len() >= self.most || temperature < self.floor {
                break;
            }
            self.phases.measure(self.team, blocks).await?;
            if self.phases.split(self.team, blocks, self.most).await? == 0 {
                break;
            }
            self.phases.converge(self.team, blocks, tolerance).await?;
            self.phases.merge();
        }
        Ok(())
    }

    /// The temperature after this one, unless this was the last.
    fn next(&self) -> Option<f64> {
        let now = self.phases.temperature;
        let open = self.phases.len() < self.most && now > self.floor;
        let hard = self.phases.softness < self.options.softness;
        if !open && (hard || self.splits_only) {
            return None;
        }
        let mut next = now * self.options.cooling;
        if let (true, Some(critical)) = (open, self.phases.critical(now)) {
            let landing = critical * (1.0 - LANDING);
            // While nothing is soft nothing changes before the next cluster splits: go there.
            next = if hard { landing } else { next.max(landing) };
        }
        if open {
            next = next.max(self.floor);
        }
        (next > self.start * FROZEN).then_some(next)
    }

    fn record(&mut self) {
        let (phases, frame) = (&self.phases, &self.prepared.frame);
        let step = TraceStep {
            temperature: frame.square(phases.temperature),
            free_energy: frame.square(phases.free_energy),
            clusters: phases.len(),
            iterations: phases.iterations,
        };
        self.trace.push(step);
        // Splitting counts for half, hardening for most of the rest.
        let open = phases.temperature > self.floor && phases.len() < self.most;
        let split = if open {
            phases.len() as f64 / self.most as f64
        } else {
            1.0
        };
        let hardness = (phases.softness.ln() / self.options.softness.ln()).clamp(0.0, 1.0);
        self.done = self
            .done
            .max(0.5 * split + if open { 0.0 } else { 0.4 * hardness });
        self.team.report(|| Progress {
            temperature: step.temperature,
            clusters: step.clusters,
            target: self.most,
            free_energy: step.free_energy,
            done: self.done,
        });
    }
}
