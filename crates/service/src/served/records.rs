//! What is kept of a call, and asked of it, whatever the contract is.

use crate::context::{CallContext, Panicked};
use crate::keys::{KeyLookup, KeyedAnswers};
use crate::latency::is_measured;
use crate::options::RequestEnvelope;
use crate::report::{Level, Traced};
use crate::service::{Common, Figures, timeout};
use crate::{Contract, Fault, FaultCode, Operation};
use serde_json::Value;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;
use std::time::Instant;

/// The request of a keyed operation.
pub(super) struct Keyed {
    name: String,
    body: Value,
}

/// What is known of the key of a request.
pub(super) enum Looked {
    Unkeyed,
    New(Keyed),
    Answered(Result<Value, Fault>),
}

impl Common {
    /// Whether the caller still waits.
    #[inline]
    pub(crate) fn in_time(&self, deadline: Option<Instant>) -> Result<Instant, Fault> {
        let now = self.shared.deadlines.clock().now();
        match deadline.is_some_and(|deadline| now > deadline) {
            true => Err(timeout(&self.path)),
            false => Ok(now),
        }
    }

    /// Whether the state has the version that the caller wants.
    #[inline]
    pub(crate) fn has_version(&self, wanted: Option<u64>) -> Result<(), Fault> {
        let version = self.version();
        match wanted {
            Some(wanted) if wanted != version => {
                let reason =
                    format!("the state has version {version}, not {wanted}; read it again");
                Err(Fault::new(FaultCode::PreconditionFailed, reason).of_service(&self.path))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn no_store(&self) -> Fault {
        let reason = "the service has no store; create it with `persist`";
        Fault::new(FaultCode::ActionNotSupported, reason).of_service(&self.path)
    }

    /// Counts an outcome that is a fault.
    #[inline]
    pub(crate) fn count_fault<C: Contract>(&self, outcome: &C::Outcome) {
        if C::fault(outcome).is_some() {
            Figures::count(&self.figures.faults);
        }
    }

    /// How long a handler has run that does not wait, and how long its call has taken; it stands
    /// for so many `calls`.
    #[inline]
    pub(crate) fn has_run(
        &self,
        operation: &Operation,
        begun: Instant,
        posted: Option<Instant>,
        calls: u64,
    ) {
        let now = self.shared.deadlines.clock().now();
        let span = |from| now.saturating_duration_since(from);
        self.lengths.ran(operation, span(begun));
        let whole = span(posted.unwrap_or(begun));
        self.latencies.note(operation.number, whole, calls);
    }

    /// Runs a handler that may wait, in this context; its panic is caught. Notes how long it runs
    /// until it waits first: of handlers that are short some are measured. `before`: how many
    /// there were.
    pub(super) async fn handled<F: Future>(
        &self,
        context: &CallContext,
        (operation, before): (&Operation, u64),
        mut handler: Pin<&mut F>,
    ) -> Result<F::Output, Panicked> {
        let is_measured = is_measured(before) || self.lengths.is_not_short(operation);
        let now = || self.shared.deadlines.clock().now();
        let mut begun = is_measured.then(now);
        poll_fn(|cx| {
            let polled = context.run_now(|| handler.as_mut().poll(cx));
            if let Some(begun) = begun.take() {
                let span = now().saturating_duration_since(begun);
                self.lengths.ran(operation, span);
            }
            match polled {
                Ok(polled) => polled.map(Ok),
                Err(panicked) => Poll::Ready(Err(panicked)),
            }
        })
        .await
    }

    /// Calls of an operation, so many, have taken the time since then.
    #[inline]
    pub(crate) fn took(&self, place: usize, since: Option<Instant>, calls: u64) {
        if let Some(since) = since {
            let now = self.shared.deadlines.clock().now();
            let span = now.saturating_duration_since(since);
            self.latencies.note(place, span, calls);
        }
    }

    /// Keeps the answer to a request that is captured.
    pub(super) fn keep_answer(&self, captured: Option<Traced>, answer: &Result<Value, Fault>) {
        if let Some(traced) = captured {
            self.shared.captured(&self.path, traced, answer);
        }
    }

    /// Keeps the fault of a request that is captured.
    pub(super) fn keep_fault(&self, captured: Option<Traced>, fault: &Fault) {
        if captured.is_some() {
            self.keep_answer(captured, &Err(fault.clone()));
        }
    }

    /// Counts and logs a panic, as a fault for the caller.
    pub(crate) fn panic_fault(&self, panicked: &Panicked) -> Fault {
        self.panic_fault_of("handler", panicked)
    }

    /// As [`Common::panic_fault`], of `what`.
    pub(super) fn panic_fault_of(&self, what: &str, panicked: &Panicked) -> Fault {
        Figures::count(&self.figures.panics);
        let reason = format!("the {what} panicked: {}", panicked.message());
        let shared = &self.shared;
        shared.log(Level::Error, "panic", &self.path, &reason);
        Fault::failed(reason).of_service(&self.path)
    }

    /// Keeps the answer to a keyed request.
    pub(super) fn keep(&self, Keyed { name, body }: Keyed, answer: Result<Value, Fault>) {
        let now = self.shared.deadlines.clock().now();
        self.keys.lock().keep(name, body, answer, now);
    }

    /// As [`Common::look_up`], of a request for the operation of this name with this body.
    pub(super) fn look_up_as(
        &self,
        operation: &str,
        body: &dyn Fn() -> Result<Value, Fault>,
        envelope: &RequestEnvelope,
    ) -> Looked {
        let Some(key) = envelope.key() else {
            return Looked::Unkeyed;
        };
        let body = match body() {
            Ok(body) => serde_json::json!([operation, body]),
            Err(fault) => return Looked::Answered(Err(fault)),
        };
        let name = KeyedAnswers::name(envelope.principal.as_deref(), key);
        let now = self.shared.deadlines.clock().now();
        match self.keys.lock().look(&name, &body, now) {
            KeyLookup::New => Looked::New(Keyed { name, body }),
            KeyLookup::Same(answer) => Looked::Answered(answer),
            KeyLookup::Other => {
                let reason =
                    format!("the key {key:?} has been used for another request; take a new one");
                let fault = Fault::new(FaultCode::MessageNotSupported, reason);
                Looked::Answered(Err(fault.of_service(&self.path)))
            }
        }
    }
}
