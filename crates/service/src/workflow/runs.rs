//! What is known of the runs of a workflow service.

use super::flow::Flow;
use crate::{Fault, Value, data};
use serde::{Deserialize, Deserializer};
use std::collections::BTreeMap;

/// The runs of a workflow service, by their names.
#[data]
#[derive(Default)]
pub struct Runs {
    /// All of them.
    pub runs: BTreeMap<String, Run>,
}

/// A run: a flow, and how far it is.
#[data]
pub struct Run {
    /// What is to be done.
    pub flow: Flow,
    /// What has been done of it.
    pub steps: BTreeMap<String, Done>,
    /// How it stands.
    pub status: RunStatus,
    /// Why what it has done is undone, or was.
    pub fault: Option<Fault>,
}

/// How a run stands.
#[data]
#[derive(Copy, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// It goes on.
    Running,
    /// Its process has ended before it, or its job was cancelled; it goes on when it is resumed.
    Interrupted,
    /// All steps have ended.
    Done,
    /// A step has failed, or what undoes it; it is tried again when the run is resumed.
    Failed,
    /// A step has failed, and what was done before is being undone.
    Undoing,
    /// A step has failed, and what was done before was undone.
    Undone,
}

impl RunStatus {
    /// Whether a job carries it out.
    #[must_use]
    pub fn goes_on(self) -> bool {
        matches!(self, RunStatus::Running | RunStatus::Undoing)
    }
}

/// What is known of a step that was tried.
#[data]
#[derive(Default)]
#[serde(default)]
pub struct Done {
    /// What it has given, once it has ended; null if that is nothing.
    #[serde(default, deserialize_with = "given")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub out: Option<Value>,
    /// It was left out: its condition did not hold, or it needs one that was left out.
    pub left_out: bool,
    /// How many tries were answered with a fault; of a list those of all its calls.
    pub faults: u32,
    /// The last fault.
    pub fault: Option<Fault>,
    /// The calls for the values of a list, in their order, until all have ended.
    pub items: Vec<CallDone>,
    /// Which step of the run it was that ended, from 1; 0 until then.
    pub place: usize,
    /// What is known of its undo.
    pub undo: Undone,
}

/// What is known of a call for one value of a list.
#[data]
#[derive(Default)]
pub struct CallDone {
    /// What it has given, once it was answered.
    #[serde(default, deserialize_with = "given")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub out: Option<Value>,
    /// How many tries were answered with a fault.
    pub faults: u32,
    /// The last fault.
    pub fault: Option<Fault>,
}

/// What is known of the undo of a step.
#[data]
#[derive(Default)]
pub struct Undone {
    /// How many of its calls were undone, from the last on.
    pub calls: usize,
    /// All that were answered were undone.
    pub all: bool,
    /// How many tries were answered with a fault.
    pub faults: u32,
    /// The last fault.
    pub fault: Option<Fault>,
}

/// A field that is there was given, also when it is null.
fn given<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(from).map(Some)
}

impl Done {
    /// Whether nothing is left to do.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.out.is_some() || self.left_out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sem_g407_what_has_given_nothing_has_ended_also_when_it_was_stored() {
        let done = Done {
            out: Some(Value::Null),
            items: vec![CallDone::default()],
            ..Done::default()
        };
        for done in [done, Done::default()] {
            let stored = crate::json::to_value(&done).unwrap();
            let read: Done = crate::json::from_value("a step", stored).unwrap();
            assert_eq!((read.out, read.left_out), (done.out, done.left_out));
            assert!(read.items.iter().all(|item| item.out.is_none()));
        }
    }
}
