//! What a process has handled and may have to take back.

use super::undo::Undoing;
use crate::event::{EventKey, KeyedEvent};
use crate::rules::Rules;
use crate::share::LogicalProcess;
use crate::{Logical, ModelError, Time};
use std::any::Any;
use std::collections::VecDeque;
use std::panic::resume_unwind;

/// What a process has handled and not committed, in the order of keys.
pub(super) struct History<P: Logical, U: Undoing<P>>(VecDeque<Done<P, U>>);

struct Done<P: Logical, U: Undoing<P>> {
    event: KeyedEvent<P::Event>,
    kept: U::Kept,
    /// The events that it has scheduled.
    sent: Box<[EventKey]>,
}

/// Why a handler has not done its work.
pub(crate) enum Stopped {
    Refused(ModelError),
    Panicked(Box<dyn Any + Send>),
}

impl<P: Logical, U: Undoing<P>> History<P, U> {
    pub(super) fn new() -> Self {
        History(VecDeque::new())
    }

    /// Handles an event that comes after all of the history.
    ///
    /// # Errors
    /// The event again, and what ends the run if it is committed; the process is as it was.
    pub(super) fn handle(
        &mut self,
        rules: &Rules,
        process: &mut LogicalProcess<P>,
        event: KeyedEvent<P::Event>,
        sent: &mut Vec<KeyedEvent<P::Event>>,
    ) -> Result<(), (KeyedEvent<P::Event>, Stopped)> {
        match U::handle(rules, process, event.clone(), sent) {
            Ok(kept) => {
                let sent = sent.iter().map(|event| event.key).collect();
                self.0.push_back(Done { event, kept, sent });
                Ok(())
            }
            Err(stopped) => Err((event, stopped)),
        }
    }

    /// Undoes the last handler if its event has this key or a later one. The event waits again;
    /// what it had scheduled is added to `orphans`.
    pub(super) fn undo_from(
        &mut self,
        key: &EventKey,
        process: &mut LogicalProcess<P>,
        orphans: &mut Vec<EventKey>,
    ) -> Option<KeyedEvent<P::Event>> {
        let done = self.0.pop_back_if(|done| done.event.key >= *key)?;
        U::undo(process, done.kept);
        orphans.extend(done.sent);
        Some(done.event)
    }

    /// Forgets how to undo what lies before `horizon`; how many events that were. Their keys go to
    /// the trace.
    pub(super) fn commit(
        &mut self,
        horizon: &EventKey,
        trace: Option<&mut Vec<EventKey>>,
    ) -> usize {
        let count = self.0.partition_point(|done| done.event.key < *horizon);
        let committed = self.0.drain(..count).map(|done| done.event.key);
        match trace {
            Some(trace) => trace.extend(committed),
            None => drop(committed),
        }
        count
    }

    /// When the last event took place; 0 if there is none.
    pub(super) fn last(&self) -> Time {
        self.0.back().map_or(0, |done| done.event.key.time)
    }

    /// The same of all.
    pub(super) fn commit_all(&mut self, trace: Option<&mut Vec<EventKey>>) -> usize {
        if let Some(trace) = trace {
            trace.extend(self.0.iter().map(|done| done.event.key));
        }
        let count = self.0.len();
        self.0.clear();
        count
    }
}

impl Stopped {
    /// What the model has done that it must not.
    ///
    /// # Panics
    /// As the handler has.
    pub(super) fn raise(self) -> ModelError {
        match self {
            Stopped::Refused(refused) => refused,
            Stopped::Panicked(panic) => resume_unwind(panic),
        }
    }
}
