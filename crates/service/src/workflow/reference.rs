//! Texts of a flow that stand for values.

use crate::Value;

/// What a text stands for.
#[derive(Clone, Copy)]
pub(super) enum Reference<'a> {
    /// What a step has given, or a part of it: `${fetch.out/points}`.
    Step { step: &'a str, pointer: &'a str },
    /// The value of a list that a call is for, or a part of it: `${item/name}`.
    Item { pointer: &'a str },
}

impl<'a> Reference<'a> {
    /// The reference that the text is, if it is one.
    pub(super) fn read(text: &'a str) -> Option<Self> {
        let inside = text.strip_prefix("${")?.strip_suffix('}')?;
        let is_pointer = |text: &str| text.is_empty() || text.starts_with('/');
        if let Some(pointer) = inside.strip_prefix("item")
            && is_pointer(pointer)
        {
            return Some(Reference::Item { pointer });
        }
        let (step, pointer) = inside.split_once(".out")?;
        let is_one = !step.is_empty() && is_pointer(pointer);
        is_one.then_some(Reference::Step { step, pointer })
    }

    /// The step that it is about.
    pub(super) fn step(self) -> Option<&'a str> {
        match self {
            Reference::Step { step, .. } => Some(step),
            Reference::Item { .. } => None,
        }
    }
}

/// Shows all texts in a value.
pub(super) fn each_text<'a>(value: &'a Value, show: &mut impl FnMut(&'a str)) {
    match value {
        Value::String(text) => show(text),
        Value::Array(values) => values.iter().for_each(|value| each_text(value, show)),
        Value::Object(fields) => fields.values().for_each(|value| each_text(value, show)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
