//! Where a run of annealing is: what a checkpoint keeps.

use super::phases::Phases;
use crate::TraceStep;
use crate::hard::Assignment;
use crate::prepare::Prepared;
use serde::{Deserialize, Serialize};

/// Every rank holds the same.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct State {
    pub(super) phases: Phases,
    /// The temperature at which cooling began; 0 until then.
    pub(super) start: f64,
    /// The next temperature, unless cooling has ended.
    pub(super) next: Option<f64>,
    /// A summary would be hardly shorter than the points. It stays so: temperatures fall, and
    /// summaries grow with them.
    pub(super) fine: bool,
    pub(super) trace: Vec<TraceStep>,
    pub(super) done: f64,
    /// What came after cooling.
    pub(super) settled: Option<Settled>,
}

/// Temperature zero: a fixed point of K-means on all points, and a search that began there.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Settled {
    pub(super) centres: Vec<f64>,
    pub(super) best: Assignment,
    pub(super) cluster_iterations: u64,
    pub(super) searched: Option<Searched>,
}

/// How far a search is.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Searched {
    pub(super) stage: Stage,
    pub(super) centres: Vec<f64>,
    pub(super) best: Assignment,
    /// Passes times clusters beside those of Lloyd's iteration.
    pub(super) work: u64,
    pub(super) cluster_iterations: u64,
}

/// What a search does next.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) enum Stage {
    /// So many clusters at a time.
    Breathe(usize),
    Swap,
    /// To the temperature of this number.
    Reheat(i32),
}

impl State {
    /// Nothing has been done yet.
    pub(super) fn new(prepared: &Prepared<'_>) -> State {
        State {
            phases: Phases::new(prepared.tree.mean().to_vec()),
            start: 0.0,
            next: None,
            fine: false,
            trace: Vec::new(),
            done: 0.0,
            settled: None,
        }
    }
}
