//! The description of a node's services as OpenAPI 3.1, put together from the schemas of their
//! contracts.

mod entries;

use motet_service::{Node, OperationInfo, ServiceInfo, Value, Verb};
use serde_json::{Map, json};
use std::collections::{BTreeMap, BTreeSet};

/// The document of `/openapi.json`: services come and go, so it is made when it is asked for.
pub(crate) fn document(node: &Node) -> Value {
    let mut schemas = SchemaComponents::default();
    schemas.written.insert("Problem".to_owned(), problem());
    let (mut paths, mut fronts) = (Map::new(), BTreeMap::new());
    for service in node.services() {
        let front = front(&service.contract, &mut fronts);
        describe(&service, &front, &mut paths, &mut schemas);
    }
    tell_apart(&mut paths);
    json!({
        "openapi": "3.1.0",
        "info": {"title": node.name(), "version": env!("CARGO_PKG_VERSION")},
        "jsonSchemaDialect": "https://json-schema.org/draft/2020-12/schema",
        "paths": paths,
        "components": {"schemas": schemas.written},
    })
}

fn problem() -> Value {
    json!({
        "type": "object",
        "description": "Why the request was not carried out (RFC 9457).",
        "required": ["type", "title", "status", "detail"],
        "properties": {
            "type": {"type": "string"},
            "title": {"type": "string"},
            "status": {"type": "integer"},
            "detail": {"type": "string"},
            "instance": {"type": ["string", "null"]},
        },
    })
}

/// The text with `_` for each sign.
fn plain(text: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    text.chars().map(plain).collect()
}

/// What the names of a contract's components begin with, and those of no other. `fronts` has the
/// contract of each.
fn front(contract: &str, fronts: &mut BTreeMap<String, String>) -> String {
    let plain = plain(contract);
    let (mut front, mut number) = (plain.clone(), 1);
    while fronts.get(&front).is_some_and(|other| other != contract) {
        number += 1;
        front = format!("{plain}_{number}");
    }
    fronts.insert(front.clone(), contract.to_owned());
    front
}

/// Gives each operation a name of its own: those of `/a/b` and of `/a-b` would be the same.
fn tell_apart(paths: &mut Map<String, Value>) {
    let mut taken = BTreeSet::new();
    for place in paths.values_mut().filter_map(Value::as_object_mut) {
        for operation in place.values_mut().filter_map(Value::as_object_mut) {
            if let Some(Value::String(id)) = operation.get_mut("operationId") {
                let (plain, mut number) = (id.clone(), 1);
                while !taken.insert(id.clone()) {
                    number += 1;
                    *id = format!("{plain}-{number}");
                }
            }
        }
    }
}

fn describe(
    service: &ServiceInfo,
    front: &str,
    paths: &mut Map<String, Value>,
    all: &mut SchemaComponents,
) {
    let path = &service.path;
    let state = hoist(service.state.clone(), front, all);
    let id = |name: &str| format!("{}-{name}", path.trim_start_matches('/').replace('/', "-"));
    let about = format!("{} {}", service.kind, service.contract);
    let mut at_state = json!({
        "get": {
            "operationId": id("get"),
            "summary": "Get: the whole state, or what is at a pointer in it",
            "parameters": [
                {"name": "at", "in": "query", "description": "A JSON Pointer.", "schema": {"type": "string"}},
                {"name": "If-None-Match", "in": "header", "schema": {"type": "string"}},
            ],
            "responses": known(tagged()),
        },
        "put": {
            "operationId": id("replace"),
            "summary": "Replace: sets the whole state",
            "parameters": conditions(),
            "requestBody": body("application/json", &state),
            "responses": tagged(),
        },
        "patch": {
            "operationId": id("patch"),
            "summary": "Update by merge patch (RFC 7396) or JSON Patch (RFC 6902)",
            "parameters": conditions(),
            "requestBody": patches(),
            "responses": tagged(),
        },
        "description": about,
    });
    let methods = [("put", service.replace), ("patch", service.patch)];
    if let Some(described) = at_state.as_object_mut() {
        for (method, _) in methods.into_iter().filter(|(_, is_taken)| !is_taken) {
            described.remove(method);
        }
    }
    let deletes = |own: &&OperationInfo| own.verb == Verb::Delete;
    let is_deleted = service.operations.iter().filter(deletes).count() == 1;
    for operation in &service.operations {
        let name = &operation.name;
        let described = call(operation, &id(name), front, all);
        if is_deleted && operation.verb == Verb::Delete {
            at_state["delete"] = deletion(&described["post"], &id(name));
        }
        paths.insert(format!("{path}/-/{name}"), described);
    }
    paths.insert(path.clone(), at_state);
    entries::describe(service, &state, &all.written, paths);
}

