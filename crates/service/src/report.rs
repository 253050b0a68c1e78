//! Who is told of what happens in a node.

use crate::context::CallTrace;
use crate::{Lifecycle, TraceParent};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::Arc;
use std::time::Instant;

/// How much something matters.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// As it should be.
    #[default]
    Info,
    /// Somebody should look at it.
    Warning,
    /// Something has failed.
    Error,
}

/// What was said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LogEntry {
    /// Milliseconds since the node has started.
    pub at_ms: u64,
    /// How much it matters.
    pub level: Level,
    /// What it is about.
    pub category: String,
    /// The path of the service.
    pub service: String,
    /// What was said.
    pub text: String,
    /// The trace of which the call was a part whose handler has said it, as the header
    /// `traceparent`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace_parent: Option<String>,
}

/// A service, as the directory shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Record {
    /// Where it is.
    pub path: String,
    /// The name of its type.
    pub kind: String,
    /// The name of its contract.
    pub contract: String,
    /// What becomes of it.
    pub lifecycle: Lifecycle,
}

/// A request that was captured, and its answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Captured {
    /// Its number.
    #[serde(default)]
    pub id: u64,
    /// The number of the captured call whose handler has made this.
    #[serde(default)]
    pub parent: Option<u64>,
    /// Microseconds from the start of the node until it was posted.
    #[serde(default)]
    pub began_us: u64,
    /// Microseconds until it was answered.
    #[serde(default)]
    pub took_us: u64,
    /// Milliseconds since the node has started.
    pub at_ms: u64,
    /// The path of the service.
    pub service: String,
    /// The operation.
    pub operation: String,
    /// Its body.
    pub body: Value,
    /// Its answer.
    pub answer: Option<Value>,
    /// Its fault.
    pub fault: Option<String>,
    /// The trace of which it was a part, as the header `traceparent`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace_parent: Option<String>,
}

/// A request that is captured, until it is answered.
pub(crate) struct Traced {
    pub(crate) trace: CallTrace,
    pub(crate) posted: Option<Instant>,
    pub(crate) operation: &'static str,
    pub(crate) body: Value,
    pub(crate) trace_parent: Option<Arc<TraceParent>>,
}

/// Is told of what happens. It must not wait.
pub(crate) trait NodeReporter: Send + Sync {
    fn log(&self, entry: LogEntry);
    fn captured(&self, captured: Captured);
    fn recorded(&self, record: Record);
    fn removed(&self, path: &str);
}
