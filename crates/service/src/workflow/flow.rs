//! What a workflow is to do.

use super::reference::{Reference, each_text};
use crate::{Fault, FaultCode, Value, texts};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU16;

/// Steps, each of which calls an operation of a service. A step begins when those have ended that
/// it needs.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// The steps, in any order.
    #[serde(default, rename = "step")]
    pub steps: Vec<Step>,
}

/// One step.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Step {
    /// Its name, of which there is one.
    pub name: String,
    /// The path of the service, a colon, the operation: `/clusters:cluster`. Of a job the step
    /// waits for the end.
    pub call: String,
    /// The body. A text `${fetch.out}` in it stands for what the step `fetch` has given,
    /// `${fetch.out/points/0}` for a part of that, found by its JSON Pointer.
    pub with: Value,
    /// A list, or a text that stands for one. The operation is called once for each of its values:
    /// `${item}` in `with` stands for the value, `${item/name}` for a part of it. The step gives
    /// the list of what these calls have given, in the order of the values.
    pub for_each: Value,
    /// How many of these calls run at once; 8 when it is not said.
    pub at_once: Option<NonZeroU16>,
    /// Steps that must have ended before.
    pub after: Vec<String>,
    /// Such a text: the step is left out when it stands for `false`, null or nothing.
    pub when: Option<String>,
    /// How long each try may take, with the job that it begins: that is cancelled then. Else a call
    /// has the node's limit, and a job has none.
    pub timeout_ms: Option<u64>,
    /// What is done about faults.
    pub retry: Retry,
    /// What undoes it, when another step fails for good.
    pub undo: Option<Box<Undo>>,
}

/// A call that undoes a step, or each call of one with a list.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Undo {
    /// The path of the service, a colon, the operation.
    pub call: String,
    /// The body. The name of the step itself stands for what the call has given that is undone,
    /// `${item}` for the value of the list that it was for. Others are those that the step needs.
    pub with: Value,
    /// How long each try may take.
    pub timeout_ms: Option<u64>,
    /// What is done about faults.
    pub retry: Retry,
}

/// What is done about the faults of a step.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Retry {
    /// How often it is tried again.
    pub times: u32,
    /// How long is waited before that; each time twice as long.
    pub backoff_ms: u64,
    /// After which faults; after all when none is named.
    pub on: Vec<FaultCode>,
}

/// A call as a step says it, or its undo.
#[derive(Clone, Copy)]
pub(super) struct FlowCall<'a> {
    call: &'a str,
    pub(super) timeout_ms: Option<u64>,
    pub(super) retry: &'a Retry,
}

impl Flow {
    /// Reads a flow of TOML, or of JSON, and checks it.
    ///
    /// # Errors
    /// A fault that says where the text is wrong, or which step names what is not there, or which
    /// steps need each other.
    pub fn read(text: &str) -> Result<Self, Fault> {
        let read = texts::read(text, "have a step give the list");
        let flow: Flow = read.map_err(|why| wrong(format!("the text is no flow: {why}")))?;
        flow.check()?;
        Ok(flow)
    }

    /// Checks names, calls, references and the order of the steps.
    ///
    /// # Errors
    /// A fault that names the step and what is wrong with it.
    pub fn check(&self) -> Result<(), Fault> {
        let mut names = BTreeSet::new();
        for step in &self.steps {
            if step.name.is_empty() || !names.insert(step.name.as_str()) {
                let reason = format!(
                    "there are two steps {:?}; each has a name of its own",
                    step.name
                );
                return Err(wrong(reason));
            }
        }
        for step in &self.steps {
            step.check(&names)?;
        }
        let mut left: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for step in &self.steps {
            left.insert(&step.name, step.needs());
        }
        while let Some(free) = left
            .iter()
            .find(|(_, needs)| needs.iter().all(|need| !left.contains_key(need)))
            .map(|(name, _)| *name)
        {
            left.remove(free);
        }
        match left.is_empty() {
            true => Ok(()),
            false => {
                let names: Vec<&str> = left.into_keys().collect();
                let reason = format!(
                    "these steps need each other, or ones that do: {}; take one `after` or reference out",
                    names.join(", ")
                );
                Err(wrong(reason))
            }
        }
    }
}

impl Step {
    /// The names of the steps that must have ended before.
    #[must_use]
    pub fn needs(&self) -> Vec<&str> {
        let mut needs: BTreeSet<&str> = self.after.iter().map(String::as_str).collect();
        let mut of_text = |text| needs.extend(Reference::read(text).and_then(Reference::step));
        each_text(&self.with, &mut of_text);
        each_text(&self.for_each, &mut of_text);
        self.when.as_deref().map(of_text);
        needs.into_iter().collect()
    }

    /// Whether it calls its operation for each value of a list.
    pub(super) fn has_list(&self) -> bool {
        !self.for_each.is_null()
    }

