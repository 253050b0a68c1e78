//! The stages of the suite's experiments E06 and E14: the same programs, whose stages count
//! themselves.
//!
//! A step is one stage of one computation, without work in it. All run on one thread, so that the
//! counts are the same from run to run.

use crate::span::{STEPS, Steps};
use motet_patterns::{Mode, Pattern, Program, Work, rendezvous, spawned};
use std::sync::Arc;

/// A pattern in one of its forms.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    mode: Mode,
    pattern: Pattern,
    parallel: usize,
}

/// The rows.
pub(crate) const ROWS: &[Row] = &[
    Row::new("spawned-pipeline", Mode::Spawned, Pattern::Pipeline, 1),
    Row::new("spawned-shift", Mode::Spawned, Pattern::Shift, 2),
    Row::new("spawned-two-shifts", Mode::Spawned, Pattern::TwoShifts, 2),
    Row::new("spawned-exchange", Mode::Spawned, Pattern::Exchange, 2),
    Row::new("ranks-pipeline", Mode::Rendezvous, Pattern::Pipeline, 1),
    Row::new("ranks-shift", Mode::Rendezvous, Pattern::Shift, 2),
    Row::new(
        "ranks-two-shifts",
        Mode::Rendezvous,
        Pattern::ExchangeTwoShifts,
        2,
    ),
    Row::new("ranks-exchange", Mode::Rendezvous, Pattern::Exchange, 2),
];

/// A stage that counts itself.
#[derive(Clone)]
struct Counted(Arc<Steps>);

impl Work for Counted {
    #[inline]
    fn stage(&self) {
        self.0.go_on();
    }
}

impl Row {
    const fn new(name: &'static str, mode: Mode, pattern: Pattern, parallel: usize) -> Row {
        Row {
            name,
            mode,
            pattern,
            parallel,
        }
    }

    /// Warms up and takes its steps; some stages more, so that the last step is like the others.
    pub(crate) fn run(&self) {
        let (steps, _ended) = Steps::new();
        let program = Program {
            pattern: self.pattern,
            parallel: self.parallel,
            stages: 2 * STEPS / self.parallel as u64 + 10,
            threads: 1,
            pin: false,
            work: Counted(Arc::new(steps)),
        };
        match self.mode {
            Mode::Spawned => spawned::run(&program),
            Mode::Rendezvous => rendezvous::run(&program),
        };
    }
}
