//! How what a run has done is undone: the last first.

use super::carry::{CallOf, Carried};
use super::failure::Failure;
use super::flow::{Step, Undo};
use super::scope::Scope;
use super::{Done, Run, Undone};
use crate::Value;
use std::cmp::Reverse;

/// A step that is to be undone.
pub(super) struct ToUndo<'a> {
    pub(super) step: &'a Step,
    undo: &'a Undo,
    done: &'a Done,
}

/// What is left to be undone, in that order.
pub(super) fn left(run: &Run) -> Vec<ToUndo<'_>> {
    let steps = run.flow.steps.iter();
    let steps = steps.filter_map(|step| {
        let (undo, done) = (step.undo.as_deref()?, run.steps.get(&step.name)?);
        let is_left = !done.undo.all && !answered(step, done).is_empty();
        is_left.then_some(ToUndo { step, undo, done })
    });
    let mut steps: Vec<_> = steps.collect();
    // A list that has not been called for as a whole has no place yet, and comes first; of several
    // the last one.
    steps.reverse();
    steps.sort_by_key(|one| match one.done.place {
        0 => Reverse(usize::MAX),
        place => Reverse(place),
    });
    steps
}

/// The calls of a step that were answered: for which value, and with what.
fn answered<'a>(step: &Step, done: &'a Done) -> Vec<(usize, &'a Value)> {
    match &done.out {
        Some(Value::Array(outs)) if step.has_list() => outs.iter().enumerate().collect(),
        Some(out) => vec![(0, out)],
        None => {
            let items = done.items.iter().enumerate();
            let items = items.filter_map(|(at, item)| Some((at, item.out.as_ref()?)));
            items.collect()
        }
    }
}

impl ToUndo<'_> {
    /// Undoes the calls of a step one after the other, the last first.
    pub(super) async fn undo(&self, by: Carried<'_>, run: &Run) -> Result<(), Failure> {
        let ToUndo { step, undo, done } = self;
        let values = match step.has_list() {
            true => Scope::of(run).list(step)?,
            false => Vec::new(),
        };
        let answered = answered(step, done);
        let mut faults = done.undo.faults;
        let calls = answered.iter().rev().enumerate();
        for (undone, (at, out)) in calls.skip(done.undo.calls) {
            let scope = Scope::of(run).with_item(values.get(*at));
            let body = scope.with_own(&step.name, out).filled(&undo.with);
            let which = CallOf::Undo { at: *at, undone };
            (_, faults) = by.tried(which, faults, body).await?;
            let undone = Undone {
                calls: undone + 1,
                all: undone + 1 == answered.len(),
                faults,
                fault: None,
            };
            by.record_undo(undone).await?;
        }
        Ok(())
    }
}