/// The operation that is called by `POST`, called by `DELETE` of the service.
fn deletion(post: &Value, id: &str) -> Value {
    let given = &post["requestBody"];
    let mut parameters = conditions();
    if let Some(parameters) = parameters.as_array_mut() {
        parameters.push(in_query(&given["content"]["application/json"]["schema"]));
    }
    json!({
        "operationId": format!("{id}-by-delete"),
        "summary": post["summary"],
        "parameters": parameters,
        "responses": post["responses"],
    })
}

/// A body that stands in the query.
fn in_query(given: &Value) -> Value {
    json!({
        "name": "body",
        "in": "query",
        "required": !is_nothing(given),
        "description": "The body, as JSON. Fields of an object may be parameters of their own instead.",
        "content": {"application/json": {"schema": given}},
    })
}

fn call(operation: &OperationInfo, id: &str, front: &str, all: &mut SchemaComponents) -> Value {
    let given = hoist(operation.body.clone(), front, all);
    let answer = hoist(operation.answer.clone(), front, all);
    let status = if operation.job { "202" } else { "200" };
    let mut post = json!({
        "operationId": id,
        "summary": operation.about,
        "requestBody": body("application/json", &given),
        "responses": answers(status, &answer),
    });
    if operation.verb != Verb::Query {
        post["parameters"] = conditions();
        return json!({"post": post});
    }
    let get = json!({
        "operationId": format!("{id}-by-get"),
        "summary": operation.about,
        "parameters": [in_query(&given)],
        "responses": answers(status, &answer),
    });
    json!({"get": get, "post": post})
}

/// What a change may be made to depend on.
fn conditions() -> Value {
    json!([
        {"name": "Idempotency-Key", "in": "header", "schema": {"type": "string", "minLength": 1, "maxLength": 256}},
        {"name": "If-Match", "in": "header", "schema": {"type": "string", "pattern": "^(\"v[0-9]{1,19}\"|[*])$"}},
    ])
}

/// Answers that tell the version of the state.
fn tagged() -> Value {
    tagged_as("200")
}

/// As [`tagged`], with this status.
fn tagged_as(status: &str) -> Value {
    let mut answers = answers(status, &json!(true));
    let tag = json!({"type": "string", "pattern": "^\"v[0-9]{1,20}\"$"});
    answers[status]["headers"] = json!({"ETag": {"schema": tag}});
    answers
}

/// Answers to a read that may know the state already.
fn known(mut answers: Value) -> Value {
    answers["304"] = json!({"description": "the state is the one that If-None-Match names"});
    answers
}

/// Whether a schema is that of no body.
fn is_nothing(schema: &Value) -> bool {
    schema["type"] == "null"
}

fn patches() -> Value {
    json!({"required": true, "content": {
        "application/merge-patch+json": {"schema": true},
        "application/json-patch+json": {"schema": {"type": "array", "items": {
            "type": "object",
            "required": ["op", "path"],
            "properties": {
                "op": {"enum": ["add", "remove", "replace", "move", "copy", "test"]},
                "path": {"type": "string", "format": "json-pointer"},
                "from": {"type": "string", "format": "json-pointer"},
            },
        }}},
    }})
}

fn body(kind: &str, schema: &Value) -> Value {
    json!({"required": !is_nothing(schema), "content": {kind: {"schema": schema}}})
}

