//! What can be wrong with a model, and what can end a run.

use crate::Time;
use motet_comm::CommError;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A simulation cannot begin, or cannot go on. Every rank of the run gets the same error.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SimError {
    /// What the model has done, or is.
    Model(ModelError),
    /// Ranks cannot reach each other.
    Comm(CommError),
}

/// What is wrong with a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum ModelError {
    /// The model has more processes than can be numbered.
    TooManyProcesses {
        /// How many it has.
        processes: usize,
    },
    /// An event was scheduled for a process that the model does not have.
    NoSuchProcess {
        /// The process that scheduled it.
        from: usize,
        /// The process that it was for.
        to: usize,
        /// How many processes there are; they are numbered from 0.
        processes: usize,
        /// When it was scheduled.
        time: Time,
    },
    /// An event was scheduled for another process sooner than the lookahead promises.
    TooSoon {
        /// The process that scheduled it.
        from: usize,
        /// The process that it was for.
        to: usize,
        /// When it was scheduled.
        time: Time,
        /// The delay that it was scheduled with.
        delay: Time,
        /// The least delay that the model has promised.
        lookahead: Time,
    },
    /// An event was scheduled for a process to which there is no link, in a model that has declared
    /// its links.
    NotLinked {
        /// The process that scheduled it.
        from: usize,
        /// The process that it was for.
        to: usize,
        /// When it was scheduled.
        time: Time,
    },
    /// An event was scheduled for a time after the last that can be written.
    TimeOverflow {
        /// The process that scheduled it.
        from: usize,
        /// When it was scheduled.
        time: Time,
        /// The delay that it was scheduled with.
        delay: Time,
    },
    /// An event with delay 0 was scheduled at the end of the longest chain of such events.
    TooManySteps {
        /// The process that scheduled it.
        from: usize,
        /// When it was scheduled.
        time: Time,
    },
    /// Windows need a lookahead, and the model promises none.
    NoLookahead {
        /// The processes of a link without lookahead, if the model has declared its links.
        link: Option<(usize, usize)>,
    },
    /// Null messages need lookahead on every cycle of links, and on this one there is none.
    Cycle {
        /// The processes of the cycle, in the order of its links.
        processes: Vec<usize>,
    },
    /// Null messages need an [end](crate::Options::end), and the run has none.
    NoEnd,
    /// A rank holds more events than the model's limit allows.
    TooManyPending {
        /// How many it holds.
        pending: usize,
        /// When that was found.
        time: Time,
    },
    /// More events were handled than the model's limit allows.
    TooManyEvents {
        /// The limit.
        most: u64,
        /// When it was reached.
        time: Time,
    },
    /// Saved parts from which a run cannot go on.
    NotSaved {
        /// What is wrong with them.
        reason: String,
    },
    /// A process is not what it was when a handler has been undone.
    NotUndone {
        /// The process.
        process: usize,
        /// The time of the event whose handler was undone.
        time: Time,
    },
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ModelError::TooManyProcesses { processes } => {
                write!(
                    f,
                    "the model has {processes} processes; {} is the most",
                    u32::MAX
                )
            }
            ModelError::NoSuchProcess {
                from,
                to,
                processes,
                time,
            } => write!(
                f,
                "process {from} has scheduled an event for process {to} at time {time}, and there are \
                 {processes}, numbered from 0"
            ),
            ModelError::TooSoon {
                from,
                to,
                time,
                delay,
                lookahead,
            } => write!(
                f,
                "process {from} has scheduled an event for process {to} at time {time} with delay {delay}, \
                 and the model promises at least {lookahead}: lower its lookahead, or raise the delay"
            ),
            ModelError::NotLinked { from, to, time } => write!(
                f,
                "process {from} has scheduled an event for process {to} at time {time}, and the model has \
                 declared no link between them"
            ),
            ModelError::TimeOverflow { from, time, delay } => write!(
                f,
                "process {from} has scheduled an event at time {time} with delay {delay}: there is no such time"
            ),
            ModelError::TooManySteps { from, time } => write!(
                f,
                "process {from} has scheduled an event with delay 0 at time {time}, behind 2^32 that have \
                 scheduled each other so: does the time never go on?"
            ),
            other => other.fmt_of_run(f),
        }
    }
}

impl ModelError {
    /// The errors that are about the whole model or run.
    fn fmt_of_run(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ModelError::NoLookahead { link: None } => write!(
                f,
                "windows need a lookahead, and the model promises none: set `lookahead`, or take another mode"
            ),
            ModelError::NoLookahead {
                link: Some((from, to)),
            } => write!(
                f,
                "windows need a lookahead, and the link from process {from} to process {to} has none: \
                 declare one, or take another mode"
            ),
            ModelError::NoEnd => f.write_str(
                "null messages need to know when the run ends, since promises go on without events: set \
                 `Options::end`, or take another mode",
            ),
            ModelError::Cycle { processes } => {
                let names: Vec<String> = processes.iter().map(usize::to_string).collect();
                write!(
                    f,
                    "null messages need lookahead on every cycle, and there is none from process to process \
                     along {}",
                    names.join(" → ")
                )
            }
            ModelError::TooManyPending { pending, time } => write!(
                f,
                "a rank holds {pending} events that wait to be handled at time {time}: that is more than the \
                 model's limit"
            ),
            ModelError::TooManyEvents { most, time } => write!(
                f,
                "{most} events have been handled by time {time}, as many as the model's limit allows"
            ),
            ModelError::NotSaved { reason } => {
                write!(f, "the run cannot go on from these saved parts: {reason}")
            }
            ModelError::NotUndone { process, time } => write!(
                f,
                "process {process} is not what it was before its handler at time {time} was undone: \
                 its `undo` does not take back all that its `handle` does"
            ),
            about_events => unreachable!("said above: {about_events:?}"),
        }
    }
}

impl std::error::Error for ModelError {}

impl fmt::Display for SimError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SimError::Model(error) => error.fmt(f),
            SimError::Comm(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for SimError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            SimError::Model(error) => Some(error),
            SimError::Comm(error) => Some(error),
        }
    }
}

impl From<ModelError> for SimError {
    fn from(error: ModelError) -> Self {
        SimError::Model(error)
    }
}

impl From<CommError> for SimError {
    fn from(error: CommError) -> Self {
        SimError::Comm(error)
    }
}
