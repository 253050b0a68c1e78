//! A deterministic search for a better K-means solution near a given one.
//!
//! It works on a summary of the points, so it costs little however many there are. The caller
//! carries its result over to all points and keeps it if it is better there too. Three moves, each
//! kept only if it lowers the inertia:
//!
//! - *Breathe*: split the clusters that gain most, settle, leave out those centres that cost
//!   least, settle; begin with five at a time. Source: B. Fritzke, The breathing k-means
//!   algorithm, arXiv:2006.15666 (2020); here clusters split along their leading direction instead
//!   of at random and costs are exact at every removal.
//! - *Swap*: split one cluster, leave out one other, settle; the pairs that promise most first.
//! - *Reheat*: anneal again from below the critical temperature.
//!
//! A trial settles until it is clear that it will not be better.

use super::Annealing;
use super::phases::{Phases, Tolerance};
use super::schedule::FROZEN;
use super::state::{Searched, Stage, State};
use crate::blocks::Blocks;
use crate::checkpoint::CheckpointKeeper;
use crate::lloyd::{Lloyd, LloydLimit};
use crate::order::{greatest_first, swaps};
use crate::prepare::Prepared;
use crate::rank_view::RankView;
use crate::{MiningError, Progress};

/// The variance of a cell of the summary is below the mean squared distance by this factor.
const GRAIN: f64 = 100.0;
/// Clusters split in the first, deepest breath.
const DEPTH: usize = 5;
/// What splitting a cluster saves, as a share of its variance along the line: between the uniform
/// distribution (3/4) and the normal (2/π).
const SAVED: f64 = 0.7;
/// The factor between the temperatures that are reheated to, and how many there are.
const REHEAT: (f64, i32) = (0.5, 8);
/// A relative fall of the inertia below this is rounding.
const ROUNDING: f64 = 1e-9;
/// Shares at this part of the inertia are as good as hard.
const COLD: f64 = 1e-9;

struct Search<'a, 'k> {
    team: &'a RankView<'a>,
    blocks: &'a Blocks,
    prepared: &'a Prepared<'a>,
    dim: usize,
    lloyd: Lloyd<'a>,
    now: Searched,
    state: &'a mut State,
    keeper: &'a mut CheckpointKeeper<'k>,
}

/// Looks for centres of lower inertia than those that are settled, or goes on looking; gives back
/// what it found and the work done.
pub(super) async fn search(
    options: &Annealing,
    team: &RankView<'_>,
    prepared: &Prepared<'_>,
    state: &mut State,
    keeper: &mut CheckpointKeeper<'_>,
) -> Result<(Vec<f64>, u64), MiningError> {
    let Some(settled) = &state.settled else {
        unreachable!("a search begins at a fixed point");
    };
    let tree = &prepared.tree;
    let summary = tree.summary(settled.best.inertia() / GRAIN);
    let coarse;
    // Few rows would leave clusters without any.
    let enough = 4 * (settled.centres.len() / tree.dim + DEPTH);
    let blocks = if (enough..tree.len() / 4 * 3).contains(&summary.len()) {
        coarse = Blocks::new(team, tree.dim, summary.len(), |row| summary[row]);
        &coarse
    } else {
        &prepared.blocks
    };
    let mut lloyd = Lloyd::new(team, blocks, tree.dim);
    let now = match settled.searched.clone() {
        Some(now) => now,
        None => {
            let mut centres = settled.centres.clone();
            let (best, _) = lloyd.run(&mut centres, LloydLimit::FIXED_POINT).await?;
            let clusters = centres.len() / tree.dim;
            let spare = blocks.rows().saturating_sub(clusters);
            Searched {
                stage: Stage::Breathe(DEPTH.min(clusters - 1).min(spare)),
                centres,
                best,
                work: 0,
                cluster_iterations: lloyd.cluster_iterations,
            }
        }
    };
    lloyd.cluster_iterations = now.cluster_iterations;
    let search = Search {
        team,
        blocks,
        prepared,
        dim: tree.dim,
        lloyd,
        now,
        state,
        keeper,
    };
    search.run(options).await
}

impl Search<'_, '_> {
    async fn run(mut self, options: &Annealing) -> Result<(Vec<f64>, u64), MiningError> {
        if let Stage::Breathe(depth) = self.now.stage {
            self.breathe(depth).await?;
            self.keep(Stage::Swap).await?;
        }
        if self.now.stage == Stage::Swap {
            self.swap(options.search).await?;
            self.keep(Stage::Reheat(0)).await?;
        }
        if let Stage::Reheat(first) = self.now.stage {
            self.reheat(first, options).await?;
        }
        let work = self.now.work + self.lloyd.cluster_iterations;
        Ok((self.now.centres, work))
    }

