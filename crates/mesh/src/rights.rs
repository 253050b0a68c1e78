//! What a node may do in a mesh.

use crate::Key;
use std::fmt;
use std::sync::Arc;

/// What needs a right.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Deed {
    /// To publish under a key.
    Publish,
    /// To subscribe to a pattern.
    Subscribe,
    /// To call those who serve a key. What goes there is published, and what comes back is read: it
    /// needs both rights.
    Call,
    /// To answer calls under a key. It needs both rights, too.
    Serve,
}

/// What a node may do in a mesh: all, or what filters say. A filter is a [`Key`] that may have
/// wildcards; it covers the keys that it matches. A pattern needs one filter that [covers all of
/// it](Key::covers).
///
/// The carrier says what a peer may ([`CarrierEvent::Up`](crate::CarrierEvent::Up)), and each node
/// refuses what goes beyond it. `MeshRights::default()` allows nothing.
///
/// ```
/// use motet_mesh::{Deed, Key, MeshRights};
///
/// let rights = MeshRights::only(vec![Key::new("camera/**")?], vec![Key::new("steer/*")?]);
/// assert!(rights.may(Deed::Publish, &Key::new("camera/left")?));
/// assert!(!rights.may(Deed::Subscribe, &Key::new("camera/left")?));
/// assert!(!rights.may(Deed::Subscribe, &Key::new("steer/**")?));
/// assert!(MeshRights::all().may(Deed::Call, &Key::new("camera/left")?));
/// # Ok::<(), motet_mesh::KeyError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MeshRights(Granted);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Granted {
    All,
    Only(Arc<Filters>),
}

#[derive(Debug, PartialEq, Eq, Default)]
struct Filters {
    publish: Vec<Key>,
    subscribe: Vec<Key>,
}

impl Default for Granted {
    fn default() -> Self {
        Granted::Only(Arc::default())
    }
}

impl MeshRights {
    /// Everything.
    #[must_use]
    pub fn all() -> Self {
        MeshRights(Granted::All)
    }

    /// To publish what the first filters cover, to subscribe to what the others do, and nothing
    /// else.
    #[must_use]
    pub fn only(publish: Vec<Key>, subscribe: Vec<Key>) -> Self {
        MeshRights(Granted::Only(Arc::new(Filters { publish, subscribe })))
    }

    /// Whether nothing is refused.
    #[must_use]
    pub fn is_all(&self) -> bool {
        self.0 == Granted::All
    }

    /// The filters for what is published, and those for what is subscribed to. `None`: all is
    /// allowed.
    #[must_use]
    pub fn filters(&self) -> Option<(&[Key], &[Key])> {
        match &self.0 {
            Granted::All => None,
            Granted::Only(only) => Some((&only.publish, &only.subscribe)),
        }
    }

    /// Whether this is allowed under all keys that `key` matches.
    #[must_use]
    pub fn may(&self, deed: Deed, key: &Key) -> bool {
        let Granted::Only(only) = &self.0 else {
            return true;
        };
        let covers = |filters: &[Key]| filters.iter().any(|filter| filter.covers(key));
        match deed {
            Deed::Publish => covers(&only.publish),
            Deed::Subscribe => covers(&only.subscribe),
            Deed::Call | Deed::Serve => covers(&only.publish) && covers(&only.subscribe),
        }
    }
}

impl fmt::Display for MeshRights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((publish, subscribe)) = self.filters() else {
            return f.write_str("may publish and subscribe to all");
        };
        let listed = |filters: &[Key]| match filters {
            [] => "nothing".to_owned(),
            some => some.iter().map(Key::as_str).collect::<Vec<_>>().join(", "),
        };
        let (publish, subscribe) = (listed(publish), listed(subscribe));
        write!(f, "may publish {publish} and subscribe to {subscribe}")
    }
}
