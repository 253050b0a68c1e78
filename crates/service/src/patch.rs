//! Patches of a state: merge patches (RFC 7396) and JSON Patch (RFC 6902).

use crate::{Fault, FaultCode};
use json_patch::PatchErrorKind;
use serde_json::Value;

/// What changes a state in parts.
#[derive(Clone)]
pub(crate) enum Patch {
    Merge(Value),
    Json(Value),
}

impl Patch {
    /// Changes `target` as it says; when it cannot, `target` is of no use any more.
    pub(crate) fn apply(self, target: &mut Value) -> Result<(), Fault> {
        let operations = match self {
            Patch::Merge(patch) => {
                merge(target, patch);
                return Ok(());
            }
            Patch::Json(operations) => operations,
        };
        let operations: json_patch::Patch = serde_json::from_value(operations).map_err(|why| {
            let reason = format!("this is no JSON Patch: {why}; write a list of operations");
            Fault::new(FaultCode::MessageNotSupported, reason)
        })?;
        json_patch::patch(target, &operations).map_err(|why| {
            let code = match why.kind {
                PatchErrorKind::TestFailed => FaultCode::PreconditionFailed,
                _ => FaultCode::MessageNotSupported,
            };
            Fault::new(code, format!("the patch does not fit the state: {why}"))
        })
    }
}

/// Changes `target` as the merge patch says.
fn merge(target: &mut Value, patch: Value) {
    let Value::Object(patch) = patch else {
        *target = patch;
        return;
    };
    if !target.is_object() {
        *target = Value::Object(serde_json::Map::new());
    }
    let Value::Object(target) = target else {
        return;
    };
    for (name, value) in patch {
        match value {
            Value::Null => {
                target.remove(&name);
            }
            value => merge(target.entry(name).or_insert(Value::Null), value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn json_patches_fit_or_say_which_operation_does_not() {
        let apply = |patch: Value| {
            let mut state = json!({"a": [1, 2], "b": {"c/d": 3}});
            let done = Patch::Json(patch).apply(&mut state);
            done.map(|()| state)
        };
        let whole = json!([
            {"op": "test", "path": "/a/0", "value": 1},
            {"op": "replace", "path": "/a/0", "value": 7},
            {"op": "add", "path": "/a/-", "value": 8},
            {"op": "move", "from": "/b/c~1d", "path": "/e"},
            {"op": "remove", "path": "/b"},
        ]);
        assert_eq!(apply(whole).unwrap(), json!({"a": [7, 2, 8], "e": 3}));
        let untrue = json!([{"op": "test", "path": "/a/0", "value": 2}]);
        assert_eq!(
            apply(untrue).unwrap_err().code(),
            FaultCode::PreconditionFailed
        );
        for wrong in [
            json!([{"op": "remove", "path": "/a/0"}, {"op": "remove", "path": "/x"}]),
            json!([{"op": "fly", "path": "/a"}]),
            json!({"a": 1}),
        ] {
            let fault = apply(wrong).unwrap_err();
            assert_eq!(fault.code(), FaultCode::MessageNotSupported, "{fault}");
        }
    }

    #[test]
    fn the_examples_of_rfc_7396() {
        let cases = [
            (json!({"a": "b"}), json!({"a": "c"}), json!({"a": "c"})),
            (
                json!({"a": "b"}),
                json!({"b": "c"}),
                json!({"a": "b", "b": "c"}),
            ),
            (
                json!({"a": "b", "b": "c"}),
                json!({"a": null}),
                json!({"b": "c"}),
            ),
            (json!({"a": ["b"]}), json!({"a": "c"}), json!({"a": "c"})),
            (
                json!({"a": {"b": "c"}}),
                json!({"a": {"b": "d", "c": null}}),
                json!({"a": {"b": "d"}}),
            ),
            (json!(["a", "b"]), json!(["c", "d"]), json!(["c", "d"])),
            (
                json!({"e": null}),
                json!({"a": 1}),
                json!({"e": null, "a": 1}),
            ),
            (
                json!([1, 2]),
                json!({"a": "b", "c": null}),
                json!({"a": "b"}),
            ),
            (
                json!({}),
                json!({"a": {"bb": {"ccc": null}}}),
                json!({"a": {"bb": {}}}),
            ),
        ];
        for (mut target, patch, wanted) in cases {
            merge(&mut target, patch);
            assert_eq!(target, wanted);
        }
    }
}