    /// How many calls of its list run at once.
    pub(super) fn most_at_once(&self) -> usize {
        self.at_once.map_or(8, |most| usize::from(most.get()))
    }

    pub(super) fn forward(&self) -> FlowCall<'_> {
        FlowCall {
            call: &self.call,
            timeout_ms: self.timeout_ms,
            retry: &self.retry,
        }
    }

    fn check(&self, names: &BTreeSet<&str>) -> Result<(), Fault> {
        self.check_call("", &self.forward())?;
        if let Some(missing) = self.needs().into_iter().find(|need| !names.contains(need)) {
            let reason = format!(
                "needs {missing:?} by {}, and there is no such step",
                self.field_with(missing)
            );
            return Err(self.wrong(&reason));
        }
        self.check_texts()?;
        self.check_list()?;
        self.check_undo()
    }

    fn check_call(&self, of: &str, call: &FlowCall<'_>) -> Result<(), Fault> {
        call.target().map(drop).ok_or_else(|| {
            let reason = format!(
                "has the call {:?}{of}; write call = \"/path:operation\"",
                call.call
            );
            self.wrong(&reason)
        })
    }

    /// What begins as a reference is one, of the kind that may be there.
    fn check_texts(&self) -> Result<(), Fault> {
        let has_list = self.has_list();
        let none = Value::Null;
        let undo = self.undo.as_ref().map_or(&none, |undo| &undo.with);
        for (field, value, has_items) in [
            ("with", &self.with, has_list),
            ("for_each", &self.for_each, false),
            ("undo", undo, has_list),
        ] {
            let mut broken = None;
            each_text(value, &mut |text| {
                let is_right = match Reference::read(text) {
                    Some(Reference::Item { .. }) => has_items,
                    Some(Reference::Step { .. }) => true,
                    None => !text.starts_with("${"),
                };
                if !is_right {
                    broken = Some(text);
                }
            });
            if let Some(text) = broken {
                return Err(self.misread(field, text));
            }
        }
        match &self.when {
            Some(text) if Reference::read(text).and_then(Reference::step).is_none() => {
                Err(self.misread("when", text))
            }
            _ => Ok(()),
        }
    }

    fn misread(&self, field: &str, text: &str) -> Fault {
        let advice = match Reference::read(text) {
            Some(Reference::Item { .. }) => {
                "that is a value of `for_each`, for `with` and `undo` of a step that has one"
            }
            _ => "write \"${step.out}\" or \"${step.out/pointer}\"",
        };
        self.wrong(&format!("has {text:?} in `{field}`; {advice}"))
    }

    fn check_list(&self) -> Result<(), Fault> {
        match &self.for_each {
            Value::Null if self.at_once.is_some() => {
                Err(self.wrong("has `at_once` and no `for_each`, for which it would be"))
            }
            Value::Null | Value::Array(_) => Ok(()),
            Value::String(text) if Reference::read(text).is_some() => Ok(()),
            _ => Err(self.wrong("has a `for_each` that is no list; write one, or \"${step.out}\"")),
        }
    }

    /// What undoes it knows what it has given, and what it has needed.
    fn check_undo(&self) -> Result<(), Fault> {
        let Some(undo) = &self.undo else {
            return Ok(());
        };
        self.check_call(" in `undo`", &undo.call())?;
        let needs = self.needs();
        let mut unknown = None;
        each_text(&undo.with, &mut |text| {
            let step = Reference::read(text).and_then(Reference::step);
            if let Some(step) = step.filter(|step| *step != self.name && !needs.contains(step)) {
                unknown = Some(step);
            }
        });
        match unknown {
            None => Ok(()),
            Some(step) => {
                let reason = format!("has {step:?} in `undo`, and does not need it; use `after`");
                Err(self.wrong(&reason))
            }
        }
    }

    /// The field by which it needs another step.
    fn field_with(&self, need: &str) -> &'static str {
        let is_meant = |text: &str| Reference::read(text).and_then(Reference::step) == Some(need);
        let mut in_list = false;
        each_text(&self.for_each, &mut |text| in_list |= is_meant(text));
        match &self.when {
            _ if self.after.iter().any(|name| name == need) => "`after`",
            Some(when) if is_meant(when) => "`when`",
            _ if in_list => "`for_each`",
            _ => "`with`",
        }
    }

    fn wrong(&self, what: &str) -> Fault {
        wrong(format!("the step {:?} {what}", self.name))
    }
}

impl Undo {
    pub(super) fn call(&self) -> FlowCall<'_> {
        FlowCall {
            call: &self.call,
            timeout_ms: self.timeout_ms,
            retry: &self.retry,
        }
    }
}

impl<'a> FlowCall<'a> {
    /// The path of the service, and the operation.
    pub(super) fn target(&self) -> Option<(&'a str, &'a str)> {
        let target = self.call.rsplit_once(':');
        target.filter(|(path, name)| path.starts_with('/') && !name.is_empty())
    }
}

