//! How much memory a value takes.

use serde_json::Value;

/// The first node of an object has room for eleven fields; a field of others, which are half full.
const NODE: usize = 640;
const FIELD: usize = 160;

/// The bytes of memory that a value takes, told from above.
pub(crate) fn weight(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => size_of::<Value>(),
        Value::String(text) => size_of::<Value>() + text.len(),
        Value::Array(items) => {
            // A list that grows doubles.
            let room = 2 * items.len() * size_of::<Value>();
            room + items.iter().map(weight).sum::<usize>()
        }
        Value::Object(fields) => {
            let field = |(name, value): (&String, &Value)| FIELD + name.len() + weight(value);
            size_of::<Value>() + NODE + fields.iter().map(field).sum::<usize>()
        }
    }
}
