//! Overhead per stage (papers E03 to E06, E14, E15): fixed work, cut into stages by messages.
//!
//! Question: what does it cost to cut a computation into stages at whose ends messages are
//! exchanged? Every computation does the same work in each run; with S stages it takes T(S), with
//! one stage T(1). Without overhead T(S) = T(1).
//!
//! Definition: overhead per stage = (T(S) − T(1) · ⌈P / threads⌉) / S. T(1) is measured in the same
//! process, next to T(S). It has as many computations at once as there are threads for (P or the
//! number of threads, whichever is less). The ideal time of a stage is T(1) · ⌈P / threads⌉ / S.
//!
//! Method: pairs of a one-stage run and an S-stage run in turn, so that a change of the processor's
//! clock hits both. The limits of the machine are measured between the pairs. Results are medians.
//! Threads that fill the machine are bound to their cores.
//!
//! Threats:
//! - other load on the machine;
//! - a stage count so small that starting the threads shows (use 10,000 stages and more);
//! - P that is not a multiple of the threads. Spawned computations are balanced and may beat the ⌈P
//!   / threads⌉ rule. The rule then gives a negative overhead, as the papers saw at P = 7.

pub use crate::program::{Pattern, StageMode};

use crate::limits;
use crate::measuring::{Case, MeasuringMethod, Point, Quantity, measured};
use crate::program::{WorkProgram, one_stage, overhead, run};
use crate::statistics::Spread;
use crate::unit::{Unit, Units};
use motet_sync::thread;
use serde::Serialize;
use thiserror::Error;

/// What to measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct StagesConfig {
    /// Who sends to whom.
    pub pattern: Pattern,
    /// How computations go on.
    pub mode: StageMode,
    /// Computations.
    pub parallel: usize,
    /// Units of work per stage and computation.
    pub units: u64,
    /// Stages.
    pub stages: u64,
    /// Threads; `None`: the default of the runtime.
    pub threads: Option<usize>,
    /// Pairs of runs.
    pub runs: usize,
}

/// What was measured; times in µs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StagesRecord {
    /// Of what, with the threads that ran it.
    #[serde(flatten)]
    pub config: StagesConfig,
    /// Length of a unit.
    pub unit_us: f64,
    /// Overhead per stage: the median of the pairs.
    pub overhead_us: f64,
    /// The least.
    pub overhead_min_us: f64,
    /// The most.
    pub overhead_max_us: f64,
    /// The ideal time of a stage.
    pub ideal_us: f64,
    /// A cache line to another core and back; absent on one core.
    pub roundtrip_us: Option<f64>,
    /// One allocation plus one push and pop on a deque.
    pub spawn_us: f64,
}

/// Why a measurement cannot be done.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum StagesError {
    /// The pattern is not defined for the mode.
    #[error("{}", undefined(*.0, *.1))]
    Undefined(Pattern, StageMode),
    /// A number that must not be 0 is.
    #[error("--{0} must be at least 1")]
    Zero(&'static str),
    /// A run failed.
    #[error("a run failed: {0}")]
    Run(String),
}

/// Measures; calls `progress` with the number of pairs done.
///
/// # Errors
/// [`StagesError`] when there is nothing to measure.
///
/// ```
/// use motet_bench::stages::{StageMode, Pattern, StagesConfig, measure};
///
/// let config = StagesConfig { stages: 2_000, runs: 1, ..StagesConfig::new(Pattern::Exchange, StageMode::Rendezvous, 2) };
/// let record = measure(&config, |_| ()).unwrap();
/// assert!(record.ideal_us > 0.0);
/// ```
pub fn measure(
    config: &StagesConfig,
    progress: impl FnMut(usize),
) -> Result<StagesRecord, StagesError> {
    config.check()?;
    let threads = config.threads();
    let unit = Unit::calibrate();
    let many = WorkProgram {
        pattern: config.pattern,
        parallel: config.parallel,
        stages: config.stages,
        threads,
        pin: threads == thread::cores(),
        work: Units {
            unit,
            count: config.units,
        },
    };
    let mode = config.mode;
    let stage = move || {
        let [overhead, _, ideal] = overhead(&many, &|program| Ok(run(mode, program)))?;
        let ideal = ideal * 1e6 / many.stages as f64;
        // There is no roundtrip on one core.
        let roundtrip = limits::roundtrip_us().unwrap_or(0.0);
        Ok([overhead, ideal, roundtrip, limits::spawn_us()])
    };
    let us = |name| Quantity::new(name, "us");
    let quantities = ["overhead per stage", "ideal", "cache line", "spawn"].map(us);
    let case = Case::new(Point::new(), &quantities).with("motet", stage);
    let method = MeasuringMethod::rounds(config.runs, 1);
    let plan = measured(method, vec![case], progress);
    let of = |quantity| {
        plan.values(0, 0, quantity)
            .map(|values| Spread::of(&values))
    };
    let of = |quantity| of(quantity).map_err(StagesError::Run);
    let (overhead, ideal_us, roundtrip_us) = (of(0)?, of(1)?.median, of(2)?.median);
    let unit_us = match config.units {
        0 => unit.time_us(1_000),
        units => ideal_us / (one_stage(&many).1 * units as f64),
    };
    Ok(StagesRecord {
        config: StagesConfig {
            threads: Some(threads),
            ..*config
        },
        unit_us,
        overhead_us: overhead.median,
        overhead_min_us: overhead.min,
        overhead_max_us: overhead.max,
        ideal_us,
        roundtrip_us: (roundtrip_us > 0.0).then_some(roundtrip_us),
        spawn_us: of(3)?.median,
    })
}

impl StagesConfig {
    /// The papers' 20 units per stage, with as many stages as take about half a second.
    #[must_use]
    pub fn new(pattern: Pattern, mode: StageMode, parallel: usize) -> Self {
        StagesConfig {
            pattern,
            mode,
            parallel,
            units: 20,
            stages: 20_000,
            threads: None,
            runs: 9,
        }
    }

    /// The threads that will run the computations.
    #[must_use]
    pub fn threads(&self) -> usize {
        let threads = self.threads.unwrap_or_else(thread::cores);
        match self.mode {
            StageMode::Spawned => threads,
            // A world uses at most one thread per rank.
            StageMode::Rendezvous => threads.min(self.parallel),
        }
    }

    /// Whether this can be measured.
    ///
    /// # Errors
    /// [`StagesError`] when there is nothing to measure.
    pub fn check(&self) -> Result<(), StagesError> {
        let zero = [
            ("parallel", self.parallel == 0),
            ("stages", self.stages == 0),
            ("threads", self.threads == Some(0)),
            ("runs", self.runs == 0),
        ];
        if let Some((what, _)) = zero.into_iter().find(|(_, zero)| *zero) {
            return Err(StagesError::Zero(what));
        }
        match (self.pattern, self.mode) {
            (Pattern::ExchangeTwoShifts, StageMode::Spawned)
            | (Pattern::TwoShifts, StageMode::Rendezvous) => {
                Err(StagesError::Undefined(self.pattern, self.mode))
            }
            _ => Ok(()),
        }
    }
}

fn undefined(pattern: Pattern, mode: StageMode) -> String {
    match pattern {
        Pattern::TwoShifts => "two-shifts is a spawned pattern (it tests MultipleItemReceive); \
                               use --mode spawned, or --pattern shift"
            .to_owned(),
        pattern => format!(
            "{pattern} is not defined as {mode}: a handler has no second half of a stage to wait \
             in; use --mode rendezvous, or --pattern exchange"
        ),
    }
}
