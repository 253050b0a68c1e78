//! The description of a node's services as OpenAPI 3.1, put together from the schemas of their
//! contracts.

use motet_service::{Node, OperationInfo, ServiceInfo, Value, Verb};
use serde_json::{Map, json};

/// The document of `/openapi.json`: services come and go, so it is made when it is asked for.
pub(crate) fn document(node: &Node) -> Value {
    let mut schemas = Map::new();
    schemas.insert("Problem".to_owned(), problem());
    let mut paths = Map::new();
    for service in node.services() {
        describe(&service, &mut paths, &mut schemas);
    }
    json!({
        "openapi": "3.1.0",
        "info": {"title": node.name(), "version": env!("CARGO_PKG_VERSION")},
        "jsonSchemaDialect": "https://json-schema.org/draft/2020-12/schema",
        "paths": paths,
        "components": {"schemas": schemas},
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

fn describe(service: &ServiceInfo, paths: &mut Map<String, Value>, all: &mut Map<String, Value>) {
    let path = &service.path;
    let state = hoist(service.state.clone(), &service.contract, all);
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
            "responses": known(answers("200", &json!(true))),
        },
        "put": {
            "operationId": id("replace"),
            "summary": "Replace: sets the whole state",
            "parameters": conditions(),
            "requestBody": body("application/json", &state),
            "responses": answers("200", &json!(true)),
        },
        "patch": {
            "operationId": id("patch"),
            "summary": "Update by merge patch (RFC 7396) or JSON Patch (RFC 6902)",
            "parameters": conditions(),
            "requestBody": patches(),
            "responses": answers("200", &json!(true)),
        },
        "description": about,
    });
    let methods = [("put", service.replace), ("patch", service.patch)];
    if let Some(described) = at_state.as_object_mut() {
        for (method, _) in methods.into_iter().filter(|(_, is_taken)| !is_taken) {
            described.remove(method);
        }
    }
    paths.insert(path.clone(), at_state);
    for operation in &service.operations {
        let name = &operation.name;
        let described = call(operation, &id(name), &service.contract, all);
        paths.insert(format!("{path}/-/{name}"), described);
    }
}

fn call(
    operation: &OperationInfo,
    id: &str,
    contract: &str,
    all: &mut Map<String, Value>,
) -> Value {
    let given = hoist(operation.body.clone(), contract, all);
    let answer = hoist(operation.answer.clone(), contract, all);
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
        "parameters": [{
            "name": "body",
            "in": "query",
            "required": !is_nothing(&given),
            "description": "The body, as JSON. Fields of an object may be parameters of their own instead.",
            "content": {"application/json": {"schema": given}},
        }],
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

/// Brings the definitions of a schema to the components of the document, under the name of the
/// contract.
fn hoist(mut schema: Value, contract: &str, all: &mut Map<String, Value>) -> Value {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let front: String = contract.chars().map(plain).collect();
    let title: String = schema["title"].as_str().map_or_else(
        || "Value".to_owned(),
        |title| title.chars().map(plain).collect(),
    );
    let own = format!("{front}.{title}");
    let mut is_recursive = false;
    if let Some(fields) = schema.as_object_mut() {
        fields.remove("$schema");
        if let Some(Value::Object(definitions)) = fields.remove("$defs") {
            for (name, mut definition) in definitions {
                is_recursive |= redirect(&mut definition, &front, &own);
                all.insert(format!("{front}.{name}"), definition);
            }
        }
    }
    is_recursive |= redirect(&mut schema, &front, &own);
    if !is_recursive {
        return schema;
    }
    // What refers to the whole schema would refer to the whole document.
    let place = format!("#/components/schemas/{own}");
    all.insert(own, schema);
    json!({ "$ref": place })
}

/// Has all references point to the components; whether one is to the schema itself, which is `own`
/// there.
fn redirect(schema: &mut Value, front: &str, own: &str) -> bool {
    let mut is_recursive = false;
    match schema {
        Value::Array(items) => {
            for item in items {
                is_recursive |= redirect(item, front, own);
            }
        }
        Value::Object(fields) => {
            for (name, field) in fields {
                match field {
                    Value::String(to) if name == "$ref" => {
                        if to.as_str() == "#" {
                            is_recursive = true;
                            *to = format!("#/components/schemas/{own}");
                        } else if let Some(local) = to.strip_prefix("#/$defs/") {
                            *to = format!("#/components/schemas/{front}.{local}");
                        }
                    }
                    field => is_recursive |= redirect(field, front, own),
                }
            }
        }
        _ => {}
    }
    is_recursive
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
        let mut all = Map::new();
        let place = "#/components/schemas/test_tree_1.Tree";
        let hoisted = hoist(tree, "test:tree/1", &mut all);
        assert_eq!(hoisted, json!({ "$ref": place }));
        let tree = &all["test_tree_1.Tree"]["properties"];
        assert_eq!(tree["inner"]["items"]["$ref"], place);
        let leaf = "#/components/schemas/test_tree_1.Leaf";
        assert_eq!(tree["leaf"]["$ref"], leaf);
        assert_eq!(all["test_tree_1.Leaf"], json!({"type": "integer"}));
    }
}
