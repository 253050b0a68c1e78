//! What happens in a node, for whoever is told of it: the log, and requests that are captured.

use super::shared::NodeShared;
use crate::Fault;
use crate::report::{Captured, Level, LogEntry, NodeReporter, Traced};
use crate::trace_parent::TraceParent;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;

impl NodeShared {
    /// Who is told of what happens; nobody before the node's own services are there, and after its
    /// end.
    pub(crate) fn set_reporter(&self, reporter: Option<Arc<dyn NodeReporter>>) {
        *self.reporter.lock() = reporter;
    }

    pub(super) fn reporter(&self) -> Option<Arc<dyn NodeReporter>> {
        self.reporter.lock().clone()
    }

    /// Writes to the log. What the log has no room for is gone.
    pub(crate) fn log(&self, level: Level, category: &str, service: &str, text: &str) {
        self.log_of(level, category, service, text, None);
    }

    /// As [`NodeShared::log`], of a call that is a part of a trace.
    pub(crate) fn log_of(
        &self,
        level: Level,
        category: &str,
        service: &str,
        text: &str,
        trace: Option<&TraceParent>,
    ) {
        if let Some(reporter) = self.reporter() {
            let entry = LogEntry {
                at_ms: self.elapsed_ms(),
                level,
                category: category.to_owned(),
                service: service.to_owned(),
                text: text.to_owned(),
                trace_parent: trace.map(ToString::to_string),
            };
            reporter.log(entry);
        }
    }

    /// Keeps a request that was to be captured.
    pub(crate) fn captured(&self, path: &str, traced: Traced, answer: &Result<Value, Fault>) {
        if let Some(reporter) = self.reporter() {
            let us = |span: Duration| u64::try_from(span.as_micros()).unwrap_or(u64::MAX);
            let now = self.deadlines.clock().now();
            let posted = traced.posted.unwrap_or(now);
            let captured = Captured {
                id: traced.trace.id,
                parent: traced.trace.parent,
                began_us: us(posted.saturating_duration_since(self.begun)),
                took_us: us(now.saturating_duration_since(posted)),
                at_ms: self.elapsed_ms(),
                service: path.to_owned(),
                operation: traced.operation.to_owned(),
                body: traced.body,
                answer: answer.as_ref().ok().cloned(),
                fault: answer.as_ref().err().map(ToString::to_string),
                trace_parent: traced.trace_parent.as_deref().map(ToString::to_string),
            };
            reporter.captured(captured);
        }
    }
}
