//! Patches of a state: merge patches (RFC 7396) and JSON Patch (RFC 6902); and changes of one entry
//! of it, in `patch/entry.rs`.

mod entry;

pub(crate) use entry::EntryPatch;
pub use entry::{ChangedEntry, EntryChange};

use crate::weight::weight;
use crate::{Fault, FaultCode, Verb};
use json_patch::{PatchErrorKind, PatchOperation};
use serde_json::Value;
use std::sync::Arc;

/// What changes a state in parts.
#[derive(Clone)]
pub(crate) enum Patch {
    Merge(Value),
    Json(Value),
    Entry(Arc<EntryPatch>),
}

impl Patch {
    /// The name of the operation.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Patch::Merge(_) => "patch",
            Patch::Json(_) => "patch_json",
            Patch::Entry(entry) => entry.name(),
        }
    }

    /// What it means.
    pub(crate) fn verb(&self) -> Verb {
        match self {
            Patch::Merge(_) | Patch::Json(_) => Verb::Update,
            Patch::Entry(entry) => entry.verb(),
        }
    }

    /// Its body.
    pub(crate) fn body(&self) -> Value {
        match self {
            Patch::Merge(body) | Patch::Json(body) => body.clone(),
            Patch::Entry(entry) => entry.body(),
        }
    }

    /// The change of an entry, if it is one.
    pub(crate) fn entry(&self) -> Option<Arc<EntryPatch>> {
        match self {
            Patch::Merge(_) | Patch::Json(_) => None,
            Patch::Entry(entry) => Some(Arc::clone(entry)),
        }
    }

    /// Changes `target` as it says; when it cannot, `target` is of no use any more.
    pub(crate) fn apply(self, target: &mut Value) -> Result<(), Fault> {
        let operations = match self {
            Patch::Merge(patch) => {
                merge(target, patch);
                return Ok(());
            }
            Patch::Json(operations) => operations,
            Patch::Entry(entry) => return entry.apply(target),
        };
        let operations: json_patch::Patch = serde_json::from_value(operations).map_err(|why| {
            let reason = format!("this is no JSON Patch: {why}; write a list of operations");
            Fault::new(FaultCode::MessageNotSupported, reason)
        })?;
        let mut room = Room {
            values: ROOM,
            bytes: BYTES,
        };
        for (at, operation) in operations.iter().enumerate() {
            let fits = fits(target, operation, &mut room);
            fits.map_err(|why| unfit(FaultCode::MessageNotSupported, at, &why))?;
            if is_true(target, operation) {
                continue;
            }
            json_patch::patch_unsafe(target, std::slice::from_ref(operation)).map_err(|why| {
                let code = match why.kind {
                    PatchErrorKind::TestFailed => FaultCode::PreconditionFailed,
                    _ => FaultCode::MessageNotSupported,
                };
                unfit(
                    code,
                    at,
                    &format!("{} at {:?}", why.kind, why.path.as_str()),
                )
            })?;
        }
        Ok(())
    }
}

/// So many values, and bytes of texts, one patch adds, copies and moves. Else a list that is copied
/// into itself a few times takes all memory.
const ROOM: usize = 1 << 20;

/// So many bytes of memory are what one patch copies: small objects take more than their values.
const BYTES: usize = 128 * ROOM;

/// What is left of them.
struct Room {
    values: usize,
    bytes: usize,
}

/// So many values lie in each other after a patch: a deeper state cannot be written.
const DEPTH: usize = 128;

fn unfit(code: FaultCode, at: usize, why: &str) -> Fault {
    let reason = format!("the patch does not fit the state: its operation {at}: {why}");
    Fault::new(code, reason)
}

/// Whether what an operation puts somewhere leaves the state as small and flat as it may be.
fn fits(target: &Value, operation: &PatchOperation, room: &mut Room) -> Result<(), String> {
    let (path, value) = match operation {
        PatchOperation::Add(add) => (&add.path, Some(&add.value)),
        PatchOperation::Replace(replace) => (&replace.path, Some(&replace.value)),
        PatchOperation::Copy(copy) => (&copy.path, target.pointer(copy.from.as_str())),
        PatchOperation::Move(moved) => (&moved.path, target.pointer(moved.from.as_str())),
        PatchOperation::Remove(_) | PatchOperation::Test(_) => return Ok(()),
    };
    let above = path.as_str().bytes().filter(|byte| *byte == b'/').count();
    // What is not there is told by the operation itself.
    let Some(value) = value else { return Ok(()) };
    let depth = DEPTH.checked_sub(above);
    let depth = depth.ok_or_else(|| format!("its path has more than {DEPTH} steps"))?;
    match take(value, depth, &mut room.values) {
        Ok(()) => {
            // What is moved is there already, and what is added was sent.
            let is_copied = matches!(operation, PatchOperation::Copy(_));
            let bytes = if is_copied { weight(value) } else { 0 };
            let left = room.bytes.checked_sub(bytes);
            room.bytes = left.ok_or_else(|| {
                let mib = BYTES >> 20;
                format!("the patch copies more than {mib} MiB; set the state by Replace")
            })?;
            Ok(())
        }
        Err(Full::Depth) => Err(format!("more than {DEPTH} values would lie in each other")),
        Err(Full::Room) => Err(format!(
            "the patch adds or copies more than {ROOM} values and bytes of texts; set the state by \
                 Replace"
        )),
    }
}

