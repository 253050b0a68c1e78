//! What an annealing of bits keeps on disk.

use super::hard::Hard;
use super::passes::{Cluster, Field, Heat};
use super::phases::Phases;
use crate::MiningError;
use crate::checkpoint::CheckpointKeeper;
use crate::clustering::TraceStep;
use serde::{Deserialize, Serialize};

/// What a checkpoint holds: the clusters while the temperature falls, labels after that.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct State {
    pub(super) clusters: Vec<Cluster>,
    pub(super) heat: Heat,
    pub(super) work: u64,
    pub(super) trace: Vec<TraceStep>,
    pub(super) first: f64,
    pub(super) next: Option<f64>,
    pub(super) settled: Option<Settled>,
}

/// The labels of all rows at temperature zero.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Settled {
    pub(super) labels: Vec<u32>,
    pub(super) clusters: u64,
    pub(super) work: u64,
}

impl State {
    pub(super) fn new(phases: &Phases<'_>, trace: &[TraceStep], ends: (f64, Option<f64>)) -> State {
        State {
            clusters: phases.clusters.clone(),
            heat: phases.heat,
            work: phases.work,
            trace: trace.to_vec(),
            first: ends.0,
            next: ends.1,
            settled: None,
        }
    }

    /// Takes over where an earlier run has been.
    pub(super) fn restore(&self, phases: &mut Phases<'_>) {
        phases.clusters.clone_from(&self.clusters);
        phases.heat = self.heat;
        phases.work = self.work;
    }
}

/// The search at temperature zero: the work done, and where it is kept.
pub(super) struct Search<'a> {
    pub(super) keeper: CheckpointKeeper<'a>,
    pub(super) state: State,
    pub(super) work: u64,
}

impl Search<'_> {
    /// Keeps the labels that have been found, all of whose ranks call it.
    pub(super) async fn keep(
        &mut self,
        field: &Field<'_>,
        found: &Hard,
    ) -> Result<(), MiningError> {
        if !self.keeper.is_on() {
            return Ok(());
        }
        let all = field.team.comm.allgather(found.labels.clone()).await?;
        self.state.settled = Some(Settled {
            labels: all.concat(),
            clusters: found.clusters() as u64,
            work: self.work,
        });
        self.keeper.save(false, &self.state).await
    }
}