    /// Goes on to `stage`: tells the caller, and keeps a checkpoint.
    async fn keep(&mut self, stage: Stage) -> Result<(), MiningError> {
        self.now.stage = stage;
        let done = match stage {
            Stage::Breathe(depth) => (DEPTH - depth) as f64 / DEPTH as f64 / 3.0,
            Stage::Swap => 1.0 / 3.0,
            Stage::Reheat(step) => 2.0 / 3.0 + f64::from(step) / f64::from(REHEAT.1) / 3.0,
        };
        // Cooling is nine tenths.
        self.state.done = self.state.done.max(0.9 + 0.1 * done);
        self.team.report(|| Progress {
            temperature: 0.0,
            clusters: self.clusters(),
            target: self.clusters(),
            free_energy: self.prepared.frame.square(self.now.best.inertia()),
            done: self.state.done,
        });
        if self.keeper.is_on() {
            self.now.cluster_iterations = self.lloyd.cluster_iterations;
            if let Some(settled) = &mut self.state.settled {
                settled.searched = Some(self.now.clone());
            }
            self.keeper.save(false, self.state).await?;
        }
        Ok(())
    }

    fn clusters(&self) -> usize {
        self.now.centres.len() / self.dim
    }

    /// The clusters with their leading directions.
    async fn phases(&mut self) -> Result<Phases, MiningError> {
        let cold = self.now.best.inertia() * COLD;
        let mut phases = Phases::hard(self.dim, &self.now.centres, &self.now.best.masses, cold);
        phases.measure(self.team, self.blocks).await?;
        self.now.work += phases.cluster_iterations;
        Ok(phases)
    }

    /// Settles a trial and keeps it if it is better.
    async fn accept(&mut self, mut trial: Vec<f64>) -> Result<bool, MiningError> {
        let target = self.now.best.inertia() * (1.0 - ROUNDING);
        let (found, _) = self
            .lloyd
            .run(&mut trial, LloydLimit::below(target))
            .await?;
        let better = found.inertia() < target;
        if better {
            (self.now.best, self.now.centres) = (found, trial);
        }
        Ok(better)
    }

    async fn breathe(&mut self, mut depth: usize) -> Result<(), MiningError> {
        while depth > 0 && self.now.best.inertia() > 0.0 {
            let phases = self.phases().await?;
            let mut order: Vec<usize> = (0..self.clusters()).collect();
            greatest_first(&mut order, &|k| phases.excess(k));
            let mut trial = self.now.centres.clone();
            for &k in &order[..depth] {
                phases.split_at_zero(k, &mut trial);
            }
            self.lloyd.run(&mut trial, LloydLimit::FIXED_POINT).await?;
            while trial.len() > self.now.centres.len() {
                let losses = self.lloyd.assign::<true>(&trial).await?.losses;
                let least = (0..losses.len()).min_by(|&a, &b| losses[a].total_cmp(&losses[b]));
                let start = least.unwrap_or(0) * self.dim;
                trial.drain(start..start + self.dim);
            }
            if !self.accept(trial).await? {
                depth -= 1;
            }
            self.keep(Stage::Breathe(depth)).await?;
        }
        Ok(())
    }

    /// Swaps until `most` swaps in a row have failed, or all.
    async fn swap(&mut self, most: usize) -> Result<(), MiningError> {
        let clusters = self.clusters();
        'improved: while self.now.best.inertia() > 0.0 {
            let phases = self.phases().await?;
            let losses = self.lloyd.assign::<true>(&self.now.centres).await?.losses;
            let promise = |i: usize, j: usize| SAVED * phases.excess(i) - losses[j];
            for (split, left_out) in swaps(clusters, promise).into_iter().take(most) {
                let mut trial = self.now.centres.clone();
                phases.split_at_zero(split, &mut trial);
                trial.drain(left_out * self.dim..(left_out + 1) * self.dim);
                if self.accept(trial).await? {
                    self.keep(Stage::Swap).await?;
                    continue 'improved;
                }
            }
            break;
        }
        Ok(())
    }

    async fn reheat(&mut self, first: i32, options: &Annealing) -> Result<(), MiningError> {
        let tolerance = Tolerance {
            movement: options.tolerance,
            iterations: options.iterations,
        };
        for step in first..REHEAT.1 {
            // At first twice the mean variance per column: about where clusters become unstable.
            let mut temperature =
                2.0 * self.now.best.inertia() / self.dim as f64 * REHEAT.0.powi(step);
            if temperature == 0.0 {
                break;
            }
            let mut phases = Phases::hard(
                self.dim,
                &self.now.centres,
                &self.now.best.masses,
                temperature,
            );
            phases.converge(self.team, self.blocks, tolerance).await?;
            // Shares of equal distances stay soft at any temperature, as they do where rounding
            // hides that they are not. Below 1e-300 a number over the temperature may be none.
            let frozen = (temperature * FROZEN).max(1e-300);
            while phases.softness >= options.softness && temperature > frozen {
                temperature *= options.cooling;
                phases.set_temperature(temperature);
                phases.converge(self.team, self.blocks, tolerance).await?;
            }
            self.now.work += phases.cluster_iterations;
            if phases.len() == self.clusters() {
                self.accept(phases.centres()).await?;
            }
            self.keep(Stage::Reheat(step + 1)).await?;
        }
        Ok(())
    }
}
