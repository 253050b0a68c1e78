//! Notifications as JSON, for those who do not know the contract: made once for all of them.

use super::any_service::AnyClient;
use super::notification::{Event, Notification};
use crate::json::to_value;
use crate::{Contract, Fault, FaultCode, Group, Operation, Verb};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::any::Any;
use std::fmt;
use std::sync::OnceLock;

/// A notification whose contract is not known. Those who are told the same share it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AnyNotification {
    /// The version of the state after this.
    pub version: u64,
    /// The operation; `replace`, `lost` or `gone`.
    pub event: String,
    /// Its body: of the operation, the state, how many were lost, or nothing.
    pub body: Value,
    /// Whether some were missed before this.
    pub reinstated: bool,
    #[serde(skip)]
    made: Made,
}

/// What was made of it.
#[derive(Default)]
struct Made(OnceLock<Box<dyn Any + Send + Sync>>);

impl AnyClient {
    /// The version of the state, of which nobody is asked. Who subscribes after it was read is told
    /// of later ones only.
    #[must_use]
    pub fn state_version(&self) -> u64 {
        self.0.common().version()
    }

    /// Whether the service may tell of an operation that has this name or verb
    /// ([`Subscribe::operation`](crate::Subscribe::operation)): of those that run alone, by which
    /// the state changes, of `replace`, and of `drop`, which is its end. No schema is written.
    ///
    /// # Errors
    /// A fault that names what the service tells of, for a word that would be waited for without
    /// end.
    pub fn tells_of(&self, word: &str) -> Result<(), Fault> {
        let further = self.0.common().further.get();
        // A contract that does not list all, and whose service has said none yet, may have any.
        if self.0.is_open() && further.is_none() {
            return Ok(());
        }
        let own = self.0.operations().iter();
        let all = own.chain(further.into_iter().flatten().copied());
        let telling: Vec<&Operation> = all.filter(|it| it.group == Group::Exclusive).collect();
        let names = telling.iter().map(|it| it.name);
        let verbs = telling.iter().map(|it| it.verb);
        let verbs = verbs.chain([Verb::Replace, Verb::Drop]).map(Verb::word);
        let mut words: Vec<&str> = Vec::new();
        for known in names.chain(verbs) {
            if !words.contains(&known) {
                words.push(known);
            }
        }
        if words.contains(&word) {
            return Ok(());
        }
        let reason = format!(
            "{} never tells of {word:?}; ask for one of {}",
            self.path(),
            words.join(", ")
        );
        Err(Fault::new(FaultCode::ActionNotSupported, reason))
    }
}

impl AnyNotification {
    pub(super) fn new<C: Contract>(notification: &Notification<C>) -> Self {
        let body = match &notification.event {
            Event::Operation(request) => C::body(request).unwrap_or_default(),
            Event::Replace(state) => to_value(&**state).unwrap_or_default(),
            Event::Lost(count) => Value::from(*count),
            Event::Gone => Value::Null,
        };
        AnyNotification {
            version: notification.version,
            event: notification.name().to_owned(),
            body,
            reinstated: notification.reinstated,
            made: Made::default(),
        }
    }

    pub(super) fn gone(version: u64) -> Self {
        AnyNotification {
            version,
            event: "gone".to_owned(),
            body: Value::Null,
            reinstated: false,
            made: Made::default(),
        }
    }

    /// What `make` makes of it, such as its text: once for all who are told the same, unless
    /// something of another type was made before.
    pub fn made<T: Clone + Send + Sync + 'static>(&self, make: impl Fn(&Self) -> T) -> T {
        let made = self.made.0.get_or_init(|| Box::new(make(self)));
        let made = made.downcast_ref::<T>().cloned();
        made.unwrap_or_else(|| make(self))
    }
}

/// A copy may be changed: nothing is made of it yet.
impl Clone for Made {
    fn clone(&self) -> Self {
        Made::default()
    }
}

impl PartialEq for Made {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl fmt::Debug for Made {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.get().is_some() { "Made" } else { "-" })
    }
}
