//! What is said when a service is created.

use crate::service::StateOf;
use crate::spec::Spec;
use crate::{Fault, Persist, Service, Supervise};
use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;

/// What is said when a service is created: where it is to be, with which state and partners.
pub struct Create<S: Service> {
    pub(crate) spec: Result<Spec, Fault>,
    kind: PhantomData<fn() -> S>,
}

impl<S: Service> Create<S> {
    /// A service of this type, at a path with its name.
    #[must_use]
    pub fn of() -> Self {
        Create {
            spec: Ok(Spec::of_kind(S::NAME)),
            kind: PhantomData,
        }
    }

    /// Where it is to be.
    #[must_use]
    pub fn at(self, path: &str) -> Self {
        self.with(|spec| spec.at = Some(path.to_owned()))
    }

    /// The state to begin with, unless one is stored.
    #[must_use]
    pub fn state(mut self, state: &StateOf<S>) -> Self {
        self.spec = self.spec.and_then(|mut spec| {
            spec.state = Some(crate::json::to_value(state)?);
            Ok(spec)
        });
        self
    }

    /// The path of a partner, before its policy.
    #[must_use]
    pub fn partner(self, name: &str, path: &str) -> Self {
        self.with(|spec| {
            spec.partners.insert(name.to_owned(), path.to_owned());
        })
    }

    /// How long partners are waited for: 10 s unless said otherwise.
    #[must_use]
    pub fn partners_within(self, span: Duration) -> Self {
        self.with(|spec| {
            spec.partners_within_ms = u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
        })
    }

    /// When the state is stored, in the node's store.
    #[must_use]
    pub fn persist(self, when: Persist) -> Self {
        self.with(|spec| spec.persist = Some(when))
    }

    /// How it is built anew.
    #[must_use]
    pub fn supervise(self, how: Supervise) -> Self {
        self.with(|spec| spec.supervise = how)
    }

    /// How many operations may wait: 1,024 that read and as many that change, unless said
    /// otherwise.
    #[must_use]
    pub fn depth(self, depth: usize) -> Self {
        self.with(|spec| spec.depth = depth.max(1))
    }

    /// How many bytes the requests and answers of idempotency keys may take in memory: 16 MiB,
    /// unless said otherwise. The oldest go first; the newest is kept whatever it takes.
    #[must_use]
    pub fn key_bytes(self, most: usize) -> Self {
        self.with(|spec| spec.key_bytes = most)
    }

    /// Who may do what: rules such as `viewer: get query`.
    #[must_use]
    pub fn allow<R: Into<String>>(self, rules: impl IntoIterator<Item = R>) -> Self {
        self.with(|spec| spec.allow.extend(rules.into_iter().map(Into::into)))
    }

    /// Whether it may call services of other processes: it may unless said otherwise.
    #[must_use]
    pub fn network(self, may: bool) -> Self {
        self.with(|spec| spec.network = may)
    }

    /// Threads of its own, 1,024 at most, for handlers that block: these run nowhere else. The
    /// threads end with the service, or with its last job or independent operation that still runs
    /// then. What else runs on [`Cx::queue`](crate::Cx::queue) ends with them. As long as they are
    /// there, the worlds of jobs have so many cores less
    /// ([`NodeBuilder::cores`](crate::NodeBuilder::cores)).
    #[must_use]
    pub fn threads(self, count: usize) -> Self {
        self.with(|spec| spec.threads = Some(count.max(1)))
    }

    fn with(mut self, change: impl FnOnce(&mut Spec)) -> Self {
        if let Ok(spec) = &mut self.spec {
            change(spec);
        }
        self
    }
}

impl<S: Service> fmt::Debug for Create<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Create").field(&self.spec).finish()
    }
}