impl Retry {
    /// Whether a step is tried again that has been tried so often and has got this fault.
    pub(super) fn again(&self, tries: u32, code: FaultCode) -> bool {
        tries <= self.times && (self.on.is_empty() || self.on.contains(&code))
    }
}

fn wrong(reason: String) -> Fault {
    Fault::new(FaultCode::MessageNotSupported, reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> String {
        Flow::read(text).unwrap_err().reason().to_owned()
    }

    fn all_are_refused(cases: &[(&str, &str)]) {
        for (text, part) in cases {
            let reason = refusal(text);
            assert!(reason.contains(part), "{reason:?} lacks {part:?}");
        }
    }

    #[test]
    fn sem_g404_a_flow_that_is_wrong_is_refused_with_what_is_wrong() {
        let cases = [
            ("[[step]]\nname = 3", "line 2"),
            ("[[step]]\nname = \"a\"\ncal = \"/x:y\"", "cal"),
            (
                r#"{"step": [{"name": "a", "call": "x:y"}]}"#,
                "\"/path:operation\"",
            ),
            (r#"{"step": [{"name": "a", "call": "/x:"}]}"#, "\"a\""),
            (
                r#"{"step": [{"name": "a", "call": "/x:y"}, {"name": "a", "call": "/x:y"}]}"#,
                "two steps \"a\"",
            ),
            (
                r#"{"step": [{"name": "a", "call": "/x:y", "with": ["${b.out}"]}]}"#,
                "needs \"b\" by `with`",
            ),
            (
                r#"{"step": [{"name": "a", "call": "/x:y", "with": {"p": "${a.in}"}}]}"#,
                "\"${a.in}\" in `with`",
            ),
            (
                r#"{"step": [{"name": "a", "call": "/x:y", "when": "yes"}]}"#,
                "\"yes\" in `when`",
            ),
            (
                r#"{"step": [{"name": "a", "call": "/x:y", "after": ["b"]},
                    {"name": "b", "call": "/x:y", "with": "${a.out/0}"},
                    {"name": "c", "call": "/x:y"}]}"#,
                "need each other, or ones that do: a, b;",
            ),
        ];
        all_are_refused(&cases);
        assert!(Flow::read("").unwrap().steps.is_empty());
    }

    #[test]
    fn sem_g403_a_flow_that_would_take_too_much_memory_is_told_what_to_do() {
        let values = vec!["{}"; 5_000].join(",");
        let json =
            format!(r#"{{"step": [{{"name": "a", "call": "/x:y", "for_each": [{values}]}}]}}"#);
        let reason = refusal(&json);
        assert!(reason.ends_with("; have a step give the list"), "{reason}");
        let toml = format!("[[step]]\nname = \"a\"\ncall = \"/x:y\"\nfor_each = [{values}]");
        let reason = refusal(&toml);
        assert!(
            reason.contains("as JSON") && reason.ends_with("give the list"),
            "{reason}"
        );
    }

    #[test]
    fn sem_g404_a_wrong_list_and_a_wrong_undo_are_refused() {
        let cases = [
            (
                r#"{"step": [{"name": "a", "call": "/x:y", "for_each": "${b.out}"}]}"#,
                "needs \"b\" by `for_each`",
            ),
            (
                r#"{"step": [{"name": "a", "call": "/x:y", "for_each": "all"}]}"#,
                "`for_each` that is no list",
            ),
            (
                r#"{"step": [{"name": "a", "call": "/x:y", "for_each": [1, "${item}"]}]}"#,
                "\"${item}\" in `for_each`; that is a value",
            ),
            (
                r#"{"step": [{"name": "a", "call": "/x:y", "with": "${item/0}"}]}"#,
                "\"${item/0}\" in `with`; that is a value",
            ),
            (
                r#"{"step": [{"name": "a", "call": "/x:y", "at_once": 2}]}"#,
                "`at_once` and no `for_each`",
            ),
            (
                "[[step]]\nname = \"a\"\ncall = \"/x:y\"\nfor_each = [1]\nat_once = 0",
                "line 5",
            ),
            (
                r#"{"step": [{"name": "a", "call": "/x:y", "undo": {"call": "y"}}]}"#,
                "\"y\" in `undo`; write",
            ),
            (
                r#"{"step": [{"name": "a", "call": "/x:y", "undo": {"call": "/x:y", "with": "${b}"}}]}"#,
                "\"${b}\" in `undo`",
            ),
            (
                r#"{"step": [{"name": "b", "call": "/x:y"},
                    {"name": "a", "call": "/x:y", "undo": {"call": "/x:z", "with": "${b.out}"}}]}"#,
                "has \"b\" in `undo`, and does not need it",
            ),
        ];
        all_are_refused(&cases);
    }
}
