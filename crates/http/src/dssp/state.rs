//! JSON as XML, and back by its schema: a field is an element, an item of a list `item`, null
//! `xsi:nil`. A field whose name is no name of an element is `entry` with the attribute `key`.

use super::xml::{XmlElement, escape};
use motet_service::Value;
use serde_json::Map;

/// Writes a value as the element `name`.
pub(super) fn write(name: &str, value: &Value, to: &mut String) {
    match is_name(name) {
        true => tagged(name, "", value, to),
        false => tagged("entry", &format!(" key=\"{}\"", escape(name)), value, to),
    }
}

fn tagged(name: &str, attributes: &str, value: &Value, to: &mut String) {
    if value.is_null() {
        *to += &format!("<{name}{attributes} xsi:nil=\"true\"/>");
        return;
    }
    *to += &format!("<{name}{attributes}>");
    match value {
        Value::Array(items) => items.iter().for_each(|item| tagged("item", "", item, to)),
        Value::Object(fields) => fields
            .iter()
            .for_each(|(name, field)| write(name, field, to)),
        Value::String(text) => *to += &escape(text),
        other => *to += &other.to_string(),
    }
    *to += &format!("</{name}>");
}

fn is_name(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(is_plain)
        && !["entry", "item"].contains(&name)
}

/// The value of an element, which `schema` describes; `root` has its definitions.
pub(crate) fn value(element: &XmlElement, schema: &Value, root: &Value) -> Value {
    if matches!(element.attribute("nil"), Some("true" | "1")) {
        return Value::Null;
    }
    let schema = resolved(schema, root);
    let kind = kind(schema);
    let text = element.text.trim();
    let own = |inner: &XmlElement| value(inner, &schema["items"], root);
    match kind {
        "null" => Value::Null,
        "array" => element.children.iter().map(own).collect(),
        "object" => Value::Object(fields(element, schema, root)),
        "string" => Value::from(element.text.as_str()),
        // What is none is refused by the operation, which names the place.
        "integer" | "number" | "boolean" => {
            serde_json::from_str(text).unwrap_or_else(|_| Value::from(text))
        }
        _ if element.children.is_empty() => Value::from(element.text.as_str()),
        _ if element.children.iter().all(|child| child.name == "item") => {
            element.children.iter().map(own).collect()
        }
        _ => Value::Object(fields(element, schema, root)),
    }
}

fn fields(element: &XmlElement, schema: &Value, root: &Value) -> Map<String, Value> {
    let field = |child: &XmlElement| {
        let name = child.attribute("key").filter(|_| child.name == "entry");
        let name = name.unwrap_or(&child.name);
        let known = schema["properties"].get(name);
        let schema = known.unwrap_or(&schema["additionalProperties"]);
        (name.to_owned(), value(child, schema, root))
    };
    element.children.iter().map(field).collect()
}

/// The schema behind references, without the alternative null.
fn resolved<'a>(mut schema: &'a Value, root: &'a Value) -> &'a Value {
    // A reference may lead to itself.
    for _ in 0..16 {
        let place = schema["$ref"].as_str().and_then(|to| to.strip_prefix('#'));
        let choices = schema["anyOf"].as_array().or(schema["oneOf"].as_array());
        let mut others = choices.into_iter().flatten();
        let next = match place {
            Some(place) => root.pointer(place),
            None => others.find(|choice| choice["type"] != "null"),
        };
        match next {
            Some(next) => schema = next,
            None => break,
        }
    }
    schema
}

fn kind(schema: &Value) -> &str {
    match &schema["type"] {
        Value::String(kind) => kind,
        Value::Array(kinds) => {
            let mut kinds = kinds.iter().filter_map(Value::as_str);
            kinds.find(|kind| *kind != "null").unwrap_or_default()
        }
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::super::xml::read;
    use super::*;
    use serde_json::json;

    #[test]
    fn a_state_is_written_and_read() {
        let schema = json!({
            "type": "object",
            "properties": {
                "name": {"type": "string"},
                "on": {"type": "boolean"},
                "at": {"anyOf": [{"$ref": "#/$defs/Place"}, {"type": "null"}]},
                "of": {"type": ["integer", "null"]},
                "cents": {"type": "object", "additionalProperties": {"type": "integer"}},
                "rows": {"type": "array", "items": {"type": "array", "items": {"type": "number"}}},
            },
            "$defs": {"Place": {"type": "object", "properties": {"x": {"type": "number"}}}},
        });
        for state in [
            json!({"name": " a<b> ", "on": true, "at": {"x": 1.5}, "of": null, "cents": {"ann": 4, "a b": 5, "item": 6},
                "rows": [[1.5, 2.0], []]}),
            json!({"name": "7", "at": null, "cents": {}, "rows": []}),
        ] {
            let mut text = String::new();
            write("State", &state, &mut text);
            let text = text.replacen("<State>", "<State xmlns:xsi='urn:x'>", 1);
            let element = read(&text, 16, 1 << 20).unwrap();
            assert_eq!(value(&element, &schema, &schema), state, "{text}");
        }
    }
}
