//! Entries of a state: its parts at a JSON Pointer (RFC 6901), each changed for itself.

use super::{DEPTH, merge, take};
use crate::json::is_same;
use crate::{Fault, FaultCode, Verb};
use serde_json::{Value, json};
use std::sync::OnceLock;

/// What becomes of an entry of a state: of what is at a pointer in it, a field, a name of a map or
/// a place of a list. Behind the last of a list there is a place for one more.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum EntryChange {
    /// It is added; a [`DuplicateEntry`](FaultCode::DuplicateEntry) where there is one.
    Insert(Value),
    /// It is set, whether it is there or not.
    Upsert(Value),
    /// It is set; an [`UnknownEntry`](FaultCode::UnknownEntry) where there is none.
    Replace(Value),
    /// It is changed by a merge patch (RFC 7396); an [`UnknownEntry`](FaultCode::UnknownEntry)
    /// where there is none.
    Update(Value),
    /// It is removed; an [`UnknownEntry`](FaultCode::UnknownEntry) where there is none.
    Delete,
}

/// What has come of the change of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChangedEntry {
    /// The version that the change has made. `None` if the caller cannot know the state of it: the
    /// same key has made the change before, or the entry is not what was sent to set it.
    pub version: Option<u64>,
    /// Whether there was no such entry before. Of a change that the same key has made before this
    /// is told only if it inserts.
    pub created: bool,
}

/// A change of an entry, on its way to the state.
pub(crate) struct EntryPatch {
    pointer: String,
    change: EntryChange,
    /// Whether there was no such entry; told when the change is made.
    created: OnceLock<bool>,
    /// Whether the entry is what was sent; told then, too.
    is_as_sent: OnceLock<bool>,
}

impl EntryPatch {
    pub(crate) fn new(pointer: &str, change: EntryChange) -> Self {
        EntryPatch {
            pointer: pointer.to_owned(),
            change,
            created: OnceLock::new(),
            is_as_sent: OnceLock::new(),
        }
    }

