//! What a subscriber asks for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// What a subscriber wants to be told, and how.
///
/// ```
/// use motet_service::{Slow, Subscribe};
/// use std::time::Duration;
///
/// let how = Subscribe::all()
///     .operation("set_power")
///     .count(3)
///     .expires(Duration::from_secs(60))
///     .limit(10, Slow::Coalesce)
///     .sync();
/// assert_eq!(how.limit, 10);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[non_exhaustive]
pub struct Subscribe {
    /// The operations that it wants to hear of, each by its name or by its verb in lower case, such
    /// as `update`; none: all.
    pub operations: Vec<String>,
    /// Alternatives; in each, the key that is wanted at each place, or none for any.
    pub keys: Vec<Vec<Option<String>>>,
    /// After so many notifications the subscription ends.
    pub count: Option<u64>,
    /// After this time it ends.
    pub expires: Option<Duration>,
    /// Whether the whole state comes first.
    pub sync: bool,
    /// The version that the subscriber has seen last: what followed comes first.
    pub since: Option<u64>,
    /// The name of the subscriber: of one name there is one subscription, the last.
    pub name: Option<String>,
    /// How many notifications may wait in its port.
    pub limit: usize,
    /// What happens beyond.
    pub slow: Slow,
}

/// What becomes of notifications for which a slow subscriber has no room.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Slow {
    /// The oldest goes; at the front stands how many have gone
    /// ([`Event::Lost`](crate::Event::Lost)).
    #[default]
    DropOldest,
    /// All that wait go, and the whole state comes in their place.
    Coalesce,
    /// The subscription ends with [`Event::Gone`](crate::Event::Gone).
    End,
}

/// A subscription at work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct SubscriptionInfo {
    /// Its number.
    pub id: u64,
    /// The name of the subscriber, if it has one.
    pub name: Option<String>,
    /// The operations that it wants to hear of; none: all.
    pub operations: Vec<String>,
    /// The keys that it wants.
    pub keys: Vec<Vec<Option<String>>>,
    /// How many notifications it still gets.
    pub left: Option<u64>,
}

impl Default for Subscribe {
    fn default() -> Self {
        Subscribe {
            operations: Vec::new(),
            keys: Vec::new(),
            count: None,
            expires: None,
            sync: false,
            since: None,
            name: None,
            limit: 1024,
            slow: Slow::default(),
        }
    }
}

impl Subscribe {
    /// Everything; 1,024 notifications may wait, then the oldest go.
    #[must_use]
    pub fn all() -> Self {
        Subscribe::default()
    }

    /// This operation too, or all that have this verb; without any, all are told. The whole state
    /// is told as `replace`, also where a patch has changed it. That some were lost, or that the
    /// service has ended, is told in any case. What a service may tell of says
    /// [`AnyClient::tells_of`](crate::AnyClient::tells_of).
    #[must_use]
    pub fn operation(mut self, name_or_verb: &str) -> Self {
        self.operations.push(name_or_verb.to_owned());
        self
    }

    /// Only what has these keys at their places; `None` is any. Given again: or these.
    #[must_use]
    pub fn keys<K: AsRef<str>>(mut self, keys: impl IntoIterator<Item = Option<K>>) -> Self {
        let keys = keys
            .into_iter()
            .map(|key| key.map(|key| key.as_ref().to_owned()));
        self.keys.push(keys.collect());
        self
    }

    /// So many, at least one, then the subscription ends.
    #[must_use]
    pub fn count(mut self, count: u64) -> Self {
        self.count = Some(count.max(1));
        self
    }

    /// The subscription ends after this time.
    #[must_use]
    pub fn expires(mut self, span: Duration) -> Self {
        self.expires = Some(span);
        self
    }

    /// The whole state comes first.
    #[must_use]
    pub fn sync(mut self) -> Self {
        self.sync = true;
        self
    }

    /// What followed this version comes first; the whole state, if that is not known any more. The
    /// last 1,024 notifications are kept, with at most 4 MiB as JSON.
    #[must_use]
    pub fn since(mut self, version: u64) -> Self {
        self.since = Some(version);
        self
    }

    /// In place of the subscription of this name, if there is one.
    #[must_use]
    pub fn named(mut self, name: &str) -> Self {
        self.name = Some(name.to_owned());
        self
    }

    /// How many may wait, at least two, and what happens beyond.
    #[must_use]
    pub fn limit(mut self, limit: usize, slow: Slow) -> Self {
        (self.limit, self.slow) = (limit.max(2), slow);
        self
    }

    /// Whether the filters let an operation of this name and verb, with these keys, through.
    pub(crate) fn wants(&self, words: [&str; 2], given: &[String]) -> bool {
        let mut wanted = self.operations.iter();
        let named =
            self.operations.is_empty() || wanted.any(|wanted| words.contains(&wanted.as_str()));
        let fits = |keys: &Vec<Option<String>>| {
            let mut places = keys.iter().enumerate();
            places.all(|(at, key)| key.is_none() || key.as_ref() == given.get(at))
        };
        named && (self.keys.is_empty() || self.keys.iter().any(fits))
    }

    pub(crate) fn info(&self, id: u64, left: Option<u64>) -> SubscriptionInfo {
        SubscriptionInfo {
            id,
            name: self.name.clone(),
            operations: self.operations.clone(),
            keys: self.keys.clone(),
            left,
        }
    }
}
