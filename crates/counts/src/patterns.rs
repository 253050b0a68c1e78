//! The stages of the suite's experiments E06 and E14: the same programs, whose stages count
//! themselves.
//!
//! A step is one stage of one computation, without work in it. All run on one thread, so that the
//! counts are the same from run to run.

use crate::span::{STEPS, StepCounter};
use motet_patterns::{Pattern, PatternProgram, StageMode, Work, rendezvous, spawned};
use std::sync::Arc;

/// A pattern in one of its forms.
pub(crate) struct PatternRow {
    pub(crate) name: &'static str,
    mode: StageMode,
    pattern: Pattern,
    parallel: usize,
}

/// The rows.
pub(crate) const ROWS: &[PatternRow] = &[
    PatternRow::new("spawned-pipeline", StageMode::Spawned, Pattern::Pipeline, 1),
    PatternRow::new("spawned-shift", StageMode::Spawned, Pattern::Shift, 2),
    PatternRow::new(
        "spawned-two-shifts",
        StageMode::Spawned,
        Pattern::TwoShifts,
        2,
    ),
    PatternRow::new("spawned-exchange", StageMode::Spawned, Pattern::Exchange, 2),
    PatternRow::new(
        "ranks-pipeline",
        StageMode::Rendezvous,
        Pattern::Pipeline,
        1,
    ),
    PatternRow::new("ranks-shift", StageMode::Rendezvous, Pattern::Shift, 2),
    PatternRow::new(
        "ranks-two-shifts",
        StageMode::Rendezvous,
        Pattern::ExchangeTwoShifts,
        2,
    ),
    PatternRow::new(
        "ranks-exchange",
        StageMode::Rendezvous,
        Pattern::Exchange,
        2,
    ),
];

/// A stage that counts itself.
#[derive(Clone)]
struct Counted(Arc<StepCounter>);

impl Work for Counted {
    #[inline]
    fn stage(&self) {
        self.0.go_on();
    }
}

impl PatternRow {
    const fn new(
        name: &'static str,
        mode: StageMode,
        pattern: Pattern,
        parallel: usize,
    ) -> PatternRow {
        PatternRow {
            name,
            mode,
            pattern,
            parallel,
        }
    }

    /// Warms up and takes its steps; some stages more, so that the last step is like the others.
    pub(crate) fn run(&self) {
        let (steps, _ended) = StepCounter::new();
        let program = PatternProgram {
            pattern: self.pattern,
            parallel: self.parallel,
            stages: 2 * STEPS / self.parallel as u64 + 10,
            threads: 1,
            pin: false,
            work: Counted(Arc::new(steps)),
        };
        match self.mode {
            StageMode::Spawned => spawned::run(&program),
            StageMode::Rendezvous => rendezvous::run(&program),
        };
    }
}