/// Whether it is a test that the state passes.
fn is_true(target: &Value, operation: &PatchOperation) -> bool {
    let PatchOperation::Test(test) = operation else {
        return false;
    };
    let found = target.pointer(test.path.as_str());
    found.is_some_and(|found| are_equal(found, &test.value))
}

/// Whether two values are equal as RFC 6902 says: numbers are if their values are.
fn are_equal(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) if one.is_f64() || other.is_f64() => {
            one.as_f64() == other.as_f64()
        }
        (Value::Array(one), Value::Array(other)) => {
            let mut pairs = one.iter().zip(other);
            one.len() == other.len() && pairs.all(|(one, other)| are_equal(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            let same = |(name, field): (&String, &Value)| {
                let there = other.get(name);
                there.is_some_and(|there| are_equal(field, there))
            };
            one.len() == other.len() && one.iter().all(same)
        }
        _ => one == other,
    }
}

enum Full {
    Depth,
    Room,
}

/// Takes the room of a value.
fn take(value: &Value, depth: usize, room: &mut usize) -> Result<(), Full> {
    let depth = depth.checked_sub(1).ok_or(Full::Depth)?;
    let text = value.as_str().map_or(0, str::len);
    *room = room.checked_sub(1 + text).ok_or(Full::Room)?;
    match value {
        Value::Array(items) => items.iter().try_for_each(|item| take(item, depth, room)),
        Value::Object(fields) => fields.iter().try_for_each(|(name, field)| {
            *room = room.checked_sub(name.len()).ok_or(Full::Room)?;
            take(field, depth, room)
        }),
        _ => Ok(()),
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
    use motet_testkit::{Random, most_memory};
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
    fn tests_compare_numbers_by_their_values() {
        let state = json!({"n": 1, "all": [{"x": 2.0}, -3], "most": u64::MAX});
        let test = |path: &str, value: Value| {
            let patch = json!([{"op": "test", "path": path, "value": value}]);
            Patch::Json(patch).apply(&mut state.clone())
        };
        test("/n", json!(1.0)).unwrap();
        test("/all", json!([{"x": 2}, -3.0])).unwrap();
        test("/most", json!(u64::MAX)).unwrap();
        for (path, other) in [
            ("/n", json!(1.5)),
            ("/n", json!("1")),
            ("/all", json!([{"x": 2}])),
            ("/all", json!([{"y": 2}, -3])),
            ("/most", json!(u64::MAX - 1)),
        ] {
            let fault = test(path, other).unwrap_err();
            assert_eq!(fault.code(), FaultCode::PreconditionFailed, "{fault}");
        }
        let nowhere = test("/nowhere", json!(1)).unwrap_err();
        assert_eq!(nowhere.code(), FaultCode::MessageNotSupported);
    }

    #[test]
    fn sem_g440_a_patch_makes_no_state_that_is_too_large_or_too_deep() {
        let mut doubled = vec![json!({"op": "add", "path": "/a", "value": ["x"]})];
        doubled.extend((0..40).map(|_| json!({"op": "copy", "from": "/a", "path": "/a/-"})));
        let deeper = |count: usize| {
            let step = |at: usize| {
                let value = (0..30).fold(json!({}), |inner, _| json!({ "b": inner }));
                json!({"op": "add", "path": "/b".repeat(1 + 30 * at), "value": value})
            };
            Value::from_iter((0..count).map(step))
        };
        let apply = |patch| Patch::Json(patch).apply(&mut json!({}));
        let large = apply(Value::from(doubled)).unwrap_err();
        assert!(large.reason().contains("copies more than"), "{large}");
        apply(deeper(4)).unwrap();
        let deep = apply(deeper(5)).unwrap_err();
        assert!(deep.reason().contains("in each other"), "{deep}");
        let far = json!([{"op": "add", "path": "/b".repeat(200), "value": 1}]);
        let far = apply(far).unwrap_err();
        assert!(far.reason().contains("operation 0"), "{far}");
        assert!(far.reason().contains("128 steps"), "{far}");
    }

    #[test]
    fn sem_g440_a_patch_copies_no_more_memory_than_it_may() {
        let mut state = json!({"a": [{"": 0}]});
        let copy = json!({"op": "copy", "from": "/a", "path": "/a/-"});
        let doubled = Patch::Json(std::iter::repeat_n(copy, 40).collect());
        let (done, taken) = most_memory(|| doubled.apply(&mut state));
        let fault = done.unwrap_err();
        assert!(fault.reason().contains("more than 128 MiB"), "{fault}");
        assert!(taken <= BYTES, "{taken} bytes");
        // Objects without fields take no memory of their own.
        let mut state = json!({"a": vec![json!({}); 300_000]});
        let copy = json!([{"op": "copy", "from": "/a", "path": "/b"}]);
        Patch::Json(copy).apply(&mut state).unwrap();
        assert_eq!(state["a"], state["b"]);
    }

    fn depth(value: &Value) -> usize {
        1 + match value {
            Value::Array(items) => items.iter().map(depth).max().unwrap_or(0),
            Value::Object(fields) => fields.values().map(depth).max().unwrap_or(0),
            _ => 0,
        }
    }

    /// Any value, not deep.
    fn value(random: &mut Random, room: usize) -> Value {
        let few = |random: &mut Random| random.below(room.min(4) + 1);
        match random.below(7) {
            0 => Value::Null,
            1 => Value::from(random.below(3)),
            2 => Value::from(["", "a", "~/\u{e4}"][random.below(3)]),
            3 => json!(-0.5),
            4 => (0..few(random)).map(|_| value(random, room / 2)).collect(),
            _ => {
                let fields = (0..few(random)).map(|_| (name(random), value(random, room / 2)));
                Value::Object(fields.collect())
            }
        }
    }

    fn name(random: &mut Random) -> String {
        ["a", "b", "0", "", "~1", "-"][random.below(6)].to_owned()
    }

    fn pointer(random: &mut Random) -> String {
        let steps = [
            "/a",
            "/b",
            "/0",
            "/1",
            "/",
            "/-",
            "/~01",
            "/~",
            "a",
            "/18446744073709551616",
        ];
        (0..random.below(4))
            .map(|_| steps[random.below(10)])
            .collect()
    }

    fn operation(random: &mut Random) -> Value {
        let name = ["add", "remove", "replace", "move", "copy", "test", "fly"];
        let name = name[random.below(7)];
        let mut operation = json!({"op": name, "path": pointer(random)});
        if random.below(20) != 0 {
            operation["from"] = pointer(random).into();
            operation["value"] = value(random, 4);
        }
        operation
    }

    fn any_patches(inputs: u64) {
        for seed in 0..inputs {
            let random = &mut Random::new(seed);
            let before = json!({"a": value(random, 8), "b": [0, {"a": 1}]});
            let patch: Value = (0..1 + random.below(6))
                .map(|_| operation(random))
                .collect();
            let mut state = before.clone();
            // Six operations at most, each of which copies no more than all that is there.
            let most = (16 << 10) + 64 * (weight(&before) + weight(&patch));
            let given = Patch::Json(patch.clone());
            let (done, taken) = most_memory(|| given.apply(&mut state));
            assert!(taken <= most, "{taken} bytes: {before} {patch}");
            if let Err(fault) = done {
                assert!(!fault.reason().is_empty(), "{patch}");
            } else {
                assert!(depth(&state) <= DEPTH, "{before} {patch}");
            }
            let (patch, mut once) = (value(random, 8), before);
            let most = (16 << 10) + 2 * (weight(&once) + weight(&patch));
            let given = Patch::Merge(patch.clone());
            let (done, taken) = most_memory(|| given.apply(&mut once));
            done.unwrap();
            assert!(taken <= most, "{taken} bytes: {patch}");
            let mut twice = once.clone();
            Patch::Merge(patch).apply(&mut twice).unwrap();
            assert_eq!(
                once, twice,
                "a merge patch that was made changes nothing more"
            );
        }
    }

    #[test]
    fn prop_sem_g440_any_patch_is_made_or_refused() {
        any_patches(4_000);
    }

    #[test]
    #[ignore = "takes minutes"]
    fn deep_sem_g440_a_million_patches() {
        any_patches(1_000_000);
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
