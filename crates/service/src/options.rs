//! What a call says beside its body.

use crate::TraceParent;
use crate::context::{CallContext, CallTrace, Chain, Inherited};
use crate::report::Traced;
use motet_dispatch::Clock;
use serde_json::Value;
use std::any::Any;
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// What a call says beside its body. [`Call`](crate::Call) has a method for each but `chain`,
/// `at_once`, `named` and `trace_parent`.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct Options {
    /// How long the answer may take; what the caller has left, or the node's limit, if that is less
    /// or this is `None`.
    pub within: Option<Duration>,
    /// The version that the state must have.
    pub if_version: Option<u64>,
    /// What tells a repeated request from a new one.
    pub key: Option<Arc<str>>,
    /// Who calls. Unless it is said, the service whose handler calls.
    pub principal: Option<Arc<str>>,
    /// Whether to wait for room when as many operations wait as may.
    pub wait_for_room: bool,
    /// Whether the node's debugger is to keep the request and its answer, and those of the calls
    /// that its handler makes.
    pub capture: bool,
    /// The services that wait for this call, as another process has told them: a call that comes
    /// back to one of them is a [`SelfCall`](crate::FaultCode::SelfCall). For whoever carries calls
    /// between processes. Those that wait where the call is made are added by
    /// [`Client`](crate::Client), and for other calls by [`Options::told_on`].
    pub chain: Option<Arc<str>>,
    /// Whether the calling thread may carry out the operation itself, though it is no worker of the
    /// node, if the handler is brief. For threads that call for many others, and have another that
    /// goes on should a handler block. It runs as a task: waits that would block are refused.
    pub at_once: bool,
    /// Whether the body has arguments by their names, or is one argument, where the caller has said
    /// it: for [contracts that call by name](crate::Contract::call_named) and take both.
    pub named: Option<bool>,
    /// The trace of which the call is a part; that of the handler that calls, unless it is said.
    pub trace_parent: Option<Arc<TraceParent>>,
    /// Whether the service calls itself, by its job: its rules are for others.
    pub(crate) is_own: bool,
    /// Nobody waits for its answer.
    pub(crate) is_one_way: bool,
    /// Headers, found by their types.
    pub(crate) headers: Vec<Arc<dyn Any + Send + Sync>>,
}

impl Options {
    /// Adds to `chain` the services that wait for what is called here: their handlers await it. The
    /// trace is that of the handler, unless another is said. For a call to another process that is
    /// not made by a [`Client`](crate::Client).
    #[must_use]
    pub fn told_on(mut self) -> Self {
        let context = CallContext::current();
        self.add_waiting(context.link());
        self.inherit_trace(&context);
        self
    }

    /// The call is a part of the trace of the handler that makes it, unless another is said.
    pub(crate) fn inherit_trace(&mut self, context: &CallContext) {
        if self.trace_parent.is_none() {
            self.trace_parent
                .clone_from(&context.inherited.trace_parent);
        }
    }

    /// Adds services that wait here, outside of those that have been told.
    pub(crate) fn add_waiting(&mut self, waiting: Option<Arc<Chain>>) {
        let Some(waiting) = waiting else {
            return;
        };
        let all = match self.chain.take() {
            None => waiting,
            Some(told) => Chain::told(told, Some(waiting)),
        };
        self.chain = Some(all.written().into());
    }
}

/// What an item carries beside its body.
#[derive(Clone, Default)]
pub(crate) struct RequestEnvelope {
    /// `None`: the limit of the node, from the begin of the call, which is carried out at once.
    pub(crate) deadline: Option<Instant>,
    /// The call has said until when.
    is_limited: bool,
    /// When it was posted; `None`: it is carried out at once.
    pub(crate) posted: Option<Instant>,
    pub(crate) chain: Option<Arc<Chain>>,
    pub(crate) principal: Option<Arc<str>>,
    /// What few calls have.
    pub(crate) rare: Option<Arc<Rare>>,
}

pub(crate) struct Rare {
    pub(crate) if_version: Option<u64>,
    pub(crate) key: Option<Arc<str>>,
    pub(crate) trace: Option<CallTrace>,
    pub(crate) trace_parent: Option<Arc<TraceParent>>,
    pub(crate) headers: Vec<Arc<dyn Any + Send + Sync>>,
}