    pub(crate) fn name(&self) -> &'static str {
        match self.change {
            EntryChange::Insert(_) => "insert_entry",
            EntryChange::Upsert(_) => "upsert_entry",
            EntryChange::Replace(_) => "replace_entry",
            EntryChange::Update(_) => "update_entry",
            EntryChange::Delete => "delete_entry",
        }
    }

    pub(crate) fn verb(&self) -> Verb {
        match self.change {
            EntryChange::Insert(_) => Verb::Insert,
            EntryChange::Upsert(_) => Verb::Upsert,
            EntryChange::Replace(_) | EntryChange::Update(_) => Verb::Update,
            EntryChange::Delete => Verb::Delete,
        }
    }

    /// What it sends.
    fn value(&self) -> Option<&Value> {
        match &self.change {
            EntryChange::Insert(value)
            | EntryChange::Upsert(value)
            | EntryChange::Replace(value)
            | EntryChange::Update(value) => Some(value),
            EntryChange::Delete => None,
        }
    }

    /// It as the body of an operation.
    pub(crate) fn body(&self) -> Value {
        match self.value() {
            Some(value) => json!({"at": self.pointer, "value": value}),
            None => json!({"at": self.pointer}),
        }
    }

    /// Changes `target` as it says; when it cannot, `target` is as before.
    pub(crate) fn apply(&self, target: &mut Value) -> Result<(), Fault> {
        let Some((parent, name)) = self.pointer.rsplit_once('/') else {
            let reason = format!("{:?} is no pointer to an entry; write /FIELD", self.pointer);
            return Err(Fault::new(FaultCode::MessageNotSupported, reason));
        };
        self.fits()?;
        let name = name.replace("~1", "/").replace("~0", "~");
        match target.pointer_mut(parent) {
            Some(Value::Object(fields)) => match (&self.change, fields.get_mut(&name)) {
                (EntryChange::Delete, Some(_)) => drop(fields.remove(&name)),
                (_, Some(entry)) => self.change_there(entry)?,
                (_, None) => drop(fields.insert(name, self.new_one()?)),
            },
            Some(Value::Array(items)) => {
                let at = index(&name).filter(|at| *at <= items.len());
                let at = at.ok_or_else(|| self.nothing())?;
                match (&self.change, items.get_mut(at)) {
                    (EntryChange::Delete, Some(_)) => drop(items.remove(at)),
                    (_, Some(entry)) => self.change_there(entry)?,
                    (_, None) => items.push(self.new_one()?),
                }
            }
            _ => return Err(self.nothing()),
        }
        Ok(())
    }

    /// Refuses a state of its type in which the change is lost: a type leaves out what it has no
    /// place for, and fills in what it must have.
    pub(crate) fn check(&self, state: &Value) -> Result<(), Fault> {
        let found = state.pointer(&self.pointer);
        let lost = match (&self.change, found) {
            // Another item has moved to the place of one of a list.
            (EntryChange::Delete, Some(_)) if !self.is_of_list(state) => "always has it",
            (EntryChange::Delete, _) | (_, Some(_)) => {
                let is_as_sent = self.value().is_none_or(|sent| {
                    let is_whole = !matches!(self.change, EntryChange::Update(_));
                    !is_whole || found.is_some_and(|found| is_same(found, sent))
                });
                let _made_once = self.is_as_sent.set(is_as_sent);
                return Ok(());
            }
            (_, None) => "has no place for it",
        };
        let reason = format!("the type of the state {lost}: {:?}", self.pointer);
        Err(Fault::new(FaultCode::MessageNotSupported, reason))
    }

    fn is_of_list(&self, state: &Value) -> bool {
        let parent = self.pointer.rsplit_once('/');
        let parent = parent.and_then(|(parent, _)| state.pointer(parent));
        parent.is_some_and(Value::is_array)
    }

    /// What has come of it, once it was answered: it has made this version.
    pub(crate) fn made(&self, version: Option<u64>) -> ChangedEntry {
        let inserts = matches!(self.change, EntryChange::Insert(_));
        ChangedEntry {
            version: version.filter(|_| self.is_as_sent.get() == Some(&true)),
            created: self.created.get().copied().unwrap_or(inserts),
        }
    }

    /// Refuses what would lie too deep: a deeper state cannot be written.
    fn fits(&self) -> Result<(), Fault> {
        let Some(value) = self.value() else {
            return Ok(());
        };
        let above = self.pointer.bytes().filter(|byte| *byte == b'/').count();
        let mut room = usize::MAX;
        let fits = DEPTH.checked_sub(above);
        if fits.is_some_and(|depth| take(value, depth, &mut room).is_ok()) {
            return Ok(());
        }
        let reason = format!("more than {DEPTH} values would lie in each other");
        Err(Fault::new(FaultCode::MessageNotSupported, reason))
    }

    /// Changes an entry that is there.
    fn change_there(&self, entry: &mut Value) -> Result<(), Fault> {
        match &self.change {
            EntryChange::Insert(_) => {
                let reason = format!("the state has an entry at {:?} already", self.pointer);
                return Err(Fault::new(FaultCode::DuplicateEntry, reason));
            }
            EntryChange::Upsert(value) | EntryChange::Replace(value) => *entry = value.clone(),
            EntryChange::Update(patch) => merge(entry, patch.clone()),
            // Who holds it removes it.
            EntryChange::Delete => {}
        }
        let _made_once = self.created.set(false);
        Ok(())
    }

    /// The entry where there is none.
    fn new_one(&self) -> Result<Value, Fault> {
        match &self.change {
            EntryChange::Insert(value) | EntryChange::Upsert(value) => {
                let _made_once = self.created.set(true);
                Ok(value.clone())
            }
            EntryChange::Replace(_) | EntryChange::Update(_) | EntryChange::Delete => {
                Err(self.nothing())
            }
        }
    }

    fn nothing(&self) -> Fault {
        Fault::unknown_entry(format!("the state has nothing at {:?}", self.pointer))
    }
}

