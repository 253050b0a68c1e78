//! What a program is: who sends to whom, and how a computation goes on.

use serde::Serialize;
use std::fmt;

/// Who sends to whom at the end of a stage (papers R034 to R039).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pattern {
    /// Each computation sends one message to itself.
    Pipeline,
    /// Each sends one message to its right neighbour on a ring.
    Shift,
    /// Each sends two messages to its right neighbour, which needs both.
    TwoShifts,
    /// A left shift followed by a right shift: two synchronisations per stage.
    ExchangeTwoShifts,
    /// Each sends one message to each neighbour and waits for one from each.
    Exchange,
}

/// How a computation goes on from stage to stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum StageMode {
    /// Each stage is a fresh handler, started by the messages on its port.
    Spawned,
    /// Each computation is one rank that waits at the end of each stage.
    Rendezvous,
}

/// One program: `parallel` computations of `stages` stages.
#[derive(Debug, Clone, Copy)]
pub struct PatternProgram<W> {
    /// Who sends to whom.
    pub pattern: Pattern,
    /// Computations.
    pub parallel: usize,
    /// Stages of each.
    pub stages: u64,
    /// Threads that run them.
    pub threads: usize,
    /// The threads are bound to their cores: two that the system puts on one core stay there for a
    /// while.
    pub pin: bool,
    /// What each stage computes.
    pub work: W,
}

/// What a stage computes.
pub trait Work: Clone + Send + Sync + 'static {
    /// Computes one stage of one computation.
    fn stage(&self);
}

/// Nothing: messages alone.
impl Work for () {
    #[inline]
    fn stage(&self) {}
}

impl Pattern {
    /// All of them, in the papers' order.
    pub const ALL: [Pattern; 5] = [
        Pattern::Pipeline,
        Pattern::Shift,
        Pattern::TwoShifts,
        Pattern::ExchangeTwoShifts,
        Pattern::Exchange,
    ];

    /// Its name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Pattern::Pipeline => "pipeline",
            Pattern::Shift => "shift",
            Pattern::TwoShifts => "two-shifts",
            Pattern::ExchangeTwoShifts => "exchange-two-shifts",
            Pattern::Exchange => "exchange",
        }
    }
}

impl StageMode {
    /// Both.
    pub const ALL: [StageMode; 2] = [StageMode::Spawned, StageMode::Rendezvous];

    /// Its name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            StageMode::Spawned => "spawned",
            StageMode::Rendezvous => "rendezvous",
        }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for StageMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