impl RequestEnvelope {
    /// Of a call that is made now in `context`, and captured if it has a `trace`; until when,
    /// [`RequestEnvelope::limit_to`] may add.
    ///
    /// It takes out of the options what it keeps.
    #[inline]
    pub(crate) fn new(
        options: Option<&mut Options>,
        context: Option<&CallContext>,
        clock: &Clock,
        trace: Option<CallTrace>,
    ) -> Self {
        let mut says_nothing = Options::default();
        let options = options.unwrap_or(&mut says_nothing);
        let own = options.within.map(|within| clock.in_future(within));
        let left = context.and_then(|context| context.inherited.deadline);
        let deadline = match (own, left) {
            (Some(own), Some(left)) => Some(own.min(left)),
            (own, left) => own.or(left),
        };
        let principal = options.principal.take();
        let principal = principal.or_else(|| context?.principal());
        let trace_parent = options.trace_parent.take();
        let trace_parent = trace_parent.or_else(|| context?.inherited.trace_parent.clone());
        let is_plain = options.if_version.is_none()
            && options.key.is_none()
            && trace_parent.is_none()
            && trace.is_none()
            && options.headers.is_empty();
        let rare = (!is_plain).then(|| {
            Arc::new(Rare {
                if_version: options.if_version,
                key: options.key.take(),
                trace,
                trace_parent,
                headers: std::mem::take(&mut options.headers),
            })
        });
        let waiting = context.and_then(CallContext::link);
        let chain = match options.chain.take() {
            None => waiting,
            Some(told) => Some(Chain::told(told, waiting)),
        };
        RequestEnvelope {
            deadline,
            is_limited: own.is_some(),
            posted: None,
            chain,
            principal,
            rare,
        }
    }

    /// What calls of its handler inherit. The chain is theirs alone.
    #[inline]
    pub(crate) fn inherited(&mut self) -> Inherited {
        Inherited {
            deadline: self.deadline,
            chain: self.chain.take(),
            trace: self.trace().map(|trace| trace.id),
            trace_parent: self.trace_parent().cloned(),
        }
    }

    /// It is posted now. Until when: what was said, or the limit of the node from now on, if that
    /// is less.
    pub(crate) fn limit_to(&mut self, clock: &Clock, limit: Duration) -> Instant {
        let now = clock.now();
        self.posted = Some(now);
        if let (true, Some(deadline)) = (self.is_limited, self.deadline) {
            return deadline;
        }
        let span = clock.timescale().of(limit);
        let limit = now
            .checked_add(span)
            .unwrap_or_else(|| clock.in_future(limit));
        let deadline = self.deadline.map_or(limit, |left| left.min(limit));
        (self.is_limited, self.deadline) = (true, Some(deadline));
        deadline
    }

    /// Nobody waits for its answer: it is not too late at any time, and keeps no holder waiting.
    pub(crate) fn set_one_way(&mut self) {
        (self.deadline, self.chain) = (None, None);
    }

    pub(crate) fn if_version(&self) -> Option<u64> {
        self.rare.as_ref()?.if_version
    }

    pub(crate) fn key(&self) -> Option<&Arc<str>> {
        self.rare.as_ref()?.key.as_ref()
    }

    pub(crate) fn trace(&self) -> Option<CallTrace> {
        self.rare.as_ref()?.trace
    }

    pub(crate) fn trace_parent(&self) -> Option<&Arc<TraceParent>> {
        self.rare.as_ref()?.trace_parent.as_ref()
    }

    /// What is kept of a request that is captured.
    pub(crate) fn traced(
        &self,
        operation: &'static str,
        body: impl FnOnce() -> Value,
    ) -> Option<Traced> {
        self.trace().map(|trace| Traced {
            trace,
            posted: self.posted,
            operation,
            body: body(),
            trace_parent: self.trace_parent().cloned(),
        })
    }

    pub(crate) fn header<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        let mut headers = self.rare.as_ref()?.headers.iter().rev();
        headers.find_map(|header| Arc::clone(header).downcast().ok())
    }
}

/// A header of a change that all services have: where it tells the version that it has made.
#[derive(Default)]
pub(crate) struct ToldVersion(OnceLock<u64>);

impl ToldVersion {
    pub(crate) fn tell(&self, version: u64) {
        // A change is made once.
        let _again = self.0.set(version);
    }

    pub(crate) fn told(&self) -> Option<u64> {
        self.0.get().copied()
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("within", &self.within)
            .field("if_version", &self.if_version)
            .field("key", &self.key)
            .field("principal", &self.principal)
            .field("trace_parent", &self.trace_parent)
            .finish_non_exhaustive()
    }
}
