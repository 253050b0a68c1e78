//! What the references of a flow stand for in a run.

use super::Run;
use super::flow::Step;
use super::reference::Reference;
use crate::{Fault, FaultCode, Value};

/// What references stand for.
#[derive(Clone, Copy)]
pub(super) struct Scope<'a> {
    run: &'a Run,
    /// The value of a list that a call is for.
    item: Option<&'a Value>,
    /// In an undo: the step itself, and what the call has given that is undone.
    own: Option<(&'a str, &'a Value)>,
}

impl<'a> Scope<'a> {
    pub(super) fn of(run: &'a Run) -> Self {
        Scope {
            run,
            item: None,
            own: None,
        }
    }

    pub(super) fn with_item(self, item: Option<&'a Value>) -> Self {
        Scope { item, ..self }
    }

    pub(super) fn with_own(self, step: &'a str, out: &'a Value) -> Self {
        let own = Some((step, out));
        Scope { own, ..self }
    }

    /// A body with what its references stand for.
    pub(super) fn filled(&self, with: &Value) -> Result<Value, Fault> {
        Ok(match with {
            Value::String(text) => self.resolve(text)?.unwrap_or_else(|| with.clone()),
            Value::Array(values) => {
                let values = values.iter().map(|value| self.filled(value));
                Value::Array(values.collect::<Result<_, _>>()?)
            }
            Value::Object(fields) => {
                let fields = fields
                    .iter()
                    .map(|(name, value)| Ok((name.clone(), self.filled(value)?)));
                Value::Object(fields.collect::<Result<_, Fault>>()?)
            }
            other => other.clone(),
        })
    }

    /// The values that a step is called for.
    pub(super) fn list(&self, step: &Step) -> Result<Vec<Value>, Fault> {
        match self.filled(&step.for_each)? {
            Value::Array(values) => Ok(values),
            _ => {
                let reason = "what `for_each` stands for is no list";
                Err(Fault::new(FaultCode::MessageNotSupported, reason))
            }
        }
    }

    /// Whether a step is carried out: its condition holds, and nothing was left out that it needs.
    pub(super) fn wants(&self, step: &Step) -> bool {
        let left_out = |need: &str| self.run.steps.get(need).is_some_and(|done| done.left_out);
        let holds = step.when.as_deref().is_none_or(|when| {
            let value = self.resolve(when).ok().flatten();
            !matches!(value, None | Some(Value::Null | Value::Bool(false)))
        });
        holds && !step.needs().into_iter().any(left_out)
    }

    /// What a reference stands for; `None` when the text is none.
    fn resolve(&self, text: &str) -> Result<Option<Value>, Fault> {
        let (whose, given, pointer) = match Reference::read(text) {
            None => return Ok(None),
            Some(Reference::Item { pointer }) => ("the item".to_owned(), self.item, pointer),
            Some(Reference::Step { step, pointer }) => {
                let own = self.own.filter(|(name, _)| *name == step);
                let recorded = || self.run.steps.get(step)?.out.as_ref();
                let given = own.map(|(_, out)| out).or_else(recorded);
                (format!("what the step {step:?} has given"), given, pointer)
            }
        };
        let found = given.and_then(|given| given.pointer(pointer)).cloned();
        found.map(Some).ok_or_else(|| {
            let reason = format!("{whose} has nothing at {pointer:?}");
            Fault::unknown_entry(reason)
        })
    }
}