fn answers(status: &str, schema: &Value) -> Value {
    let refused = json!({"$ref": "#/components/schemas/Problem"});
    json!({
        status: {
            "description": "done",
            "content": {"application/json": {"schema": schema}},
        },
        "default": {
            "description": "refused",
            "content": {"application/problem+json": {"schema": refused}},
        },
    })
}

/// The schemas that are components of the document.
#[derive(Default)]
struct SchemaComponents {
    written: Map<String, Value>,
    /// What each was made of: two types of one name are two components.
    made_of: BTreeMap<String, Value>,
}

impl SchemaComponents {
    /// The component of what is made of this: `wanted`, or that with a number if another has the
    /// name.
    fn name(&mut self, wanted: &str, made_of: Value) -> String {
        let (mut name, mut number) = (wanted.to_owned(), 1);
        while self
            .made_of
            .get(&name)
            .is_some_and(|other| *other != made_of)
        {
            number += 1;
            name = format!("{wanted}{number}");
        }
        self.made_of.insert(name.clone(), made_of);
        name
    }
}

/// The name of a whole schema among its definitions.
const WHOLE: &str = "";

/// Brings the definitions of a schema to the components of the document, under the front of their
/// contract.
fn hoist(mut schema: Value, front: &str, all: &mut SchemaComponents) -> Value {
    let title = schema["title"].as_str();
    let title = title.map_or_else(|| "Value".to_owned(), plain);
    let mut parts = Map::new();
    if let Some(fields) = schema.as_object_mut() {
        fields.remove("$schema");
        if let Some(Value::Object(definitions)) = fields.remove("$defs") {
            parts = definitions;
        }
    }
    parts.insert(WHOLE.to_owned(), schema);
    let mut referred = Vec::new();
    parts
        .values()
        .for_each(|part| references(part, &mut referred));
    let is_recursive = referred.iter().any(|name| name == WHOLE);
    let components: BTreeMap<String, String> = parts
        .keys()
        .filter(|name| is_recursive || *name != WHOLE)
        .map(|name| {
            let last = if name == WHOLE { &title } else { name };
            let component = all.name(&format!("{front}.{last}"), made_of(name, &parts));
            (name.clone(), component)
        })
        .collect();
    let mut whole = Value::Bool(true);
    for (name, mut part) in parts {
        redirect(&mut part, front, &components);
        match components.get(&name) {
            Some(component) => drop(all.written.insert(component.clone(), part)),
            None => whole = part,
        }
    }
    // What refers to the whole schema would refer to the whole document.
    match components.get(WHOLE) {
        Some(component) => json!({"$ref": format!("#/components/schemas/{component}")}),
        None => whole,
    }
}

/// What tells a part of a schema from others of its name: it, and all that it refers to.
fn made_of(name: &str, parts: &Map<String, Value>) -> Value {
    let (mut found, mut open) = (Map::new(), vec![name.to_owned()]);
    while let Some(next) = open.pop() {
        if let (false, Some(part)) = (found.contains_key(&next), parts.get(&next)) {
            references(part, &mut open);
            found.insert(next, part.clone());
        }
    }
    json!([name, found])
}

/// The part that a reference is to, by its name.
fn local(reference: &str) -> Option<&str> {
    match reference {
        "#" => Some(WHOLE),
        _ => reference.strip_prefix("#/$defs/"),
    }
}

/// Adds the names of the parts that a schema refers to.
fn references(schema: &Value, names: &mut Vec<String>) {
    match schema {
        Value::Array(items) => items.iter().for_each(|item| references(item, names)),
        Value::Object(fields) => {
            for (name, field) in fields {
                match field {
                    Value::String(to) if name == "$ref" => {
                        names.extend(local(to).map(str::to_owned));
                    }
                    field => references(field, names),
                }
            }
        }
        _ => {}
    }
}