/// The place of a list that this names, as JSON Pointers write it.
fn index(name: &str) -> Option<usize> {
    let is_written_so = name.bytes().all(|byte| byte.is_ascii_digit());
    let is_short = name == "0" || !name.starts_with('0');
    (is_written_so && is_short).then(|| name.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apply(pointer: &str, change: EntryChange) -> Result<(Value, ChangedEntry), Fault> {
        let mut state = json!({"a": [1, 2], "b": {"c/d": 3, "~": {"x": 1}}});
        let patch = EntryPatch::new(pointer, change);
        patch.apply(&mut state)?;
        patch.check(&state)?;
        Ok((state, patch.made(Some(7))))
    }

    #[test]
    fn sem_g611_an_entry_is_added_set_patched_and_removed() {
        let cases = [
            (
                "/b/e",
                EntryChange::Insert(json!(1)),
                json!({"c/d": 3, "~": {"x": 1}, "e": 1}),
                true,
            ),
            (
                "/b/e",
                EntryChange::Upsert(json!(1)),
                json!({"c/d": 3, "~": {"x": 1}, "e": 1}),
                true,
            ),
            (
                "/b/c~1d",
                EntryChange::Upsert(json!(4)),
                json!({"c/d": 4, "~": {"x": 1}}),
                false,
            ),
            (
                "/b/c~1d",
                EntryChange::Replace(json!(4)),
                json!({"c/d": 4, "~": {"x": 1}}),
                false,
            ),
            (
                "/b/~0",
                EntryChange::Replace(json!({"y": 1})),
                json!({"c/d": 3, "~": {"y": 1}}),
                false,
            ),
            (
                "/b/~0",
                EntryChange::Update(json!({"y": 2, "x": null})),
                json!({"c/d": 3, "~": {"y": 2}}),
                false,
            ),
            ("/b/~0", EntryChange::Delete, json!({"c/d": 3}), false),
            (
                "/b/~0/x",
                EntryChange::Delete,
                json!({"c/d": 3, "~": {}}),
                false,
            ),
        ];
        for (pointer, change, b, created) in cases {
            let (state, made) = apply(pointer, change.clone()).unwrap();
            assert_eq!(state, json!({"a": [1, 2], "b": b}), "{pointer} {change:?}");
            assert_eq!((made.version, made.created), (Some(7), created));
        }
    }

    #[test]
    fn sem_g611_an_item_of_a_list_is_named_by_its_place() {
        for (pointer, change, a, created) in [
            ("/a/0", EntryChange::Delete, json!([2]), false),
            ("/a/1", EntryChange::Upsert(json!(7)), json!([1, 7]), false),
            (
                "/a/2",
                EntryChange::Upsert(json!(7)),
                json!([1, 2, 7]),
                true,
            ),
            (
                "/a/2",
                EntryChange::Insert(json!(7)),
                json!([1, 2, 7]),
                true,
            ),
        ] {
            let (state, made) = apply(pointer, change.clone()).unwrap();
            assert_eq!(state["a"], a, "{pointer} {change:?}");
            assert_eq!((made.version, made.created), (Some(7), created));
        }
    }

    #[test]
    fn sem_g611_an_entry_that_is_there_or_is_not_is_told() {
        let [there, nothing] = [FaultCode::DuplicateEntry, FaultCode::UnknownEntry];
        for (pointer, change, code) in [
            ("/b/c~1d", EntryChange::Insert(json!(1)), there),
            ("/a/0", EntryChange::Insert(json!(1)), there),
            ("/b/e", EntryChange::Replace(json!(1)), nothing),
            ("/b/e", EntryChange::Update(json!({})), nothing),
            ("/b/e", EntryChange::Delete, nothing),
            ("/a/2", EntryChange::Delete, nothing),
            ("/a/2", EntryChange::Update(json!(1)), nothing),
            ("/a/3", EntryChange::Insert(json!(1)), nothing),
            ("/a/-", EntryChange::Upsert(json!(1)), nothing),
            ("/a/01", EntryChange::Upsert(json!(1)), nothing),
            ("/a/+1", EntryChange::Upsert(json!(1)), nothing),
            ("/a/", EntryChange::Upsert(json!(1)), nothing),
            ("/e/f", EntryChange::Upsert(json!(1)), nothing),
            ("/a/0/f", EntryChange::Upsert(json!(1)), nothing),
            ("", EntryChange::Delete, FaultCode::MessageNotSupported),
            ("a", EntryChange::Delete, FaultCode::MessageNotSupported),
        ] {
            let refused = apply(pointer, change.clone()).unwrap_err();
            assert_eq!(refused.code(), code, "{pointer} {change:?}: {refused}");
        }
        let deep = (0..DEPTH).fold(json!(1), |inner, _| json!([inner]));
        let refused = apply("/b/e", EntryChange::Insert(deep)).unwrap_err();
        assert!(refused.reason().contains("in each other"), "{refused}");
    }

    #[test]
    fn sem_g611_a_change_that_the_type_of_the_state_would_lose_is_refused() {
        let patch = EntryPatch::new("/e", EntryChange::Insert(json!(1)));
        let refused = patch.check(&json!({"a": 1})).unwrap_err();
        assert!(refused.reason().contains("no place"), "{refused}");
        let patch = EntryPatch::new("/a", EntryChange::Delete);
        let refused = patch.check(&json!({"a": 0})).unwrap_err();
        assert!(refused.reason().contains("always"), "{refused}");
        // What has become something else makes no version that its sender knows.
        let patch = EntryPatch::new("/a", EntryChange::Upsert(json!({"x": 1})));
        patch.check(&json!({"a": {"x": 1, "y": 0}})).unwrap();
        assert_eq!(patch.made(Some(7)).version, None);
    }
}
