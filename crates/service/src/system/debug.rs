//! `/sys/diagnostics`, `/sys/debug`.

use super::constructor::Nothing;
use crate::report::Captured;
use crate::{Cx, Lifecycle, OperationLatency, Service, ServiceFigures, State, contract, data};
use std::collections::VecDeque;
use std::time::Duration;

/// The figures of a service.
#[data]
pub struct Figure {
    /// Where it is.
    pub path: String,
    /// What becomes of it.
    pub lifecycle: Lifecycle,
    /// How often what has happened.
    pub figures: ServiceFigures,
    /// How long its operations take: first all of them together, then each that has been called.
    pub latencies: Vec<OperationLatency>,
}

/// A service that waits for the answer of another.
#[data]
pub struct WaitingService {
    /// The service that waits.
    pub from: String,
    /// The service for which it waits.
    pub to: String,
    /// For so many milliseconds.
    pub for_ms: u64,
    /// For so many it still may.
    pub left_ms: u64,
}

/// The last requests that were captured: 256.
#[data]
#[derive(Default)]
pub struct Captures {
    /// Oldest first.
    pub captured: VecDeque<Captured>,
}

/// How often what has happened.
#[contract(uri = "motet:diagnostics/1", state = Nothing, replace = false)]
pub trait Diagnostics {
    /// The figures of all services, by path.
    #[query]
    async fn figures(cx: Cx) -> Vec<Figure>;
}

/// Requests that were captured: those of calls that [say so](crate::Call::capture); and who waits
/// for whom.
#[contract(uri = "motet:debug/1", state = Captures)]
pub trait Debug {
    /// Keeps one.
    #[insert]
    fn keep(&mut self, captured: Captured);

    /// The calls for whose answers services wait now, the oldest first.
    #[query]
    async fn waiting(cx: Cx) -> Vec<WaitingService>;
}

#[derive(Service)]
#[service(contract = Diagnostics, name = "diagnostics")]
pub(crate) struct DiagnosticsService {
    #[state]
    nothing: State<Nothing>,
}

#[derive(Service)]
#[service(contract = Debug, name = "debug")]
pub(crate) struct DebugService {
    #[state]
    captures: State<Captures>,
}

/// How many requests are kept.
const KEPT: usize = 256;

impl Diagnostics for DiagnosticsService {
    async fn figures(cx: Cx) -> Vec<Figure> {
        let services = cx.common().shared.services();
        let figure = |service: &crate::service::Any| Figure {
            path: service.common().path.to_string(),
            lifecycle: service.common().life.lock().clone(),
            figures: service.figures(),
            latencies: service.latencies(),
        };
        services.iter().map(figure).collect()
    }
}

impl Debug for DebugService {
    fn keep(&mut self, captured: Captured) {
        let kept = &mut self.captures.captured;
        // By Replace there may be more.
        while kept.len() >= KEPT {
            kept.pop_front();
        }
        kept.push_back(captured);
    }

    async fn waiting(cx: Cx) -> Vec<WaitingService> {
        let deadlines = &cx.common().shared.deadlines;
        let now = deadlines.clock().now();
        let ms = |span: Duration| u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
        let mut waits = deadlines.waiting();
        waits.sort_by_key(|(between, _)| between.since);
        let written = waits.into_iter().map(|(between, until)| WaitingService {
            from: between.from.to_string(),
            to: between.to.to_string(),
            for_ms: ms(now.saturating_duration_since(between.since)),
            left_ms: ms(until.saturating_duration_since(now)),
        });
        written.collect()
    }
}