/// Has all references point to the components.
fn redirect(schema: &mut Value, front: &str, components: &BTreeMap<String, String>) {
    match schema {
        Value::Array(items) => {
            for item in items {
                redirect(item, front, components);
            }
        }
        Value::Object(fields) => {
            for (name, field) in fields {
                match field {
                    Value::String(to) if name == "$ref" => {
                        if let Some(local) = local(to) {
                            let own = || format!("{front}.{local}");
                            let component = components.get(local).cloned().unwrap_or_else(own);
                            *to = format!("#/components/schemas/{component}");
                        }
                    }
                    field => redirect(field, front, components),
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_that_holds_itself_is_a_component() {
        let tree = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": "Tree",
            "properties": {"inner": {"items": {"$ref": "#"}}, "leaf": {"$ref": "#/$defs/Leaf"}},
            "$defs": {"Leaf": {"type": "integer"}},
        });
        let mut all = SchemaComponents::default();
        let place = "#/components/schemas/test_tree_1.Tree";
        let hoisted = hoist(tree, "test_tree_1", &mut all);
        assert_eq!(hoisted, json!({ "$ref": place }));
        let all = all.written;
        let tree = &all["test_tree_1.Tree"]["properties"];
        assert_eq!(tree["inner"]["items"]["$ref"], place);
        let leaf = "#/components/schemas/test_tree_1.Leaf";
        assert_eq!(tree["leaf"]["$ref"], leaf);
        assert_eq!(all["test_tree_1.Leaf"], json!({"type": "integer"}));
    }

    #[test]
    fn sem_g441_two_types_of_one_name_are_two_components() {
        // As schemars writes a type whose field is of another type, which another crate has, too.
        let cart = |item: &str| {
            json!({
                "title": "Cart",
                "properties": {"first": {"$ref": "#/$defs/Shelf"}},
                "$defs": {
                    "Shelf": {"items": {"$ref": "#/$defs/Item"}},
                    "Item": {"type": item},
                },
            })
        };
        let mut all = SchemaComponents::default();
        let mut first = |item| {
            let hoisted = hoist(cart(item), "shop", &mut all);
            hoisted["properties"]["first"]["$ref"].clone()
        };
        let place = |name: &str| json!(format!("#/components/schemas/shop.{name}"));
        for _ in 0..2 {
            assert_eq!(first("string"), place("Shelf"));
            assert_eq!(first("integer"), place("Shelf2"));
        }
        assert_eq!(all.written.len(), 4);
        for (number, kind) in [("", "string"), ("2", "integer")] {
            let shelf = &all.written[&format!("shop.Shelf{number}")];
            assert_eq!(shelf["items"]["$ref"], place(&format!("Item{number}")));
            assert_eq!(all.written[&format!("shop.Item{number}")]["type"], kind);
        }
        // A type that is named so itself is a third one.
        let other = json!({"$ref": "#/$defs/Item2", "$defs": {"Item2": {"type": "null"}}});
        assert_eq!(hoist(other, "shop", &mut all)["$ref"], place("Item22"));
    }

    #[test]
    fn names_of_operations_that_differ_in_signs_are_told_apart() {
        let described = |id: &str| json!({"get": {"operationId": id}, "description": "one"});
        let Value::Object(mut paths) = json!({
            "/a-b": described("a-b-get"),
            "/a/b": described("a-b-get"),
            "/c": described("c-get"),
        }) else {
            unreachable!("it is an object");
        };
        tell_apart(&mut paths);
        let id = |path: &str| paths[path]["get"]["operationId"].clone();
        assert_eq!([id("/a-b"), id("/a/b")], ["a-b-get", "a-b-get-2"]);
        assert_eq!(id("/c"), "c-get");
    }

    #[test]
    fn components_of_contracts_that_differ_in_signs_are_told_apart() {
        let mut fronts = BTreeMap::new();
        let mut of = |contract| front(contract, &mut fronts);
        assert_eq!(of("test:tree/1"), "test_tree_1");
        assert_eq!(of("test.tree/1"), "test_tree_1_2");
        assert_eq!(of("test:tree/1"), "test_tree_1");
        assert_eq!(of("test.tree/1"), "test_tree_1_2");
    }
}
