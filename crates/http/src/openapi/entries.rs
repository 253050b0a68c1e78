//! Entries of the maps and lists of a state: each has a path of its own.

use super::{body, conditions, known, tagged, tagged_as};
use motet_service::{ServiceInfo, Value};
use serde_json::{Map, json};

/// Describes the entries of all fields of `state` that are maps or lists, if the contract allows
/// patches. `written` has the components of the document.
pub(super) fn describe(
    service: &ServiceInfo,
    state: &Value,
    written: &Map<String, Value>,
    paths: &mut Map<String, Value>,
) {
    if !service.patch {
        return;
    }
    let fields = &resolved(state, written)["properties"];
    let fields = fields.as_object().into_iter().flatten();
    for (name, field) in fields.filter(|(name, _)| is_plain(name)) {
        if let Some((key, entry)) = entries(resolved(field, written)) {
            let place = format!("{}/{name}/{{key}}", service.path);
            let front = service.path.trim_start_matches('/').replace('/', "-");
            paths.insert(place, entry_place(&format!("{front}-{name}"), &key, entry));
        }
    }
}

/// Whether a name stands in a path as it is, and is not what operations are behind.
fn is_plain(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    !name.is_empty() && name != "-" && name.bytes().all(is_plain)
}

/// The schema to which a reference leads.
fn resolved<'a>(schema: &'a Value, written: &'a Map<String, Value>) -> &'a Value {
    let place = schema["$ref"].as_str();
    let name = place.and_then(|place| place.strip_prefix("#/components/schemas/"));
    name.and_then(|name| written.get(name)).unwrap_or(schema)
}

/// The schemas of the names and of the entries of a map, or of the places and items of a list.
fn entries(field: &Value) -> Option<(Value, &Value)> {
    let (map, list) = (&field["additionalProperties"], &field["items"]);
    if field["type"] == "object" && field["properties"].is_null() {
        let is_map = map.is_object() || *map == true;
        return is_map.then(|| (json!({"type": "string", "minLength": 1}), map));
    }
    let is_list = field["type"] == "array" && list.is_object() && field["uniqueItems"] != true;
    is_list.then(|| (json!({"type": "integer", "minimum": 0}), list))
}

/// What may be done with an entry.
fn entry_place(front: &str, key: &Value, entry: &Value) -> Value {
    let if_none =
        |schema: Value| json!({"name": "If-None-Match", "in": "header", "schema": schema});
    let mut got = known(tagged());
    got["200"]["content"]["application/json"]["schema"] = entry.clone();
    let mut set = tagged();
    set["201"] = tagged_as("201")["201"].take();
    let mut for_set = conditions();
    if let Some(parameters) = for_set.as_array_mut() {
        parameters.push(if_none(json!({"enum": ["*"]})));
    }
    let whole = body("application/json", entry);
    json!({
        "parameters": [{"name": "key", "in": "path", "required": true, "schema": key}],
        "get": {
            "operationId": format!("{front}-get-entry"),
            "summary": "Query: one entry",
            "parameters": [if_none(json!({"type": "string"}))],
            "responses": got,
        },
        "post": {
            "operationId": format!("{front}-insert-entry"),
            "summary": "Insert: adds an entry that is not there",
            "parameters": conditions(),
            "requestBody": whole,
            "responses": tagged_as("201"),
        },
        "put": {
            "operationId": format!("{front}-upsert-entry"),
            "summary": "Upsert: sets an entry, or adds it",
            "parameters": for_set,
            "requestBody": whole,
            "responses": set,
        },
        "patch": {
            "operationId": format!("{front}-update-entry"),
            "summary": "Update: changes an entry by merge patch (RFC 7396)",
            "parameters": conditions(),
            "requestBody": body("application/merge-patch+json", &json!(true)),
            "responses": tagged(),
        },
        "delete": {
            "operationId": format!("{front}-delete-entry"),
            "summary": "Delete: removes an entry",
            "parameters": conditions(),
            "responses": tagged(),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_and_lists_have_entries() {
        let map = json!({"type": "object", "additionalProperties": {"type": "integer"}});
        let list = json!({"type": "array", "items": {"type": "string"}});
        assert_eq!(entries(&map).unwrap().1["type"], "integer");
        assert_eq!(entries(&list).unwrap().0["type"], "integer");
        let fields = json!({"type": "object", "properties": {}, "additionalProperties": true});
        let set = json!({"type": "array", "items": {"type": "string"}, "uniqueItems": true});
        let closed = json!({"type": "object", "additionalProperties": false});
        for other in [fields, set, closed, json!({"type": "integer"}), json!(true)] {
            assert_eq!(entries(&other), None, "{other}");
        }
        let Value::Object(written) = json!({ "Map": map }) else {
            unreachable!("it is an object");
        };
        let found = resolved(&json!({"$ref": "#/components/schemas/Map"}), &written).clone();
        assert_eq!(found, written["Map"]);
    }
}
