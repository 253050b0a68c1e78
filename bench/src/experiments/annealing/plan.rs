//! What one repetition does, and how long it takes.

use super::AnnealingError;
use crate::peers::scikit_learn::ScikitLearn;
use motet_comm::World;
use motet_mining::{Annealing, Clustering, Clusters, Control, MiningError, Points, Steps};
use std::time::Instant;

/// What all repetitions with one number of clusters share.
#[derive(Debug)]
pub(crate) struct AnnealingPlan {
    pub(crate) clusters: usize,
    /// The first centres of Lloyd's iteration: points.
    pub(crate) start: Vec<f64>,
    /// The fit that is replayed.
    fit: Clustering,
    /// Its temperatures with all clusters and the steps made there, from cold to hot.
    replay: Vec<(f64, usize)>,
    /// Lloyd steps, and hot annealing steps.
    steps: usize,
}

/// A step that is timed.
#[derive(Debug, Clone, Copy)]
pub(super) enum TimedStep {
    /// Annealing at the temperatures of the fit.
    Annealing,
    /// Annealing at its first temperature.
    Hot,
    /// Lloyd's.
    Lloyd,
}

impl AnnealingPlan {
    /// Finds the temperatures by a fit.
    pub(crate) fn new(
        points: &Points,
        clusters: usize,
        steps: usize,
    ) -> Result<AnnealingPlan, AnnealingError> {
        let method = Annealing {
            clusters: Clusters::Exactly(clusters),
            search: 0,
            ..Annealing::default()
        };
        let fit = fit(points, 1, &method)?;
        let replay: Vec<(f64, usize)> = fit
            .trace
            .iter()
            .rev()
            .filter(|step| step.clusters == clusters)
            .map(|step| (step.temperature, step.iterations))
            .collect();
        if replay.is_empty() {
            return Err(AnnealingError::NotReached(clusters));
        }
        Ok(AnnealingPlan {
            clusters,
            start: points.values()[..clusters * points.dim()].to_vec(),
            fit,
            replay,
            steps,
        })
    }

    /// Annealing steps per repetition.
    pub(crate) fn annealing_steps(&self) -> usize {
        self.replay.iter().map(|(_, steps)| steps).sum()
    }

    /// The nanoseconds of a step, per point and cluster.
    pub(super) fn step_ns(
        &self,
        points: &Points,
        threads: usize,
        step: TimedStep,
    ) -> Result<f64, AnnealingError> {
        let seconds = World::threads(threads).run(async |comm| {
            let mut pass = Steps::new(&comm, points).await?;
            match step {
                TimedStep::Annealing => self.replay(&mut pass, 1).await,
                TimedStep::Hot => self.hot(&mut pass).await,
                TimedStep::Lloyd => self.lloyd(&mut pass).await,
            }
        })?;
        let steps = match step {
            TimedStep::Annealing => self.annealing_steps(),
            TimedStep::Hot | TimedStep::Lloyd => self.steps,
        };
        Ok(self.per_step(points, seconds[0], steps))
    }

    /// The same of the peer's Lloyd step.
    pub(super) fn peer_ns(
        &self,
        points: &Points,
        threads: usize,
        peer: &mut ScikitLearn,
    ) -> Result<f64, String> {
        let seconds = peer.lloyd_seconds(self.clusters, &self.start, threads, self.steps)?;
        Ok(self.per_step(points, seconds, self.steps))
    }

    fn per_step(&self, points: &Points, seconds: f64, steps: usize) -> f64 {
        seconds * 1e9 / (points.len() * self.clusters * steps) as f64
    }

    /// The seconds that so many replays of the fit's steps take on so many threads, bound to their
    /// cores or not.
    pub(crate) fn replay_seconds(
        &self,
        points: &Points,
        (threads, pin): (usize, bool),
        rounds: usize,
    ) -> Result<f64, AnnealingError> {
        let seconds = World::threads(threads).pin(pin).run(async |comm| {
            let mut pass = Steps::new(&comm, points).await?;
            self.replay(&mut pass, rounds).await
        })?;
        Ok(seconds[0])
    }

    /// The seconds of hot steps.
    async fn hot(&self, pass: &mut Steps<'_>) -> Result<f64, MiningError> {
        let (masses, centres) = (&self.fit.masses, &self.fit.centres);
        let hottest = self.fit.trace[0].temperature;
        pass.soft(hottest, masses, centres).await?;
        let started = Instant::now();
        for _ in 0..self.steps {
            pass.soft(hottest, masses, centres).await?;
        }
        Ok(started.elapsed().as_secs_f64())
    }

    /// The seconds of Lloyd steps.
    async fn lloyd(&self, pass: &mut Steps<'_>) -> Result<f64, MiningError> {
        let mut centres = self.start.clone();
        pass.hard(&centres).await?;
        let started = Instant::now();
        for _ in 0..self.steps {
            centres = pass.hard(&centres).await?.centres;
        }
        Ok(started.elapsed().as_secs_f64())
    }

    /// The seconds of the fit's steps, from cold to hot, so many times. Here as with the others
    /// the first step is not timed: it brings the ranks together and the points into the caches.
    async fn replay(&self, pass: &mut Steps<'_>, rounds: usize) -> Result<f64, MiningError> {
        pass.soft(self.replay[0].0, &self.fit.masses, &self.fit.centres)
            .await?;
        let started = Instant::now();
        for _ in 0..rounds {
            let (mut masses, mut centres) = (self.fit.masses.clone(), self.fit.centres.clone());
            for &(temperature, steps) in &self.replay {
                for _ in 0..steps {
                    let step = pass.soft(temperature, &masses, &centres).await?;
                    (masses, centres) = (step.masses, step.centres);
                }
            }
        }
        Ok(started.elapsed().as_secs_f64())
    }
}

/// The clustering that rank 0 finds.
pub(super) fn fit(
    points: &Points,
    threads: usize,
    method: &Annealing,
) -> Result<Clustering, AnnealingError> {
    let mut parts = World::threads(threads)
        .run(async |comm| method.fit(&comm, points, &Control::default()).await)?;
    Ok(parts.remove(0))
}
