//! A deterministic search for a better K-means solution near a given one.
//!
//! It works on a summary of the points, so it costs little however many there are; the caller
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
use crate::MiningError;
use crate::blocks::Blocks;
use crate::hard::Assignment;
use crate::lloyd::{Limit, Lloyd};
use crate::prepare::Prepared;
use crate::team::Team;

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

struct Search<'a> {
    team: &'a Team<'a>,
    blocks: &'a Blocks,
    dim: usize,
    lloyd: Lloyd<'a>,
    centres: Vec<f64>,
    best: Assignment,
    work: u64,
}

/// Looks for centres of lower inertia than `centres`, whose inertia is given; gives back what it
/// found and the work done.
pub(super) async fn search(
    options: &Annealing,
    team: &Team<'_>,
    prepared: &Prepared<'_>,
    centres: &[f64],
    inertia: f64,
) -> Result<(Vec<f64>, u64), MiningError> {
    let tree = &prepared.tree;
    let summary = tree.summary(inertia / GRAIN);
    let coarse;
    // Few rows would leave clusters without any.
    let enough = 4 * (centres.len() / tree.dim + DEPTH);
    let blocks = if (enough..tree.len() / 4 * 3).contains(&summary.len()) {
        coarse = Blocks::new(team, tree.dim, summary.len(), |row| summary[row]);
        &coarse
    } else {
        &prepared.blocks
    };
    let mut lloyd = Lloyd::new(team, blocks, tree.dim);
    let mut centres = centres.to_vec();
    let (best, _) = lloyd.run(&mut centres, Limit::FIXED_POINT).await?;
    let mut search = Search {
        team,
        blocks,
        dim: tree.dim,
        lloyd,
        centres,
        best,
        work: 0,
    };
    search.breathe().await?;
    search.swap(options.search).await?;
    search.reheat(options).await?;
    Ok((
        search.centres,
        search.work + search.lloyd.cluster_iterations,
    ))
}

impl Search<'_> {
    fn clusters(&self) -> usize {
        self.centres.len() / self.dim
    }

    /// The clusters with their leading directions.
    async fn phases(&mut self) -> Result<Phases, MiningError> {
        let cold = self.best.inertia() * COLD;
        let mut phases = Phases::hard(self.dim, &self.centres, &self.best.masses, cold);
        phases.measure(self.team, self.blocks).await?;
        self.work += phases.cluster_iterations;
        Ok(phases)
    }

    /// Settles a trial and keeps it if it is better.
    async fn accept(&mut self, mut trial: Vec<f64>) -> Result<bool, MiningError> {
        let target = self.best.inertia() * (1.0 - ROUNDING);
        let (found, _) = self.lloyd.run(&mut trial, Limit::below(target)).await?;
        let better = found.inertia() < target;
        if better {
            (self.best, self.centres) = (found, trial);
        }
        Ok(better)
    }

    async fn breathe(&mut self) -> Result<(), MiningError> {
        let spare = self.blocks.rows().saturating_sub(self.clusters());
        let mut depth = DEPTH.min(self.clusters() - 1).min(spare);
        while depth > 0 && self.best.inertia() > 0.0 {
            let phases = self.phases().await?;
            let mut order: Vec<usize> = (0..self.clusters()).collect();
            order.sort_by(|&a, &b| {
                phases
                    .excess(b)
                    .total_cmp(&phases.excess(a))
                    .then(a.cmp(&b))
            });
            let mut trial = self.centres.clone();
            for &k in &order[..depth] {
                phases.split_at_zero(k, &mut trial);
            }
            self.lloyd.run(&mut trial, Limit::FIXED_POINT).await?;
            while trial.len() > self.centres.len() {
                let losses = self.lloyd.assign::<true>(&trial).await?.losses;
                let least = (0..losses.len()).min_by(|&a, &b| losses[a].total_cmp(&losses[b]));
                let start = least.unwrap_or(0) * self.dim;
                trial.drain(start..start + self.dim);
            }
            if !self.accept(trial).await? {
                depth -= 1;
            }
        }
        Ok(())
    }

    /// Swaps until `most` swaps in a row have failed, or all.
    async fn swap(&mut self, most: usize) -> Result<(), MiningError> {
        let clusters = self.clusters();
        'improved: while self.best.inertia() > 0.0 {
            let phases = self.phases().await?;
            let losses = self.lloyd.assign::<true>(&self.centres).await?.losses;
            let promise = |i: usize, j: usize| SAVED * phases.excess(i) - losses[j];
            let mut pairs: Vec<(f64, usize, usize)> = (0..clusters * clusters)
                .map(|pair| (pair / clusters, pair % clusters))
                .filter(|(split, left_out)| split != left_out)
                .map(|(split, left_out)| (promise(split, left_out), split, left_out))
                .collect();
            pairs.sort_by(|a, b| b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
            for &(_, split, left_out) in pairs.iter().take(most) {
                let mut trial = self.centres.clone();
                phases.split_at_zero(split, &mut trial);
                trial.drain(left_out * self.dim..(left_out + 1) * self.dim);
                if self.accept(trial).await? {
                    continue 'improved;
                }
            }
            break;
        }
        Ok(())
    }

    async fn reheat(&mut self, options: &Annealing) -> Result<(), MiningError> {
        let tolerance = Tolerance {
            movement: options.tolerance,
            iterations: options.iterations,
        };
        for step in 0..REHEAT.1 {
            // At first twice the mean variance per column: about where clusters become unstable.
            let mut temperature = 2.0 * self.best.inertia() / self.dim as f64 * REHEAT.0.powi(step);
            if temperature == 0.0 {
                break;
            }
            let mut phases = Phases::hard(self.dim, &self.centres, &self.best.masses, temperature);
            phases.converge(self.team, self.blocks, tolerance).await?;
            while phases.softness >= options.softness {
                temperature *= options.cooling;
                phases.set_temperature(temperature);
                phases.converge(self.team, self.blocks, tolerance).await?;
            }
            self.work += phases.cluster_iterations;
            if phases.len() == self.clusters() {
                self.accept(phases.centres()).await?;
            }
        }
        Ok(())
    }
}
