//! How much memory a value takes, and how long its JSON is.

use serde::Serialize;
use serde_json::Value;
use std::io::{self, Write};

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
            let node = if fields.is_empty() { 0 } else { NODE };
            size_of::<Value>() + node + fields.iter().map(field).sum::<usize>()
        }
    }
}

/// The bytes of its JSON, which is not kept; `usize::MAX` for what does not fit.
#[must_use]
pub fn length<T: Serialize + ?Sized>(body: &T) -> usize {
    let mut counted = Counted(0);
    match serde_json::to_writer(&mut counted, body) {
        Ok(()) => counted.0,
        Err(_) => usize::MAX,
    }
}

/// Keeps how much was written, not what.
struct Counted(usize);

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.saturating_add(bytes.len());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn the_length_is_that_of_the_text() {
        let value = serde_json::json!({"a": [1, 2.5, null], "b": "\u{e4}\n"});
        assert_eq!(length(&value), value.to_string().len());
        let no_names = BTreeMap::from([((1, 2), 3)]);
        assert_eq!(length(&no_names), usize::MAX);
    }
}
