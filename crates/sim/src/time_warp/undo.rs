//! How a handler is undone: from a copy of the process, or by the process itself.

use super::history::Stopped;
use crate::event::KeyedEvent;
use crate::out::ProcessCounters;
use crate::rules::Rules;
use crate::share::LogicalProcess;
use crate::{Logical, Reversible};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A way to undo handlers.
pub(crate) trait Undoing<P: Logical> {
    /// What is kept of a handler for that.
    type Kept;

    /// Handles an event.
    ///
    /// # Errors
    /// What ends the run if the event is committed; the process is then as it was.
    fn handle(
        rules: &Rules,
        process: &mut LogicalProcess<P>,
        event: KeyedEvent<P::Event>,
        sent: &mut Vec<KeyedEvent<P::Event>>,
    ) -> Result<Self::Kept, Stopped>;

    /// Makes the process what it was before.
    fn undo(process: &mut LogicalProcess<P>, kept: Self::Kept);
}

/// Before each handler the process is copied.
#[derive(Debug)]
pub(crate) struct Copies;

/// The process undoes its handlers.
#[derive(Debug)]
pub(crate) struct Reversed;

impl<P: Logical + Clone> Undoing<P> for Copies {
    type Kept = LogicalProcess<P>;

    fn handle(
        rules: &Rules,
        process: &mut LogicalProcess<P>,
        event: KeyedEvent<P::Event>,
        sent: &mut Vec<KeyedEvent<P::Event>>,
    ) -> Result<LogicalProcess<P>, Stopped> {
        let before = process.clone();
        let KeyedEvent { key, body } = event;
        // The process is put back from its copy after a panic: nobody sees what the handler has
        // left.
        let handled = catch_unwind(AssertUnwindSafe(|| {
            process
                .act(rules, &key, sent, |state, out| {
                    state.handle(key.time, body, out)
                })
                .1
        }));
        let stopped = match handled {
            Ok(Ok(())) => return Ok(before),
            Ok(Err(refused)) => Stopped::Refused(refused),
            Err(panic) => Stopped::Panicked(panic),
        };
        *process = before;
        Err(stopped)
    }

    fn undo(process: &mut LogicalProcess<P>, kept: LogicalProcess<P>) {
        *process = kept;
    }
}

impl<P: Reversible> Undoing<P> for Reversed {
    type Kept = (ProcessCounters, P::Undo);

    fn handle(
        rules: &Rules,
        process: &mut LogicalProcess<P>,
        event: KeyedEvent<P::Event>,
        sent: &mut Vec<KeyedEvent<P::Event>>,
    ) -> Result<Self::Kept, Stopped> {
        let before = process.counters;
        let KeyedEvent { key, body } = event;
        let (undo, done) = process.act(rules, &key, sent, |state, out| {
            state.handle_reversibly(key.time, body, out)
        });
        match done {
            Ok(()) => Ok((before, undo)),
            Err(refused) => {
                Self::undo(process, (before, undo));
                Err(Stopped::Refused(refused))
            }
        }
    }

    fn undo(process: &mut LogicalProcess<P>, (counters, undo): Self::Kept) {
        process.state.undo(undo);
        process.counters = counters;
    }
}
