//! What a workflow is to do.

use crate::{Fault, FaultCode, Value, texts};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

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
    /// Steps that must have ended before.
    pub after: Vec<String>,
    /// Such a text: the step is left out when it stands for `false`, null or nothing.
    pub when: Option<String>,
    /// How long each try may take, with the job that it begins: that is cancelled then. Else a call
    /// has the node's limit, and a job has none.
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

/// A text that stands for what a step has given, or a part of it.
pub(super) struct Reference<'a> {
    pub(super) step: &'a str,
    pub(super) pointer: &'a str,
}

impl Flow {
    /// Reads a flow of TOML, or of JSON, and checks it.
    ///
    /// # Errors
    /// A fault that says where the text is wrong, or which step names what is not there, or which
    /// steps need each other.
    pub fn read(text: &str) -> Result<Self, Fault> {
        let flow: Flow =
            texts::read(text).map_err(|why| wrong(format!("the text is no flow: {why}")))?;
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
        let mut of_text = |text| needs.extend(Reference::read(text).map(|found| found.step));
        texts(&self.with, &mut of_text);
        self.when.as_deref().map(of_text);
        needs.into_iter().collect()
    }

    /// The path of the service, and the operation.
    pub(super) fn target(&self) -> Result<(&str, &str), Fault> {
        let target = self.call.rsplit_once(':');
        let target = target.filter(|(path, name)| path.starts_with('/') && !name.is_empty());
        target.ok_or_else(|| {
            let reason = format!(
                "has the call {:?}; write call = \"/path:operation\"",
                self.call
            );
            self.wrong(&reason)
        })
    }

    fn check(&self, names: &BTreeSet<&str>) -> Result<(), Fault> {
        self.target()?;
        if let Some(missing) = self.needs().into_iter().find(|need| !names.contains(need)) {
            let reason = format!(
                "needs {missing:?} by {}, and there is no such step",
                self.field_with(missing)
            );
            return Err(self.wrong(&reason));
        }
        let mut broken = None;
        texts(&self.with, &mut |text| {
            if text.starts_with("${") && Reference::read(text).is_none() {
                broken = Some(("with", text.to_owned()));
            }
        });
        let when = self.when.clone();
        let when = when.filter(|text| Reference::read(text).is_none());
        match broken.or(when.map(|text| ("when", text))) {
            None => Ok(()),
            Some((field, text)) => {
                let reason = format!(
                    "has {text:?} in `{field}`; write \"${{step.out}}\" or \"${{step.out/pointer}}\""
                );
                Err(self.wrong(&reason))
            }
        }
    }

    /// The field by which it needs another step.
    fn field_with(&self, need: &str) -> &'static str {
        let is_meant = |text: &str| Reference::read(text).is_some_and(|found| found.step == need);
        match &self.when {
            _ if self.after.iter().any(|name| name == need) => "`after`",
            Some(when) if is_meant(when) => "`when`",
            _ => "`with`",
        }
    }

    fn wrong(&self, what: &str) -> Fault {
        wrong(format!("the step {:?} {what}", self.name))
    }
}

impl Retry {
    /// Whether a step is tried again that has been tried so often and has got this fault.
    pub(super) fn again(&self, tries: u32, code: FaultCode) -> bool {
        tries <= self.times && (self.on.is_empty() || self.on.contains(&code))
    }
}

impl<'a> Reference<'a> {
    /// The reference that the text is, if it is one.
    pub(super) fn read(text: &'a str) -> Option<Self> {
        let inside = text.strip_prefix("${")?.strip_suffix('}')?;
        let (step, pointer) = inside.split_once(".out")?;
        let is_one = !step.is_empty() && (pointer.is_empty() || pointer.starts_with('/'));
        is_one.then_some(Reference { step, pointer })
    }
}

/// Shows all texts in a value.
fn texts<'a>(value: &'a Value, show: &mut impl FnMut(&'a str)) {
    match value {
        Value::String(text) => show(text),
        Value::Array(values) => values.iter().for_each(|value| texts(value, show)),
        Value::Object(fields) => fields.values().for_each(|value| texts(value, show)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
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
        for (text, part) in cases {
            let reason = refusal(text);
            assert!(reason.contains(part), "{reason:?} lacks {part:?}");
        }
        assert!(Flow::read("").unwrap().steps.is_empty());
    }
}
