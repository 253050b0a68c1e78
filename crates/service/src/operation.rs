//! Operations: what they mean, and when they run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt;

/// The uniform operations of DSS: what an operation means to somebody who does not know its
/// contract.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Verb {
    /// Makes a service.
    Create,
    /// What the service is: contract, path, partners.
    Lookup,
    /// The whole state.
    Get,
    /// Part of the state, or something computed from it.
    Query,
    /// Adds an entry to the state.
    Insert,
    /// Changes a part of the state that is there.
    Update,
    /// Changes it, or adds it.
    Upsert,
    /// Removes a part of the state.
    Delete,
    /// Sets the whole state.
    Replace,
    /// Runs something that is no change of the state.
    Submit,
    /// Asks for notifications.
    Subscribe,
    /// Brings a notification of another service.
    Notify,
    /// Ends the service.
    Drop,
}

impl Verb {
    /// In lower case, as it is in rules and in JSON.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Verb::Create => "create",
            Verb::Lookup => "lookup",
            Verb::Get => "get",
            Verb::Query => "query",
            Verb::Insert => "insert",
            Verb::Update => "update",
            Verb::Upsert => "upsert",
            Verb::Delete => "delete",
            Verb::Replace => "replace",
            Verb::Submit => "submit",
            Verb::Subscribe => "subscribe",
            Verb::Notify => "notify",
            Verb::Drop => "drop",
        }
    }
}

/// When a handler runs, beside the others of its service: decided by its receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Group {
    /// `&self`: together with other concurrent ones.
    Concurrent,
    /// `&mut self`: alone.
    Exclusive,
    /// `self`: last, alone.
    Teardown,
    /// No receiver: at any time.
    Independent,
}

/// One operation of a contract.
#[derive(Clone, Copy)]
pub struct Operation {
    /// The name of the method.
    pub name: &'static str,
    /// What it means.
    pub verb: Verb,
    /// When it runs.
    pub group: Group,
    /// Its documentation.
    pub about: &'static str,
    /// The JSON Schema of its body.
    pub body: fn() -> Value,
    /// The JSON Schema of its answer.
    pub answer: fn() -> Value,
    /// Whether it answers with a job.
    pub job: bool,
    /// Whether its changes are undone when it fails.
    pub rollback: bool,
    /// Whether its method is async: then it may wait, and its handler is a task.
    pub is_async: bool,
    /// Its place among the operations of its contract.
    pub number: usize,
    /// Whether clients call it; if not, it is periodic or takes notifications.
    pub called: bool,
}

/// The names of those that no client calls.
pub(crate) fn uncalled(operations: &[Operation]) -> Vec<String> {
    let uncalled = operations.iter().filter(|operation| !operation.called);
    uncalled
        .map(|operation| operation.name.to_owned())
        .collect()
}

impl fmt::Debug for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Operation")
            .field("name", &self.name)
            .field("verb", &self.verb)
            .field("group", &self.group)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verb_has_one_word() {
        for verb in [
            Verb::Create,
            Verb::Lookup,
            Verb::Get,
            Verb::Query,
            Verb::Insert,
            Verb::Update,
            Verb::Upsert,
            Verb::Delete,
            Verb::Replace,
            Verb::Submit,
            Verb::Subscribe,
            Verb::Notify,
            Verb::Drop,
        ] {
            assert_eq!(serde_json::to_value(verb).unwrap(), verb.word());
        }
    }
}
